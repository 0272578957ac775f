from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbatch.wrf.netcdf import NotClassicError, ShortError, parse_header
from tests.unit.wrf.cases import NEXT, boundary, data_file, initial, met_em


def test_what_a_header_holds() -> None:
    file = data_file(initial())
    assert file.header is not None
    assert file.header.attributes["WEST-EAST_GRID_DIMENSION"] == 62
    assert file.header.attributes["DX"] == 12000.0
    assert file.header.attributes["TITLE"] == " OUTPUT FROM REAL_EM V4.7.1 PREPROCESSOR"
    assert file.header.dimensions == {"Time": 1, "DateStrLen": 19, "west_east": 61}
    assert file.times == ("2024-01-15_12:00:00",)


def test_records_of_two_variables_alternate() -> None:
    file = data_file(boundary(2))
    assert file.times == ("2024-01-15_12:00:00", "2024-01-15_13:00:00")
    assert file.next_times == ("2024-01-15_13:00:00", "2024-01-15_14:00:00")
    assert file.header is not None
    assert file.header.variables[NEXT].is_record


@pytest.mark.parametrize("content", [initial(), boundary(3), met_em()], ids=["initial", "boundary", "met_em"])
def test_the_size_is_that_of_the_file(content: bytes) -> None:
    assert 0 <= len(content) - parse_header(content).size_bytes <= 3


def test_a_header_cut_anywhere_is_told() -> None:
    content = boundary()
    needed = next(size for size in range(len(content)) if not _is_short(content[:size]))
    assert all(_is_short(content[:size]) for size in range(4, needed))
    assert parse_header(content[:needed]) == parse_header(content)


def _is_short(data: bytes) -> bool:
    try:
        parse_header(data)
    except ShortError:
        return True
    except NotClassicError:
        assert len(data) < 4
        return True
    return False


@given(st.binary(max_size=200), st.sampled_from([b"", b"CDF\x01", b"CDF\x02", b"CDF\x05"]))
def test_noise_is_no_netcdf(noise: bytes, magic: bytes) -> None:
    try:
        parse_header(magic + noise)
    except NotClassicError:
        pass


@given(st.integers(0, len(initial()) - 1), st.integers(0, 255))
def test_a_damaged_byte_raises_nothing_else(place: int, byte: int) -> None:
    content = initial()
    try:
        header = parse_header(content[:place] + bytes([byte]) + content[place + 1 :])
    except NotClassicError:
        return
    assert header.size_bytes >= 0
