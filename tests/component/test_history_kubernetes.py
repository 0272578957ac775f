"""The history behind a real Kubernetes API server, with a real PostgreSQL: aggregation, rights, kubectl, the commands.

One server for the whole module: it takes some seconds to start.
"""

import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from hpcbatch.api import kubeconfig
from hpcbatch.api.client import HttpApi
from hpcbatch.api.port import Object
from hpcbatch.api.resources import BATCHJOBS
from hpcbatch.client import changes, listing
from hpcbatch.errors import ForbiddenError, UnknownJobError
from hpcbatch.units import rfc3339
from tests.cluster.certificates import self_signed
from tests.kube_api import KubeApi, free_port, is_there, kube_api, own_address, process
from tests.postgres import Postgres, postgres, programs
from tests.waiting import wait_for

ROOT = Path(__file__).parents[2]
HPCBATCH = Path(sys.executable).parent / "hpcbatch"
CONTROLLER = "system:serviceaccount:hpcbatch-system:hpcbatch-controller"
TOKENS = [
    ("controller-token", CONTROLLER, "system:serviceaccounts,system:serviceaccounts:hpcbatch-system"),
    ("alice-token", "alice", ""),
    ("bob-token", "bob", ""),
    ("viewer-token", "viewer", "hpcbatch:users"),
]
SITE = (
    "apiVersion: hpcbatch.io/v1alpha1\nkind: SiteConfiguration\nserverName: here\nimage: img:1\nhistoryMovedAfter: 0\n"
)
LIST = "batchjobs.history.hpcbatch.io"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (is_there() and programs() and own_address()),
        reason="the history behind Kubernetes is NOT tested: needs `make programs`, PostgreSQL and a network address",
    ),
]


@dataclass
class Site:
    api: KubeApi
    database: Postgres
    directory: Path
    numbers: Iterator[int] = field(default_factory=lambda: iter(range(1, 1000)))

    def client(self, token: str) -> HttpApi:
        return HttpApi(kubeconfig.load({"KUBECONFIG": str(self.api.kubeconfig(token))}))

    def ended_job(self, namespace: str) -> Object:
        """A job that has run, in the API."""
        number = next(self.numbers)
        admin = self.client("admin-token")
        made = admin.create(
            BATCHJOBS,
            {
                "apiVersion": "hpcbatch.io/v1alpha1",
                "kind": "BatchJob",
                "metadata": {"name": f"pbs-{number}"},
                "spec": {"dialect": "pbs", "name": f"job{number}", "chunks": [{"count": 1, "cpus": 1, "ranks": 1}]},
            },
            namespace,
        )
        now = rfc3339(datetime.now(UTC))
        status = {
            "jobId": str(number),
            "state": "Finished",
            "owner": namespace,
            "queue": "default",
            "cleaned": True,
            "summary": {"name": f"job{number}"},
            "exitCode": 0,
            "startTime": now,
            "endTime": now,
        }
        # the controller may have refused it meanwhile: it has no script
        patch = {"status": status | {"refusal": None}}
        return admin.patch(BATCHJOBS, made["metadata"]["name"], patch, namespace, subresource="status")

    def moved_job(self, namespace: str) -> Object:
        job = self.ended_job(namespace)
        name = job["metadata"]["name"]
        wait_for(
            f"{name} to move", lambda: name not in self.api.kubectl("get", "batchjobs", "-n", namespace, "-o", "name")
        )
        return job


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    directory = tmp_path_factory.mktemp("kube")
    with postgres() as database, kube_api(directory, TOKENS) as api:
        install(api)
        health, port = free_port(), free_port()
        endpoint(api, port)
        (directory / "dsn").write_text(f"{database.dsn}\n")
        config = {"KUBECONFIG": str(api.kubeconfig("controller-token"))}
        env = {**os.environ, **config, "HOME": str(directory)}
        options = [
            "--no-leader-elect",
            "--health-port",
            str(health),
            "--history-port",
            str(port),
            "--history-dsn-file",
            str(directory / "dsn"),
        ]
        with process(
            directory / "controller.log", "env", *(f"{k}={v}" for k, v in env.items()), HPCBATCH, "controller", *options
        ):
            try:
                wait_for("the controller", lambda: page(health, "/readyz") == "ok\n", 30)
                wait_for("the history's API", lambda: is_available(api), 60, every_s=0.2)
            except AssertionError as error:
                raise AssertionError(f"{error}\n{(directory / 'controller.log').read_text()[-3000:]}") from None
            yield Site(api, database, directory)


