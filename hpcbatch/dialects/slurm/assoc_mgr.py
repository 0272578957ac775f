"""`scontrol show assoc_mgr`: accounts, users and qualities of service as slurmctld keeps them, and what jobs use of
each limit. Jobs whose age counts (`Accrue`) are not told from others: that is shown as 0. Sources: what was recorded
from 22.05.8, and info_assoc_mgr.c.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from hpcbatch.dialects.slurm.associations import ROOT, Association, Directory
from hpcbatch.dialects.slurm.errors import SlurmUsageError
from hpcbatch.model.account_limits import Limits
from hpcbatch.model.accounts import PARENT_SHARES, Qos
from hpcbatch.model.limit_use import InUse, Use
from hpcbatch.model.share import Share
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


class Counted(NamedTuple):
    """What jobs use. `shares` None: nothing is counted against shares."""

    in_use: InUse = InUse()
    shares: Mapping[int, Share] | None = None


_NOTHING = Counted()


def format_state(
    directory: Directory,
    wanted: Wanted,
    cluster: str,
    uid_of: Callable[[str], int | None],
    counted: Counted = _NOTHING,
    *,
    one_line: bool = False,
) -> str:
    """The sections that are wanted."""

    def number(user: str) -> int:
        uid = uid_of(user)
        return 2**32 - 2 if uid is None else uid

    def named(user: str) -> str:
        return f"{user}({number(user)})"

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
            between.join(_association(one, directory, cluster, named(one.user) if one.user else "", counted))
            for one in directory.associations
            if _fits(one.account, wanted.accounts) and (not one.user or _fits(one.user, wanted.users))
        ]
        parts.append(_section("Association Records", "associations", found))
    if "qos" in wanted.sections:
        found = [
            between.join(_qos(qos, counted.in_use, number, one_line=one_line))
            for qos in directory.qos
            if _fits(qos.name, wanted.qos)
        ]
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


def _association(one: Association, directory: Directory, cluster: str, user: str, counted: Counted) -> list[str]:
    above = next((each.number for each in directory.associations if each.account == one.parent and not each.user), 1)
    parent = f"{one.parent}({above})" if one.parent else ""
    is_default = bool(one.user) and directory.default_accounts.get(one.user) == one.account
    limits, shares = one.effective.limits, one.effective.shares
    priority = limits.count("Priority") or 0
    raw = 2**31 - 1 if shares == PARENT_SHARES else shares
    use = counted.in_use.associations.get(one.number) or Use()
    share = None if counted.shares is None else counted.shares.get(one.number)
    norm, used = _NO_SHARES, "0.00/1.00/0.00"
    if share is not None:
        norm = f"{share.norm_shares:.2f}/{raw}/{share.factor:.2f}"
        used = f"{share.raw_usage:.2f}/{share.norm_usage:.2f}/{share.effective_usage:.2f}"
    return [
        f"ClusterName={cluster} Account={one.account} UserName={user} Partition={one.partition} Priority={priority} "
        f"ID={one.number}",
        f"SharesRaw/Norm/Level/Factor={raw}/{norm}",
        f"UsageRaw/Norm/Efctv={used}",
        f"ParentAccount={parent} Lft={one.number} DefAssoc={'Yes' if is_default else 'No'}",
        f"{_used('GrpJobs', limits, use.jobs)} {_used('GrpJobsAccrue', limits)}",
        f"{_used('GrpSubmitJobs', limits, use.submitted)} {_wall(limits, use)}",
        *_of_group(limits, use),
        f"{_own('MaxJobs', limits, use.jobs)} {_own('MaxJobsAccrue', limits)} "
        f"{_own('MaxSubmitJobs', limits, use.submitted)} MaxWallPJ={_count('MaxWallDurationPerJob', limits)}",
        f"MaxTRESPJ={_tres('MaxTRESPerJob', limits)}",
        f"MaxTRESPN={_tres('MaxTRESPerNode', limits)}",
        f"MaxTRESMinsPJ={_tres('MaxTRESMinsPerJob', limits)}",
        f"MinPrioThresh={_count('MinPrioThreshold', limits)}",
    ]


def _qos(qos: Qos, in_use: InUse, uid_of: Callable[[str], int], *, one_line: bool) -> list[str]:
    limits, use = qos.limits, in_use.qos.get(qos.name) or Use()
    accounts = in_use.of_accounts.get(qos.name) or {}
    users = {str(uid_of(name)): each for name, each in (in_use.of_users.get(qos.name) or {}).items()}
    return [
        f"QOS={qos.name}({qos.number})",
        f"UsageRaw={use.raw:.6f}",
        f"{_used('GrpJobs', limits, use.jobs)} {_used('GrpJobsAccrue', limits)} "
        f"{_used('GrpSubmitJobs', limits, use.submitted)} {_wall(limits, use)}",
        *_of_group(limits, use),
        f"MaxWallPJ={_count('MaxWallDurationPerJob', limits)}",
        f"MaxTRESPJ={_tres('MaxTRESPerJob', limits)}",
        f"MaxTRESPN={_tres('MaxTRESPerNode', limits)}",
        f"MaxTRESMinsPJ={_tres('MaxTRESMinsPerJob', limits)}",
        f"MinPrioThresh={_count('MinPrioThreshold', limits)} ",
        f"MinTRESPJ={_tres('MinTRESPerJob', limits)}",
        f"PreemptMode={qos.preempt_mode or 'OFF'}",
        f"Priority={limits.count('Priority') or 0}",
        *_of_each("Account", "PA", limits, accounts, one_line=one_line),
        *_of_each("User", "PU", limits, users, one_line=one_line),
    ]


def _of_each(what: str, short: str, limits: Limits, uses: Mapping[str, Use], *, one_line: bool) -> list[str]:
    """The limits of each account, or user, and what those use that have jobs."""
    if not uses:
        return [f"{what} Limits=No {what}s"] if one_line else [f"{what} Limits", f"    No {what}s"]
    found = []
    for name in sorted(uses):
        use = uses[name]
        counts = " ".join(
            f"{word}{short}={_count(f'{word}Per{what}', limits) or 'N'}({number})"
            for word, number in (("MaxJobs", use.jobs), ("MaxJobsAccrue", 0), ("MaxSubmitJobs", use.submitted))
        )
        amounts = _amounts(limits.amounts(f"MaxTRESPer{what}"), use.amounts)
        found.append((name, counts, f"MaxTRES{short}={amounts}"))
    if one_line:
        return [f"{what} Limits=" + "".join(f" {name}={{{counts} {tres}}}" for name, counts, tres in found)]
    each = [line for name, counts, tres in found for line in (f"  {name}", f"    {counts}", f"    {tres}")]
    return [f"{what} Limits", *each]


def _of_group(limits: Limits, use: Use) -> tuple[str, str, str]:
    spent = {name: int(amount) // 60 for name, amount in use.spent.items()}
    left = {name: amount // 60 for name, amount in use.left.items()}
    used = {"GrpTRES": use.amounts, "GrpTRESMins": spent, "GrpTRESRunMins": left}
    one, two, three = (f"{word}={_amounts(limits.amounts(word), amounts)}" for word, amounts in used.items())
    return one, two, three


def _wall(limits: Limits, use: Use) -> str:
    """In minutes."""
    return f"GrpWall={_count('GrpWall', limits) or 'N'}({use.wall_s / 60:.2f})"


def _count(word: str, limits: Limits) -> str:
    count = limits.count(word)
    return "" if count is None else str(count)


def _used(word: str, limits: Limits, used: int = 0) -> str:
    return f"{word}={_count(word, limits) or 'N'}({used})"


def _own(word: str, limits: Limits, used: int = 0) -> str:
    count = _count(word, limits)
    return f"{word}={count}" + (f"({used})" if count else "")


def _tres(word: str, limits: Limits) -> str:
    return ",".join(f"{name}={amount}" for name, amount in limits.amounts(word).items())


def _amounts(limits: Mapping[str, int], used: Mapping[str, int]) -> str:
    """Every resource, with N for no limit. Billed are CPUs, as where no weights are set."""
    used = {"billing": used.get("cpu", 0), **used}
    names = dict.fromkeys((*_TRES, *limits, *used))
    return ",".join(f"{name}={limits.get(name, 'N')}({used.get(name, 0)})" for name in names)
