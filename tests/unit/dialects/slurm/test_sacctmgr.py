"""sacctmgr: everything that was recorded of a database with one account and two users."""

from __future__ import annotations

from datetime import UTC

import pytest

from hpcbatch.dialects.slurm.associations import directory
from hpcbatch.dialects.slurm.errors import SlurmAnswer, SlurmUsageError
from hpcbatch.dialects.slurm.sacctmgr import Site, format_configuration, format_listing
from hpcbatch.dialects.slurm.sacctmgr_change import Request
from hpcbatch.dialects.slurm.sacctmgr_options import denied, has_no_command, kept_options, read_command
from hpcbatch.dialects.slurm.sacctmgr_report import check as check_request
from hpcbatch.model.row import JobRow
from tests.unit.dialects.slurm.jobs import NOW, ROWS
from tests.unit.dialects.slurm.transcripts import Case, cases, check


def jobs(*given: tuple[str, str]) -> list[JobRow]:
    """One of each user with that account."""
    return [ROWS[0]._replace(user=user, account=account) for user, account in given]


SITE = Site("real", "127.0.0.1", 6817, directory(jobs(("alice", "phys"), ("tester", "phys"), ("bob", ""))))


def answer(argv: tuple[str, ...], site: Site = SITE) -> str:
    asked = read_command(argv)
    if isinstance(asked, Request):
        check_request(asked, site.cluster)
        raise SlurmUsageError(denied(asked.change.action, asked.change.entity))
    return "" if asked is None else "".join(format_listing(asked, site))


@pytest.mark.parametrize("case", cases("sacctmgr.txt"))
def test_recorded(case: Case) -> None:
    check(case, answer)


def test_default_account_and_qos_are_those_of_jobs() -> None:
    rows = jobs(("alice", "phys"), ("alice", "chem"))
    site = SITE._replace(directory=directory([rows[0]._replace(qos="long"), rows[1]]))
    assert answer(("-nP", "show", "user", "alice", "withassoc", "format=account,defaultaccount"), site) == (
        "chem|chem\nphys|chem\n"
    )
    assert answer(("-nP", "show", "qos", "format=name,id"), site) == "normal|1\nlong|2\n"
    assert answer(("-nP", "show", "assoc", "format=account,user,id"), site).splitlines() == [
        "root||1",
        "root|root|2",
        "chem||3",
        "chem|alice|4",
        "phys||5",
        "phys|alice|6",
    ]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("add cluster x", " Problem adding clusters: Access/permission denied"),
        ("modify resource m set count=3", "sacctmgr: error: Your user doesn't have privilege to perform this action"),
        ("dump real", " Your uid is not in the accounting system, can't dump cluster."),
    ],
)
def test_what_is_not_in_the_store_is_refused_with_the_reason(words: str, why: str) -> None:
    with pytest.raises(SlurmUsageError) as error:
        read_command(words.split())
    first, *_, last = error.value.text.splitlines()
    assert first == why
    assert last.startswith("sacctmgr: hpcbatch: ")


def test_answers() -> None:
    for words in (["--help"], ["--usage"], ["help"]):
        with pytest.raises(SlurmAnswer):
            read_command(words)
    assert "\nAccountingStorageHost  = 127.0.0.1\n" in format_configuration(SITE, NOW, UTC)


@pytest.mark.parametrize(
    ("argv", "expected"), [([], True), (["-nP"], True), (["show", "qos"], False), (["--help"], False)]
)
def test_without_a_command_requests_come_from_standard_input(argv: list[str], expected: bool) -> None:
    assert has_no_command(argv) is expected


@pytest.mark.parametrize(
    ("words", "kept"), [(["readonly"], ["-n", "-r"]), (["o"], ["-n", "-o"]), (["show", "qos"], ["-n"])]
)
def test_some_requests_hold_for_those_that_follow(words: list[str], kept: list[str]) -> None:
    assert kept_options(["-n"], words) == kept
