"""The official Python client against the API server: its models refuse answers that lack a field."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from kubernetes import client, config, dynamic, utils, watch

from hpcbatch.api import resources
from tests.component.api_server import Cluster, batch_job, cluster, pod_body

NODE_STATUS = {
    "capacity": {"cpu": "2", "memory": "4Gi", "pods": "250"},
    "conditions": [{"type": "Ready", "status": "True"}],
    "nodeInfo": dict.fromkeys(
        [
            "architecture",
            "bootID",
            "containerRuntimeVersion",
            "kernelVersion",
            "kubeProxyVersion",
            "kubeletVersion",
            "machineID",
            "operatingSystem",
            "osImage",
            "systemUUID",
        ],
        "x",
    ),
}


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with cluster(tmp_path_factory.mktemp("client")) as running:
        yield running


@pytest.fixture
def core(api: Cluster) -> client.CoreV1Api:
    return client.CoreV1Api(config.new_client_from_config(str(api.kubeconfig)))


@pytest.fixture
def custom(api: Cluster) -> client.CustomObjectsApi:
    return client.CustomObjectsApi(config.new_client_from_config(str(api.kubeconfig)))


def test_pods(api: Cluster, core: client.CoreV1Api) -> None:
    container = client.V1Container(name="main", image="img:1", command=["true"])
    body = client.V1Pod(metadata=client.V1ObjectMeta(name="p1"), spec=client.V1PodSpec(containers=[container]))
    made = core.create_namespaced_pod("default", body)
    assert made.status.phase == "Pending"
    assert [item.metadata.name for item in core.list_namespaced_pod("default").items] == ["p1"]
    core.patch_namespaced_pod("p1", "default", {"metadata": {"labels": {"a": "b"}}})
    core.patch_namespaced_pod_status("p1", "default", {"status": {"phase": "Running"}})
    assert core.read_namespaced_pod("p1", "default").status.phase == "Running"
    assert core.list_pod_for_all_namespaces(label_selector="a=b", limit=1).items[0].metadata.name == "p1"
    patch = [{"op": "add", "path": "/metadata/labels/c", "value": "d"}]
    core.api_client.set_default_header("Content-Type", "application/json-patch+json")
    assert core.patch_namespaced_pod("p1", "default", patch).metadata.labels == {"a": "b", "c": "d"}
    core.delete_namespaced_pod("p1", "default")
    with pytest.raises(client.ApiException) as caught:
        core.read_namespaced_pod("p1", "default")
    assert (caught.value.status, caught.value.reason) == (404, "Not Found")


def test_the_other_core_kinds(api: Cluster, core: client.CoreV1Api) -> None:
    core.create_namespaced_config_map("default", client.V1ConfigMap(metadata={"name": "c"}, data={"a": "b"}))
    core.create_namespaced_secret("default", client.V1Secret(metadata={"name": "s"}, string_data={"a": "b"}))
    assert core.read_namespaced_secret("s", "default").data == {"a": "Yg=="}
    spec = client.V1ServiceSpec(cluster_ip="None", selector={"a": "b"})
    core.create_namespaced_service("default", client.V1Service(metadata={"name": "svc"}, spec=spec))
    assert core.read_namespaced_service("svc", "default").spec.cluster_ip == "None"
    core.create_namespace(client.V1Namespace(metadata={"name": "n"}))
    assert {item.metadata.name for item in core.list_namespace().items} >= {"default", "n"}
    core.delete_namespace("n")
    api.registry.create(resources.NODES, {"metadata": {"name": "node-0"}, "status": NODE_STATUS})
    api.registry.patch(resources.NODES, "node-0", {"status": NODE_STATUS}, subresource="status")
    assert core.list_node().items[0].status.node_info.kernel_version == "x"
    pod = api.registry.create(resources.PODS, pod_body("e"), "default")
    api.registry.record_event(pod, type="Normal", reason="R", message="m", component="c")
    assert [event.message for event in core.list_namespaced_event("default").items] == ["m"]
    assert core.replace_namespaced_config_map("c", "default", client.V1ConfigMap(metadata={"name": "c"})).data is None
    core.delete_collection_namespaced_config_map("default")
    assert core.list_namespaced_config_map("default").items == []


def test_custom_objects(custom: client.CustomObjectsApi) -> None:
    where = ("hpcbatch.io", "v1alpha1", "default", "batchjobs")
    made = custom.create_namespaced_custom_object(*where, batch_job("b1"))
    assert made["spec"]["arrangement"] == "free"
    patched = custom.patch_namespaced_custom_object(*where, "b1", {"spec": {"hold": True}})
    assert patched["metadata"]["generation"] == 2
    custom.patch_namespaced_custom_object_status(*where, "b1", {"status": {"state": "Held", "jobId": "1"}})
    listed = custom.list_namespaced_custom_object(*where, field_selector="status.state=Held")
    assert [item["metadata"]["name"] for item in listed["items"]] == ["b1"]
    made["metadata"]["resourceVersion"] = "1"
    with pytest.raises(client.ApiException) as caught:
        custom.replace_namespaced_custom_object(*where, "b1", made)
    assert caught.value.status == 409
    with pytest.raises(client.ApiException) as caught:
        custom.patch_namespaced_custom_object(*where, "b1", [{"op": "add", "path": "/x", "value": 1}])
    assert (caught.value.status, "cannot unmarshal array" in caught.value.body) == (400, True)
    assert custom.delete_namespaced_custom_object(*where, "b1")["status"] == "Success"


def test_watch(api: Cluster, core: client.CoreV1Api) -> None:
    api.registry.create(resources.PODS, pod_body("w1"), "default")
    seen: list[tuple[str, str]] = []

    def change() -> None:
        api.registry.create(resources.PODS, pod_body("w2"), "default")
        api.registry.delete(resources.PODS, "w1", "default")

    stream = watch.Watch()
    for event in stream.stream(core.list_namespaced_pod, "default", timeout_seconds=20):
        name = event["object"].metadata.name
        if not name.startswith("w"):
            continue
        seen.append((event["type"], name))
        if len(seen) == 1:
            threading.Timer(0.1, change).start()
        if len(seen) == 3:
            stream.stop()
    assert seen == [("ADDED", "w1"), ("ADDED", "w2"), ("DELETED", "w1")]


def test_watch_too_old(api: Cluster, core: client.CoreV1Api) -> None:
    stream = watch.Watch()
    with pytest.raises(client.ApiException) as caught:
        list(stream.stream(core.list_namespaced_pod, "default", resource_version="99999999", timeout_seconds=5))
    assert caught.value.status == 410


def test_logs(api: Cluster, core: client.CoreV1Api) -> None:
    api.registry.create(resources.PODS, pod_body("log", nodeName="n"), "default")
    status: dict[str, Any] = {"phase": "Succeeded"}
    api.registry.patch(resources.PODS, "log", {"status": status}, "default", subresource="status")
    (api.directory / "log-main.log").write_text(
        "2026-11-21T10:00:00.1Z stdout F a\n2026-11-21T10:00:00.2Z stdout F b\n"
    )
    assert core.read_namespaced_pod_log("log", "default") == "a\nb\n"
    lines = list(watch.Watch().stream(core.read_namespaced_pod_log, "log", "default"))
    assert lines == ["a", "b"]


def test_dynamic_client_and_version(api: Cluster, core: client.CoreV1Api, tmp_path: Any) -> None:
    found = dynamic.DynamicClient(core.api_client, cache_file=str(tmp_path / "cache"))
    queues = found.resources.get(api_version="scheduling.volcano.sh/v1beta1", kind="Queue")
    assert {item.metadata.name for item in queues.get().items} == {"default", "root"}
    maps = found.resources.get(api_version="v1", kind="ConfigMap")
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "ssa"}, "data": {"a": "b"}}
    done = maps.server_side_apply(body, name="ssa", namespace="default", field_manager="me", force_conflicts=True)
    assert done.data.a == "b"
    assert client.VersionApi(core.api_client).get_code().major == "1"


def test_create_from_yaml(api: Cluster, core: client.CoreV1Api) -> None:
    utils.create_from_dict(core.api_client, pod_body("y1"), namespace="default")
    with pytest.raises(utils.FailToCreateError, match="already exists"):
        utils.create_from_dict(core.api_client, pod_body("y1"), namespace="default")
