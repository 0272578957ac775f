"""`scontrol show assoc_mgr`: accounts, users and qualities of service as slurmctld keeps them. What jobs use of a limit
is not counted here: it is shown as 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from hpcbatch.dialects.slurm.associations import ROOT, Association, Directory
from hpcbatch.dialects.slurm.errors import SlurmUsageError
from hpcbatch.model.account_limits import Limits
from hpcbatch.model.accounts import PARENT_SHARES, Qos
from hpcbatch.typed import NamedTuple

_TRES = ("cpu", "mem", "energy", "node", "billing", "fs/disk", "vmem", "pages")
_NO_SHARES = "18446744073709551616.00/1/0.00"
"""Without priority/multifactor: the real one prints so."""


class Wanted(NamedTuple):
    """None: all."""

    users: frozenset[str] | None = None
    accounts: frozenset[str] | None = None
    qos: frozenset[str] | None = None
    sections: frozenset[str] = frozenset({"users", "assoc", "qos"})


def read_words(words: Sequence[str]) -> Wanted:
    """What stands behind `show assoc_mgr`. Raises SlurmUsageError with the real texts and codes."""
    wanted = Wanted()
    for word in words:
        tag, _, value = word.partition("=")
        name = next((name for name in ("accounts", "flags", "qos", "users") if name.startswith(tag.lower())), "")
        if not value:
            raise SlurmUsageError(f"No value given for option {word}", 0)
        values = frozenset(value.lower().split(","))
        if name == "flags":
            sections = frozenset(section for section in ("users", "assoc", "qos") if section in value.lower())
            if not sections:
                raise SlurmUsageError(f"invalid flag '{value}', valid options are 'Assoc, QOS, and/or Users'", 0)
            wanted = wanted._replace(sections=sections)
        elif name and tag:
            wanted = wanted._replace(**{name: values})
        else:
            raise SlurmUsageError(f"invalid entity: {word} for keyword:show assoc_mgr")
    return wanted


def format_state(
    directory: Directory, wanted: Wanted, cluster: str, uid_of: Callable[[str], int | None], *, one_line: bool = False
) -> str:
    """The sections that are wanted."""

    def named(user: str) -> str:
        uid = uid_of(user)
        return f"{user}({2**32 - 2 if uid is None else uid})"

    between = " " if one_line else "\n    "
    parts = []
    if "users" in wanted.sections:
        names = sorted(directory.default_accounts, key=lambda name: (name == ROOT, name))
        shown = [
            _user(name, directory.default_accounts[name], named(name)) for name in names if _fits(name, wanted.users)
        ]
        parts.append(_section("User Records", "users", shown))
    if "assoc" in wanted.sections:
        found = [
            between.join(_association(one, directory, cluster, named(one.user) if one.user else ""))
            for one in directory.associations
            if _fits(one.account, wanted.accounts) and (not one.user or _fits(one.user, wanted.users))
        ]
        parts.append(_section("Association Records", "associations", found))
    if "qos" in wanted.sections:
        found = [between.join(_qos(qos, one_line=one_line)) for qos in directory.qos if _fits(qos.name, wanted.qos)]
        parts.append(_section("QOS Records", "QOS", found))
    gap = "" if one_line else "\n"
    text = f"Current Association Manager state\n{gap}"
    for index, (heading, lines) in enumerate(parts):
        behind = gap * ((not heading) + (index + 1 < len(parts)))
        text += (f"{heading}\n{gap}" if heading else "") + lines + behind
    return text


def _fits(name: str, wanted: frozenset[str] | None) -> bool:
    return wanted is None or name.lower() in wanted


def _section(heading: str, what: str, lines: Iterable[str]) -> tuple[str, str]:
    text = "".join(f"{line}\n" for line in lines)
    return (heading, text) if text else ("", f"No {what} currently cached in Slurm.\n")


def _user(name: str, account: str, shown: str) -> str:
    level = "Administrator" if name == ROOT else "Not Set"
    return f"UserName={shown} DefAccount={account} DefWckey=(null) AdminLevel={level}"


def _association(one: Association, directory: Directory, cluster: str, user: str) -> list[str]:
    above = next((each.number for each in directory.associations if each.account == one.parent and not each.user), 1)
    parent = f"{one.parent}({above})" if one.parent else ""
    is_default = bool(one.user) and directory.default_accounts.get(one.user) == one.account
    limits, shares = one.effective.limits, one.effective.shares
    priority = limits.count("Priority") or 0
    raw = 2**31 - 1 if shares == PARENT_SHARES else shares
    return [
        f"ClusterName={cluster} Account={one.account} UserName={user} Partition={one.partition} Priority={priority} "
        f"ID={one.number}",
        f"SharesRaw/Norm/Level/Factor={raw}/{_NO_SHARES}",
        "UsageRaw/Norm/Efctv=0.00/1.00/0.00",
        f"ParentAccount={parent} Lft={one.number} DefAssoc={'Yes' if is_default else 'No'}",
        f"{_used('GrpJobs', limits)} {_used('GrpJobsAccrue', limits)}",
        f"{_used('GrpSubmitJobs', limits)} {_used('GrpWall', limits, '0.00')}",
        *(_all_tres(word, limits) for word in ("GrpTRES", "GrpTRESMins", "GrpTRESRunMins")),
        f"{_own('MaxJobs', limits)} {_own('MaxJobsAccrue', limits)} {_own('MaxSubmitJobs', limits)} "
        f"MaxWallPJ={_count('MaxWallDurationPerJob', limits)}",
        f"MaxTRESPJ={_tres('MaxTRESPerJob', limits)}",
        f"MaxTRESPN={_tres('MaxTRESPerNode', limits)}",
        f"MaxTRESMinsPJ={_tres('MaxTRESMinsPerJob', limits)}",
        f"MinPrioThresh={_count('MinPrioThreshold', limits)}",
    ]


def _qos(qos: Qos, *, one_line: bool) -> list[str]:
    nobody = (
        ["Account Limits=No Accounts", "User Limits=No Users"]
        if one_line
        else ["Account Limits", "    No Accounts", "User Limits", "    No Users"]
    )
    limits = qos.limits
    groups = ("GrpJobs", "GrpJobsAccrue", "GrpSubmitJobs")
    return [
        f"QOS={qos.name}({qos.number})",
        "UsageRaw=0.000000",
        " ".join((*(_used(word, limits) for word in groups), _used("GrpWall", limits, "0.00"))),
        *(_all_tres(word, limits) for word in ("GrpTRES", "GrpTRESMins", "GrpTRESRunMins")),
        f"MaxWallPJ={_count('MaxWallDurationPerJob', limits)}",
        f"MaxTRESPJ={_tres('MaxTRESPerJob', limits)}",
        f"MaxTRESPN={_tres('MaxTRESPerNode', limits)}",
        f"MaxTRESMinsPJ={_tres('MaxTRESMinsPerJob', limits)}",
        f"MinPrioThresh={_count('MinPrioThreshold', limits)} ",
        f"MinTRESPJ={_tres('MinTRESPerJob', limits)}",
        f"PreemptMode={qos.preempt_mode or 'OFF'}",
        f"Priority={limits.count('Priority') or 0}",
        *nobody,
    ]


def _count(word: str, limits: Limits) -> str:
    count = limits.count(word)
    return "" if count is None else str(count)


def _used(word: str, limits: Limits, used: str = "0") -> str:
    return f"{word}={_count(word, limits) or 'N'}({used})"


def _own(word: str, limits: Limits) -> str:
    count = _count(word, limits)
    return f"{word}={count}" + ("(0)" if count else "")


def _tres(word: str, limits: Limits) -> str:
    return ",".join(f"{name}={amount}" for name, amount in limits.amounts(word).items())


def _all_tres(word: str, limits: Limits) -> str:
    """Every resource, with N for no limit."""
    amounts = limits.amounts(word)
    names = (*_TRES, *(name for name in amounts if name not in _TRES))
    return f"{word}=" + ",".join(f"{name}={amounts.get(name, 'N')}(0)" for name in names)
