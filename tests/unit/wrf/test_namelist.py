from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbatch.wrf.keys import KEYS, type_of
from hpcbatch.wrf.namelist import Namelist, Value, parse
from hpcbatch.wrf.settings import Settings


def values(namelist: Namelist, key: str, count: int) -> list[str | None]:
    found = [namelist.value("a", key, index)[0] for index in range(1, count + 1)]
    return [None if value is None else value.text for value in found]


@pytest.mark.parametrize(
    ("text", "count", "expected"),
    [
        ("x = 1", 2, ["1", None]),
        ("X=1,2,3", 3, ["1", "2", "3"]),
        ("x = 1 2\n 3,", 4, ["1", "2", "3", None]),
        ("x = 2*5, 3*", 3, ["5", "5", None]),
        ("x = 1,,3", 3, ["1", None, "3"]),
        ("x = 'it''s', \"b\"", 2, ["it's", "b"]),
        ("x = 2*'wrf out'", 2, ["wrf out", "wrf out"]),
        ("x(2) = 7", 2, [None, "7"]),
        ("x = 1, 2\n x(2) = 7", 2, ["1", "7"]),
        ("x(1:2) = 4, 5", 2, ["4", "5"]),
        ("x = 1 ! not 2 /\n", 1, ["1"]),
        ("x = '! not a comment /'", 1, ["! not a comment /"]),
        ("x\n", 1, [None]),
        ("y = 3, x = 4", 1, ["4"]),
        ("x =\n y = 3", 1, [None]),
    ],
)
def test_values(text: str, count: int, expected: list[str | None]) -> None:
    assert values(parse(f"&a\n {text}\n/\n"), "x", count) == expected


@pytest.mark.parametrize(
    ("text", "line", "seen", "expected"),
    [
        ("&a\n x = 1\n&b\n/\n", 3, "&a of line 1 is not closed before &b", "`/`"),
        ("&a\n x = 1\n", 3, "&a of line 1 is not closed before the end of the file", "`/`"),
        ("&a\n x = 'foo\n/\n", 2, "'foo", "closing '"),
        ("&a\n junk here\n/\n", 2, "junk here", "key = value"),
        ("&a\n x == 3\n/\n", 2, "= 3", "key = value"),
    ],
)
def test_problems(text: str, line: int, seen: str, expected: str) -> None:
    problem = parse(text).problems[0]
    assert (problem.line, problem.seen) == (line, seen)
    assert expected in problem.expected


@pytest.mark.parametrize("text", ["", "no namelist at all / & $\n", "before\n&a x=1 /\nafter x = 2\n", "$a x=1 $end\n"])
def test_no_problems(text: str) -> None:
    assert parse(text).problems == ()


def test_lines() -> None:
    namelist = parse("! comment\n\n&A\n\n x = 1,\n  2,\n x(3) = 5\n y = 3 /\n")
    assert namelist.groups["a"].line == 3
    assert namelist.value("a", "x") == (Value("1"), 5)
    assert namelist.value("a", "x", 3) == (Value("5"), 7)
    assert namelist.value("a", "y")[1] == 8
    assert namelist.value("a", "x", 9) == (None, 5)
    assert namelist.value("b", "x") == (None, None)


@pytest.mark.parametrize(
    ("text", "kind", "fits", "number"),
    [
        ("60", "integer", True, 60),
        ("-1", "integer", True, -1),
        ("60.", "integer", False, 60),
        ("60.", "real", True, 60),
        (".5", "real", True, 0.5),
        ("1.5d3", "real", True, 1500),
        ("1+3", "real", True, 1000),
        ("6O", "real", False, None),
        (".true.", "logical", True, None),
        ("F", "logical", True, None),
        ("1", "logical", False, 1),
        (".", "real", False, None),
    ],
)
def test_types(text: str, kind: str, fits: bool, number: float | None) -> None:
    value = Value(text)
    assert (value.fits(kind), value.number()) == (fits, number)


words = st.text(alphabet="abcxyz_", min_size=1, max_size=6)
scalars = st.one_of(
    st.integers(-(10**9), 10**9).map(str),
    st.sampled_from([".true.", "F", "1.5e-3"]),
)


@given(
    st.dictionaries(words, st.lists(scalars, min_size=1, max_size=4), max_size=6), st.sampled_from([", ", "\n   ", " "])
)
def test_what_is_written_is_read(entries: dict[str, list[str]], between: str) -> None:
    body = "".join(f" {key} = {between.join(texts)},\n" for key, texts in entries.items())
    namelist = parse(f"&a\n{body}/\n")
    assert namelist.problems == ()
    assert {key: values(namelist, key, len(texts)) for key, texts in entries.items()} == entries


@given(st.text(alphabet=" \n/&$=!'\",()*:ax1.%", max_size=60))
def test_any_text_is_read_to_its_end(text: str) -> None:
    namelist = parse(f"&a {text}")
    for problem in namelist.problems:
        assert 1 <= problem.line <= text.count("\n") + 1
    Settings(namelist).scheme("mp_physics")


def test_a_huge_repeat_count_is_bounded() -> None:
    assert len(parse("&a x = 999999999999*1 /").groups["a"].entries[0].values) == 10_000


def test_keys() -> None:
    assert {kind for kinds in KEYS.values() for kind in kinds.values()} == {"character", "integer", "logical", "real"}
    assert type_of("domains", "time_step") == "integer"
    assert type_of("time_control", "auxhist24_interval_d") == "integer"
    assert type_of("time_control", "auxhist3_outname") == "character"
    assert type_of("physics", "auxhist3_outname") is None
    assert type_of("domains", "time_stepp") is None
