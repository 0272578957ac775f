"""PBS's sched_config, `key: value [prime|non_prime|all]`, and the same words as attributes of qmgr's scheduler."""

from __future__ import annotations

import re

from hpcbatch.errors import HpcBatchError
from hpcbatch.model.preempt_order import bands_of
from hpcbatch.model.preemption import PreemptionConfig
from hpcbatch.site.importing import pbs_keys
from hpcbatch.site.importing.found import Found, Place, Setting
from hpcbatch.site.importing.values import whole
from hpcbatch.typed import Final

_LINE = re.compile(r"\s*([A-Za-z_]\w*)\s*:\s*(.*?)\s*")
_PRIME = re.compile(r"\s+(all|prime|non_prime)$", re.IGNORECASE)
_TRUE, _FALSE = frozenset({"true", "t", "yes", "1"}), frozenset({"false", "f", "no", "0"})
_HELD: Final = {
    "preempt_prio": "express_queue, normal_jobs",
    "preempt_sort": "min_time_since_start",
    "round_robin": "false",
    "by_queue": "true",
    "strict_ordering": "false",
    "load_balancing": "false",
    "smp_cluster_dist": "pack",
    "fair_share": "false",
    "help_starving_jobs": "true",
    "backfill_prime": "false",
    "prime_exempt_anytime_queues": "false",
}
"""What holds here anyway, or is not noticed."""
_OWN: Final = frozenset({"primetime_prefix", "nonprimetime_prefix", "dedicated_prefix", "unknown_shares", "log_filter"})


def read(text: str, file: str, found: Found) -> None:
    for number, line in enumerate(text.split("\n"), 1):
        bare = line.partition("#")[0]
        if not bare.strip():
            continue
        match = _LINE.fullmatch(bare)
        if match is None:
            found.wrong(Place(file, number), f"{bare.strip()[:60]!r} is no line of sched_config: expected key: value")
            continue
        attribute(Setting(Place(file, number), match[1], _PRIME.sub("", match[2]).strip('"')), found)


def attribute(setting: Setting, found: Found) -> None:
    key, value = setting.key.rpartition(" ")[2].lower(), setting.value.strip()
    lower = value.lower()
    if key == "preemptive_sched":
        if lower in _FALSE:
            found.preemption["byQueuePriority"] = "false"
        found.carried(setting)
    elif key == "preempt_queue_prio":
        _express_priority(setting, found)
    elif key == "preempt_order":
        _order(setting, found)
    elif key in _HELD and _plain(lower) == _plain(_HELD[key]):
        found.carried(setting)
    elif key in _OWN:
        found.own(setting)
    elif key.startswith("preempt_"):
        found.leave(setting, "express queues preempt ordinary ones, the youngest jobs first")
    else:
        found.leave(setting, pbs_keys.ORDER)


def _plain(value: str) -> str:
    return {"t": "true", "yes": "true", "f": "false", "no": "false"}.get(value, value.replace(" ", ""))


def _express_priority(setting: Setting, found: Found) -> None:
    number = whole(setting.value.strip())
    if number is None or not 0 < number <= 1023:
        found.leave(setting, "preemption.queuePriority is from 1 to 1023")
        return
    if number != 150:
        found.preemption["queuePriority"] = str(number)
    found.carried(setting)


def _order(setting: Setting, found: Found) -> None:
    words = " ".join(setting.value.strip('" ').split())
    try:
        bands_of(words)
    except HpcBatchError as error:
        found.leave(setting, str(error))
        return
    if words != PreemptionConfig().order:
        found.preemption["order"] = words
    found.carried(setting)
