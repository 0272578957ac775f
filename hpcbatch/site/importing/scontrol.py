"""What `scontrol show partition` and `scontrol show node` print, also with --oneliner."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hpcbatch.site.importing import slurm_rows
from hpcbatch.site.importing.found import Found, Place, Setting

_KEY = re.compile(r"(?:^|\s)([A-Za-z][A-Za-z0-9_/:]*)=")
_FIRST = ("PartitionName=", "NodeName=")


def read(text: str, file: str, found: Found) -> None:
    for row in records(text, file):
        if "partitionname" in row:
            slurm_rows.partition(row, found, {})
        else:
            slurm_rows.node(row, found)


def records(text: str, file: str) -> Iterator[dict[str, Setting]]:
    """A dict for each partition and node; what stands before the first, as the command itself, does not count."""
    row: dict[str, Setting] = {}
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip().startswith(_FIRST):
            if row:
                yield row
            row = {}
        elif not row:
            continue
        matches = list(_KEY.finditer(line))
        ends = [*(match.start() for match in matches[1:]), len(line)]
        for match, end in zip(matches, ends, strict=False):
            value = line[match.end() : end].strip()
            row.setdefault(match[1].lower(), Setting(Place(file, number), match[1], value))
    if row:
        yield row
