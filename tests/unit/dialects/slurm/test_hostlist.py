"""Host lists: recorded pairs, and the way there and back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbatch.dialects.slurm.errors import SlurmUsageError
from hpcbatch.dialects.slurm.hostlist import compress, compress_sorted, expand

COMPRESSED = [
    ("n1,n2,n3,n7,m01", "n[1-3,7],m01"),
    ("n1,m1,n2", "n1,m1,n2"),
    ("n1,n01,n02", "n[1,01-02]"),
    ("n9,n010", "n[9,010]"),
    ("n09,n10,n100", "n[09-10,100]"),
    ("n099,n100", "n[099-100]"),
    ("a,b,a", "a,b,a"),
    ("a1,a2,b1,b2,a3", "a[1-2],b[1-2],a3"),
    ("n1-ib0,n2-ib0", "n1-ib0,n2-ib0"),
    ("x2y3,x2y4", "x2y[3-4]"),
    ("1,2,3", "[1-3]"),
    ("n001,n2", "n[001,2]"),
    ("n5,n4,n3", "n[5,4,3]"),
    ("n1,n3,n2", "n[1,3,2]"),
    ("n0,n00", "n[0,00]"),
    ("n8,n9,n10,n11", "n[8-11]"),
    ("n08,n9", "n[08,9]"),
    ("n1,n1,n2", "n[1,1-2]"),
    ("r1n1,r1n2,r2n1,r2n2", "r1n[1-2],r2n[1-2]"),
    ("j-1-m-0,j-1-w-0,j-1-w-1", "j-1-m-0,j-1-w-[0-1]"),
]
EXPANDED = [
    ("n[1-3,7],m01", "n1 n2 n3 n7 m01"),
    ("a[1-2][3-4]", "a13 a14 a23 a24"),
    ("a[1-2]b[3-4]c[5-6]", "a1b3c5 a1b3c6 a2b3c5 a2b3c6 a1b4c5 a1b4c6 a2b4c5 a2b4c6"),
    ("a[1-2]b[3,5]c[1]d[7-8]", "a1b3c1d7 a1b3c1d8 a2b3c1d7 a2b3c1d8 a1b5c1d7 a1b5c1d8 a2b5c1d7 a2b5c1d8"),
    ("a[01-3]", "a01 a02 a03"),
    ("a,,b", "a b"),
    ("a[1-2],", "a1 a2"),
    ("", ""),
    ("a b", "a b"),
    ("a[8-11]", "a8 a9 a10 a11"),
    ("a[008-11]", "a008 a009 a010 a011"),
    ("r[1-2]n[01-03],x", "r1n01 r1n02 r1n03 r2n01 r2n02 r2n03 x"),
]


@pytest.mark.parametrize(("hosts", "text"), COMPRESSED, ids=[c[0] for c in COMPRESSED])
def test_compress(hosts: str, text: str) -> None:
    assert compress(hosts.split(",")) == text


@pytest.mark.parametrize(("text", "hosts"), EXPANDED, ids=[c[0] or "empty" for c in EXPANDED])
def test_expand(text: str, hosts: str) -> None:
    assert expand(text) == hosts.split()


def test_compress_sorted() -> None:
    assert compress_sorted(["n3", "n1", "n2"]) == "n[1-3]"


@pytest.mark.parametrize("text", ["a[5-3]", "a[]", "a[x]", "a[1-70000]", "a[1-3", "a]", "a[[1]]", "a[1-60000][1-9]"])
def test_no_hostlist(text: str) -> None:
    with pytest.raises(SlurmUsageError) as error:
        expand(text)
    assert error.value.text.endswith(f"Invalid hostlist: {text}")
    assert error.value.code == 1


HOSTS = st.lists(st.from_regex(r"[a-z][a-z0-9-]{0,5}[0-9]{0,4}", fullmatch=True), max_size=30)


@given(HOSTS)
def test_there_and_back(hosts: list[str]) -> None:
    assert expand(compress(hosts)) == hosts


@given(st.text(max_size=40))
def test_any_text(text: str) -> None:
    try:
        expand(text)
    except SlurmUsageError:
        pass
