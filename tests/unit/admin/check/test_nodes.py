"""Nodes: ready, cordoned, of one architecture."""

from hpcbatch.admin.check import nodes
from hpcbatch.admin.check.finding import Level
from hpcbatch.api.port import Object


def node(name: str = "n", *, ready: str = "True", arch: str = "amd64", message: str = "", **spec: object) -> Object:
    condition = {"type": "Ready", "status": ready, "reason": "KubeletReady", "message": message}
    return {
        "metadata": {"name": name},
        "spec": spec,
        "status": {"conditions": [condition], "nodeInfo": {"operatingSystem": "linux", "architecture": arch}},
    }


def levels(*found: Object) -> list[Level]:
    return [finding.level for finding in nodes.judge_nodes(found)]


def test_all_ready() -> None:
    findings = list(nodes.judge_nodes([node("a"), node("b")]))
    assert [f.seen for f in findings] == ["2 of 2 ready", "linux/amd64"]
    assert all(f.level is Level.OK for f in findings)


def test_one_not_ready_is_named_with_its_reason() -> None:
    findings = list(nodes.judge_nodes([node("a"), node("b", ready="Unknown", message="Kubelet stopped posting.")]))
    assert [f.level for f in findings] == [Level.OK, Level.WARNING, Level.OK]
    assert findings[1].subject == "node b"
    assert findings[1].seen == "not ready: Kubelet stopped posting."


def test_a_node_that_never_reported() -> None:
    findings = list(nodes.judge_nodes([node("a"), {"metadata": {"name": "new"}}]))
    assert findings[1].seen == "not ready: its kubelet has not reported yet"


def test_no_usable_node() -> None:
    assert levels() == [Level.ERROR]
    assert levels(node(unschedulable=True))[0] is Level.ERROR
    assert levels(node(ready="False"))[0] is Level.ERROR


def test_mixed_architectures() -> None:
    findings = list(nodes.judge_nodes([node("a"), node("b", arch="arm64"), node("c", arch="arm64")]))
    assert findings[-1].level is Level.WARNING
    assert findings[-1].seen == "1 linux/amd64, 2 linux/arm64"


def test_virtual_nodes_have_no_architecture() -> None:
    assert [f.seen for f in nodes.judge_nodes([node("a"), node("b", arch="")])][-1] == "linux/amd64"


def test_takes_pods() -> None:
    assert nodes.takes_pods(node())
    assert nodes.takes_pods(node(taints=[{"key": "k", "effect": "PreferNoSchedule"}]))
    assert not nodes.takes_pods(node(taints=[{"key": "k", "effect": "NoSchedule"}]))
    assert not nodes.takes_pods(node(unschedulable=True))
    assert not nodes.takes_pods(node(ready="False"))
