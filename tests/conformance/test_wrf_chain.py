"""The scripts of examples/wrf, submitted as they are, with the stand-in for WRF on a small grid."""

from __future__ import annotations

import os
import re
import shutil
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from hpcbatch.maps.names import NAMES
from tests.conformance.site import Site
from tests.waiting import wait_for

pytestmark = [pytest.mark.alone, pytest.mark.slow]
EXAMPLES = Path(__file__).parents[2] / "examples/wrf"
SMALL = {
    "end_day": "15",
    "end_hour": "02",
    "interval_seconds": "3600",
    "history_interval": "60",
    "time_step": "60",
    "e_we": "31",
    "e_sn": "34",
    "e_vert": "12",
    "dx": "12000",
    "dy": "12000",
    "num_metgrid_levels": "14",
}
"""Two hours of 2 × 3 patches of ten points."""
FRAMES = [f"wrfout_d01_2024-01-15_0{hour}:00:00" for hour in range(3)]

IMAGE = "localhost/wrf:1"
"""Of the jobs on the real cluster (tests/cluster/wrf); the engine has no images."""


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the stand-in is kept once it is built."""
    return tmp_path_factory.mktemp("standin")


@pytest.fixture
def forecast(site: Site, programs: Path) -> Site:
    """A directory with scripts of both dialects, the namelist and met_em files; $WRF has the stand-in."""
    if site.run("cc", "-E", "-", stdin="#include <netcdf.h>\n", check=False).returncode:
        pytest.skip("netcdf.h is not installed (Debian: libnetcdf-dev)")
    run = site.work / "WRF/run"
    shutil.copytree(EXAMPLES / "standin", site.work / "standin")
    shutil.copytree(programs, run)
    for path in [*(EXAMPLES / "pbs").iterdir(), *(EXAMPLES / "slurm").glob("*.slurm")]:
        shutil.copy(path, site.work)
    shutil.copy(EXAMPLES / "slurm/chain.sh", site.work / "chain-slurm.sh")
    text = (EXAMPLES / "namelist.input").read_text()
    for key, value in SMALL.items():
        text, count = re.subn(rf"^( *{key} *=).*", rf"\1 {value},", text, flags=re.MULTILINE)
        assert count == 1, key
    site.script("namelist.input", text)
    site.run("hpcbatch", "wrf", "maps", "--pack", "wrfmaps.pyz")
    owner = site.work.stat()
    for path in site.work.rglob("*"):
        os.chown(path, owner.st_uid, owner.st_gid)
    site.run("make", "-s", "-C", "standin", f"OUT={run}", limit_s=100)
    shutil.copytree(run, programs, dirs_exist_ok=True)
    site.run(str(run / "mkmet"))
    own = {"WRF": str(run.parent)}
    if os.environ.get("HPCBATCH_RIG") == "cluster":
        own |= {"CONTAINER_IMAGE": IMAGE, "PYXIS_CONTAINER_IMAGE": IMAGE}  # of PBS and of Slurm
        own["OMPI_MCA_mpi_yield_when_idle"] = "1"  # all of that cluster is on one machine
    return replace(site, env={**site.env, **own})


def output(site: Site, job: str) -> str:
    """What a job that has ended wrote."""
    return "".join(path.read_text() for form in (f"*.o{job}", f"*.{job}.out") for path in site.work.glob(form))


def ended_well(site: Site, job: str) -> None:
    record = site.wait_end(job, 150)
    assert record["Exit_status"] == 0, output(site, job)


@pytest.mark.parametrize("dialect", ["pbs", "slurm"])
def test_a_chain_ends_in_maps(forecast: Site, dialect: str) -> None:
    script = "chain.sh" if dialect == "pbs" else "chain-slurm.sh"
    told = forecast.run("sh", script, "real", "wrf", "post").stdout
    jobs = dict(re.findall(r"^(\w+): (\d+)", told, re.MULTILINE))
    assert list(jobs) == ["real", "wrf", "post"]
    assert forecast.state(jobs["post"]) == "H"
    followed = forecast.run("hpcbatch", "wrf", "progress", jobs["real"], check=False, limit_s=200)
    assert followed.returncode == 0, (followed.stdout, followed.stderr, output(forecast, jobs["wrf"]))
    assert "wrf.exe  100 %" in followed.stdout
    ends = [line for line in followed.stdout.splitlines() if line.startswith("success: ")]
    assert ["SUCCESS COMPLETE REAL_EM" in ends[0], "SUCCESS COMPLETE WRF" in ends[1]] == [True, True], ends
    assert ends[2:] == [f"success: job {jobs['post']} (post) ended with 0"]
    for job in jobs.values():
        ended_well(forecast, job)
    hosts = {re.search(r"hostname: (\S+)", path.read_text())[1] for path in forecast.work.glob("rsl.error.*")}  # type: ignore[index]
    assert (len(list(forecast.work.glob("rsl.error.*"))), len(hosts)) == (6, 3)
    maps = sorted(path.name for path in (forecast.work / "maps").iterdir())
    times = [f"2024-01-15_0{hour}0000.png" for hour in range(3)]
    expected = [f"{name}_d01_{time}" for name in NAMES for time in times[name == "rain1h" :]]
    assert maps == sorted([*expected, *(f"{name}_d01.gif" for name in NAMES), "forecast.html"])
    if dialect == "pbs":  # whose own umask is 077
        made = [*forecast.work.glob("rsl.*.????"), *forecast.work.glob("wrfout*"), *(forecast.work / "maps").iterdir()]
        made += [forecast.work / f"{name}.o{job}" for name, job in jobs.items()]
        assert {stat.S_IMODE(path.stat().st_mode) for path in made} == {0o644}


def test_a_step_that_fails_ends_the_chain(forecast: Site) -> None:
    (forecast.work / "met_em.d01.2024-01-15_02:00:00.nc").unlink()
    told = forecast.run("sh", "chain-slurm.sh", "real", "wrf").stdout
    jobs = dict(re.findall(r"^(\w+): (\d+)", told, re.MULTILINE))
    assert forecast.wait_end(jobs["real"], 120)["Exit_status"] != 0
    wait_for(
        "a dependency that can never be met",
        lambda: "DependencyNeverSatisfied" in forecast.run("squeue", "-h", "-j", jobs["wrf"], "-o", "%r").stdout,
    )
    forecast.run("scancel", jobs["wrf"])


@pytest.mark.parametrize("dialect", ["pbs", "slurm"])
def test_a_restart_chain_submits_itself(forecast: Site, dialect: str) -> None:
    forecast.run("qsub", "-W", "block=true", "-l", "select=1:ncpus=2:mpiprocs=2", "real.pbs", limit_s=150)
    env = {"HOURS": "1"}
    job = forecast.qsub("restart.pbs", env=env) if dialect == "pbs" else forecast.sbatch("restart.slurm", env=env)
    ended_well(forecast, job)
    child = re.search(r"^(?:Submitted batch job )?(\d+)(?:\.\S+)?$", output(forecast, job), re.MULTILINE)
    assert child, output(forecast, job)
    ended_well(forecast, child[1])
    text = output(forecast, child[1])
    assert "from 2024-01-15 01:00 to 2024-01-15 02:00 of 2024-01-15 02:00" in text
    assert "the forecast is complete" in text
    assert "RESTART run: opening wrfrst_d01_2024-01-15_01:00:00 for reading" in forecast.read("rsl.error.0000")
    assert sorted(path.name for path in forecast.work.glob("wrfout*")) == FRAMES


def test_parts_that_are_submitted_beforehand(forecast: Site) -> None:
    """Where jobs cannot submit. The last finds nothing left to do."""
    forecast.run("qsub", "-W", "block=true", "real.pbs", limit_s=150)
    argv = ("-v", "RESUBMIT=no,HOURS=1")
    jobs = [forecast.qsub(*argv, "restart.pbs")]
    for _ in range(2):
        jobs.append(forecast.qsub(*argv, "-W", f"depend=afterok:{jobs[-1]}", "restart.pbs"))
    for job in jobs:
        ended_well(forecast, job)
    assert sorted(path.name for path in forecast.work.glob("wrfout*")) == FRAMES
    assert "the forecast is complete" in output(forecast, jobs[1])
    assert output(forecast, jobs[2]) == ""


@pytest.mark.parametrize("dialect", ["pbs", "slurm"])
def test_an_ensemble(forecast: Site, dialect: str) -> None:
    if dialect == "pbs":
        forecast.run("qsub", "-W", "block=true", "ensemble.pbs", limit_s=150)
    else:
        forecast.run("sbatch", "--wait", "ensemble.slurm", limit_s=150)
    for member in (1, 2, 3):
        folder = forecast.work / f"member_{member}"
        assert sorted(path.name for path in folder.glob("wrfout*")) == FRAMES
        assert re.search(rf"nens *= {member},", (folder / "namelist.input").read_text())
