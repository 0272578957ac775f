"""The stand-in for WRF, built and run: the same bits on any number of ranks, real numerics, WRF's own failures."""

from __future__ import annotations

import math
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

netcdf = pytest.importorskip("netCDF4", reason="netCDF4 is not installed (pip install netCDF4)")
import numpy as np  # noqa: E402  # comes with netCDF4

STANDIN = Path(__file__).parents[2] / "examples/wrf/standin"
# 6 ranks are 2 x 3 patches of at least 10 points; the two halves of the run are one boundary interval each
NAMELIST = """
&time_control
 start_year = 2024, start_month = 01, start_day = 15, start_hour = 12,
 end_year = 2024, end_month = 01, end_day = 15, end_hour = 12, end_minute = 20,
 run_minutes = 20, interval_seconds = 600, history_interval = 10, frames_per_outfile = 1,
 restart = .false., restart_interval = 10, history_outname = 'wrfout_d<domain>_<date>', ! as by default
/
&domains
 time_step = 60, max_dom = 1, e_we = 31, e_sn = 34, e_vert = 12, dx = 12000, dy = 12000,
 p_top_requested = 5000, num_metgrid_levels = 14, num_metgrid_soil_levels = 4,
/
&dynamics
 time_step_sound = 0,
/
&bdy_control
 spec_bdy_width = 5, specified = .true.,
/
&namelist_quilt
 nio_tasks_per_group = 0, nio_groups = 1,
/
"""
START, MIDDLE, END = (f"2024-01-15_12:{minute}:00" for minute in ("00", "10", "20"))
# The rest of the domain in the namelist of a closed basin, L metres wide, in which half a wave swings.
WALLS = "specified = .false., " + ", ".join(f"symmetric_{side} = .true." for side in ("xs", "xe", "ys", "ye"))


def program(name: str) -> str:
    """Of the wheel beside this Python if there is one: the system's own MPI may lack the compiler's half."""
    found = shutil.which(name, path=f"{Path(sys.executable).parent}:{os.environ.get('PATH', '')}")
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


def call(command: list[Any], **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=150, **options)


def build(out: Path, *arguments: str) -> Path:
    if call([program("cc"), "-E", "-x", "c", "-"], input="#include <netcdf.h>\n").returncode:
        pytest.skip("netcdf.h is not installed (Debian: libnetcdf-dev)")
    made = call([program("make"), "-s", f"OUT={out}", f"MPICC={program('mpicc')}", *arguments], cwd=STANDIN)
    assert made.returncode == 0 and not made.stderr, made.stderr
    return out


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("programs"))


