"""`hpcbatch check` on the embedded engine."""

from __future__ import annotations

import json
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.site import BIN, login_environment
from tests.waiting import wait_for

MADE = "app.kubernetes.io/managed-by=hpcbatch-check"
HEAD = "apiVersion: hpcbatch.io/v1alpha1\nkind: SiteConfiguration\n"


@dataclass
class Engine:
    env: dict[str, str]

    def run(self, *argv: str, stdin: str = "", code: int = 0) -> str:
        done = subprocess.run(
            [str(BIN / argv[0]), *argv[1:]],
            env=self.env,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )
        assert done.returncode == code, f"{argv}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout

    def check(self, *arguments: str, code: int = 0) -> list[dict[str, str]]:
        findings: list[dict[str, str]] = json.loads(self.run("hpcbatch", "check", "-o", "json", *arguments, code=code))[
            "findings"
        ]
        return findings

    def apply(self, obj: dict[str, Any]) -> None:
        self.run("kubectl", "apply", "-f", "-", stdin=json.dumps(obj))


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    engine = Engine(login_environment(tmp_path_factory.mktemp("engine")))
    engine.run("hpcbatch", "up", "--nodes", "2", "--cpus", "1")
    yield engine
    engine.run("hpcbatch", "down")


def errors(findings: list[dict[str, str]]) -> list[str]:
    return [f"{f['subject']}: {f['seen']}" for f in findings if f["level"] == "error"]


def test_all_is_well_and_what_does_not_apply_is_said(engine: Engine) -> None:
    findings = engine.check()
    assert {f["level"] for f in findings} == {"ok", "skipped"}
    skipped = {f["check"]: f["seen"] for f in findings if f["level"] == "skipped"}
    assert skipped["hpcbatch-controller"] == "does not apply: the engine is one process on this machine"
    assert {"storage", "shared-storage", "network-policies", "admission-policies"} <= skipped.keys()
    ok = {f["check"] for f in findings if f["level"] == "ok"}
    assert {"volcano-webhooks", "volcano-controllers", "volcano-scheduler", "hpcbatch-crd", "queues", "users"} <= ok
    gone = ("get", "namespaces", "-l", MADE, "-o", "name")
    wait_for("the probe's namespace gone", lambda: not engine.run("kubectl", *gone))


def test_text_has_a_line_for_each_finding_and_a_sum(engine: Engine) -> None:
    lines = engine.run("hpcbatch", "check").splitlines()
    assert lines[0].startswith("ok       Kubernetes: v1.")
    assert lines[0].endswith("-hpcbatch, the embedded engine of this machine")
    assert lines[-1] == "no errors, no warnings"
    assert len(lines) == len(engine.check()) + 2


def test_without_probes_nothing_is_made(engine: Engine) -> None:
    findings = {f["check"]: f for f in engine.check("--no-probes")}
    assert findings["volcano-scheduler"]["level"] == "unknown"
    assert findings["nodes"]["level"] == "ok"


def test_a_closed_queue(engine: Engine) -> None:
    queue = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": "shut"}}
    engine.apply(queue | {"spec": {"weight": 1}})
    state = ("get", "queue", "shut", "-o", "jsonpath={.status.state}")
    wait_for("the queue open", lambda: engine.run("kubectl", *state) == "Open")
    uid = engine.run("kubectl", "get", "queue", "shut", "-o", "jsonpath={.metadata.uid}")
    target = {"apiVersion": queue["apiVersion"], "kind": "Queue", "name": "shut", "uid": uid, "controller": True}
    engine.apply(
        {
            "apiVersion": "bus.volcano.sh/v1alpha1",
            "kind": "Command",
            "action": "CloseQueue",
            "target": target,
            "metadata": {"name": "shut-close", "namespace": "default"},
        }
    )
    wait_for("the queue closed", lambda: engine.run("kubectl", *state) == "Closed")
    site = f"{HEAD}queues:\n- {{name: q, volcanoQueue: shut, default: true}}\n"
    engine.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "elsewhere"}})
    engine.apply(
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "hpcbatch-site", "namespace": "elsewhere"},
            "data": {"site.yaml": site},
        }
    )
    findings = engine.check("--namespace", "elsewhere", "--no-probes", code=1)
    assert errors(findings) == ["Volcano queue shut: closed: queue q of the site cannot start"]
    text = engine.run("hpcbatch", "check", "--namespace", "elsewhere", "--no-probes", code=1)
    assert "\n         vcctl queue operate --name shut --action open\n" in text
    assert text.splitlines()[-1].startswith("1 error, ")


def test_a_bad_configuration(engine: Engine) -> None:
    engine.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "bad"}})
    engine.apply(
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "hpcbatch-site", "namespace": "bad"},
            "data": {"site.yaml": f"{HEAD}queue: []\n"},
        }
    )
    found = errors(engine.check("--namespace", "bad", "--no-probes", code=1))
    assert len(found) == 1
    assert "site.yaml:3" in found[0]


def test_a_namespace_that_is_nobodys(engine: Engine) -> None:
    labels, notes = {"hpcbatch.io/user": "eve"}, {"hpcbatch.io/user": "eve", "hpcbatch.io/uid": "1.5"}
    metadata = {"name": "eve", "labels": labels, "annotations": notes}
    engine.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
    found = errors(engine.check("--no-probes", "--user", "eve", code=1))
    assert found[0].startswith("namespace eve: ")
    engine.run("kubectl", "delete", "namespace", "eve")
    assert errors(engine.check("--no-probes", "--user", "eve", code=1)) == ["user eve: no namespace is this user's"]


def test_what_a_killed_check_left_is_removed(engine: Engine) -> None:
    notes = {"hpcbatch.io/check-process": f"{socket.gethostname()}/1/0"}
    labels = dict([MADE.split("=")])
    metadata = {"name": "hpcbatch-check-dead", "labels": labels, "annotations": notes}
    engine.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
    findings = engine.check()
    assert [f["seen"] for f in findings if f["check"] == "left-overs"] == [
        "1 object of a check that was killed removed"
    ]
    assert "hpcbatch-check-dead" not in engine.run("kubectl", "get", "namespaces", "-o", "name")


def test_no_cluster(tmp_path: Path) -> None:
    env = login_environment(tmp_path)
    done = subprocess.run(
        [str(BIN / "hpcbatch"), "check"], env=env, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 1
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
