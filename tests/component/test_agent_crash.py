"""The engine is killed while pods run: nothing of them stays, and the next agent writes down what became of them."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from hpcbatch.api.resources import NODES, PODS
from hpcbatch.engine.registry.registry import Registry
from hpcbatch.engine.registry.store import Store
from tests.component.agent_rig import SLEEP, Rig, sleepers
from tests.waiting import wait_for

CHECKOUT = Path(__file__).parents[2]


class Victim:
    """The agent's process and everything below it, and pods made through the store before it starts."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        rig = Rig(directory)
        self.pods(rig)
        rig.registry.store.close()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.component.agent_process", str(directory), "done"],
            stdout=subprocess.PIPE,
            text=True,
            cwd=CHECKOUT,
            start_new_session=True,
        )
        assert self.heard() == "ready"

    def heard(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def pods(self, rig: Rig) -> None:
        mark = self.directory / "mark"
        rig.run(
            "runs",
            f"(setsid sh -c 'setsid sleep {SLEEP} & exec sleep {SLEEP}') & echo up >>{mark}; sleep {SLEEP}",
            hostname="runs",
            subdomain="job",
        )
        rig.run("waits", "true", volumes=[{"name": "v", "configMap": {"name": "none"}}])
        rig.run("mem", f"echo up >>{mark}; sleep {SLEEP}", volumes=[{"name": "m", "emptyDir": {"medium": "Memory"}}])
        rig.run("done", "echo result; exit 0")

    def descendants(self) -> list[int]:
        found, todo = [], [self.process.pid]
        while todo:
            pid = todo.pop()
            try:
                below = [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
                tasks = [path for path in Path(f"/proc/{pid}/task").iterdir() if path.name != str(pid)]
                for task in tasks:
                    below += [int(word) for word in (task / "children").read_text().split()]
            except OSError:
                continue
            found += below
            todo += below
        return found


@pytest.fixture
def victim(tmp_path: Path) -> Iterator[Victim]:
    rig = Rig(tmp_path / "probe").start()
    why = rig.agent.namespaces_unavailable
    rig.stop()
    if why:
        pytest.skip(why)
    victim = Victim(tmp_path / "engine")
    yield victim
    for pid in [*victim.descendants(), victim.process.pid]:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    victim.process.wait()


def namespaces(pids: Iterable[int]) -> set[str]:
    """The namespaces that these processes are in."""
    found = set()
    for pid in pids:
        for name in ("mnt", "net", "pid", "uts", "ipc", "user"):
            try:
                found.add(str(Path(f"/proc/{pid}/ns/{name}").readlink()))
            except OSError:
                continue
    return found


def everybody() -> list[int]:
    return [int(path.name) for path in Path("/proc").glob("[0-9]*")]


@pytest.mark.parametrize("which", ["the agent alone", "all at once"])
def test_killed(tmp_path: Path, which: str) -> None:
    rig = Rig(tmp_path / "probe").start()
    why = rig.agent.namespaces_unavailable
    rig.stop()
    if why:
        pytest.skip(why)
    own = namespaces([os.getpid()])
    victim = Victim(tmp_path / "engine")
    mark = victim.directory / "mark"
    wait_for("both pods to run", lambda: mark.exists() and mark.read_text() == "up\nup\n" and len(sleepers()) == 4)
    assert victim.heard() == "over"
    made = namespaces(victim.descendants()) - own
    assert {name.split(":")[0] for name in made} >= {"mnt", "net", "pid", "uts", "ipc"}
    targets = [victim.process.pid] if which == "the agent alone" else [*victim.descendants(), victim.process.pid]
    for pid in targets:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
    victim.process.wait()
    wait_for("all processes to go", lambda: not sleepers())
    wait_for("all namespaces to go", lambda: not namespaces(everybody()) & made)
    assert str(tmp_path) not in Path("/proc/self/mounts").read_text()

    rig = Rig(victim.directory).start()
    for name in ("runs", "mem"):
        pod = rig.pod(name)
        assert pod is not None
        status = pod["status"]
        assert (status["phase"], status["reason"]) == ("Failed", "ContainerStatusUnknown")
        end = status["containerStatuses"][0]["state"]["terminated"]
        assert (end["exitCode"], end["reason"]) == (137, "ContainerStatusUnknown")
    pod = rig.wait_phase("done", "Succeeded", "Failed")
    assert pod["status"]["phase"] == "Succeeded"
    assert rig.log("done") == "result\n"
    pod = rig.pod("waits")  # never started, so it goes on waiting
    assert pod is not None
    assert pod["status"]["phase"] == "Pending"
    rig.run("new", "echo again")
    assert rig.wait_over("new") == (0, "again\n")
    assert mark.read_text() == "up\nup\n"
    rig.stop()


def test_pods_being_deleted_when_the_engine_was_killed_are_gone_after(victim: Victim) -> None:
    wait_for("a pod to run", (victim.directory / "mark").exists)
    os.kill(victim.process.pid, signal.SIGKILL)
    victim.process.wait()
    registry = Registry(Store(str(victim.directory / "store.db")))
    registry.delete(PODS, "runs", "default")
    registry.delete(PODS, "waits", "default")
    registry.store.close()
    rig = Rig(victim.directory).start()
    rig.wait_gone("runs")
    rig.wait_gone("waits")
    rig.stop()


def test_fewer_nodes_than_before(tmp_path: Path) -> None:
    rig = Rig(tmp_path / "engine")
    rig.registry.create(NODES, {"metadata": {"name": "node-7"}})
    rig.run("lost", "true", nodeName="node-7")
    rig.start()
    rig.wait_gone("lost")
    assert sorted(node["metadata"]["name"] for node in rig.registry.list(NODES).items) == ["node-0", "node-1"]
    rig.stop()


def test_killed_pod_host_fails_its_pods_and_is_started_again(tmp_path: Path) -> None:
    rig = Rig(tmp_path / "engine").start()
    rig.run("p", f"sleep {SLEEP}")
    rig.wait_phase("p", "Running")
    host = rig.agent._pod_host
    assert host is not None
    os.kill(host.pid, signal.SIGKILL)
    pod = rig.wait_phase("p", "Failed")
    assert pod["status"]["reason"] == "ContainerStatusUnknown"
    wait_for("its processes to go", lambda: sleepers() == [])
    rig.run("q", "echo back")
    assert rig.wait_over("q") == (0, "back\n")
    rig.stop()


def test_stop_leaves_nothing(tmp_path: Path) -> None:
    rig = Rig(tmp_path / "engine").start()
    rig.run("p", f"trap 'exit 3' TERM; sleep {SLEEP} & wait")
    rig.run("q", f"trap '' TERM; sleep {SLEEP}", terminationGracePeriodSeconds=600)
    rig.run("waits", "true", volumes=[{"name": "v", "secret": {"secretName": "none"}}])
    for name in ("p", "q"):
        rig.wait_phase(name, "Running")
    rig.wait_event("waits", "FailedMount")
    rig.agent.stop()
    assert not sleepers()
    seen = [(rig.pod(name) or {})["status"] for name in ("p", "q", "waits")]
    assert [status["phase"] for status in seen] == ["Failed", "Failed", "Pending"]
    assert [status.get("reason") for status in seen] == ["Terminated", "Terminated", None]
    codes = [status["containerStatuses"][0]["state"]["terminated"]["exitCode"] for status in seen[:2]]
    assert codes == [3, 137]
    rig.registry.store.close()
    shutil.rmtree(rig.directory)
