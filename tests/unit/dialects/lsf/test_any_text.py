"""Whatever stands in a script or on a command line: it is read, or refused in one line for each error."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hpcbatch.dialects.lsf.commands import COMMANDS, parse
from hpcbatch.dialects.lsf.errors import LsfAnswer, describe
from hpcbatch.dialects.lsf.table import OPTIONS
from hpcbatch.errors import HpcBatchError
from tests.unit.dialects.lsf.submit_parts import submission

WORDS = "select rusage mem span ptile hosts affinity core && || done ended exit num gmodel all none KB".split()
PIECES = st.sampled_from([*"[](){}<>=!&|,:;%~-+*/ \"'\\0159azMG", *WORDS, "é", "\udcff", "\x1b"])
TEXT = st.lists(PIECES, max_size=12).map("".join)


@given(st.sampled_from([name for name, rule in OPTIONS.items() if rule.takes]), TEXT)
def test_values(name: str, value: str) -> None:
    for argv, script in (([f"-{name}", value], "true\n"), ([], f"#BSUB -{name} {value}\n")):
        try:
            submission(*argv, script=script)
        except LsfAnswer:
            continue
        except HpcBatchError as error:
            text, code = describe(error, "bsub")
            assert code == 255
            assert all(line.endswith("Job not submitted.") for line in text.splitlines()), text


@given(st.sampled_from(sorted(COMMANDS)), st.lists(TEXT, max_size=3))
def test_lines(command: str, argv: list[str]) -> None:
    try:
        parse(command, argv)
    except HpcBatchError as error:
        assert str(error)
