"""What qmgr's `set`, `unset` and `create` change of queues and nodes, and what of it is refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from hpcbatch.dialects.pbs.errors import PBSE_ATTRRO, PBSE_ATTRTYPE, PBSE_BADATVAL, PBSE_NOATTR, PBSE_PERM
from hpcbatch.dialects.pbs.qmgr_attributes import PUBLIC, READ_ONLY, Kind, set_elsewhere
from hpcbatch.dialects.pbs.qmgr_parse import Setting, Verb
from hpcbatch.dialects.pbs.values import parse_duration, parse_size
from hpcbatch.errors import HpcBatchError
from hpcbatch.model.queue_fields import MOST_DEPTH
from hpcbatch.typed import NamedTuple

_TRUE, _FALSE = frozenset({"true", "t", "1", "y"}), frozenset({"false", "f", "0", "n"})


_LIMITS: Mapping[str, tuple[str, Callable[[str], int]]] = {
    "resources_max.walltime": ("maxWalltimeSeconds", parse_duration),
    "resources_default.walltime": ("defaultWalltimeSeconds", parse_duration),
    "resources_max.ncpus": ("maxCPUs", int),
    "resources_max.nodect": ("maxNodes", int),
    "resources_max.mem": ("maxMemoryBytes", lambda text: parse_size(text).bytes),
    "resources_min.nodect": ("minNodes", int),
    "resources_min.ncpus": ("minCPUs", int),
    "resources_min.walltime": ("minWalltimeSeconds", parse_duration),
    "resources_min.mem": ("minMemoryBytes", lambda text: parse_size(text).bytes),
    "default_chunk.mem": ("defaultMemoryPerNodeBytes", lambda text: parse_size(text).bytes),
}
"""What operators set of a queue's limits and defaults: keys of model.queue_fields."""


_SWITCHES: Mapping[str, str] = {
    "route_held_jobs": "routesHeld",
    "route_waiting_jobs": "routesWaiting",
    "from_route_only": "fromRouteOnly",
}
"""Likewise those that are true or false."""


class QmgrError(HpcBatchError):
    """What the server would answer: its number and text. `note` is ours: what is so here."""

    def __init__(self, number: int, text: str, note: str = "") -> None:
        super().__init__(text)
        self.number, self.text, self.note = number, text, note


class QueueChange(NamedTuple):
    enabled: bool | None = None
    started: bool | None = None
    limits: Mapping[str, int | bool | list[str] | None] = MappingProxyType({})
    """By the keys of model.queue_fields; None takes a limit off."""


class NodeChange(NamedTuple):
    offline: bool | None = None
    comment: str | None = None


def unauthorized(note: str) -> QmgrError:
    return QmgrError(PBSE_PERM, "Unauthorized Request ", note)


def queue_change(settings: Sequence[Setting], verb: Verb, routes_to: Sequence[str] | None = None) -> QueueChange:
    """`routes_to`: the destinations of the queue if it is a routing queue. Raises QmgrError for what is not set here;
    nothing is changed then.
    """
    enabled: bool | None = None
    started: bool | None = None
    limits: dict[str, int | bool | list[str] | None] = {}
    before = routes_to
    for setting in settings:
        if setting.name == "queue_type" and verb is not Verb.UNSET:
            routes_to = _of_type(setting, routes_to)
    for setting in settings:
        if (limit := _LIMITS.get(str(setting))) is not None:
            limits[limit[0]] = None if verb is Verb.UNSET else _amount(setting, limit[1])
        elif setting.name == "Priority" and not setting.resource:
            limits["priority"] = None if verb is Verb.UNSET else _priority(setting)
        elif setting.name == "backfill_depth" and not setting.resource:
            limits["backfillDepth"] = None if verb is Verb.UNSET or not setting.value else depth(setting)
        elif setting.name in {"enabled", "started"} and not setting.resource:
            switch = False if verb is Verb.UNSET else boolean(setting)
            enabled, started = (switch, started) if setting.name == "enabled" else (enabled, switch)
        elif setting.name == "route_destinations" and not setting.resource:
            if routes_to is None:
                raise QmgrError(PBSE_ATTRTYPE, "Incompatible type", "only routing queues have destinations")
            routes_to = [] if verb is Verb.UNSET else _destinations(setting, routes_to)
        elif setting.name in _SWITCHES and not setting.resource:
            limits[_SWITCHES[setting.name]] = False if verb is Verb.UNSET else boolean(setting)
        elif setting.name == "queue_type" and verb is not Verb.UNSET:
            continue
        else:
            raise _not_set(Kind.QUEUE, setting)
    if routes_to != before:
        limits["destinations"] = None if routes_to is None else list(routes_to)
    return QueueChange(enabled, started, limits)


