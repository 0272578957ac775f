"""The job plugins and their arguments: what they put into pods and beside them."""

from __future__ import annotations

import base64
import re
from typing import Any

import pytest

from tests.conformance.volcano_site import IMAGE, WORKER, Object, Volcano, job, on, task

ROOT = {"securityContext": {"runAsUser": 0}}  # whose keys the plugin makes, whatever the image says
SSHD = "mkdir -p /run/sshd; ssh-keygen -A >/dev/null; trap 'exit 0' TERM; /usr/sbin/sshd -D & wait"
LOOK = r"""
echo "hostname=$(hostname)"
echo "VK=$VK_TASK_INDEX VC=$VC_TASK_INDEX MINE=$MINE"
env | grep -E '^VC_(MASTER|MY)_' | sort
cd /etc/volcano && for file in *; do printf '%s=%s\n' "$file" "$(od -An -c "$file" | tr -d ' \n')"; done
( : > /etc/volcano/mine ) 2>/dev/null || echo read-only
"""
OVER_SSH = r"""
for host in $(cat /etc/volcano/my_worker.host); do
  tries=0
  until answer=$(ssh "$host" 'hostname; echo "from ${SSH_CLIENT%% *}" >/dev/null' 2>/dev/null); do
    tries=$((tries + 1)); [ $tries -lt 120 ] || exit 1; sleep 0.5
  done
  echo "ssh=$answer"
done
"""
PRIVATE, PUBLIC = "-----BEGIN RSA PRIVATE KEY-----\nnone\n-----END RSA PRIVATE KEY-----\n", "ssh-rsa AAAA given\n"
SAY_TORCH = 'echo "$MASTER_ADDR $MASTER_PORT $WORLD_SIZE [$RANK]"'
SAY_TF = 'echo "[$TF_CONFIG]"'
NOWHERE = {"nodeSelector": {"no-such": "node"}}
# A small program takes the place of Ray.
TOOLS = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "tools"},
    "data": {"ray": '#!/bin/sh\necho "ray $*"\n'},
}
WITH_RAY = {"volumes": [{"name": "tools", "configMap": {"name": "tools", "defaultMode": 0o755}}]}


def ray_container(name: str) -> Object:
    return {
        "name": name,
        "env": [{"name": "PATH", "value": "/tools:/usr/bin:/bin"}],
        "volumeMounts": [{"name": "tools", "mountPath": "/tools"}],
    }


STAY = "sleep 15\n"
"""Time to look at what lies beside the job while it runs, on a busy machine too."""

JOBS = {
    "whole": job(
        "whole",
        task(
            "master",
            LOOK + OVER_SSH + STAY,
            policies=[on("TaskCompleted", "CompleteJob")],
            pod=ROOT,
            metadata={"labels": {"pl": "p1"}, "annotations": {"pa": "a1"}},
            container={
                "env": [{"name": "MINE", "value": "1"}],
                "resources": {"requests": {"cpu": "50m", "memory": "20Mi"}, "limits": {"memory": "200Mi"}},
            },
        ),
        task("my-worker", SSHD, 2, pod=ROOT),
        labels={"my-label": "x"},
        annotations={"my-ann": "y z"},
        plugins={"ssh": [], "svc": [], "env": []},
    ),
    "arguments": job(
        "arguments",
        task("a", "stat -L -c '%n %a' /keys/* | sort"),
        plugins={
            "svc": ["--publish-not-ready-addresses=true", "--disable-network-policy=true"],
            "ssh": ["--ssh-key-file-path=/keys", f"--ssh-private-key={PRIVATE}", f"--ssh-public-key={PUBLIC}"],
        },
    ),
    "ignored": job(
        "ignored",
        task("a", "env | grep -c '^VC_TASK_INDEX=0$'"),
        plugins={"env": ["--nonsense"], "svc": ["--nosuch=1"]},
    ),
    "mpi": job(
        "mpi",
        task("master", 'echo "$MPI_HOST"'),
        task("worker", WORKER, 2),
        plugins={"mpi": ["--port=2222"]},
        policies=[on("TaskCompleted", "CompleteJob")],
    ),
    "torch": job(
        "torch",
        task("master", SAY_TORCH),
        task("worker", SAY_TORCH, 2),
        task("other", SAY_TORCH),
        plugins={"pytorch": ["--port=29501"], "hcclrank": []},
    ),
    # nobody is placed: what would wait for the master needs nc, which an image may lack
    "waits": job(
        "waits",
        task("boss", "true", pod=NOWHERE),
        task("hand", "true", pod=NOWHERE),
        plugins={
            "pytorch": [
                "--master=boss",
                "--worker=hand",
                "--wait-master-enabled=true",
                "--wait-master-timeout=7",
                f"--wait-master-image={IMAGE}",
            ]
        },
    ),
    "flow": job(
        "flow",
        task("server", SAY_TF),
        task("worker", SAY_TF, 2),
        task("chief", SAY_TF),
        task("other", SAY_TF),
        plugins={"tensorflow": ["--ps=server"]},
    ),
    "alone": job("alone", task("worker", SAY_TF), plugins={"tensorflow": []}),
    "hccl": job("hccl", task("master", "true"), task("worker", "true", 2), plugins={"hcclrank": []}),
    "ray": job(
        "ray",
        task("head", "exit 1", pod=WITH_RAY, container=ray_container("head")),
        task("worker", "exit 1", pod=WITH_RAY, container=ray_container("worker")),
        task("other", "echo other"),
        plugins={"ray": ["--port=7000"]},
    ),
    "named": job("named", task("a", "hostname", pod={"hostname": "hh"}), plugins={"svc": []}),
}


