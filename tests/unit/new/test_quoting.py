from __future__ import annotations

import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hpcbatch.dialects.pbs.directives import scan
from hpcbatch.dialects.slurm.directives import read_directives
from hpcbatch.errors import HpcBatchError
from hpcbatch.model.dialect import Dialect
from hpcbatch.new.quoting import directive_word, mebibytes, shellquote
from tests.thoroughness import examples

SPECIAL = "ab \"'\\#$`;&|<>()!*?[]{}~=%-:,"
PRINTABLE = st.text(min_size=1).filter(str.isprintable) | st.text(alphabet=SPECIAL, min_size=1)


@pytest.mark.parametrize("shell", ["sh", "bash"])
@given(words=st.lists(PRINTABLE, min_size=1, max_size=20))
@settings(max_examples=examples(40), deadline=None)
def test_any_printable_text_passes_the_shell(shell: str, words: list[str]) -> None:
    done = subprocess.run(
        [shell, "-c", f"printf '%s\\0' {shellquote(words)}"], capture_output=True, check=True, env={"LC_ALL": "C.UTF-8"}
    )
    assert done.stdout.decode() == "".join(f"{word}\0" for word in words)
    assert not done.stderr


@given(text=PRINTABLE)
def test_any_printable_text_passes_a_pbs_line(text: str) -> None:
    word = directive_word(text, Dialect.PBS)
    directives = list(scan(f"#!/bin/sh\n#PBS -N {word} -q x\ntrue\n".encode()))
    assert [[found.text for found in directive.words] for directive in directives] == [["-N", text, "-q", "x"]]


@given(text=PRINTABLE)
def test_any_printable_text_passes_an_sbatch_line(text: str) -> None:
    word = directive_word(text, Dialect.SLURM)
    found = read_directives(f"#!/bin/sh\n#SBATCH --job-name={word} -p x\ntrue\n".encode(), "s")
    assert [found.text for found in found.words] == [f"--job-name={text}", "-p", "x"]


@pytest.mark.parametrize("text", ["a\nb", "a\rb", "\0", "\x1b", "\u2028", "\udcff", "\x85"])
@pytest.mark.parametrize("dialect", Dialect)
def test_what_could_begin_a_line_is_refused(text: str, dialect: Dialect) -> None:
    with pytest.raises(HpcBatchError, match="expected printable text on one line"):
        shellquote(text)
    with pytest.raises(HpcBatchError, match="expected printable text on one line"):
        directive_word(text, dialect)


def test_plain_text_stays_as_it_is() -> None:
    assert shellquote(("./wrf.exe", "--x=3", 4)) == "./wrf.exe --x=3 4"
    assert shellquote(("time", "while")) == "time 'while'"
    assert directive_word("workq@server", Dialect.PBS) == "workq@server"


def test_shellquote_of_nothing_is_an_error() -> None:
    with pytest.raises(HpcBatchError, match="found None"):
        shellquote(None)


def test_mebibytes_are_rounded_up() -> None:
    assert [mebibytes(count) for count in (1, 1 << 20, (1 << 20) + 1)] == [1, 1, 2]
