from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbatch.dialects.pbs.directives import scan
from hpcbatch.dialects.pbs.errors import PbsError, describe
from hpcbatch.errors import HpcBatchError


def words(script: str | bytes, prefix: str = "#PBS") -> list[list[str]]:
    data = script.encode() if isinstance(script, str) else script
    return [[word.text for word in directive.words] for directive in scan(data, prefix=prefix)]


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("#!/bin/sh\n#PBS -N x\necho\n", [["-N", "x"]]),
        ("  #PBS -N x\n", [["-N", "x"]]),
        ("#PBS-N x\n", [["-N", "x"]]),
        ("#PBS\t-N\tx -l  a=1 \n", [["-N", "x", "-l", "a=1"]]),
        ("# PBS -N x\n##PBS -N y\n#pbs -N z\n", []),
        ("#PBS -N a\n\n# comment\n:\n#! odd\n#PBS -N b\n", [["-N", "a"], ["-N", "b"]]),
        ("#PBS -N a\necho\n#PBS -N late\n", [["-N", "a"]]),
        ("  :\n#PBS -N late\n", []),
        ("#PBS -l a=1,\\\nb=2\n", [["-l", "a=1,b=2"]]),
        ("#PBS -N a\\ \t\n -l b \\\n  c\n#PBS -V\n", [["-N", "a", "-l", "b", "c"], ["-V"]]),
        ("#PBS -N a \\\n #PBS -l b\\\n#PBS,c\n", [["-N", "a", "-l", "b", ",c"]]),
        ("#PBS #PBS -N a #PBS -V\n", [["-N", "a", "-V"]]),
        ("#PBS -N a # name \\\n#PBS -l b # c\\\n-V\n", [["-N", "a", "-l", "b", "-V"]]),
        ("#PBS -N a \\", [["-N", "a", ""]]),
        ('#PBS -N "a b" \'c"d\' e\\ f g"h i"j\n', [["-N", "a b", 'c"d', "e f", "gh ij"]]),
        ('#PBS -M ""\n', [["-M", ""]]),
        ("#PBS -o $HOME/`x` ~\n", [["-o", "$HOME/`x`", "~"]]),
        ("#PBS -l a=1 # one hour\n", [["-l", "a=1"]]),
        ("#PBS -l nodes=1#excl\n", [["-l", "nodes=1#excl"]]),
        ("#PBS # -N x\n#PBS\n#PBS   \n", []),
        ("#PBS -N a", [["-N", "a"]]),
        ("", []),
        ("#PBS -N a\x0b-V\x0c\n", [["-N", "a", "-V"]]),
        ("#PBS -N a\u2028b\n", [["-N", "a\u2028b"]]),
    ],
    ids=[
        "plain",
        "indented",
        "glued",
        "tabs",
        "not-directives",
        "comments-go-on",
        "command-ends",
        "indented-colon-ends",
        "continued",
        "continued-twice",
        "continued-with-prefix",
        "twice",
        "continued-comments",
        "backslash-at-end",
        "quotes",
        "empty-word",
        "no-expansion",
        "comment",
        "hash-in-word",
        "only-comment",
        "no-newline",
        "empty",
        "vertical-tab",
        "unicode-line-separator",
    ],
)
def test_words(script: str, expected: list[list[str]]) -> None:
    assert words(script) == expected


def test_prefix() -> None:
    assert words("#COBALT -N a\n#PBS -N b\n", "#COBALT") == [["-N", "a"]]
    assert words("#PBS -N b\n", "") == []


def test_every_word_has_its_place() -> None:
    script = b"#!/bin/sh\n  #PBS -N x\n#PBS -l a \\\n  b\\\nc\n"
    places = [
        (word.text, word.origin.line, word.origin.column)
        for directive in scan(script, path="job.pbs")
        for word in directive.words
    ]
    assert places == [("-N", 2, 8), ("x", 2, 11), ("-l", 3, 6), ("a", 3, 9), ("bc", 4, 3)]


@pytest.mark.parametrize(
    ("script", "text", "line"),
    [
        (b"#PBS -N x\r\necho\n", "script contains cr, lf", 1),
        (b"#!/bin/sh\necho\n\r\n", "script contains cr, lf", 3),
        (b'#PBS -N "x\n', 'unmatched "', 1),
        (b"#PBS -N a'b\n", "unmatched '", 1),
        (b"#PBS -N \xe9\n", "directive error: not UTF-8 text", 1),
        (b"#PBS -N a\0b\n", "directive error: not UTF-8 text", 1),
    ],
)
def test_refused_scripts(script: bytes, text: str, line: int) -> None:
    with pytest.raises(PbsError) as caught:
        list(scan(script, path="job.pbs"))
    printed, code = describe(caught.value, "qsub")
    assert printed.splitlines()[0] == f"qsub: {text}"
    assert f"qsub: job.pbs:{line}:" in printed
    assert code == 1


def test_directives_before_the_bad_line_come_first() -> None:
    directives = scan(b"#PBS -N x\r\n")
    assert [word.text for word in next(directives).words] == ["-N", "x"]
    with pytest.raises(PbsError):
        next(directives)


@pytest.mark.parametrize(
    "script", [b"# caf\xe9\n#PBS -N x # \xe9t\xe9\n", b"#PBS -N x\necho \xff\n", b"#PBS -N x\nab\r"]
)
def test_other_bytes_outside_words_do_not_matter(script: bytes) -> None:
    assert words(script) == [["-N", "x"]]


@given(st.binary())
def test_any_bytes_are_words_or_an_error_with_a_place(script: bytes) -> None:
    try:
        for directive in scan(b"#PBS " + script, path="j"):
            assert directive.words
            assert all(word.origin.in_script for word in directive.words)
    except HpcBatchError as error:
        assert isinstance(error, PbsError)
        assert error.line is not None


@given(st.lists(st.text(st.characters(codec="ascii", exclude_characters="\0"), min_size=1), min_size=1))
def test_quoted_words_come_back(given_words: list[str]) -> None:
    quoted = " ".join("".join(f"\\{c}" if c != "\n" else "'\n'" for c in word) for word in given_words)
    if "\n" not in quoted:
        assert words(f"#PBS {quoted} x\n") == [[*given_words, "x"]]
