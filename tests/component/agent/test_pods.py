"""The life of pods on a node of the engine."""

from __future__ import annotations

import base64
import re
import threading
from pathlib import Path
from typing import Any

import pytest

from hpcbatch.api.port import Object
from hpcbatch.api.resources import CONFIGMAPS, LEASES, NODES, PODS, SECRETS
from hpcbatch.units import cpu_milli
from tests.component.agent_rig import SLEEP, Rig, sleepers
from tests.waiting import wait_for


def conditions(pod: Object) -> dict[str, tuple[str, str | None]]:
    return {one["type"]: (one["status"], one.get("reason")) for one in pod["status"]["conditions"]}


def test_nodes_are_registered(rig: Rig) -> None:
    node = rig.registry.get(NODES, "node-1")
    status = node["status"]
    assert status["capacity"]["cpu"] == "8"
    assert status["allocatable"]["memory"] == f"{4 * 2**20}Ki"
    assert {one["type"]: one["status"] for one in status["conditions"]} == {
        "MemoryPressure": "False",
        "DiskPressure": "False",
        "PIDPressure": "False",
        "Ready": "True",
    }
    assert set(status["nodeInfo"]) == {
        "machineID",
        "systemUUID",
        "bootID",
        "kernelVersion",
        "osImage",
        "containerRuntimeVersion",
        "kubeletVersion",
        "kubeProxyVersion",
        "operatingSystem",
        "architecture",
    }
    assert node["metadata"]["labels"]["kubernetes.io/hostname"] == "node-1"
    assert rig.registry.get(LEASES, "node-1", "kube-node-lease")["spec"]["holderIdentity"] == "node-1"


def test_steps_of_a_good_pod(rig: Rig, tmp_path: Path) -> None:
    go = tmp_path / "go"
    watch = rig.registry.watch(PODS, "default", timeout_s=30)
    rig.run("p", f"echo hello; until [ -e {go} ]; do sleep 0.01; done; printf bye >/dev/termination-log")
    seen: list[Object] = []
    for event in watch:
        seen.append(event.object)
        if event.object["status"]["phase"] == "Running":
            go.touch()
        if event.object["status"]["phase"] == "Succeeded":
            break
    watch.close()
    assert [pod["status"]["phase"] for pod in seen] == ["Pending", "Pending", "Running", "Succeeded"]
    _, accepted, running, over = seen
    assert accepted["status"]["containerStatuses"][0]["state"] == {"waiting": {"reason": "ContainerCreating"}}
    assert conditions(accepted)["Ready"] == ("False", "ContainersNotReady")
    assert {kind: status for kind, (status, _) in conditions(running).items()} == {
        "PodReadyToStartContainers": "True",
        "Initialized": "True",
        "Ready": "True",
        "ContainersReady": "True",
    }
    assert running["status"]["podIP"] == running["status"]["hostIP"]
    assert conditions(over) == {
        "PodReadyToStartContainers": ("False", None),
        "Initialized": ("True", "PodCompleted"),
        "Ready": ("False", "PodCompleted"),
        "ContainersReady": ("False", "PodCompleted"),
    }
    container = over["status"]["containerStatuses"][0]
    end = container["state"]["terminated"]
    assert (end["exitCode"], end["reason"], end["message"]) == (0, "Completed", "bye")
    assert (container["ready"], container["started"], container["imageID"]) == (False, False, "")
    assert rig.log("p") == "hello\n"
    assert rig.events("p") == [
        ("Normal", "Pulled", 'Container image "host" already present on machine'),
        ("Normal", "Created", "Created container: main"),
        ("Normal", "Started", "Started container main"),
    ]


