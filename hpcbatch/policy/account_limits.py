"""The limits of accounts and qualities of service as they concern one job: which there are, and the reason each gives.

Where several set a limit, that of the partition's quality of service counts, then that of the job's, then that of the
association; with flag OverPartQOS the job's goes before the partition's. Sources: acct_policy.c and
job_reason_string() of Slurm 22.05.8.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from hpcbatch.dataclass import dataclass, field
from hpcbatch.model.account_tree import association_for, inherited, line_of
from hpcbatch.model.accounts import NORMAL, Accounts, Association, Qos
from hpcbatch.typed import Final, NamedTuple

DENY: Final = "DenyOnLimit"
OVER_PARTITION: Final = "OverPartQOS"


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A job as limits see it. `uses` has amounts of one job, or of one member of an array, by Slurm's names: cpu, node,
    mem (MiB), gres/gpu …
    """

    user: str
    groups: tuple[str, ...] = ()
    project: str = ""
    account: str = ""
    qos: str = ""
    queue: str = ""
    jobs: int = 1
    """How many have not ended: of an array its members."""
    waiting: int = 0
    """How many of them have not started."""
    uses: Mapping[str, int] = field(default_factory=dict)
    walltime_s: int | None = None


class Place(NamedTuple):
    """Where a job stands in the accounts; None: nowhere."""

    qos: Qos | None
    """The job's."""
    line: tuple[Association, ...]
    """The user's association, its account, and the accounts above."""
    own: Association | None
    """The user's, with what it has from above."""
    of_partition: Qos | None = None

    @property
    def in_order(self) -> tuple[Qos, ...]:
        """The qualities of service whose limits count, the one that goes before the other first."""
        found = [self.of_partition, self.qos]
        if self.qos is not None and OVER_PARTITION in self.qos.flags:
            found.reverse()
        return tuple({qos.name: qos for qos in found if qos is not None}.values())


def place_of(accounts: Accounts, job: Standing, partition_qos: Mapping[str, str] | None = None) -> Place:
    """`partition_qos`: partition → its quality of service."""
    one = association_for(accounts, job.user, job.account, job.queue) if job.account else None
    line = () if one is None else line_of(accounts, one)
    of_partition = accounts.qos.get((partition_qos or {}).get(job.queue, ""))
    own = None if one is None else inherited(accounts, one)
    return Place(accounts.qos.get(job.qos or NORMAL), line, own, of_partition)


def kind_of(tres: str) -> str:
    kind = tres.partition("/")[0]
    return kind if kind in _NAMES else "unknown"


_NAMES: Final = {
    "cpu": ("Cpu", "CPU"),
    "mem": ("Mem", "Mem"),
    "node": ("Node", "Node"),
    "gres": ("GRES", "GRES"),
    "license": ("License", "License"),
    "billing": ("Billing", "Billing"),
    "energy": ("Energy", "Energy"),
    "bb": ("BB", "BB"),
    "unknown": ("Unknown", "Unknown"),
}
"""A resource's name in reasons, alone and before Minutes."""
_WITH_LIMIT: Final = frozenset({"cpu", "node"})


def group_reason(of: str, tres: str) -> str:
    """`AssocGrpCpuLimit`, `QOSGrpGRES`; `of` is Assoc or QOS."""
    kind = kind_of(tres)
    return f"{of}Grp{_NAMES[kind][0]}" + ("Limit" if kind in _WITH_LIMIT | {"mem"} else "")


def per_reason(of: str, tres: str, per: str) -> str:
    """`AssocMaxCpuPerJobLimit`, `QOSMaxMemoryPerUser`; `per` is Job, User or Node. For accounts Slurm has no prefix."""
    kind = kind_of(tres)
    name = "Memory" if kind == "mem" and of == "QOS" else _NAMES[kind][0]
    if per == "Account":
        return f"Max{name}PerAccount"
    return f"{of}Max{name}Per{per}" + ("Limit" if kind in _WITH_LIMIT and per != "Node" else "")


def min_reason(tres: str) -> str:
    kind = kind_of(tres)
    if kind == "cpu":
        return "QOSMinCpuNotSatisfied"
    return f"QOSMin{'Memory' if kind == 'mem' else _NAMES[kind][0]}"


def group_minutes_reason(of: str, tres: str, *, is_run: bool) -> str:
    """Of GrpTRESMins, and (`is_run`) of GrpTRESRunMins."""
    kind = kind_of(tres)
    name = "Memory" if kind == "mem" and of == "QOS" else _NAMES[kind][1]
    return f"{of}Grp{name}{'Run' if is_run else ''}Minutes" + ("Limit" if kind == "cpu" else "")


def minutes_reason(of: str, tres: str) -> str:
    """Of MaxTRESMinsPerJob."""
    kind = kind_of(tres)
    name = "Memory" if kind == "mem" and of == "QOS" else _NAMES[kind][0]
    return f"{of}Max{name}MinutesPerJob" + ("Limit" if kind == "cpu" else "")


