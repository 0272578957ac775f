"""`qsub -J X-Y[:Z][%max]`, and Torque's `-t 1-10,15%5`: the indices of an array."""

from __future__ import annotations

import re

from hpcbatch.errors import HpcBatchError
from hpcbatch.model.array import Array
from hpcbatch.model.indices import Indices

_RANGE = re.compile(r"([0-9]{1,9}-[0-9]{1,9}(?::[0-9]{1,9})?)(?:%([0-9]{1,9}))?", re.ASCII)

_LIST = re.compile(r"([0-9]{1,9}(?:-[0-9]{1,9})?(?:,[0-9]{1,9}(?:-[0-9]{1,9})?)*)(?:%([0-9]{1,9}))?", re.ASCII)


def parse_array_range(text: str) -> Array:
    """Read `1-100:2%5`. One number alone is no array. Raises HpcBatchError. Source: OpenPBS, parse_subjob_index()."""
    match = _RANGE.fullmatch(text.strip())
    if match is None:
        raise HpcBatchError(f"{text!r} is no range of an array")
    first, _, rest = match[1].partition("-")
    last, _, step = rest.partition(":")
    limit = None if match[2] is None else int(match[2])
    if int(first) >= int(last) or int(step or 1) < 1 or limit == 0:
        raise HpcBatchError(f"{text!r} is no range of an array")
    return Array(indices=Indices.parse(match[1]), limit=limit, text=match[1])


def parse_torque_range(text: str) -> Array:
    """Read `1,3,7-9%5`; one number alone is an array of one. Raises HpcBatchError.
    Source: Torque, parse_array_request() and the manual of its qsub.
    """
    match = _LIST.fullmatch("".join(text.split()))
    limit = None if match is None or match[2] is None else int(match[2])
    if match is None or limit == 0:
        raise HpcBatchError(f"{text!r} is no list of array indices")
    return Array(indices=Indices.parse(match[1]), limit=limit, text=match[1])
