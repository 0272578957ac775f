"""Job ids as users write them: `12`, `12+0`, comma lists. Arrays and steps are an error until they are supported."""

from __future__ import annotations

import re

from hpcbatch.errors import NotSupportedError

_ID = re.compile(r"([0-9]{1,18})(?:\+([0-9]+)|(_[\[\]0-9,%:-]+|_\*)|\.([0-9]+|batch|extern|interactive))?")
_COMMAS = re.compile(r",(?![^\[]*\])")


def parse_id(text: str) -> int:
    """The number of one job. Raises ValueError if it is no id, NotSupportedError for array elements and steps."""
    match = _ID.fullmatch(text)
    if match is None or int(match[1]) == 0:
        raise ValueError(text)
    if match[3]:
        raise NotSupportedError(f"{text}: job arrays are not supported yet")
    if match[4]:
        raise NotSupportedError(f"{text}: job steps are not supported yet")
    if match[2] and int(match[2]):
        raise NotSupportedError(f"{text}: heterogeneous jobs are not supported yet")
    return int(match[1])


def split_ids(text: str) -> list[str]:
    """The parts of a comma list; commas within brackets belong to an array element."""
    return [part.strip() for part in _COMMAS.split(text) if part.strip()]
