"""What `set server job_sort_formula = …` and its like make of the server's settings."""

from __future__ import annotations

import pytest

from hpcbatch.dialects.pbs.errors import PBSE_BAD_FORMULA, PBSE_BADATVAL
from hpcbatch.dialects.pbs.qmgr_change import QmgrError
from hpcbatch.dialects.pbs.qmgr_parse import Setting, Verb
from hpcbatch.dialects.pbs.server_settings import NAMES, settings_changed
from hpcbatch.model.server_settings import ServerSettings

BEFORE = ServerSettings(
    formula="ncpus", backfill_depth=3, counts_eligible=False, preempt_order="R", preempt_queue_prio=200
)


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("job_sort_formula", "2*ncpus", ServerSettings(formula="2*ncpus")),
        ("backfill_depth", "0", ServerSettings(backfill_depth=0)),
        ("eligible_time_enable", "t", ServerSettings(counts_eligible=True)),
        ("preempt_order", "SCR 80 S", ServerSettings(preempt_order="SCR 80 S")),
        ("preempt_queue_prio", "180", ServerSettings(preempt_queue_prio=180)),
    ],
)
def test_set(name: str, value: str, expected: ServerSettings) -> None:
    assert settings_changed(ServerSettings(), [Setting(name, "", "=", value)], Verb.SET) == expected


def test_unset() -> None:
    all_names = [Setting(name) for names in NAMES.values() for name in names]
    assert settings_changed(BEFORE, all_names, Verb.UNSET) == ServerSettings()
    assert settings_changed(BEFORE, [Setting("backfill_depth", "", "=", "")], Verb.SET).backfill_depth is None


@pytest.mark.parametrize(
    ("setting", "number"),
    [
        (Setting("job_sort_formula", "", "=", "ncpus*"), PBSE_BAD_FORMULA),
        (Setting("job_sort_formula", "", "=", "size"), PBSE_BAD_FORMULA),
        (Setting("job_sort_formula", "", "+=", "ncpus"), PBSE_BADATVAL),
        (Setting("backfill_depth", "", "=", "-1"), PBSE_BADATVAL),
        (Setting("backfill_depth", "", "=", "10001"), PBSE_BADATVAL),
        (Setting("backfill_depth", "", "=", "²"), PBSE_BADATVAL),
        (Setting("eligible_time_enable", "", "=", "maybe"), PBSE_BADATVAL),
        (Setting("preempt_order", "", "=", "scr"), PBSE_BADATVAL),
        (Setting("preempt_queue_prio", "", "=", "1024"), PBSE_BADATVAL),
    ],
    ids=str,
)
def test_refused(setting: Setting, number: int) -> None:
    with pytest.raises(QmgrError) as caught:
        settings_changed(BEFORE, [setting], Verb.SET)
    assert caught.value.number == number