@dataclass
class Case:
    """A run directory."""

    programs: Path
    work: Path

    def change(self, *changes: tuple[str, str]) -> Case:
        text = (self.work / "namelist.input").read_text()
        for old, new in changes:
            assert old in text, old
            text = text.replace(old, new)
        (self.work / "namelist.input").write_text(text)
        return self

    def mkmet(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return call([self.programs / "mkmet", *arguments], cwd=self.work)

    def run(self, name: str, ranks: int = 1, **environment: str) -> subprocess.CompletedProcess[str]:
        """`mpirun -np ranks` in the directory, one rank without mpirun, which is quicker; old logs gone."""
        for log in self.work.glob("rsl.*"):
            log.unlink()
        root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        launcher = [program("mpirun"), "--oversubscribe", "-np", str(ranks)] if ranks > 1 else []
        return call([*launcher, self.programs / name], cwd=self.work, env={**os.environ, **root, **environment})

    def ok(self, name: str, ranks: int = 1, **environment: str) -> Case:
        ended = self.run(name, ranks, **environment)
        assert ended.returncode == 0, ended.stderr + self.log()
        assert ended.stdout == ""
        started = re.findall(r"^ starting wrf task +(\d+)  of +(\d+)$", ended.stderr, re.MULTILINE)
        assert sorted(started) == [(str(rank), str(ranks)) for rank in range(ranks)]
        return self

    def log(self, rank: int = 0, stream: str = "error") -> str:
        path = self.work / f"rsl.{stream}.{rank:04d}"
        return path.read_text() if path.exists() else ""

    def logs(self) -> str:
        return "".join(path.read_text() for path in sorted(self.work.glob("rsl.error.*")))

    def names(self, pattern: str) -> list[str]:
        return sorted(path.name for path in self.work.glob(pattern))


@pytest.fixture
def case(programs: Path, tmp_path: Path) -> Case:
    (tmp_path / "namelist.input").write_text(NAMELIST)
    return Case(programs, tmp_path)


@pytest.fixture(scope="module")
def done(programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Case:
    """The whole chain on one rank."""
    work = tmp_path_factory.mktemp("done")
    (work / "namelist.input").write_text(NAMELIST)
    case = Case(programs, work)
    made = case.mkmet()
    assert made.stdout.split() == [f"met_em.d01.{date}.nc" for date in (START, MIDDLE, END)], made.stderr
    return case.ok("real.exe").ok("wrf.exe")


@pytest.fixture
def copy(done: Case, case: Case) -> Case:
    """What the chain's wrf.exe began with."""
    for name in (*done.names("met_em*"), "wrfinput_d01", "wrfbdy_d01"):
        shutil.copy(done.work / name, case.work)
    return case


def variables(path: Path) -> dict[str, bytes]:
    with netcdf.Dataset(path) as file:
        file.set_auto_mask(False)
        return {name: variable[:].tobytes() for name, variable in file.variables.items()}


def values(path: Path, *names: str, record: int = -1) -> list[np.ndarray]:
    with netcdf.Dataset(path) as file:
        file.set_auto_mask(False)
        return [file[name][record].astype(float) for name in names]


@pytest.mark.parametrize("ranks", [2, *(pytest.param(ranks, marks=pytest.mark.slow) for ranks in (3, 6))])
def test_any_number_of_ranks_gives_the_same_bits(done: Case, case: Case, ranks: int) -> None:
    assert case.mkmet().returncode == 0
    case.ok("real.exe", ranks).ok("wrf.exe", ranks)
    for name in ("wrfinput_d01", "wrfbdy_d01"):
        assert (case.work / name).read_bytes() == (done.work / name).read_bytes(), name
    names = case.names("wrfout*") + case.names("wrfrst*")
    assert names == [f"wrfout_d01_{d}" for d in (START, MIDDLE, END)] + [f"wrfrst_d01_{d}" for d in (MIDDLE, END)]
    for name in names:
        ours, theirs = variables(case.work / name), variables(done.work / name)
        assert [key for key in theirs if ours[key] != theirs[key]] == []
    for rank in range(ranks):
        for stream in ("error", "out"):
            assert case.log(rank, stream).endswith(f"d01 {END} wrf: SUCCESS COMPLETE WRF\n")


def test_a_restart_goes_on_with_the_same_bits(done: Case, case: Case) -> None:
    for name in ("wrfbdy_d01", f"wrfrst_d01_{MIDDLE}"):
        shutil.copy(done.work / name, case.work)
    case.change(("restart = .false.", "restart = .true., start_minute = 10"), ("run_minutes = 20", "run_minutes = 10"))
    case.ok("wrf.exe", 2)
    assert f" RESTART run: opening wrfrst_d01_{MIDDLE} for reading" in case.log()
    assert case.names("wrfout*") == [f"wrfout_d01_{END}"]
    for name in (f"wrfout_d01_{END}", f"wrfrst_d01_{END}"):
        assert variables(case.work / name) == variables(done.work / name)


def test_io_ranks_wait_and_change_nothing(done: Case, copy: Case) -> None:
    copy.change(("nio_tasks_per_group = 0", "nio_tasks_per_group = 1")).ok("wrf.exe", 3)
    assert re.search(r"Ntasks in X +1 , ntasks in Y +2$", copy.log(), re.MULTILINE)
    assert copy.log(2).endswith(" I/O QUILT SERVERS DONE\n")
    assert variables(copy.work / f"wrfout_d01_{END}") == variables(done.work / f"wrfout_d01_{END}")


def test_logs_tell_the_progress(done: Case) -> None:
    text = done.log()
    steps = re.findall(r"^Timing for main: time (\S+) on domain   1: +[\d.]+ elapsed seconds$", text, re.MULTILINE)
    assert steps == [f"2024-01-15_12:{minute:02d}:00" for minute in range(1, 21)]
    for what in (f"Writing wrfout_d01_{MIDDLE}", "Writing restart", "processing lateral boundary"):
        assert re.search(rf"^Timing for {re.escape(what)} for domain        1: +[\d.]+ elapsed", text, re.MULTILINE), (
            what
        )


def test_real_counts_its_times(copy: Case) -> None:
    copy.ok("real.exe", 2)
    assert re.findall(r"Timing for loop # +(\d+) = +\d+ s\.", copy.log()) == ["1", "2", "3"]
    assert "Total analysis times to input =    3." in copy.log(0, "out")
    assert copy.log(1).endswith(f"d01 {END} real_em: SUCCESS COMPLETE REAL_EM INIT\n")


def test_frames_may_share_a_file_and_steps_may_take_time(copy: Case) -> None:
    copy.change(("frames_per_outfile = 1", "frames_per_outfile = 2"), ("run_minutes = 20", "run_minutes = 10"))
    copy.ok("wrf.exe", STANDIN_STEP_S="0.05")
    assert copy.names("wrfout*") == [f"wrfout_d01_{START}"]
    assert f"Timing for Writing wrfout_d01_{MIDDLE}" in copy.log()
    with netcdf.Dataset(copy.work / f"wrfout_d01_{START}") as file:
        assert [bytes(row).decode() for row in file["Times"][:].filled()] == [START, MIDDLE]
    assert all(float(s) >= 0.05 for s in re.findall(r"domain   1: +([\d.]+)", copy.log()))


def test_wrfout_has_the_form_of_wrfs(done: Case) -> None:
    with netcdf.Dataset(done.work / f"wrfout_d01_{END}") as file:
        assert file.data_model == "NETCDF3_64BIT_OFFSET"
        assert {name: len(size) for name, size in file.dimensions.items()} == {
            **{"Time": 1, "DateStrLen": 19, "west_east": 30, "west_east_stag": 31},
            **{"south_north": 33, "south_north_stag": 34, "bottom_top": 11, "bottom_top_stag": 12},
        }
        assert file["U"].dimensions == ("Time", "bottom_top", "south_north", "west_east_stag")
        assert file["PH"].dimensions == ("Time", "bottom_top_stag", "south_north", "west_east")
        assert (file["U"].stagger, file["U"].coordinates) == ("X", "XLONG_U XLAT_U XTIME")
        assert (file["T2"].MemoryOrder, file["T2"].units, file["T2"].FieldType) == ("XY ", "K", 104)
        assert file.TITLE == " OUTPUT FROM WRF V4.7.1 MODEL"
        assert (file.getncattr("WEST-EAST_GRID_DIMENSION"), file.DX, file.MAP_PROJ) == (31, 12000, 1)
    with netcdf.Dataset(done.work / "wrfbdy_d01") as file:
        assert len(file.dimensions["Time"]) == 2
        assert file["U_BYS"].dimensions == ("Time", "bdy_width", "bottom_top", "west_east_stag")
        assert file["MU_BTXE"].dimensions == ("Time", "bdy_width", "south_north")


def test_wrfout_is_an_atmosphere(done: Case) -> None:
    names = ("P", "PB", "PH", "PHB", "T", "QVAPOR", "HGT", "PSFC", "T2", "U10", "RAINNC")
    p, pb, ph, phb, t, q, hgt, psfc, t2, u10, rain = values(done.work / f"wrfout_d01_{END}", *names)
    pressure, height, theta = p + pb, (ph + phb) / 9.81, t + 300
    assert np.abs(height[0] - hgt).max() < 0.1
    assert (np.diff(pressure, axis=0) < 0).all() and (np.diff(height, axis=0) > 0).all()
    assert (np.diff(theta, axis=0) > 0).all()  # stable
    # hydrostatic: the thickness of each layer is that of its virtual temperature, but for its curvature
    virtual = theta * (pressure / 1e5) ** (287 / 1004.5) * (1 + 0.608 * q)
    edges = np.concatenate([psfc[None], (pressure[1:] + pressure[:-1]) / 2])
    for k in range(3, 8):
        upper, lower = (edges[n] for n in (k + 1, k))
        assert np.abs((height[k + 1] - height[k]) * 9.81 / (287 * virtual[k] * np.log(lower / upper)) - 1).max() < 0.1
    for field, least, most in ((psfc, 8e4, 1.05e5), (t2, 260, 300), (np.abs(u10), 0, 25), (rain, 0, 5), (q, 0, 0.02)):
        assert field.min() >= least and field.max() <= most


@pytest.mark.slow
def test_half_a_wave_swings_in_a_basin_as_theory_says(case: Case) -> None:
    """Mass stays, and the error of the wave's height falls with the square of the grid's spacing."""
    changes = [
        ("e_sn = 34", "e_sn = 13"),
        ("specified = .true.", WALLS),
        ("interval_seconds = 600", "interval_seconds = 6"),
    ]
    changes += [("minute = 20", "minute = 0, end_second = 12"), ("restart_interval = 10", "restart_interval = 60")]
    case.change(*changes, ("run_minutes = 20", "run_hours = 5"), ("time_step = 60", "time_step = 20"))
    errors = []
    for e_we, dx in ((31, 12000), (16, 24000)):
        if e_we == 16:
            case.change(("e_we = 31", "e_we = 16"), ("dx = 12000", "dx = 24000"), ("time_step = 20", "time_step = 40"))
        assert case.mkmet("--basin", "2").returncode == 0
        case.ok("real.exe").ok("wrf.exe")
        (first,) = values(case.work / "wrfinput_d01", "STANDIN_H")
        (last,) = values(case.work / "wrfrst_d01_2024-01-15_17:00:00", "STANDIN_H")
        assert abs(last.sum() / first.sum() - 1) < 1e-13
        mode = np.cos(np.pi * (np.arange(e_we - 1) + 0.5) / (e_we - 1))
        height = 2 * (last.mean(axis=0) * mode).mean()
        frequency = math.pi * math.sqrt(9.81 * 5500) / ((e_we - 1) * dx)
        errors.append(abs(height - 2 * math.cos(frequency * 5 * 3600)))
    assert errors[0] < 0.05
    assert errors[1] / errors[0] == pytest.approx(4, abs=0.4)


def remove(pattern: str) -> Callable[[Case], object]:
    def act(case: Case) -> None:
        names = case.names(pattern)
        assert names
        for name in names:
            (case.work / name).unlink()

    return act


def put(old: str, new: str) -> Callable[[Case], object]:
    return lambda case: case.change((old, new))


def leave(case: Case) -> None:
    pass


def cut_short(case: Case) -> None:
    path = case.work / "wrfinput_d01"
    os.truncate(path, path.stat().st_size - 4000)


FAILURES: dict[str, tuple[str, int, Callable[[Case], object], int, str]] = {
    # what: program, ranks, what is done, exit code, what the log says
    "no namelist": ("wrf.exe", 2, remove("namelist.input"), 2, "Cannot open file 'namelist.input': No such file"),
    "no wrfinput": ("wrf.exe", 2, remove("wrfinput_d01"), 1, "wrf: error opening wrfinput_d01 for reading ierr="),
    "no wrfbdy": ("wrf.exe", 2, remove("wrfbdy_d01"), 1, "error opening wrfbdy_d01 for reading. IERR ="),
    "no second met_em": ("real.exe", 2, remove("met_em*12:10*"), 1, f"error opening met_em.d01.{MIDDLE}.nc for input"),
    "no wrfrst": (
        "wrf.exe",
        1,
        put("restart = .false.", "restart = T"),
        1,
        f"program wrf: error opening   wrfrst_d01_{START} for reading",
    ),
    "wrfinput cut short": ("wrf.exe", 1, cut_short, 1, "p_top from the namelist does not match p_top"),
    "too many ranks": ("wrf.exe", 5, leave, 1, "nproc_y =    5, with cell width in y-direction =    6"),
    "too many ranks for real": ("real.exe", 5, leave, 1, "--- ERROR: Reduce the MPI rank count"),
    "I/O ranks only": ("wrf.exe", 2, put("group = 0", "group = 2"), 1, "MPASPECT: UNABLE TO GENERATE PROCESSOR MESH."),
    "a grid of other ranks": ("wrf.exe", 2, put("max_dom", "nproc_x = 3, nproc_y = 1, max_dom"), 5, "Quilting"),
    "time step": ("wrf.exe", 1, put("time_step = 60", "time_step = 300"), 1, "--- ERROR: Time step too large"),
    "a nest": ("wrf.exe", 1, put("max_dom = 1", "max_dom = 2"), 1, "--- ERROR: max_dom is not 1"),
    "unknown key": ("wrf.exe", 1, put("time_step =", "time_stepp ="), 1, "ERROR reading namelist domains"),
    "unknown key in real": ("real.exe", 1, put("time_step =", "time_stepp ="), 1, "ERROR while reading namelist"),
    "lost slash": ("real.exe", 1, put("/\n&dynamics", "&dynamics"), 1, "ERRORS while reading one or more namelists"),
    "no number": ("wrf.exe", 1, put("e_vert = 12", "e_vert = twelve"), 1, "ERROR reading namelist domains"),
    "other size": ("wrf.exe", 1, put("e_we = 31", "e_we = 41"), 1, "SIZE MISMATCH:  namelist e_we"),
    "other levels": ("real.exe", 1, put("levels = 14", "levels = 15"), 1, "MISMATCH:  namelist num_metgrid_levels"),
    "end too early": ("real.exe", 1, put("seconds = 600", "seconds = 3600"), 1, "Make the end time at least one"),
    "beyond wrfbdy": ("wrf.exe", 1, put("run_minutes = 20", "run_minutes = 25"), 1, "Ran out of valid boundary"),
}


@pytest.mark.parametrize(("name", "ranks", "act", "code", "message"), FAILURES.values(), ids=FAILURES)
def test_it_fails_as_wrf_does(
    copy: Case, name: str, ranks: int, act: Callable[[Case], object], code: int, message: str
) -> None:
    act(copy)
    ended = copy.run(name, ranks)
    text = copy.logs()
    assert (ended.returncode, ended.stdout) == (code, ""), ended.stderr + text
    assert message in text
    assert "SUCCESS" not in text
    assert ("-------------- FATAL CALLED ---------------" in text) == (code == 1)


def test_a_time_step_too_large_for_the_sound_steps_crashes(copy: Case) -> None:
    copy.change(("time_step = 60", "time_step = 120, reasonable_time_step_ratio = 20"), ("sound = 0", "sound = 1"))
    ended = copy.run("wrf.exe", 2)
    assert ended.returncode == 139, ended.stderr
    found = re.search(
        r"^d01 (\S+) +\d+  points exceeded v_cfl = 2 in domain d01 at time \1 hours$", copy.log(), re.MULTILINE
    )
    assert found, copy.log()
    assert re.search(r"Max   W: +\d+ +\d+ +\d+ W: +-?[\d.]+  w-cfl: +[\d.]+  dETA: +[\d.]+$", copy.log(), re.MULTILINE)
    assert "Program received signal SIGSEGV: Segmentation fault - invalid memory reference." in copy.log()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("'wrfout_d", "'nodir/wrfout_d"), f"open_hist_w : error opening nodir/wrfout_d01_{START} for writing.  -1021"),
        (("max_dom", "max_dom"), None),
        (("history_interval = 10", "history_interval = 10, io_form_history = 11"), "for writing.    100"),
    ],
    ids=["no directory", "as it should be", "io_form"],
)
def test_success_without_output(copy: Case, change: tuple[str, str], message: str | None) -> None:
    copy.change(change).ok("wrf.exe")
    assert copy.log().endswith("wrf: SUCCESS COMPLETE WRF\n")
    assert ("error opening" in copy.log()) == (message is not None)
    assert message is None or message in copy.log()
    assert len(copy.names("wrfout*")) == (3 if message is None else 0)


