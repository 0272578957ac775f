"""The report of a job that stands below its output, as with LSB_STDOUT_DIRECT; and what LSF says of how a job ended."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from hpcbatch.dialects.lsf.environment import shown_name, slots_of
from hpcbatch.dialects.lsf.ids import spec_id
from hpcbatch.dialects.lsf.output import shown_paths
from hpcbatch.model.placed import PlacedJob
from hpcbatch.typed import Final

RUNLIMIT: Final = "TERM_RUNLIMIT: job killed after reaching LSF run time limit"
CPULIMIT: Final = "TERM_CPULIMIT: job killed after reaching LSF CPU usage limit"
MEMLIMIT: Final = "TERM_MEMLIMIT: job killed after reaching LSF memory usage limit"
OWNER: Final = "TERM_OWNER: job killed by owner"
REQUEUED: Final = "TERM_REQUEUE_OWNER: job killed and requeued by owner"
PREEMPTED: Final = "TERM_PREEMPT: job killed after preemption"
RUNLIMIT_CODE, CPULIMIT_CODE, MEMLIMIT_CODE, OWNER_CODE = 140, 152, 137, 130
"""128 and the first signal that LSF sends: USR2, XCPU, KILL and INT."""

_LINE: Final = "-" * 60
_USAGE: Final = (
    ("CPU time", "{cpu_s} sec."),
    ("Max Memory", "{max_mem}"),
    ("Average Memory", "-"),
    ("Total Requested Memory", "-"),
    ("Delta Memory", "-"),
    ("Max Swap", "-"),
    ("Max Processes", "-"),
    ("Max Threads", "-"),
    ("Run time", "{run_s} sec."),
)


def ended(text: str, code: int) -> str:
    """The lines of a report about a run that LSF has ended."""
    return f"{text}.\nExited with exit code {code}."


def summary(job: PlacedJob) -> str:
    """The report with places for what the runner knows; "" where -N sends it by mail."""
    if job.spec.interactive is not None or "N" in job.spec.mail_points:
        return ""
    return "\n".join(_lines(job))


def _lines(job: PlacedJob) -> Iterator[str]:
    spec, cluster, name = job.spec, job.cluster, shown_name(job).translate(_PLAIN)
    by = f"user <{job.owner}> in cluster <{cluster}>"
    yield from ("", _LINE, f"Sender: LSF System <hpcbatch@{job.pods[0].host}>")
    yield f"Subject: Job {spec_id(job.job_id, spec)}: <{name}> in cluster <{cluster}> {{state}}"
    yield ""
    yield f"Job <{name}> was submitted from host <{spec.submit_host}> by {by}."
    first, *others = [f"<{count}*{host}>" for host, count in _hosts(job)]
    yield f"Job was executed on host(s) {first}, in queue <{job.queue}>, as {by} at {{started_at}}"
    yield from (f"                            {other}" for other in others)
    yield f"<{job.home}> was used as the home directory."
    yield f"<{(spec.work_dir or job.home).translate(_PLAIN)}> was used as the working directory."
    yield from ("Terminated at {ended_at}", "Results reported at {now}", "", "Your job looked like:", "")
    yield from (_LINE, "# LSBATCH: User input", "{script}", _LINE, "", "{result}", "", "Resource usage summary:", "")
    yield from (f"    {name + ' :':<45}{text}" for name, text in _USAGE)
    yield from ("", "The output (if any) is above this job summary.", "")
    _, stderr = shown_paths(job.job_id, spec, job.home)
    if stderr is not None:
        yield from ("", "", "PS:", "", f"Read file <{stderr.translate(_PLAIN)}> for stderr output of this job.", "")


_PLAIN: Final = str.maketrans("{}", "()")
"""A user's own braces would be taken for places."""


def _hosts(job: PlacedJob) -> Iterator[tuple[str, int]]:
    for host, same in groupby((pod.host, slots_of(pod)) for pod in job.pods):
        yield host[0], sum(count for _, count in same)
