"""Reservations as `scontrol show reservation` and `sinfo -T` show them. Source: reservation_info.c, sinfo's print.c."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, tzinfo

from hpcbatch.dialects.slurm.clock import full, stamp
from hpcbatch.dialects.slurm.hostlist import compress_sorted
from hpcbatch.model.reservation import Flag, Reserved

NONE = "No reservations in the system\n"
_NULL = "(null)"


def format_reservation(
    reserved: Reserved,
    cpus: Mapping[str, int],
    now: datetime,
    tz: tzinfo,
    *,
    time_format: str = "",
    one_line: bool = False,
) -> str:
    """`cpus` of the nodes."""
    spec, names = reserved.spec, [node.name for node in reserved.nodes]
    cores = sum(_cores(node.amounts, cpus.get(node.name, 0)) for node in reserved.nodes)
    start, end = (stamp(time, tz, time_format, now) for time in (reserved.start, reserved.end))
    lasts = full(int((reserved.end - reserved.start).total_seconds()))
    lines = [
        f"ReservationName={reserved.id} StartTime={start} EndTime={end} Duration={lasts}",
        f"Nodes={compress_sorted(names)} NodeCnt={len(names)} CoreCnt={cores} Features={spec.features or _NULL} "
        f"PartitionName={spec.partition or _NULL} Flags={_flags(reserved)}",
        f"TRES=cpu={cores}",
        f"Users={','.join(spec.users) or _NULL} Groups={','.join(spec.groups) or _NULL} "
        f"Accounts={','.join(spec.accounts) or _NULL} Licenses={_NULL} State={_state(reserved, now)} "
        f"BurstBuffer={_NULL} Watts=n/a",
        f"MaxStartDelay={_NULL}",
    ]
    return " ".join(lines) + "\n" if one_line else "\n   ".join(lines) + "\n\n"


def _flags(reserved: Reserved) -> str:
    spec = reserved.spec
    shown = []
    for flag in spec.flags:
        if flag is Flag.PURGE_COMP and spec.purge_s:
            shown.append(f"{flag}={full(spec.purge_s)}")
        else:
            shown.append(str(flag))
    return ",".join(shown)


def format_table(
    all_reserved: Sequence[Reserved], now: datetime, tz: tzinfo, *, time_format: str = "", no_header: bool = False
) -> str:
    """`sinfo -T`."""
    if not all_reserved:
        return NONE
    width = max([9, *(len(one.id) for one in all_reserved)]) if not no_header else 9
    rows = [] if no_header else [("RESV_NAME", "STATE", "START_TIME", "END_TIME", "DURATION", "NODELIST")]
    for one in all_reserved:
        start, end = (stamp(time, tz, time_format, now) for time in (one.start, one.end))
        lasts = full(int((one.end - one.start).total_seconds()))
        nodes = compress_sorted([node.name for node in one.nodes])
        rows.append((one.id, _state(one, now), start, end, lasts, nodes))
    return "".join(
        f"{name:<{width}}  {state:>8}  {start:>19}  {end:>19}  {lasts:>11}  {nodes}\n"
        for name, state, start, end, lasts, nodes in rows
    )


def _state(reserved: Reserved, now: datetime) -> str:
    return "ACTIVE" if reserved.start <= now <= reserved.end else "INACTIVE"


def _cores(amounts: Mapping[str, int] | None, cpus: int) -> int:
    return cpus if amounts is None else amounts.get("cpu", 0) // 1000
