"""The batch systems whose scripts and commands hpcbatch knows."""

from __future__ import annotations

from enum import StrEnum


class Dialect(StrEnum):
    PBS = "pbs"
    SLURM = "slurm"
