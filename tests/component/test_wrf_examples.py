"""examples/wrf: qsub and sbatch take the scripts, the namelists fit each other, plot.py draws what is in a file."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

from hpcbatch.wrf.namelist import parse

EXAMPLES = Path(__file__).parents[2] / "examples/wrf"
BIN = Path(sys.executable).parent
SCRIPTS = sorted([*EXAMPLES.glob("pbs/*.pbs"), *EXAMPLES.glob("slurm/*.slurm")])
PODS = {"wps": 3, "real": 3, "wrf": 3, "all": 3, "post": 1, "ensemble": 1, "restart": 3}
START = "2024-01-15_00:00:00"


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_a_script_is_taken(script: Path) -> None:
    subprocess.run(["bash", "-n", script], check=True)
    command = "qsub" if script.suffix == ".pbs" else "sbatch"
    done = subprocess.run([BIN / command, "--dry-run", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    (job,) = [each for each in yaml.safe_load_all(done.stdout) if each["apiVersion"].startswith("batch.volcano.sh")]
    assert job["spec"]["minAvailable"] == PODS[script.stem]


def test_both_dialects_do_the_same() -> None:
    """The lines that are no directive differ in the launcher, the submit command and the directory's variable only."""

    def commands(script: Path) -> list[str]:
        lines = [line for line in script.read_text().splitlines() if not re.match(r"#(PBS|SBATCH)|cd \$PBS_O_W", line)]
        text = "\n".join(line for line in lines if line)
        for pbs, slurm in (("mpirun ", "srun "), ("qsub ", "sbatch "), (".pbs", ".slurm")):
            text = text.replace(pbs, slurm)
        return text.replace("PBS_ARRAY_INDEX", "SLURM_ARRAY_TASK_ID").splitlines()

    assert {path.stem for path in SCRIPTS} == PODS.keys()
    for name in PODS:
        assert commands(EXAMPLES / f"pbs/{name}.pbs") == commands(EXAMPLES / f"slurm/{name}.slurm")


