"""The limits of what runs at a time, for the planner: those of accounts, qualities of service and PBS.

A job that is over a limit by itself never runs: see policy.owners. What the planner counts is named as in its
vectors: `cpu` in thousandths, `memory` in bytes, extended resources in pieces.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from hpcbatch.dataclass import replace
from hpcbatch.model.account_limits import Limits
from hpcbatch.model.account_tree import inherited
from hpcbatch.model.accounts import Accounts, Association, Qos, ServerLimit
from hpcbatch.policy.account_limits import group_minutes_reason, group_reason, per_reason
from hpcbatch.policy.owners import first_qos
from hpcbatch.policy.plan.snapshot import JOBS, NODES, Limit, Scope
from hpcbatch.policy.spent import of_association, of_qos
from hpcbatch.policy.submission import ALL, GENERIC, LIMITS, MEBIBYTE, is_same_limit
from hpcbatch.typed import Final

_SCOPES: Final = {"u": Scope.USER, "g": Scope.GROUP, "p": Scope.PROJECT}
_Kind = tuple[str, str]
"""A limit's word, and of amounts the resource."""
_COUNTS: Final[Mapping[str, tuple[tuple[Scope, ...], str]]] = {
    "GrpJobs": ((), "QOSGrpJobsLimit"),
    "MaxJobsPerUser": ((Scope.USER,), "QOSMaxJobsPerUserLimit"),
    "MaxJobsPerAccount": ((Scope.ACCOUNT,), "MaxJobsPerAccount"),
}
_AMOUNTS: Final[Mapping[str, tuple[tuple[Scope, ...], str]]] = {
    "GrpTRES": ((), ""),
    "MaxTRESPerUser": ((Scope.USER,), "User"),
    "MaxTRESPerAccount": ((Scope.ACCOUNT,), "Account"),
}


def running_limits(
    accounts: Accounts,
    enforced: frozenset[str],
    resources: Mapping[str, str] | None = None,
    express: frozenset[str] = frozenset(),
) -> tuple[Limit, ...]:
    """`resources`: a site's name of a resource → Kubernetes' extended resource. `express`: queues whose jobs go before
    all others, whatever soft limits say.
    """
    known = resources or {}
    found: list[Limit] = []
    if LIMITS in enforced:
        setters = _setters(accounts)
        for qos in accounts.qos.values():
            found += _of_qos(qos, setters, known)
        for one in accounts.associations:
            found += _of_association(one, inherited(accounts, one).limits.count("MaxJobs"), setters, known)
    found += _of_server(accounts.server_limits, known, express)
    return tuple(found)


def _setters(accounts: Accounts) -> dict[_Kind, frozenset[str]]:
    """The qualities of service that have a limit of each kind: it goes before the same one of others."""
    found: dict[_Kind, set[str]] = {}
    for qos in accounts.qos.values():
        for word in qos.limits.counts:
            found.setdefault((word, ""), set()).add(qos.name)
        for word, amounts in qos.limits.tres.items():
            for tres in amounts:
                found.setdefault((word, tres), set()).add(qos.name)
    return {kind: frozenset(names) for kind, names in found.items()}


def _counted(tres: str, amount: int, resources: Mapping[str, str]) -> tuple[str, int] | None:
    """What the planner counts, and how much of it; None: it counts no such thing."""
    match tres.partition("/"):
        case "cpu" | "billing", _, _:
            return "cpu", amount * 1000
        case "mem", _, _:
            return "memory", amount * MEBIBYTE
        case "node", _, _:
            return NODES, amount
        case "gres" | "license", _, name:
            return resources.get(name, name), amount
        case _:
            return None


def _of_qos(qos: Qos, setters: Mapping[_Kind, frozenset[str]], resources: Mapping[str, str]) -> Iterator[Limit]:
    of = {Scope.QOS: qos.name}

    def spares(word: str, tres: str = "") -> dict[Scope, frozenset[str]]:
        names = frozenset(first_qos(name) for name in setters.get((word, tres), frozenset()) if name != qos.name)
        return {Scope.QOS: names} if names else {}

    for word, (per, code) in _COUNTS.items():
        if (most := qos.limits.count(word)) is not None:
            yield Limit(code=code, what=JOBS, amount=most, of=of, per=per, spares=spares(word))
    for word, (per, kind) in _AMOUNTS.items():
        for tres, amount in qos.limits.amounts(word).items():
            code = per_reason("QOS", tres, kind) if kind else group_reason("QOS", tres)
            if counted := _counted(tres, amount, resources):
                what, most = counted
                yield Limit(code=code, what=what, amount=most, of=of, per=per, spares=spares(word, tres))
    for word, tres, code, what, amount in _times("QOS", qos.limits, resources):
        spent = "" if word == "GrpTRESRunMins" else of_qos(qos.name, what)
        yield Limit(code=code, what=what, amount=amount, of=of, spares=spares(word, tres), is_time=True, spent=spent)


