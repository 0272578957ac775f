"""The termination message, whole, cut, and mixed with what others write there."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbatch.model.state import Reason
from hpcbatch.volcano.report import RunReport, parse_report

WHOLE = (
    "message=killed by signal 9\nsignal=9\nreason=Signalled\nwalltime_s=61\ncpu_s=120\nmax_rss_bytes=4096\n"
    "started=1795264549\nended=1795264610\nsession_id=17\n"
)


def test_whole_report() -> None:
    assert parse_report(WHOLE) == RunReport(
        signal=9,
        reason=Reason.SIGNALLED,
        message="killed by signal 9",
        walltime_s=61,
        cpu_s=120,
        max_rss_bytes=4096,
        started=1795264549,
        ended=1795264610,
        session_id=17,
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("", None, id="nothing"),
        pytest.param("exec /bin/sh: no such file or directory", None, id="the runtime's own words"),
        pytest.param("a=b\nexit=3\n", None, id="other names"),
        pytest.param("exit_code=0", RunReport(exit_code=0), id="no newline at the end"),
        pytest.param("wish=requeue\nsignal=15\n", RunReport(wish="requeue", signal=15), id="what the script requested"),
        pytest.param("wish=shutdown\nsignal=15\n", RunReport(signal=15), id="what there is not to request"),
        pytest.param("exit_code=", RunReport(), id="cut in front of the value"),
        pytest.param("exit_code=3\nwallt", RunReport(exit_code=3), id="cut in a name"),
        pytest.param("exit_code=300\nsignal=0", RunReport(), id="numbers that cannot be"),
        pytest.param("exit_code=-1\ncpu_s=١", RunReport(), id="no numbers"),
        pytest.param("reason=Nonsense\nstarted=5", RunReport(started=5), id="an unknown reason"),
        pytest.param("message=a=b\nexit_code=1", RunReport(message="a=b", exit_code=1), id="= in the message"),
        pytest.param("noise\nexit_code=1\n", RunReport(exit_code=1), id="among noise"),
    ],
)
def test_parse_report(text: str, expected: RunReport | None) -> None:
    assert parse_report(text) == expected


@given(st.text())
def test_any_text_is_read_without_an_exception(text: str) -> None:
    parse_report(text)


@given(st.integers(0, len(WHOLE)))
def test_a_cut_report_says_nothing_that_the_whole_one_does_not(length: int) -> None:
    cut, whole = parse_report(WHOLE[:length]), parse_report(WHOLE)
    if cut is None:
        return
    for name in (
        "exit_code",
        "signal",
        "reason",
        "walltime_s",
        "cpu_s",
        "max_rss_bytes",
        "started",
        "ended",
        "session_id",
    ):
        value, full = getattr(cut, name), getattr(whole, name)
        if value not in (None, Reason.NONE):
            assert str(full).startswith(str(value)), name
