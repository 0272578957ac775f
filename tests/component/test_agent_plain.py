"""Pods where the machine allows no namespaces: plain processes. Run by test_agent_as_user, which makes such a place."""

from __future__ import annotations

import base64
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from hpcbatch.api.resources import PODS, SECRETS
from tests.component.agent_rig import SLEEP, Rig, sleepers
from tests.waiting import wait_for


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    rig = Rig(tmp_path / "engine").start()
    if not rig.agent.namespaces_unavailable:
        rig.stop()
        pytest.skip("namespaces are allowed here")
    yield rig
    rig.stop()


def test_one_line_says_why(rig: Rig) -> None:
    why = rig.agent.namespaces_unavailable
    assert why.startswith("pods need Linux namespaces, which this machine does not allow: ")
    assert "sysctl user.max_user_namespaces" in why
    assert "\n" not in why


def test_single_pod_runs(rig: Rig) -> None:
    data = {"script": base64.b64encode(b"echo from the secret").decode()}
    rig.registry.create(SECRETS, {"metadata": {"name": "s"}, "data": data}, "default")
    rig.run(
        "p",
        "",
        volumes=[{"name": "s", "secret": {"secretName": "s"}}, {"name": "e", "emptyDir": {}}],
        container={
            "command": ["/bin/sh", "/hpcbatch/job/script"],
            "volumeMounts": [{"name": "s", "mountPath": "/hpcbatch/job"}, {"name": "e", "mountPath": "/hpcbatch/run"}],
        },
    )
    assert rig.wait_over("p") == (0, "from the secret\n")


def test_termination_message_and_exit_code(rig: Rig) -> None:
    rig.run("p", "printf bye >$HPCBATCH_MOUNTS/dev/termination-log; exit 4")
    pod = rig.wait_phase("p", "Failed")
    end = pod["status"]["containerStatuses"][0]["state"]["terminated"]
    assert (end["exitCode"], end["message"]) == (4, "bye")


def test_pods_that_must_find_each_other_wait_with_the_reason(rig: Rig) -> None:
    rig.run("p", "true", hostname="h", subdomain="s")
    assert rig.wait_event("p", "Failed") == f"Error: {rig.agent.namespaces_unavailable}"
    pod = rig.pod("p")
    assert pod is not None
    assert pod["status"]["phase"] == "Pending"
    waiting = pod["status"]["containerStatuses"][0]["state"]["waiting"]
    assert (waiting["reason"], waiting["message"]) == ("NamespacesUnavailable", rig.agent.namespaces_unavailable)


def test_descendants_end_with_the_main_process(rig: Rig) -> None:
    rig.run("p", f"setsid sh -c 'setsid sleep {SLEEP} & exec sleep {SLEEP}' & sleep 0.2")
    assert rig.wait_over("p")[0] == 0
    assert not sleepers()


def test_delete_kills_all(rig: Rig) -> None:
    rig.run("p", f"setsid setsid sleep {SLEEP} & sleep {SLEEP}")
    wait_for("both", lambda: len(sleepers()) == 2)
    rig.registry.delete(PODS, "p", "default", grace_period_s=0)
    rig.wait_gone("p")
    wait_for("both killed", lambda: not sleepers())


@pytest.mark.parametrize("which", ["stop", "kill"])
def test_nothing_survives_the_engine(rig: Rig, which: str) -> None:
    rig.run("p", f"trap '' TERM; setsid setsid sleep {SLEEP} & sleep {SLEEP}")
    wait_for("both", lambda: len(sleepers()) == 2)
    if which == "stop":
        rig.agent.stop()
    else:
        host = rig.agent._pod_host
        assert host is not None
        os.kill(host.pid, signal.SIGKILL)
        assert rig.wait_phase("p", "Failed")["status"]["reason"] == "ContainerStatusUnknown"
    wait_for("both killed", lambda: not sleepers())
