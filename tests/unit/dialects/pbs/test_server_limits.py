"""Limits of the server and of queues as qmgr sets and shows them."""

from __future__ import annotations

import pytest

from hpcbatch.dialects.pbs.qmgr_change import QmgrError
from hpcbatch.dialects.pbs.qmgr_parse import Setting, Verb
from hpcbatch.dialects.pbs.server_limits import changed, is_limit, limit_attributes
from hpcbatch.model.accounts import ServerLimit


def after(*settings: Setting, queue: str = "") -> tuple[ServerLimit, ...]:
    found: tuple[ServerLimit, ...] = ()
    for setting in settings:
        found = changed(found, [setting], Verb.UNSET if not setting.value else Verb.SET, queue)
    return found


@pytest.mark.parametrize(
    ("settings", "shown"),
    [
        ([Setting("max_run", "", "=", "[u:PBS_GENERIC=5]")], [("max_run", "[u:PBS_GENERIC=5]")]),
        (
            [Setting("max_run", "", "=", "[u:PBS_GENERIC=5], [g:phys=9]"), Setting("max_run", "", "+=", "[u:ann=7]")],
            [("max_run", "[u:PBS_GENERIC=5],[g:phys=9],[u:ann=7]")],
        ),
        (
            [Setting("max_run", "", "=", "[u:a=5],[u:b=6]"), Setting("max_run", "", "-=", "[u:a=5]")],
            [("max_run", "[u:b=6]")],
        ),
        ([Setting("max_run", "", "=", "[u:a=5]"), Setting("max_run")], []),
        ([Setting("max_run_res", "ncpus", "=", "[u:a=5]"), Setting("max_run_res")], []),
        (
            [Setting("max_run_res", name, "=", "[u:a=5]") for name in ("mem", "ncpus")]
            + [Setting("max_run_res", "mem")],
            [("max_run_res", {"ncpus": "[u:a=5]"})],
        ),
        ([Setting("max_user_run", "", "=", "4")], [("max_run", "[u:PBS_GENERIC=4]")]),
        ([Setting("max_group_res_soft", "ncpus", "=", "4")], [("max_run_res_soft", {"ncpus": "[g:PBS_GENERIC=4]"})]),
        ([Setting("max_run_soft", "", "=", "[o:PBS_ALL=4]")], [("max_run_soft", "[o:PBS_ALL=4]")]),
        (
            [
                Setting("max_queued_res", "mem", "=", "[o:PBS_ALL=4gb]"),
                Setting("max_queued_res", "walltime", "=", '[u:"a b"=1:00:00]'),
            ],
            [("max_queued_res", {"mem": "[o:PBS_ALL=4194304kb]", "walltime": '[u:"a b"=01:00:00]'})],
        ),
    ],
)
def test_set_and_shown(settings: list[Setting], shown: list[tuple[str, str]]) -> None:
    assert limit_attributes(after(*settings), "") == shown
    assert limit_attributes(after(*settings, queue="q"), "q") == shown
    assert limit_attributes(after(*settings, queue="q"), "") == []


@pytest.mark.parametrize(
    "setting",
    [
        Setting("max_run", "", "=", "5"),
        Setting("max_run", "", "=", "[x:a=5]"),
        Setting("max_run", "", "=", "[u:a=5"),
        Setting("max_run", "", "=", "[u:a=-5]"),
        Setting("max_run", "", "=", "[o:a=5]"),
        Setting("max_run", "ncpus", "=", "[u:a=5]"),
        Setting("max_run_res", "", "=", "[u:a=5]"),
        Setting("max_run_res", "mem", "=", "[u:a=x]"),
    ],
    ids=str,
)
def test_what_is_wrong(setting: Setting) -> None:
    assert is_limit(setting)
    with pytest.raises(QmgrError, match="Illegal attribute or resource value"):
        after(setting)
