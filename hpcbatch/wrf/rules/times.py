"""Start, end and length of the run, against each other and the boundary interval."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import timedelta

from hpcbatch.wrf.finding import Finding
from hpcbatch.wrf.run import Program, Run


def check(run: Run) -> Iterator[Finding]:
    settings = run.settings
    start = settings.start()
    if start is None:
        yield run.error("time_control", "start_year", "start_year, start_month … of domain 1 are missing, or no date")
        return
    if run.program is Program.REAL:
        yield from _real(run)
    else:
        yield from _wrf(run)
    for domain in range(2, settings.domains + 1):
        yield from _nest(run, domain)


def _real(run: Run) -> Iterator[Finding]:
    settings = run.settings
    start, end = settings.start(), settings.end()
    if start is None:
        return
    if end is None:
        yield run.error("time_control", "end_year", "missing, or no date; real.exe goes by end_year, end_month …")
        return
    if end < start:
        yield run.error("time_control", "end_year", f"the end {end} comes before the start {start}", value=str(end))
        return
    if not settings.interval:
        yield run.error("time_control", "interval_seconds", "expected the seconds between two met_em files")
    elif start != end and end - start < settings.interval:
        rule = (
            f"{end - start} from start to end: Make the end time at least one 'interval_seconds' beyond the start time "
            f"({settings.interval})"
        )
        yield run.error("time_control", "interval_seconds", rule)
    elif (end - start) % settings.interval:
        last = start + (end - start) // settings.interval * settings.interval
        rule = f"{end - start} from start to end is no multiple of it: the boundaries end at {last}"
        yield run.warning("time_control", "interval_seconds", rule)
    run_end = settings.run_end()
    if run_end is not None and run_end > end:
        rule = f"wrf.exe will run to {run_end}, but real.exe makes boundaries to {end} only (end_year …)"
        yield run.warning("time_control", "run_hours", rule, value=str(settings.run_length))


def _wrf(run: Run) -> Iterator[Finding]:
    settings = run.settings
    start, end = settings.start(), settings.run_end()
    if start is None:
        return
    if end is None:
        yield run.error(
            "time_control", "end_year", "neither run_days, run_hours … nor end_year … give a date to end at"
        )
        return
    if end <= start:
        key = "run_hours" if settings.run_length is not None else "end_year"
        yield run.error("time_control", key, f"the end {end} does not come after the start {start}", value=str(end))
        return
    by_end = settings.end()
    if settings.run_length is not None and by_end is not None and by_end != end:
        rule = f"run_days, run_hours … win: wrf.exe ends at {end}, not at end_year … {by_end}"
        yield run.warning("time_control", "run_hours", rule, value=str(settings.run_length))
    step_s = settings.time_step_s
    if step_s > 0 and not settings.flag("domains", "use_adaptive_time_step"):
        interval_s = settings.history_interval_s()
        if interval_s and _is_no_multiple(interval_s, step_s):
            rule = f"{interval_s:g} s is no multiple of the time step, {step_s:g} s: frames come late by up to a step"
            yield run.warning("time_control", "history_interval", rule, 1)


def _is_no_multiple(length_s: float, step_s: float) -> bool:
    steps = length_s / step_s
    return not math.isfinite(steps) or abs(steps - round(steps)) > 1e-6


def _nest(run: Run, domain: int) -> Iterator[Finding]:
    settings = run.settings
    start, end = settings.start(domain), settings.end(domain)
    if start is None or end is None:
        key = "start_year" if start is None else "end_year"
        yield run.error("time_control", key, f"domain {domain} has no value of its own, or no date", domain)
        return
    parent = settings.integer("domains", "parent_id", domain)
    outer_start = settings.start(parent) if 0 < parent < domain else None
    outer_end = settings.run_end() if parent == 1 else settings.end(parent) if 0 < parent < domain else None
    if end <= start:
        yield run.error("time_control", "end_year", f"domain {domain} ends at {end}, not after {start}", domain)
    if outer_start is not None and start < outer_start:
        rule = f"domain {domain} starts at {start}, before its parent, domain {parent}, at {outer_start}"
        yield run.error("time_control", "start_year", rule, domain)
    if outer_end is not None and start >= outer_end:
        rule = f"domain {domain} starts at {start}, when its parent has ended ({outer_end})"
        yield run.warning("time_control", "start_year", rule, domain)
    if end - start < timedelta(0):
        return
    if outer_end is not None and run.program is Program.WRF and end < outer_end:
        rule = f"domain {domain} ends at {end}, its parent goes on to {outer_end}"
        yield run.warning("time_control", "end_year", rule, domain)
