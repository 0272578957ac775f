"""A signal that tells a job that its time is nearly up."""

from __future__ import annotations

from hpcbatch.dataclass import dataclass, field
from hpcbatch.model.stored import BOOLEAN, integer, stored


@dataclass(frozen=True, slots=True, kw_only=True)
class WarnSignal:
    """A signal before the walltime is up (Slurm --signal)."""

    signal: int = field(metadata=stored("signal", integer(1, 64)))
    before_s: int = field(default=60, metadata=stored("beforeSeconds", integer(0, 65535), is_required=True))
    """Seconds before the limit."""
    is_batch_only: bool = field(default=False, metadata=stored("batchOnly", BOOLEAN))
    """To the script's shell only (`B:`), else to all processes of the job."""
