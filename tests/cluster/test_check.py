"""`hpcbatch check` on the cluster: healthy as installed, and each fault that can be made without hurting others."""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.conftest import Admin
from tests.waiting import wait_for

IMAGE = os.environ.get("HPCBATCH_TEST_IMAGE", "localhost/mpi:1")
MADE = "app.kubernetes.io/managed-by=hpcbatch-check"
UID = 61000 + secrets.randbelow(1000)
"""Nobody else's, so that nobody's check finds it twice."""


@dataclass
class Report:
    code: int
    findings: list[dict[str, str]]

    def of(self, check: str, level: str = "") -> list[str]:
        """`subject: seen` of the findings of a check."""
        return [
            f"{f['subject']}: {f['seen']}" for f in self.findings if f["check"] == check and level in {"", f["level"]}
        ]


def check(admin: Admin, *arguments: str, env: dict[str, str] | None = None) -> Report:
    argv = ["hpcbatch", "check", "-o", "json", *arguments]
    done = subprocess.run(
        argv, env={**admin.env, **(env or {})}, capture_output=True, text=True, timeout=170, check=False
    )
    assert "Traceback" not in done.stderr
    assert done.stdout, done.stderr
    return Report(done.returncode, json.loads(done.stdout)["findings"])


@pytest.fixture
def place(admin: Admin) -> Iterator[str]:
    """A namespace as if hpcbatch were installed there, and `<place>-user` as if it were a user's; both empty."""
    name = f"try-check-{secrets.token_hex(3)}"
    admin.kubectl("create", "namespace", name)
    yield name
    admin.kubectl("delete", "namespace", name, f"{name}-user", "--ignore-not-found", "--wait=false")


def configure(admin: Admin, place: str, text: str, tmp_path: Path) -> None:
    file = tmp_path / "site.yaml"
    file.write_text("apiVersion: hpcbatch.io/v1alpha1\nkind: SiteConfiguration\n" + text)
    admin.kubectl("-n", place, "create", "configmap", "hpcbatch-site", f"--from-file={file}")


def add_user(admin: Admin, place: str, home: str, **annotations: str) -> str:
    """A namespace that says it is a user's, with nothing else in it; the user's name."""
    user = f"u{secrets.token_hex(3)}"
    notes = {"user": user, "uid": str(UID), "gid": str(UID), "home": home} | annotations
    namespace: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {
            "name": f"{place}-user",
            "labels": {"hpcbatch.io/user": user, "pod-security.kubernetes.io/enforce": "restricted"},
            "annotations": {f"hpcbatch.io/{key}": value for key, value in notes.items()},
        },
    }
    admin.kubectl("apply", "-f", "-", stdin=json.dumps(namespace))
    return user


def left_over(admin: Admin) -> str:
    found = admin.kubectl("get", "namespaces,pods,networkpolicies", "-A", "-l", MADE, "-o", "json").stdout
    return " ".join(
        item["metadata"]["name"] for item in json.loads(found)["items"] if "deletionTimestamp" not in item["metadata"]
    )


def test_the_installation_is_healthy(admin: Admin) -> None:
    report = check(admin, "--user", "alice", "--user", "bob")
    assert [f for f in report.findings if f["level"] == "error"] == []
    assert report.code == 0
    assert report.of("kubernetes-version", "ok")
    assert len(report.of("volcano-webhooks", "ok")) == 4
    assert report.of("volcano-controllers", "ok")
    assert report.of("volcano-scheduler", "ok")
    assert len(report.of("hpcbatch-controller", "ok")) == 3
    assert len(report.of("controller-rights", "ok")) == 2
    assert report.of("admission-policies", "ok")
    assert len(report.of("job-pods", "ok")) == 2
    assert len(report.of("shared-storage", "ok")) == 2
    assert report.of("network-policies", "ok")
    assert not left_over(admin)


def test_without_probes_it_only_reads(admin: Admin) -> None:
    report = check(admin, "--no-probes", "--user", "bob")
    assert report.of("shared-storage") == ["shared-storage: not tried (--no-probes)"]
    assert "without --no-probes a job is tried" in report.of("volcano-scheduler")[0]
    assert report.code == 0


def test_nothing_installed(admin: Admin, place: str) -> None:
    report = check(admin, "--namespace", place, "--no-probes", "--user", "bob")
    assert report.code == 1
    assert "not there: jobs are neither admitted nor run" in report.of("hpcbatch-controller", "error")[0]
    assert f"there is no ConfigMap {place}/hpcbatch-site" in report.of("site-configuration", "error")[0]


def test_a_bad_configuration_is_told_with_its_lines(admin: Admin, place: str, tmp_path: Path) -> None:
    configure(admin, place, "image: localhost/mpi:1\nqueue: []\nhistoryKept: soon\n", tmp_path)
    report = check(admin, "--namespace", place, "--no-probes", "--user", "bob")
    told = "\n".join(report.of("site-configuration", "error"))
    assert "site.yaml:4:" in told
    assert "queues" in told
    assert "site.yaml:5:" in told
    assert report.of("job-pods") == ["job-pods: not looked at: first mend site-configuration"]


