"""The lines of LSF's commands, and the formats of bjobs -o."""

from __future__ import annotations

import pytest

from hpcbatch.dialects.lsf.commands import COMMANDS, parse
from hpcbatch.dialects.lsf.errors import LsfAnswer, LsfUsageError
from hpcbatch.dialects.lsf.fields import FIELDS, read_format

LINES = {
    "letters": (["-al", "5"], {"a": "", "l": ""}, ("5",)),
    "value": (["-u", "all", "-qnormal"], {"u": "all", "q": "normal"}, ()),
    "long": (["-noheader", "-json", "-o", "jobid"], {"noheader": "", "json": "", "o": "jobid"}, ()),
    "WL": (["-WL"], {"WL": ""}, ()),
}


@pytest.mark.parametrize(("argv", "options", "operands"), LINES.values(), ids=LINES)
def test_line(argv: list[str], options: dict[str, str], operands: tuple[str, ...]) -> None:
    line = parse("bjobs", argv)
    assert (line.options, line.operands) == (options, operands)


@pytest.mark.parametrize("argv", [["-z"], ["-u"], ["-o"]])
def test_wrong_line(argv: list[str]) -> None:
    with pytest.raises(LsfUsageError, match="Usage: bjobs"):
        parse("bjobs", argv)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("option", ["-h", "-V"])
def test_answers(command: str, option: str) -> None:
    with pytest.raises(LsfAnswer):
        parse(command, [option])


def test_format() -> None:
    found = read_format("id:5 stat:-6 name: delimiter='^'", "usage")
    shown = [(column.name, column.width, column.is_right) for column in found.columns]
    assert shown == [("jobid", 5, False), ("stat", 6, True), ("job_name", FIELDS["job_name"].width, False)]
    assert found.delimiter == "^"
    for text in ("nosuch", "", "jobid:x", "delimiter=,"):
        with pytest.raises(LsfUsageError):
            read_format(text, "usage")
