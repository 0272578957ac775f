"""Times, memory, counts, nice, export lists, mail types: what sbatch 22.05.8 made of each."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbatch.dialects.slurm import values

H, D = 3600, 86400
TIMES = [
    ("5", 300),
    ("5:00", 300),
    ("5:30", 360),
    ("1:2:3", H + 180),
    ("1-2", D + 2 * H),
    ("1-2:3", D + 2 * H + 180),
    ("1-2:3:4", D + 2 * H + 240),
    ("1-", D),
    ("-1", None),
    ("INFINITE", None),
    ("unlimited", None),
    ("0", None),
    ("00:00:00", None),
    ("00:00:01", 60),
    ("00:01:01", 120),
    ("1:90:00", 9000),
    ("0:13:20", 840),
    ("0-0:5:0", 300),
    ("1-02:03:04", D + 2 * H + 240),
]
NO_TIMES = [
    "",
    "abc",
    "inf",
    "1-:",
    "1::",
    "1:2:",
    ":30",
    " 5",
    "5 ",
    "5m",
    "28:00:00:00",
    "03-00:00:",
    "2-00:",
    "1.5",
    "+5",
    "1-2-3",
    "-2",
    "99999999999",
    "٥",
]
MEMORY = [
    ("1", 1),
    ("200", 200),
    ("1k", 1),
    ("1023K", 1),
    ("1024K", 1),
    ("1025K", 2),
    ("100000K", 98),
    ("1m", 1),
    ("477M", 477),
    ("1G", 1024),
    ("1g", 1024),
    ("1T", 1024**2),
    ("1GB", 1024),
    ("117Gb", 117 * 1024),
    ("1MB", 1),
    ("010", 10),
    ("+5", 5),
    ("0", 0),
    ("0K", 0),
    ("1GiB", 1024),
]
NO_MEMORY = ["", "abc", "1.5G", "1P", "1B", "10B", "1 G", "0x10", "1e3", "-1", "MEMORY", "9" * 30]


@pytest.mark.parametrize(("text", "seconds"), TIMES, ids=[t[0] for t in TIMES])
def test_time(text: str, seconds: int | None) -> None:
    assert values.parse_time_s(text) == seconds


@pytest.mark.parametrize("text", NO_TIMES)
def test_no_time(text: str) -> None:
    with pytest.raises(ValueError):
        values.parse_time_s(text)


@pytest.mark.parametrize(("text", "mib"), MEMORY, ids=[m[0] for m in MEMORY])
def test_memory(text: str, mib: int) -> None:
    assert values.parse_memory_mb(text) == mib


@pytest.mark.parametrize("text", NO_MEMORY)
def test_no_memory(text: str) -> None:
    with pytest.raises(ValueError):
        values.parse_memory_mb(text)


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("2", (2, 2)),
        ("2-4", (2, 4)),
        ("1k", (1024, 1024)),
        ("2K-4k", (2048, 4096)),
        ("1m", (1024**2,) * 2),
        ("02", (2, 2)),
        ("+2", (2, 2)),
        ("0", (0, 0)),
        ("0-2", (0, 2)),
        ("4-2", (4, 2)),
        ("-4", (1, 4)),
        (" -2k ", (1, 2048)),
        ("4-", (4, -1)),
        ("--3", (1, -3)),
        ("4-0", (4, 0)),
    ],
    ids=str,
)
def test_nodes(text: str, counts: tuple[int, int]) -> None:
    assert values.parse_nodes(text) == counts


@pytest.mark.parametrize(("text", "part"), [("a", "a"), ("=4", "=4"), ("2x", "2x"), ("2,4", "2,4"), ("1-15:4", "15:4")])
def test_no_nodes(text: str, part: str) -> None:
    with pytest.raises(ValueError, match="^" + part.replace("+", r"\+") + "$"):
        values.parse_nodes(text)


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("ALL", ["ALL"]),
        ("ALL,A=1,B", ["ALL", "A=1", "B"]),
        ("A='x,y',B", ["A=x,y", "B"]),
        ('A="it\'s"', ["A=it's"]),
        ("NONE,FOO=1", ["NONE", "FOO=1"]),
        (",,", []),
    ],
    ids=str,
)
def test_export(text: str, items: list[str]) -> None:
    assert values.split_export(text) == items


MAIL = [
    ("begin,End", ("BEGIN", "END")),
    ("NONE", ()),
    ("ALL,NONE", ()),
    ("bogus,END", ("END",)),
    ("ALL", ("INVALID_DEPEND", "BEGIN", "END", "FAIL", "REQUEUE", "STAGE_OUT")),
    ("TIME_LIMIT_90,BEGIN,ARRAY_TASKS", ("ARRAY_TASKS", "BEGIN", "TIME_LIMIT_90")),
]


@pytest.mark.parametrize(("text", "names"), MAIL, ids=[m[0] for m in MAIL])
def test_mail_types(text: str, names: tuple[str, ...]) -> None:
    assert values.parse_mail_types(text) == names


@pytest.mark.parametrize("text", ["", "x", "bogus,"])
def test_no_mail_types(text: str) -> None:
    with pytest.raises(ValueError):
        values.parse_mail_types(text)


def test_nice() -> None:
    assert values.parse_nice("-5") == -5
    with pytest.raises(ValueError):
        values.parse_nice("x")
    with pytest.raises(OverflowError):
        values.parse_nice("99999999999")


@given(st.integers(0, 300), st.integers(0, 23), st.integers(0, 59), st.integers(0, 59))
def test_all_ways_to_write_a_time(days: int, hours: int, minutes: int, seconds: int) -> None:
    total = ((days * 24 + hours) * 60 + minutes) * 60 + seconds
    rounded = -(-total // 60) * 60 or None
    assert values.parse_time_s(f"{days}-{hours}:{minutes}:{seconds}") == rounded
    assert values.parse_time_s(f"{days * 24 + hours:02d}:{minutes:02d}:{seconds:02d}") == rounded
    assert values.parse_time_s(f"{total // 60}:{seconds}") == rounded


@given(st.text(max_size=20))
def test_any_text_is_a_value_or_a_value_error(text: str) -> None:
    for parse in (
        values.parse_time_s,
        values.parse_memory_mb,
        values.parse_positive,
        values.parse_nodes,
        values.parse_nice,
        values.split_export,
        values.parse_mail_types,
    ):
        try:
            parse(text)
        except (ValueError, OverflowError):
            pass
