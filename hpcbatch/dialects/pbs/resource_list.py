"""The text of `-l`: its parts, their values, and the errors that PBS has for them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from hpcbatch.dialects.pbs.errors import COMMAND_LINE, PBSE_BADATVAL, Origin, PbsError
from hpcbatch.errors import HpcBatchError
from hpcbatch.typed import Final, NamedTuple, TypeVar

_T = TypeVar("_T")

_RESOURCE = re.compile(r"\s*([^=,]*)(=?)", re.ASCII)
_BLANK = " \t\n\v\f\r"  # C's isspace()
_WORD = re.compile(r"\s+", re.ASCII)
NUMBER: Final = rf"[{_BLANK}]*\+?[0-9]{{1,9}}"


class ResourceRequest(NamedTuple):
    """One `name=value` of `-l`, and where it stands."""

    name: str
    value: str
    origin: Origin = COMMAND_LINE
    given: str = ""
    """The option as it was given, where that is not `-l name=value`."""

    @property
    def option(self) -> str:
        return self.given or f"-l {self.name}={self.value.strip()}".removesuffix("=")


def split_resources(text: str) -> Iterator[tuple[str, str]]:
    """Read `name[=value],…` as `-l` takes it. Values may be quoted; blanks separate as commas do.
    Raises HpcBatchError where a name is missing, a quote is open, or a comma ends the list.
    Source: OpenPBS, set_resources() and pbs_quote_parse().
    """
    position = 0
    while position < len(text):
        match = _RESOURCE.match(text, position)
        name = _WORD.split(match[1].strip(_BLANK))[0] if match else ""
        if match is None or not name:
            raise HpcBatchError("a resource name is missing")
        position, value = match.end(), ""
        if match[2]:
            value, position = _value(text, position)
        yield name, value
        if text[position : position + 1] == ",":
            position += 1
            if position == len(text):
                raise HpcBatchError("the list ends in a comma")
        elif not text[position:].strip(_BLANK):
            return


def _value(text: str, start: int) -> tuple[str, int]:
    value: list[str] = []
    position = start + len(text[start:]) - len(text[start:].lstrip(_BLANK))
    quote = opened = ""
    while position < len(text):
        char = text[position]
        if char == "&" or not (char.isprintable() or char in f"{_BLANK}\xa0"):
            raise HpcBatchError(f"illegal character {char!r}")
        if opened:
            if char == opened:
                opened = ""
            else:
                value.append(char)
        elif char in "\"'" and quote in {"", char}:
            quote = opened = char
        elif char == "," or char in _BLANK:
            break
        else:
            value.append(char)
        position += 1
    if opened:
        raise HpcBatchError("no closing quote")
    return "".join(value), position


def converted(request: ResourceRequest | None, parse: Callable[[str], _T], inside: str = "Resource_List") -> _T | None:
    if request is None:
        return None
    try:
        return parse(request.value)
    except HpcBatchError:
        raise bad_value(request, inside) from None


def whole_number(request: ResourceRequest | None, inside: str = "Resource_List") -> int | None:
    if request is None:
        return None
    if not re.fullmatch(NUMBER, request.value):
        raise bad_value(request, inside)
    return int(request.value)


def bad_value(request: ResourceRequest, inside: str = "Resource_List") -> PbsError:
    text = f"Illegal attribute or resource value {inside}.{request.name}"
    return PbsError(text, PBSE_BADATVAL & 0xFF, origin=request.origin)


def refusal(text: str, name: str, number: int, origin: Origin) -> PbsError:
    return PbsError(f"{text}: {name}", number & 0xFF, origin=origin)
