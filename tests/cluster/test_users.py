"""Users made by an admin on a real API server: rights, certificates, quotas, and what the user has of them."""

from __future__ import annotations

import json
import os
import secrets
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
from cryptography import x509

from hpcbatch.api import kubeconfig
from tests.cluster.conftest import Admin
from tests.waiting import wait_for

UID = 7001


@dataclass
class Made:
    """A user of a test's own, with what his kubeconfig leads to."""

    admin: Admin
    name: str
    file: Path

    @property
    def namespace(self) -> str:
        return f"try-e-{self.name}"

    def add(self, *options: str, check: bool = True) -> CompletedProcess[str]:
        words = ("hpcbatch", "user", "add", self.name, "--namespace", self.namespace)
        return self.admin.run(*words, *options, check=check)

    def run(self, *argv: str, check: bool = True) -> CompletedProcess[str]:
        return Admin({**self.admin.env, "KUBECONFIG": str(self.file)}).run(*argv, check=check)

    def may(self, verb: str, what: str, namespace: str | None = None) -> bool:
        where = ("-n", namespace or self.namespace)
        return self.run("kubectl", "auth", "can-i", verb, what, *where, check=False).stdout.strip() == "yes"

    def get(self, *what: str) -> Any:
        return json.loads(self.admin.kubectl("-n", self.namespace, "get", *what, "-o", "json").stdout)


@pytest.fixture
def new(admin: Admin, tmp_path: Path) -> Iterator[Made]:
    """Nobody yet: `add` makes him."""
    user = Made(admin, f"u{secrets.token_hex(3)}", tmp_path / "kubeconfig")
    yield user
    admin.kubectl("delete", "namespace", user.namespace, "--ignore-not-found", "--wait=false")


@pytest.fixture
def dora(new: Made) -> Made:
    new.add("--uid", str(UID), "--gid", str(UID), "--kubeconfig", str(new.file), "--valid-for", "1h", "--force")
    return new


def test_a_user_is_made_once(new: Made) -> None:
    words = ("--uid", str(UID), "--gid", str(UID), "--groups", "2000:wrf", "--quota-cpus", "4", "--quota-pods", "9")
    first = new.add(*words, "--force").stdout.splitlines()
    assert [line.partition(":")[0].split()[0] for line in first] == [
        "Namespace",
        "NetworkPolicy",
        "RoleBinding",
        "RoleBinding",
        "ResourceQuota",
    ]
    before = new.get("namespace,rolebinding,networkpolicy,resourcequota", new.namespace, "--ignore-not-found")
    as_before = f"user {new.name} is as wanted, in namespace {new.namespace}\n"
    assert new.add(*words, "--force").stdout == as_before
    assert new.add("--force").stdout == as_before
    assert new.get("namespace,rolebinding,networkpolicy,resourcequota", new.namespace, "--ignore-not-found") == before
    assert new.get("resourcequota", "hpcbatch-user")["spec"]["hard"] == {
        "requests.cpu": "4",
        "pods": "9",
        "count/batchjobs.hpcbatch.io": "20k",
    }
    changed = new.add("--uid", str(UID + 1), "--quota-cpus", "none", "--force").stdout.splitlines()
    assert changed == [
        f"Namespace {new.namespace}: hpcbatch.io/uid: '{UID}' → '{UID + 1}'",
        "ResourceQuota hpcbatch-user: requests.cpu: '4' → nothing",
    ]
    row = next(line for line in new.admin.run("hpcbatch", "user", "list").stdout.splitlines() if new.name in line)
    assert row.split() == [new.name, new.namespace, str(UID + 1), str(UID), "2000:wrf", "0", "0", "enabled"]


def test_a_dry_run_prints_what_the_server_takes_and_changes_nothing(new: Made) -> None:
    shown = new.add("--uid", str(UID), "--gid", str(UID), "--pvc", "home=1G,class=none", "--dry-run", "--force").stdout
    assert not new.admin.kubectl("get", "namespace", new.namespace, "--ignore-not-found").stdout
    new.admin.kubectl("create", "namespace", new.namespace)
    new.admin.kubectl("apply", "--dry-run=server", "-f", "-", stdin=shown)


def test_the_certificate_is_the_users_for_a_while(dora: Made) -> None:
    assert stat.S_IMODE(dora.file.stat().st_mode) == 0o600
    connection = kubeconfig.read([dora.file])
    assert connection.namespace == dora.namespace
    certificate = x509.load_pem_x509_certificate(connection.client_cert_pem or b"")
    assert certificate.subject.rfc4514_string() == f"CN=hpcbatch:{dora.name},O=hpcbatch:users"
    assert timedelta(minutes=50) < certificate.not_valid_after_utc - datetime.now(UTC) <= timedelta(hours=1)
    assert dora.namespace not in dora.admin.kubectl("get", "csr", "-o", "name").stdout
    old = dora.file.read_text()
    dora.add("--kubeconfig", str(dora.file), "--force")
    assert dora.file.read_text() != old
    assert dora.run("kubectl", "auth", "whoami", "-o", "jsonpath={.status.userInfo.username}").stdout == (
        f"hpcbatch:{dora.name}"
    )


