"""MPI's settings in the jobs of an engine whose nodes have more CPUs than this machine, and of one with all."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hpcbatch.engine.agent.oversubscribed import YIELDING
from tests.conformance.rigs import reached
from tests.conformance.site import BIN, Site, login_environment
from tests.waiting import wait_for

NAMES = "|".join(YIELDING)
SHOW = f"env | grep -E '^({NAMES})=' | sort"
VOLCANO_JOB = """\
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: bare}
spec:
  tasks:
    - name: one
      replicas: 1
      template:
        spec:
          restartPolicy: Never
          containers:
            - name: main
              image: host
              command: [sh, -c, env]
              env: [{name: OMPI_MCA_mpi_yield_when_idle, value: mine}]
"""


@contextmanager
def engine(directory: Path, *, nodes: int, cpus: int) -> Iterator[Site]:
    env = login_environment(directory / "state")
    up = [str(BIN / "hpcbatch"), "up", "--nodes", str(nodes), "--cpus", str(cpus)]
    subprocess.run(up, env=env, check=True, timeout=60)
    try:
        with reached(env) as rig:
            yield rig.site(directory)
    finally:
        subprocess.run([str(BIN / "hpcbatch"), "down"], env=env, check=True, timeout=60)


@pytest.fixture(scope="module")
def oversubscribed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with engine(tmp_path_factory.mktemp("more"), nodes=2, cpus=len(os.sched_getaffinity(0))) as site:
        yield site


def variables(text: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in text.split())


def shown(site: Site, job: str) -> dict[str, str]:
    """What a job of SHOW has printed."""
    assert site.wait_end(job)["Exit_status"] == 0
    return variables(site.read(f"{job}.out"))


def test_ranks_yield_on_every_host(oversubscribed: Site) -> None:
    site = oversubscribed
    loop = f'for host in $(scontrol show hostnames); do ssh $host "{SHOW}" >$host; done'
    text = f"#!/bin/sh\n#SBATCH -N 2 -o %j.out\n{loop}\n"
    job = site.sbatch(stdin=text)
    assert site.wait_end(job)["Exit_status"] == 0, site.read(f"{job}.out")
    for host in (f"job-{job}-mpimaster-0", f"job-{job}-mpiworker-0"):
        assert variables(site.read(host)) == YIELDING


def test_the_user_s_value_wins(oversubscribed: Site) -> None:
    site = oversubscribed
    mine = dict.fromkeys(YIELDING, "mine")
    listed = ",".join(f"{name}=mine" for name in YIELDING)
    from_qsub = site.qsub("-v", listed, "-j", "oe", "-o", "pbs.out", stdin=f"{SHOW}\n")
    from_sbatch = site.sbatch("-o", "%j.out", "--wrap", SHOW, env=mine)
    assert shown(site, from_sbatch) == mine
    site.wait_end(from_qsub)
    assert variables(site.read("pbs.out")) == mine


def test_volcano_jobs_written_by_hand(oversubscribed: Site) -> None:
    site = oversubscribed
    site.kubectl("apply", "-f", site.script("bare.yaml", VOLCANO_JOB))

    def is_over() -> bool:
        pod = site.kubectl("get", "pod", "bare-one-0", "-o", "jsonpath={.status.phase}", check=False)
        return pod.stdout == "Succeeded"

    wait_for("the end of the pod", is_over, 60)
    text = site.kubectl("logs", "bare-one-0").stdout
    assert "OMPI_MCA_mpi_yield_when_idle=mine" in text.splitlines()
    others = {name: value for name, value in YIELDING.items() if name != "OMPI_MCA_mpi_yield_when_idle"}
    assert [f"{name}={value}" for name, value in others.items() if f"{name}={value}" not in text.splitlines()] == []


def test_nothing_is_set_where_each_node_s_cpu_is_there(tmp_path: Path) -> None:
    with engine(tmp_path, nodes=1, cpus=1) as site:
        assert shown(site, site.sbatch("-o", "%j.out", "--wrap", f"{SHOW} || :")) == {}
