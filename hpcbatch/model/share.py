"""How an association stands in the tree of fair shares."""

from __future__ import annotations

from hpcbatch.typed import NamedTuple


class Share(NamedTuple):
    """Of an association; the numbers are those of Slurm's columns."""

    norm_shares: float
    raw_usage: float
    norm_usage: float
    effective_usage: float
    factor: float
    """From 0 to 1, the fair-share factor: of users; of an account in Fair Tree 0."""
    level_fs: float
    """Shares against usage beside those on the same level; infinite for who has used nothing."""
