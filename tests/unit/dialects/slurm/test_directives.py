"""#SBATCH lines: splitting, places, where reading stops, and what is no batch script."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbatch.dialects.slurm.directives import check_script, read_directives
from hpcbatch.dialects.slurm.errors import SlurmUsageError

LINES = [
    ("#SBATCH -J a", ["-J", "a"]),
    ("#SBATCH-Jx", ["-Jx"]),
    ("#SBATCH -J a#b -n 2", ["-J", "a"]),
    ("#SBATCH -J 'a#b' # c", ["-J", "a#b"]),
    ('#SBATCH -J a"#"b', ["-J", "a#b"]),
    ("#SBATCH -J a\\#b", ["-J", "a#b"]),
    ("#SBATCH -J a\\ b", ["-J", "a", "b"]),
    ("#SBATCH -J a\\\\b", ["-J", "a\\b"]),
    ('#SBATCH -J "a\\"b"', ["-J", 'a"b']),
    ("#SBATCH -J 'a\\'b'", ["-J", "a'b"]),
    ("#SBATCH -J a\\", ["-J", "a"]),
    ("#SBATCH \\-J x", ["-J", "x"]),
    ('#SBATCH -J "a b\'c"', ["-J", "a b'c"]),
    ("#SBATCH -J a''b", ["-J", "ab"]),
    ('#SBATCH -J a -n "" 3', ["-J", "a", "-n"]),
    ("#SBATCH\t--time=1\t-n\t2", ["--time=1", "-n", "2"]),
    ('#SBATCH "-J" "x y"', ["-J", "x y"]),
    ("#SBATCH it # don't", ["it"]),
    ("#SBATCHX -J x", ["X", "-J", "x"]),
    ("#SBATCH -o $HOME/%j `x`", ["-o", "$HOME/%j", "`x`"]),
    (" #SBATCH -J x", []),
    ("# SBATCH -J x", []),
    ("##SBATCH -J x", []),
    ("#sbatch -J x", []),
    ("#SBATCH", []),
    ("#SBATCH # all", []),
    ("#SLURM -J x", ["-J", "x"]),
    ("#SBATCH –N 1", ["–N", "1"]),
]


@pytest.mark.parametrize(("line", "words"), LINES, ids=[line[0] for line in LINES])
def test_words(line: str, words: list[str]) -> None:
    found = read_directives(f"#!/bin/sh\n{line}\n".encode(), "s.sh")
    assert [word.text for word in found.words] == words


def test_places() -> None:
    script = b"#!/bin/sh\n\n#SBATCH  -J 'a b'  --time=5\n# x\n   \n#SBATCH -n2\necho\n#SBATCH -n3\n"
    found = read_directives(script, "s.sh")
    assert [(w.text, w.line, w.column) for w in found.words] == [
        ("-J", 3, 10),
        ("a b", 3, 13),
        ("--time=5", 3, 20),
        ("-n2", 6, 9),
    ]


@pytest.mark.parametrize(("quote", "column"), [("'", 12), ('"', 12)])
def test_unmatched_quote(quote: str, column: int) -> None:
    found = read_directives(f"#!/bin/sh\n#SBATCH -J {quote}a b\n#SBATCH -n 1\n".encode(), "s.sh")
    (error,) = found.problems
    assert error.text == f"sbatch: fatal: s.sh: line 2: Unmatched `{quote}` in [ -J {quote}a b]"
    assert (error.code, error.line, error.column) == (1, 2, column)
    assert [word.text for word in found.words] == ["-n", "1"]


def test_old_directives() -> None:
    found = read_directives(b"#!/bin/sh\n#SLURM -n 1\n#SLURM -n 2\n", "s.sh")
    assert len(found.notes) == 1
    assert found.notes[0].startswith("sbatch: error: Change from #SLURM to #SBATCH")


def test_a_word_that_begins_with_a_colon() -> None:
    (error,) = read_directives(b"#!/bin/sh\n#SBATCH -n 1 : -n 2\n", "s.sh").problems
    assert error.text == "sbatch: fatal: s.sh: line 2: Unexpected `:` in [ -n 1 : -n 2]"
    assert (error.code, error.line, error.column) == (1, 2, 14)


def test_components() -> None:
    script = b"#!/bin/sh\n#SBATCH -n 1\n#SBATCH HetJob\n#SBATCH -n 2\n#SBATCH packjob -n 3\n#SBATCH -J hetjobs\n"
    found = read_directives(script, "s.sh")
    assert [[word.text for word in words] for words in found.components] == [
        ["-n", "1"],
        ["-n", "2"],
        ["-n", "3", "-J", "hetjobs"],
    ]
    assert found.notes == (
        'sbatch: Warning: the "packjob" component separator is being deprecated. Please, use "hetjob" instead.',
    )


NOT_SHELL = (
    "sbatch: error: This does not look like a batch script.  The first\n"
    "sbatch: error: line must start with #! followed by the path to an interpreter.\n"
    "sbatch: error: For instance: #!/bin/sh"
)
SCRIPTS = [
    (b"", "sbatch: error: Batch script is empty!"),
    (b"\n", "sbatch: error: Batch script contains only whitespace!"),
    (b"  \n\t\n", "sbatch: error: Batch script contains only whitespace!"),
    (b"echo\n", NOT_SHELL),
    (b" #!/bin/sh\n", NOT_SHELL),
    (
        b"#!/bin/sh\r\n",
        "sbatch: error: Batch script contains DOS line breaks (\\r\\n)\n"
        "sbatch: error: instead of expected UNIX line breaks (\\n).",
    ),
    (
        b"#!/bin/sh\n\0\n",
        "sbatch: error: The Slurm controller does not allow scripts that\n"
        "sbatch: error: contain a NULL character '\\0'.",
    ),
]


@pytest.mark.parametrize(("script", "text"), SCRIPTS, ids=[repr(s[0]) for s in SCRIPTS])
def test_no_script(script: bytes, text: str) -> None:
    with pytest.raises(SlurmUsageError) as error:
        check_script(script)
    assert (error.value.text, error.value.code) == (text, 1)


def test_other_blanks_are_text() -> None:
    """As for C's isspace(): U+00A0, which web pages have in the place of a blank, belongs to the word."""
    found = read_directives(
        "#!/bin/sh\n#SBATCH\xa0-n 2\u2003x --time=5\n\xa0#SBATCH -N 2\n#SBATCH -N 3\n".encode(), "s.sh"
    )
    assert [word.text for word in found.words] == ["\xa0-n", "2\u2003x", "--time=5"]


def test_script_without_final_newline() -> None:
    check_script(b"#!/bin/sh")


@given(st.binary(max_size=60))
def test_any_bytes(tail: bytes) -> None:
    script = b"#!/bin/sh\n#SBATCH " + tail
    try:
        found = read_directives(script, "s.sh")
    except SlurmUsageError as error:
        assert error.line is not None
        assert error.column is not None
        return
    lines = script.split(b"\n")
    for word in found.words:
        assert 1 <= word.column <= len(lines[word.line - 1].decode("utf-8", "surrogateescape"))


WORDS = st.lists(st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=8), max_size=6)


@given(WORDS)
def test_quoting_brings_words_through(words: list[str]) -> None:
    quoted = " ".join('"' + w.replace("\\", "\\\\").replace('"', '\\"') + '"' for w in words)
    found = read_directives(f"#!/bin/sh\n#SBATCH {quoted}\n".encode(), "s.sh")
    assert [word.text for word in found.words] == words
