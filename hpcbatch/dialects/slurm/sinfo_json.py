"""A node as `sinfo --json` shows it. Source: openapi/v0.0.38 of Slurm 22.05.8, and what was recorded."""

from __future__ import annotations

from collections.abc import Sequence

from hpcbatch.dialects.slurm.data import epoch
from hpcbatch.dialects.slurm.errors import SLURM_VERSION
from hpcbatch.dialects.slurm.memory import MIB, size
from hpcbatch.dialects.slurm.node_states import configured_tres, features, gres, gres_tres, gres_used, node_state
from hpcbatch.model.node_features import ACTIVE, AVAILABLE
from hpcbatch.model.row import NodeRow, QueueRow
from hpcbatch.typed import Any

_ARCH = {"amd64": "x86_64", "arm64": "aarch64"}
_FLAGS = {"DRAIN": "DRAIN", "FAIL": "FAIL", "NOT_RESPONDING": "NOT_RESPONDING"}


def node(row: NodeRow, queues: Sequence[QueueRow]) -> dict[str, Any]:
    base, *flags = node_state(row).upper.split("+")
    total_mb, used_mb = row.mem_bytes // MIB, row.mem_used_bytes // MIB
    used = [f"cpu={row.cpus_used}"] * bool(row.cpus_used) + [f"mem={size(used_mb)}"] * bool(used_mb)
    used += gres_tres((each.name, each.used) for each in row.gres)
    return {
        "architecture": _ARCH.get(row.arch, row.arch),
        "burstbuffer_network_address": "",
        "boards": 1,
        "boot_time": 0,
        "comment": "",
        "cores": row.cpus,
        "cpu_binding": 0,
        "cpu_load": None,
        "extra": "",
        "free_memory": max(0, total_mb - used_mb),
        "cpus": row.cpus,
        "last_busy": epoch(row.since),
        "features": features(row, ACTIVE, AVAILABLE, none=""),
        "active_features": features(row, ACTIVE, none=""),
        "gres": gres(row, none=""),
        "gres_drained": "N/A",
        "gres_used": gres_used(row, none=""),
        "mcs_label": "",
        "name": row.name,
        "next_state_after_reboot": "invalid",
        "address": row.name,
        "hostname": row.name,
        "state": base.rstrip("*").lower(),
        "state_flags": [_FLAGS[flag] for flag in flags],
        "next_state_after_reboot_flags": [],
        "operating_system": "Linux",
        "owner": None,
        "partitions": [queue.name for queue in queues if queue.reaches(row)],
        "port": 0,
        "real_memory": total_mb,
        "reason": row.comment,
        "reason_changed_at": epoch(row.comment_time),
        "reason_set_by_user": row.comment_by or None,
        "slurmd_start_time": 0,
        "sockets": 1,
        "threads": 1,
        "temporary_disk": 0,
        "weight": 1,
        "tres": configured_tres(row),
        "slurmd_version": SLURM_VERSION,
        "alloc_memory": used_mb,
        "alloc_cpus": row.cpus_used,
        "idle_cpus": max(0, row.cpus - row.cpus_used),
        "tres_used": ",".join(used),
        "tres_weighted": float(row.cpus_used),
    }
