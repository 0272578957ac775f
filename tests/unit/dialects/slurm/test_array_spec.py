from __future__ import annotations

import re

import pytest

from hpcbatch.dialects.slurm.array_spec import limit_note, parse_array


@pytest.mark.parametrize(
    ("text", "indices", "limit"),
    [
        ("0", "0", None),
        ("0-15:4", "0-12:4", None),
        ("0-9,20-30:5%4", "0-9,20-30:5", 4),
        ("7,1,3-5,4-6", "1,3-7", None),
        ("[1-3]", "1-3", None),
        ("[1-3]%2", "1-3", 2),
        ("[1-3%2]", "1-3", 2),
        ("1-4%0", "1-4", None),
        ("1-4%2,7", "1-4,7", 2),
        ("1,,2,", "1-2", None),
        (" 1- 3", "1-3", None),
        ("%5", "0", 5),  # strtol() reads nothing as 0
    ],
)
def test_lists(text: str, indices: str, limit: int | None) -> None:
    array = parse_array(text)
    assert (str(array.indices), array.limit, array.text) == (indices, limit, text)


@pytest.mark.parametrize(
    "text", ["5-1", "-1", "1--3", "a", "1-b", "1:2", "1-4:0", "1-4:x", "0x3", "1 2", ",", "1-4;5", "[[1]"]
)
def test_no_list(text: str) -> None:
    with pytest.raises(ValueError, match=re.escape(text)):
        parse_array(text)


@pytest.mark.parametrize(
    ("text", "meant"),
    [("1-3%0x", "no limit"), ("1-3%x", "no limit"), ("1-3%-1", "no limit"), ("1-3%2x,5", "%2"), ("1-3%2%3", "%2")],
)
def test_a_limit_that_is_more_than_a_number_is_told(text: str, meant: str) -> None:
    assert limit_note(parse_array(text)) == f"sbatch: array: {text[3:]} is read as {meant}"


@pytest.mark.parametrize("text", ["1-3", "1-3%0", "1-3%2", "[1-3%2]", "[1-3]%2", "1-4%2,7"])
def test_a_plain_limit_needs_no_word(text: str) -> None:
    assert limit_note(parse_array(text)) == ""
