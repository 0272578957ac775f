"""The settings of PBS's server by which waiting jobs are put in order: `set server job_sort_formula = …`."""

from __future__ import annotations

from collections.abc import Iterable

from hpcbatch.dataclass import replace
from hpcbatch.dialects.pbs.errors import PBSE_BAD_FORMULA
from hpcbatch.dialects.pbs.qmgr_change import QmgrError, boolean, depth, illegal
from hpcbatch.dialects.pbs.qmgr_parse import Setting, Verb
from hpcbatch.errors import HpcBatchError
from hpcbatch.model.formula import check_formula
from hpcbatch.model.server_settings import ServerSettings
from hpcbatch.typed import Final

NAMES: Final = frozenset({"job_sort_formula", "backfill_depth", "eligible_time_enable"})


def is_of_server(setting: Setting) -> bool:
    return setting.name in NAMES and not setting.resource


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
            case _:
                settings = replace(settings, counts_eligible=None if is_unset else boolean(setting))
    return settings


def _formula(setting: Setting) -> str:
    try:
        check_formula(setting.value)
    except HpcBatchError as error:
        raise QmgrError(PBSE_BAD_FORMULA, f"Invalid Formula Format {setting}", str(error)) from None
    return setting.value