@pytest.mark.parametrize(
    ("arguments", "change", "message"),
    [
        (["--basin"], None, "usage: mkmet"),
        (["--basin", "much"], None, "usage: mkmet"),
        ([], ("time_step =", "time_stepp ="), "mkmet: namelist.input: cannot read &domains, here:  time_stepp = 60"),
        ([], ("end_year = 2024", "end_year = 2023"), "--- ERROR: the end is not after the start"),
        ([], ("start_day = 15", "start_day = 32"), "--- ERROR: start_year to start_second are no date"),
    ],
)
def test_mkmet_refuses(case: Case, arguments: list[str], change: tuple[str, str] | None, message: str) -> None:
    if change:
        case.change(change)
    ended = case.mkmet(*arguments)
    assert ended.returncode in (1, 2)
    assert message in ended.stderr and not case.names("met_em*")


def test_the_map_lies_where_namelist_wps_says(case: Case) -> None:
    (case.work / "namelist.wps").write_text("&geogrid\n ref_lat = 60.5, ref_lon = -100., stand_lon = -95.\n/\n")
    assert case.mkmet().returncode == 0
    lat, lon, sine = values(case.work / f"met_em.d01.{START}.nc", "XLAT_M", "XLONG_M", "SINALPHA")
    assert lat.mean() == pytest.approx(60.5, abs=0.05) and lon.mean() == pytest.approx(-100, abs=0.1)
    # neighbours are dx apart on the map, and the map's north turns with the longitude
    east = np.cos(np.radians(lat[16, 15])) * np.radians(lon[16, 16] - lon[16, 14]) * 6370000
    north = np.radians(lat[16, 16] - lat[16, 14]) * 6370000
    (factor,) = values(case.work / f"met_em.d01.{START}.nc", "MAPFAC_M")
    assert math.hypot(east, north) == pytest.approx(24000 / factor[16, 15], rel=1e-3)
    assert -north / math.hypot(east, north) == pytest.approx(-sine[16, 15], abs=1e-3)


@pytest.mark.slow
def test_sanitizers_find_nothing(case: Case, tmp_path_factory: pytest.TempPathFactory) -> None:
    command = [program("cc"), "-fsanitize=address,undefined", "-x", "c", "-", "-o", case.work / "probe"]
    probe = call(command, input="int main(void) { return 0; }")
    if probe.returncode:
        pytest.skip("this compiler has no sanitizers")
    case.programs = build(tmp_path_factory.mktemp("sanitized"), "SANITIZE=1")
    made = case.mkmet()
    assert made.returncode == 0 and not made.stderr, made.stderr
    # MPI itself leaks; what we leak would stand in the log with a file of ours, and does not decide the exit code
    for name in ("real.exe", "wrf.exe"):
        case.ok(name, 2, ASAN_OPTIONS="detect_leaks=1:exitcode=0")
        assert "runtime error" not in case.logs() and "AddressSanitizer:DEADLYSIGNAL" not in case.logs()
        assert not re.search(rf"(?:{'|'.join(re.escape(f.name) for f in STANDIN.glob('*.c'))}):\d+", case.logs())
