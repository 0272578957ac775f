"""Text from users: which of it may reach a terminal, a log or a listing of other users."""

from __future__ import annotations

import re

from hpcbatch.typed import Any, Final

UNPRINTABLE: Final = "\\x00-\\x1f\\x7f-\\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"
"""As part of a regular expression's class: control characters, line and paragraph separators, and characters that
change the text's direction, but no letters of any language. The BatchJob's definition has the same class.
"""

HIDDEN: Final = "***"
"""Replaces a variable's value in a record, which all users may read; the value is in the job's Secret."""
_UNPRINTABLE = f"[{UNPRINTABLE}]"  # compiled when a text needs it: that takes half a millisecond
_SHOWN = {code: f"^{chr(code ^ 64)}" for code in (*range(32), 127)}
_BREAKS = frozenset("\n\t")


def is_printable(text: str) -> bool:
    return text.isprintable() or re.search(_UNPRINTABLE, text) is None


def printable(text: str) -> str:
    """`text` for a cell: control characters as `^X`, other forbidden characters as `?`.
    Source of the form: OpenPBS, show_nonprint_chars().
    """
    return text if text.isprintable() else re.sub(_UNPRINTABLE, _shown, text)


def printable_lines(text: str) -> str:
    """The same for a text with its own lines and tabs."""
    return text if text.isprintable() else re.sub(_UNPRINTABLE, _line_shown, text)


def _line_shown(match: re.Match[str]) -> str:
    return match[0] if match[0] in _BREAKS else _shown(match)


def _shown(match: re.Match[str]) -> str:
    return _SHOWN.get(ord(match[0]), "?")


def printable_tree(value: Any, spelled: str = "") -> Any:
    """A JSON value with all of its texts, including field names, made printable: itself if they are already.
    `spelled` is its `repr()` where that is at hand.
    """
    # repr() escapes what is not printable, and a backslash: quicker than text by text
    return value if "\\" not in (spelled or repr(value)) else _printable_tree(value)


def _printable_tree(value: Any) -> Any:
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, dict):
        return {printable(name): _printable_tree(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_printable_tree(item) for item in value]
    return value
