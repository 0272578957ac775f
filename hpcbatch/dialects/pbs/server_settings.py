"""The settings of PBS's server and scheduler that are not the site's file's alone: `set server job_sort_formula = …`,
`set sched preempt_order = …`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from hpcbatch.dataclass import replace
from hpcbatch.dialects.pbs.errors import PBSE_BAD_FORMULA
from hpcbatch.dialects.pbs.qmgr_attributes import Kind
from hpcbatch.dialects.pbs.qmgr_change import QmgrError, boolean, depth, illegal
from hpcbatch.dialects.pbs.qmgr_parse import Setting, Verb
from hpcbatch.errors import HpcBatchError
from hpcbatch.model.formula import check_formula
from hpcbatch.model.preempt_order import bands_of
from hpcbatch.model.preemption import MOST_PRIORITY
from hpcbatch.model.server_settings import ServerSettings
from hpcbatch.typed import Final

NAMES: Final[Mapping[Kind, frozenset[str]]] = {
    Kind.SERVER: frozenset({"job_sort_formula", "backfill_depth", "eligible_time_enable"}),
    Kind.SCHED: frozenset({"preempt_order", "preempt_queue_prio"}),
}


def is_own(kind: Kind, setting: Setting) -> bool:
    """Whether it is one of these of the server, or of the scheduler."""
    return setting.name in NAMES.get(kind, ()) and not setting.resource


def settings_changed(settings: ServerSettings, given: Iterable[Setting], verb: Verb) -> ServerSettings:
    """As `set` or `unset` makes them; what is unset is as in the site's file. Raises QmgrError."""
    for setting in given:
        is_unset = verb is Verb.UNSET or not setting.value
        if not is_unset and setting.op != "=":
            raise illegal(setting)
        match setting.name:
            case "job_sort_formula":
                settings = replace(settings, formula=None if is_unset else _formula(setting))
            case "backfill_depth":
                settings = replace(settings, backfill_depth=None if is_unset else depth(setting))
            case "preempt_order":
                settings = replace(settings, preempt_order=None if is_unset else _order(setting))
            case "preempt_queue_prio":
                settings = replace(settings, preempt_queue_prio=None if is_unset else _express(setting))
            case _:
                settings = replace(settings, counts_eligible=None if is_unset else boolean(setting))
    return settings


def _formula(setting: Setting) -> str:
    try:
        check_formula(setting.value)
    except HpcBatchError as error:
        raise QmgrError(PBSE_BAD_FORMULA, f"Invalid Formula Format {setting}", str(error)) from None
    return setting.value


def _order(setting: Setting) -> str:
    try:
        bands_of(setting.value)
    except HpcBatchError as error:
        raise illegal(setting, str(error)) from None
    return setting.value


def _express(setting: Setting) -> int:
    digits = setting.value
    number = int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 5 else 0
    if not 0 < number <= MOST_PRIORITY:
        raise illegal(setting, f"it is from 1 to {MOST_PRIORITY} here")
    return number
