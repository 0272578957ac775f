"""What the templates of job scripts quote with: words of the shell, and words of a directive line."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable

from hpcbatch.dialects.registry import door
from hpcbatch.errors import HpcBatchError

_PLAIN = re.compile(r"[A-Za-z0-9_@%+=:,./^~-]+", re.ASCII)
_RESERVED = re.compile(r"if|then|else|elif|fi|case|esac|for|while|until|do|done|in|function|select|coproc")
"""Words of the shell's own; `time` and `!` before a launcher do no harm."""


def shellquote(value: object) -> str:
    """A text or a number as one word of the shell, several texts as several words; quotes only where they are needed.

    A word with `=` in it stays as it is, so that as the first word of a command it is an assignment.
    Raises HpcBatchError for what is not printable text on one line.
    """
    if isinstance(value, str | int):
        text = _printable(str(value))
        return f"'{text}'" if _RESERVED.fullmatch(text) else shlex.quote(text)
    if isinstance(value, Iterable):
        return " ".join(shellquote(item) for item in value)
    raise HpcBatchError(f"shellquote: expected a text, a number or a list of texts, found {value!r}")


def directive_word(value: object, dialect: str) -> str:
    """One word of a `#PBS` or `#SBATCH` line, which no shell reads.

    Raises HpcBatchError for what is not printable text on one line.
    """
    text = _printable(str(value))
    if _PLAIN.fullmatch(text):
        return text
    return door(dialect).directive_word(text)


def mebibytes(count: int) -> int:
    """Bytes as whole MiB, rounded up."""
    return -(-count // 2**20)


def _printable(text: str) -> str:
    if not text.isprintable():
        raise HpcBatchError(f"{text!r} cannot stand in a script: expected printable text on one line")
    return text
