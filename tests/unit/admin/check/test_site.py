"""The site configuration, users and volumes: values to findings."""

import pytest

from hpcbatch.admin.check import site, storage, users
from hpcbatch.admin.check.finding import Level
from hpcbatch.admin.check.read_site import ReadSite
from hpcbatch.api.port import Object
from hpcbatch.model.site import QueueConfig, SiteConfig, Volume
from hpcbatch.site.identity import Identity

WHERE = "hpcbatch-system/hpcbatch-site"
HOME = Volume(name="home", mount_path="/home", source={"persistentVolumeClaim": {"claimName": "home"}})
HOST = Volume(name="home", mount_path="/home", source={"hostPath": {"path": "/export/home"}})


def judge(found: ReadSite, *, is_embedded: bool = False) -> list[Level]:
    return [finding.level for finding in site.judge_site(found, WHERE, is_embedded)]


def test_no_configuration() -> None:
    nothing = ReadSite(config=SiteConfig())
    assert judge(nothing) == [Level.ERROR]
    assert judge(nothing, is_embedded=True) == [Level.OK]


def test_each_problem_is_told() -> None:
    found = ReadSite(config=SiteConfig(), is_there=True, problems=("site.yaml:3: a", "site.yaml:9: b"))
    assert [f.seen for f in site.judge_site(found, WHERE, False)] == ["site.yaml:3: a", "site.yaml:9: b"]


def test_the_controller_refuses_what_we_find_good() -> None:
    assert judge(ReadSite(config=SiteConfig(), is_there=True, said="site.yaml:1: unknown key")) == [Level.WARNING]


def queue(name: str, image: str | None = None) -> QueueConfig:
    return QueueConfig(name=name, volcano_queue="default", image=image)


@pytest.mark.parametrize(
    ("config", "level"),
    [
        (SiteConfig(image="r/wrf:4.7"), Level.OK),
        (SiteConfig(image="localhost:5000/wrf:4.7"), Level.OK),
        (SiteConfig(image="r/wrf@sha256:00"), Level.OK),
        (SiteConfig(image="localhost:5000/wrf"), Level.WARNING),
        (SiteConfig(image="r/wrf:latest"), Level.WARNING),
        (SiteConfig(image=""), Level.ERROR),
        (SiteConfig(image="", default_queue="a", queues=(queue("a", "r/a:1"),)), Level.OK),
        (SiteConfig(image="", default_queue="a", queues=(queue("a", "r/a:1"), queue("b"))), Level.ERROR),
    ],
)
def test_images(config: SiteConfig, level: Level) -> None:
    assert [f.level for f in site.judge_images(config, "edit")] == [level]


def identity(user: str = "alice", uid: int = 1000, home: str = "/home/alice", **more: bool) -> Identity:
    return Identity(user=user, uid=uid, gid=uid, home=home, **more)  # type: ignore[arg-type]


def test_twins() -> None:
    known = {"a": identity(), "b": identity("bob"), "c": identity("carol", 1001), "d": identity("carol", 1002)}
    findings = list(users.judge_twins(known))
    assert [f.subject for f in findings] == ["uid 1000", "user carol"]
    assert "given to a, b" in findings[0].seen
    assert not list(users.judge_twins({"a": identity(), "b": identity("bob", 1001)}))


def namespace(name: str = "hpcbatch-user-alice", **labels: str) -> Object:
    names = {"user": "hpcbatch.io/user", "level": "pod-security.kubernetes.io/enforce"}
    return {"metadata": {"name": name, "labels": {names[key]: value for key, value in labels.items()}}}


@pytest.mark.parametrize(
    ("space", "who", "words"),
    [
        pytest.param(namespace(user="alice"), identity(), "", id="good"),
        pytest.param(namespace(user="bob"), identity(), "labelled hpcbatch.io/user=bob", id="another label"),
        pytest.param(namespace(), identity(), "labelled hpcbatch.io/user=,", id="no label"),
        pytest.param(namespace("default"), identity("root", 0), "", id="the engine's"),
        pytest.param(namespace(user="alice"), identity(uid=0), "uid 0", id="root"),
        pytest.param(namespace(user="alice"), identity(home="alice"), "no absolute path", id="home"),
    ],
)
def test_identity(space: Object, who: Identity, words: str) -> None:
    findings = list(users.judge_identity(space, who))
    assert [words in f.seen and f.level is Level.ERROR for f in findings] == ([True] if words else [])


