"""PBS's limits of the server and of queues: `max_run = [u:PBS_GENERIC=4]`, `max_run_res.ncpus = [g:phys=64]`.

The older ones are the same by other names: `max_user_run = 4` is `[u:PBS_GENERIC=4]` of max_run.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from hpcbatch.dialects.pbs.errors import PBSE_BADATVAL
from hpcbatch.dialects.pbs.qmgr_change import QmgrError
from hpcbatch.dialects.pbs.qmgr_parse import Setting, Verb
from hpcbatch.dialects.pbs.values import parse_duration, parse_size
from hpcbatch.model.accounts import ServerLimit
from hpcbatch.typed import Final
from hpcbatch.units import hms

WORDS: Final = frozenset(
    {
        *("max_run", "max_run_res", "max_queued", "max_queued_res", "max_run_soft", "max_run_res_soft"),
        *("queued_jobs_threshold", "queued_jobs_threshold_res"),
    }
)
_OLD: Final[Mapping[str, tuple[str, str, str]]] = {
    "max_running": ("max_run", "o", "PBS_ALL"),
    "max_queuable": ("max_queued", "o", "PBS_ALL"),
    "max_user_run": ("max_run", "u", "PBS_GENERIC"),
    "max_group_run": ("max_run", "g", "PBS_GENERIC"),
    "max_user_res": ("max_run_res", "u", "PBS_GENERIC"),
    "max_group_res": ("max_run_res", "g", "PBS_GENERIC"),
    "max_user_run_soft": ("max_run_soft", "u", "PBS_GENERIC"),
    "max_group_run_soft": ("max_run_soft", "g", "PBS_GENERIC"),
    "max_user_res_soft": ("max_run_res_soft", "u", "PBS_GENERIC"),
    "max_group_res_soft": ("max_run_res_soft", "g", "PBS_GENERIC"),
}
"""An old word: the new one, of whom, and the name."""
_ITEM = re.compile(r'\[\s*([ugpo])\s*:\s*(?:"([^"]+)"|([^="\],\[]+?))\s*=\s*([^\]\[]+?)\s*\]')
_SIZES, _TIMES = frozenset({"mem", "vmem", "pmem", "pvmem"}), frozenset({"walltime", "cput"})


def is_limit(setting: Setting) -> bool:
    return setting.name in WORDS or setting.name in _OLD


def changed(
    limits: Sequence[ServerLimit], settings: Iterable[Setting], verb: Verb, queue: str
) -> tuple[ServerLimit, ...]:
    """The limits with those of the server (queue "") or a queue as `set` or `unset` makes them. Raises QmgrError."""
    found = list(limits)
    for setting in settings:
        given = [] if verb is Verb.UNSET else _parse(setting, queue)
        word, *_ = _OLD.get(setting.name, (setting.name,))
        is_whole = verb is Verb.UNSET and not setting.resource  # of all resources, if it has any
        if not is_whole and bool(setting.resource) is not word.removesuffix("_soft").endswith("_res"):
            raise _illegal(setting)
        if verb is Verb.UNSET or setting.op == "=":
            found = [
                each
                for each in found
                if (each.word, each.queue) != (word, queue)
                or (each.resource != setting.resource and not is_whole)
                or (setting.name in _OLD and (each.kind, each.name) != _OLD[setting.name][1:])
            ]
        names = {(each.kind, each.name) for each in given}
        found = [
            each
            for each in found
            if (each.word, each.resource, each.queue) != (word, setting.resource, queue)
            or (each.kind, each.name) not in names
        ]
        if setting.op != "-=":
            found += given
    return tuple(found)


def _parse(setting: Setting, queue: str) -> list[ServerLimit]:
    if setting.name in _OLD:
        word, kind, name = _OLD[setting.name]
        amount = _amount(setting, setting.value)
        return [ServerLimit(word=word, resource=setting.resource, queue=queue, kind=kind, name=name, amount=amount)]
    found = []
    rest = setting.value.strip()
    while rest:
        match = _ITEM.match(rest)
        if match is None:
            raise _illegal(setting)
        kind, quoted, plain, value = match.groups()
        name = quoted or plain
        if (kind == "o") is not (name == "PBS_ALL"):
            raise _illegal(setting)
        amount = _amount(setting, value)
        limit = ServerLimit(
            word=setting.name, resource=setting.resource, queue=queue, kind=kind, name=name, amount=amount
        )
        found.append(limit)
        rest = rest[match.end() :].lstrip()
        if rest and not rest.startswith(","):
            raise _illegal(setting)
        rest = rest.removeprefix(",").lstrip()
    if not found:
        raise _illegal(setting)
    return found


def _amount(setting: Setting, text: str) -> int:
    try:
        if setting.resource in _SIZES:
            return parse_size(text).bytes
        if setting.resource in _TIMES:
            return parse_duration(text)
        if not re.fullmatch("[0-9]{1,15}", text, re.ASCII):
            raise _illegal(setting)
        return int(text)
    except QmgrError:
        raise
    except Exception:
        raise _illegal(setting) from None


def _illegal(setting: Setting) -> QmgrError:
    return QmgrError(PBSE_BADATVAL, f"Illegal attribute or resource value  {setting}")


def limit_attributes(limits: Iterable[ServerLimit], queue: str) -> list[tuple[str, str | dict[str, str]]]:
    """As `qstat -Qf` and `qmgr` show those of the server or a queue."""
    found: dict[str, dict[str, list[str]]] = {}
    for limit in limits:
        if limit.queue == queue:
            name = f'"{limit.name}"' if re.search(r"[\s,]", limit.name) else limit.name
            item = f"[{limit.kind}:{name}={_shown(limit)}]"
            found.setdefault(limit.word, {}).setdefault(limit.resource, []).append(item)
    shown: list[tuple[str, str | dict[str, str]]] = []
    for word, resources in found.items():
        texts = {resource: ",".join(items) for resource, items in resources.items()}
        shown.append((word, texts.get("", texts)))
    return shown


def _shown(limit: ServerLimit) -> str:
    if limit.resource in _SIZES:
        return f"{limit.amount >> 10}kb" if limit.amount % 1024 == 0 else f"{limit.amount}b"
    return hms(limit.amount) if limit.resource in _TIMES else str(limit.amount)
