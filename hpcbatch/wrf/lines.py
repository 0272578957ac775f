"""The lines of WRF's logs that Python knows: those of the table from which the judge in awk has them too."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files


@cache
def known_lines() -> Mapping[str, re.Pattern[str]]:
    """The expressions of runner/wrf/wrf_lines.txt by their names, to be searched for in a line."""
    table = (files("hpcbatch.runner") / "wrf/wrf_lines.txt").read_text("ascii")
    rows = (line.split(maxsplit=1) for line in table.splitlines() if line and not line.startswith("#"))
    return {name: re.compile(expression, re.ASCII) for name, expression in rows}
