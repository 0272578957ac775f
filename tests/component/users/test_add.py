"""`hpcbatch user`: add, change, disable."""

from __future__ import annotations

from typing import Any

import pytest

from hpcbatch.admin import user_quota, users
from hpcbatch.admin.users import Wish
from hpcbatch.api.resources import NAMESPACES, PVCS, RESOURCE_QUOTAS, ROLE_BINDINGS
from hpcbatch.errors import HpcBatchError, NotFoundError
from hpcbatch.model.site import QueueConfig, SiteConfig, Volume
from hpcbatch.site.identity import identity_of
from tests.component.users.parts import ALICE, NS, add


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
