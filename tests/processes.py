"""The processes of this machine, from /proc: not every machine has ps."""

from __future__ import annotations

from pathlib import Path


def command_lines() -> dict[int, str]:
    """Process id → its words, joined by blanks. What ends meanwhile is left out."""
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes()
        except OSError:
            continue
        found[int(process.name)] = words.replace(b"\0", b" ").decode(errors="surrogateescape").strip()
    return found
