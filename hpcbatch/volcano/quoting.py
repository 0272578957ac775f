"""Quoting of users' text for the two languages of the templates: POSIX sh and YAML."""

from __future__ import annotations

import json
import re
from typing import Any

from hpcbatch.errors import HpcBatchError

_PAIR = re.compile(r"\\\\|\\u(d[89ab][0-9a-f]{2})\\u(d[c-f][0-9a-f]{2})|\x7f")
_LONGEST_KEY = 1000
_LONE = re.compile("[\ud800-\udfff]")


def shellquote(text: str) -> str:
    """`text` as one word of POSIX sh. Raises HpcBatchError for a NUL byte, which no shell can hold."""
    if "\0" in text:
        raise HpcBatchError(f"{text!r} holds a NUL byte")
    return "'" + text.replace("'", "'\\''") + "'"


def yaml_flow(value: Any) -> str:
    """`value` as YAML that is nearly JSON: one line, ASCII, characters beyond the 16-bit plane as in YAML.

    JSON's own surrogate pairs are two wrong characters to PyYAML, and raw line separators are line breaks to it.
    Raises HpcBatchError for a mapping's key of over 1000 characters as written: YAML ends its simple keys at 1024.
    """
    _check_keys(value)
    return _PAIR.sub(_one_character, json.dumps(value))


def _check_keys(value: Any) -> None:
    if isinstance(value, dict):
        for key, item in value.items():
            if len(json.dumps(key)) > _LONGEST_KEY:
                raise HpcBatchError(f"{key[:20]!r}… is too long for a key: expected at most {_LONGEST_KEY} characters")
            _check_keys(item)
    elif isinstance(value, list | tuple):
        for item in value:
            _check_keys(item)


def check_text(text: str) -> str:
    """`text` itself, if the API can store it. Raises HpcBatchError if it is not valid UTF-8."""
    if _LONE.search(text):
        raise HpcBatchError(f"{text!r} is not UTF-8 text")
    return text


def _one_character(match: re.Match[str]) -> str:
    if match[0] == "\x7f":
        return "\\x7f"
    if match[1] is None:
        return match[0]
    high, low = int(match[1], 16), int(match[2], 16)
    return f"\\U{0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00):08x}"
