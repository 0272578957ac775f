"""The dialects by the name that a job's record has. A new one is a folder beside this file, and a line here."""

from __future__ import annotations

import re

import hpcbatch.dialects.lsf.door
import hpcbatch.dialects.pbs.door
import hpcbatch.dialects.slurm.door
from hpcbatch.dialects.port import Door
from hpcbatch.errors import HpcBatchError
from hpcbatch.model.dialect import Dialect

DIALECTS: dict[str, Door] = {
    Dialect.PBS: hpcbatch.dialects.pbs.door.DOOR,
    Dialect.SLURM: hpcbatch.dialects.slurm.door.DOOR,
    Dialect.LSF: hpcbatch.dialects.lsf.door.DOOR,
}


def door(dialect: str) -> Door:
    """Raises HpcBatchError for a dialect that this hpcbatch does not know."""
    found = DIALECTS.get(dialect)
    if found is None:
        raise HpcBatchError(f"dialect {dialect!r} is not known here: expected {' or '.join(sorted(DIALECTS))}")
    return found


def count_directives(script: bytes) -> dict[str, int]:
    """How many lines of a script begin as each dialect's options do; only those dialects of which there are any."""
    counts = {
        name: len(re.findall(rb"^[ \t]*" + re.escape(each.directive.encode()), script, re.MULTILINE))
        for name, each in DIALECTS.items()
        if each.directive
    }
    return {name: count for name, count in counts.items() if count}
