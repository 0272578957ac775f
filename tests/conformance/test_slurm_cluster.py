"""What Slurm's commands say of the cluster and of its parts that are neither jobs nor nodes."""

from __future__ import annotations

import re

import pytest

from tests.conformance.site import Site


def test_config(site: Site) -> None:
    text = site.run("scontrol", "show", "config").stdout
    values = dict(re.findall(r"^(\S+) += ?(.*)$", text, re.MULTILINE))
    assert text.startswith("Configuration data as of 2")
    assert values["ClusterName"] == site.server
    assert f"slurm-wlm {values['SLURM_VERSION']}\n" == site.run("sbatch", "--version").stdout
    assert re.fullmatch(r"\d+ sec", values["KillWait"])
    assert values["MaxNodeCount"] == str(len(site.run("sinfo", "-h", "-N", "-o", "%n").stdout.split()))
    assert text.endswith(f"\n\nSlurmctld(primary) at {site.server} is UP\n")


def test_steps(site: Site) -> None:
    job = site.sbatch("-N", "2", "-o", "/dev/null", "--wrap", "sleep 100")
    site.wait_state(job, "R")
    shown = site.run("scontrol", "-o", "show", "step", job).stdout.splitlines()
    assert [line.split()[0] for line in shown] == [f"StepId={job}.batch", f"StepId={job}.extern"]
    assert " Nodes=2 CPUs=0 Tasks=2 Name=extern " in shown[1]
    assert shown[:1] == site.run("scontrol", "-o", "show", "step", f"{job}.batch").stdout.splitlines()
    held = site.sbatch("-H", "-o", "/dev/null", "--wrap", "true")
    for name, text in (
        (held, f"Job step {held}. not found\n"),
        (f"{job}.7", f"Job step {job}.7 not found\n"),
        ("999999", "slurm_get_job_steps error: Invalid job id specified\n"),
    ):
        done = site.run("scontrol", "show", "step", name, check=False)
        assert (done.returncode, done.stdout, done.stderr) == (1, "", text)


NOTHING = [
    ("reservation", 0, "No reservations in the system\n", ""),
    ("reservation=x", 1, "", "Reservation x not found\n"),
    ("topology", 0, "", "scontrol: error: No topology information available\n"),
    ("daemons", 0, "\n", ""),
    ("federation", 0, "", ""),
    ("burstbuffer", 0, "", ""),
    ("frontend", 0, "No nodes in the system\n", ""),
    ("licenses=nosuch", 0, "", ""),
    ("foo", 1, "", "invalid entity:foo for keyword:show \n"),
]


@pytest.mark.parametrize(("entity", "code", "stdout", "stderr"), NOTHING, ids=[row[0] for row in NOTHING])
def test_what_there_is_not(site: Site, entity: str, code: int, stdout: str, stderr: str) -> None:
    done = site.run("scontrol", "show", entity, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (code, stdout, stderr)
