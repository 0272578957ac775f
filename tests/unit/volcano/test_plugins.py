"""What comes out of the job plugins, compared with what a real Volcano 1.14.1 made of the same job."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from hpcbatch.volcano.job_objects import build_pod
from hpcbatch.volcano.plugins import BUILTIN, ObjectRef, PluginError, job_plugins
from hpcbatch.volcano.plugins.base import read_flags

OWNER = {
    "apiVersion": "batch.volcano.sh/v1alpha1",
    "kind": "Job",
    "name": "m1",
    "uid": "U",
    "controller": True,
    "blockOwnerDeletion": True,
}


def make_key() -> tuple[str, str]:
    return "PRIVATE\n", "ssh-rsa AAAA\n"


def job(plugins: dict[str, list[str]], **names: str) -> dict[str, Any]:
    def task(name: str, replicas: int, **spec: Any) -> dict[str, Any]:
        template = {"spec": {"containers": [{"name": "main", "image": "x"}], **spec}}
        return {"name": name, "replicas": replicas, "template": template}

    return {
        "metadata": {"name": "m1", "namespace": "rec-vc", "uid": "U"},
        "spec": {
            "queue": "default",
            "schedulerName": "volcano",
            "minAvailable": 3,
            "plugins": plugins,
            "tasks": [
                task("mpimaster", 1),
                task("mpiworker", 2, initContainers=[{"name": "ini", "image": "x"}], **names),
            ],
        },
    }


def objects(given: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {obj["kind"]: obj for plugin in job_plugins(given, make_key) for obj in plugin.on_job_add(given)}


def pod(given: dict[str, Any], task: int = 0, index: int = 0) -> dict[str, Any]:
    return build_pod(given, given["spec"]["tasks"][task], index, job_plugins(given, make_key))


def test_secret() -> None:
    secret = objects(job({"ssh": []}))["Secret"]
    assert secret["metadata"] == {"name": "m1-ssh", "namespace": "rec-vc", "ownerReferences": [OWNER]}
    assert secret["type"] == "Opaque"
    data = {key: base64.b64decode(text).decode() for key, text in secret["data"].items()}
    assert data == {
        "id_rsa": "PRIVATE\n",
        "id_rsa.pub": "ssh-rsa AAAA\n",
        "authorized_keys": "ssh-rsa AAAA\n",
        "config": (
            "StrictHostKeyChecking no\nUserKnownHostsFile /dev/null\n"
            "Host m1-mpimaster-0\n  HostName m1-mpimaster-0.m1\n"
            "Host m1-mpiworker-0\n  HostName m1-mpiworker-0.m1\n"
            "Host m1-mpiworker-1\n  HostName m1-mpiworker-1.m1\n"
        ),
    }
    assert len(data["config"]) == 201, "as recorded"


def test_given_keys_are_taken_as_they_are() -> None:
    secret = objects(job({"ssh": ["--ssh-private-key=PRI", "--ssh-public-key=PUB"]}))["Secret"]
    assert base64.b64decode(secret["data"]["id_rsa"]) == b"PRI"
    assert secret["data"]["id_rsa.pub"] == secret["data"]["authorized_keys"]


def test_config_map_has_no_final_newlines() -> None:
    assert objects(job({"svc": []}))["ConfigMap"]["data"] == {
        "VC_MPIMASTER_HOSTS": "m1-mpimaster-0.m1",
        "VC_MPIMASTER_NUM": "1",
        "VC_MPIWORKER_HOSTS": "m1-mpiworker-0.m1,m1-mpiworker-1.m1",
        "VC_MPIWORKER_NUM": "2",
        "mpimaster.host": "m1-mpimaster-0.m1",
        "mpiworker.host": "m1-mpiworker-0.m1\nm1-mpiworker-1.m1",
    }


def test_dashes_in_task_names() -> None:
    given = job({"svc": []})
    given["metadata"]["name"] = "my-job"
    given["spec"]["tasks"][0]["name"] = "my-task"
    data = objects(given)["ConfigMap"]["data"]
    assert data["VC_MY_TASK_HOSTS"] == data["my_task.host"] == "my-job-my-task-0.my-job"


def test_service_and_network_policy() -> None:
    made = objects(job({"svc": []}))
    own = {"volcano.sh/job-name": "m1", "volcano.sh/job-namespace": "rec-vc"}
    assert made["Service"]["spec"] == {"clusterIP": "None", "selector": own}
    assert made["Service"]["metadata"]["name"] == made["NetworkPolicy"]["metadata"]["name"] == "m1"
    assert made["NetworkPolicy"]["spec"] == {
        "podSelector": {"matchLabels": own},
        "policyTypes": ["Ingress"],
        "ingress": [{"from": [{"podSelector": {"matchLabels": own}}]}],
    }


def test_svc_flags() -> None:
    made = objects(job({"svc": ["--publish-not-ready-addresses=true", "--disable-network-policy=true"]}))
    assert made["Service"]["spec"]["publishNotReadyAddresses"] is True
    assert "NetworkPolicy" not in made


def test_pod_with_ssh_svc_env() -> None:
    given = job({"ssh": [], "svc": [], "env": []})
    made = pod(given, task=1, index=1)
    assert (made["spec"]["hostname"], made["spec"]["subdomain"]) == ("m1-mpiworker-1", "m1")
    refs = [
        {"name": key, "valueFrom": {"configMapKeyRef": {"name": "m1-svc", "key": key}}}
        for key in ("VC_MPIMASTER_HOSTS", "VC_MPIMASTER_NUM", "VC_MPIWORKER_HOSTS", "VC_MPIWORKER_NUM")
    ]
    index = [{"name": "VK_TASK_INDEX", "value": "1"}, {"name": "VC_TASK_INDEX", "value": "1"}]
    mounts = [
        {"name": "m1-ssh", "mountPath": "/root/.ssh", "subPath": ".ssh"},
        {"name": "m1-svc", "mountPath": "/etc/volcano"},
    ]
    for container in (*made["spec"]["containers"], *made["spec"]["initContainers"]):
        assert container["env"] == index + refs
        assert container["volumeMounts"] == mounts
    assert made["spec"]["volumes"] == [
        {
            "name": "m1-ssh",
            "secret": {
                "secretName": "m1-ssh",
                "items": [
                    {"key": "id_rsa", "path": ".ssh/id_rsa"},
                    {"key": "id_rsa.pub", "path": ".ssh/id_rsa.pub"},
                    {"key": "authorized_keys", "path": ".ssh/authorized_keys"},
                    {"key": "config", "path": ".ssh/config"},
                ],
                "defaultMode": 384,
            },
        },
        {"name": "m1-svc", "configMap": {"name": "m1-svc", "defaultMode": 420}},
    ]
    assert "env" not in given["spec"]["tasks"][1]["template"]["spec"]["containers"][0], "the job itself stays"


def test_key_path() -> None:
    made = pod(job({"ssh": ["--ssh-key-file-path=/keys"]}))
    assert made["spec"]["containers"][0]["volumeMounts"][0]["mountPath"] == "/keys"
    assert made["spec"]["volumes"][0]["secret"]["defaultMode"] == 0o644


def test_own_hostname_stands_once() -> None:
    given = job({"svc": [], "ssh": []}, hostname="hh", subdomain="sub")
    made = objects(given)
    assert made["ConfigMap"]["data"]["VC_MPIWORKER_HOSTS"] == "hh.sub"
    assert made["ConfigMap"]["data"]["VC_MPIWORKER_NUM"] == "1"
    assert base64.b64decode(made["Secret"]["data"]["config"]).endswith(b"Host hh\n  HostName hh.sub\n")
    assert (pod(given, 1)["spec"]["hostname"], pod(given, 1)["spec"]["subdomain"]) == ("hh", "sub")


def test_mpi() -> None:
    given = job({"mpi": ["--master=mpimaster", "--worker=mpiworker", "--port=2222"]})
    port = {"name": "mpijob-port", "containerPort": 2222, "protocol": "TCP"}
    master, worker = pod(given, 0)["spec"]["containers"][0], pod(given, 1)["spec"]["containers"][0]
    assert master["env"] == [{"name": "MPI_HOST", "value": "m1-mpiworker-0.m1,m1-mpiworker-1.m1"}]
    assert master["ports"] == worker["ports"] == [port]
    assert "env" not in worker


def with_tasks(plugins: dict[str, list[str]], *tasks: tuple[str, int], **spec: Any) -> dict[str, Any]:
    given = job(plugins)
    template = {"spec": {"containers": [{"name": "main", "image": "x"}], "initContainers": [{"name": "ini"}], **spec}}
    given["spec"]["tasks"] = [{"name": name, "replicas": count, "template": template} for name, count in tasks]
    return given


def values(container: dict[str, Any]) -> dict[str, str]:
    return {variable["name"]: variable["value"] for variable in container.get("env", ())}


def test_pytorch() -> None:
    """Others than master and workers have no rank, and do not count."""
    given = with_tasks({"pytorch": []}, ("master", 1), ("worker", 2), ("logger", 1))
    common = {"MASTER_ADDR": "m1-master-0.m1", "MASTER_PORT": "23456", "WORLD_SIZE": "3"}
    port = {"name": "pytorchjob-port", "containerPort": 23456, "protocol": "TCP"}
    for task, index, rank in ((0, 0, {"RANK": "0"}), (1, 0, {"RANK": "1"}), (1, 1, {"RANK": "2"}), (2, 0, {})):
        spec = pod(given, task, index)["spec"]
        assert values(spec["containers"][0]) == common | rank
        assert spec["containers"][0]["ports"] == [port]
        assert spec["initContainers"] == [{"name": "ini"}]


def test_pytorch_arguments() -> None:
    arguments = [
        "--master=a",
        "--worker=b",
        "--port=5",
        "--wait-master-enabled",
        "--wait-master-timeout=7",
        "--wait-master-image=img",
    ]
    given = with_tasks({"pytorch": arguments}, ("a", 1), ("b", 1), hostname="hh", subdomain="sub")
    spec = pod(given, 1)["spec"]
    assert values(spec["containers"][0]) == {
        "MASTER_ADDR": "hh.sub",
        "MASTER_PORT": "5",
        "WORLD_SIZE": "2",
        "RANK": "1",
    }
    waiter = spec["initContainers"][1]
    assert (waiter["name"], waiter["image"], waiter["command"][:2]) == ("wait-for-master", "img", ["sh", "-c"])
    assert waiter["command"][2].startswith("host=hh.sub port=5 left=7\n")
    assert pod(given, 0)["spec"]["initContainers"] == [{"name": "ini"}], "the master waits for nobody"
    assert "env" not in pod(with_tasks({"pytorch": []}, ("a", 2)))["spec"]["containers"][0], "no master"


def test_tensorflow() -> None:
    """As recorded; a task of no role names itself."""
    roles = ("ps", 1), ("worker", 2), ("chief", 1), ("evaluator", 1), ("other", 1)
    given = with_tasks({"tensorflow": []}, *roles)
    cluster = (
        '{"cluster":{"ps":["m1-ps-0.m1:2222"],"worker":["m1-worker-0.m1:2222","m1-worker-1.m1:2222"],'
        '"chief":["m1-chief-0.m1:2222"],"evaluator":["m1-evaluator-0.m1:2222"]},"task":'
    )
    for task, index, own in (
        (0, 0, '{"type":"ps","index":0}'),
        (1, 1, '{"type":"worker","index":1}'),
        (4, 0, '{"type":"other","index":0}'),
    ):
        spec = pod(given, task, index)["spec"]
        assert values(spec["containers"][0]) == {"TF_CONFIG": f"{cluster}{own}}}"}
        assert spec["initContainers"] == [{"name": "ini"}]
        assert "ports" not in spec["containers"][0]


def test_tensorflow_arguments() -> None:
    given = with_tasks({"tensorflow": ["--ps=a", "--worker=b", "--port=5"]}, ("a", 1), ("b", 1), hostname="hh")
    expected = '{"cluster":{"ps":["hh.m1:5"],"worker":["hh.m1:5"]},"task":{"type":"worker","index":0}}'
    assert values(pod(given, 1)["spec"]["containers"][0]) == {"TF_CONFIG": expected}
    assert "env" not in pod(with_tasks({"tensorflow": []}, ("worker", 1)))["spec"]["containers"][0]
    assert "env" in pod(with_tasks({"tensorflow": []}, ("worker", 2)))["spec"]["containers"][0]


def test_hcclrank() -> None:
    given = with_tasks({"hcclrank": []}, ("master", 2), ("worker", 2), ("other", 1))
    ranks = [
        pod(given, task, index)["metadata"]["annotations"].get("hccl/rankIndex")
        for task, index in ((0, 0), (0, 1), (1, 0), (1, 1), (2, 0))
    ]
    assert ranks == ["0", "1", "2", "3", None]
    given["spec"]["tasks"][1]["template"]["metadata"] = {"annotations": {"hccl/rankIndex": "9"}}
    assert pod(given, 1)["metadata"]["annotations"]["hccl/rankIndex"] == "9"
    both = with_tasks({"hcclrank": [], "pytorch": []}, ("master", 1), ("worker", 2))
    assert pod(both, 1, 1)["metadata"]["annotations"]["hccl/rankIndex"] == "2"
    named = with_tasks({"hcclrank": ["--master=a", "--worker=b"]}, ("a", 1), ("b", 1))
    assert pod(named, 1)["metadata"]["annotations"]["hccl/rankIndex"] == "1"


def test_ray() -> None:
    """Only containers of the names are changed."""
    arguments = ["--headContainer=main", "--port=1", "--dashboardPort=2", "--clientPort=3"]
    given = with_tasks({"ray": arguments}, ("head", 1), ("worker", 1))
    ports = [("gcs", 1), ("dashboard", 2), ("client-server", 3)]
    head, worker = (pod(given, task)["spec"]["containers"][0] for task in (0, 1))
    assert head["command"] == [
        "sh",
        "-c",
        ("ray start --head --block --dashboard-host=0.0.0.0 --port=1 --dashboard-port=2 --ray-client-server-port=3"),
    ]
    assert [(port["name"], port["containerPort"]) for port in head["ports"]] == ports
    assert worker == {"name": "main", "image": "x"}
    given["spec"]["plugins"]["ray"].append("--workerContainer=main")
    assert pod(given, 1)["spec"]["containers"][0]["command"] == [
        "sh",
        "-c",
        "ray start --block --address=m1-head-0.m1:1",
    ]
    service = objects(given)["Service"]
    assert service["metadata"]["name"] == "m1-head-svc"
    assert service["spec"]["selector"]["volcano.sh/task-spec"] == "head"
    assert [(port["name"], port["port"], port["targetPort"]) for port in service["spec"]["ports"]] == [
        (name, number, name) for name, number in ports
    ]


def test_ray_without_a_head() -> None:
    with pytest.raises(PluginError, match=r"^job m1 doesn't have head task head$"):
        pod(with_tasks({"ray": []}, ("worker", 1)))


def test_without_plugins_nothing_is_added() -> None:
    spec = pod(job({}))["spec"]
    assert spec.keys() == {"containers", "schedulerName"}


def test_references_on_deletion() -> None:
    given = job({"ssh": [], "svc": []})
    refs = [ref for plugin in job_plugins(given, make_key) for ref in plugin.on_job_delete(given)]
    assert refs == [
        ObjectRef("Secret", "m1-ssh"),
        ObjectRef("ConfigMap", "m1-svc"),
        ObjectRef("Service", "m1"),
        ObjectRef("NetworkPolicy", "m1"),
    ]
    assert {(ref.kind, ref.name) for ref in refs} == {
        (kind, obj["metadata"]["name"]) for kind, obj in objects(given).items()
    }


@pytest.mark.parametrize("name", sorted(BUILTIN))
def test_every_plugin_has_its_name(name: str) -> None:
    plugin = BUILTIN[name]([], make_key)
    assert plugin.name == name
    assert plugin.on_job_update(job({name: []})) == [] or name == "svc"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--text=x", "-number", "7", "--flag"], ("x", 7, True)),
        (["-text", "x", "--flag=false"], ("x", 1, False)),
        (["--unknown=1", "--text=x"], ("d", 1, False)),
        (["--text=x", "--number=seven", "--flag"], ("x", 1, False)),
        (["--flag=maybe", "--text=x"], ("d", 1, False)),
        (["word", "--text=x"], ("d", 1, False)),
        (["--text"], ("d", 1, False)),
        (["--text="], ("", 1, False)),
        ([], ("d", 1, False)),
    ],
    ids=[
        "all forms",
        "blank",
        "unknown ends it",
        "bad number ends it",
        "bad boolean",
        "no flag",
        "no value",
        "empty",
        "none",
    ],
)
def test_flags_as_go_reads_them(arguments: list[str], expected: tuple[object, ...]) -> None:
    assert tuple(read_flags(arguments, {"text": "d", "number": 1, "flag": False}).values()) == expected