def own_limits(place: Place, job: Standing) -> Iterator[str]:
    """The reasons of the limits that the job alone is over, so that it never runs: the qualities of service's first."""
    before: dict[str, dict[str, int]] = {}
    for qos in place.in_order:
        yield from _over("QOS", qos.limits.tres, job, before)
        before = _both(before, qos.limits.tres)
    if place.own is not None:
        yield from _over("Assoc", place.own.limits.tres, job, before)
    for one in place.line[1:]:
        for tres, most in one.limits.amounts("GrpTRES").items():
            if tres not in before.get("GrpTRES", {}) and job.uses.get(tres, 0) > most:
                yield group_reason("Assoc", tres)
    yield from _over_time(place, job)


def _both(one: Mapping[str, Mapping[str, int]], other: Mapping[str, Mapping[str, int]]) -> dict[str, dict[str, int]]:
    return {word: {**other.get(word, {}), **one.get(word, {})} for word in {*one, *other}}


def _over(
    of: str, tres: Mapping[str, Mapping[str, int]], job: Standing, before: Mapping[str, Mapping[str, int]]
) -> Iterator[str]:
    for word, per in (("MaxTRESPerJob", "Job"), ("MaxTRESPerUser", "User"), ("MaxTRESPerAccount", "Account")):
        for name, most in tres.get(word, {}).items():
            if name not in before.get(word, {}) and job.uses.get(name, 0) > most:
                yield per_reason(of, name, per)
    nodes = job.uses.get("node", 0)
    for name, most in tres.get("MaxTRESPerNode", {}).items():
        if name not in before.get("MaxTRESPerNode", {}) and nodes and job.uses.get(name, 0) > most * nodes:
            yield per_reason(of, name, "Node")
    for name, most in tres.get("GrpTRES", {}).items():
        if name not in before.get("GrpTRES", {}) and job.uses.get(name, 0) > most:
            yield group_reason(of, name)
    for name, least in tres.get("MinTRESPerJob", {}).items():
        if job.uses.get(name, 0) < least:
            yield min_reason(name)
    if job.walltime_s is not None:
        for name, most in tres.get("MaxTRESMinsPerJob", {}).items():
            if name not in before.get("MaxTRESMinsPerJob", {}) and job.uses.get(name, 0) * job.walltime_s > most * 60:
                yield minutes_reason(of, name)


def max_walltime_s(place: Place) -> tuple[int | None, str]:
    """The longest walltime, and the reason of it."""
    word = "MaxWallDurationPerJob"
    for qos in place.in_order:
        if (minutes := qos.limits.count(word)) is not None:
            return minutes * 60, "QOSMaxWallDurationPerJobLimit"
    if place.own is not None and (minutes := place.own.limits.count(word)) is not None:
        return minutes * 60, "AssocMaxWallDurationPerJobLimit"
    return None, ""


def _over_time(place: Place, job: Standing) -> Iterator[str]:
    most_s, reason = max_walltime_s(place)
    if most_s is not None and job.walltime_s is not None and job.walltime_s > most_s:
        yield reason


def over_submitted(
    place: Place,
    job: Standing,
    others: Sequence[Standing],
    accounts: Accounts,
    partition_qos: Mapping[str, str] | None = None,
) -> Iterator[str]:
    """The reasons of the limits of submitted jobs that the job would be over. `others` have not ended."""
    own = place.own
    qos_limits: set[str] = set()
    for qos in place.in_order:
        of_qos = [
            each for each in others if qos.name in {each.qos or NORMAL, (partition_qos or {}).get(each.queue, "")}
        ]
        same_user = [each for each in of_qos if each.user == job.user]
        same_account = [each for each in of_qos if each.account == job.account]
        for word, those, reason in (
            ("MaxSubmitJobsPerUser", same_user, "QOSMaxSubmitJobPerUserLimit"),
            ("MaxSubmitJobsPerAccount", same_account, "MaxSubmitJobsPerAccount"),
            ("GrpSubmitJobs", of_qos, "QOSGrpSubmitJobsLimit"),
        ):
            most = qos.limits.count(word)
            if word not in qos_limits and most is not None and _jobs(those) + job.jobs > most:
                yield reason
        qos_limits.update(qos.limits.counts)
    if own is not None and "MaxSubmitJobsPerUser" not in qos_limits:
        most = own.limits.count("MaxSubmitJobs")
        mine = [each for each in others if each.user == job.user and each.account == job.account]
        if most is not None and _jobs(mine) + job.jobs > most:
            yield "AssocMaxSubmitJobLimit"
    if "GrpSubmitJobs" in qos_limits:
        return
    for one in place.line:
        most = one.limits.count("GrpSubmitJobs")
        if most is not None:
            below = accounts_below(accounts, one.account)
            those = [each for each in others if each.account in below and (not one.user or each.user == one.user)]
            if _jobs(those) + job.jobs > most:
                yield "AssocGrpSubmitJobsLimit"


def _jobs(jobs: Sequence[Standing]) -> int:
    return sum(each.jobs for each in jobs)


def accounts_below(accounts: Accounts, name: str) -> frozenset[str]:
    """The account and all below it."""
    found = {name}
    while more := {each.name for each in accounts.accounts.values() if each.parent in found} - found:
        found |= more
    return frozenset(found)
