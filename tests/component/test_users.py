"""`hpcbatch user` on a cluster with RBAC and a signer, and on the embedded engine."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from cryptography import x509
from cryptography.hazmat.primitives import serialization

from hpcbatch.admin import certificates, renewal, user_kubeconfig, user_quota, users
from hpcbatch.admin.users import Wish
from hpcbatch.api.kubeconfig import Connection, read
from hpcbatch.api.resources import CONFIGMAPS, CSRS, NAMESPACES, PVCS, RESOURCE_QUOTAS, ROLE_BINDINGS
from hpcbatch.engine.registry.registry import Registry
from hpcbatch.engine.registry.store import Store
from hpcbatch.errors import AlreadyExistsError, HpcBatchError, NotFoundError
from hpcbatch.model.site import QueueConfig, SiteConfig, Volume
from hpcbatch.model.state import JobState
from hpcbatch.site.identity import identity_of
from tests.component import batchjobs
from tests.component.admin_cluster import AdminCluster
from tests.component.api_server import Cluster, cluster
from tests.component.batchjobs import put_job

ALICE = Wish(user="alice", uid=1000, gid=1000, groups=((2000, "wrf"),))
NS = "hpcbatch-user-alice"
NO_SITE = SiteConfig()


@pytest.fixture
def api() -> Iterator[Any]:
    store = Store(":memory:")
    registry = Registry(store)
    registry.install_builtin()
    real = AdminCluster(registry)
    real.install()
    yield real
    store.close()


def add(api: Any, wish: Wish, site: SiteConfig = NO_SITE) -> list[str]:
    return users.carry_out(api, users.plan(api, wish, site))


def test_a_new_user(api: Any) -> None:
    assert add(api, ALICE) == [
        f"Namespace {NS}: created",
        "NetworkPolicy hpcbatch-user: created",
        "RoleBinding hpcbatch-controller: created",
        "RoleBinding hpcbatch-user: created",
        "ResourceQuota hpcbatch-user: created",
    ]
    identity = identity_of(api.get(NAMESPACES, NS))
    assert (identity.uid, identity.gid, identity.home, identity.groups) == (1000, 1000, "/home/alice", ((2000, "wrf"),))


def test_a_second_run_writes_nothing_and_needs_no_values(api: Any) -> None:
    add(api, ALICE)
    api.writes.clear()
    assert add(api, ALICE) == add(api, Wish(user="alice")) == []
    assert api.writes == []


def test_a_new_user_has_a_limit_on_records_that_can_be_changed(api: Any) -> None:
    def hard() -> dict[str, str]:
        found: dict[str, str] = api.get(RESOURCE_QUOTAS, "hpcbatch-user", NS)["spec"]["hard"]
        return found

    add(api, ALICE)
    assert hard() == {"count/batchjobs.hpcbatch.io": "20k"}
    add(api, Wish(user="alice", quota={"count/batchjobs.hpcbatch.io": "5"}))
    add(api, Wish(user="alice", quota={"pods": "4"}))
    assert hard() == {"count/batchjobs.hpcbatch.io": "5", "pods": "4"}
    add(api, Wish(user="alice", quota={"count/batchjobs.hpcbatch.io": None}))
    assert hard() == {"pods": "4"}
    assert add(api, Wish(user="alice")) == [], "what was taken away stays away"


@pytest.mark.parametrize(("counted_from", "heard"), [(1, []), (3, ["waiting"]), (99, ["waiting", "warning"])])
def test_who_adds_a_user_waits_until_his_records_are_counted(
    api: Any, monkeypatch: pytest.MonkeyPatch, counted_from: int, heard: list[str]
) -> None:
    """A cluster that counts for no quota before the `counted_from`th."""
    monkeypatch.setattr(user_quota, "_POLL_S", 0.01)
    monkeypatch.setattr(user_quota, "_PATIENCE_S", 0.05)
    monkeypatch.setattr(user_quota, "_GIVE_UP_S", 1.0 if counted_from == 99 else 60.0)
    add(api, Wish(user="alice", uid=1000, gid=1000, quota={"pods": "4"}))
    wanted, get = api.get(RESOURCE_QUOTAS, "hpcbatch-user", NS), api.get

    def counting(resource: Any, name: str, namespace: str | None = None) -> Any:
        if resource is RESOURCE_QUOTAS and api.writes.count("create ResourceQuota hpcbatch-user") >= counted_from:
            hard = wanted["spec"]["hard"]
            return get(resource, name, namespace) | {"status": {"hard": hard, "used": dict.fromkeys(hard, "0")}}
        return get(resource, name, namespace)

    monkeypatch.setattr(api, "get", counting)
    said: list[str] = []
    user_quota.await_count(api, NS, said.append)
    assert [line.split()[0].rstrip(":") for line in said] == heard
    assert all("count/batchjobs.hpcbatch.io, pods" in line for line in said)
    left = get(RESOURCE_QUOTAS, "hpcbatch-user", NS)
    assert (left["metadata"], left["spec"]) == (wanted["metadata"], wanted["spec"])


def test_a_new_user_may_be_without_limits(api: Any) -> None:
    done = add(api, Wish(user="alice", uid=1000, gid=1000, quota={"count/batchjobs.hpcbatch.io": None}))
    assert "ResourceQuota hpcbatch-user: created" not in done


def test_a_second_run_with_other_values_says_what_it_changes(api: Any) -> None:
    add(api, Wish(user="alice", uid=1000, gid=1000, quota={"requests.cpu": "8", "pods": "4"}))
    done = add(api, Wish(user="alice", uid=1001, quota={"requests.cpu": "16", "pods": None}))
    assert done == [
        f"Namespace {NS}: hpcbatch.io/uid: '1000' → '1001'",
        "ResourceQuota hpcbatch-user: requests.cpu: '8' → '16'",
        "ResourceQuota hpcbatch-user: pods: '4' → nothing",
    ]
    assert api.get(RESOURCE_QUOTAS, "hpcbatch-user", NS)["spec"]["hard"] == {
        "requests.cpu": "16",
        "count/batchjobs.hpcbatch.io": "20k",
    }


def test_a_plan_writes_nothing(api: Any) -> None:
    users.plan(api, ALICE, SiteConfig())
    assert api.writes == []


@pytest.mark.parametrize(
    ("wish", "text"),
    [
        (Wish(user="bob"), "no user bob yet: --uid and --gid"),
        (Wish(user="bob", uid=0, gid=1), "0 would be root"),
        (Wish(user="bob", uid=1, gid=0), "0 would be root"),
        (Wish(user="bob", uid=1 << 31, gid=1), "ids from 1 to 2147483647"),
        (Wish(user="bob", uid=1, gid=1, groups=((0, "root"),)), "0 would be root"),
        (Wish(user="bob", uid=1, gid=1, groups=((5, "a:b"),)), "is no name for a group"),
        (Wish(user="bob", uid=1, gid=1, home="home/bob"), "expected an absolute path"),
        (Wish(user="bob", uid=1, gid=1, home="/a:b"), "expected an absolute path"),
        (Wish(user="bob", uid=1, gid=1, home="/a\nroot"), "expected an absolute path"),
        (Wish(user="bob", uid=1000, gid=1), "uid 1000 is user alice's"),
        (Wish(user="bob", uid=1, gid=1, namespace=NS), "belongs to user alice"),
        (Wish(user="bob", uid=1, gid=1, namespace=NS, adopt=True), "belongs to user alice"),
        (Wish(user="bob", uid=1, gid=1, namespace="there"), "--adopt takes it"),
        (Wish(user="bob", uid=1, gid=1, namespace="kube-system", adopt=True), "belongs to the system"),
        (Wish(user="alice", namespace="there"), f"has the namespace {NS} already"),
        (Wish(user="a/b", uid=1, gid=1), "is no name for a user"),
    ],
)
def test_what_is_refused_changes_nothing(api: Any, wish: Wish, text: str) -> None:
    add(api, ALICE)
    api.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "there"}})
    api.writes.clear()
    with pytest.raises(HpcBatchError, match=text):
        add(api, wish)
    assert api.writes == []


def test_one_uid_for_two_by_force(api: Any) -> None:
    add(api, ALICE)
    assert add(api, Wish(user="bob", uid=1000, gid=1, force=True))


def test_an_adopted_namespace_keeps_what_it_had(api: Any) -> None:
    there = {"name": "there", "labels": {"team": "a"}, "annotations": {"note": "b"}}
    api.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": there})
    add(api, Wish(user="bob", uid=1, gid=1, namespace="there", adopt=True))
    metadata = api.get(NAMESPACES, "there")["metadata"]
    assert metadata["labels"]["team"] == "a"
    assert metadata["annotations"]["note"] == "b"
    assert identity_of(api.get(NAMESPACES, "there")).user == "bob"


def test_where_hpcbatch_is_not_installed(api: Any) -> None:
    api._objects.clear()
    with pytest.raises(HpcBatchError, match="not installed on this cluster: there is no ClusterRole hpcbatch-user"):
        add(api, ALICE)


def test_warnings(api: Any) -> None:
    home = Volume(name="home", mount_path="/home", source={"persistentVolumeClaim": {"claimName": "home"}})
    scratch = Volume(name="scratch", mount_path="/scratch", source={"hostPath": {"path": "/scratch"}})
    site = SiteConfig(volumes=(home, scratch))
    wish = Wish(user="alice", uid=1, gid=1, quota={"requests.memory": "1Gi"})
    scratch_needs, home_needs, memory = users.plan(api, wish, site).warnings
    assert scratch_needs.startswith("volume scratch (hostPath) needs Pod Security privileged")
    assert "--pvc home=SIZE makes it" in home_needs
    assert "defaultMemoryPerNode" in memory
    queue = QueueConfig(name="q", volcano_queue="q", default_mem_per_node_bytes=1)
    assert users.plan(api, wish, SiteConfig(queues=(queue,))).warnings == []


def test_a_claim_is_made_once_and_then_left_alone(api: Any) -> None:
    from hpcbatch.admin.user_objects import Claim

    home = Volume(name="home", mount_path="/home", source={"persistentVolumeClaim": {"claimName": "home"}})
    site = SiteConfig(volumes=(home,))
    add(api, Wish(user="alice", uid=1, gid=1, claims=(Claim(name="home", size="1Gi"),)), site)
    assert add(api, Wish(user="alice", claims=(Claim(name="home", size="2Gi"),)), site) == []
    assert api.get(PVCS, "home", NS)["spec"]["resources"]["requests"]["storage"] == "1Gi"
    assert users.plan(api, Wish(user="alice"), site).warnings == []


def test_disable_and_enable(api: Any) -> None:
    add(api, ALICE)
    assert users.disable(api, "alice") == [
        f"Namespace {NS}: hpcbatch.io/disabled: 'true'",
        "RoleBinding hpcbatch-user: deleted",
    ]
    assert users.disable(api, "alice") == []
    assert identity_of(api.get(NAMESPACES, NS)).is_disabled
    assert api.get(ROLE_BINDINGS, "hpcbatch-controller", NS), "what runs goes on"
    assert add(api, Wish(user="alice", home="/h")) == [f"Namespace {NS}: hpcbatch.io/home: '/home/alice' → '/h'"]
    with pytest.raises(NotFoundError):
        api.get(ROLE_BINDINGS, "hpcbatch-user", NS)
    assert users.enable(api, "alice") == [
        "RoleBinding hpcbatch-user: created",
        f"Namespace {NS}: hpcbatch.io/disabled: 'true' → nothing",
    ]
    assert users.enable(api, "alice") == []
    with pytest.raises(HpcBatchError, match="there is no user bob"):
        users.disable(api, "bob")


def test_a_user_with_broken_annotations_can_be_listed_disabled_and_mended(api: Any) -> None:
    add(api, ALICE)
    api.patch(NAMESPACES, NS, {"metadata": {"annotations": {"hpcbatch.io/uid": "x"}}})
    (row,) = users.rows(api)
    assert row.identity is None
    assert "expected the annotations" in row.fault
    assert len(users.disable(api, "alice")) == 2
    with pytest.raises(HpcBatchError, match="--uid and --gid are needed"):
        add(api, Wish(user="alice"))
    assert f"Namespace {NS}: hpcbatch.io/uid: 'x' → '1000'" in add(api, ALICE)


# Certificates and kubeconfigs

LIFE = timedelta(days=30)


def issue(api: Any) -> certificates.Issued:
    return certificates.issue(api, "hpcbatch:alice", "hpcbatch:users", NS, LIFE)


def test_a_certificate_for_a_key_that_never_leaves(api: Any) -> None:
    issued = issue(api)
    certificate = x509.load_pem_x509_certificate(issued.certificate)
    assert certificate.subject.rfc4514_string() == "CN=hpcbatch:alice,O=hpcbatch:users"
    key = serialization.load_pem_private_key(issued.key, password=None)
    assert certificate.public_key() == key.public_key()
    assert abs(issued.not_after - datetime.now(UTC) - LIFE) < timedelta(minutes=1)
    assert [line.split()[0] for line in api.writes] == ["create", "approve", "delete"]
    assert "PRIVATE" not in repr(issued)


def test_a_certificate_that_is_refused(api: Any) -> None:
    api.denial = "not here"
    with pytest.raises(HpcBatchError, match="the certificate was refused: not here"):
        issue(api)
    assert api.writes[-1].startswith("delete CertificateSigningRequest")


def test_nobody_signs(api: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    api._signs = False
    monkeypatch.setattr(certificates, "_SIGNED_WITHIN_S", 0.1)
    with pytest.raises(HpcBatchError, match="not signed within 0 seconds"):
        issue(api)
    assert api.writes[-1].startswith("delete CertificateSigningRequest")


def test_a_cluster_without_certificates(api: Any) -> None:
    api._missing = (CSRS,)
    with pytest.raises(HpcBatchError, match="this cluster has no certificatesigningrequests"):
        issue(api)


def text(connection: Connection, issued: certificates.Issued, server: str | None = None) -> str:
    return user_kubeconfig.kubeconfig_text(
        connection, cluster="pbs1", user="hpcbatch:alice", namespace=NS, issued=issued, server=server
    )


def test_the_kubeconfig_is_one_that_the_commands_read(api: Any, tmp_path: Path) -> None:
    issued = issue(api)
    admin = Connection(server="https://a:1", cluster="x", ca_pem="CA\n", tls_server_name="t", token="secret")
    (tmp_path / "config").write_text(text(admin, issued))
    assert read([tmp_path / "config"]) == Connection(
        server="https://a:1",
        cluster="pbs1",
        namespace=NS,
        ca_pem="CA\n",
        tls_server_name="t",
        client_cert_pem=issued.certificate,
        client_key_pem=issued.key,
    )
    assert "secret" not in text(admin, issued)
    assert json.loads(text(admin, issued, "https://b:2"))["clusters"][0]["cluster"]["server"] == "https://b:2"


def renewed(api: Any, tmp_path: Path, *names: str, days_later: int = 0) -> renewal.Renewals:
    return renewal.renew(
        api,
        names,
        f"{tmp_path}/{{user}}",
        life=timedelta(days=7),
        before=timedelta(days=4),
        now=datetime.now(UTC) + timedelta(days=days_later),
    )


def test_certificates_are_renewed_in_good_time(api: Any, tmp_path: Path) -> None:
    add(api, ALICE)
    add(api, Wish(user="bob", uid=os.getuid() + 1, gid=1))
    file = tmp_path / "alice"
    admin = Connection(server="https://a:1", cluster="x", ca_pem="CA\n")
    first = certificates.issue(api, "hpcbatch:alice", "hpcbatch:users", NS, timedelta(days=7))
    file.write_text(text(admin, first, "https://users:2"))
    assert renewed(api, tmp_path) == renewal.Renewals()  # a week is left; bob has no kubeconfig
    done = renewed(api, tmp_path, days_later=4)
    assert (len(done.renewed), done.faults) == (1, [])
    assert done.renewed[0].startswith(f"{file}: certificate of hpcbatch:alice renewed, valid until ")
    now = read([file])
    assert (now.server, now.ca_pem, now.namespace) == ("https://users:2", "CA\n", NS)
    assert now.client_cert_pem not in {None, first.certificate}
    assert now.client_key_pem not in {None, first.key}
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_who_is_disabled_gets_no_new_certificate(api: Any, tmp_path: Path) -> None:
    add(api, ALICE)
    file = tmp_path / "alice"
    file.write_text(text(Connection(server="https://a:1", cluster="x"), issue(api)))
    users.disable(api, "alice")
    before = file.read_text()
    assert renewed(api, tmp_path, days_later=29) == renewal.Renewals()
    assert renewed(api, tmp_path, "alice", days_later=29).faults == ["user alice is disabled"]
    assert file.read_text() == before
    with pytest.raises(HpcBatchError, match="there is no user carol"):
        renewed(api, tmp_path, "carol")


DEEP = "[" * 100_000


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{}",
        '{"users": [{"name": "hpcbatch:bob", "user": {}}]}',
        '{"users": []}',
        "\xff",
        DEEP,
    ],
    ids=["empty", "nothing", "another's", "nobody's", "no-utf-8", "deep"],
)
def test_one_that_cannot_be_renewed_does_not_stop_the_others(api: Any, tmp_path: Path, content: str) -> None:
    add(api, ALICE)
    add(api, Wish(user="aaron", uid=1001, gid=1))
    (tmp_path / "aaron").write_text(content, encoding="latin-1")
    (tmp_path / "alice").write_text(text(Connection(server="https://a:1", cluster="x"), issue(api)))
    done = renewed(api, tmp_path, days_later=29)
    assert [len(done.renewed), len(done.faults)] == [1, 1]
    assert str(tmp_path / "aaron") in done.faults[0]
    assert (tmp_path / "aaron").read_text(encoding="latin-1") == content


def test_a_link_in_the_users_directory_is_not_followed(api: Any, tmp_path: Path) -> None:
    add(api, ALICE)
    (tmp_path / "there").write_text(text(Connection(server="https://a:1", cluster="x"), issue(api)))
    (tmp_path / "alice").symlink_to("there")
    done = renewed(api, tmp_path, days_later=29)
    assert (done.renewed, len(done.faults)) == ([], 1)
    assert "is not a kubeconfig" in done.faults[0]


def test_a_pipe_does_not_hold_up_the_timer(api: Any, tmp_path: Path) -> None:
    add(api, ALICE)
    os.mkfifo(tmp_path / "alice")
    assert "is not a kubeconfig" in renewed(api, tmp_path).faults[0]


def test_an_unverified_connection_is_not_handed_on() -> None:
    with pytest.raises(HpcBatchError, match="insecure-skip-tls-verify"):
        user_kubeconfig.check_connection(Connection(server="https://a:1", verify=False))


def write(path: Path, content: str) -> None:
    user_kubeconfig.check_target(path, "hpcbatch:alice")
    user_kubeconfig.write(path, content, uid=os.getuid(), gid=os.getgid())


def test_the_file_is_the_writers_own_and_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / ".kube" / "config"
    for content in ('{"users": [{"name": "hpcbatch:alice"}]}', "newer"):
        write(path, content)
        assert path.read_text() == content
        assert path.stat().st_mode & 0o7777 == 0o600
        assert path.parent.stat().st_mode & 0o7777 == 0o700
        assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize(
    "make",
    [
        lambda path: path.write_text("hello"),
        lambda path: path.write_text('{"users": [{"name": "hpcbatch:bob"}]}'),
        lambda path: path.write_text("apiVersion: v1\nusers: [{name: kubernetes-admin}]\n"),
        lambda path: path.symlink_to("elsewhere"),
        lambda path: path.mkdir(),
    ],
    ids=["text", "another user's", "an admin's", "a link", "a directory"],
)
def test_no_other_file_is_overwritten(tmp_path: Path, make: Callable[[Path], Any]) -> None:
    make(tmp_path / "config")
    with pytest.raises(HpcBatchError, match="exists and is not a kubeconfig that was made for hpcbatch:alice"):
        write(tmp_path / "config", "x")


def test_there_must_be_a_directory(tmp_path: Path) -> None:
    with pytest.raises(HpcBatchError, match="there is no directory"):
        write(tmp_path / "a" / "b" / "config", "x")


@pytest.mark.skipif(os.getuid() != 0, reason="only root writes for others")
def test_root_writes_in_a_users_directory_as_the_user(tmp_path: Path) -> None:
    home, elsewhere = tmp_path / "home", tmp_path / "elsewhere"
    for folder in (home, elsewhere):
        folder.mkdir()
    for parent in [tmp_path, *tmp_path.parents]:
        if not parent.stat().st_mode & stat.S_IXOTH:
            parent.chmod(parent.stat().st_mode | stat.S_IXOTH)  # pytest's directories are root's alone
    os.chown(home, 1234, 1234)
    user_kubeconfig.write(home / ".kube" / "config", "x", uid=1234, gid=1234)
    assert ((home / ".kube" / "config").stat().st_uid, (home / ".kube").stat().st_uid) == (1234, 1234)
    user_kubeconfig.write(elsewhere / "config", "x", uid=1234, gid=1234)
    assert (elsewhere / "config").stat().st_uid == 0
    assert os.geteuid() == 0


# The embedded engine, by the command itself


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with cluster(tmp_path_factory.mktemp("engine")) as running:
        yield running


def run(engine: Cluster, *arguments: str) -> tuple[str, str, int]:
    done = subprocess.run(
        [str(Path(sys.executable).with_name("hpcbatch")), "user", *arguments],
        env={"PATH": os.environ["PATH"], "HOME": str(engine.directory), "KUBECONFIG": str(engine.kubeconfig)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.stdout, done.stderr, done.returncode


def test_the_engine_has_namespaces_and_says_that_it_has_no_more(
    engine: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    new = ("add", "carol", "--uid", "1500", "--gid", "1500", "--groups", "1500:carol,2000:wrf", "--home", "/data/carol")
    out, err, code = run(engine, *new, "--dry-run")
    assert (code, "the embedded engine has one user" in err) == (0, True)
    (shown,) = yaml.safe_load_all(out)
    assert shown["metadata"]["annotations"]["hpcbatch.io/groups"] == "1500:carol,2000:wrf"
    assert run(engine, "list")[0].splitlines()[1:] == []

    assert run(engine, *new)[0] == "Namespace hpcbatch-user-carol: created\n"
    assert run(engine, *new)[0] == "user carol is as wanted, in namespace hpcbatch-user-carol\n"
    made = engine.registry.get(NAMESPACES, "hpcbatch-user-carol")
    assert made["metadata"]["annotations"] == shown["metadata"]["annotations"]

    monkeypatch.setattr(batchjobs, "NS", "hpcbatch-user-carol")
    put_job(engine.registry, 1, JobState.RUNNING, start_time=datetime.now(UTC))
    put_job(engine.registry, 2, JobState.QUEUED)
    put_job(engine.registry, 3, JobState.FINISHED)
    heading, line = run(engine, "list")[0].splitlines()
    assert heading.split() == ["USER", "NAMESPACE", "UID", "GID", "GROUPS", "WAITING", "RUNNING", "STATE"]
    assert line.split() == [
        "carol",
        "hpcbatch-user-carol",
        "1500",
        "1500",
        "1500:carol,2000:wrf",
        "1",
        "1",
        "enabled",
    ]

    assert run(engine, "disable", "carol")[2] == 0
    assert run(engine, "list")[0].split()[-1] == "disabled"
    assert run(engine, "enable", "carol")[2] == 0
    assert run(engine, "list")[0].split()[-1] == "enabled"


def test_the_engine_signs_nothing(engine: Cluster) -> None:
    target = engine.directory / "dave"
    out, err, code = run(engine, "add", "dave", "--uid", "1600", "--gid", "1600", "--kubeconfig", str(target))
    assert (out, code) == ("", 1)
    assert err == "hpcbatch: the embedded engine signs no certificates: whoever uses it shares its own kubeconfig\n"
    assert not target.exists()
    assert "dave" not in run(engine, "list")[0]


def test_a_bad_site_configuration_stops_it(engine: Cluster) -> None:
    try:
        engine.registry.create(
            NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "hpcbatch-system"}}
        )
    except AlreadyExistsError:
        pass
    site = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "hpcbatch-site"}, "data": {"site.yaml": "x"}}
    engine.registry.create(CONFIGMAPS, site, "hpcbatch-system")
    out, err, code = run(engine, "add", "erin", "--uid", "1700", "--gid", "1700")
    engine.registry.delete(CONFIGMAPS, "hpcbatch-site", "hpcbatch-system")
    assert (out, code) == ("", 1)
    assert err.startswith("hpcbatch: the site configuration (hpcbatch-system/hpcbatch-site) is bad: site.yaml:1")


@pytest.mark.parametrize(
    ("option", "value", "text"),
    [
        ("--groups", "2000", "'2000' is no group: expected GID:NAME"),
        ("--groups", "x:wrf", "'x:wrf' is no group"),
        ("--quota-cpus", "many", "'many' is no number of CPUs"),
        ("--quota-cpus", "-1", "'-1' is no number of CPUs"),
        ("--quota-memory", "lots", "'lots' is no amount of memory"),
        ("--quota-pods", "1.5", "'1.5' is no number"),
        ("--pvc", "home", "'home': expected NAME=SIZE"),
        ("--pvc", "home=1G,klass=x", "expected NAME=SIZE"),
        ("--valid-for", "1m", "expected 10m to 30d"),
        ("--valid-for", "31d", "expected 10m to 30d"),
        ("--valid-for", "1y", "expected 10m to 30d"),
        ("--server", "http://x", "expected https://HOST:PORT"),
    ],
)
def test_bad_values(engine: Cluster, option: str, value: str, text: str) -> None:
    out, err, code = run(engine, "add", "zoe", "--uid", "1", "--gid", "1", f"{option}={value}")
    assert (out, code != 0) == ("", True)
    assert text in err
