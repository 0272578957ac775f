"""Parts of a page of the documentation: a section, and the commands that stand in it."""

from __future__ import annotations

import re


def fenced(text: str, language: str = "sh") -> str:
    """All fenced blocks of a language, in their order; those of `sh` are there to be run."""
    return "".join(re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL))


def section(text: str, heading: str) -> str:
    """What stands below a heading, up to the next one of its level or above. It must be there once."""
    found = re.findall(rf"^(#+) {re.escape(heading)}\n(.*?)(?=^\1(?!#)|^#{{1,2}} |\Z)", text, re.MULTILINE | re.DOTALL)
    assert len(found) == 1, f"{len(found)} headings {heading!r}"
    return str(found[0][1])