@pytest.mark.parametrize(
    ("script", "container", "end"),
    [
        pytest.param("exit 3", {}, {"exitCode": 3, "reason": "Error"}, id="exit code"),
        pytest.param("kill -9 $$$$", {}, {"exitCode": 137, "reason": "Error"}, id="signal"),
        pytest.param(
            "echo a; echo b >&2; exit 1",
            {"terminationMessagePolicy": "FallbackToLogsOnError"},
            {"exitCode": 1, "message": "a\nb\n"},
            id="message from the log",
        ),
        pytest.param(
            "echo a",
            {"terminationMessagePolicy": "FallbackToLogsOnError"},
            {"exitCode": 0, "message": None},
            id="no message from the log of a success",
        ),
        pytest.param(
            "printf x >/tmp-term/log",
            {"terminationMessagePath": "/tmp-term/log"},
            {"exitCode": 0, "message": "x"},
            id="another termination message path",
        ),
        pytest.param(
            "",
            {"command": ["no-such-program"]},
            {"exitCode": 128, "reason": "StartError", "startedAt": "1970-01-01T00:00:00Z"},
            id="no such program",
        ),
    ],
)
def test_ends(rig: Rig, script: str, container: dict[str, Any], end: dict[str, Any]) -> None:
    rig.run("p", script, container=container)
    pod = rig.wait_phase("p", "Succeeded", "Failed")
    assert pod["status"]["phase"] == ("Failed" if end["exitCode"] else "Succeeded")
    have = pod["status"]["containerStatuses"][0]["state"]["terminated"]
    assert {key: have.get(key) for key in end} == end


