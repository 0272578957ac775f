"""How far a WRF run is, on a terminal."""

from __future__ import annotations

import sys

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from hpcbatch.cli.wrf.views import QUIET_S, State, shown_time, summary
from hpcbatch.model.text import printable
from hpcbatch.units import hms
from hpcbatch.wrf.log import Progress

_BAR = 40  # columns at most
_HEADS = ("DOMAIN", "TIME", "STEPS", "MEAN", "MEDIAN")


class BarView:
    """Drawn anew in place: a line on the whole, a bar, a line for each domain. The end is a line below."""

    def __init__(self) -> None:
        self._console = Console(file=sys.stdout, highlight=False)
        self._live: Live | None = None

    def show(self, state: State) -> None:
        if self._live is None:
            self._live = Live(console=self._console, auto_refresh=False, vertical_overflow="crop")
            self._live.start()
        self._live.update(self._drawn(state), refresh=True)

    def end(self, state: State) -> None:
        self.close()
        if state.verdict is not None:
            line = Text("success" if state.verdict.is_success else "failed")
            line.stylize("bold green" if state.verdict.is_success else "bold red")
            self._console.print(line.append(f": {printable(state.verdict.message)}", style="default"), soft_wrap=True)

    def close(self) -> None:
        """What is drawn stays; the next run is drawn below it."""
        if self._live is not None:
            self._live.stop()
        self._live = None

    def _drawn(self, state: State) -> Group:
        found = state.progress
        head = Text(printable(state.job), style="bold", no_wrap=True, overflow="ellipsis")
        text = "no log yet" if found is None else "  ".join(summary(found))
        head.append(f"{'  ' if state.job else ''}{printable(text)}", style="default")
        if state.quiet_s >= QUIET_S and state.verdict is None:
            head.append(f"  no new line for {hms(int(state.quiet_s))}", style="yellow")
        parts: list[Text | Table] = [head]
        if found is not None and found.percent is not None:
            width = min(_BAR, self._console.width)
            colour = "green" if found.percent >= 100 else "cyan"
            line = Table.grid()  # a bar alone has no end of its line
            line.add_row(ProgressBar(100, found.percent, width=width, complete_style=colour, finished_style="green"))
            parts.append(line)
        if found is not None and found.domains:
            parts.append(_domains(found))
        return Group(*parts)


def _domains(found: Progress) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for head in _HEADS:
        table.add_column(head, no_wrap=True, justify="right" if head in _HEADS[2:] else "left")
    for each in found.domains:
        pace = (f"{each.mean_s:.3g} s", f"{each.median_s:.3g} s")
        table.add_row(f"d{each.domain:02d}", shown_time(each.time) or "", str(each.steps), *pace)
    return table
