"""sacctmgr add, modify and delete: what is asked for. Source: sacctmgr 22.05.8, *_functions.c and common.c."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import isfinite

from hpcbatch.dialects.slurm.errors import SlurmUsageError
from hpcbatch.dialects.slurm.sacctmgr_values import parse_count, parse_minutes, parse_tres
from hpcbatch.model.account_change import AccountChange, Action, Entity, NameEdit, Setting
from hpcbatch.model.account_limits import NOT_HONOURED, WORDS, Amount
from hpcbatch.model.accounts import PARENT_SHARES
from hpcbatch.typed import NamedTuple

_FLAGS = (
    "DenyOnLimit",
    "EnforceUsageThreshold",
    "NoReserve",
    "PartitionMaxNodes",
    "PartitionMinNodes",
    "OverPartQOS",
    "PartitionTimeLimit",
    "RequiresReservation",
    "NoDecay",
    "UsageFactorSafe",
)
_FLAGS_WITH_EFFECT = frozenset({"DenyOnLimit", "OverPartQOS"})
_NO_EFFECT = {
    **NOT_HONOURED,
    "usageThreshold": "how much of its share somebody has used only counts in priorities",
    "limitFactor": "limits of accounts count as they are, whatever the quality of service",
}
_MODES = ("off", "cancel", "gang", "requeue", "suspend", "within")
_NO_ADMIN = "who may change accounts is decided by Kubernetes (bind the user to ClusterRole hpcbatch-operator)"


class Request(NamedTuple):
    """What is asked for, and whether it says of which."""

    change: AccountChange
    has_conditions: bool
    clusters: tuple[str, ...] = ()


class _Option(NamedTuple):
    name: str
    least: int
    word: str
    """That of the setting."""
    resource: str = ""
    """The one whose amount is set."""

    def fits(self, given: str) -> bool:
        return len(given) >= self.least and self.name.lower().startswith(given)


def _options(table: str) -> tuple[_Option, ...]:
    return tuple(
        _Option(name, int(least), word, rest[0] if rest else "")
        for name, least, word, *rest in (line.split() for line in table.strip().split("\n"))
    )


_OF_GROUP = """\
GrpCPUMins 7 GrpTRESMins cpu
GrpCPURunMins 7 GrpTRESRunMins cpu
GrpCPUs 7 GrpTRES cpu
GrpJobs 4 GrpJobs
GrpJobsAccrue 8 GrpJobsAccrue
GrpMemory 4 GrpTRES mem
GrpNodes 4 GrpTRES node
GrpSubmitJobs 4 GrpSubmitJobs
GrpTRES 7 GrpTRES
GrpTRESMins 8 GrpTRESMins
GrpTRESRunMins 8 GrpTRESRunMins
GrpWall 4 GrpWall"""
_ASSOCIATION = _options(f"""
DefaultQOS 8 defaultQos
FairShare 1 shares
Shares 1 shares
{_OF_GROUP}
MaxCPUMinsPerJob 7 MaxTRESMinsPerJob cpu
MaxCPURunMins 7 MaxTRESRunMins cpu
MaxCPUsPerJob 7 MaxTRESPerJob cpu
MaxJobs 4 MaxJobs
MaxJobsAccrue 8 MaxJobsAccrue
MaxNodesPerJob 4 MaxTRESPerJob node
MinPrioThresh 4 MinPrioThreshold
MaxSubmitJobs 4 MaxSubmitJobs
MaxTRESPerJob 7 MaxTRESPerJob
MaxTRESPerNode 11 MaxTRESPerNode
MaxTRESMinsPerJob 8 MaxTRESMinsPerJob
MaxTRESRunMins 8 MaxTRESRunMins
MaxWallDurationPerJob 4 MaxWallDurationPerJob
Parent 2 parent
Priority 2 Priority
QosLevel 1 qos
""")
_QOS = _options(f"""
Description 1 description
Flags 2 flags
GraceTime 3 graceSeconds
{_OF_GROUP}
LimitFactor 6 limitFactor
MaxCPUMinsPerJob 7 MaxTRESMinsPerJob cpu
MaxCPUsPerJob 7 MaxTRESPerJob cpu
MaxCPUsPerUser 11 MaxTRESPerUser cpu
MaxCPUsPU 9 MaxTRESPerUser cpu
MaxJobsAccruePerAccount 17 MaxJobsAccruePerAccount
MaxJobsAccruePA 15 MaxJobsAccruePerAccount
MaxJobsAccruePerUser 17 MaxJobsAccruePerUser
MaxJobsAccruePU 15 MaxJobsAccruePerUser
MaxJobsPerAccount 11 MaxJobsPerAccount
MaxJobsPA 9 MaxJobsPerAccount
MaxJobsPerUser 4 MaxJobsPerUser
MaxJobsPU 4 MaxJobsPerUser
MaxNodesPerJob 4 MaxTRESPerJob node
MaxNodesPerUser 8 MaxTRESPerUser node
MaxNodesPU 8 MaxTRESPerUser node
MaxSubmitJobsPerAccount 17 MaxSubmitJobsPerAccount
MaxSubmitJobsPA 15 MaxSubmitJobsPerAccount
MaxSubmitPA 11 MaxSubmitJobsPerAccount
MaxSubmitJobsPerUser 4 MaxSubmitJobsPerUser
MaxSubmitJobsPU 4 MaxSubmitJobsPerUser
MaxSubmitPU 6 MaxSubmitJobsPerUser
MaxTRESPerAccount 11 MaxTRESPerAccount
MaxTRESPA 9 MaxTRESPerAccount
MaxTRESPerJob 7 MaxTRESPerJob
MaxTRESPerNode 11 MaxTRESPerNode
MaxTRESPerUser 11 MaxTRESPerUser
MaxTRESPU 9 MaxTRESPerUser
MaxTRESMinsPerJob 8 MaxTRESMinsPerJob
MaxTRESRunMinsPA 16 MaxTRESRunMinsPerAccount
MaxTRESRunMinsPU 8 MaxTRESRunMinsPerUser
MaxWallDurationPerJob 4 MaxWallDurationPerJob
MinCPUsPerJob 7 MinTRESPerJob cpu
MinPrioThresh 4 MinPrioThreshold
MinTRESPerJob 7 MinTRESPerJob
PreemptMode 8 preemptMode
Preempt 7 preempt
PreemptExemptTime 8 preemptExemptSeconds
Priority 3 Priority
UsageFactor 6 usageFactor
UsageThreshold 6 usageThreshold
""")
"""The first that fits counts, as in the source."""
_ACCOUNT = (*_options("Description 1 description\nOrganization 1 organization"), *_ASSOCIATION)
_USER = (*_options("AdminLevel 2 admin\nDefaultAccount 8 defaultAccount\nNewName 1 newName"), *_ASSOCIATION)
_SETTINGS = {Entity.ACCOUNT: _ACCOUNT, Entity.USER: _USER, Entity.QOS: _QOS, Entity.COORDINATOR: ()}
_CONDITIONS: Mapping[Entity, Mapping[str, str]] = {
    Entity.ACCOUNT: {"names": "names", "accounts": "names", "acct": "names", "clusters": "clusters"}
    | {"users": "users", "partitions": "partitions", "parents": "parents"},
    Entity.USER: {"names": "names", "users": "names", "accounts": "accounts", "acct": "accounts"}
    | {"clusters": "clusters", "partitions": "partitions"},
    Entity.QOS: {"names": "names", "qos": "names"},
    Entity.COORDINATOR: {"names": "names", "users": "names", "accounts": "accounts", "acct": "accounts"},
}
_KEEPS_CASE = frozenset({"names of user", "users", "partitions"})


def read_change(action: Action, entity: Entity, words: Sequence[str]) -> Request:
    """Read what stands behind `add user`. Raises SlurmUsageError with the real texts."""
    found: dict[str, tuple[str, ...]] = {}
    settings: dict[str, Setting] = {}
    is_setting = action is Action.ADD
    is_unsettled = action is Action.ADD and entity is not Entity.QOS  # names, conditions and settings in any order
    for word in words:
        name, operator, value = _split(word)
        lower = name.lower()
        if not operator and _is(lower, "where", 5):
            is_setting = False
            continue
        if not operator and _is(lower, "set", 3):
            is_setting = True
            continue
        key = "names" if not operator and not (is_setting and action is Action.MODIFY) else ""
        if not key and (is_unsettled or not is_setting):
            key = _condition(entity, lower)
        if entity is Entity.QOS and is_setting and operator and _is(lower, "names", 1):
            key = "names"
        option = next((each for each in _SETTINGS[entity] if operator and each.fits(lower)), None)
        if key and not (option is not None and is_unsettled and option.word in {"defaultAccount", "parent"}):
            found[key] = found.get(key, ()) + _names(value if operator else word, keeps_case=_keeps(entity, key))
        elif option is not None and is_setting:
            _set(settings, option, operator, value, word)
        elif is_setting:
            raise SlurmUsageError(f" Unknown option: {word}" + _HINTS.get(action, ""))
        else:
            raise SlurmUsageError(f" Unknown condition: {word}\n Use keyword 'set' to modify value")
    clusters = found.pop("clusters", ())
    return Request(_change(action, entity, found, settings), bool(found or clusters), clusters)


_HINTS = {Action.MODIFY: "\n Use keyword 'where' to modify condition"}


def _change(
    action: Action, entity: Entity, found: Mapping[str, tuple[str, ...]], settings: Mapping[str, Setting]
) -> AccountChange:
    return AccountChange(
        action=action,
        entity=entity,
        names=found.get("names", ()),
        accounts=found.get("accounts", ()),
        users=found.get("users", ()),
        partitions=found.get("partitions", ()),
        parents=found.get("parents", ()),
        settings=settings,
    )


def _split(word: str) -> tuple[str, str, str]:
    name, equals, value = word.partition("=")
    if equals and name[-1:] in {"+", "-"}:
        return name[:-1], name[-1], value
    return name, equals, value


def _is(word: str, name: str, least: int) -> bool:
    return len(word) >= least and name.startswith(word)


def _condition(entity: Entity, word: str) -> str:
    return next((key for name, key in _CONDITIONS[entity].items() if word and name.startswith(word)), "")


def _keeps(entity: Entity, key: str) -> bool:
    return key in _KEEPS_CASE or (key == "names" and entity in {Entity.USER, Entity.COORDINATOR})


def _names(text: str, *, keeps_case: bool) -> tuple[str, ...]:
    names = [name.strip() for name in text.strip("\"'").split(",")]
    return tuple(name if keeps_case else name.lower() for name in names if name)


def _set(settings: dict[str, Setting], option: _Option, operator: str, value: str, given: str) -> None:
    meat = value.strip("\"'")
    match option.word:
        case "admin" | "newName":
            why = _NO_ADMIN if option.word == "admin" else "a user's name is that of the namespace's owner"
            raise SlurmUsageError(f"sacctmgr: error: {given}: not supported here: {why}")
        case "qos" | "preempt":
            settings[option.word] = _edit(operator, _names("" if meat == "-1" else meat, keeps_case=False))
        case "flags":
            settings["flags"] = _edit(operator, _flags(meat))
        case "shares":
            is_parent = meat.lower().startswith("parent"[: max(len(meat), 1)]) and meat[:1].isalpha()
            shares = PARENT_SHARES if is_parent else parse_count(meat, "FairShare")
            settings["shares"] = 1 if shares is None else shares
        case "preemptMode":
            if meat.lower() not in {*_MODES, "cluster"}:
                raise SlurmUsageError(f" Bad Preempt Mode given: {given}")
            settings["preemptMode"] = "" if meat.lower() == "cluster" else meat.upper()
        case "graceSeconds" | "preemptExemptSeconds":
            settings[option.word] = _seconds(meat, option.name)
        case "usageFactor" | "usageThreshold" | "limitFactor":
            settings[option.word] = _factor(meat, option.name)
        case "description" | "organization" | "parent" | "defaultAccount" | "defaultQos":
            lowers = option.word in {"parent", "defaultAccount", "defaultQos"}
            settings[option.word] = "" if meat == "-1" else meat.lower() if lowers else meat
        case word if WORDS[word].amount is Amount.TRES:
            old = settings.get(word)
            amounts = parse_tres(f"{option.resource}={meat}" if option.resource else meat)
            settings[word] = {**(old if isinstance(old, Mapping) else {}), **amounts}
        case word if WORDS[word].amount is Amount.MINUTES:
            settings[word] = parse_minutes(meat, given, word.removesuffix("DurationPerJob"))
        case word:
            settings[word] = parse_count(meat, option.name)
    if why := _without_effect(option.word, settings.get(option.word)):
        raise SlurmUsageError(f"sacctmgr: error: {given}: not supported here: {why}")


def _without_effect(word: str, value: Setting) -> str:
    """Why a new value would change nothing; "": it does, or it takes away what has none."""
    if isinstance(value, NameEdit):
        names = [name for name in value.names if name not in _FLAGS_WITH_EFFECT] if value.operator != "-" else []
        return f"flag {names[0]} would have no effect" if word == "flags" and names else ""
    is_set = any(amount is not None for amount in value.values()) if isinstance(value, Mapping) else value is not None
    return _NO_EFFECT.get(word, "") if is_set else ""


def _edit(operator: str, names: Iterable[str]) -> NameEdit:
    return NameEdit(operator or "=", tuple(names))


def _flags(text: str) -> tuple[str, ...]:
    if text in {"-1", ""} or text.lower() == "none":
        return ()
    found = [flag for item in text.split(",") for flag in _FLAGS if flag.lower() in item.lower()]
    if not found:
        valid = ",".join(_FLAGS)
        raise SlurmUsageError(f" Unknown QOS flag used in:\n  '{text}'\n Valid QOS flags are\n  '{valid}'")
    return tuple(dict.fromkeys(found))


def _seconds(text: str, name: str) -> int | None:
    if name == "PreemptExemptTime":
        minutes = parse_minutes(text, text, name)
        return None if minutes is None else minutes * 60
    return parse_count(text, name)


def _factor(text: str, name: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        raise SlurmUsageError(f"sacctmgr: error: Invalid value for {name} ({text})") from None
    if not isfinite(number):
        raise SlurmUsageError(f"sacctmgr: error: Invalid value for {name} ({text})")
    return None if number < 0 else number
