"""examples/wrf: qsub and sbatch take the scripts, the namelists fit each other; the program of the maps."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from hpcbatch.wrf.namelist import parse

EXAMPLES = Path(__file__).parents[2] / "examples/wrf"
BIN = Path(sys.executable).parent
SCRIPTS = sorted([*EXAMPLES.glob("pbs/*.pbs"), *EXAMPLES.glob("slurm/*.slurm")])
PODS = {"wps": 3, "real": 3, "wrf": 3, "all": 3, "post": 1, "ensemble": 1, "restart": 3}


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


# the program that the jobs of maps run


@pytest.fixture
def program(tmp_path: Path) -> Path:
    pytest.importorskip("netCDF4", reason="netCDF4 is not installed (pip install 'hpcbatch[wrf]')")
    pytest.importorskip("matplotlib", reason="matplotlib is not installed (pip install 'hpcbatch[wrf]')")
    subprocess.run([BIN / "hpcbatch", "wrf", "maps", "--pack", "wrfmaps.pyz"], cwd=tmp_path, check=True)
    return tmp_path / "wrfmaps.pyz"


def run(program: Path, *argv: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(program), *argv]
    return subprocess.run(command, cwd=program.parent, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_the_packed_program_draws(program: Path) -> None:
    from tests.unit.maps.synthetic import PROJECTIONS, write

    write(program.parent / "wrfout_d01_a", PROJECTIONS["lat-lon"], hours=(0, 3))
    done = run(program, "--only", "slp", "--at", "-40,-5", "wrfout_d01_a")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "wrfmaps.pyz: 40°S 5°W is outside all domains of the files\n"
    done = run(program, "-o", "new/maps", "--only", "slp", "--at", "A:40,-5", "wrfout_d01_a")
    assert done.returncode == 0, done.stderr
    times = [f"slp_d01_2024-01-15_0{hour}0000.png" for hour in (0, 3)]
    names = [*times, "meteogram_A_d01.png", "slp_d01.gif", "forecast.html"]
    assert done.stdout.split() == [f"new/maps/{name}" for name in names]
    assert all((program.parent / "new/maps" / name).stat().st_size > 1000 for name in names)


def test_the_packed_program_needs_no_hpcbatch(program: Path) -> None:
    """Its modules are its own, whatever is installed."""
    code = "import sys; sys.path.insert(0, sys.argv[1]); import hpcbatch.maps.main as main; print(main.__file__)"
    done = subprocess.run([sys.executable, "-c", code, program], capture_output=True, text=True, check=True)
    assert done.stdout.startswith(str(program))


@pytest.mark.slow
def test_what_cannot_be_drawn_is_one_line(program: Path) -> None:
    from tests.unit.maps.synthetic import write

    netcdf = pytest.importorskip("netCDF4")
    folder = program.parent
    (folder / "text").write_text("no netCDF")
    netcdf.Dataset(folder / "empty", "w").close()
    write(folder / "none", hours=())
    write(folder / "bare", without=("QVAPOR",))
    told = {
        "absent": "No such file or directory",
        "text": "NetCDF: Unknown file format",
        "empty": "no time in it",
        "none": "no time in it",
        "bare": "QVAPOR not found",
    }
    for name, text in told.items():
        done = run(program, name)
        assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (1, "", 1), done.stderr
        assert done.stderr.startswith(f"wrfmaps.pyz: {name}: ")
        assert text in done.stderr
