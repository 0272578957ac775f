"""Namelists with one fault each, and what `wrf check` finds in them."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

from hpcbatch.wrf.finding import Severity
from hpcbatch.wrf.run import Program, Run
from tests.unit.wrf.cases import NAMELIST, changed, good_files, initial, met_em, run_of

REAL, WRF = Program.REAL, Program.WRF
ERROR, WARNING = Severity.ERROR, Severity.WARNING
NEST = changed("max_dom = 1", "max_dom = 2")


def without(*names: str) -> dict[str, bytes]:
    return {name: content for name, content in good_files().items() if name not in names}


def with_file(name: str, content: bytes) -> dict[str, bytes]:
    return {**good_files(), name: content}


DYNAMICS = NAMELIST[NAMELIST.index("&dynamics") :]
CASES: dict[str, tuple[Callable[[], Run], Severity, str, str, str]] = {
    "24 ranks": (lambda: run_of(WRF, ranks=24), ERROR, "domains.e_sn", "52", "4×6: patches of 15×8 .*20 fit, as 4×5"),
    "7 ranks": (lambda: run_of(WRF, ranks=7), ERROR, "domains.e_sn", "52", "1×7: patches of 62×7 .*6 fit, as 2×3"),
    "24 ranks, real": (lambda: run_of(REAL, ranks=24), ERROR, "domains.e_sn", "52", "4×6"),
    "5 ranks": (lambda: run_of(WRF, ranks=5), WARNING, "--ranks", "5", "prime"),
    "nest too small": (lambda: run_of(WRF, NEST, ranks=16), ERROR, "domains.e_we", "31", "domain 2 .*patches of 7×7"),
    "all ranks do I/O": (
        lambda: run_of(WRF, changed("nio_tasks_per_group = 0", "nio_tasks_per_group = 4")),
        ERROR,
        "namelist_quilt.nio_tasks_per_group",
        "4",
        "of 4 ranks 4 .*leaves 0 .*start 8",
    ),
    "quilt ranks do not compute": (
        lambda: run_of(WRF, changed("nio_groups = 1", "nio_groups = 2").replace("_group = 0", "_group = 2"), ranks=11),
        ERROR,
        "domains.e_sn",
        "52",
        "on 7 compute ranks",
    ),
    "process grid": (
        lambda: run_of(WRF, changed("max_dom = 1", "max_dom = 1, nproc_x = 3, nproc_y = 1")),
        ERROR,
        "domains.nproc_x",
        "3 × 1",
        "number of compute ranks, 4; else WRF may stop without a word",
    ),
    "half a process grid": (
        lambda: run_of(WRF, changed("max_dom = 1", "max_dom = 1, nproc_y = 3")),
        ERROR,
        "domains.nproc_y",
        "3",
        "ranks, 4",
    ),
    "no wrfbdy": (lambda: run_of(WRF, files=without("wrfbdy_d01")), ERROR, "wrfbdy_d01", "missing", "specified"),
    "no wrfinput": (lambda: run_of(WRF, files=without("wrfinput_d01")), ERROR, "wrfinput_d01", "missing", "real.exe"),
    "no second met_em": (
        lambda: run_of(REAL, files=without("met_em.d01.2024-01-15_13:00:00.nc")),
        ERROR,
        "met_em.d01.2024-01-15_13:00:00.nc",
        "missing",
        "bad date in the namelist, or file not in the directory",
    ),
    "no RRTMG_LW_DATA": (
        lambda: run_of(WRF, files=without("RRTMG_LW_DATA")),
        ERROR,
        "RRTMG_LW_DATA",
        "missing",
        "ra_lw_physics = 4",
    ),
    "no LANDUSE.TBL": (
        lambda: run_of(WRF, files=without("LANDUSE.TBL")),
        ERROR,
        "LANDUSE.TBL",
        "missing",
        "sf_surface_physics = 2",
    ),
    "no VEGPARM.TBL": (lambda: run_of(WRF, files=without("VEGPARM.TBL")), ERROR, "VEGPARM.TBL", "missing", ""),
    "no CAMtr": (
        lambda: run_of(WRF, files=without("CAMtr_volume_mixing_ratio")),
        ERROR,
        "CAMtr_volume_mixing_ratio",
        "missing",
        "",
    ),
    "no ozone": (lambda: run_of(WRF, files=without("ozone.formatted")), ERROR, "ozone.formatted", "missing", ""),
    "unknown key": (
        lambda: run_of(WRF, changed("time_step = 60", "time_stepp = 60")),
        ERROR,
        "domains.time_stepp",
        "60",
        "did you mean time_step.*ERROR reading namelist domains",
    ),
    "key of another build": (
        lambda: run_of(WRF, changed("time_step = 60", "time_step = 60, our_own_qx = 3")),
        WARNING,
        "domains.our_own_qx",
        "3",
        "no such key",
    ),
    "key of another group": (
        lambda: run_of(WRF, changed("time_step = 60", "time_step = 60, mp_physics = 6")),
        ERROR,
        "domains.mp_physics",
        "6",
        "belongs to &physics",
    ),
    "lost slash": (
        lambda: run_of(WRF, changed(" parent_time_step_ratio = 1, 3,\n/\n", " parent_time_step_ratio = 1, 3,\n")),
        ERROR,
        "&domains",
        "&domains of line 13 is not closed before &physics",
        "ERROR reading namelist domains",
    ),
    "no integer": (
        lambda: run_of(WRF, changed("e_vert = 36", "e_vert = 3.6e1")),
        ERROR,
        "domains.e_vert",
        "3.6e1",
        "an integer",
    ),
    "no quilt group": (
        lambda: run_of(WRF, NAMELIST.partition("&namelist_quilt")[0]),
        ERROR,
        "&namelist_quilt",
        "",
        "missing",
    ),
    "mp_physics 99": (
        lambda: run_of(WRF, changed("mp_physics = 6, 6", "mp_physics = 99, 99")),
        ERROR,
        "physics.mp_physics",
        "99",
        "no such",
    ),
    "no scheme": (
        lambda: run_of(WRF, changed("mp_physics = 6, 6, ", "")),
        ERROR,
        "physics.mp_physics",
        "",
        "physics_suite",
    ),
    "nest with another scheme": (
        lambda: run_of(WRF, NEST.replace("ra_sw_physics = 4, 4", "ra_sw_physics = 4, 1"), ranks=1),
        ERROR,
        "physics.ra_sw_physics",
        "1",
        "scheme of domain 1, 4",
    ),
    "e_we not that of wrfinput": (
        lambda: run_of(WRF, changed("e_we = 62", "e_we = 72")),
        ERROR,
        "domains.e_we",
        "72",
        "wrfinput_d01 has 62.*SIZE MISMATCH",
    ),
    "hybrid_opt not that of wrfinput": (
        lambda: run_of(WRF, changed("hybrid_opt = 2", "hybrid_opt = 0")),
        ERROR,
        "dynamics.hybrid_opt",
        "0",
        "wrfinput_d01 was made with 2",
    ),
    "dx not that of wrfinput": (
        lambda: run_of(WRF, changed("dx = 12000", "dx = 15000")),
        ERROR,
        "domains.dx",
        "15000",
        "wrfinput_d01 has 12000 m",
    ),
    "num_metgrid_levels": (
        lambda: run_of(REAL, changed("num_metgrid_levels = 20", "num_metgrid_levels = 27")),
        ERROR,
        "domains.num_metgrid_levels",
        "27",
        "has 20.*SIZE MISMATCH",
    ),
    "e_vert too small": (
        lambda: run_of(REAL, changed("e_vert = 36", "e_vert = 12")),
        ERROR,
        "domains.e_vert",
        "12",
        "may be too thick",
    ),
    "end within an interval": (
        lambda: run_of(REAL, NAMELIST.replace("end_hour = 13", "end_hour = 12, 12, end_minute = 30")),
        ERROR,
        "time_control.interval_seconds",
        "3600",
        "at least one 'interval_seconds' beyond",
    ),
    "no multiple of the interval": (
        lambda: run_of(REAL, NAMELIST.replace("end_hour = 13", "end_minute = 30, 30, end_hour = 13")),
        WARNING,
        "time_control.interval_seconds",
        "3600",
        "boundaries end at 2024-01-15 13:00:00",
    ),
    "run longer than wrfbdy": (
        lambda: run_of(WRF, changed("run_hours = 1", "run_hours = 2")),
        ERROR,
        "time_control.run_hours",
        "2024-01-15 14:00:00",
        "Ran out of valid boundary conditions",
    ),
    "start before wrfbdy": (
        lambda: run_of(WRF, NAMELIST.replace("start_hour = 12", "start_hour = 11")),
        ERROR,
        "time_control.start_year",
        "2024-01-15 11:00:00",
        "wrfbdy_d01 begins at 2024-01-15 12:00:00",
    ),
    "wrfinput of another time": (
        lambda: run_of(WRF, files=with_file("wrfinput_d01", initial(time="2024-01-15_06:00:00"))),
        ERROR,
        "time_control.start_year",
        "2024-01-15 12:00:00",
        "wrfinput_d01 holds 2024-01-15_06:00:00",
    ),
    "no wrfrst": (
        lambda: run_of(WRF, changed("restart = .false.", "restart = .true.")),
        ERROR,
        "wrfrst_d01_2024-01-15_12:00:00",
        "missing",
        "restart = .true.",
    ),
    "no wrfrst, without colons": (
        lambda: run_of(WRF, changed("restart = .false.", "restart = T, nocolons = T")),
        ERROR,
        "wrfrst_d01_2024-01-15_12_00_00",
        "missing",
        "",
    ),
    "wrfinput cut short": (
        lambda: run_of(WRF, files=with_file("wrfinput_d01", initial()[:-1])),
        ERROR,
        "wrfinput_d01",
        f"{len(initial()) - 1} bytes",
        f"cut short.* {len(initial())} bytes",
    ),
    "wrfrst cut within its header": (
        lambda: run_of(
            WRF,
            changed("restart = .false.", "restart = T"),
            with_file("wrfrst_d01_2024-01-15_12:00:00", initial()[:99]),
        ),
        ERROR,
        "wrfrst_d01_2024-01-15_12:00:00",
        "a file that ends within its header",
        "netCDF",
    ),
    "met_em is no netCDF": (
        lambda: run_of(REAL, files=with_file("met_em.d01.2024-01-15_13:00:00.nc", b"<html>")),
        ERROR,
        "met_em.d01.2024-01-15_13:00:00.nc",
        "no netCDF",
        "expected netCDF",
    ),
    "other levels in the second met_em": (
        lambda: run_of(REAL, files=with_file("met_em.d01.2024-01-15_13:00:00.nc", met_em(21))),
        ERROR,
        "domains.num_metgrid_levels",
        "20",
        "13:00:00.nc has 21",
    ),
    **{
        f"no {key}": (
            partial(run_of, program, re.sub(rf"{key} = \d,", "", NAMELIST)),
            ERROR,
            f"dynamics.{key}",
            "",
            f"{program}.exe stops with `Both km_opt and diff_opt need to be set",
        )
        for key, program in (("km_opt", WRF), ("diff_opt", REAL))
    },
    "sound steps that break down": (
        lambda: run_of(
            WRF, changed("km_opt = 4", "km_opt = 4, time_step_sound = 4").replace("time_step = 60", "time_step = 120")
        ),
        ERROR,
        "dynamics.time_step_sound",
        "4",
        "sound is 0.75 in domain 1 .*12 km, steps of 30 s.*: 6, or 0",
    ),
    "sound steps of a nest": (
        lambda: run_of(
            WRF,
            NEST.replace("km_opt = 4", "km_opt = 4, time_step_sound = 4, 2").replace("ratio = 1, 3", "ratio = 1, 3"),
            ranks=1,
        ),
        ERROR,
        "dynamics.time_step_sound",
        "2",
        "0.75 in domain 2 .*4 km, steps of 10 s.*: 4, or 0",
    ),
    "sound steps below 0": (
        lambda: run_of(WRF, changed("km_opt = 4", "km_opt = 4, time_step_sound = -1")),
        ERROR,
        "dynamics.time_step_sound",
        "-1",
        ": 4, or 0",
    ),
    "an odd number of sound steps": (
        lambda: run_of(WRF, changed("km_opt = 4", "km_opt = 4, time_step_sound = 5")),
        WARNING,
        "dynamics.time_step_sound",
        "5",
        "even number",
    ),
    "a misspelt group": (
        lambda: run_of(WRF, changed("&dynamics", "&dynamcs")),
        ERROR,
        "&dynamcs",
        "",
        "did you mean &dynamics",
    ),
    "a group of another build": (
        lambda: run_of(WRF, NAMELIST + "&our_own\n/\n"),
        WARNING,
        "&our_own",
        "",
        "no such group",
    ),
    "no wrf.exe": (lambda: run_of(WRF, files=without("wrf.exe")), WARNING, "wrf.exe", "missing", "link or copy"),
    "no real.exe": (lambda: run_of(REAL, files=without("real.exe")), WARNING, "real.exe", "missing", "link or copy"),
    "wrf.exe cannot be run": (
        lambda: run_of(WRF, files=with_file("wrf.exe", b"not executable")),
        ERROR,
        "wrf.exe",
        "not executable",
        "cannot start",
    ),
    "time_step 300": (
        lambda: run_of(WRF, changed("time_step = 60", "time_step = 300")),
        ERROR,
        "domains.time_step",
        "300",
        "25 s per km.*The time step is probably too large for this grid distance.*72 s",
    ),
    "the time step's check switched off": (
        lambda: run_of(WRF, changed("time_step = 60", "time_step = 120, reasonable_time_step_ratio = 20")),
        WARNING,
        "domains.time_step",
        "120",
        "10 s per km.*v_cfl",
    ),
    "no time step": (
        lambda: run_of(WRF, changed(" time_step = 60,\n", "")),
        ERROR,
        "domains.time_step",
        "",
        "positive",
    ),
    "no history directory": (
        lambda: run_of(WRF, changed("restart = .false.", "history_outname = 'nodir/wrfout_d<domain>_<date>'")),
        ERROR,
        "time_control.history_outname",
        "'nodir/wrfout_d<domain>_<date>'",
        "nodir: no such directory.*without output",
    ),
    "PnetCDF": (
        lambda: run_of(WRF, changed("io_form_history = 2", "io_form_history = 11")),
        WARNING,
        "time_control.io_form_history",
        "11",
        "build of WRF with PnetCDF",
    ),
    "no such form": (
        lambda: run_of(WRF, changed("io_form_history = 2", "io_form_history = 77")),
        ERROR,
        "time_control.io_form_history",
        "77",
        "no such form",
    ),
    "auxhist without a form": (
        lambda: run_of(WRF, changed("io_form_history = 2", "io_form_history = 2, auxhist2_interval = 60")),
        WARNING,
        "time_control.io_form_auxhist2",
        "",
        "writes nothing",
    ),
    "no history": (
        lambda: run_of(WRF, changed("history_interval = 15, 15", "history_interval = 0, 0")),
        WARNING,
        "time_control.history_interval",
        "0, 0",
        "no wrfout",
    ),
    "nest's size": (
        lambda: run_of(WRF, NEST.replace("e_we = 62, 31", "e_we = 62, 33"), ranks=1),
        ERROR,
        "domains.e_we",
        "33",
        "multiple of its parent_grid_ratio 3: 31 or 34",
    ),
    "nest beyond its parent": (
        lambda: run_of(WRF, NEST.replace("i_parent_start = 1, 20", "i_parent_start = 1, 55"), ranks=1),
        ERROR,
        "domains.i_parent_start",
        "55",
        "cells 55 to 65 of its parent 1",
    ),
    "nest at the edge": (
        lambda: run_of(WRF, NEST.replace("j_parent_start = 1, 20", "j_parent_start = 1, 3"), ranks=1),
        WARNING,
        "domains.j_parent_start",
        "3",
        "within 5 cells",
    ),
    "nest's parent": (
        lambda: run_of(WRF, NEST.replace("parent_id = 0, 1", "parent_id = 0, 2"), ranks=1),
        ERROR,
        "domains.parent_id",
        "2",
        "1 to 1",
    ),
    "nest without a size": (
        lambda: run_of(WRF, NEST.replace("e_sn = 52, 31", "e_sn = 52"), ranks=1),
        ERROR,
        "domains.e_sn",
        "",
        "domain 2",
    ),
    "nest before its parent": (
        lambda: run_of(WRF, NEST.replace("start_hour = 12, 12", "start_hour = 12, 11"), ranks=1),
        ERROR,
        "time_control.start_year",
        "2024",
        "before its parent",
    ),
    "nest's input": (
        lambda: run_of(WRF, NEST.replace(".true., .false.", ".true., .true."), ranks=1),
        ERROR,
        "wrfinput_d02",
        "missing",
        "domain 2",
    ),
    "end before start": (
        lambda: run_of(REAL, NAMELIST.replace("end_day = 15", "end_day = 14")),
        ERROR,
        "time_control.end_year",
        "2024-01-14 13:00:00",
        "before the start",
    ),
    "no date": (
        lambda: run_of(WRF, NAMELIST.replace("start_month = 1, 1", "start_month = 13, 1")),
        ERROR,
        "time_control.start_year",
        "2024, 2024",
        "no date",
    ),
    "run and end differ": (
        lambda: run_of(WRF, NAMELIST.replace("end_hour = 13", "end_hour = 18")),
        WARNING,
        "time_control.run_hours",
        "1:00:00",
        "not at end_year",
    ),
    "history between steps": (
        lambda: run_of(WRF, changed("time_step = 60", "time_step = 70")),
        WARNING,
        "time_control.history_interval",
        "15",
        "no multiple of the time step",
    ),
}