@pytest.fixture(scope="module")
def running(volcano: Volcano) -> Volcano:
    volcano.create(TOOLS, *JOBS.values())
    return volcano


@pytest.fixture(scope="module")
def beside(running: Volcano) -> dict[str, Object]:
    """What lies beside the job `whole` while it runs, by kind."""
    running.pod_record.wait("its pods", lambda: len(running.pods("whole")) == 3)
    names = {"service": "whole", "networkpolicy": "whole", "configmap": "whole-svc", "secret": "whole-ssh"}
    return {kind: running.get(kind, name) for kind, name in names.items()}


def test_they_belong_to_the_job(running: Volcano, beside: dict[str, Object]) -> None:
    uid = running.job("whole")["metadata"]["uid"]
    owner = {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "name": "whole",
        "uid": uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
    for obj in beside.values():
        assert obj["metadata"]["ownerReferences"] == [owner]
        assert obj["metadata"].keys().isdisjoint({"labels", "annotations"})


def test_service_and_network_policy(running: Volcano, beside: dict[str, Object]) -> None:
    selector = {"volcano.sh/job-name": "whole", "volcano.sh/job-namespace": running.namespace}
    service = beside["service"]["spec"]
    assert (service["clusterIP"], service["selector"]) == ("None", selector)
    assert service.keys().isdisjoint({"ports", "publishNotReadyAddresses"})
    assert beside["networkpolicy"]["spec"] == {
        "podSelector": {"matchLabels": selector},
        "policyTypes": ["Ingress"],
        "ingress": [{"from": [{"podSelector": {"matchLabels": selector}}]}],
    }


def test_host_lists(beside: dict[str, Object]) -> None:
    assert beside["configmap"]["data"] == {
        "VC_MASTER_HOSTS": "whole-master-0.whole",
        "VC_MASTER_NUM": "1",
        "master.host": "whole-master-0.whole",
        "VC_MY_WORKER_HOSTS": "whole-my-worker-0.whole,whole-my-worker-1.whole",
        "VC_MY_WORKER_NUM": "2",
        "my_worker.host": "whole-my-worker-0.whole\nwhole-my-worker-1.whole",
    }


def test_keys(beside: dict[str, Object]) -> None:
    secret = beside["secret"]
    assert secret["type"] == "Opaque"
    texts = {key: base64.b64decode(value).decode() for key, value in secret["data"].items()}
    assert texts.keys() == {"id_rsa", "id_rsa.pub", "authorized_keys", "config"}
    assert texts["id_rsa"].startswith("-----BEGIN RSA PRIVATE KEY-----\n")
    assert re.fullmatch(r"ssh-rsa [A-Za-z0-9+/=]+\n", texts["id_rsa.pub"])
    assert texts["authorized_keys"] == texts["id_rsa.pub"]
    hosts = ("master-0", "my-worker-0", "my-worker-1")
    assert texts["config"] == "StrictHostKeyChecking no\nUserKnownHostsFile /dev/null\n" + "".join(
        f"Host whole-{host}\n  HostName whole-{host}.whole\n" for host in hosts
    )


def test_pod(running: Volcano, beside: dict[str, Object]) -> None:
    pod = running.pods("whole")["master-0"]
    assert pod["metadata"]["labels"]["pl"] == "p1"
    assert pod["metadata"]["annotations"]["pa"] == "a1"
    assert pod["metadata"]["labels"].keys().isdisjoint({"my-label"})
    assert (pod["spec"]["hostname"], pod["spec"]["subdomain"]) == ("whole-master-0", "whole")
    main = pod["spec"]["containers"][0]
    refs = {e["name"]: e["valueFrom"]["configMapKeyRef"] for e in main["env"] if "valueFrom" in e}
    assert refs == {
        name: {"name": "whole-svc", "key": name}
        for name in ("VC_MASTER_HOSTS", "VC_MASTER_NUM", "VC_MY_WORKER_HOSTS", "VC_MY_WORKER_NUM")
    }
    assert main["env"][0] == {"name": "MINE", "value": "1"}
    assert {e["name"]: e["value"] for e in main["env"] if "value" in e} == {
        "MINE": "1",
        "VK_TASK_INDEX": "0",
        "VC_TASK_INDEX": "0",
    }
    assert mounts(pod) >= {("whole-ssh", "/root/.ssh", ".ssh"), ("whole-svc", "/etc/volcano", "")}
    volumes = {volume["name"]: volume for volume in pod["spec"]["volumes"]}
    assert volumes["whole-svc"]["configMap"] == {"name": "whole-svc", "defaultMode": 0o644}
    assert volumes["whole-ssh"]["secret"] == {
        "secretName": "whole-ssh",
        "defaultMode": 0o600,
        "items": [{"key": key, "path": f".ssh/{key}"} for key in ("id_rsa", "id_rsa.pub", "authorized_keys", "config")],
    }


def mounts(pod: Object) -> set[tuple[str, str, str]]:
    main: dict[str, Any] = pod["spec"]["containers"][0]
    return {(mount["name"], mount["mountPath"], mount.get("subPath", "")) for mount in main["volumeMounts"]}


def test_pod_group(running: Volcano) -> None:
    name = f"whole-{running.job('whole')['metadata']['uid']}"
    group = running.groups.wait("the PodGroup of whole", lambda: running.groups.history(name))[-1]  # gone with the job
    assert group["metadata"]["labels"] == {"my-label": "x"}
    assert group["metadata"]["annotations"] == {"my-ann": "y z"}
    assert group["spec"] == {
        "minMember": 3,
        "minTaskMember": {"master": 1, "my-worker": 2},
        "queue": "default",
        "minResources": {
            "count/pods": "3",
            "pods": "3",
            "cpu": "150m",
            "memory": "20Mi",
            "limits.memory": "200Mi",
            "requests.cpu": "150m",
            "requests.memory": "20Mi",
        },
    }


@pytest.mark.slow
def test_in_the_pod(running: Volcano) -> None:
    running.wait_phase("whole", "Completed")
    text = running.logs("whole-master-0")
    first, second = "whole-my-worker-0.whole", "whole-my-worker-1.whole"
    for line in (
        "hostname=whole-master-0",
        "VK=0 VC=0 MINE=1",
        f"VC_MY_WORKER_HOSTS={first},{second}",
        "VC_MASTER_NUM=1",
        f"my_worker.host={first}\\n{second}",  # od's two characters for the newline between, none at the end
        "master.host=whole-master-0.whole",
        "VC_MY_WORKER_NUM=2",
        "read-only",
        "ssh=whole-my-worker-0",
        "ssh=whole-my-worker-1",
    ):
        assert line in text.splitlines(), text
    running.wait_pods("whole", {"master-0": "Succeeded"})


def test_controlled_resources(running: Volcano) -> None:
    """Named in the status while they are there; gone, as they are, at the end."""
    running.wait_phase("whole", "Completed")
    named = [state.get("status", {}).get("controlledResources") for state in running.jobs.history("whole")]
    assert {"plugin-env": "env", "plugin-ssh": "ssh", "plugin-svc": "svc"} in named
    running.jobs.wait("none", lambda: "controlledResources" not in running.job("whole")["status"])
    kinds = "services,configmaps,secrets,networkpolicies"
    assert [name for name in running.names(kinds) if name.startswith("whole")] == []


def test_arguments(running: Volcano) -> None:
    running.pod_record.wait("its pod", lambda: running.pods("arguments"))
    pod = running.pod_record.history("arguments-a-0")[0]
    assert ("arguments-ssh", "/keys", ".ssh") in mounts(pod)
    volume = next(volume for volume in pod["spec"]["volumes"] if volume["name"] == "arguments-ssh")
    assert volume["secret"]["defaultMode"] == 0o644
    running.wait_phase("arguments", "Completed")
    assert running.logs("arguments-a-0").splitlines() == [
        f"/keys/{name} 644" for name in ("authorized_keys", "config", "id_rsa", "id_rsa.pub")
    ]


def test_unknown_arguments_are_ignored(running: Volcano) -> None:
    running.wait_phase("ignored", "Completed")
    assert running.logs("ignored-a-0") == "1\n"


def test_mpi(running: Volcano) -> None:
    """It brings svc and ssh; the master is told its workers, every pod has the port."""
    running.wait_phase("mpi", "Completed")
    assert running.job("mpi")["spec"]["plugins"] == {"mpi": ["--port=2222"], "ssh": [], "svc": []}
    assert running.logs("mpi-master-0") == "mpi-worker-0.mpi,mpi-worker-1.mpi\n"
    for name in ("mpi-master-0", "mpi-worker-1"):
        main = running.pod_record.history(name)[0]["spec"]["containers"][0]
        assert main["ports"] == [{"name": "mpijob-port", "containerPort": 2222, "protocol": "TCP"}]


def test_pytorch(running: Volcano) -> None:
    """It brings svc. Only master and workers have a rank, and count; hcclrank takes it over."""
    running.wait_phase("torch", "Completed")
    assert running.job("torch")["spec"]["plugins"] == {"pytorch": ["--port=29501"], "hcclrank": [], "svc": []}
    ranks = {"master-0": "0", "worker-0": "1", "worker-1": "2", "other-0": ""}
    for name, rank in ranks.items():
        assert running.logs(f"torch-{name}") == f"torch-master-0.torch 29501 3 [{rank}]\n"
        pod = running.pod_record.history(f"torch-{name}")[0]
        assert pod["metadata"]["annotations"].get("hccl/rankIndex", "") == rank
        port = {"name": "pytorchjob-port", "containerPort": 29501, "protocol": "TCP"}
        assert pod["spec"]["containers"][0]["ports"] == [port]


def test_workers_that_wait_for_the_master(running: Volcano) -> None:
    running.pod_record.wait("its pods", lambda: len(running.pods("waits")) == 2)
    pods = running.pods("waits")
    (waiter,) = pods["hand-0"]["spec"]["initContainers"]
    assert (waiter["name"], waiter["image"], waiter["command"][:2]) == ("wait-for-master", IMAGE, ["sh", "-c"])
    script = waiter["command"][2]
    assert all(word in script for word in ("waits-boss-0.waits", "23456", "7")), script
    assert "initContainers" not in pods["boss-0"]["spec"]


def test_tensorflow(running: Volcano) -> None:
    running.wait_phase("flow", "Completed")
    assert running.job("flow")["spec"]["plugins"] == {"tensorflow": ["--ps=server"], "svc": []}
    cluster = (
        '"cluster":{"ps":["flow-server-0.flow:2222"],"worker":["flow-worker-0.flow:2222","flow-worker-1.flow:2222"],'
        '"chief":["flow-chief-0.flow:2222"]}'
    )
    for name, own in {
        "server-0": '{"type":"ps","index":0}',
        "worker-1": '{"type":"worker","index":1}',
        "chief-0": '{"type":"chief","index":0}',
        "other-0": '{"type":"other","index":0}',
    }.items():
        assert running.logs(f"flow-{name}") == f'[{{{cluster},"task":{own}}}]\n'
        assert "ports" not in running.pod_record.history(f"flow-{name}")[0]["spec"]["containers"][0]
    running.wait_phase("alone", "Completed")
    assert running.logs("alone-worker-0") == "[]\n", "the one pod of a job is no cluster"


def test_hcclrank(running: Volcano) -> None:
    running.wait_phase("hccl", "Completed")
    for name, rank in {"master-0": "0", "worker-0": "1", "worker-1": "2"}.items():
        assert running.pod_record.history(f"hccl-{name}")[0]["metadata"]["annotations"]["hccl/rankIndex"] == rank
    assert running.job("hccl")["spec"]["plugins"] == {"hcclrank": []}, "it brings no svc"


def test_ray(running: Volcano) -> None:
    """It replaces the command of containers of its names; a Service leads to the head."""
    running.pod_record.wait("its pods", lambda: len(running.pod_record.history("ray-other-0")))
    running.wait_phase("ray", "Completed")
    ports = {"gcs": 7000, "dashboard": 8265, "client-server": 10001}
    assert running.logs("ray-head-0") == (
        "ray start --head --block --dashboard-host=0.0.0.0 --port=7000 --dashboard-port=8265 "
        "--ray-client-server-port=10001\n"
    )
    assert running.logs("ray-worker-0") == "ray start --block --address=ray-head-0.ray:7000\n"
    assert running.logs("ray-other-0") == "other\n"
    head = running.pod_record.history("ray-head-0")[0]["spec"]["containers"][0]
    assert {port["name"]: port["containerPort"] for port in head["ports"]} == ports
    named = [state.get("status", {}).get("controlledResources") for state in running.jobs.history("ray")]
    assert {"plugin-ray": "ray", "plugin-svc": "svc"} in named


def test_a_host_name_of_the_template(running: Volcano) -> None:
    running.wait_phase("named", "Completed")
    assert running.logs("named-a-0") == "hh\n"
    refs = {
        e["name"]
        for e in running.pod_record.history("named-a-0")[0]["spec"]["containers"][0]["env"]
        if "valueFrom" in e
    }
    assert refs == {"VC_A_HOSTS", "VC_A_NUM"}
