"""qsig's command line, and the server's words about its signal."""

from __future__ import annotations

import pytest

from hpcbatch.dialects.pbs.errors import PbsError, PbsUsageError, describe
from hpcbatch.dialects.pbs.signals import SignalOptions, number_of, parse_qsig

USAGE = "usage: qsig [-s signal] job_identifier...\n       qsig --version"


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        (["12"], SignalOptions(job_ids=("12",))),
        (["-s", "USR1", "12", "13.s"], SignalOptions(job_ids=("12", "13.s"), signal="USR1")),
        (["12", "-ssuspend"], SignalOptions(job_ids=("12",), signal="suspend")),
        (["-s", "1", "-s", "2", "12[3]"], SignalOptions(job_ids=("12[3]",), signal="2")),
    ],
)
def test_options(argv: list[str], expected: SignalOptions) -> None:
    assert parse_qsig(argv) == expected


@pytest.mark.parametrize(
    ("argv", "text"),
    [
        ([], USAGE),
        (["-s", "TERM"], USAGE),
        (["-x", "12"], f"qsig: invalid option -- 'x'\n{USAGE}"),
        (["-s"], f"qsig: option requires an argument -- 's'\n{USAGE}"),
    ],
)
def test_usage(argv: list[str], text: str) -> None:
    with pytest.raises(PbsUsageError) as caught:
        parse_qsig(argv)
    assert describe(caught.value, "qsig") == (text, 2)


def test_number() -> None:
    assert [number_of(text, "12.s") for text in ("USR1", "SIGUSR1", "10", "0")] == [10, 10, 10, 0]


@pytest.mark.parametrize("text", ["FOO", "usr1", "65", ""])
def test_no_such_signal(text: str) -> None:
    with pytest.raises(PbsError) as caught:
        number_of(text, "12.s")
    assert describe(caught.value, "qsig") == ("qsig: Unknown/illegal signal name 12.s", 165)
