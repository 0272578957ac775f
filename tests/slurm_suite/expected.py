"""docs/slurm-suite.md: the tests that do not pass, and why."""

from __future__ import annotations

import re
from pathlib import Path

from tests.slurm_suite.suite import Outcome

PAGE = Path(__file__).parents[2] / "docs/slurm-suite.md"


def of_page() -> dict[str, Outcome]:
    """What becomes of each test that the page's tables name: `| 2.14, 2.15 | failed | reason |`."""
    rows = re.findall(r"^\| ([^|]+) \| (failed|skipped) \| [^|]{10,} \|$", PAGE.read_text(), re.M)
    return {name.strip(" `"): Outcome(outcome) for names, outcome in rows for name in names.split(",")}