@pytest.mark.parametrize(
    ("level", "volume", "found"),
    [
        ("restricted", HOME, []),
        ("privileged", HOST, []),
        ("restricted", HOST, [Level.ERROR]),
        ("baseline", HOST, [Level.ERROR]),
        ("privileged", HOME, [Level.WARNING]),
        ("", HOME, [Level.WARNING]),
        ("strict", HOME, [Level.WARNING]),
    ],
)
def test_pod_security(level: str, volume: Volume, found: list[Level]) -> None:
    space = namespace(user="alice", level=level) if level else namespace(user="alice")
    assert [f.level for f in users.judge_pod_security(space, identity(), [volume])] == found


def binding(role: str, subject: Object) -> Object:
    return {"roleRef": {"kind": "ClusterRole", "name": role}, "subjects": [subject]}


USER = binding("hpcbatch-user", {"kind": "User", "name": "hpcbatch:alice"})
CONTROLLER = binding(
    "hpcbatch-controller-jobs",
    {"kind": "ServiceAccount", "name": "hpcbatch-controller", "namespace": "hpcbatch-system"},
)


@pytest.mark.parametrize(
    ("bindings", "disabled", "levels"),
    [
        ([USER, CONTROLLER], False, []),
        ([CONTROLLER], False, [Level.ERROR]),
        ([USER], False, [Level.ERROR]),
        ([], False, [Level.ERROR, Level.ERROR]),
        ([USER, CONTROLLER], True, [Level.WARNING]),
        ([CONTROLLER], True, []),
    ],
)
def test_bindings(bindings: list[Object], disabled: bool, levels: list[Level]) -> None:
    who = identity(is_disabled=disabled)
    assert [f.level for f in users.judge_bindings(bindings, "ns", who, "hpcbatch-system")] == levels


def test_a_controller_of_another_namespace_is_not_ours() -> None:
    findings = list(users.judge_bindings([USER, CONTROLLER], "ns", identity(), "elsewhere"))
    assert [f.level for f in findings] == [Level.ERROR]


def test_network() -> None:
    closed = {"spec": {"podSelector": {}, "policyTypes": ["Ingress"]}}
    of_a_job = {"spec": {"podSelector": {"matchLabels": {"a": "b"}}, "policyTypes": ["Ingress"]}}
    assert not list(users.judge_network([closed], "ns", identity()))
    assert [f.level for f in users.judge_network([of_a_job], "ns", identity())] == [Level.WARNING]


def claim(phase: str = "Bound", *modes: str) -> Object:
    return {"spec": {"accessModes": list(modes)}, "status": {"phase": phase, "accessModes": list(modes)}}


@pytest.mark.parametrize(
    ("found", "nodes", "words"),
    [
        pytest.param(claim("Bound", "ReadWriteMany"), 3, "", id="good"),
        pytest.param(None, 3, "not there", id="missing"),
        pytest.param(claim("Pending", "ReadWriteMany"), 3, "is Pending, not Bound", id="pending"),
        pytest.param({"spec": {"accessModes": ["ReadWriteMany"]}}, 3, "is Pending", id="new"),
        pytest.param(claim("Bound", "ReadWriteOnce"), 3, "more than one of the 3 nodes", id="once"),
        pytest.param(claim("Bound", "ReadWriteOnce"), 1, "", id="once on one node"),
        pytest.param(claim("Bound", "ReadOnlyMany"), 3, "not mounted read-only", id="read-only"),
    ],
)
def test_claim(found: Object | None, nodes: int, words: str) -> None:
    finding = storage.judge_claim(found, "home", "ns", HOME, nodes)
    assert finding.level is (Level.ERROR if words else Level.OK)
    assert words in finding.seen


def test_sources() -> None:
    scratch = Volume(name="tmp", mount_path="/scratch", source={"emptyDir": {}})
    findings = list(storage.judge_sources([HOME, HOST, scratch], 3))
    assert [f.level for f in findings] == [Level.OK, Level.WARNING, Level.WARNING]
    assert "must be the same shared file system on each of 3 nodes" in findings[1].seen
    assert [f.level for f in storage.judge_sources([HOST], 1)] == [Level.OK]


@pytest.mark.parametrize(
    ("home", "volumes", "words"),
    [
        ("/home/alice", [HOME], ""),
        ("/home", [HOME], ""),
        ("/homes/alice", [HOME], "lies on no volume"),
        ("/home/alice", [Volume(name="h", mount_path="/home", source={"nfs": {}}, read_only=True)], "read-only"),
    ],
)
def test_home(home: str, volumes: list[Volume], words: str) -> None:
    findings = list(storage.judge_home(identity(home=home), volumes))
    assert [words in f.seen for f in findings] == ([True] if words else [])
