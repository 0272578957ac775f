"""`scontrol create|update|delete ReservationName=…`: its command line, and what becomes of it. Source: create_res.c,
parse_resv_flags() and create_resv() of 22.05.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from hpcbatch.dataclass import dataclass, field, replace
from hpcbatch.dialects.slurm.begin import parse_time
from hpcbatch.dialects.slurm.errors import SlurmUsageError
from hpcbatch.dialects.slurm.hostlist import expand
from hpcbatch.dialects.slurm.update import is_tag
from hpcbatch.dialects.slurm.values import parse_time_s
from hpcbatch.errors import HpcBatchError
from hpcbatch.model.reservation import NOT, Denial, Flag, ReservationSpec
from hpcbatch.typed import Final, NamedTuple

_MISFORMATTED = "Misformatted parameter '{}', most options have a parameter after '='.  {}"
_YEAR: Final = timedelta(days=365)
_FLAGS: Mapping[str, tuple[int, Flag]] = {
    "maintenance": (3, Flag.MAINT),
    "overlap": (1, Flag.OVERLAP),
    "flex": (1, Flag.FLEX),
    "ignore_jobs": (1, Flag.IGNORE_JOBS),
    "hourly": (1, Flag.HOURLY),
    "daily": (1, Flag.DAILY),
    "weekday": (1, Flag.WEEKDAY),
    "weekend": (1, Flag.WEEKEND),
    "weekly": (1, Flag.WEEKLY),
    "part_nodes": (2, Flag.PART_NODES),
    "purge_comp": (2, Flag.PURGE_COMP),
    "spec_nodes": (3, Flag.SPEC_NODES),
    "static_alloc": (1, Flag.STATIC),
    "replace_down": (8, Flag.REPLACE_DOWN),
}
"""With the least number of letters, in the order in which they are tried."""
_NOT_HERE: Mapping[str, tuple[int, str]] = {
    "any_nodes": (1, "a reservation is one of nodes or cores here: licences are not reserved"),
    "license_only": (1, "a reservation is one of nodes or cores here: licences are not reserved"),
    "magnetic": (3, "jobs name the reservation in which they run"),
    "promiscuous": (2, "jobs name the reservation in which they run"),
    "first_cores": (1, "which cores of a node jobs get Kubernetes decides"),
    "time_float": (1, "a reservation begins at a time that is known"),
    "replace": (1, "nodes are replaced where they are down or drained, not where jobs use them: REPLACE_DOWN"),
    "no_hold_jobs_after_end": (1, "jobs of a reservation that has ended wait until they are given another, or none"),
}
_NEVER_TAKEN_AWAY: Final = frozenset({Flag.OVERLAP, Flag.REPLACE_DOWN})
_TEXTS: Mapping[Denial, str] = {
    Denial.NODES_BUSY: "Requested nodes are busy",
    Denial.OVERLAP: "Requested reservation overlaps with another reservation",
    Denial.NEVER_FITS: "Requested node configuration is not available",
    Denial.UNKNOWN_NODE: "Invalid node name specified",
    Denial.UNKNOWN_QUEUE: "Invalid partition name specified",
    Denial.UNKNOWN_FEATURE: "Invalid feature specification",
    Denial.BAD_TIME: "Invalid time specified",
    Denial.BAD_RULE: "Invalid time specified",
    Denial.BAD_ZONE: "Invalid time specified",
    Denial.BAD_CORES: "Core count for reservation nodes is not consistent",
    Denial.BAD_REQUEST: "Requested reservation is invalid",
    Denial.BAD_STATE: "Requested reservation is invalid",
    Denial.NOT_ALLOWED: "Access/permission denied",
    Denial.NO_PLAN: "Requested operation not supported on this system",
}
NOTE: Final = (
    "Note, unless nodes are directly requested a reservation must exist in a single partition.\n"
    "If no partition is requested the default partition is assumed."
)
NOTED: Final = frozenset({Denial.NODES_BUSY, Denial.NEVER_FITS})
_SAID_BY_CONTROLLER: Final = frozenset({Denial.BAD_REQUEST, Denial.NOT_ALLOWED, Denial.NO_PLAN, Denial.UNKNOWN_FEATURE})


def denial_text(code: Denial, message: str) -> str:
    """Slurm's words, and hpcbatch's own where those say too little."""
    text = _TEXTS[code]
    return f"{text}\nscontrol: hpcbatch: {message}" if code in _SAID_BY_CONTROLLER and message != code.value else text


@dataclass(frozen=True, slots=True, kw_only=True)
class ReservationWords:
    """What stands behind `create` or `update`; None: not named."""

    name: str = ""
    start: datetime | None = None
    end: datetime | None = None
    duration: timedelta | None = None
    duration_sign: str = ""
    nodes: tuple[str, ...] | None = None
    nodes_sign: str = ""
    node_counts: tuple[int, ...] | None = None
    core_counts: tuple[int, ...] | None = None
    features: str | None = None
    partition: str | None = None
    users: tuple[str, ...] | None = None
    groups: tuple[str, ...] | None = None
    accounts: tuple[str, ...] | None = None
    flags: tuple[tuple[str, Flag], ...] = ()
    """Each with `-` where it is taken away."""
    purge_s: int | None = None
    skips: bool = False
    signs: Mapping[str, str] = field(default_factory=dict)
    """`+` or `-` of users, groups and accounts."""


def is_of_reservations(words: Sequence[str]) -> bool:
    """A job may have a `ReservationName`, too."""
    tags = [word.partition("=")[0] for word in words]
    is_of_job = any(is_tag(tag, name, least) for tag in tags for name, least in (("JobId", 3), ("JobName", 3)))
    return not is_of_job and any(is_tag(tag.rstrip("+-"), "ReservationName", 3) for tag in tags)


def read_reservation(words: Sequence[str], now: datetime, message: str) -> ReservationWords:
    """`message` ends the texts of errors: `No reservation created.`. Raises SlurmUsageError, exit 1."""
    found = ReservationWords()
    for place, word in enumerate(words):
        tag, equals, value = word.partition("=")
        if not equals:
            if place == 0 and word.lower().startswith("res"):
                continue  # `create reservation`
            if is_tag(word, "Skip", 2):
                found = replace(found, skips=True)
                continue
            raise _error(_MISFORMATTED.format(word, message))
        sign = tag[-1] if tag.endswith(("+", "-")) else ""
        found = _with(found, _Word(tag.removesuffix(sign) if sign else tag, sign, value, word), now, message)
    return found


class _Word(NamedTuple):
    tag: str
    sign: str
    value: str
    whole: str


def _with(found: ReservationWords, given: _Word, now: datetime, message: str) -> ReservationWords:
    tag, sign, value, word = given
    for name, least, key in (("Accounts", 1, "accounts"), ("Groups", 1, "groups"), ("Users", 1, "users")):
        if is_tag(tag, name, least):
            if getattr(found, key) is not None:
                raise _error(f"Parameter {word} specified more than once")
            names = tuple(part for part in value.split(",") if part)
            signed = replace(found, signs={**found.signs, key: sign})
            if key == "users":
                return replace(signed, users=names)
            return replace(signed, groups=names) if key == "groups" else replace(signed, accounts=names)
    if is_tag(tag, "Flags", 2):
        return _with_flags(found, sign, value, message)
    if is_tag(tag, "Duration", 1):
        return replace(found, duration=_duration(value, word, message), duration_sign=sign)
    if is_tag(tag, "Nodes", 5):
        names = ("ALL",) if value.upper() == "ALL" else tuple(expand(value)) if value else ()
        return replace(found, nodes=names, nodes_sign=sign)
    if sign:
        raise _error(f"The +=/-= notation is not supported when updating {tag}.  {message}")
    if is_tag(tag, "ReservationName", 1):
        return replace(found, name=value)
    if is_tag(tag, "StartTime", 2):
        return replace(found, start=_time(value, now, f"Invalid start time {word}.  {message}"))
    if is_tag(tag, "EndTime", 1):
        return replace(found, end=_time(value, now, f"Invalid end time {word}.  {message}"))
    if is_tag(tag, "NodeCnt", 5) or is_tag(tag, "NodeCount", 5):
        return replace(found, node_counts=_counts(value, "node"))
    if any(is_tag(tag, name, 5) for name in ("CoreCnt", "CoreCount", "CPUCnt", "CPUCount")):
        return replace(found, core_counts=_counts(value, "core"))
    if is_tag(tag, "Features", 2):
        return replace(found, features=value)
    if is_tag(tag, "PartitionName", 1):
        return replace(found, partition=value)
    for name, least in (("BurstBuffer", 2), ("Licenses", 2), ("MaxStartDelay", 2), ("TRES", 1), ("Watts", 1)):
        if is_tag(tag, name, least):
            raise SlurmUsageError(
                f"scontrol: error: {word}: Requested operation not supported on this system\n"
                f"scontrol: hpcbatch: a reservation is one of nodes or cores here, without {name}"
            )
    raise _error(f"Unknown parameter {word}.  {message}")


def _error(text: str) -> SlurmUsageError:
    return SlurmUsageError(f"scontrol: error: {text}")


def _time(text: str, now: datetime, wrong: str) -> datetime:
    try:
        return parse_time(text, now)
    except SlurmUsageError as error:
        raise SlurmUsageError(f"{error.text}\nscontrol: error: {wrong}") from None


def _duration(text: str, word: str, message: str) -> timedelta:
    try:
        seconds = parse_time_s(text)
    except (HpcBatchError, ValueError):
        raise _error(f"Invalid duration {word}.  {message}") from None
    return _YEAR if seconds is None else timedelta(seconds=seconds // 60 * 60)


def _counts(text: str, what: str) -> tuple[int, ...]:
    """`4`, `2,4`; `1k` is 1024."""
    found = []
    for part in filter(None, text.split(",")):
        match = re.fullmatch(r"([0-9]{1,9})([kKmM]?)", part)
        if match is None:
            raise _error(f"Invalid {what} count {text}")
        found.append(int(match[1]) * {"": 1, "k": 1024, "m": 1048576}[match[2].lower()])
    return tuple(found)


def _with_flags(found: ReservationWords, sign: str, text: str, message: str) -> ReservationWords:
    flags, op, purge_s = list(found.flags), sign, found.purge_s
    for part in filter(None, text.split(",")):
        if part[0] in "+-":
            op, part = part[0], part[1:]  # noqa: PLW2901
        name, equals, value = part.partition("=")
        known = _flag(name, _FLAGS)
        other = next((each for each, (least, _) in _NOT_HERE.items() if _is(name, each, least)), None)
        if known is None and other is not None:
            raise SlurmUsageError(
                "scontrol: error: Requested operation not supported on this system\n"
                f"scontrol: hpcbatch: Flags={name}: {_NOT_HERE[other][1]}"
            )
        if known is None or (equals and known is not Flag.PURGE_COMP) or (op == "-" and known in _NEVER_TAKEN_AWAY):
            raise _error(f"Error parsing flags {text}.  {message}")
        if equals:
            purge_s = int(_duration_s(value, text, message))
        flags.append(("-" if op == "-" else "", known))
    return replace(found, flags=tuple(flags), purge_s=purge_s)


def _duration_s(value: str, text: str, message: str) -> float:
    try:
        seconds = parse_time_s(value)
    except (HpcBatchError, ValueError):
        seconds = None
    if seconds is None:
        raise _error(f"Error parsing flags {text}.  {message}")
    return seconds


def _flag(name: str, known: Mapping[str, tuple[int, Flag]]) -> Flag | None:
    return next((flag for each, (least, flag) in known.items() if _is(name, each, least)), None)


def _is(name: str, word: str, least: int) -> bool:
    return len(name) >= least and word.startswith(name.lower())


def new_spec(words: ReservationWords, *, name: str, zone: str, host: str, owner: str) -> ReservationSpec:
    """What `create` asks for. Raises SlurmUsageError, exit 1."""
    start, flags = words.start, {flag for sign, flag in words.flags if not sign}
    if start is None:
        raise _error("A start time must be given.  No reservation created.")
    if words.end is None and words.duration is None:
        raise _error("An end time or duration must be given.  No reservation created.")
    if words.end is not None and words.duration is not None and start + words.duration != words.end:
        raise _error("StartTime + Duration does not equal EndTime.  No reservation created.")
    if words.end is not None and start > words.end:
        raise _error("Start time cannot be after end time.  No reservation created.")
    nodes = words.nodes or ()
    if words.partition and nodes == ("ALL",):
        flags.add(Flag.PART_NODES)
    if Flag.PART_NODES in flags and (not words.partition or nodes != ("ALL",)):
        text = "PART_NODES flag requires specifying a Partition and ALL nodes.  No reservation created."
        raise _error(text)
    if not (words.core_counts or words.node_counts or nodes):
        if not words.partition:
            text = "CoreCnt, Nodes, NodeCnt, BurstBuffer, Licenses or Watts must be specified.  No reservation created."
            raise _error(text)
        flags.add(Flag.PART_NODES)
        nodes = ("ALL",)
    if not (words.users or words.groups or words.accounts):
        raise _error("Either Users/Groups and/or Accounts must be specified.  No reservation created.")
    if words.users and words.groups:
        text = "Users and Groups are mutually exclusive.  You can have one or the other, but not both."
        raise _error(f"{text}  No reservation created.")
    flags.discard(Flag.SPEC_NODES)
    if nodes:
        flags.add(Flag.SPEC_NODES)
        if nodes == ("ALL",) and Flag.PART_NODES not in flags:
            flags.add(Flag.ALL_NODES)
    _check_replaced(flags, nodes, words.core_counts or (), "Error creating the reservation: ")
    try:
        return ReservationSpec(
            dialect="slurm",
            name=name,
            start=start,
            end=words.end or start + (words.duration or _YEAR),
            zone=zone,
            nodes=nodes,
            node_counts=words.node_counts or (),
            core_counts=words.core_counts or (),
            features=words.features or "",
            partition=words.partition or "",
            users=_signed((), words.users or (), words.signs.get("users", "")),
            groups=_signed((), words.groups or (), words.signs.get("groups", "")),
            accounts=_signed((), words.accounts or (), words.signs.get("accounts", "")),
            flags=in_order(flags),
            purge_s=300 if words.purge_s is None else words.purge_s,
            submit_host=host,
            attributes={"owner": owner},
        )
    except HpcBatchError:
        raise SlurmUsageError(f"Error creating the reservation: {_TEXTS[Denial.BAD_TIME]}") from None


def _check_replaced(flags: set[Flag], nodes: Sequence[str], core_counts: Sequence[int], wrong: str) -> None:
    """Source: create_reservation()."""
    if Flag.REPLACE_DOWN in flags and nodes:
        raise SlurmUsageError(f"{wrong}{_TEXTS[Denial.UNKNOWN_NODE]}")
    if Flag.REPLACE_DOWN in flags and core_counts:
        raise SlurmUsageError(f"{wrong}CPU count specification invalid")


def default_name(words: ReservationWords, number: int) -> str:
    """`alice_3`. Source: _generate_resv_name()."""
    names = words.accounts or words.users or words.groups or ("resv",)
    return f"{names[0].removeprefix(NOT).removeprefix('+')}_{number}"


def changed_spec(
    spec: ReservationSpec, words: ReservationWords, held: Sequence[str], now: datetime, *, is_on: bool
) -> ReservationSpec:
    """What `update` makes of it; `held` are its nodes. Raises SlurmUsageError, exit 1."""
    wrong = "Error updating the reservation: "
    if words.core_counts is not None or (spec.core_counts and (words.nodes is not None or words.node_counts)):
        raise SlurmUsageError(f"{wrong}Core-based reservation can not be updated")
    if words.features:
        raise SlurmUsageError(f"{wrong}Requested operation not supported on this system")
    if words.start is not None and is_on:
        raise SlurmUsageError(f"{wrong}{_TEXTS[Denial.BAD_TIME]}")
    start = words.start or spec.start
    end = words.end or (start + spec.duration if words.start is not None else spec.end)
    if words.duration is not None:
        more = {"+": spec.duration + words.duration, "-": spec.duration - words.duration}
        end = start + more.get(words.duration_sign, words.duration)
    flags = set(spec.flags)
    for sign, flag in words.flags:
        flags = flags - {flag} if sign else flags | {flag}
    nodes, counts = spec.nodes, spec.node_counts
    partition = spec.partition if words.partition is None else words.partition
    is_part = ("", Flag.PART_NODES) in words.flags
    if is_part and not partition:
        raise SlurmUsageError(f"{wrong}{_TEXTS[Denial.UNKNOWN_QUEUE]}")
    if is_part and words.nodes != ("ALL",):
        raise SlurmUsageError(f"{wrong}{_TEXTS[Denial.UNKNOWN_NODE]}")
    if words.nodes is not None:
        nodes, counts = _nodes(words, held), ()
        flags = (flags | {Flag.SPEC_NODES}) - {Flag.ALL_NODES, Flag.PART_NODES}
        if nodes == ("ALL",):
            flags |= {Flag.PART_NODES if is_part else Flag.ALL_NODES}
    elif words.node_counts is not None:
        total = sum(words.node_counts)
        nodes, counts = (tuple(held[:total]), ()) if total <= len(held) else ((), words.node_counts)
        flags -= {Flag.ALL_NODES, Flag.PART_NODES}
    if words.node_counts is not None and not sum(words.node_counts):
        raise SlurmUsageError(f"{wrong}{_TEXTS[Denial.UNKNOWN_NODE]}")
    if end <= start or end <= now:
        raise SlurmUsageError(f"{wrong}{_TEXTS[Denial.BAD_TIME]}")
    _check_replaced(flags, nodes, spec.core_counts, wrong)
    users = spec.users if words.users is None else _signed(spec.users, words.users, words.signs["users"])
    groups = spec.groups if words.groups is None else _signed(spec.groups, words.groups, words.signs["groups"])
    accounts = spec.accounts
    if words.accounts is not None:
        accounts = _signed(spec.accounts, words.accounts, words.signs["accounts"])
    if users and groups:
        text = "Reservations can't have users and groups specified, only one or the other"
        raise SlurmUsageError(f"{wrong}{text}")
    if not (users or groups or accounts):
        raise SlurmUsageError(f"{wrong}Reservation request lacks users, groups or accounts")
    return replace(
        spec,
        start=start,
        end=end,
        nodes=nodes,
        node_counts=counts,
        partition=partition,
        users=users,
        groups=groups,
        accounts=accounts,
        flags=in_order(flags),
        purge_s=spec.purge_s if words.purge_s is None else words.purge_s,
    )


def _nodes(words: ReservationWords, held: Sequence[str]) -> tuple[str, ...]:
    named = words.nodes or ()
    if words.nodes_sign == "+":
        return tuple(dict.fromkeys((*held, *named)))
    if words.nodes_sign == "-":
        return tuple(name for name in held if name not in named)
    return named


def _signed(before: Sequence[str], names: Sequence[str], sign: str) -> tuple[str, ...]:
    """`Users+=a`, `Users-=a`, `Users=+a,-b`; in a list of its own `-a` says that a may not."""
    is_change = sign or any(name.startswith("+") for name in names) or (before and any(n[0] == NOT for n in names))
    if not is_change:
        return tuple(dict.fromkeys(names))
    found = list(before)
    for name in names:
        own = name[0] if name[0] in "+-" else sign
        bare = name.lstrip("+-")
        if own == "-" and bare in found:
            found.remove(bare)
        elif own == "-" and not before:
            found.append(f"{NOT}{bare}")
        elif own != "-" and bare not in found:
            found.append(bare)
    return tuple(found)


def in_order(flags: set[Flag]) -> tuple[Flag, ...]:
    return tuple(flag for flag in Flag if flag in flags)