def test_a_closed_queue_and_one_that_is_missing(admin: Admin, place: str, tmp_path: Path) -> None:
    queue = f"{place}-closed"
    admin.run("vcctl", "queue", "create", "--name", queue, "--weight", "1")
    try:
        admin.run("vcctl", "queue", "operate", "--name", queue, "--action", "close")
        state = ("get", "queue", queue, "-o", "jsonpath={.status.state}")
        wait_for("the queue closed", lambda: admin.kubectl(*state).stdout == "Closed")
        queues = f"queues: [{{name: a, volcanoQueue: {queue}, default: true}}, {{name: b, volcanoQueue: {place}-gone}}]"
        configure(admin, place, f"image: {IMAGE}\n{queues}\n", tmp_path)
        report = check(admin, "--namespace", place, "--no-probes", "--user", "bob")
    finally:
        admin.kubectl("delete", "queue", queue)
    assert report.of("queues", "error") == [
        f"Volcano queue {queue}: closed: queue a of the site cannot start",
        f"Volcano queue {place}-gone: not there, but needed for queue b of the site",
    ]


def test_a_user_half_made(admin: Admin, place: str) -> None:
    user = add_user(admin, place, "/nowhere/at/all")
    report = check(admin, "--no-probes", "--user", user)
    told = "\n".join(report.of("users", "error"))
    assert "gives ClusterRole hpcbatch-user: qsub and sbatch are forbidden" in told
    assert "gives the controller ClusterRole" in told
    assert "no NetworkPolicy closes" in report.of("users", "warning")[0]
    assert "lies on no volume" in report.of("storage", "error")[0]


def test_annotations_that_cannot_be_read(admin: Admin, place: str) -> None:
    user = add_user(admin, place, "/home/x", uid="many")
    report = check(admin, "--no-probes", "--user", user)
    assert any(f"namespace {place}-user" in line for line in report.of("users", "error"))


def test_volumes_that_pod_security_refuses(admin: Admin, place: str, tmp_path: Path) -> None:
    configure(
        admin, place, f"image: {IMAGE}\nvolumes: [{{name: h, mountPath: /home, hostPath: {{path: /tmp}}}}]\n", tmp_path
    )
    user = add_user(admin, place, "/home/x")
    report = check(admin, "--namespace", place, "--no-probes", "--user", user)
    assert any("refuses the site's volumes, which need privileged" in line for line in report.of("users", "error"))
    assert "must be the same shared file system" in report.of("storage", "warning")[0]
    assert any("refused by Pod Security" in line for line in report.of("job-pods", "error"))


def test_storage_that_is_not_shared(admin: Admin, place: str, tmp_path: Path) -> None:
    configure(admin, place, f"image: {IMAGE}\nvolumes: [{{name: h, mountPath: /home, emptyDir: {{}}}}]\n", tmp_path)
    user = add_user(admin, place, "/home")
    report = check(admin, "--namespace", place, "--user", user)
    assert "not the same file system" in report.of("shared-storage", "error")[0]
    assert not left_over(admin)


def test_a_home_that_is_missing(admin: Admin, place: str, tmp_path: Path) -> None:
    configure(admin, place, f"image: {IMAGE}\nvolumes: [{{name: h, mountPath: /home, emptyDir: {{}}}}]\n", tmp_path)
    user = add_user(admin, place, "/home/missing")
    report = check(admin, "--namespace", place, "--user", user)
    assert f"{user} cannot write /home/missing on node-" in report.of("shared-storage", "error")[0]


def test_an_image_that_cannot_be_pulled(admin: Admin, place: str, tmp_path: Path) -> None:
    image = "localhost/there-is-none:1"
    configure(admin, place, f"image: {image}\nvolumes: [{{name: h, mountPath: /home, emptyDir: {{}}}}]\n", tmp_path)
    user = add_user(admin, place, "/home")
    report = check(admin, "--namespace", place, "--user", user)
    assert "ImagePull" in report.of("shared-storage", "error")[0]


def test_somebody_who_may_not_read(admin: Admin, place: str, tmp_path: Path) -> None:
    """A ServiceAccount without any rights."""
    token = admin.kubectl("-n", place, "create", "token", "default").stdout.strip()
    config = json.loads(admin.kubectl("config", "view", "--raw", "--flatten", "-o", "json").stdout)
    config["users"] = [{"name": config["users"][0]["name"], "user": {"token": token}}]
    file = tmp_path / "kubeconfig"
    file.write_text(json.dumps(config))
    report = check(admin, env={"KUBECONFIG": str(file)})
    assert report.of("nodes", "unknown") == ["nodes: you may not read nodes at the cluster scope"]
    assert {f["level"] for f in report.findings} <= {"ok", "unknown", "skipped"}
    assert report.code == 0


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_ended_in_the_middle(admin: Admin, signum: signal.Signals) -> None:
    # whoever started the tests in the background has told them, and so their children, to take no notice of INT
    argv = ["env", "--default-signal=INT", "hpcbatch", "check", "--user", "bob"]
    process = subprocess.Popen(argv, env=dict(admin.env), stdout=subprocess.DEVNULL)
    try:
        wait_for("a probe's pod", lambda: admin.kubectl("get", "pods", "-A", "-l", MADE, "-o", "name").stdout)
        process.send_signal(signum)
        assert process.wait(60) != 0
    finally:
        process.kill()
        process.wait()
    if signum is signal.SIGKILL:
        check(admin, "--user", "nobody-of-this-name")
    assert not left_over(admin)
