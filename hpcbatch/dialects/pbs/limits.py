"""The limits of `-l`: of the job's time, and of each of its processes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial

from hpcbatch.dialects.pbs.obstacles import Obstacles
from hpcbatch.dialects.pbs.resource_list import ResourceRequest, bad_value, converted
from hpcbatch.dialects.pbs.values import parse_duration, parse_size
from hpcbatch.model.signals import signal_number
from hpcbatch.model.warn_signal import WarnSignal
from hpcbatch.typed import Final, NamedTuple
from hpcbatch.units import hms

_TIMES: Final = ("walltime", "min_walltime", "max_walltime", "cput", "pcput")
_RLIMIT: Final[Mapping[str, str]] = {
    "file": "fsize",
    "pvmem": "as",
    "coresz_prc": "core",
    "datasz_prc": "data",
    "stacksz_prc": "stack",
    "vmemsz_prc": "as",
}
"""The limit of setrlimit(2) that each is."""
_BEFORE_S: Final = 60
_LONGEST_BEFORE_S: Final = 65535
NAMES: Final = frozenset({*_TIMES, *_RLIMIT, "nice", "signal"})


class Limits(NamedTuple):
    walltime_s: int | None = None
    cpu_time_s: int | None = None
    process_limits: tuple[tuple[str, int], ...] = ()
    process_nice: int = 0
    warn_signal: WarnSignal | None = None
    shown: Mapping[str, str] = {}
    min_walltime_s: int | None = None
    """The walltime may be lowered down to this; None: it may not."""


def read_limits(asked: Mapping[str, ResourceRequest], obstacles: Obstacles) -> Limits:
    """Source of what the limits are on a node: OpenPBS, mom_set_limits()."""
    shown: dict[str, str] = {}
    times: dict[str, int] = {}
    limits: dict[str, int] = {}
    nice = 0
    warn: WarnSignal | None = None
    for name, request in asked.items():
        if name not in NAMES:
            continue
        if name == "signal":
            warn = obstacles.attempt(request.option, partial(_signal, request), None)
            shown[name] = request.value.strip()
        elif name == "nice":
            nice = obstacles.attempt(request.option, partial(_nice, request), 0)
            shown[name] = str(nice)
        elif name in _TIMES:
            seconds = obstacles.attempt(request.option, partial(_seconds, request), None)
            if seconds:
                times[name], shown[name] = seconds, hms(seconds)
        else:
            size = obstacles.attempt(request.option, partial(converted, request, parse_size), None)
            if size is not None:
                shown[name] = str(size)
                limits[_RLIMIT[name]] = min(limits.get(_RLIMIT[name], size.bytes), size.bytes)
    if "pcput" in times:
        limits["cpu"] = times["pcput"]
    walltime_s = next((times[name] for name in ("walltime", "max_walltime", "min_walltime") if name in times), None)
    if walltime_s is not None:
        shown["walltime"] = hms(walltime_s)
    min_s = None if "walltime" in times else times.get("min_walltime")
    if min_s is not None and walltime_s is not None and min_s > walltime_s:
        obstacles.attempt(asked["min_walltime"].option, partial(_refused, asked["min_walltime"]), None)
    if limits.get("as") == 0:  # as OpenPBS: nothing at all could run
        del limits["as"]
    return Limits(walltime_s, times.get("cput"), tuple(sorted(limits.items())), nice, warn, shown, min_s)


def _seconds(request: ResourceRequest) -> int | None:
    seconds = converted(request, parse_duration)
    if seconds == 0:
        raise bad_value(request)
    return seconds


def _signal(request: ResourceRequest) -> WarnSignal:
    """Moab's `signal[@offset]`: the signal that the job gets before its walltime is up."""
    name, at, before = request.value.strip().partition("@")
    number = signal_number(name)
    seconds = converted(request._replace(value=before), parse_duration) if at else _BEFORE_S
    if not number or seconds is None or seconds > _LONGEST_BEFORE_S:
        raise bad_value(request)
    return WarnSignal(signal=number, before_s=seconds)


def _nice(request: ResourceRequest) -> int:
    if not re.fullmatch(r"\s*[+-]?[0-9]{1,3}\s*", request.value) or not -20 <= int(request.value) <= 19:
        raise bad_value(request)
    return int(request.value)


def _refused(request: ResourceRequest) -> None:
    raise bad_value(request)
