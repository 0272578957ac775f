"""scontrol: what it shows of a cluster beside jobs, nodes and partitions."""

from __future__ import annotations

import pytest

from hpcbatch.dialects.slurm.scontrol_command import Verb, read_command
from hpcbatch.dialects.slurm.scontrol_show import format_licenses

RECORDED = """\
LicenseName=ansys
    Total=10 Used=0 Free=10 Reserved=0 Remote=no
LicenseName=matlab
    Total=4 Used=2 Free=2 Reserved=0 Remote=no
"""
TOTAL, USED = {"matlab": 4, "ansys": 10}, {"matlab": 2}


@pytest.mark.parametrize("word", ["licenses", "lic", "License", "l"])
def test_entities_may_be_cut_short(word: str) -> None:
    assert read_command(["show", word], {}).verb is Verb.SHOW_LICENSES


def test_licences_as_recorded() -> None:
    assert format_licenses(TOTAL, USED) == RECORDED
    assert format_licenses(TOTAL, USED, "matlab") == RECORDED[RECORDED.index("LicenseName=matlab") :]
    assert format_licenses(TOTAL, USED, "nosuch") == ""
    line = "LicenseName=matlab Total=4 Used=2 Free=2 Reserved=0 Remote=no\n"
    assert format_licenses(TOTAL, USED, "matlab", one_line=True) == line


def test_more_held_than_the_site_has_now_leaves_none_free() -> None:
    assert "Total=1 Used=3 Free=0" in format_licenses({"a": 1}, {"a": 3})