def test_variables(rig: Rig) -> None:
    registry = rig.registry
    registry.create(CONFIGMAPS, {"metadata": {"name": "c"}, "data": {"K": "from c", "E": "$(X)"}}, "default")
    secret = base64.b64encode(b"geheim").decode()
    registry.create(SECRETS, {"metadata": {"name": "s"}, "data": {"P": secret}}, "default")
    env = [
        {"name": "A", "value": "1"},
        {"name": "B", "value": "$(A)$(NONE)$$(A)"},
        {"name": "C", "valueFrom": {"configMapKeyRef": {"name": "c", "key": "K"}}},
        {"name": "S", "valueFrom": {"secretKeyRef": {"name": "s", "key": "P"}}},
        {"name": "O", "valueFrom": {"secretKeyRef": {"name": "none", "key": "P", "optional": True}}},
        {"name": "N", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
        {"name": "M", "valueFrom": {"resourceFieldRef": {"resource": "limits.memory", "divisor": "1Mi"}}},
        {"name": "WEIRD", "value": "a'b\"c\n$HOME `x`"},
    ]
    container = {
        "env": env,
        "envFrom": [{"prefix": "P_", "configMapRef": {"name": "c"}}],
        "command": ["python3", "-c", "import os, sys; print(dict(os.environ), sys.argv[1:])"],
        "args": ["$(A)", "$(PATH)"],
    }
    rig.run("p", "", container=container)
    code, text = rig.wait_over("p")
    assert code == 0, text
    for part in (
        "'A': '1'",
        "'B': '1$(NONE)$(A)'",
        "'C': 'from c'",
        "'S': 'geheim'",
        "'N': 'node-0'",
        "'M': '4096'",
        "'P_K': 'from c'",
        "'P_E': '$(X)'",
        "'HOSTNAME': 'p'",
        "['1', '$(PATH)']",
        repr("a'b\"c\n$HOME `x`"),
    ):
        assert part in text
    assert "'O'" not in text


HOLDING = "import sys, time; held = bytearray(200 << 20); print('held', flush=True); time.sleep(30)"


def test_memory_limit(rig: Rig) -> None:
    """By control groups where they can be had, else by looking."""
    container = {"command": ["python3", "-c", HOLDING], "resources": {"limits": {"memory": "60Mi"}}}
    rig.run("p", "", container=container)
    pod = rig.wait_phase("p", "Succeeded", "Failed")
    end = pod["status"]["containerStatuses"][0]["state"]["terminated"]
    assert (end["exitCode"], end["reason"]) == (137, "OOMKilled")


def test_what_a_batch_job_runs_is_killed_before_what_watches_over_it(rig: Rig) -> None:
    if not rig.agent.memory_limits.startswith("Memory limits are enforced by looking"):
        pytest.skip("control groups decide whom they kill")
    script = f'setsid --wait python3 -c "{HOLDING}"; echo "ended with $?"; cat $HPCBATCH_MEMORY_EVENTS; exit 3'
    rig.run("p", script, container={"resources": {"limits": {"memory": "60Mi"}}})
    pod = rig.wait_phase("p", "Succeeded", "Failed")
    # the shell's own word of it comes by another stream
    told = r"ended with 137\n(Killed\n)?oom_kill 1\nheld_bytes \d{9}\nlimit_bytes 62914560\n"
    assert re.search(told, rig.log("p"))
    end = pod["status"]["containerStatuses"][0]["state"]["terminated"]
    assert (end["exitCode"], end["reason"]) == (3, "OOMKilled")


@pytest.mark.slow
def test_pages_that_processes_share_count_once(rig: Rig) -> None:
    """As ranks of one host share memory: 100 MiB in each of four is not 400."""
    shared = (
        "import mmap, os, time; held = mmap.mmap(-1, 100 << 20); held.write(b'x' * (100 << 20)); children = []\n"
        "for _ in range(3):\n  pid = os.fork()\n"
        "  if pid == 0:\n    sum(held[at] for at in range(0, 100 << 20, 4096)); time.sleep(4); os._exit(0)\n"
        "time.sleep(5); print('lived')"
    )
    rig.run("p", "", container={"command": ["python3", "-c", shared], "resources": {"limits": {"memory": "250Mi"}}})
    assert rig.wait_over("p") == (0, "lived\n")


# --- several containers, restarts, deadlines ---


def test_init_containers_come_one_after_the_other_and_before_the_others(rig: Rig) -> None:
    shared = {"volumeMounts": [{"name": "e", "mountPath": "/e"}], "image": "host"}
    init = [
        {"name": name, "command": ["sh", "-c", f"echo {name} >>/e/order; sleep 0.05"], **shared}
        for name in ("i1", "i2")
    ]
    main = [{"name": "main", "command": ["sh", "-c", "cat /e/order"], **shared}]
    rig.create("p", main, initContainers=init, volumes=[{"name": "e", "emptyDir": {}}])
    assert rig.wait_over("p") == (0, "i1\ni2\n")
    pod = rig.pod("p")
    assert pod is not None
    assert [one["ready"] for one in pod["status"]["initContainerStatuses"]] == [True, True]


def test_failed_init_container_fails_the_pod(rig: Rig) -> None:
    init = [{"name": "i", "image": "host", "command": ["false"]}]
    rig.create("p", [{"name": "main", "image": "host", "command": ["true"]}], initContainers=init)
    pod = rig.wait_phase("p", "Failed")
    assert pod["status"]["containerStatuses"][0]["state"] == {"waiting": {"reason": "PodInitializing"}}
    assert conditions(pod)["Initialized"] == ("False", "ContainersNotInitialized")


def test_pod_of_two_containers_runs_until_both_have_ended(rig: Rig, tmp_path: Path) -> None:
    script = f"until [ -e {tmp_path}/go ]; do sleep 0.01; done"
    one = {"name": "one", "image": "host", "command": ["false"]}
    two = {"name": "two", "image": "host", "command": ["sh", "-c", script]}
    rig.create("p", [one, two])

    def first_over() -> bool:
        pod = rig.pod("p")
        assert pod is not None
        status = pod["status"]
        return status["phase"] == "Running" and "terminated" in status["containerStatuses"][0]["state"]

    wait_for("the first to end", first_over)
    (tmp_path / "go").touch()
    pod = rig.wait_phase("p", "Failed")
    codes = [one["state"]["terminated"]["exitCode"] for one in pod["status"]["containerStatuses"]]
    assert codes == [1, 0]


def test_restart_on_failure(rig: Rig, tmp_path: Path) -> None:
    count = tmp_path / "count"
    script = f"echo x >>{count}; [ $(wc -l <{count}) -ge 2 ]"
    rig.run("p", script, restartPolicy="OnFailure")
    pod = rig.wait_phase("p", "Succeeded")
    status = pod["status"]["containerStatuses"][0]
    assert status["restartCount"] == 1
    assert status["lastState"]["terminated"]["exitCode"] == 1
    assert rig.agent.log_path(pod, "main", previous=True) is not None


def test_crash_loop_backs_off(rig: Rig) -> None:
    rig.run("p", "false", restartPolicy="Always")
    message = rig.wait_event("p", "BackOff")
    assert message.startswith("Back-off restarting failed container main in pod p_default(")
    pod = wait_for(
        "the waiting state",
        lambda: (pod := rig.pod("p")) and "waiting" in pod["status"]["containerStatuses"][0]["state"] and pod,
    )
    assert pod
    status = pod["status"]["containerStatuses"][0]
    assert status["state"]["waiting"]["reason"] == "CrashLoopBackOff"
    assert status["state"]["waiting"]["message"].startswith(
        "back-off 10s restarting failed container=main pod=p_default("
    )
    assert (status["restartCount"], pod["status"]["phase"]) == (2, "Running")
    rig.registry.delete(PODS, "p", "default")
    rig.wait_gone("p")


def test_active_deadline(rig: Rig) -> None:
    # the trap is to be set by then, on a busy machine too
    rig.run("p", "trap 'exit 4' TERM; while :; do sleep 0.01; done", activeDeadlineSeconds=4)
    pod = rig.wait_phase("p", "Failed")
    assert pod["status"]["reason"] == "DeadlineExceeded"
    assert pod["status"]["message"] == "Pod was active on the node longer than the specified deadline"
    assert pod["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 4


def test_pod_too_large_for_its_node_is_rejected(rig: Rig) -> None:
    rig.run("p", "true", container={"resources": {"requests": {"cpu": "500"}}})
    pod = rig.wait_phase("p", "Failed")
    text = "Node didn't have enough resource: cpu, requested: 500000, used: 0, capacity: 8000"
    assert (pod["status"]["reason"], pod["status"]["message"]) == ("OutOfcpu", f"Pod was rejected: {text}")
    assert "containerStatuses" not in pod["status"]
    assert rig.wait_event("p", "OutOfcpu") == text


# --- resize ---


def resize(rig: Rig, name: str, milli: int, **more: Any) -> None:
    pod = rig.pod(name)
    assert pod is not None
    (container,) = pod["spec"]["containers"]
    asked = {"requests": {"memory": "1Mi", "cpu": f"{milli}m"}, **more}
    spec = {"containers": [{**container, "resources": asked}]}
    rig.registry.patch(PODS, name, {"spec": spec}, "default", subresource="resize")


def granted(rig: Rig, name: str) -> str:
    """The CPU that a pod has, in thousandths, and why that is not what it is to have."""
    pod = rig.pod(name) or {}
    (status,) = pod["status"]["containerStatuses"]
    pending = [one for one in pod["status"]["conditions"] if one["type"] == "PodResizePending"]
    why = "".join(f" {one['reason']}: {one['message']}" for one in pending)
    return f"{cpu_milli(status['allocatedResources']['cpu'])}{why}"


def test_a_pod_gives_its_cpus_back_and_gets_them_again(rig: Rig) -> None:
    """The node grants what it has beside the others, and looks again when it has not."""
    for name in ("p", "q"):
        rig.run(name, "exec sleep 600", container={"resources": {"requests": {"memory": "1Mi", "cpu": "4"}}})
        rig.wait_phase(name, "Running")
    before = (rig.pod("p") or {})["status"]["containerStatuses"][0]["containerID"]
    resize(rig, "p", 0)
    wait_for("p to shrink", lambda: granted(rig, "p") == "0")
    resize(rig, "q", 8000)
    wait_for("q to grow", lambda: granted(rig, "q") == "8000")
    resize(rig, "p", 4000)
    text = "Node didn't have enough resource: cpu, requested: 4000, used: 8000, capacity: 8000"
    wait_for("p to wait", lambda: granted(rig, "p") == f"0 Deferred: {text}")
    rig.registry.delete(PODS, "q", "default", grace_period_s=0)
    wait_for("p to grow", lambda: granted(rig, "p") == "4000")
    resize(rig, "p", 9000)
    text = "Node didn't have enough capacity: cpu, requested: 9000, capacity: 8000"
    wait_for("p to be too large", lambda: granted(rig, "p") == f"4000 Infeasible: {text}")
    resize(rig, "p", 4000, limits={"memory": "1Gi"})
    text = "the embedded engine does not change the memory limit of container main"
    wait_for("its limit", lambda: granted(rig, "p") == f"4000 Infeasible: {text}")
    after = (rig.pod("p") or {})["status"]["containerStatuses"][0]
    assert (after["containerID"], after["restartCount"]) == (before, 0)


# --- deletion ---


def test_graceful_delete(rig: Rig) -> None:
    rig.run("p", "trap 'exit 6' TERM; echo up; while :; do sleep 0.01; done")
    rig.wait_phase("p", "Running")
    wait_for("up", lambda: rig.log("p"))
    pod = rig.pod("p")
    assert pod is not None
    directory = rig.agent.log_path(pod, "main")
    watch = rig.registry.watch(PODS, "default", resource_version=pod["metadata"]["resourceVersion"], timeout_s=30)
    rig.registry.delete(PODS, "p", "default")
    seen = []
    for event in watch:
        seen.append(event)
        if event.type == "DELETED":
            break
    last = [event.object for event in seen if event.object["status"]["phase"] == "Failed"]
    assert last[0]["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 6
    assert rig.events("p")[-1] == ("Normal", "Killing", "Stopping container main")
    wait_for("its files to be removed", lambda: directory is not None and not directory.exists())


def test_deletes_at_once_kill_at_once_and_the_name_is_free(rig: Rig, tmp_path: Path) -> None:
    rig.run("p", f"trap '' TERM; echo $$ >{tmp_path}/up; exec sleep {SLEEP}")
    wait_for("up", (tmp_path / "up").exists)
    rig.registry.delete(PODS, "p", "default", grace_period_s=0)
    rig.run("p", "echo second")
    assert rig.wait_over("p") == (0, "second\n")
    wait_for("the first to be killed", lambda: not sleepers())


def test_delete_before_anything_runs(rig: Rig) -> None:
    for index in range(20):
        rig.run(f"p{index}", f"sleep {SLEEP}")
        rig.registry.delete(PODS, f"p{index}", "default", grace_period_s=1)
    for index in range(20):
        rig.wait_gone(f"p{index}")
    wait_for("all killed", lambda: not sleepers())


def test_many_short_pods_leave_nothing_behind(rig: Rig) -> None:
    def descriptors() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    for name in ("warm", "first"):  # the thread that cleans up is started by the first deletion
        rig.run(name, "true")
        rig.wait_phase(name, "Succeeded")
    rig.registry.delete(PODS, "warm", "default")
    wait_for("its directory to go", lambda: len(list((rig.directory / "pods").iterdir())) == 1)
    before = descriptors(), threading.active_count()
    for index in range(60):
        rig.run(f"p{index}", "true")
    for index in range(60):
        rig.wait_phase(f"p{index}", "Succeeded")
        rig.registry.delete(PODS, f"p{index}", "default")
    wait_for("their directories to go", lambda: len(list((rig.directory / "pods").iterdir())) == 1)
    assert (descriptors(), threading.active_count()) == before


# --- networks ---


def test_pod_of_a_subdomain_has_an_address_and_sshd_configuration(rig: Rig) -> None:
    if rig.agent.namespaces_unavailable:
        pytest.skip(rig.agent.namespaces_unavailable)
    rig.run("p", "hostname; cat /etc/hosts; cat /etc/ssh/sshd_config | grep -c ssh_host", hostname="h", subdomain="s")
    code, text = rig.wait_over("p")
    pod = rig.pod("p")
    assert pod is not None
    ip = pod["status"]["podIP"]
    assert re.fullmatch(r"10(\.\d+){3}", ip)
    assert (code, text) == (0, f"h\n127.0.0.1 localhost\n{ip} h.s h h.s.default.svc.cluster.local\n1\n")


def test_hostname_without_subdomain_and_host_network(rig: Rig) -> None:
    rig.run("p", "hostname; grep -c ' h$' /etc/hosts", hostname="h", hostNetwork=True)
    assert rig.wait_over("p") == (0, "h\n1\n")
