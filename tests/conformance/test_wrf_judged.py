"""Jobs in which WRF failed by its own log: they fail, their record says why, and what waits for them does not run."""

from __future__ import annotations

import re

import pytest

from tests.conformance.site import Site
from tests.unit.wrf.cases import NAMELIST
from tests.unit.wrf.logs import CFL, END, FIRST_FRAME, HEAD, NOT_OPENED, REAL_HEAD, SEGV, STEPS, fatal

WRF_EXE = """\
#!/bin/sh
# writes what wrf.exe would, in this order: a log with the host of rank 0 on top
sed "s/hostname: .*/hostname: $(hostname)/" "${1:-LOG}" >rsl.error.0000
"""
NO_WRFBDY = HEAD + FIRST_FRAME + fatal(" med_latbound_in: error opening wrfbdy_d01 for reading. IERR =        -1021")
WHY = "med_latbound_in: error opening wrfbdy_d01 for reading. IERR = -1021"


def prepare(site: Site, log: str) -> None:
    for name, text in {"wrf": WRF_EXE, "LOG": log, "namelist.input": NAMELIST}.items():
        site.script(name, text)


RUN = "cp wrf wrf.exe && chmod 755 wrf.exe && ./wrf.exe\n"


def sacct(site: Site, job: str, fields: str) -> str:
    return site.run("sacct", "-n", "-P", "-X", "-j", job, "-o", fields).stdout.strip()


def test_pbs(site: Site) -> None:
    """With exit code 0, since the script goes on after WRF."""
    prepare(site, NO_WRFBDY)
    job = site.qsub("-h", "-N", "wrf", stdin=f"cd $PBS_O_WORKDIR\n{RUN}echo done\n")
    after = {
        kind: site.qsub("-N", kind, "-j", "oe", "-W", f"depend={kind}:{job}", stdin="true\n")
        for kind in ("afterok", "afternotok")
    }
    site.run("qrls", job)
    ended = site.wait_end(job)
    assert (ended["job_state"], ended["Exit_status"]) == ("F", 1)
    assert re.search(f" and failed: wrf.exe in /.*{site.work.name}: {re.escape(WHY)}$", ended["comment"])
    first, second = site.read(f"wrf.e{job}").splitlines()
    assert first == f"hpcbatch: {ended['comment'].partition(' and failed: ')[2]}"
    assert "the script ended with 0, the job ends with 1" in second
    assert site.read(f"wrf.o{job}") == "done\n"
    assert site.wait_end(after["afternotok"])["Exit_status"] == 0
    never = site.wait_end(after["afterok"])
    assert "Exit_status" not in never
    assert WHY in site.run("hpcbatch", "wrf", "progress", job, check=False).stdout


@pytest.mark.parametrize(
    ("log", "why"),
    [
        (NOT_OPENED, "SUCCESS COMPLETE WRF, but: error opening nodir/wrfout_d01_2024-01-15_12:00:00 for writing"),
        (HEAD + STEPS + END, "SUCCESS COMPLETE WRF, but it wrote no wrfout"),
        (CFL + SEGV, "782 points exceeded v_cfl = 2"),
    ],
    ids=["not opened", "no wrfout", "cfl"],
)
def test_slurm(site: Site, log: str, why: str) -> None:
    prepare(site, log)
    job = site.sbatch("-J", "wrf", "-o", "out.txt", stdin=f"#!/bin/sh\n{RUN}true\n")
    site.wait_end(job)
    assert sacct(site, job, "State,ExitCode") == "FAILED|1:0"
    told = sacct(site, job, "SystemComment")
    assert re.match(f"wrf.exe in /.*{site.work.name}: ", told)
    assert why in told
    record = site.run("scontrol", "show", "job", job).stdout
    assert "JobState=FAILED Reason=NonZeroExitCode" in record
    assert f"SystemComment={told}" in record
    assert site.read("out.txt").splitlines()[0] == f"hpcbatch: {told}"


