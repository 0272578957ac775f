"""Mixing that must be chosen, and the sound steps within a time step.

Sources: module_check_a_mundo.F; solve_em.F for the number of sound steps that WRF takes itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from hpcbatch.wrf.finding import Finding
from hpcbatch.wrf.run import Program, Run

_SOUND_M_S = 300.0
"""The speed of sound that WRF reckons with."""
_LARGEST_COURANT = 1 / math.sqrt(2)
"""Of the sound steps, in two directions. A recorded run with 0.75 broke down after four minutes."""


def check(run: Run) -> Iterator[Finding]:
    for key in ("diff_opt", "km_opt"):
        if run.settings.integer("dynamics", key, default=-1) == -1:  # of domain 1, whose value the others take over
            rule = f"{run.exe} stops with `Both km_opt and diff_opt need to be set in the namelist.input file.`"
            yield run.error("dynamics", key, rule, 1)
    if run.program is Program.WRF and not run.settings.flag("domains", "use_adaptive_time_step"):
        for domain in range(1, run.settings.domains + 1):
            yield from _sound_steps(run, domain)


def _sound_steps(run: Run, domain: int) -> Iterator[Finding]:
    settings = run.settings
    steps = settings.integer("dynamics", "time_step_sound", domain)
    step_s = settings.domain_time_step_s(domain)
    distance_m = min(settings.distance_m(key, domain) for key in ("dx", "dy"))
    if steps == 0 or step_s <= 0 or distance_m <= 0:
        return  # WRF reckons the number itself; or said by other rules
    own = max(2 * (int(_SOUND_M_S * step_s / distance_m - 0.01) + 1), 4)
    courant = _SOUND_M_S * step_s / (distance_m * steps) if steps > 0 else math.inf
    if courant > _LARGEST_COURANT:
        rule = (
            f"the Courant number of sound is {courant:.2g} in domain {domain} ({distance_m / 1000:g} km, "
            f"steps of {step_s / max(1, steps):g} s), and above {_LARGEST_COURANT:.2g} runs break down: "
            f"{own}, or 0 for WRF's own choice"
        )
        yield run.error("dynamics", "time_step_sound", rule, domain)
    elif steps % 2:
        rule = f"expected an even number (domain {domain}): the second Runge-Kutta step takes half of them"
        yield run.warning("dynamics", "time_step_sound", rule, domain)
