"""The tables that wrf.exe opens in its run directory, by the schemes chosen; real.exe opens none.

Sources: recorded runs for the land model Noah, RRTMG and ozone; for others run/README.physics_files and the sources.
"""

from __future__ import annotations

from collections.abc import Iterator

from hpcbatch.wrf.finding import Finding, Severity
from hpcbatch.wrf.run import Program, Run
from hpcbatch.wrf.settings import Settings

_NOAH = ("LANDUSE.TBL", "VEGPARM.TBL", "SOILPARM.TBL", "GENPARM.TBL")
_OZONE = ("ozone.formatted", "ozone_lat.formatted", "ozone_plev.formatted")
_AEROSOL = ("aerosol.formatted", "aerosol_lat.formatted", "aerosol_lon.formatted", "aerosol_plev.formatted")
_BY_SCHEME: dict[str, dict[int, tuple[str, ...]]] = {
    "sf_surface_physics": {
        1: ("LANDUSE.TBL",),
        2: _NOAH,
        3: _NOAH,
        4: ("LANDUSE.TBL", "GENPARM.TBL", "SOILPARM.TBL", "MPTABLE.TBL|NoahmpTable.TBL"),
        7: ("LANDUSE.TBL", "VEGPARM.TBL"),
        8: ("LANDUSE.TBL",),
    },
    "ra_lw_physics": {
        1: ("RRTM_DATA",),
        3: ("CAM_ABS_DATA", "CAM_AEROPT_DATA"),
        4: ("RRTMG_LW_DATA",),
        24: ("RRTMG_LW_DATA",),
    },
    "ra_sw_physics": {3: ("CAM_ABS_DATA", "CAM_AEROPT_DATA"), 4: ("RRTMG_SW_DATA",), 24: ("RRTMG_SW_DATA",)},
    "mp_physics": {
        5: ("ETAMPNEW_DATA.expanded_rain",),
        15: ("ETAMPNEW_DATA.expanded_rain",),
        28: ("CCN_ACTIVATE.BIN",),
        55: ("ishmael-gamma-tab.bin", "ishmael-qi-qc.bin", "ishmael-qi-qr.bin"),
        95: ("ETAMPNEW_DATA.expanded_rain",),
    },
}
_GREENHOUSE_SCHEMES = frozenset({1, 3, 4, 24})
_OZONE_SCHEMES = frozenset({3, 4, 14, 24})


def check(run: Run) -> Iterator[Finding]:
    if run.program is Program.REAL:
        return
    for name, key in needed(run.settings).items():
        if not any(run.directory.has(each) for each in name.split("|")):
            value, line = run.settings.shown("physics", key)
            why = f"{key} = {value or run.settings.scheme(key)}"
            yield Finding(
                severity=Severity.ERROR,
                key=name.replace("|", " or "),
                value="missing",
                line=line,
                rule=f"wrf.exe opens it for &physics {why}: link it from WRF's run directory",
            )


def needed(settings: Settings) -> dict[str, str]:
    """Names, alternatives joined by `|`, and for each the key of &physics that requests it."""
    found: dict[str, str] = {}

    def need(key: str, *names: str) -> None:
        for name in names:
            found.setdefault(name, key)

    for domain in range(1, settings.domains + 1):
        for key, tables in _BY_SCHEME.items():
            need(key, *tables.get(settings.scheme(key, domain), ()))
        long_wave = settings.scheme("ra_lw_physics", domain)
        if long_wave in _GREENHOUSE_SCHEMES and settings.integer("physics", "ghg_input", default=1) == 1:
            need("ra_lw_physics", "CAMtr_volume_mixing_ratio")
        if long_wave in _OZONE_SCHEMES and settings.integer("physics", "o3input", default=2) == 2:
            need("ra_lw_physics", *_OZONE)
        if settings.integer("physics", "sf_urban_physics", domain):
            need("sf_urban_physics", "URBPARM.TBL")
        if settings.integer("physics", "aer_opt") == 1:
            need("aer_opt", *_AEROSOL)
    return found