@pytest.mark.parametrize("dialect", ["pbs", "slurm"])
def test_a_good_run_whose_log_breaks_off(site: Site, dialect: str) -> None:
    """As rsl.error.0000 does with sppt=1, while rsl.out.0000 is whole."""
    prepare(site, HEAD + FIRST_FRAME + STEPS)
    site.script("GOOD", HEAD + FIRST_FRAME + STEPS + END)
    body = f'{RUN}sed "s/node-1/$(hostname)/" GOOD >rsl.out.0000\ntouch wrfout_d01_2024-01-15_12:00:00\n'
    if dialect == "pbs":
        job = site.qsub("-N", "wrf", "-j", "oe", stdin=f"cd $PBS_O_WORKDIR\n{body}")
        assert site.wait_end(job)["Exit_status"] == 0
    else:
        job = site.sbatch("-J", "wrf", "-o", "/dev/null", stdin=f"#!/bin/sh\n{body}")
        site.wait_end(job)
        assert sacct(site, job, "State,ExitCode,SystemComment") == "COMPLETED|0:0|"
    assert "success: " in site.run("hpcbatch", "wrf", "progress", job).stdout


def test_a_rank_that_was_killed(site: Site) -> None:
    """The launcher alone knows of it."""
    prepare(site, HEAD + FIRST_FRAME + STEPS)
    said = "prterun noticed that process rank 3 with PID 77 on node n exited on\nsignal 9 (Killed)."
    job = site.qsub("-N", "wrf", stdin=f"cd $PBS_O_WORKDIR\n{RUN}echo '{said}' >&2\nexit 137\n")
    ended = site.wait_end(job)
    assert ended["Exit_status"] == 137
    words = "SIGKILL on rank 3, probably out of memory, stopped after 2024-01-15_12:04:00"
    assert ended["comment"].endswith(f"{site.work.name}: {words}")
    assert words in site.run("hpcbatch", "wrf", "progress", job, check=False).stdout


def test_real_that_failed_comes_before_wrf(site: Site) -> None:
    prepare(site, REAL_HEAD + fatal("error opening met_em.d01.2024-01-15_13:00:00.nc for input"))
    site.script("NEXT", HEAD + fatal(" program wrf: error opening wrfinput_d01 for reading ierr=       -1021"))
    body = "cp wrf real.exe; cp wrf wrf.exe; chmod 755 *.exe\n./real.exe; sleep 3\n./wrf.exe NEXT\n"
    job = site.sbatch("-J", "wrf", "-o", "out.txt", stdin=f"#!/bin/sh\n{body}")
    site.wait_end(job)
    told = sacct(site, job, "SystemComment")
    assert re.fullmatch(f"real.exe in /.*{site.work.name}: error opening met_em.d01.*13:00:00.nc for input", told)
    first, second, _ = site.read("out.txt").splitlines()
    assert first == f"hpcbatch: {told}"
    assert "wrf.exe in " in second
    assert "program wrf: error opening wrfinput_d01" in second


def test_members_of_an_array_are_judged_each_in_its_directory(site: Site) -> None:
    prepare(site, NO_WRFBDY)
    site.script("GOOD", HEAD + FIRST_FRAME + STEPS + END)
    body = (
        "#!/bin/sh\nmkdir m$SLURM_ARRAY_TASK_ID; cd m$SLURM_ARRAY_TASK_ID; cp ../wrf wrf.exe; chmod 755 wrf.exe\n"
        "[ $SLURM_ARRAY_TASK_ID = 1 ] && log=GOOD || log=LOG\n./wrf.exe ../$log\n"
        # the runner looks once a second where a script is
        "sleep 4\n"
    )
    job = site.sbatch("-J", "ensemble", "-a", "1-2", "-o", "/dev/null", stdin=body)
    for index in (1, 2):
        site.wait_end(f"{job}[{index}]")
    assert sacct(site, f"{job}_1", "State,SystemComment") == "COMPLETED|"
    told = sacct(site, f"{job}_2", "State,SystemComment")
    assert re.fullmatch(f"FAILED\\|wrf.exe in /.*{site.work.name}/m2: {re.escape(WHY)}", told)


def test_what_is_left_alone(site: Site) -> None:
    """The log of another job in the same directory, a good run, and what its user wants left alone."""
    prepare(site, HEAD + STEPS)
    site.script("GOOD", HEAD + FIRST_FRAME + STEPS + END)
    cd = "cd $PBS_O_WORKDIR\n"
    bodies = {
        "other": f"{cd}cp LOG rsl.error.0000\n",
        "good": f"{cd}{RUN.strip()} GOOD; rm -f wrfout*\n",
        "off": f"#PBS -v HPCBATCH_JUDGE_WRF=no\n{cd}{RUN}",
    }
    for name, body in bodies.items():
        ended = site.wait_end(site.qsub("-N", name, "-j", "oe", stdin=body))
        assert (name, ended["Exit_status"]) == (name, 0)
        assert ended["comment"].endswith(" and finished")
