"""Lines of a script that look like options and that its command does not read. `explain` names them, so that none is
lost in silence: the real commands say nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hpcbatch.typed import Final, NamedTuple

MOAB: Final = "#MSUB"


class UnreadLine(NamedTuple):
    text: str
    meaning: str
    line: int
    column: int


def unread_lines(
    lines: Sequence[str], prefix: str, command: str, *, first_command: int, only_in_column_1: bool
) -> Iterator[UnreadLine]:
    """The lines with `prefix` that `command` does not read, and those for Moab. `first_command` is a line, from 1."""
    for number, line in enumerate(lines, start=1):
        body = line.lstrip()
        column = len(line) - len(body) + 1
        if prefix and body.startswith(prefix):
            if number >= first_command:
                why = f"it stands behind the first command, where {command} reads no options"
            elif only_in_column_1 and column > 1:
                why = f"{command} reads options in column 1 only"
            else:
                continue
        elif body.startswith(MOAB):
            why = f"{command} does not read lines of Moab"
        else:
            continue
        yield UnreadLine(body.rstrip(), why, number, column)
