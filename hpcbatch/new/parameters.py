"""The parameters of a job script's template: what each may be, and a user's values read and checked.

No value holds anything but printable text on one line, so that none can begin a line of its own in a script.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final

from hpcbatch.errors import HpcBatchError, UsageError
from hpcbatch.units import memory_bytes

Value = int | str | bool | tuple[str, ...] | None
Given = str | bool | Sequence[str] | None
"""As the command line has it: a flag is True or False, what may be repeated a sequence, None is not given."""

_MAX_COUNT = 10**6
_CLOCK = re.compile(r"(?:(?P<d>\d{1,5})-)?(?P<h>\d{1,6}):(?P<m>[0-5]\d):(?P<s>[0-5]\d)", re.ASCII)
_SHORT_CLOCK = re.compile(r"(\d{1,6}):([0-5]\d)", re.ASCII)
_WITH_UNIT = re.compile(r"(\d{1,8})([smhd])", re.ASCII)
_UNIT_S = {"s": 1, "m": 60, "h": 3600, "d": 86400}


class UnfitValueError(Exception):
    """A value is not what its parameter wants; the text says what was expected."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One value that a template is filled with."""

    name: str
    """As the option has it, `ranks-per-node`; a template knows it as `ranks_per_node`."""
    kind: str
    """One of KINDS."""
    help: str
    default: Value = None
    """None: the template gets none, where the parameter is not required."""
    is_required: bool = False
    unit: str = ""
    minimum: int = 0
    """Of a count."""
    choices: tuple[str, ...] = ()
    """Of a choice."""

    @property
    def variable(self) -> str:
        return self.name.replace("-", "_")

    @property
    def option(self) -> str:
        """How a user writes it."""
        return self.name.upper() if self.kind == "command" else f"--{self.name}"

    @property
    def expected(self) -> str:
        """What its values are, for a message."""
        if self.kind == "count":
            return f"a whole number from {self.minimum} to {_MAX_COUNT}" + (f" ({self.unit})" if self.unit else "")
        if self.kind == "choice":
            return " or ".join(self.choices)
        return _EXPECTED[self.kind]


def read_value(parameter: Parameter, given: Given) -> Value:
    """The value of one parameter. Raises UnfitValueError."""
    return KINDS[parameter.kind](parameter, given)


def read_values(template: str, parameters: Sequence[Parameter], given: Mapping[str, Given]) -> dict[str, Value]:
    """All values of a template, by the names that it knows them by; what is not given has its default.

    Raises UsageError, one line with template, parameter and what was expected: an unknown or a missing parameter, or a
    value that does not fit.
    """
    unknown = given.keys() - {parameter.name for parameter in parameters}
    if unknown:
        raise unknown_parameter(template, f"--{min(unknown)}", parameters)
    return {parameter.variable: _one(template, parameter, given.get(parameter.name)) for parameter in parameters}


def unknown_parameter(template: str, option: str, parameters: Sequence[Parameter]) -> UsageError:
    """The error for an option that the template does not have."""
    known = [parameter.option for parameter in parameters]
    near = get_close_matches(option.partition("=")[0], known, n=1, cutoff=0.6)
    what = f"did you mean {near[0]}?" if near else f"it has {', '.join(known)}"
    return UsageError(f"template {template} has no parameter {option.partition('=')[0]}: {what}")


def _one(template: str, parameter: Parameter, given: Given) -> Value:
    if given is None or (given == () and parameter.kind in REPEATED):
        if parameter.is_required:
            raise UsageError(f"template {template}: {parameter.option} is missing: expected {parameter.expected}")
        return parameter.default
    try:
        return read_value(parameter, given)
    except UnfitValueError as unfit:
        raise UsageError(f"template {template}: {parameter.option}: {unfit}") from None


def _unfit(parameter: Parameter, given: Given) -> UnfitValueError:
    return UnfitValueError(f"expected {parameter.expected}, found {given!r}")


