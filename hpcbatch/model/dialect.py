"""The names in job records of the batch systems whose scripts and commands come with hpcbatch."""

from __future__ import annotations

from enum import StrEnum


class Dialect(StrEnum):
    PBS = "pbs"
    SLURM = "slurm"
    LSF = "lsf"


SLURM_VERSION = "22.05.8"
"""Version of the emulated Slurm: its commands' `--version`, and srun's in a job."""
SLURM_VERSION_TEXT = f"slurm {SLURM_VERSION}"
"""Output of `--version`, as SchedMD builds it; Debian's builds print `slurm-wlm 22.05.8`."""
