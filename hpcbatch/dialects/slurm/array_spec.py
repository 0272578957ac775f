"""`sbatch --array=0-9,20-30:5%4`: the indices of an array, as slurmctld reads them."""

from __future__ import annotations

import re

from hpcbatch.model.array import Array
from hpcbatch.model.indices import Indices

_NUMBER = r"\s*\+?([0-9]{0,9})\]?"  # as strtol() reads it: nothing is 0
_PART = rf"(?as)\[?(?!\s*-){_NUMBER}(?:-{_NUMBER}(?::{_NUMBER})?)?(?:%.*)?"
_LIMIT = r"(?a)%\s*([0-9]{1,9})"
_PLAIN_LIMIT = r"(?a)%[0-9]{1,9}\]?(?:,[^%]*)?"


def parse_array(text: str) -> Array:
    """Read a list of numbers and ranges, which may overlap and stand in any order. Brackets may stand around it, and
    behind `%` the number of members that may run at once; `%0` is no limit. Raises ValueError for anything else.
    """
    ranges = []
    for part in filter(None, text.split(",")):
        match = re.fullmatch(_PART, part)
        if match is None:
            raise ValueError(text)
        first = int(match[1] or 0)
        last = first if match[2] is None else int(match[2] or 0)
        step = 1 if match[3] is None else int(match[3] or 0)
        if last < first or step < 1:
            raise ValueError(text)
        ranges.append(f"{first}-{last}:{step}")
    if not ranges:
        raise ValueError(text)
    limit = re.search(_LIMIT, text)
    return Array(indices=Indices.parse(",".join(ranges)), limit=(int(limit[1]) or None) if limit else None, text=text)


def limit_note(array: Array) -> str:
    """What to tell who wrote more behind `%` than a number, of which slurmctld reads as much as is one; "" else."""
    _, percent, rest = array.text.partition("%")
    if not percent or re.fullmatch(_PLAIN_LIMIT, percent + rest):
        return ""
    meant = "no limit" if array.limit is None else f"%{array.limit}"
    return f"sbatch: array: %{rest} is read as {meant}"
