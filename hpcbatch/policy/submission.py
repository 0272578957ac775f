"""Whether accounts, qualities of service and PBS's limits let a job be submitted, and for whom it then counts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from hpcbatch.errors import RefusedError
from hpcbatch.model.account_tree import association_for, inherited
from hpcbatch.model.accounts import NORMAL, Accounts, ServerLimit
from hpcbatch.model.refusal import RefusalCode
from hpcbatch.policy.account_limits import DENY, Standing, over_submitted, own_limits, place_of
from hpcbatch.typed import Final, NamedTuple

ASSOCIATIONS, LIMITS, QOS = "associations", "limits", "qos"
"""What a site can have enforced, as in Slurm's AccountingStorageEnforce."""
MEBIBYTE: Final = 2**20
GENERIC, ALL = "PBS_GENERIC", "PBS_ALL"
DEFAULT_PROJECT: Final = "_pbs_project_default"
_SUBMITTED: Final = frozenset({"max_queued", "max_queued_res", "queued_jobs_threshold", "queued_jobs_threshold_res"})
_THRESHOLDS: Final = frozenset({"queued_jobs_threshold", "queued_jobs_threshold_res"})


class Settled(NamedTuple):
    """For what a job counts."""

    account: str
    qos: str


def settle(accounts: Accounts, enforced: frozenset[str], *, user: str, account: str, qos: str, queue: str) -> Settled:
    """The account and quality of service of a job, with the user's defaults for what it does not name. Raises
    RefusedError for those that the user has not, if the site enforces that.
    """
    if not account and not accounts.is_bare:
        account = accounts.default_accounts.get(user, "")
    one = association_for(accounts, user, account, queue)
    if one is None:
        if enforced:
            name = account or "(null)"
            raise RefusedError(RefusalCode.UNKNOWN_ACCOUNT, f"user {user} is not in account {name}")
        return Settled(account, qos)
    whole = inherited(accounts, one)
    qos = qos or whole.default_qos
    if QOS in enforced:
        chosen = qos or NORMAL
        if chosen not in accounts.qos or chosen not in (whole.qos or ()):
            raise RefusedError(RefusalCode.UNKNOWN_QOS, f"user {user} may not use {chosen} in account {account}")
    return Settled(account, qos)


def check_submission(
    accounts: Accounts,
    enforced: frozenset[str],
    job: Standing,
    others: Sequence[Standing],
    partition_qos: Mapping[str, str] | None = None,
) -> None:
    """Raise RefusedError for a job that would be over a limit. `others` are all that have not ended."""
    if LIMITS in enforced:
        place = place_of(accounts, job, partition_qos)
        reasons = list(over_submitted(place, job, others, accounts, partition_qos))
        if any(DENY in qos.flags for qos in place.in_order):
            reasons += own_limits(place, job)
        for reason in reasons:
            raise RefusedError(RefusalCode.ACCOUNT_POLICY, reason)
    for text, is_count in _server_limits(accounts.server_limits, job, others):
        raise RefusedError(RefusalCode.JOBS_LIMIT if is_count else RefusalCode.AMOUNT_LIMIT, text)


def has_limits(accounts: Accounts, enforced: frozenset[str]) -> bool:
    """Whether other jobs matter to a submission."""
    if any(limit.word in _SUBMITTED for limit in accounts.server_limits):
        return True
    if LIMITS not in enforced:
        return False
    every = (*(one.limits for one in accounts.associations), *(qos.limits for qos in accounts.qos.values()))
    return any(limits.counts or limits.tres for limits in every)


_KINDS: Final = {"u": "user", "g": "group", "p": "project"}


def _server_limits(
    limits: Sequence[ServerLimit], job: Standing, others: Sequence[Standing]
) -> Iterator[tuple[str, bool]]:
    """What PBS says of each limit that the job would be over, and whether it counts jobs."""
    for limit in limits:
        if limit.word not in _SUBMITTED or (limit.queue and limit.queue != job.queue):
            continue
        names = names_of(limit.kind, job)
        if limit.name == GENERIC:
            named = {each.name for each in limits if is_same_limit(each, limit) and each.name != GENERIC}
            names = tuple(name for name in names if name not in named)
        elif limit.kind != "o":
            names = tuple(name for name in names if name == limit.name)
        for name in names:
            those = [
                each
                for each in (*others, job)
                if (not limit.queue or each.queue == limit.queue) and name in names_of(limit.kind, each)
            ]
            if sum(_counted(limit, each) for each in those) > limit.amount:
                yield _text(limit, name), not limit.resource


def is_same_limit(one: ServerLimit, other: ServerLimit) -> bool:
    """Whether they differ in the name at most: the one that names somebody counts for them, not the generic one."""
    return (one.word, one.resource, one.queue, one.kind) == (other.word, other.resource, other.queue, other.kind)


def names_of(kind: str, job: Standing) -> tuple[str, ...]:
    match kind:
        case "u":
            return (job.user,)
        case "g":
            return job.groups[:1]
        case "p":
            return (job.project or DEFAULT_PROJECT,)
        case _:
            return (ALL,)


def _counted(limit: ServerLimit, job: Standing) -> int:
    jobs = job.waiting if limit.word in _THRESHOLDS else job.jobs
    return jobs * (amount_of(limit.resource, job) if limit.resource else 1)


def amount_of(resource: str, job: Standing) -> int:
    """Of a resource by PBS's name, in its own units: bytes, seconds."""
    match resource:
        case "ncpus":
            return job.uses.get("cpu", 0)
        case "nodect":
            return job.uses.get("node", 0)
        case "mem":
            return job.uses.get("mem", 0) * MEBIBYTE
        case "ngpus":
            return job.uses.get("gres/gpu", 0)
        case "walltime":
            return job.walltime_s or 0
        case _:
            return job.uses.get(f"gres/{resource}", 0)


def _text(limit: ServerLimit, name: str) -> str:
    """As the server says it. Source: the messages that OpenPBS's own tests of limits expect."""
    where = f"queue {limit.queue}" if limit.queue else "complex"
    kind = _KINDS.get(limit.kind, "")
    waiting = limit.word in _THRESHOLDS
    if limit.resource:
        who = f"{kind} {name}'s limit" if limit.name not in {GENERIC, ALL} else f"per-{kind} limit" if kind else "limit"
        rest = " for jobs in 'Q' state" if waiting else ""
        return f"would exceed {who} on resource {limit.resource} in {where}{rest}"
    if limit.name == GENERIC:
        whose = "queue generic" if limit.queue and kind == "user" else where
        return f"would exceed {whose}'s per-{kind} limit" + (" of jobs in 'Q' state" if waiting else "")
    state = " in 'Q' state" if waiting else ""
    return f"Maximum number of jobs{state}{f' for {kind} {name}' if kind else ''} already in {where}"
