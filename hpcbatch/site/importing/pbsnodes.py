"""What `pbsnodes -a` prints: a line with the name, then its attributes, indented. Of Torque and of PBS Pro."""

from __future__ import annotations

import re

from hpcbatch.site.importing import pbs_rows
from hpcbatch.site.importing.found import Found, Node, Place, Setting

_HEADER = re.compile(r"[A-Za-z0-9][\w.\[\]-]*", re.ASCII)
_ATTRIBUTE = re.compile(r"\s+([A-Za-z_][\w.-]*)\s*=\s*(.*?)\s*")
_PROMPT = re.compile(r"[$#%\[]|\S*[$#>]\s|.*\bpbsnodes\b")


def read(text: str, file: str, found: Found) -> None:
    node: Node | None = None
    for number, line in enumerate(text.split("\n"), 1):
        place = Place(file, number)
        if not line.strip() or _PROMPT.match(line):
            continue
        if match := _ATTRIBUTE.fullmatch(line):
            if node is None:
                found.wrong(place, f"{line.strip()[:60]!r} stands before the first node's name")
                return
            pbs_rows.attribute(node, match[1].lower(), Setting(place, match[1], match[2]), found)
        elif _HEADER.fullmatch(line.strip()):
            node = found.node(line.strip(), place)
        else:
            found.wrong(place, f"{line.strip()[:60]!r}: expected a node's name, or an attribute of it, indented")
            return
