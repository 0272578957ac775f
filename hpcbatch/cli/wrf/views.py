"""Shows how far a WRF run is: as lines, or as JSON; `bar.py` does on a terminal."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime

from hpcbatch.cli.common import Session
from hpcbatch.dataclass import dataclass
from hpcbatch.model.text import printable
from hpcbatch.typed import Any, Protocol
from hpcbatch.units import hms
from hpcbatch.wrf.log import DomainProgress, Progress
from hpcbatch.wrf.run import Program
from hpcbatch.wrf.verdict import Verdict

QUIET_S = 60.0  # so long without a new line is worth a word
_TENTH = 10  # percent


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """What one look at the run found."""

    job: str
    """The job and its state, for people; "" where a directory is followed."""
    progress: Progress | None
    """None: the run has no log yet."""
    quiet_s: float
    """Since the log last grew."""
    verdict: Verdict | None
    """None: not over."""


class View(Protocol):
    def show(self, state: State) -> None: ...
    def end(self, state: State) -> None: ...
    def close(self) -> None:
        """Whatever happened: leaves the terminal as it was."""


class JsonView:
    def __init__(self) -> None:
        self._shown: Mapping[str, Any] | None = None

    def show(self, state: State) -> None:
        shown = _as_json(state)
        if shown != self._shown:
            self._shown = shown
            print(json.dumps(shown), flush=True)

    def end(self, state: State) -> None:
        pass

    def close(self) -> None:
        pass


def _as_json(state: State) -> dict[str, Any]:
    found = state.progress
    shown: dict[str, Any] = {"job": state.job or None}
    if found is not None:
        shown |= {
            "program": None if found.program is None else found.program.value,
            "percent": None if found.percent is None else round(found.percent, 2),
            "time": shown_time(found.time),
            "eta_s": None if found.eta_s is None else round(found.eta_s, 1),
            "loops": found.loops,
            "loops_total": found.loops_total,
            "domains": [
                {
                    "domain": each.domain,
                    "time": shown_time(each.time),
                    "steps": each.steps,
                    "step_mean_s": each.mean_s,
                    "step_median_s": each.median_s,
                }
                for each in found.domains
            ],
        }
    if state.verdict is not None:
        shown |= {"success": state.verdict.is_success, "message": state.verdict.message}
    return shown


class LinesView:
    """A line when something changes: the job's state, the program, the tenth of its way that it is in, silence."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._shown: tuple[object, ...] = ()

    def show(self, state: State) -> None:
        found = state.progress
        tenth = None if found is None or found.percent is None else int(found.percent // _TENTH)
        now = (state.job, None if found is None else found.program, tenth, state.quiet_s >= QUIET_S)
        if now == self._shown:
            return
        self._shown = now
        clock = datetime.now(UTC).astimezone(self._session.zone).strftime("%H:%M:%S")
        print(printable(f"{clock} {'; '.join(filter(None, (state.job, *_lines(state))))}"), flush=True)

    def end(self, state: State) -> None:
        _print_verdict(state)

    def close(self) -> None:
        pass


def _print_verdict(state: State) -> None:
    if state.verdict is not None:
        print(printable(f"{'success' if state.verdict.is_success else 'failed'}: {state.verdict.message}"), flush=True)


def _lines(state: State) -> list[str]:
    """The run, then each domain."""
    found = state.progress
    if found is None:
        return []
    parts = summary(found)
    if state.quiet_s >= QUIET_S and state.verdict is None:
        parts.append(f"(no new line for {hms(int(state.quiet_s))})")
    return ["  ".join(parts), *(_domain_line(each) for each in found.domains)]


def summary(found: Progress) -> list[str]:
    """The program, its percentage, the time it has reached, and what is left."""
    percent = "  ? %" if found.percent is None else f"{found.percent:3.0f} %"
    parts = ["starting" if found.program is None else f"{found.program}.exe", percent]
    if found.program is Program.REAL:
        parts.append(f"time {found.loops} of {found.loops_total or '?'}")
    if found.time is not None:
        parts.append(str(shown_time(found.time)))
    if found.eta_s is not None:
        parts.append(f"{hms(round(found.eta_s))} left")
    return parts


def _domain_line(found: DomainProgress) -> str:
    pace = f"mean {found.mean_s:.3g} s a step, median {found.median_s:.3g} s"
    return f"d{found.domain:02d}  {shown_time(found.time)}  {found.steps} steps, {pace}"


def shown_time(moment: datetime | None) -> str | None:
    return None if moment is None else f"{moment:%Y-%m-%d_%H:%M:%S}"