def install(api: KubeApi) -> None:
    deploy = ROOT / "deploy"
    api.kubectl("apply", "-f", deploy / "namespace.yaml")
    crds = [*sorted((deploy / "crd").glob("*.yaml")), *sorted((ROOT / "hpcbatch/engine/registry/crd").glob("*.yaml"))]
    for path in crds:
        api.kubectl("apply", "--server-side", "-f", path)
    api.kubectl("wait", "--for=condition=Established", "crd", "--all")
    for name in ("service-account", "controller-rbac", "user-rbac", "viewers", "policies"):
        api.kubectl("apply", "-f", deploy / f"controller/{name}.yaml")
    api.kubectl("apply", "-k", deploy / "history")
    for user in ("alice", "bob"):
        api.kubectl("create", "namespace", user)
        api.kubectl("-n", user, "create", "rolebinding", "user", "--clusterrole=hpcbatch-user", f"--user={user}")
    api.kubectl("-n", "hpcbatch-system", "create", "configmap", "hpcbatch-site", f"--from-literal=site.yaml={SITE}")


def endpoint(api: KubeApi, port: int) -> None:
    """In the place of the controller's pods: this machine."""
    api.kubectl(
        "-n",
        "hpcbatch-system",
        "patch",
        "service",
        "hpcbatch-history",
        "--type=json",
        '-p=[{"op": "remove", "path": "/spec/selector"}]',
    )
    part = {
        "metadata": {
            "name": "hpcbatch-history-1",
            "namespace": "hpcbatch-system",
            "labels": {"kubernetes.io/service-name": "hpcbatch-history"},
        },
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "addressType": "IPv4",
        "endpoints": [{"addresses": [own_address()], "conditions": {"ready": True}}],
        "ports": [{"name": "https", "port": port, "protocol": "TCP"}],
    }
    api.kubectl("apply", "-f", "-", stdin=json.dumps(part))


def is_available(api: KubeApi) -> bool:
    found = json.loads(api.kubectl("get", "apiservice", "v1alpha1.history.hpcbatch.io", "-o", "json"))
    conditions = {item["type"]: item["status"] for item in (found.get("status") or {}).get("conditions", [])}
    return conditions.get("Available") == "True"


def page(port: int, path: str) -> str:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=60) as answer:
            text: str = answer.read().decode()
            return text
    except OSError as error:
        return str(error)


def numbers(found: list[Object]) -> set[int]:
    return {int(job["status"]["jobId"]) for job in found}


def test_a_job_moves_and_is_found_again(site: Site) -> None:
    job = site.moved_job("alice")
    number, name = int(job["status"]["jobId"]), job["metadata"]["name"]
    alice = site.client("alice-token")
    assert number in numbers(listing.in_order(listing.iter_ended(alice, "alice")))
    row = listing.find(alice, "alice", number)
    assert (row.name, row.object_name, row.state.value, row.exit_code) == (f"job{number}", name, "Finished", 0)
    assert listing.get_object(alice, row)["spec"] == job["spec"]
    told = site.api.kubectl("get", LIST, "-n", "alice", token="alice-token")
    assert f"job{number}" in told
    assert f"name: {name}" in site.api.kubectl("get", LIST, name, "-n", "alice", "-o", "yaml", token="alice-token")
    shown = site.api.kubectl("get", LIST, "-A", "--field-selector", f"status.jobId={number}", "-o", "name")
    assert shown == f"batchjob.history.hpcbatch.io/{name}\n"
    with pytest.raises(ForbiddenError):
        changes.forget(alice, row)  # what she has used is made from it
    assert number in numbers(listing.in_order(listing.iter_ended(alice, "alice")))
    admin = site.client("admin-token")
    changes.forget(admin, row)
    assert number not in numbers(listing.in_order(listing.iter_ended(alice, "alice")))
    with pytest.raises(UnknownJobError):
        changes.forget(admin, row)


