"""scontrol: what it shows of a cluster beside jobs, nodes and partitions."""

from __future__ import annotations

from collections.abc import Mapping


def format_licenses(
    total: Mapping[str, int], used: Mapping[str, int], only: str = "", *, one_line: bool = False
) -> str:
    """`scontrol show licenses`, of that name or of all; a name that there is not is shown as nothing."""
    between = " " if one_line else "\n    "
    return "".join(
        f"LicenseName={name}{between}Total={count} Used={used.get(name, 0)} "
        f"Free={max(0, count - used.get(name, 0))} Reserved=0 Remote=no\n"
        for name, count in sorted(total.items())
        if only in {"", name}
    )
