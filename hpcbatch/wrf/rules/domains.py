"""Sizes of the domains, nests within their parents, and the time step against the grid distance."""

from __future__ import annotations

from collections.abc import Iterator

from hpcbatch.wrf.finding import Finding
from hpcbatch.wrf.run import Program, Run

_RATIO_S_PER_KM = 6.0


def check(run: Run) -> Iterator[Finding]:
    settings = run.settings
    asked = settings.integer("domains", "max_dom", default=1)
    if asked != settings.domains:
        yield run.error("domains", "max_dom", "expected 1 to 21 domains")
    yield from _grid_distance(run)
    for domain in range(1, settings.domains + 1):
        yield from _sizes(run, domain)
        if domain > 1:
            yield from _nest(run, domain)
    yield from _time_step(run)


def _sizes(run: Run, domain: int) -> Iterator[Finding]:
    for key, least in (("e_we", 2), ("e_sn", 2), ("e_vert", 3)):
        if run.settings.integer("domains", key, domain) < least:
            yield run.error("domains", key, f"domain {domain} needs a size of its own, {least} or more", domain)


def _grid_distance(run: Run) -> Iterator[Finding]:
    for key in ("dx", "dy"):
        if run.settings.number("domains", key) <= 0:
            yield run.error("domains", key, "domain 1 needs its grid distance, in metres", 1)


def _nest(run: Run, domain: int) -> Iterator[Finding]:
    settings = run.settings

    def of(key: str, which: int = domain, default: int = 0) -> int:
        return settings.integer("domains", key, which, default)

    parent, ratio = of("parent_id"), of("parent_grid_ratio")
    if not 1 <= parent < domain:
        yield run.error(
            "domains", "parent_id", f"the parent of domain {domain} must be one of 1 to {domain - 1}", domain
        )
        return
    if ratio < 1:
        yield run.error(
            "domains", "parent_grid_ratio", f"domain {domain} needs a ratio to its parent, 1 or more", domain
        )
        return
    if of("parent_time_step_ratio") < 1:
        rule = f"domain {domain} needs a ratio of time steps to its parent, 1 or more"
        yield run.error("domains", "parent_time_step_ratio", rule, domain)
    for size_key, start_key in (("e_we", "i_parent_start"), ("e_sn", "j_parent_start")):
        size, start, outer = of(size_key), of(start_key), of(size_key, parent)
        if size < 2 or outer < 2:
            continue
        if (size - 1) % ratio:
            lower = (size - 1) // ratio * ratio + 1
            rule = (
                f"{size_key} - 1 of domain {domain} must be a multiple of its parent_grid_ratio {ratio}: "
                f"{lower} or {lower + ratio}"
            )
            yield run.error("domains", size_key, rule, domain)
        last = start + (size - 1) // ratio
        if start < 1 or last > outer:
            rule = f"domain {domain} lies over cells {start} to {last} of its parent {parent}, which has 1 to {outer}"
            yield run.error("domains", start_key, rule, domain)
        elif start <= 5 or last >= outer - 5:
            rule = f"domain {domain} comes within 5 cells of its parent's edge: {start} to {last} of 1 to {outer}"
            yield run.warning("domains", start_key, rule, domain)


def _time_step(run: Run) -> Iterator[Finding]:
    settings = run.settings
    step_s = settings.time_step_s
    distances = [settings.number("domains", key) / 1000 for key in ("dx", "dy")]
    if settings.flag("domains", "use_adaptive_time_step") or run.program is Program.REAL:
        return
    if step_s <= 0:
        yield run.error("domains", "time_step", "expected a positive number of seconds")
        return
    if min(distances) <= 0:
        return
    allowed = settings.number("domains", "reasonable_time_step_ratio", default=_RATIO_S_PER_KM)
    ratio = step_s / min(distances)
    largest = f"{allowed * min(distances):g} s is the longest for {min(distances):g} km"
    if ratio > allowed and settings.flag("bdy_control", "specified"):
        rule = (
            f"{ratio:g} s per km of grid distance; above {allowed:g} WRF stops: `The time step is probably too large "
            f"for this grid distance, reduce it.` {largest}"
        )
        yield run.error("domains", "time_step", rule, value=f"{step_s:g}")
    elif ratio > _RATIO_S_PER_KM:
        rule = (
            f"{ratio:g} s per km of grid distance; above {_RATIO_S_PER_KM:g} runs tend to break down (v_cfl exceeded)"
        )
        yield run.warning("domains", "time_step", rule, value=f"{step_s:g}")