def test_kubernetes_own_words_for_jobs_stay(site: Site) -> None:
    """`batchjobs` alone are those of hpcbatch.io, and the history is no category of `kubectl get all`."""
    site.moved_job("alice")
    assert "No resources found" in site.api.kubectl("get", "batchjobs", "-n", "alice")


def test_users_see_what_rbac_lets_them(site: Site) -> None:
    mine, other = site.moved_job("alice"), site.moved_job("bob")
    alice = site.client("alice-token")
    assert int(mine["status"]["jobId"]) in numbers(listing.in_order(listing.iter_ended(alice, "alice")))
    assert int(other["status"]["jobId"]) not in numbers(listing.in_order(listing.iter_ended(alice, "alice")))
    refused = site.api.kubectl("get", LIST, "-n", "bob", token="alice-token", code=1)
    assert 'User "alice" cannot list resource "batchjobs" in API group "history.hpcbatch.io"' in refused
    refused = site.api.kubectl("delete", LIST, other["metadata"]["name"], "-n", "bob", token="alice-token", code=1)
    assert "Forbidden" in refused
    viewer = site.client("viewer-token")
    both = {int(job["status"]["jobId"]) for job in (mine, other)}
    assert both <= numbers(listing.in_order(listing.iter_ended(viewer, "nowhere")))
    name = mine["metadata"]["name"]
    assert "Forbidden" in site.api.kubectl("delete", LIST, name, "-n", "alice", token="viewer-token", code=1)


def test_nobody_but_the_api_server_is_answered(site: Site) -> None:
    """A request past it, with its headers but without its certificate."""
    found = json.loads(
        site.api.kubectl("-n", "hpcbatch-system", "get", "endpointslice", "hpcbatch-history-1", "-o", "json")
    )
    port = found["ports"][0]["port"]
    url = f"https://127.0.0.1:{port}/apis/history.hpcbatch.io/v1alpha1/batchjobs"
    done = subprocess.run(
        ["curl", "-sk", "-H", "X-Remote-User: admin", "-H", "X-Remote-Group: system:masters", url],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert json.loads(done.stdout)["code"] == 401
    certificate, key = (site.directory / f"stranger.{kind}" for kind in ("crt", "key"))
    self_signed(key, certificate, "/CN=front-proxy-client", days=1)
    stranger = ["--cert", str(certificate), "--key", str(key)]
    done = subprocess.run(
        ["curl", "-sk", *stranger, "-H", "X-Remote-User: admin", url],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode != 0 or json.loads(done.stdout)["code"] == 401


def test_a_database_that_is_down(site: Site) -> None:
    """Said so; jobs stay where they are meanwhile, and move afterwards. The API itself stays there for Kubernetes."""
    before = site.moved_job("alice")
    site.database.stop()
    try:
        waiting = site.ended_job("alice")
        told = site.api.kubectl("get", LIST, "-n", "alice", code=1)
        assert "the history database cannot be reached" in told
        assert waiting["metadata"]["name"] in site.api.kubectl("get", "batchjobs", "-n", "alice", "-o", "name")
        assert is_available(site.api)
    finally:
        site.database.start()
    wait_for("both", lambda: numbers([before, waiting]) <= ended_numbers(site), 60, every_s=0.5)


def ended_numbers(site: Site) -> set[int]:
    shown: Any = json.loads(site.api.kubectl("get", LIST, "-n", "alice", "-o", "json"))
    return numbers(shown["items"])


def test_a_namespace_goes_without_waiting_for_the_history(site: Site) -> None:
    """Its discovery does not tell of deletion, so Kubernetes does not try to empty it."""
    told = json.loads(site.api.kubectl("get", "--raw", "/apis/history.hpcbatch.io/v1alpha1"))
    assert told["resources"][0]["verbs"] == ["get", "list"]
