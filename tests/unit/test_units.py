from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbatch.errors import HpcBatchError
from hpcbatch.units import (
    counted,
    cpu_milli,
    format_bytes,
    hm,
    hms,
    memory_bytes,
    parse_quantity,
    parse_rfc3339,
    rfc3339,
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("2", 2),
        ("500m", 0.5),
        ("1.5Gi", 1.5 * 2**30),
        ("1e3", 1000),
        ("2E", 2e18),
        ("1Ki", 1024),
        ("1E2", 100),
        (".5", 0.5),
        ("100k", 1e5),
        ("+3", 3),
        ("-1", -1),
    ],
)
def test_quantity(text: str, value: float) -> None:
    assert parse_quantity(text) == value


@pytest.mark.parametrize("text", ["", "x", "1x", "1 Gi", "Gi", "1..2", "0x10", "1gi", "nan"])
def test_bad_quantity_is_an_error_that_names_it(text: str) -> None:
    with pytest.raises(HpcBatchError, match="is not a quantity"):
        parse_quantity(text)


def test_cpu_rounds_up_to_a_millicore() -> None:
    assert cpu_milli("0.1") == 100
    assert cpu_milli("0.0001") == 1
    assert cpu_milli(2) == 2000


@given(st.integers(min_value=0, max_value=2**60))
def test_bytes_round_trip(count: int) -> None:
    assert memory_bytes(format_bytes(count)) == count


@given(st.datetimes(min_value=datetime(1970, 1, 1), max_value=datetime(2200, 1, 1)))
def test_time_round_trip(when: datetime) -> None:
    whole = when.replace(microsecond=0, tzinfo=UTC)
    assert parse_rfc3339(rfc3339(whole)) == whole


def test_bad_time() -> None:
    with pytest.raises(HpcBatchError, match="is not a time"):
        parse_rfc3339("yesterday")


@pytest.mark.parametrize(("seconds", "text"), [(0, "00:00:00"), (59, "00:00:59"), (360_000, "100:00:00")])
def test_hms(seconds: int, text: str) -> None:
    assert hms(seconds) == text


@pytest.mark.parametrize(("seconds", "text"), [(0, "0:00"), (1, "0:01"), (3600, "1:00"), (360_060, "100:01")])
def test_hm(seconds: int, text: str) -> None:
    assert hm(seconds) == text


@pytest.mark.parametrize(("number", "text"), [(0, "0 nodes"), (1, "1 node"), (2, "2 nodes")])
def test_counted(number: int, text: str) -> None:
    assert counted(number, "node") == text
