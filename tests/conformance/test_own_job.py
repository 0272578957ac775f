"""What a script requests for its own job where the commands know no cluster, as in the pods of a real one."""

from __future__ import annotations

import pytest

from tests.conformance.site import Site
from tests.waiting import wait_for

ALONE = "export HPCBATCH_STATE_DIR=/nowhere HOME=/nowhere; unset KUBECONFIG\n"


def submit(site: Site, script: str, *options: str) -> str:
    return site.sbatch("-o", "out", *options, site.script("job.sh", f"#!/bin/sh\n{ALONE}{script}\n"))


def test_it_is_queued_again(site: Site) -> None:
    """As the programs do that save their state at a signal before the limit."""
    job = submit(
        site,
        'echo run ${SLURM_RESTART_COUNT:-0} $(hostname) >>runs; [ -z "$SLURM_RESTART_COUNT" ] || exit 0\n'
        "trap 'scontrol requeue $SLURM_JOB_ID; echo asked $?' USR1\nkill -USR1 $$\nsrun sleep 100",
        "-N2",
        "--open-mode=append",
    )
    site.start_again_now(job)
    site.wait_end(job)
    assert [line.split()[1] for line in site.read("runs").splitlines()] == ["0", "1"]
    out = site.read("out")
    assert "asked 0\n" in out and "DUE TO JOB REQUEUE ***" in out, out
    shown = site.run("sacct", "-X", "-n", "-P", "-j", job, "-D", "-o", "state").stdout.split()
    assert shown == ["REQUEUED", "COMPLETED"]


@pytest.mark.parametrize("command", ["scancel", "scontrol requeue"])
def test_others_are_not_reached(site: Site, command: str) -> None:
    job = submit(site, f"{command} 999999; echo $?")
    site.wait_end(job)
    said = site.read("out").splitlines()
    assert said[-1] == "1"
    name = command.partition(" ")[0]
    assert said[0].startswith(f"{name}: hpcbatch: in a job of this cluster only the job itself can be named"), said


def test_one_that_may_not_run_again(site: Site) -> None:
    job = submit(site, "scontrol requeue $SLURM_JOB_ID; echo $?", "--no-requeue")
    site.wait_end(job)
    assert site.read("out") == f"Requested operation is presently disabled for job {job}\n1\n"


def test_it_is_cancelled(site: Site) -> None:
    job = submit(site, "scancel $SLURM_JOB_ID; echo $?; sleep 100")
    site.wait_end(job)
    state = site.run("sacct", "-X", "-n", "-P", "-j", job, "-o", "state").stdout
    assert state.startswith("CANCELLED by "), state
    assert " CANCELLED AT " in site.read("out")


def test_its_steps_are_ended_and_signalled(site: Site) -> None:
    job = submit(
        site,
        "srun -n1 --mpi=none sh -c 'trap \"echo got; exit 0\" USR1; : >on; while :; do sleep 0.1; done' &\n"
        "until [ -e on ]; do sleep 0.1; done; scancel -s USR1 $SLURM_JOB_ID.0; wait\n"
        "srun -n1 --mpi=none sleep 100 & until [ -e /hpcbatch/run/job/tasks.1.0 ]; do sleep 0.1; done\n"
        "scancel $SLURM_JOB_ID.1; wait; echo done",
    )
    site.wait_end(job)
    lines = site.read("out").splitlines()  # a shell may say first that its sleep had the signal too
    assert "got" in lines[:2] and lines[-1] == "done", lines
    states = site.run("sacct", "-n", "-P", "-j", f"{job}.0,{job}.1", "-o", "state").stdout.splitlines()
    assert states[0] == "COMPLETED" and states[1].startswith("CANCELLED"), states


def test_qdel(site: Site) -> None:
    script = site.script("job.sh", f"#!/bin/sh\n{ALONE}qdel 9 2>&1; qdel $PBS_JOBID; sleep 100\n")
    job = site.qsub("-o", "out", "-j", "oe", "-v", "PATH", script)
    record = site.wait_end(job)
    assert record["substate"] == 91, record
    wait_for("its output", lambda: "only the job itself can be named, not 9:" in site.written("out"))
