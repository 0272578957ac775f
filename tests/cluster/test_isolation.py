"""Who can connect to whom: the pods of one user, those of another, and the controller's."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator

import pytest

from tests.cluster.conftest import Admin
from tests.cluster.images import CONTROLLER
from tests.conformance.site import Site
from tests.waiting import wait_for

READERS = "hpcbatch-test-readers"
# a rule takes a moment to come into force: whoever may connect gets through in the end
TRY = """import socket, sys, time
end = time.monotonic() + 15
while True:
    try:
        socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=5)
        break
    except OSError:
        if time.monotonic() > end:
            raise
"""


def addresses(admin: Admin, namespace: str, labels: str) -> list[str]:
    """Of the pods that run."""
    options = ["get", "pods", "-l", labels, "-o", "json", "--field-selector", "status.phase=Running"]
    found = json.loads(admin.kubectl("-n", namespace, *options).stdout)["items"]
    return [pod["status"]["podIP"] for pod in found if pod["status"].get("podIP")]


def connects(site: Site, host: str, port: int) -> bool:
    """Whether a job of theirs gets through."""
    program = f"exec 3<>/dev/tcp/{host}/{port}"
    done = site.run(
        "sbatch", "--wait", "-o", "said", "--wrap", f"timeout 8 bash -c {shlex.quote(program)}", check=False
    )
    assert done.returncode in {0, 1, 124}, done.stderr
    return done.returncode == 0


def test_a_users_pods_are_closed_to_other_users(admin: Admin, alice: Site, bob: Site) -> None:
    job = alice.sbatch("-N", "2", "-o", "out", "--wrap", "srun hostname; sleep 600")
    alice.wait_state(job, "R")
    wait_for(
        "both nodes", lambda: alice.written("out").count("\n") == 2, 120
    )  # ssh got through from one pod to the other
    hosts = addresses(admin, alice.namespace, f"volcano.sh/job-name=job-{job}")
    assert len(hosts) == 2
    for host in hosts:
        assert not connects(bob, host, 22)


@pytest.fixture
def readers(admin: Admin) -> Iterator[str]:
    admin.kubectl("create", "namespace", READERS)
    yield READERS
    admin.kubectl("delete", "namespace", READERS)


def test_metrics_are_for_those_who_may_read_them(admin: Admin, bob: Site, readers: str) -> None:
    controller = addresses(admin, "hpcbatch-system", "app.kubernetes.io/component=controller")[0]
    assert not connects(bob, controller, 8080)

    def reads(name: str) -> str:
        container = {"name": "c", "image": CONTROLLER, "command": ["python3", "-c", TRY, controller, "8080"]}
        spec = {"restartPolicy": "Never", "containers": [container]}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}
        admin.kubectl("-n", readers, "create", "-f", "-", stdin=json.dumps(pod))
        phase = ("-n", readers, "get", "pod", name, "-o", "jsonpath={.status.phase}")
        return wait_for(
            "its end", lambda: (said := admin.kubectl(*phase).stdout) in {"Succeeded", "Failed"} and said, 120
        )

    assert reads("before") == "Failed"
    admin.kubectl("label", "namespace", readers, "hpcbatch.io/metrics=read")
    assert reads("after") == "Succeeded"
