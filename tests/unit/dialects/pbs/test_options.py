from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbatch.dialects.pbs.options import PBSNODES, QSTAT, QSUB, Parsed, getopt, words


def parse(*arguments: str, letters: str = QSUB) -> Parsed:
    return getopt(words(arguments), letters, long_options=frozenset({"--dry-run"}))


@pytest.mark.parametrize(
    ("arguments", "options", "operands"),
    [
        (("-N", "x", "job"), [("N", "x")], ["job"]),
        (("-Nx", "-rn", "-koed"), [("N", "x"), ("r", "n"), ("k", "oed")], []),
        (("-hVN", "x"), [("h", ""), ("V", ""), ("N", "x")], []),
        (("-N", "-h"), [("N", "-h")], []),
        (("-N", "--"), [("N", "--")], []),
        (("-", "-h"), [("h", "")], ["-"]),
        (("a", "-h", "b"), [("h", "")], ["a", "b"]),
        (("-h", "--", "cmd", "-x"), [("h", "")], ["cmd", "-x"]),
        (("--dry-run", "job"), [("--dry-run", "")], ["job"]),
        (("-N", "--dry-run"), [("N", "--dry-run")], []),
        ((), [], []),
        (("",), [], [""]),
    ],
)
def test_getopt(arguments: tuple[str, ...], options: list[tuple[str, str]], operands: list[str]) -> None:
    parsed = parse(*arguments)
    assert [(option.name, option.value) for option in parsed.options] == options
    assert [word.text for word in parsed.operands] == operands
    assert parsed.errors == ()


@pytest.mark.parametrize(
    ("arguments", "errors"),
    [
        (("-t", "1-3"), ("invalid option -- 't'",)),
        (("-N",), ("option requires an argument -- 'N'",)),
        (("--foo",), ("invalid option -- '-'",)),
        (("-ht5V",), ("invalid option -- 't'", "invalid option -- '5'")),
    ],
)
def test_complaints(arguments: tuple[str, ...], errors: tuple[str, ...]) -> None:
    assert parse(*arguments).errors == errors


def test_options_after_an_operand_are_noticed() -> None:
    assert parse("job", "-h").is_permuted
    assert not parse("-h", "job").is_permuted
    assert not parse("job", "--", "-h").is_permuted
    assert parse("job", "--", "-h").dashes_at == 1


@given(st.lists(st.text(st.characters(codec="ascii"), max_size=5)), st.sampled_from([QSUB, QSTAT, PBSNODES]))
def test_no_argument_is_lost(arguments: list[str], letters: str) -> None:
    parsed = parse(*arguments, letters=letters)
    characters = sum(len(o.name) + len(o.value) for o in parsed.options) + sum(len(w.text) for w in parsed.operands)
    # What is not in an option or operand is a dash, a `--`, or a letter complained of.
    assert characters <= sum(map(len, arguments))
    assert len(parsed.operands) <= len(arguments)
