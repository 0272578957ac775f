from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbatch.dialects.pbs.values import Size, parse_date, parse_duration, parse_size, size_of_bytes, sum_sizes
from hpcbatch.errors import HpcBatchError
from hpcbatch.units import hms

NOW = datetime(2026, 11, 21, 14, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0),
        ("1800", 1800),
        ("90:00", 5400),
        ("1:00:00", 3600),
        ("01:00", 60),
        ("2000:00:00", 7200000),
        ("1:00:00:00", 86400),
        ("20:30:0", 73800),
        ("10.5", 11),
        ("10.4999", 10),
        ("10.", 10),
        ("10:", 600),
        ("1:2:", 3720),
        ("99:99:99", 362439),
    ],
)
def test_durations(text: str, seconds: int) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    "text", ["", "abc", "-1", "+1", "1:2:3:4:5", ":10", "1::2", ".5", "1.2.3", "1 0", "1h", "٣", "9" * 30, "1:2:3:"]
)
def test_bad_durations(text: str) -> None:
    with pytest.raises(HpcBatchError):
        parse_duration(text)


@given(st.integers(0, 10**8))
def test_duration_is_read_as_it_is_shown(seconds: int) -> None:
    assert parse_duration(hms(seconds)) == seconds


@pytest.mark.parametrize(
    ("text", "count", "shown"),
    [
        ("4gb", 4 << 30, "4gb"),
        ("4GB", 4 << 30, "4gb"),
        ("4G", 4 << 30, "4gb"),
        ("800mb", 800 << 20, "800mb"),
        ("1", 1, "1b"),
        ("1b", 1, "1b"),
        ("2w", 16, "2w"),
        ("1kw", 8192, "1kw"),
        ("1pb", 1 << 50, "1pb"),
        ("0", 0, "0b"),
    ],
)
def test_sizes(text: str, count: int, shown: str) -> None:
    size = parse_size(text)
    assert (size.bytes, str(size)) == (count, shown)


@pytest.mark.parametrize("text", ["", "gb", "1.5gb", "-1gb", "1 gb", "1gbb", "1bb", "1eb", "9" * 19 + "pb", "1bw"])
def test_bad_sizes(text: str) -> None:
    with pytest.raises(HpcBatchError):
        parse_size(text)


@given(st.integers(0, 2**60))
def test_bytes_survive_being_shown(count: int) -> None:
    assert parse_size(str(size_of_bytes(count))).bytes == count


@given(st.lists(st.tuples(st.integers(0, 1000), st.sampled_from([0, 10, 20, 30]), st.booleans()), min_size=1))
def test_sum_of_sizes_is_exact(parts: list[tuple[int, int, bool]]) -> None:
    sizes = [Size(*part) for part in parts]
    assert sum_sizes(sizes).bytes == sum(size.bytes for size in sizes)


def test_sum_keeps_the_unit() -> None:
    assert str(sum_sizes([Size(2, 30), Size(1, 30)])) == "3gb"
    assert str(sum_sizes([Size(1, 30), Size(512, 20)])) == "1536mb"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1500", "2026-11-21 15:00:00"),
        ("1430", "2026-11-22 14:30:00"),
        ("0454", "2026-11-22 04:54:00"),
        ("211200", "2026-11-21 12:00:00"),
        ("201200", "2026-12-20 12:00:00"),
        ("12251200.30", "2026-12-25 12:00:30"),
        ("01021200", "2027-01-02 12:00:00"),
        ("2701021200", "2027-01-02 12:00:00"),
        ("7001021200", "1970-01-02 12:00:00"),
        ("203001021200", "2030-01-02 12:00:00"),
        ("02310000", "2027-03-03 00:00:00"),
    ],
)
def test_dates(text: str, expected: str) -> None:
    assert parse_date(text, NOW) == datetime.fromisoformat(f"{expected}+00:00")


@pytest.mark.parametrize(
    "text",
    ["", "12", "123", "999999", "2460", "2500", "1200.60", "1200.5", "12x0", "13010000", "00000000", "0000000000000"],
)
def test_bad_dates(text: str) -> None:
    with pytest.raises(HpcBatchError):
        parse_date(text, NOW)


@given(st.text("0123456789.", max_size=15), st.datetimes(timezones=st.just(UTC)))
def test_any_digits_are_a_date_or_an_error(text: str, now: datetime) -> None:
    try:
        parse_date(text, now)
    except HpcBatchError:
        pass


@given(st.datetimes(min_value=datetime(2000, 1, 1), max_value=datetime(2060, 1, 1), timezones=st.just(UTC)))
def test_hour_and_minute_are_in_the_next_day(now: datetime) -> None:
    when = parse_date("1200", now)
    assert timedelta(0) < when - now <= timedelta(days=1)
