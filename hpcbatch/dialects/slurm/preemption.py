"""Preemption in Slurm's words."""

from __future__ import annotations

from hpcbatch.dialects.slurm.clock import full
from hpcbatch.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from hpcbatch.model.preemption import PreemptionConfig
    from hpcbatch.model.row import QueueRow


def preempt_mode(queue: QueueRow) -> str:
    """A partition's, as scontrol and sinfo show it: its own, or the cluster's."""
    return queue.preempt_mode.upper() or cluster_mode(queue.site_preempt_mode)


def cluster_mode(mode: str) -> str:
    return "GANG,SUSPEND" if mode == "suspend" else mode.upper() or "OFF"


def config_values(config: PreemptionConfig) -> dict[str, str]:
    """What `show config` has of it."""
    return {
        "PreemptMode": cluster_mode(config.mode),
        "PreemptType": f"preempt/{config.by}",
        "PreemptExemptTime": full(config.exempt_s),
    }
