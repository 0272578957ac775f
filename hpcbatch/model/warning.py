"""A problem that did not change a job's result: the last part of a status' message, `…; warning: TEXT`."""

from __future__ import annotations

_WORD = "warning: "


def warning_in(message: str) -> str:
    """`warning: TEXT` of a message; "" if it has none."""
    _, word, text = message.partition(_WORD)
    return word + text


def with_warning(message: str, of: str) -> str:
    """`message` with the warning of `of`, if that has one and `message` has none."""
    warning = warning_in(of)
    if not warning or warning_in(message):
        return message
    return f"{message}; {warning}" if message else warning
