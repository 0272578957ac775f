"""qselect: what it understands, and what it chooses; recorded answers."""

from __future__ import annotations

from datetime import UTC, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbatch.dialects.pbs.errors import PbsError, PbsUsageError, describe
from hpcbatch.dialects.pbs.ids import row_id
from hpcbatch.dialects.pbs.qselect import Job, parse_qselect
from hpcbatch.dialects.pbs.qstat_full import full_attributes
from hpcbatch.errors import HpcBatchError
from hpcbatch.model.members import rows_of
from hpcbatch.record.rows import row_of

from .jobs import NOW, QUEUE, ROWS, STARTED, VARIABLES

JOBS = [Job(row_of(job), dict(full_attributes(job, VARIABLES, NOW, UTC))) for job in QUEUE]


def chosen(*argv: str) -> list[str]:
    options = parse_qselect(argv, NOW)
    found = [job.row for job in JOBS if options.accepts(job)]
    if options.members:
        found = [one for row in found for one in (rows_of(row, {}) if row.array_indices else [row])]
    return [row_id(row).removesuffix(".pbs1") for row in found if options.accepts_state(row)]


EVERY = ["85", "86", "87", "88", "89", "90", "91", "92[]", "93", "94", "96"]
RECORDED = [
    ([], EVERY),
    (["-s", "R"], ["85", "86"]),
    (["-s", "QH"], ["87", "88", "89", "91", "92[]", "93", "94", "96"]),
    (["-N", "held"], ["88"]),
    (["-u", "tester", "-s", "Q"], ["87", "91", "92[]", "93", "94", "96"]),
    (["-s", "R", "-J"], []),
]
BY_SOURCE = [
    (["-J"], ["92[]"]),
    (["-T", "-J"], ["92[1]", "92[2]", "92[3]", "92[4]"]),
    (["-T", "-s", "R"], ["85", "86"]),
    (["-u", "a,b"], []),
    (["-u", "tester@pbs1,x", "-s", "H"], ["88", "89"]),
    (["-s", ".ne.QRH"], ["90"]),
    (["-h", "u"], []),
    (["-h", ".gt.n", "-s", "Q"], []),
    (["-l", "ncpus.gt.1"], ["91"]),
    (["-r", "n"], []),
    (["-l", "ncpus.eq.5,nodect.ge.5"], ["91"]),
    (["-l", "walltime.lt.00:10:01", "-N", "STDIN"], ["93"]),
    (["-l", "walltime.ge.600", "-s", "R"], ["85", "86"]),
    (["-l", "mem.ge.1mb"], []),
    (["-p", ".gt.0"], []),
    (["-p", "0", "-N", "dep"], ["89"]),
    (["-A", "x"], []),
    (["-P", "_pbs_project_default"], EVERY),
    (["-P", "x"], []),
    (["-c", "u"], EVERY),
    (["-c", ".gt.u"], []),
    (["-ts.gt.202611210000", "-s", "R"], ["85", "86"]),
    (["-ts.lt.202611210000", "-N", "held"], ["88"]),
    (["-tc.ge.202611210254.48"], EVERY),
    (["-H"], []),
    (["-a", ".lt.202701010000", "-N", "held"], ["88"]),
    (["-l", "place.eq.free"], EVERY),
]


@pytest.mark.parametrize(("argv", "expected"), RECORDED + BY_SOURCE, ids=[" ".join(c[0]) for c in RECORDED + BY_SOURCE])
def test_chosen(argv: list[str], expected: list[str]) -> None:
    if argv == ["-h", "u"]:
        expected = [name for name, job in zip(EVERY, JOBS, strict=True) if job.attributes["Hold_Types"] == "u"]
    assert chosen(*argv) == expected


def test_ended_jobs_are_asked_for() -> None:
    assert not parse_qselect(["-s", "F"], NOW).history
    assert parse_qselect(["-x"], NOW).history
    assert parse_qselect(["-H"], NOW).states == (("eq", "FM"),)


def test_whole_records_are_read_only_where_they_are_needed() -> None:
    assert not parse_qselect(["-s", "R", "-u", "x", "-N", "y", "-T", "-ts202611210000"], NOW).needs_attributes
    assert parse_qselect(["-l", "ncpus.gt.1"], NOW).needs_attributes


def test_members_that_have_ended() -> None:
    row = next(row for row in ROWS if row.array_indices)._replace(array_pending="2-4", array_deleted="1")
    options = parse_qselect(["-T", "-s", "X"], NOW)
    assert [row_id(one) for one in rows_of(row, {}) if options.accepts_state(one, {92})] == ["92[1].pbs1"]


@pytest.mark.parametrize(
    "argv",
    [
        ["-a", "x"],
        ["-r", "z"],
        ["-tx202611210000"],
        ["-t", "s.gt.x"],
        ["-h", "k"],
        ["-c", "z"],
        ["-l", "ncpus"],
        ["-l", "ncpus=1"],
        ["-l", "ncpus.gt."],
        ["-l", "ncpus.xx.1"],
        ["-l", "ncpus.gt.1,"],
    ],
    ids=str,
)
def test_illegal_values(argv: list[str]) -> None:
    with pytest.raises(PbsUsageError) as caught:
        parse_qselect(argv, NOW)
    text, code = describe(caught.value, "qselect")
    assert text.startswith(f"qselect: illegal {argv[0][:2]} value\n")
    assert "usage: qselect [-a [op]date_time]" in text
    assert code == 2


def test_other_errors() -> None:
    with pytest.raises(PbsUsageError):
        parse_qselect(["operand"], NOW)
    with pytest.raises(PbsError) as caught:
        chosen("-l", "foo.gt.1")
    assert describe(caught.value, "qselect") == ("qselect: Unknown resource", 187)
    with pytest.raises(PbsError):
        parse_qselect(["-p", "x"], NOW)


@given(st.lists(st.text(max_size=12), max_size=4))
def test_any_words(words: list[str]) -> None:
    try:
        parse_qselect(words, STARTED + timedelta(days=1))
    except HpcBatchError:
        pass
