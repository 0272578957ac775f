"""sshare, sprio, strigger: all that was recorded of a cluster with priority/basic."""

from __future__ import annotations

from typing import NoReturn

import pytest

from hpcbatch.dialects.slurm import strigger
from hpcbatch.dialects.slurm.clusters import check_clusters, heading
from hpcbatch.dialects.slurm.errors import SlurmAnswer, SlurmUsageError
from hpcbatch.dialects.slurm.sprio import refusal
from hpcbatch.dialects.slurm.sshare import format_shares, read_options
from tests.unit.dialects.slurm.test_sacctmgr import SITE
from tests.unit.dialects.slurm.transcripts import Case, cases, check


def shares(argv: tuple[str, ...]) -> str:
    options = read_options(argv, "tester")
    head = ""
    if options.clusters is not None:
        check_clusters(options.clusters, "real", "sshare")
        head = heading("real")
    return head + "".join(format_shares(SITE.directory, options, "real"))


@pytest.mark.parametrize("case", cases("sshare.txt"))
def test_sshare(case: Case) -> None:
    check(case, shares)


def priorities(argv: tuple[str, ...]) -> NoReturn:
    raise refusal(argv, lambda name: None if name == "nosuch" else 1002)[1]


@pytest.mark.parametrize("case", cases("sprio.txt"))
def test_sprio(case: Case) -> None:
    if case.stdout.startswith("Usage") and case.code:
        assert refusal(case.argv, lambda _: None)[0] == case.stdout
        case = case._replace(stdout="")
    check(case, priorities)


def triggers(argv: tuple[str, ...]) -> str:
    strigger.answer(argv)
    return ""


@pytest.mark.parametrize("case", cases("strigger.txt"))
def test_strigger(case: Case) -> None:
    check(case, triggers)


def test_help() -> None:
    for call in (shares, priorities, triggers):
        with pytest.raises(SlurmAnswer):
            call(("--help",))


def test_clusters() -> None:
    assert check_clusters("real", "real", "squeue") == check_clusters("all", "real", "squeue") == ""
    assert check_clusters("real,x", "real", "squeue") == "squeue: error: No cluster 'x' known by database."
    with pytest.raises(SlurmUsageError) as error:
        check_clusters("", "real", "squeue")
    assert error.value.text.startswith("squeue: error: No cluster '' known by database.\nsqueue: error: '' can't be")
