"""MPI on nodes that together have more CPUs than the machine. Each pod's library assumes that its CPUs are its own:
ranks that wait for a message poll, on CPUs that the ranks which will send it need. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

YIELDING: Final[Mapping[str, str]] = {
    "OMPI_MCA_mpi_yield_when_idle": "1",  # Open MPI 4 and 5
    "MPIR_CVAR_ENABLE_HEAVY_YIELD": "1",  # MPICH from 4.1 on; earlier versions' variable has no effect
    "MPIR_CVAR_CH4_PROGRESS_THROTTLE": "1",  # MPICH 5
    "MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT": "1",
    "I_MPI_THREAD_YIELD": "3",  # Intel MPI: sleeps between polls
    "I_MPI_SPIN_COUNT": "1",
}
"""Variables that make waiting ranks yield the CPU. Measured over three pods of two ranks (bench/engine/README.md)."""


def yielding(node_cpus: Iterable[int], machine_cpus: int) -> Mapping[str, str]:
    """The variables that every container gets; none where the machine has as many CPUs as the nodes together."""
    return YIELDING if sum(node_cpus) > machine_cpus else {}