def _of_association(
    one: Association, max_jobs: int | None, setters: Mapping[_Kind, frozenset[str]], resources: Mapping[str, str]
) -> Iterator[Limit]:
    """`max_jobs` is that of a user, who may have it from the account."""
    of = {Scope.ACCOUNT: one.account} | ({Scope.USER: one.user} if one.user else {})
    of |= {Scope.QUEUE: one.partition} if one.partition else {}

    def spares(*kinds: _Kind) -> dict[Scope, frozenset[str]]:
        names = frozenset(name for kind in kinds for name in setters.get(kind, ()))
        return {Scope.QOS: names} if names else {}

    if (most := one.limits.count("GrpJobs")) is not None:
        yield Limit(code="AssocGrpJobsLimit", what=JOBS, amount=most, of=of, spares=spares(("GrpJobs", "")))
    if max_jobs is not None and one.user:
        spared = spares(("MaxJobsPerUser", ""), ("MaxJobsPerAccount", ""))
        yield Limit(code="AssocMaxJobsLimit", what=JOBS, amount=max_jobs, of=of, spares=spared)
    for tres, amount in one.limits.amounts("GrpTRES").items():
        if counted := _counted(tres, amount, resources):
            code, spared = group_reason("Assoc", tres), spares(("GrpTRES", tres))
            yield Limit(code=code, what=counted[0], amount=counted[1], of=of, spares=spared)
    for word, tres, code, what, amount in _times("Assoc", one.limits, resources):
        spent = "" if word == "GrpTRESRunMins" else of_association(one.number, what)
        spared = spares((word, tres))
        yield Limit(code=code, what=what, amount=amount, of=of, spares=spared, is_time=True, spent=spent)


def _times(of: str, limits: Limits, resources: Mapping[str, str]) -> Iterator[tuple[str, str, str, str, int]]:
    """Word, resource, reason, and what is counted, of limits of what is used in the course of time."""
    for word in ("GrpTRESMins", "GrpTRESRunMins"):
        for tres, minutes in limits.amounts(word).items():
            if counted := _counted(tres, minutes * 60, resources):
                code = group_minutes_reason(of, tres, is_run=word == "GrpTRESRunMins")
                yield word, tres, code, *counted
    if (wall := limits.count("GrpWall")) is not None:
        yield "GrpWall", "", f"{of}GrpWallLimit", JOBS, wall * 60


def _of_server(
    limits: tuple[ServerLimit, ...], resources: Mapping[str, str], express: frozenset[str]
) -> Iterator[Limit]:
    for limit in limits:
        word = limit.word.removesuffix("_soft")
        if word not in {"max_run", "max_run_res"} or limit.kind not in {"o", *_SCOPES}:
            continue
        what, amount = (JOBS, limit.amount) if not limit.resource else _pbs_amount(limit, resources)
        of = {Scope.QUEUE: limit.queue} if limit.queue else {}
        found = Limit(code=comment(limit), what=what, amount=amount, of=of)
        if word != limit.word:
            found = replace(found, is_soft=True, spares={Scope.QUEUE: express} if express else {})
        if limit.name == ALL or limit.kind == "o":
            yield found
            continue
        scope = _SCOPES[limit.kind]
        if limit.name != GENERIC:
            yield replace(found, of={**found.of, scope: limit.name})
            continue
        named = frozenset(each.name for each in limits if is_same_limit(each, limit) and each.name != GENERIC)
        yield replace(found, per=(scope,), apart_from={scope: named} if named else {})


def _pbs_amount(limit: ServerLimit, resources: Mapping[str, str]) -> tuple[str, int]:
    match limit.resource:
        case "ncpus":
            return "cpu", limit.amount * 1000
        case "mem":
            return "memory", limit.amount
        case "nodect":
            return NODES, limit.amount
        case name:
            return resources.get(name, name), limit.amount


def comment(limit: ServerLimit) -> str:
    """PBS's comment of a job that the limit holds back, without `Not Running: `."""
    whose = {"u": "User", "g": "Group", "p": "Project"}.get(limit.kind, "")
    where = f"queue {limit.queue}" if limit.queue else "server"
    if limit.resource:
        if not whose:
            return f"{where.capitalize()} job limit has been reached on resource {limit.resource}"
        return f"{whose} has reached {where} limit on resource {limit.resource}"
    if not whose:
        return f"{where.capitalize()} job limit has been reached."
    return f"{whose} has reached {where} running job limit."
