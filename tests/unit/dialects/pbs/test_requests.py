from __future__ import annotations

import pytest

from hpcbatch.dialects.pbs import usage
from hpcbatch.dialects.pbs.errors import PbsUsageError, describe
from hpcbatch.dialects.pbs.requests import DeleteOptions, HoldOptions, parse_qdel, parse_qhold, parse_qrls

from .jobs import recorded


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        (("1", "2.s"), DeleteOptions(job_ids=("1", "2.s"))),
        (("-W", "force", "1"), DeleteOptions(job_ids=("1",), force=True)),
        (("-Wforce", "-x", "1"), DeleteOptions(job_ids=("1",), force=True, delete_history=True)),
        (("1", "-Wsuppress_email=5"), DeleteOptions(job_ids=("1",))),
        (("-W", "10", "1"), DeleteOptions(job_ids=("1",))),
    ],
)
def test_qdel(argv: tuple[str, ...], expected: DeleteOptions) -> None:
    assert parse_qdel(argv) == expected


@pytest.mark.parametrize(
    ("argv", "complaint"),
    [
        ((), ""),
        (("-W", "x", "1"), "qdel: illegal -W value\n"),
        (("-W", "", "1"), "qdel: illegal -W value\n"),
        (("-p", "1"), "qdel: invalid option -- 'p'\n"),
        (("-W",), "qdel: option requires an argument -- 'W'\n"),
    ],
)
def test_qdel_usage(argv: tuple[str, ...], complaint: str) -> None:
    with pytest.raises(PbsUsageError) as caught:
        parse_qdel(argv)
    assert describe(caught.value, "qdel") == ((complaint + recorded("usage_qdel.txt")).rstrip("\n"), 2)


@pytest.mark.parametrize(
    ("argv", "expected", "is_permitted", "user", "admin"),
    [
        (("1",), HoldOptions(job_ids=("1",)), True, True, ""),
        (("-h", "u", "1"), HoldOptions(job_ids=("1",)), True, True, ""),
        (("-h", "n", "1"), HoldOptions(job_ids=("1",), hold_types="n"), True, False, ""),
        (("-huo", "1"), HoldOptions(job_ids=("1",), hold_types="uo"), True, True, "o"),
        (("-h", "sos", "1"), HoldOptions(job_ids=("1",), hold_types="sos"), True, False, "os"),
        (("-h", "p", "1"), HoldOptions(job_ids=("1",), hold_types="p"), False, False, ""),
    ],
)
def test_hold_and_release(
    argv: tuple[str, ...], expected: HoldOptions, is_permitted: bool, user: bool, admin: str
) -> None:
    for parse in (parse_qhold, parse_qrls):
        options = parse(argv)
        assert options == expected
        assert (options.is_permitted, options.user, options.admin) == (is_permitted, user, admin)


@pytest.mark.parametrize(
    ("argv", "complaint"),
    [
        ((), ""),
        (("-h", "x", "1"), "illegal -h value\n"),
        (("-h", "un", "1"), "illegal -h value\n"),
        (("-h", "", "1"), "illegal -h value\n"),
        (("-h", "up", "1"), "illegal -h value\n"),
    ],
)
def test_hold_usage(argv: tuple[str, ...], complaint: str) -> None:
    for command, parse, text in (("qhold", parse_qhold, usage.QHOLD), ("qrls", parse_qrls, usage.QRLS)):
        with pytest.raises(PbsUsageError) as caught:
            parse(argv)
        assert describe(caught.value, command) == ((f"{command}: {complaint}" if complaint else "") + text, 2)


def test_qhold_knows_no_long_options() -> None:
    with pytest.raises(PbsUsageError):
        parse_qhold(["--foo", "1"])
