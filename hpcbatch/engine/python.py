"""How the engine's processes are started: by the Python that runs us, isolated from the user's environment if it is."""

from __future__ import annotations

import sys


def module(name: str, *arguments: str) -> list[str]:
    """The command that runs a module of ours, with `-I` only if we run with it: tests may need PYTHONPATH."""
    return [sys.executable, *(["-I"] if sys.flags.isolated else []), "-m", name, *arguments]
