"""--constraint: what nodes must have."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbatch.dialects.slurm.constraint import parse_constraint
from hpcbatch.dialects.slurm.request import Features

A, B = ("a",), ("b",)
READ = [
    ("a", Features(A)),
    ("a&b", Features(("a", "b"))),
    ("b,a", Features(("a", "b"))),
    ("(a&b)", Features(("a", "b"))),
    ("a|b", Features(alternatives=(A, B))),
    ("[a|b]", Features(alternatives=(A, B), is_same=True)),
    ("[a]", Features(A)),
    ("a|a", Features(A)),
    ("a&b|c", Features(alternatives=(("a", "b"), ("c",)))),
    ("a|b&c", Features(("c",), (A, B))),
    ("(a|b)&c", Features(("c",), (A, B))),
    ("[a|b]&c", Features(("c",), (A, B), is_same=True)),
    ("[(a&b)|c]", Features(alternatives=(("a", "b"), ("c",)), is_same=True)),
    ("a*2", Features(counted=((A, 2),))),
    ("a*2&b", Features(B, counted=((A, 2),))),
    ("[a*2&b*4]", Features(counted=((A, 2), (B, 4)))),
    ("[(a&b)*2&c*1]", Features(counted=((("a", "b"), 2), (("c",), 1)))),
]


@pytest.mark.parametrize(("text", "features"), READ, ids=[text for text, _ in READ])
def test_read(text: str, features: Features) -> None:
    assert parse_constraint(text) == features


@pytest.mark.parametrize(
    "text",
    " a& &a a||b a\tb !a (a a) [a a] [[a]] ((a)) [a|b]&[c|d] a*0 a* *2 [a&b] [a*2|b*3] [a*2&b] (a*2)".split(" "),
)
def test_refused(text: str) -> None:
    with pytest.raises(ValueError):
        parse_constraint(text)


@pytest.mark.parametrize("text", ["a|[b|c]", "a*2|b", "(a|b)*2", "[a|b]&(c|d)"])
def test_more_than_a_job_can_ask_for(text: str) -> None:
    with pytest.raises(NotImplementedError):
        parse_constraint(text)


@given(st.text("ab&|()[]*,2", max_size=14))
def test_any_text(text: str) -> None:
    try:
        found = parse_constraint(text)
    except (ValueError, NotImplementedError):
        return
    assert list(found.properties) == sorted(set(found.properties))
    assert len(found.alternatives) != 1
    assert not found.is_same or found.alternatives
    assert all(not set(names) & set(found.properties) for names in found.alternatives)
