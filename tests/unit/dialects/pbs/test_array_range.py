from __future__ import annotations

import pytest

from hpcbatch.dialects.pbs.array_range import parse_array_range
from hpcbatch.errors import HpcBatchError


@pytest.mark.parametrize(
    ("text", "indices", "limit"),
    [
        ("1-4", "1-4", None),
        ("0-10:5", "0-10:5", None),
        ("1-100:2%5", "1-99:2", 5),
        ("3-4:9", "3", None),
        ("1-999999999", "1-999999999", None),
    ],
)
def test_ranges(text: str, indices: str, limit: int | None) -> None:
    array = parse_array_range(text)
    assert (str(array.indices), array.limit) == (indices, limit)
    assert array.text == text.partition("%")[0]


@pytest.mark.parametrize(
    "text", ["", "4", "4-1", "3-3", "1-4:0", "1-4:", "1-4%", "1-4%0", "-4", "1-", "1,3", "a-b", "١-٤"]
)
def test_no_range(text: str) -> None:
    with pytest.raises(HpcBatchError):
        parse_array_range(text)