def test_a_demo_writes_no_escape_sequences_into_a_pipe() -> None:
    lines = (EXAMPLES.parent / "mpi" / "demo_start.sh").read_text().splitlines()
    script = [*(line for line in lines if line.startswith(("if [ -t 1 ]", "say() "))), "say a  b"]
    done = subprocess.run(["sh", "-euc", "\n".join(script)], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("\n$ a b\n", "")


def test_namelists_fit_each_other() -> None:
    def values(name: str) -> dict[str, str]:
        text = (EXAMPLES / name).read_text()
        return {key: value.strip() for key, value in re.findall(r"^ *(\w+) *= *([^,\n]*)", text, re.MULTILINE)}

    wps, model = values("namelist.wps"), values("namelist.input")
    for key in ("max_dom", "interval_seconds", "e_we", "e_sn", "dx", "dy"):
        assert wps[key] == model[key]
    for which in ("start", "end"):
        date = "-".join(model[f"{which}_{unit}"] for unit in ("year", "month", "day"))
        assert wps[f"{which}_date"] == f"'{date}_{model[f'{which}_hour']}:00:00'"
    assert parse((EXAMPLES / "namelist.input").read_text())


# plot.py


@pytest.fixture(scope="module")
def plot() -> ModuleType:
    for name in ("netCDF4", "matplotlib", "PIL"):
        pytest.importorskip(name, reason=f"{name} is not installed (pip install 'hpcbatch[wrf]')")
    spec = importlib.util.spec_from_file_location("wrf_plot", EXAMPLES / "plot.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["wrf_plot"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def wrfout(path: Path, *times: str, form: Any = "NETCDF4", domain: int = 1, **attributes: Any) -> Path:
    """A file as WRF's: 12 × 14 points on a plain of 100 m with a mountain above 500 hPa, 280 K at every height."""
    import netCDF4
    import numpy as np

    levels, rows, columns = 20, 12, 14
    with netCDF4.Dataset(path, "w", format=form) as file:
        sizes = {"Time": None, "DateStrLen": 19, "bottom_top": levels, "south_north": rows, "west_east": columns}
        sizes |= {"bottom_top_stag": levels + 1, "south_north_stag": rows + 1, "west_east_stag": columns + 1}
        for name, size in sizes.items():
            file.createDimension(name, size)
        given = {"TITLE": " OUTPUT FROM WRF V4.7.1 MODEL", "GRID_ID": domain, "DX": 3000.0, "DY": 3000.0}
        file.setncatts({**given, "SIMULATION_START_DATE": START, **attributes})

        def put(name: str, value: Any, *vertical: str, stagger: str = "") -> None:
            row = "south_north_stag" if stagger == "Y" else "south_north"
            column = "west_east_stag" if stagger == "X" else "west_east"
            file.createVariable(name, "f4", ("Time", *vertical, row, column))[: len(times)] = np.asarray(value)

        y, x = np.mgrid[0:rows, 0:columns]
        terrain = np.where((x == 5) & (y == 5), 6000.0, 100.0)
        faces = terrain + (20_000 - terrain) * np.linspace(0, 1, levels + 1)[:, None, None]
        heights = (faces[1:] + faces[:-1]) / 2
        pressure = 1e5 * np.exp(-heights / 8000)  # 500 hPa at 5545 m
        letters = np.array([list(time) for time in times], "S1")
        file.createVariable("Times", "S1", ("Time", "DateStrLen"))[: len(times)] = letters
        put("P", pressure * 0.01, "bottom_top")
        put("PB", pressure * 0.99, "bottom_top")
        put("PH", faces * 0, "bottom_top_stag")
        put("PHB", faces * 9.81, "bottom_top_stag")
        put("T", 280 * (1e5 / pressure) ** (287 / 1004.5) - 300, "bottom_top")  # 280 K everywhere
        put("QVAPOR", np.zeros_like(pressure), "bottom_top")
        put("U", 10, "bottom_top", stagger="X")
        put("V", 0, "bottom_top", stagger="Y")
        put("XLAT", 46 + y * 0.03)
        put("XLONG", 8 + x * 0.04)
        put("LANDMASK", x > 3)
        put("HGT", terrain)
        put("PSFC", 1e5 * np.exp(-terrain / 8000))
        for name, value in {"T2": 280.0, "Q2": 0.003, "U10": 5.0, "V10": 0.0}.items():
            put(name, value)
    return path


def run(directory: Path, *argv: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, EXAMPLES / "plot.py", *argv]
    return subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("form", ["NETCDF3_64BIT_OFFSET", "NETCDF4"])
def test_fields_of_a_known_atmosphere(plot: ModuleType, tmp_path: Path, form: str) -> None:
    import numpy as np

    (frame,) = plot.read(str(wrfout(tmp_path / "wrfout_d01", START, form=form)))
    height = frame.upper["z_dam"]
    assert np.isnan(height[5, 5])  # the mountain is above it
    height[5, 5] = height[0, 0]
    assert height == pytest.approx(554.5, abs=0.5)
    assert np.nanmax(abs(frame.upper["u_ms"] - 10)) < 1e-5
    # 3 g/kg at 280 K and 988 hPa: saturation is 9.92 hPa, 6.31 g/kg
    assert frame.ground["rh_pct"][0, 0] == pytest.approx(47.5, abs=0.3)
    # 100 hPa above the ground 280 K at 955 m, so 285.9 K below the ground: 987.58 hPa exp(9.81 × 100 / 287 / 285.9)
    assert frame.ground["slp_hpa"][0, 0] == pytest.approx(999.46, abs=0.05)
    assert frame.note == "WRF V4.7.1"


def test_humidity_and_levels(plot: ModuleType) -> None:
    import numpy as np

    saturated = 0.622 * 611.2 / (1e5 - 611.2)
    assert plot.relative_humidity(saturated, 273.15, 1e5) == pytest.approx(100)
    assert plot.relative_humidity(saturated / 4, 273.15, 1e5) == pytest.approx(25)
    pressure = np.array([9e4, 6e4, 4e4])[:, None, None]
    field = -np.log(pressure)
    assert plot.at_pressure(field, pressure, 5e4)[0, 0] == pytest.approx(-np.log(5e4))
    assert np.isnan(plot.at_pressure(field, pressure, 9.5e4)).all()
    assert np.isnan(plot.at_pressure(field, pressure, 3e4)).all()
    assert plot.crossings(np.array([0.0, 1, 2]), np.array([-1.0, 1, 3])) == [0.5]
    assert [plot.degrees(value, True) for value in (-10, 0, 190)] == ["10°W", "0°", "170°W"]


@pytest.mark.slow
def test_maps_of_all_times_and_domains(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed (pip install 'hpcbatch[wrf]')")
    from PIL import Image

    wrfout(tmp_path / "wrfout_d01_a", START, "2024-01-15_03:00:00", COMMENT="by the stand-in for WRF")
    wrfout(tmp_path / "wrfout_d02_a", START, domain=2)
    done = run(tmp_path, "-o", "new/maps", "wrfout_d01_a", "wrfout_d02_a")
    assert (done.returncode, done.stderr) == (0, "")
    names = [f"{name}_d01_2024-01-15_0{hour}0000.png" for name in ("500hPa", "ground") for hour in (0, 3)]
    names += [f"{name}_d02_2024-01-15_000000.png" for name in ("500hPa", "ground")]
    names += ["500hPa_d01.gif", "ground_d01.gif"]
    assert sorted(done.stdout.split()) == sorted(f"new/maps/{name}" for name in names)
    maps = tmp_path / "new/maps"
    with Image.open(maps / "500hPa_d01.gif") as film, Image.open(maps / names[0]) as still:
        assert film.n_frames == 2  # type: ignore[attr-defined]
        assert film.size == still.size
    assert run(tmp_path, "--no-gif", "-o", "still", "wrfout_d01_a").returncode == 0
    assert not list((tmp_path / "still").glob("*.gif"))


def test_what_cannot_be_drawn_is_one_line(tmp_path: Path) -> None:
    netcdf = pytest.importorskip("netCDF4")
    (tmp_path / "text").write_text("no netCDF")
    netcdf.Dataset(tmp_path / "empty", "w").close()
    wrfout(tmp_path / "none")
    with netcdf.Dataset(wrfout(tmp_path / "bare", START), "a") as file:
        file.renameVariable("QVAPOR", "OTHER")
    told = {
        "absent": "No such file or directory",
        "text": "NetCDF: Unknown file format",
        "empty": "no time in it",
        "none": "no time in it",
        "bare": "QVAPOR not found",
    }
    for name, text in told.items():
        done = run(tmp_path, name)
        assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (1, "", 1), done.stderr
        assert done.stderr.startswith(f"plot.py: {name}: ")
        assert text in done.stderr
