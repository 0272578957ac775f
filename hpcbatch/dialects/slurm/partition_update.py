"""`scontrol update PartitionName=…`: its command line, and what is refused of it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from hpcbatch.dialects.slurm.errors import SlurmUsageError
from hpcbatch.dialects.slurm.scontrol import format_partition
from hpcbatch.dialects.slurm.update import is_tag, pairs_of
from hpcbatch.model.row import NodeRow, QueueRow

_STATES = {"UP": (True, True), "DOWN": (True, False), "DRAIN": (False, True), "INACTIVE": (False, False)}
"""Whether the partition takes jobs, and whether it starts them."""
_NO_LIMIT = frozenset({"-1", "infinite", "unlimited", "none"})


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionUpdate:
    name: str
    enabled: bool | None = None
    started: bool | None = None
    others: tuple[tuple[str, str], ...] = ()
    """What only the site's file can change."""


def is_of_partitions(words: Sequence[str]) -> bool:
    """A job may have a `Partition`, too."""
    tags = [word.partition("=")[0] for word in words]
    is_of_job = any(is_tag(tag, name, least) for tag in tags for name, least in (("JobId", 3), ("JobName", 3)))
    return not is_of_job and any(is_tag(tag, "PartitionName", 3) for tag in tags)


def read_partition_update(words: Sequence[str]) -> PartitionUpdate:
    """Raises SlurmUsageError with the real texts, exit 1."""
    name = ""
    enabled = started = None
    others = []
    for tag, value, _ in pairs_of(words):
        if is_tag(tag, "PartitionName", 3):
            name = value
        elif is_tag(tag, "State", 2):
            if value.upper() not in _STATES:
                raise SlurmUsageError(
                    f"Invalid input: {tag}={value}\nAcceptable State values are UP, DOWN, DRAIN and INACTIVE"
                )
            enabled, started = _STATES[value.upper()]
        else:
            others.append((tag, value))
    return PartitionUpdate(name=name, enabled=enabled, started=started, others=tuple(others))


def check_others(update: PartitionUpdate, queue: QueueRow, nodes: Sequence[NodeRow]) -> None:
    """Raises SlurmUsageError, unless all of it is so already."""
    shown = dict(re.findall(r"(\S+)=(\S*)", format_partition(queue, nodes, one_line=True)))
    now = {name.lower(): value.lower() for name, value in shown.items()}
    for tag, value in update.others:
        is_so = _same(now.get(tag.lower()), value.lower())
        if not is_so:
            raise SlurmUsageError(
                "slurm_update error: Requested operation not supported on this system\n"
                f"scontrol: hpcbatch: {tag} of a partition stands in the site's site.yaml; State can be changed here"
            )


def _same(now: str | None, value: str) -> bool:
    return now is not None and (now == value or (now in _NO_LIMIT and value in _NO_LIMIT))
