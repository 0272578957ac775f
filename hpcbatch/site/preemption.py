"""What a site's file says of preemption, for all queues and for one."""

from __future__ import annotations

from collections.abc import Callable

import yaml

from hpcbatch.errors import HpcBatchError
from hpcbatch.model.preempt_order import bands_of
from hpcbatch.model.preemption import MOST_PRIORITY, PreemptBy, PreemptionConfig, PreemptMode
from hpcbatch.model.queue_fields import MOST_DEPTH
from hpcbatch.site.yaml_fields import Fields, UnfitError, boolean, number, text
from hpcbatch.typed import Any, Final

KEYS: Final = (
    *("type", "mode", "exemptTime", "youngestFirst", "sendUserSignal"),
    *("byQueuePriority", "queuePriority", "order"),
)
QUEUE_KEYS: Final = ("priorityTier", "preemptMode", "graceTime", "priority", "backfillDepth")
LEAST_PRIORITY: Final = -1024
"""Of a queue of PBS."""
_MOST_TIER = 65533


def read_preemption(fields: Fields, duration: Callable[[yaml.Node], int]) -> PreemptionConfig | None:
    """None without that key."""
    node = fields.get("preemption")
    if node is None:
        return None
    given = Fields(node, KEYS, fields.problems, fields.file, fields.key("preemption"))
    if not given.is_mapping:
        return None
    usual = PreemptionConfig()
    return PreemptionConfig(
        by=given.take("type", _by, usual.by),
        mode=given.take("mode", mode, usual.mode),
        exempt_s=given.take("exemptTime", duration, usual.exempt_s),
        youngest_first=given.take("youngestFirst", boolean, usual.youngest_first),
        sends_user_signal=given.take("sendUserSignal", boolean, usual.sends_user_signal),
        by_queue=given.take("byQueuePriority", boolean, usual.by_queue),
        express_priority=given.take("queuePriority", number(1, MOST_PRIORITY), usual.express_priority),
        order=given.take("order", _order, usual.order),
    )


def read_of_queue(fields: Fields, duration: Callable[[yaml.Node], int]) -> dict[str, Any]:
    """Attributes of a QueueConfig."""
    return {
        "priority_tier": fields.take("priorityTier", number(0, _MOST_TIER), 1),
        "preempt_mode": str(fields.take("preemptMode", mode, "")),
        "grace_s": fields.take("graceTime", duration, 0),
        "priority": fields.take("priority", _priority, None),
        "backfill_depth": fields.take("backfillDepth", number(0, MOST_DEPTH), None),
    }


def _priority(node: yaml.Node) -> int:
    word = text(node)
    digits = word.removeprefix("-")
    found = int(word) if digits.isascii() and digits.isdigit() and len(digits) < 5 else MOST_PRIORITY + 1
    if not LEAST_PRIORITY <= found <= MOST_PRIORITY:
        raise UnfitError(f"expected a whole number from {LEAST_PRIORITY} to {MOST_PRIORITY}, found {word!r}")
    return found


def _by(node: yaml.Node) -> PreemptBy:
    word = text(node).removeprefix("preempt/")
    if word not in set(PreemptBy):
        raise UnfitError(f"expected one of {', '.join(PreemptBy)}, found {word}")
    return PreemptBy(word)


def mode(node: yaml.Node) -> PreemptMode:
    """Raises UnfitError."""
    word = text(node).lower()
    if word not in set(PreemptMode):
        raise UnfitError(f"expected one of {', '.join(PreemptMode)}, found {word}")
    return PreemptMode(word)


def _order(node: yaml.Node) -> str:
    words = " ".join(text(node).upper().split())
    try:
        bands_of(words)
    except HpcBatchError as error:
        raise UnfitError(str(error)) from None
    return words
