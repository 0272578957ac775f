"""How Slurm writes memory: MiB, in the greatest unit that divides it."""

from __future__ import annotations

MIB = 1024**2


def size(mib: int, convert: bool = True) -> str:
    """`100M`, `2G`, `1T`; 0 is `0`. Without `convert` (--noconvert) always `M`."""
    if mib == 0:
        return "0"
    units = ["M", "G", "T", "P"]
    index = 0
    while convert and mib % 1024 == 0 and index < len(units) - 1:
        mib //= 1024
        index += 1
    return f"{mib}{units[index]}"