def _of_type(setting: Setting, routes_to: Sequence[str] | None) -> Sequence[str] | None:
    value = setting.value.lower()
    if setting.op != "=" or not value or not ("execution".startswith(value) or "route".startswith(value)):
        raise illegal(setting)
    return None if value[0] == "e" else routes_to or ()


def _destinations(setting: Setting, now: Sequence[str]) -> list[str]:
    names = [name.strip() for name in setting.value.split(",") if name.strip()]
    if any("@" in name for name in names):
        raise illegal(setting, "there is one server, so destinations are queues without a server's name")
    if setting.op == "-=":
        return [name for name in now if name not in names]
    return [*dict.fromkeys([*(now if setting.op == "+=" else ()), *names])]


def _priority(setting: Setting) -> int:
    """PBS takes -1024 to 1023."""
    digits = setting.value.removeprefix("-").removeprefix("+")
    number = int(setting.value) if digits.isascii() and digits.isdigit() and len(digits) < 5 else 1024
    if setting.op != "=" or not -1024 <= number <= 1023:
        raise illegal(setting)
    return number


def _amount(setting: Setting, read: Callable[[str], int]) -> int:
    try:
        amount = read(setting.value)
    except (HpcBatchError, ValueError):
        amount = -1
    if setting.op != "=" or amount < 0:
        raise illegal(setting)
    return amount


def node_change(settings: Sequence[Setting], verb: Verb) -> NodeChange:
    """Raises QmgrError for what is not set here; nothing is changed then."""
    offline: bool | None = None
    comment: str | None = None
    for setting in settings:
        if setting.name == "comment" and not setting.resource and setting.op == "=":
            comment = "" if verb is Verb.UNSET else setting.value
        elif setting.name == "state" and verb is not Verb.UNSET:
            states = {(op, "offline"): op != "-=" for op in ("=", "+=", "-=")} | {("=", "free"): False}
            if (setting.op, setting.value) not in states:
                raise illegal(setting, "the states that can be set are free and offline")
            offline = states[setting.op, setting.value]
        else:
            raise _not_set(Kind.NODE, setting)
    return NodeChange(offline, comment)


def new_settings(settings: Sequence[Setting], present: Mapping[str, str]) -> tuple[Setting, ...]:
    """Without those that say what is so already: what `print` shows can be read again."""
    return tuple(one for one in settings if one.op != "=" or present.get(str(one)) != one.value or not one.value)


def scheduling_change(settings: Sequence[Setting], verb: Verb) -> bool | None:
    """What becomes of the server's `scheduling`; None: nothing. Raises QmgrError for what is not set here."""
    on: bool | None = None
    for setting in settings:
        if setting.name != "scheduling" or verb is Verb.UNSET:
            raise not_here(Kind.SERVER, [setting])
        on = boolean(setting)
    return on


def check_attributes(kind: Kind, settings: Sequence[Setting]) -> None:
    """Raises QmgrError for a name that is no attribute."""
    for setting in settings:
        if setting.name not in PUBLIC.get(kind, ()) and setting.name not in READ_ONLY.get(kind, ()):
            raise QmgrError(PBSE_NOATTR, f"Undefined attribute  {setting}")


def not_here(kind: Kind, settings: Sequence[Setting]) -> QmgrError:
    """For an object of which nothing is set by qmgr."""
    for setting in settings:
        return _not_set(kind, setting)
    return unauthorized(set_elsewhere(kind))


def _not_set(kind: Kind, setting: Setting) -> QmgrError:
    if setting.name in PUBLIC.get(kind, ()):
        text = f"Cannot set attribute, read only or insufficient permission  {setting}"
        return QmgrError(PBSE_ATTRRO, text, set_elsewhere(kind, setting.name))
    if setting.name in READ_ONLY.get(kind, ()):
        return QmgrError(PBSE_ATTRRO, f"Cannot set attribute, read only or insufficient permission  {setting}")
    if kind in PUBLIC:
        return QmgrError(PBSE_NOATTR, f"Undefined attribute  {setting}")
    return unauthorized(set_elsewhere(kind))


def illegal(setting: Setting, note: str = "") -> QmgrError:
    return QmgrError(PBSE_BADATVAL, f"Illegal attribute or resource value  {setting}", note)


def depth(setting: Setting) -> int:
    """A `backfill_depth`. Raises QmgrError."""
    digits = setting.value
    found = int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 9 else MOST_DEPTH + 1
    if setting.op != "=" or found > MOST_DEPTH:
        raise illegal(setting, f"expected 0 to {MOST_DEPTH}")
    return found


def boolean(setting: Setting) -> bool:
    lower = setting.value.lower()
    if setting.op != "=" or lower not in _TRUE | _FALSE:
        raise illegal(setting)
    return lower in _TRUE
