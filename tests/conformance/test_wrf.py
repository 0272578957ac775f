"""`hpcbatch wrf progress` follows a job that writes the log of a WRF run, in both dialects, and says how it ended."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.site import Site
from tests.unit.wrf.cases import NAMELIST
from tests.unit.wrf.logs import END, FIRST_FRAME, HEAD, REAL, STEPS, fatal
from tests.waiting import wait_for

FRAME = "wrfout_d01_2024-01-15_12:00:00"
OLD = HEAD + fatal("of an earlier run")
GO = "i=0; while [ ! -e go ] && [ $i -lt 600 ]; do sleep 0.1; i=$((i+1)); done"
"""The job goes on when the test has seen enough, or after a minute."""


def prepare(site: Site) -> None:
    parts = {"real": REAL, "head": HEAD + FIRST_FRAME + STEPS, "end": END, "fatal": fatal(" error opening wrfbdy_d01")}
    for name, text in parts.items():
        site.script(name, text)
    site.script("namelist.input", NAMELIST)
    old, owner, an_hour_ago = site.script("rsl.error.0000", OLD), site.work.stat(), time.time() - 3600
    os.chown(old, owner.st_uid, owner.st_gid)  # as if an earlier job had left it
    os.utime(old, (an_hour_ago, an_hour_ago))


def submit(site: Site, dialect: str, body: str) -> str:
    if dialect == "pbs":
        return site.qsub("-N", "wrf", "-j", "oe", stdin=f"cd $PBS_O_WORKDIR\n{body}\n")
    return site.sbatch("-J", "wrf", "-o", "/dev/null", stdin=f"#!/bin/sh\n{body}\n")


def shown_id(site: Site, dialect: str, job: str) -> str:
    return f"{job}.{site.server}" if dialect == "pbs" else job


class Follower:
    """`hpcbatch wrf progress --json` in the background."""

    def __init__(self, site: Site, job: str, out: Path) -> None:
        self._out = out
        self._file = out.open("w")
        argv = site.command("hpcbatch", "wrf", "progress", job, "--json")
        self._process = subprocess.Popen(argv, cwd=site.work, env=site.env, stdout=self._file, stderr=subprocess.STDOUT)

    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self._out.read_text().splitlines(keepends=True) if line.endswith("\n")]

    def end(self) -> tuple[int, dict[str, Any]]:
        code = self._process.wait(timeout=90)
        self._file.close()
        return code, self.lines()[-1]


@pytest.mark.parametrize("dialect", ["pbs", "slurm"])
def test_a_run_is_followed_to_its_success(site: Site, tmp_path: Path, dialect: str) -> None:
    prepare(site)
    job = submit(
        site,
        dialect,
        f"cat real >rsl.error.0000\ncat head >rsl.error.0000; {GO}\ntouch {FRAME}; cat end >>rsl.error.0000",
    )
    follower = Follower(site, shown_id(site, dialect, job), tmp_path / "out")
    try:
        wait_for("four steps", lambda: any(line.get("percent") == 6.67 for line in follower.lines()), 60)
        running = [line for line in follower.lines() if line.get("percent") == 6.67][-1]
        assert (running["program"], running["time"]) == ("wrf", "2024-01-15_12:04:00")
        assert running["domains"][0]["step_median_s"] == 0.2
        once = site.run("hpcbatch", "wrf", "progress", job, "--once")
        assert "wrf.exe    7 %" in once.stdout
    finally:
        site.script("go", "")
    code, last = follower.end()
    assert (code, last["success"], last["percent"]) == (0, True, 100.0)
    assert "SUCCESS COMPLETE WRF" in last["message"]
    assert all("earlier" not in str(line.get("message")) for line in follower.lines())


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("cat head fatal >rsl.error.0000; exit 1", "failed (exit code 1): error opening wrfbdy_d01"),
        ("cat head >rsl.error.0000", "ended with 0, but: no SUCCESS line, stopped after 2024-01-15_12:04:00"),
        (
            "cat head end >rsl.error.0000",
            f"ended with 0, but: d01 2024-01-15_13:00:00 wrf: SUCCESS COMPLETE WRF, but there is no {FRAME}",
        ),
        (
            f"cat head end >rsl.error.0000; touch {FRAME}; exit 3",
            "failed (exit code 3): d01 2024-01-15_13:00:00 wrf: SUCCESS",
        ),
        ("true", "neither real.exe nor wrf.exe has written a rsl.error.0000"),
    ],
    ids=["fatal", "cut off", "no wrfout", "script failed", "no log"],
)
def test_a_run_that_failed(site: Site, body: str, message: str) -> None:
    prepare(site)
    job = submit(site, "pbs", body)
    done = site.run("hpcbatch", "wrf", "progress", job, check=False)
    assert (done.returncode, done.stderr) == (1, "")
    last = done.stdout.splitlines()[-1]
    assert last.startswith("failed: job ")
    assert message in last


def test_progress_of_all_jobs_and_in_columns(site: Site) -> None:
    """Runs in directories of their own below that of submission, which two jobs share with one that runs no WRF."""
    prepare(site)
    run = 'cp ../namelist.input .; sed "s/node-1/$(hostname)/" ../head >rsl.error.0000; ' + GO.replace(
        " go ", " ../go "
    )
    first = site.sbatch("-J", "first", "-o", "/dev/null", "--wrap", f"mkdir a; cd a; {run}")
    second = site.qsub("-N", "second", "-j", "oe", stdin=f"cd $PBS_O_WORKDIR; mkdir b; cd b; {run}\n")
    other = site.sbatch("-J", "other", "-o", "/dev/null", "--wrap", GO)
    columns = "jobid:|,wrfprogress:|,WRFTime:|,wrfstep:|,wrfleft:"

    def shown() -> list[str]:
        return sorted(site.run("squeue", "-h", "-n", "first,second,other", "-O", columns).stdout.split())

    left = "00:00:55"
    try:
        wait_for("both runs", lambda: ["|7%|" in line for line in shown()].count(True) == 2, 60)
        wait_for("the third job", lambda: len(shown()) == 3)
        assert shown() == sorted(
            [
                f"{first}|7%|2024-01-15_12:04:00|0.3|{left}",
                f"{second}|7%|2024-01-15_12:04:00|0.3|{left}",
                f"{other}|N/A|N/A|N/A|N/A",
            ]
        )
        listed = [line.split() for line in site.run("hpcbatch", "wrf", "progress").stdout.splitlines()]
        assert listed[0] == ["JOBID", "NAME", "PROGRAM", "DONE", "TIME", "S/STEP", "LEFT"]
        values = ["wrf.exe", "7%", "2024-01-15_12:04:00", "0.3", left]
        assert [first, "first", *values] in listed
        assert [f"{second}.{site.server}", "second", *values] in listed
        assert not any("other" in line for line in listed)
        as_json = [json.loads(line) for line in site.run("hpcbatch", "wrf", "progress", "--json").stdout.splitlines()]
        assert {"name": "first", "percent": 6.67, "program": "wrf"}.items() <= as_json[0].items()
        once = site.run("hpcbatch", "wrf", "progress", first, "--once")
        assert "wrf.exe    7 %" in once.stdout
    finally:
        site.script("go", "")
    for job in (first, second, other):
        site.wait_end(job)
    assert site.run("hpcbatch", "wrf", "progress").stdout.startswith("no WRF run was found in ")


def test_a_waiting_job(site: Site) -> None:
    prepare(site)
    job = site.qsub("-h", "-N", "wrf", stdin="true\n")
    done = site.run("hpcbatch", "wrf", "progress", job, "--once")
    assert f"job {job} held" in done.stdout
    assert "earlier" not in done.stdout
    site.run("qdel", job)
    site.wait_end(job)
    assert site.run("hpcbatch", "wrf", "progress", job, check=False).returncode == 1


def test_what_there_is_not(site: Site) -> None:
    for name in ("999999", "abc"):
        done = site.run("hpcbatch", "wrf", "progress", name, check=False)
        assert (done.returncode != 0, done.stdout) == (True, "")
        assert name in done.stderr
        assert len(done.stderr.splitlines()) == 1
