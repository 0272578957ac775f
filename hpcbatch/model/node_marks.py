"""What operators have marked a node as: drained, down, failing. A marked node is cordoned, so that no scheduler
puts pods on it; the annotation says what it is cordoned for.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from enum import StrEnum

from hpcbatch.model.labels import NODE_MARKS
from hpcbatch.typed import Any


class Mark(StrEnum):
    """In the order in which the annotation has them."""

    DOWN = "down"  # its jobs are ended, those that may run again are queued
    DRAIN = "drain"  # its jobs go on, no others start
    FAIL = "fail"  # as DRAIN: Slurm shows it otherwise


def marks_of(node: Mapping[str, Any]) -> frozenset[Mark]:
    """A cordon without the annotation drains, as by `kubectl cordon`; the annotation without a cordon means nothing:
    `kubectl uncordon` puts a node back into use.
    """
    if not (node.get("spec") or {}).get("unschedulable"):
        return frozenset()
    text = (node["metadata"].get("annotations") or {}).get(NODE_MARKS, "")
    return frozenset(mark for mark in Mark if mark in text.split(",")) or frozenset({Mark.DRAIN})


def marked(before: Collection[Mark], add: Iterable[Mark], remove: Iterable[Mark]) -> dict[str, Any]:
    """The patch of a Node that adds and removes marks."""
    after = (set(before) | set(add)) - set(remove)
    text = ",".join(mark for mark in Mark if mark in after)
    return {
        "metadata": {"annotations": {NODE_MARKS: text if after - {Mark.DRAIN} else None}},
        "spec": {"unschedulable": True if after else None},
    }


def is_set_down(node: Mapping[str, Any]) -> bool:
    return Mark.DOWN in marks_of(node)
