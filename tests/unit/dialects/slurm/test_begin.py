"""--begin: every shape that sbatch 22.05.8 was given, at noon of 21 November 2026."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbatch.dialects.slurm.begin import parse_begin
from hpcbatch.dialects.slurm.errors import SlurmUsageError
from hpcbatch.errors import HpcBatchError

NOW = datetime(2026, 11, 21, 12, 3, 15, tzinfo=UTC)
TIMES = [
    ("now", "2026-11-21T12:03:15"),
    ("NOW", "2026-11-21T12:03:15"),
    ("now+1", "2026-11-21T12:03:16"),
    ("now+10minutes", "2026-11-21T12:13:15"),
    ("now+2hours", "2026-11-21T14:03:15"),
    ("now+1HOUR", "2026-11-21T13:03:15"),
    ("now + 1hour", "2026-11-21T13:03:15"),
    ("now+1day", "2026-11-22T12:03:15"),
    ("now+3weeks", "2026-12-12T12:03:15"),
    ("now-1", "2026-11-21T12:03:14"),
    ("13:30", "2026-11-21T13:30:00"),
    ("1:30", "2026-11-22T01:30:00"),
    ("1:30pm", "2026-11-21T13:30:00"),
    ("1:30 PM", "2026-11-21T13:30:00"),
    ("13:30:05", "2026-11-21T13:30:05"),
    ("12:00am", "2026-11-22T00:00:00"),
    ("12:00pm", "2026-11-22T12:00:00"),
    ("0:00", "2026-11-22T00:00:00"),
    ("1231", "2026-12-31T00:00:00"),
    ("123126", "2026-12-31T00:00:00"),
    ("12/31", "2026-12-31T00:00:00"),
    ("12/31/26", "2026-12-31T00:00:00"),
    ("0101", "2027-01-01T00:00:00"),
    ("2027-01-02", "2027-01-02T00:00:00"),
    ("2027-01-02T03:04", "2027-01-02T03:04:00"),
    ("2027-01-02T03:04:05", "2027-01-02T03:04:05"),
    ("2027-01-02 03:04", "2027-01-02T03:04:00"),
    ("tomorrow", "2026-11-22T00:00:00"),
    ("today", "2026-11-21T00:00:00"),
    ("midnight", "2026-11-22T00:00:00"),
    ("noon", "2026-11-22T12:00:00"),
    ("teatime", "2026-11-21T16:00:00"),
    ("fika", "2026-11-21T15:00:00"),
    ("elevenses", "2026-11-22T11:00:00"),
    ("tomorrow 13:00", "2026-11-22T13:00:00"),
    ("13:30-tomorrow", "2026-11-22T13:30:00"),
    ("noontomorrow", "2026-11-22T12:00:00"),
    ("2020-01-01", "2020-01-01T00:00:00"),
    ("1231T12:00", "2026-12-31T12:00:00"),
    ("12/31-12:00", "2026-12-31T12:00:00"),
    ("12:00T12/31", "2026-12-31T12:00:00"),
    ("03:04T", "2026-11-22T03:04:00"),
]
NO_TIMES = [
    ("now+5x", 4),
    ("now+", 3),
    ("now+1min", 4),
    ("now+90s", 5),
    ("yesterday", 0),
    ("25:00", 0),
    ("12:60", 3),
    ("13/31", 0),
    ("2027-1-2", 0),
    ("+1hour", 0),
    ("uptime", 0),
    ("xx", 0),
]


@pytest.mark.parametrize(("text", "when"), TIMES, ids=[t[0] for t in TIMES])
def test_begin(text: str, when: str) -> None:
    assert parse_begin(text, NOW).isoformat() == f"{when}+00:00"


@pytest.mark.parametrize(("text", "position"), NO_TIMES, ids=[t[0] for t in NO_TIMES])
def test_no_begin(text: str, position: int) -> None:
    with pytest.raises(SlurmUsageError) as error:
        parse_begin(text, NOW)
    assert error.value.text == (
        f"Invalid time specification (pos={position}): {text}\nsbatch: error: Invalid --begin specification"
    )
    assert error.value.code == 255


@pytest.mark.parametrize("text", ["", "12/31/2026", "3pm", "2027-02-30"])
def test_refused(text: str) -> None:
    with pytest.raises(SlurmUsageError, match="Invalid"):
        parse_begin(text, NOW)


def test_zone_is_that_of_now() -> None:
    zone = timezone(timedelta(hours=2))
    assert parse_begin("20:00", NOW.astimezone(zone)) == datetime(2026, 11, 21, 18, tzinfo=UTC)


@given(st.text(max_size=25) | st.from_regex(r"(now[+-]|tomorrow|noon|[0-9]{1,2}[:/]|[-T ])*[0-9]{0,6}", fullmatch=True))
def test_any_text(text: str) -> None:
    try:
        assert parse_begin(text, NOW).tzinfo is not None
    except HpcBatchError:
        pass
