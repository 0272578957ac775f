"""The table of `hpcbatch watch` on a terminal."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from hpcbatch.cli.live import elapsed, expected
from hpcbatch.model.row import JobRow
from hpcbatch.model.state import JobState
from hpcbatch.model.text import printable
from hpcbatch.policy.standing import neutral_id, standing
from hpcbatch.units import counted

_COLUMNS = ("JOB", "NAME", "USER", "QUEUE", "STATE", "TIME", "NODES", "WHERE OR WHY")
_NARROW = ((100, "USER"), (84, "QUEUE"), (70, "NODES"), (56, "TIME"))
"""Below so many columns of the terminal one of the table is left out."""
_NUMBERS = {"TIME", "NODES"}
_COLOUR = {
    JobState.RUNNING: "green",
    JobState.EXITING: "green",
    JobState.SUSPENDED: "magenta",
    JobState.QUEUED: "yellow",
    JobState.WAITING: "yellow",
    JobState.HELD: "magenta",
    JobState.FINISHED: "blue",
}
"""Of what is not here the job has not ended well."""
_BAD = "bold red"


class TableView:
    """Drawn anew in place; what stood above stays."""

    def __init__(self) -> None:
        self._console = Console(file=sys.stdout, highlight=False)
        self._live = Live(console=self._console, auto_refresh=False, vertical_overflow="crop")

    def show(self, rows: Mapping[str, JobRow]) -> None:
        if not self._live.is_started:
            self._live.start()
        self._live.update(self._drawn(rows), refresh=True)

    def close(self) -> None:
        """The last table stays; the cursor is shown again."""
        self._live.stop()

    def _drawn(self, rows: Mapping[str, JobRow]) -> Group:
        width, height = self._console.size
        names = [name for name in _COLUMNS if all(name != left or width >= least for least, left in _NARROW)]
        ordered = sorted(rows.values(), key=_shown_first)
        room = max(1, height - 3)  # the summary, the heads, and the cursor's line
        shown = ordered if len(ordered) <= room else ordered[: max(1, room - 1)]
        cells = [[_cells(row)[_COLUMNS.index(name)] for name in names] for row in shown]
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), expand=True, header_style="bold")
        most = {"NAME": max(8, min(24, width // 4)), "USER": 12, "QUEUE": 12}
        for number, name in enumerate(names):
            wide = max([len(name), *(line[number].cell_len for line in cells)])
            table.add_column(
                name,
                no_wrap=True,
                overflow="ellipsis",
                justify="right" if name in _NUMBERS else "left",
                width=None if name == _COLUMNS[-1] else min(wide, most.get(name, wide)),
                ratio=1 if name == _COLUMNS[-1] else None,  # what is left
            )
        for line in cells:
            table.add_row(*line)
        more = len(ordered) - len(shown)
        return Group(_summary(rows), table, *([Text(f"… and {more} more", style="dim")] if more else []))


def _summary(rows: Mapping[str, JobRow]) -> Text:
    counts = Counter(row.state for row in rows.values())
    line = Text(no_wrap=True, overflow="ellipsis")
    line.append(counted(len(rows), "job"), style="bold")
    for state in JobState:
        if counts[state]:
            line.append("  ")
            line.append(f"{counts[state]} {state.value.lower()}", style=_COLOUR.get(state, _BAD))
    line.append(f"  {datetime.now(UTC).astimezone():%H:%M:%S}", style="dim")
    return line


def _shown_first(row: JobRow) -> tuple[bool, int]:
    """Jobs that have ended go last: the terminal may be too small for all."""
    return row.state.is_final, row.job_id


def _cells(row: JobRow) -> tuple[Text, ...]:
    colour = _COLOUR.get(row.state, _BAD)
    plain = (neutral_id(row), row.name, row.user, row.queue)
    last = (elapsed(row), str(row.nodes), standing(row) + expected(row))
    texts = [Text(printable(cell)) for cell in plain]
    return (*texts, Text(row.state.value, style=colour), *(Text(printable(cell)) for cell in last))
