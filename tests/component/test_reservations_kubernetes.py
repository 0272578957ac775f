"""Reservations behind a real Kubernetes API server: the CRD, everybody's rights, the commands, the controller's grants.

One server for the whole module: it takes some seconds to start.
"""

import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.kube_api import KubeApi, free_port, is_there, kube_api, process
from tests.waiting import wait_for

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
CONTROLLER = "system:serviceaccount:hpcbatch-system:hpcbatch-controller"
TOKENS = [
    ("controller-token", CONTROLLER, "system:serviceaccounts,system:serviceaccounts:hpcbatch-system"),
    ("alice-token", "alice", "hpcbatch:users"),
    ("bob-token", "bob", "hpcbatch:users"),
    ("olga-token", "olga", "hpcbatch:users"),
]
SITE = "apiVersion: hpcbatch.io/v1alpha1\nkind: SiteConfiguration\nserverName: here\nimage: img:1\n"
SYSTEM = "hpcbatch-system"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not is_there(), reason="reservations behind Kubernetes are NOT tested: needs `make programs`"),
]


@dataclass
class Site:
    api: KubeApi

    def command(self, token: str, *words: str) -> tuple[int, str]:
        config = json.loads(self.api.kubeconfig(token).read_text())
        config["contexts"][0]["context"]["namespace"] = token.removesuffix("-token")
        path = self.api.directory / f"{token}.own.conf"
        path.write_text(json.dumps(config))
        environment = {"KUBECONFIG": str(path), "TZ": "UTC", "PATH": os.environ["PATH"]}
        done = subprocess.run(
            [BIN / words[0], *words[1:]],
            capture_output=True,
            text=True,
            timeout=60,
            env=environment | {"HOME": str(self.api.directory)},
            check=False,
        )
        return done.returncode, done.stdout + done.stderr


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    directory = tmp_path_factory.mktemp("kube")
    with kube_api(directory, TOKENS) as api:
        install(api)
        health = free_port()
        config = {"KUBECONFIG": str(api.kubeconfig("controller-token")), "HOME": str(directory)}
        words = [f"{key}={value}" for key, value in ({**os.environ, **config}).items()]
        options = ["--no-leader-elect", "--health-port", str(health)]
        with process(directory / "controller.log", "env", *words, BIN / "hpcbatch", "controller", *options):
            try:
                wait_for("the controller", lambda: is_ready(health), 60)
            except AssertionError as error:
                raise AssertionError(f"{error}\n{(directory / 'controller.log').read_text()[-3000:]}") from None
            yield Site(api)


def is_ready(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=5) as answer:
            return bool(answer.read() == b"ok\n")
    except OSError:
        return False


def install(api: KubeApi) -> None:
    deploy = ROOT / "deploy"
    api.kubectl("apply", "-f", deploy / "namespace.yaml")
    crds = [*sorted((deploy / "crd").glob("*.yaml")), *sorted((ROOT / "hpcbatch/engine/registry/crd").glob("*.yaml"))]
    for path in crds:
        api.kubectl("apply", "--server-side", "-f", path)
    api.kubectl("wait", "--for=condition=Established", "crd", "--all")
    for name in ("service-account", "controller-rbac", "user-rbac", "operator-rbac", "viewers", "policies"):
        api.kubectl("apply", "-f", deploy / f"controller/{name}.yaml")
    for user in ("alice", "bob", "olga"):
        api.kubectl("create", "namespace", user)
        api.kubectl("label", "namespace", user, f"hpcbatch.io/user={user}")
        notes = {"user": user, "uid": "1000", "gid": "1000", "home": f"/home/{user}"}
        api.kubectl("annotate", "namespace", user, *(f"hpcbatch.io/{key}={value}" for key, value in notes.items()))
        api.kubectl("-n", user, "create", "rolebinding", "user", "--clusterrole=hpcbatch-user", f"--user={user}")
    api.kubectl("create", "clusterrolebinding", "operator-olga", "--clusterrole=hpcbatch-operator", "--user=olga")
    api.kubectl("-n", SYSTEM, "create", "configmap", "hpcbatch-site", f"--from-literal=site.yaml={SITE}")
    for name in ("n1", "n2"):
        size = {"cpu": "4", "memory": "8Gi", "pods": "20"}
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}
        api.kubectl("create", "-f", "-", stdin=json.dumps(node))
        ready = {"capacity": size, "allocatable": size, "conditions": [{"type": "Ready", "status": "True"}]}
        api.kubectl("patch", "node", name, "--subresource=status", "-p", json.dumps({"status": ready}))
        api.kubectl("taint", "node", name, "node.kubernetes.io/not-ready-")


