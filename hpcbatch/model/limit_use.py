"""What jobs use of limits at a moment. Amounts are named and counted as Slurm's: cpu, node, mem in MiB, gres/NAME."""

from __future__ import annotations

from collections.abc import Mapping

from hpcbatch.typed import NamedTuple


class Use(NamedTuple):
    jobs: int = 0
    submitted: int = 0
    """Those that run, and all that have not ended."""
    amounts: Mapping[str, int] = {}
    """What running jobs hold."""
    left: Mapping[str, int] = {}
    """The seconds that they have left, times their amounts."""
    spent: Mapping[str, float] = {}
    """Seconds times amounts, as they decay."""
    wall_s: float = 0.0
    raw: float = 0.0
    """Decayed: seconds of jobs, and CPU seconds, both by the factors of their qualities of service."""


class InUse(NamedTuple):
    associations: Mapping[int, Use] = {}
    """By their numbers, with all below them."""
    qos: Mapping[str, Use] = {}
    of_accounts: Mapping[str, Mapping[str, Use]] = {}
    """By the quality of service: of each account, or user, that has jobs of it which have not ended."""
    of_users: Mapping[str, Mapping[str, Use]] = {}
