"""The keys of slurm.conf and of its partitions that say whose jobs end for whose."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from hpcbatch.site.importing.found import Found, Queue, Setting
from hpcbatch.site.importing.values import slurm_seconds, split, whole
from hpcbatch.typed import Final

_NOT_SET: Final = frozenset({"", "(null)", "none"})
_MODES: Final = frozenset({"off", "cancel", "requeue", "suspend"})
_PARAMETERS: Final = {"youngest_first": "youngestFirst", "send_user_signal": "sendUserSignal"}
_MOST_TIER = 65533


def _mode(setting: Setting, found: Found) -> str | None:
    """None, and the setting is left, where there is no such mode."""
    words = [word for word in split(setting.value.lower()) if word != "gang"]
    word = words[0] if words else "off"
    if len(words) > 1 or word not in _MODES:
        found.leave(setting, "there are off, cancel, requeue and suspend")
        return None
    return word


def _type(setting: Setting, found: Found) -> None:
    kind = setting.value.lower().removeprefix("preempt/")
    if kind in {"qos", "partition_prio"}:
        found.preemption["type"] = kind
        found.carried(setting)
    elif kind in _NOT_SET:
        found.carried(setting)
    else:
        found.leave(setting, "there are qos and partition_prio")


def _site_mode(setting: Setting, found: Found) -> None:
    word = "off" if setting.value.lower() in _NOT_SET else _mode(setting, found)
    if word is None:
        return
    if word != "off":
        found.preemption["mode"] = word
    found.carried(setting)


def _exempt(setting: Setting, found: Found) -> None:
    seconds = 0 if setting.value.lower() in _NOT_SET | {"-1"} else slurm_seconds(setting.value)
    if seconds is None:
        found.wrong(setting.place, f"{setting}: expected a time such as 00:10:00")
        return
    if seconds:
        found.preemption["exemptTime"] = str(seconds)
    found.carried(setting)


def _parameters(setting: Setting, found: Found) -> None:
    for word in split(setting.value.lower()):
        if word in _PARAMETERS:
            found.preemption[_PARAMETERS[word]] = "true"
            found.carried(setting)
        else:
            found.leave(setting, f"{word}: there is no such parameter here")


READERS: Final[Mapping[str, Callable[[Setting, Found], None]]] = {
    "preempttype": _type,
    "preemptmode": _site_mode,
    "preemptexempttime": _exempt,
    "preemptparameters": _parameters,
}


def _tier(queue: Queue, setting: Setting, found: Found) -> None:
    tier = whole(setting.value)
    if tier is None or tier > _MOST_TIER:
        found.wrong(setting.place, f"{setting}: expected a number from 0 to {_MOST_TIER}")
    else:
        found.limit(queue, "priority_tier", tier, setting)


def _queue_mode(queue: Queue, setting: Setting, found: Found) -> None:
    if setting.value.lower() in _NOT_SET:
        found.carried(setting)
    elif (word := _mode(setting, found)) is not None:
        found.limit(queue, "preempt_mode", word, setting)


def _grace(queue: Queue, setting: Setting, found: Found) -> None:
    seconds = 0 if setting.value.lower() in _NOT_SET else whole(setting.value)
    if seconds is None or seconds > 10**6:
        found.wrong(setting.place, f"{setting}: expected seconds")
    else:
        found.limit(queue, "grace_s", seconds, setting)


OF_PARTITION: Final[Mapping[str, Callable[[Queue, Setting, Found], None]]] = {
    "prioritytier": _tier,
    "preemptmode": _queue_mode,
    "gracetime": _grace,
}