def reservation(called: str, **spec: object) -> str:
    times = {"start": "2031-01-01T00:00:00Z", "end": "2031-01-01T01:00:00Z"}
    chunks = [{"count": 1, "cpus": 1, "ranks": 1}]
    return json.dumps(
        {
            "apiVersion": "hpcbatch.io/v1alpha1",
            "kind": "Reservation",
            "metadata": {"name": called},
            "spec": {"dialect": "pbs", "chunks": chunks, **times, **spec},
        }
    )


def test_a_user_reserves_and_others_see_it(site: Site) -> None:
    code, said = site.command(
        "alice-token", "pbs_rsub", "-R", "203001010000", "-D", "1:00:00", "-l", "select=2:ncpus=2"
    )
    assert (code, said.split()[1]) == (0, "UNCONFIRMED"), said
    name = said.split()[0]
    wait_for("its grant", lambda: "CO" in site.command("bob-token", "pbs_rstat", "-S")[1].split(), 30)
    code, said = site.command("bob-token", "pbs_rdel", name)
    assert code != 0 and "Unauthorized Request" in said, said
    code, said = site.command("bob-token", "pbs_ralter", "-D", "2:00:00", name)
    assert code != 0 and "Unauthorized Request" in said, said
    assert site.command("alice-token", "pbs_rdel", name)[0] == 0
    wait_for("its end", lambda: site.command("alice-token", "pbs_rstat", "-S")[1] == "", 30)


def test_an_operator_reserves_nodes_for_maintenance(site: Site) -> None:
    words = ["ReservationName=upkeep", "StartTime=2030-06-01T00:00:00", "Duration=60", "Nodes=n1", "Users=root"]
    code, said = site.command("alice-token", "scontrol", "create", "reservation", *words, "Flags=MAINT")
    assert code == 1 and "Invalid user id" in said, said
    code, said = site.command("olga-token", "scontrol", "create", "reservation", *words, "Flags=MAINT")
    assert (code, said) == (0, "Reservation created: upkeep\n")
    _, shown = site.command("alice-token", "scontrol", "show", "reservation")
    assert "ReservationName=upkeep" in shown and "Nodes=n1 " in shown
    code, said = site.command("alice-token", "scontrol", "delete", "ReservationName=upkeep")
    assert code == 1 and "Invalid user id" in said, said
    assert site.command("olga-token", "scontrol", "delete", "ReservationName=upkeep") == (0, "")


def test_an_operator_deletes_anybodys(site: Site) -> None:
    code, said = site.command(
        "bob-token", "pbs_rsub", "-R", "203001020000", "-D", "1:00:00", "-l", "ncpus=1", "-I", "20"
    )
    assert (code, said.split()[-1]) == (0, "CONFIRMED"), said
    assert site.command("olga-token", "pbs_rdel", said.split()[0])[0] == 0


@pytest.mark.parametrize("namespace", ["bob", SYSTEM, "default"])
def test_a_user_reserves_in_no_other_namespace(site: Site, namespace: str) -> None:
    said = site.api.kubectl("create", "-n", namespace, "-f", "-", stdin=reservation("r"), token="alice-token", code=1)
    assert "Forbidden" in said


def test_only_the_controller_writes_a_status(site: Site) -> None:
    site.api.kubectl("create", "-n", "alice", "-f", "-", stdin=reservation("mine"), token="alice-token")
    patch = '-p={"status": {"phase": "Confirmed"}}'
    words = ["patch", "reservation", "mine", "-n", "alice", "--subresource=status", "--type=merge", patch]
    for token in ("alice-token", "olga-token"):
        assert "Forbidden" in site.api.kubectl(*words, token=token, code=1)
    site.api.kubectl("delete", "reservation", "mine", "-n", "alice", token="alice-token")


@pytest.mark.parametrize(
    "spec",
    [
        {"flags": ["MAINT"]},
        {"flags": ["IGNORE_JOBS"]},
        {"nodes": ["n1"], "chunks": []},
        {"dialect": "slurm"},
    ],
)
def test_a_user_who_writes_it_by_hand_gets_no_more_than_pbs_rsub_gives(site: Site, spec: dict[str, object]) -> None:
    site.api.kubectl("create", "-n", "bob", "-f", "-", stdin=reservation("crafted", **spec), token="bob-token")
    show = ["get", "reservation", "crafted", "-n", "bob", "-o", "jsonpath={.status.phase}"]
    wait_for("what the controller says", lambda: site.api.kubectl(*show) == "Denied", 30)
    site.api.kubectl("delete", "reservation", "crafted", "-n", "bob", token="bob-token")


@pytest.mark.parametrize("spec", [{"start": "tomorrow"}, {"flags": ["NONE_SUCH"]}, {"name": "a\nb"}])
def test_the_api_refuses_what_is_no_reservation(site: Site, spec: dict[str, object]) -> None:
    said = site.api.kubectl(
        "create", "-n", "alice", "-f", "-", stdin=reservation("r", **spec), token="alice-token", code=1
    )
    assert "is invalid" in said
