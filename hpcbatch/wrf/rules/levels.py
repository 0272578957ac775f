"""Whether the levels requested can reach the model top, in real.exe."""

from __future__ import annotations

import math
from collections.abc import Iterator

from hpcbatch.wrf.finding import Finding
from hpcbatch.wrf.run import Program, Run

_SCALE_HEIGHT_M = 7000.0
"""Of a cold atmosphere: what it gives for the model top is rather too low than too high."""


def check(run: Run) -> Iterator[Finding]:
    """With layers stretched as fast as allowed and none thicker than max_dz; what falls short of that cannot work."""
    settings = run.settings
    is_automatic = not settings.namelist.has("domains", "eta_levels")
    if (
        run.program is not Program.REAL
        or not is_automatic
        or settings.integer("domains", "auto_levels_opt", default=2) != 2
    ):
        return
    top_pa = settings.number("domains", "p_top_requested", default=5000.0)
    layers = settings.integer("domains", "e_vert") - 1
    if not 0 < top_pa < 100_000 or not 2 <= layers < 10_000:
        return
    lowest_m = settings.number("domains", "dzbot", default=50.0)
    thickest_m = settings.number("domains", "max_dz", default=1000.0)
    stretch = max(settings.number("domains", f"dzstretch_{part}", default=d) for part, d in (("s", 1.3), ("u", 1.1)))
    wanted_m = _SCALE_HEIGHT_M * math.log(100_000 / top_pa)
    reached_m = 0.0
    thickness_m = lowest_m
    for _ in range(layers):
        thickness_m = min(thickness_m, thickest_m)
        reached_m += thickness_m
        thickness_m *= max(stretch, 1.0)
    if reached_m < wanted_m:
        yield run.error(
            "domains",
            "e_vert",
            f"{layers} layers reach {reached_m / 1000:.1f} km at most (dzbot, dzstretch_s and _u, max_dz), the top "
            f"{top_pa:g} Pa is at {wanted_m / 1000:.1f} km: real.exe stops: `Upper levels may be too thick`",
            1,
        )
