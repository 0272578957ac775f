"""The option table and getopt_long."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbatch.dialects.slurm.errors import SlurmUsageError
from hpcbatch.dialects.slurm.getopt import Option, Takes
from hpcbatch.dialects.slurm.option_values import READERS
from hpcbatch.dialects.slurm.options import OPTIONS, OURS, PARSER, SCRIPT_PARSER, Support
from hpcbatch.model.outcome import Fate

GIVEN = [
    (["-N4"], [("nodes", "4")]),
    (["-N", "4"], [("nodes", "4")]),
    (["-N=4"], [("nodes", "=4")]),
    (["--nodes=4"], [("nodes", "4")]),
    (["--nodes", "4"], [("nodes", "4")]),
    (["--out=x"], [("output", "x")]),
    (["--job=x"], [("job-name", "x")]),
    (["--exclusiv"], [("exclusive", None)]),
    (["--err", "x"], [("error", "x")]),
    (["--tasks=8"], [("ntasks-per-node", "8")]),
    (["--tasks-per-node=8"], [("ntasks-per-node", "8")]),
    (["--cluster=x"], [("clusters", "x")]),
    (["--exclusive=user"], [("exclusive", "user")]),
    (["--exclusive", "-H"], [("exclusive", None), ("hold", None)]),
    (["-k", "-Q"], [("no-kill", None), ("quiet", None)]),
    (["-koff"], [("no-kill", "off")]),
    (["-vvQ"], [("verbose", None), ("verbose", None), ("quiet", None)]),
    (["-HJx"], [("hold", None), ("job-name", "x")]),
    (["--workdir=/x"], [("chdir", "/x")]),
    (["--share"], [("oversubscribe", None)]),
    (["--nice"], [("nice", None)]),
    (["--job-name="], [("job-name", "")]),
    (["-J", "-n"], [("job-name", "-n")]),
    (["--dry-run"], [("dry-run", None)]),
    (["-J", ""], [("job-name", "")]),
]


@pytest.mark.parametrize(("words", "expected"), GIVEN, ids=[" ".join(g[0]) for g in GIVEN])
def test_given(words: list[str], expected: list[tuple[str, str | None]]) -> None:
    given_, operands = PARSER.parse(words)
    assert [(g.option.name, g.value) for g in given_] == expected
    assert operands == []


TRY = '\nTry "sbatch --help" for more information'
REFUSED = [
    (["--foo"], "unrecognized option '--foo'"),
    (["--foo=1"], "unrecognized option '--foo=1'"),
    (["-Z"], "invalid option -- 'Z'"),
    (["-n"], "option requires an argument -- 'n'"),
    (["--time"], "option '--time' requires an argument"),
    (["--parsable=2"], "option '--parsable' doesn't allow an argument"),
    (["--requeue=1"], "option '--requeue' doesn't allow an argument"),
    (
        ["--no"],
        "option '--no' is ambiguous; possibilities: '--no-kill' '--no-requeue' '--nodefile' '--nodelist' '--nodes'",
    ),
    (["--mem-per=1"], "option '--mem-per=1' is ambiguous; possibilities: '--mem-per-cpu' '--mem-per-gpu'"),
    (["--a"], "option '--a' is ambiguous; possibilities: '--account' '--acctg-freq' '--array'"),
    (["--workdi=/x"], "unrecognized option '--workdi=/x'"),
    (["--dry"], "unrecognized option '--dry'"),
    (["--x"], "unrecognized option '--x'"),
]


@pytest.mark.parametrize(("words", "text"), REFUSED, ids=[" ".join(r[0]) for r in REFUSED])
def test_refused(words: list[str], text: str) -> None:
    with pytest.raises(SlurmUsageError) as error:
        PARSER.parse(words)
    assert (error.value.text, error.value.code) == (f"sbatch: {text}{TRY}", 255)


def test_options_end_at_the_script() -> None:
    given_, operands = PARSER.parse(["-n", "3", "s.sh", "-n", "4"])
    assert ([g.value for g in given_], operands) == (["3"], [2, 3, 4])
    assert PARSER.parse(["-n3", "--", "-x"])[1] == [2]


@pytest.mark.parametrize("name", sorted(OURS))
def test_what_is_ours_is_no_directive(name: str) -> None:
    with pytest.raises(SlurmUsageError, match=f"unrecognized option '--{name}'"):
        SCRIPT_PARSER.parse([f"--{name}"])


def test_every_honoured_option_is_read() -> None:
    read = {o.name for o in OPTIONS if o.support in {Support.HONOURED, Support.TRANSLATED, Support.REFUSED}}
    assert read <= READERS.keys()
    assert READERS.keys() - {o.name for o in OPTIONS} == {"image", "tres-bind", "tres-per-task"}  # not of 22.05


def test_every_option_says_what_becomes_of_it() -> None:
    for option in OPTIONS:
        assert 10 <= len(option.meaning) <= 80
        assert option.meaning[-1] != "."
    assert {o.support.value for o in OPTIONS} == {fate.value for fate in Fate}


def test_unknown_names_may_be_known_to_others() -> None:
    def known(name: str) -> Option | None:
        return Option(name=name, takes=Takes.OPTIONAL) if name.startswith("ear") else None

    given_, operands = PARSER.parse(["--ear=on", "--ear-policy", "-n", "2"], unknown=known)
    assert [(g.option.name, g.value) for g in given_] == [("ear", "on"), ("ear-policy", None), ("ntasks", "2")]
    assert operands == []
    with pytest.raises(SlurmUsageError, match="unrecognized option '--foo'"):
        PARSER.parse(["--foo"], unknown=known)


def test_names_are_unique() -> None:
    names = [name for o in OPTIONS for name in (o.name, *o.aliases)]
    shorts = [o.short for o in OPTIONS if o.short]
    variables = [v for o in OPTIONS for v in o.environment]
    for found in (names, shorts, variables):
        assert len(found) == len(set(found))


def test_every_option_has_each_of_its_forms() -> None:
    for option in OPTIONS:
        value = None if option.takes is Takes.NOTHING else "v"
        words = [f"--{option.name}"] if value is None else [f"--{option.name}=v"]
        assert [(g.option, g.value) for g in PARSER.parse(words)[0]] == [(option, value)]
        if option.short:
            assert [g.option for g in PARSER.parse([f"-{option.short}{value or ''}"])[0]] == [option]


LONG = [name for o in OPTIONS for name in (o.name, *o.aliases) if name not in OURS]


@given(st.sampled_from(LONG), st.integers(1, 30))
def test_a_prefix_means_one_option_or_is_refused(name: str, length: int) -> None:
    prefix = name[:length]
    fits = {o.name for o in OPTIONS for n in (o.name, *o.aliases) if n.startswith(prefix) and n not in OURS}
    try:
        found, _ = PARSER.parse([f"--{prefix}", "v"])
    except SlurmUsageError as error:
        assert len(fits) > 1
        assert prefix not in LONG
        assert "is ambiguous" in error.text
        return
    exact = {o.name for o in OPTIONS if prefix in (o.name, *o.aliases)}
    assert {found[0].option.name} == (exact or fits)


@given(st.lists(st.text(max_size=12), max_size=6))
def test_any_words(words: list[str]) -> None:
    try:
        given_, operands = PARSER.parse(words)
    except SlurmUsageError as error:
        assert error.code == 255
        return
    assert all(0 <= g.word < len(words) for g in given_)
    assert operands == sorted(operands)
