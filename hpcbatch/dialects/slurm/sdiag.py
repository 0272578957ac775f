"""sdiag: what the controller has done today. Its queues, cycles and calls are not measured: the numbers stay 0."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, tzinfo

from hpcbatch.dialects.slurm.clock import ctime
from hpcbatch.dialects.slurm.errors import VERSION_TEXT, SlurmAnswer, SlurmUsageError
from hpcbatch.dialects.slurm.getopt import Option, Parser, Takes
from hpcbatch.dialects.slurm.help import SDIAG_HELP, SDIAG_USAGE
from hpcbatch.model.indices import Indices
from hpcbatch.model.row import JobRow
from hpcbatch.model.state import WAITING, JobState
from hpcbatch.typed import NamedTuple

PARSER = Parser(
    "sdiag",
    [
        Option(name=name, short=short, takes=takes, aliases=aliases)
        for name, short, takes, aliases in (
            ("all", "a", Takes.NOTHING, ()),
            ("cluster", "M", Takes.VALUE, ("clusters",)),
            ("help", "", Takes.NOTHING, ()),
            ("reset", "r", Takes.NOTHING, ()),
            ("sort-by-id", "i", Takes.NOTHING, ()),
            ("sort-by-time", "t", Takes.NOTHING, ()),
            ("sort-by-time2", "T", Takes.NOTHING, ()),
            ("usage", "", Takes.NOTHING, ()),
            ("version", "V", Takes.NOTHING, ()),
        )
    ],
)
_STARS = "*" * 55
_NO_RESET = "slurm_reset_statistics: Access/permission denied\nsdiag: hpcbatch: the numbers are those of the day"
_RESET_CODE = 255
_REST = """\
Main schedule statistics (microseconds):
	Last cycle:   0
	Max cycle:    0
	Total cycles: 0

Backfilling stats
	Total backfilled jobs (since last slurm start): 0
	Total backfilled jobs (since last stats cycle start): 0
	Total backfilled heterogeneous job components: 0
	Total cycles: 0
	Last cycle when: N/A
	Last cycle: 0
	Max cycle:  0
	Last depth cycle: 0
	Last depth cycle (try sched): 0
	Last queue length: 0
	Last table size: 0

Remote Procedure Call statistics by message type

Remote Procedure Call statistics by user

Pending RPC statistics
	No pending RPCs
"""


def read_options(argv: Sequence[str]) -> str | None:
    """The clusters that are named. Raises SlurmUsageError, SlurmAnswer."""
    given, _ = PARSER.parse(argv, permute=True)
    asked = {option.option.name: option.value for option in given}
    for name, text in (("help", SDIAG_HELP), ("usage", SDIAG_USAGE), ("version", VERSION_TEXT)):
        if name in asked:
            raise SlurmAnswer(text)
    if "reset" in asked:
        raise SlurmUsageError(_NO_RESET, _RESET_CODE)
    return asked.get("cluster")


class Counts(NamedTuple):
    """Members of arrays count one by one."""

    submitted: int
    started: int
    completed: int
    canceled: int
    failed: int
    pending: int
    running: int


def count(rows: Iterable[JobRow], since: datetime) -> Counts:
    """What became of the jobs since then, and what is now."""
    submitted = started = completed = canceled = failed = pending = running = 0
    for row in rows:
        if row.array_indices:
            pending += len(Indices.parse(row.array_pending))
            if row.submit_time is not None and row.submit_time >= since:
                submitted += len(Indices.parse(row.array_indices))
            continue
        is_new = row.array_id is None and row.submit_time is not None and row.submit_time >= since
        submitted += is_new
        started += row.start_time is not None and row.start_time >= since
        pending += row.array_id is None and row.state in WAITING
        running += row.state in {JobState.RUNNING, JobState.SUSPENDED}
        if row.end_time is not None and row.end_time >= since:
            completed += row.state in {JobState.FINISHED, JobState.FAILED, JobState.TIMEOUT}
            canceled += row.state is JobState.DELETED
            failed += row.state in {JobState.FAILED, JobState.TIMEOUT}
    return Counts(submitted, started, completed, canceled, failed, pending, running)


def format_report(counts: Counts, since: datetime, now: datetime, tz: tzinfo) -> str:
    def when(moment: datetime) -> str:
        return f"{ctime(moment, tz)} ({int(moment.timestamp())})"

    return (
        f"{_STARS}\nsdiag output at {when(now)}\nData since      {when(since)}\n{_STARS}\n"
        "Server thread count:  0\nAgent queue size:     0\nAgent count:          0\nAgent thread count:   0\n"
        "DBD Agent queue size: 0\n\n"
        f"Jobs submitted: {counts.submitted}\nJobs started:   {counts.started}\nJobs completed: {counts.completed}\n"
        f"Jobs canceled:  {counts.canceled}\nJobs failed:    {counts.failed}\n\n"
        f"Job states ts:  {when(now)}\nJobs pending:   {counts.pending}\nJobs running:   {counts.running}\n\n{_REST}"
    )
