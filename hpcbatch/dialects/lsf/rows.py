"""Which jobs a command means: each member of an array is a job of its own in LSF."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase

from hpcbatch.dialects.lsf.commands import Line
from hpcbatch.dialects.lsf.states import stat as stat_of
from hpcbatch.errors import HpcBatchError
from hpcbatch.model.indices import Indices
from hpcbatch.model.members import by_array, rows_of, unended
from hpcbatch.model.row import JobRow
from hpcbatch.model.state import WAITING, JobState, Reason
from hpcbatch.typed import Final, NamedTuple

CLEAN_PERIOD_S: Final = 3600
"""So long bjobs shows jobs that have ended."""
PENDING, RUNNING, SUSPENDED, ENDED = "pending", "running", "suspended", "ended"
_KINDS: Final[Mapping[str, frozenset[str]]] = {
    PENDING: frozenset({"PEND"}),
    RUNNING: frozenset({"RUN"}),
    SUSPENDED: frozenset({"PSUSP", "USUSP", "SSUSP"}),
    ENDED: frozenset({"DONE", "EXIT"}),
}
UNFINISHED: Final = frozenset({"PEND", "RUN", "PSUSP", "USUSP", "SSUSP"})
EVERY: Final = UNFINISHED | _KINDS[ENDED]


class Choice(NamedTuple):
    """None: any."""

    stats: frozenset[str] = UNFINISHED
    user: str | None = None
    queue: str | None = None
    host: str | None = None
    name: str | None = None
    project: str | None = None

    def takes(self, row: JobRow) -> bool:
        return (
            stat_of(row) in self.stats
            and self.user in {None, row.user}
            and self.queue in {None, row.queue}
            and (self.host is None or self.host in row.hosts)
            and self.project in {None, row.account}
            and (self.name is None or _is_called(row, self.name))
        )


def choice_of(line: Line, user: str, stats: frozenset[str]) -> Choice:
    """By -u, -q, -m, -J and -P; without -u it is the caller's jobs."""
    wanted = line.value("u")
    return Choice(
        stats=stats,
        user=None if wanted == "all" else wanted or user,
        queue=line.value("q"),
        host=line.value("m"),
        name=line.value("J"),
        project=line.value("P"),
    )


def stats_of(kinds: Iterable[str]) -> frozenset[str]:
    return frozenset(stat for kind in kinds for stat in _KINDS[kind])


def name_of(row: JobRow) -> str:
    """`name`, of a member `name[3]`."""
    return row.name if row.array_index is None else f"{row.name}[{row.array_index}]"


def _is_called(row: JobRow, pattern: str) -> bool:
    pattern = pattern.strip("\"'")
    plain, bracket, _ = pattern.partition("[")
    return (
        fnmatchcase(row.name, pattern)
        or (bool(bracket) and name_of(row) == pattern)
        or row.name == pattern
        or (not bracket and row.name == plain)
    )


def unfolded(rows: Sequence[JobRow], *, ended: bool) -> list[JobRow]:
    """Jobs, and of each array its members in the place of it; without `ended` those that have not ended."""
    members = by_array(rows)
    arrays = {row.job_id for row in rows if row.array_indices}
    found: list[JobRow] = []
    for row in rows:
        if row.array_indices:
            own = members.get(row.job_id, {})
            found += _members(row, own, None if ended else unended(row))
        elif row.array_id is None or row.array_id not in arrays:
            found.append(row)
    return found


def _members(array: JobRow, own: Mapping[int, JobRow], wanted: Indices | None) -> list[JobRow]:
    held = _indices(array.array_held)
    rows = []
    for row in rows_of(array, own, wanted):
        if row.array_id == row.job_id and row.state is JobState.QUEUED:  # it has no record yet
            state = array.state if array.state in WAITING else JobState.QUEUED
            if (row.array_index or 0) in held:
                row = row._replace(state=JobState.HELD, reason=Reason.HELD_BY_USER)  # noqa: PLW2901
            else:
                row = row._replace(state=state)  # noqa: PLW2901
        rows.append(row._replace(submit_time=array.submit_time))
    return rows


def _indices(text: str) -> Indices:
    try:
        return Indices.parse(text)
    except HpcBatchError:  # a user wrote it, with kubectl
        return Indices()


def number(row: JobRow) -> int:
    """The number that LSF shows: of a member that of its array."""
    return row.job_id if row.array_id is None else row.array_id


def slots_of(row: JobRow) -> list[tuple[str, int]]:
    """Slots of each node, each node once, in order."""
    found: dict[str, int] = {}
    for host, cpus in zip(row.hosts, row.cpus_per_host, strict=True):
        found[host] = found.get(host, 0) + cpus
    return list(found.items())


def exec_hosts(row: JobRow) -> list[str]:
    """`node-0`, `2*node-1`."""
    return [host if slots == 1 else f"{slots}*{host}" for host, slots in slots_of(row)]
