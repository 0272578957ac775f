"""Times, sizes, counts and host lists of Slurm, PBS and Maui."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbatch.site.importing.values import hosts, pbs_bytes, pbs_seconds, slurm_bytes, slurm_seconds, split, whole

DAY = 86400


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("60", 3600),
        ("90:30", 5430),
        ("12:00:00", DAY // 2),
        ("2-0", 2 * DAY),
        ("1-12:30", DAY + 45000),
        ("7-00:00:01", 7 * DAY + 1),
        ("1:2:3:4", None),
        ("1-", None),
        ("UNLIMITED", None),
        ("", None),
        ("٣", None),
    ],
)
def test_slurm_times(text: str, seconds: int | None) -> None:
    assert slurm_seconds(text) == seconds


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("3600", 3600), ("10:00", 600), ("24:00:00", DAY), ("2:00:00:00", 2 * DAY), ("1:00.5", 60), ("24h", None)],
)
def test_pbs_times(text: str, seconds: int | None) -> None:
    assert pbs_seconds(text) == seconds


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("4gb", 4 << 30),
        ("512MB", 512 << 20),
        ("1000", 1000),
        ("1000b", 1000),
        ("2mw", 16 << 20),
        ("4g", 4 << 30),
        ("x", None),
    ],
)
def test_pbs_sizes(text: str, size: int | None) -> None:
    assert pbs_bytes(text) == size


@pytest.mark.parametrize(("text", "size"), [("4000", 4000 << 20), ("4G", 4 << 30), ("4GB", None), ("", None)])
def test_slurm_sizes(text: str, size: int | None) -> None:
    assert slurm_bytes(text) == size


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("n1", ["n1"]),
        ("n[01-03,10],login", ["n01", "n02", "n03", "n10", "login"]),
        ("r[1-2]n[1-2]", ["r1n1", "r1n2", "r2n1", "r2n2"]),
        ("n[1-2]-ib", ["n1-ib", "n2-ib"]),
        ("n[3-1]", None),
        ("n[a]", None),
        ("n[1", None),
        ("n[0-99999999]", None),
        ("n[0-9999][0-9999]", None),
        ("", []),
    ],
)
def test_hosts(text: str, names: list[str] | None) -> None:
    assert hosts(text) == names


def test_split_keeps_brackets_together() -> None:
    assert split("gpu:a100:4(S:0,1), nic ,,n[1,2]") == ["gpu:a100:4(S:0,1)", "nic", "n[1,2]"]


@given(st.text())
def test_any_text_is_a_value_or_none(text: str) -> None:
    for read in (slurm_seconds, pbs_seconds, pbs_bytes, slurm_bytes, whole):
        assert (value := read(text)) is None or value >= 0
    names = hosts(text)
    assert names is None or len(names) <= 64 * 1024
