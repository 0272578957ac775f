"""Conditions in parentheses, as text and back."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbatch.model.conditions import MAX_DEPTH, Group, parse_group, written

NAMES = st.sampled_from(["afterok:1", "!after:2", "aftercode:3[4]>=5!", "0"])
GROUPS = st.recursive(
    st.builds(Group, st.lists(NAMES, min_size=1, max_size=3).map(tuple), st.booleans()),
    lambda inner: st.builds(Group, st.lists(NAMES | inner, min_size=1, max_size=3).map(tuple), st.booleans()),
    max_leaves=8,
)


@given(GROUPS)
def test_a_group_is_its_text(group: Group) -> None:
    text = written(group)
    assert written(parse_group(text)) == text
    assert list(parse_group(text).leaves) == list(group.leaves)


def test_other_words() -> None:
    group = parse_group("a,(b?(c,d))")
    assert group == Group(("a", Group(("b", Group(("c", "d"))), is_any=True)))
    assert written(group, str.upper, all_word=" && ", any_word=" || ") == "A && (B || (C && D))"
    assert parse_group("") == Group(())


@pytest.mark.parametrize(
    "text",
    [",", "a,", "?a", "a,b?c", "(a", "a)", "()", "a(b)", "(a)b", "(" * (MAX_DEPTH + 2) + "a" + ")" * (MAX_DEPTH + 2)],
)
def test_no_group(text: str) -> None:
    with pytest.raises(ValueError, match=re.escape(text)):
        parse_group(text)
