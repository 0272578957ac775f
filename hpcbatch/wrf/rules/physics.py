"""Schemes that WRF does not have, or not together. Sources: the Registry's packages, module_check_a_mundo.F."""

from __future__ import annotations

from collections.abc import Iterator

from hpcbatch.wrf.finding import Finding
from hpcbatch.wrf.run import Run

_SCHEMES: dict[str, frozenset[int]] = {
    "mp_physics": frozenset(
        {*range(0, 12), 13, 14, 15, 16, 17, 18, 19, 21, 22, 24, 26, 27, 28, 29, 30, 32, 38, 40, 50, 51, 52, 53, 55, 56}
        | {95, 96, 97, 106}
    ),
    "cu_physics": frozenset({0, 1, 2, 3, 4, 5, 6, 7, 10, 11, 14, 16, 93, 94, 95, 96, 99}),
    "ra_lw_physics": frozenset({0, 1, 3, 4, 5, 7, 14, 24, 31, 99}),
    "ra_sw_physics": frozenset({0, 1, 2, 3, 4, 5, 7, 14, 24, 99}),
    "bl_pbl_physics": frozenset({0, 1, 2, 3, 4, 5, 7, 8, 9, 10, 11, 12, 16, 17, 99}),
    "sf_sfclay_physics": frozenset({0, 1, 2, 3, 4, 5, 7, 10, 89, 91}),
    "sf_surface_physics": frozenset({0, 1, 2, 3, 4, 5, 6, 7, 8}),
}
_EQUAL = ("ra_lw_physics", "ra_sw_physics", "sf_surface_physics", "sf_sfclay_physics")
_EQUAL_OR_ZERO = ("bl_pbl_physics", "cu_physics")


def check(run: Run) -> Iterator[Finding]:
    settings = run.settings
    for key, known in _SCHEMES.items():
        for domain in range(1, settings.domains + 1):
            scheme = settings.scheme(key, domain)
            if scheme == -1:
                rule = f"domain {domain} has no scheme: set one, or a physics_suite"
                yield run.error("physics", key, rule, domain)
            elif scheme not in known and (domain == 1 or scheme != settings.scheme(key)):
                yield run.error("physics", key, f"WRF 4.7 has no such scheme (domain {domain})", domain)
    for domain in range(2, settings.domains + 1):
        for key in (*_EQUAL, *_EQUAL_OR_ZERO):
            first, own = settings.scheme(key), settings.scheme(key, domain)
            may_be_zero = key in _EQUAL_OR_ZERO
            if own not in {first, -1} and not (may_be_zero and own == 0):
                rule = f"domain {domain} must have the scheme of domain 1, {first}{', or 0' if may_be_zero else ''}"
                yield run.error("physics", key, rule, domain)