def _count(parameter: Parameter, given: Given) -> int:
    number = int(given) if isinstance(given, str) and re.fullmatch(r"\d{1,7}", given, re.ASCII) else -1
    if not parameter.minimum <= number <= _MAX_COUNT:
        raise _unfit(parameter, given)
    return number


def _duration(parameter: Parameter, given: Given) -> int:
    """In seconds."""
    seconds = 0
    if isinstance(given, str):
        if clock := _CLOCK.fullmatch(given):
            days, hours, minutes, rest = (int(clock[part] or 0) for part in "dhms")
            seconds = ((days * 24 + hours) * 60 + minutes) * 60 + rest
        elif short := _SHORT_CLOCK.fullmatch(given):  # minutes and seconds, as in PBS and in Slurm
            seconds = int(short[1]) * 60 + int(short[2])
        elif number := _WITH_UNIT.fullmatch(given):
            seconds = int(number[1]) * _UNIT_S[number[2]]
    if seconds <= 0:
        raise _unfit(parameter, given)
    return seconds


def _memory(parameter: Parameter, given: Given) -> int:
    """In bytes; `4G`, `4gb`, `4Gi` are all 4 GiB, as in PBS and Slurm."""
    match = re.fullmatch(r"(\d{1,9})([kmgt])(?:i?b?)", str(given).lower(), re.ASCII)
    try:
        size = memory_bytes(match[1] + match[2].upper() + "i") if match else 0
    except HpcBatchError:
        size = 0
    if size <= 0:
        raise _unfit(parameter, given)
    return size


def _text(parameter: Parameter, given: Given) -> str:
    if not isinstance(given, str) or not given or not given.isprintable():
        raise _unfit(parameter, given)
    return given


def _choice(parameter: Parameter, given: Given) -> str:
    if given not in parameter.choices:
        raise _unfit(parameter, given)
    return str(given)


def _flag(parameter: Parameter, given: Given) -> bool:
    if not isinstance(given, bool):
        raise _unfit(parameter, given)
    return given


def _words(parameter: Parameter, given: Given) -> tuple[str, ...]:
    """One text that a shell would split into these words."""
    try:
        words = tuple(shlex.split(_text(parameter, given)))
    except ValueError:
        words = ()
    if not words or not words[0]:
        raise _unfit(parameter, given)
    return words


def _texts(parameter: Parameter, given: Given) -> tuple[str, ...]:
    if given is None or isinstance(given, str | bool):
        raise _unfit(parameter, given)
    return tuple(_text(parameter, item) for item in given)


def _command(parameter: Parameter, given: Given) -> tuple[str, ...]:
    """A program and its arguments, which may be empty."""
    if given is None or isinstance(given, str | bool) or not given or not given[0]:
        raise _unfit(parameter, given)
    for word in given:
        if not word.isprintable():
            raise _unfit(parameter, word)
    return tuple(given)


_PRINTABLE = "printable text on one line"
_EXPECTED: Final[Mapping[str, str]] = {
    "duration": "a duration such as 06:00:00, 10:00 (minutes and seconds), 2-00:00:00, 90m, 12h or 3d",
    "memory": "an amount of memory such as 4G or 512M",
    "text": _PRINTABLE,
    "path": f"a path, {_PRINTABLE}",
    "words": f"a command, {_PRINTABLE}, with its quotes closed",
    "texts": _PRINTABLE,
    "flag": "true or false",
    "command": f"a program and its arguments, {_PRINTABLE}",
}
KINDS: Final[Mapping[str, Callable[[Parameter, Given], Value]]] = {
    "count": _count,
    "duration": _duration,
    "memory": _memory,
    "text": _text,
    "path": _text,
    "choice": _choice,
    "flag": _flag,
    "words": _words,
    "texts": _texts,
    "command": _command,
}
REPEATED: Final = frozenset({"texts", "command"})
"""The kinds whose values come as a sequence."""