def test_what_a_user_may_do(dora: Made) -> None:
    for verb in ("create", "get", "list", "watch", "patch", "delete"):
        assert dora.may(verb, "batchjobs.hpcbatch.io"), verb
    assert dora.may("create", "secrets")
    assert not dora.may("patch", "secrets")
    assert not dora.may("list", "secrets")
    assert not dora.may("update", "batchjobs.hpcbatch.io/status")
    for kind in ("pods", "jobs.batch.volcano.sh", "configmaps", "rolebindings", "pods/exec", "namespaces"):
        assert not dora.may("create", kind), kind
    assert not dora.may("create", "batchjobs.hpcbatch.io", "default")
    assert not dora.may("get", "secrets", "default")


def test_login_check_finds_all_in_order(dora: Made) -> None:
    lines = dora.run("hpcbatch", "login-check").stdout.splitlines()
    assert [line.split()[:2] for line in lines] == [
        ["ok", f"{what}:"] for what in ("kubeconfig", "certificate", "server", "login", "hpcbatch", "namespace", "jobs")
    ]
    assert f"jobs run as {dora.name}, uid {UID}, gid {UID}" in lines[5]


def test_login_check_in_somebody_elses_namespace(dora: Made) -> None:
    config = json.loads(dora.file.read_text())
    config["contexts"][0]["context"]["namespace"] = "default"
    dora.file.write_text(json.dumps(config))
    done = dora.run("hpcbatch", "login-check", check=False)
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1].startswith("error  namespace: default is not yours")
    refused = dora.run("sbatch", "--wrap", "true", check=False)
    assert refused.returncode == 1
    first, second = refused.stderr.splitlines()
    assert first == "sbatch: error: Batch job submission failed: Access/permission denied"
    assert f'User "hpcbatch:{dora.name}" cannot create resource "secrets"' in second


def test_a_disabled_user_is_shut_out_until_enabled(dora: Made) -> None:
    dora.admin.run("hpcbatch", "user", "disable", dora.name)
    wait_for("the rights to go", lambda: not dora.may("create", "batchjobs.hpcbatch.io"))
    assert dora.run("hpcbatch", "login-check", check=False).returncode == 1
    refused = dora.add("--kubeconfig", str(dora.file), "--force", check=False)
    assert refused.stderr == f"hpcbatch: user {dora.name} is disabled: they get no certificate\n"
    dora.admin.run("hpcbatch", "user", "enable", dora.name)
    wait_for("the rights to come back", lambda: dora.may("create", "batchjobs.hpcbatch.io"))
    assert dora.run("hpcbatch", "login-check").returncode == 0


def test_users_make_no_users(dora: Made) -> None:
    for words in (("list",), ("add", "eve", "--uid", "1", "--gid", "1"), ("disable", "alice")):
        done = dora.run("hpcbatch", "user", *words, check=False)
        assert done.returncode == 1
        assert done.stderr.count("\n") == 1
        assert f'User "hpcbatch:{dora.name}" cannot' in done.stderr


def test_pod_security_holds_in_a_users_namespace(dora: Made) -> None:
    labels = dora.get("namespace", dora.namespace)["metadata"]["labels"]
    if labels["pod-security.kubernetes.io/enforce"] != "restricted":
        pytest.fail("the rig's volumes are claims, with which `restricted` works")
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "root"},
        "spec": {"containers": [{"name": "c", "image": "i", "securityContext": {"privileged": True}}]},
    }
    done = dora.admin.kubectl("-n", dora.namespace, "create", "-f", "-", stdin=json.dumps(pod), check=False)
    assert 'violates PodSecurity "restricted' in done.stderr


@pytest.mark.parametrize("make", [lambda path: None, lambda path: path.mkdir()], ids=["home", ".kube"])
def test_root_leaves_the_file_to_the_user(new: Made, tmp_path: Path, make: Callable[[Path], Any]) -> None:
    home = tmp_path / "home"
    home.mkdir()
    make(home / ".kube")
    for path in (home, *home.iterdir()):
        os.chown(path, UID, UID)
    for parent in home.parents:
        if not parent.stat().st_mode & stat.S_IXOTH:
            parent.chmod(parent.stat().st_mode | stat.S_IXOTH)  # pytest's directories are root's alone
    target = home / ".kube" / "config"
    new.add("--uid", str(UID), "--gid", str(UID), "--kubeconfig", str(target), "--force")
    assert (target.stat().st_uid, target.stat().st_gid, stat.S_IMODE(target.stat().st_mode)) == (UID, UID, 0o600)


def test_certificates_are_renewed(dora: Made) -> None:
    """What an admin's daily timer does: hers lasts an hour more."""
    before = kubeconfig.read([dora.file]).client_cert_pem
    words = ("hpcbatch", "user", "renew", dora.name, "--kubeconfig", str(dora.file))
    assert dora.admin.run(*words, "--before", "30m").stdout == ""
    assert kubeconfig.read([dora.file]).client_cert_pem == before
    renewed = dora.admin.run(*words).stdout
    assert renewed.startswith(f"{dora.file}: certificate of hpcbatch:{dora.name} renewed, valid until ")
    assert kubeconfig.read([dora.file]).client_cert_pem != before
    assert dora.run("hpcbatch", "login-check").returncode == 0
    assert dora.namespace not in dora.admin.kubectl("get", "csr", "-o", "name").stdout
