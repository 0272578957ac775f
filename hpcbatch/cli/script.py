"""Reading the job script: once, byte for byte."""

from __future__ import annotations

import os
import sys

from hpcbatch.cli.common import Session, complain

_LIMIT = 8 << 20  # bytes; far more than can be submitted, so that the error can tell the size
_PROMPT = "Job script will be read from standard input. Submit with CTRL+D."


def read_script(session: Session, path: str | None, *, prompt: bool) -> tuple[str | None, bytes]:
    """The script's absolute path and content; None or `-` is standard input, which has no path. Raises OSError."""
    if path is None or path == "-":
        if prompt and sys.stdin.isatty():
            complain(_PROMPT)
        return None, sys.stdin.buffer.read(_LIMIT)
    file = session.absolute(path)
    with open(file, "rb") as opened:
        return file, opened.read(_LIMIT)


def search_path(session: Session, name: str) -> str:
    """Where sbatch finds a script: here, or else on PATH if the name has no directory (source: search_path())."""
    if "/" in name or os.path.exists(session.absolute(name)):
        return name
    for directory in session.environ.get("PATH", "").split(os.pathsep):
        candidate = session.absolute(f"{directory or '.'}/{name}")
        if os.path.isfile(candidate) and os.access(candidate, os.R_OK):
            return candidate
    return name
