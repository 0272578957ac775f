"""Hosts, licences and limits in the values of sbatch's options."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbatch.dialects.slurm.placement_values import parse_hostfile, parse_hosts, parse_licenses, parse_limits


def test_hosts() -> None:
    assert parse_hosts("n[1-2],m3,n1") == ("n1", "n2", "m3", "n1")
    for text in ("", "n[", "n;1", "é", "n[3-1]", "a/b", "n[1-10001]"):
        with pytest.raises(ValueError):
            parse_hosts(text)


def test_hostfile() -> None:
    assert parse_hostfile(b"# nodes\nn1\nn[2-3],m1 # two\n\nn9*2\n") == ("n1", "n2", "n3", "m1", "n9", "n9")
    with pytest.raises(ValueError, match="Hostlist is empty!"):
        parse_hostfile(b"#\n")
    with pytest.raises(ValueError, match="contents on line 2"):
        parse_hostfile(b"n1\n-n2\n")


def test_licenses() -> None:
    assert parse_licenses("matlab") == {"matlab": 1}
    assert parse_licenses("matlab:2,ansys@flex:3;matlab,none:0") == {"matlab": 3, "ansys@flex": 3}
    assert parse_licenses("") == {}
    for text in ("a b", "a:x", "a:-1", "a:1:2", ":3"):
        with pytest.raises(ValueError):
            parse_licenses(text)
    with pytest.raises(NotImplementedError):
        parse_licenses("a:1|b:1")


def test_limits() -> None:
    assert parse_limits("STACK,RLIMIT_CORE STACK") == ("stack", "core")
    assert parse_limits("NONE") == ()
    assert len(parse_limits("")) == len(parse_limits("ALL")) == 10
    with pytest.raises(ValueError, match=r"^stack$"):
        parse_limits("CORE,stack")


@given(st.text("n[]1-2,*#:;|\n a", max_size=20))
def test_any_text(text: str) -> None:
    for parse in (parse_hosts, parse_licenses, parse_limits, lambda t: parse_hostfile(t.encode())):
        try:
            found = parse(text)
        except (ValueError, NotImplementedError):
            continue
        assert all(found)
