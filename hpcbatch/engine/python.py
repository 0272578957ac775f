"""How the engine's processes are started: by the Python that runs us, apart from the user's environment where it is."""

from __future__ import annotations

import sys


def module(name: str, *arguments: str) -> list[str]:
    """The command that runs a module of ours, with `-I` only where we have it: in tests PYTHONPATH may lead to us."""
    return [sys.executable, *(["-I"] if sys.flags.isolated else []), "-m", name, *arguments]
