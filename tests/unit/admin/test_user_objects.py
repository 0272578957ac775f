"""What a user is made of."""

from __future__ import annotations

from typing import Any

import pytest

from hpcbatch.admin.apply import without_nulls
from hpcbatch.admin.user_objects import Account, Claim, parts, pod_security_level
from hpcbatch.model.site import Volume
from hpcbatch.site.identity import Identity, identity_of

ALICE = Identity(user="alice", uid=1000, gid=100, home="/home/alice", groups=((100, "users"), (2000, "wrf")))


def objects(identity: Identity = ALICE, **more: Any) -> dict[tuple[str, str], Any]:
    account = Account(identity=identity, namespace="ns", pod_security="restricted", **more)
    return {(part.obj["kind"], part.obj["metadata"]["name"]): without_nulls(part.obj) for part in parts(account)}


def volume(**source: Any) -> Volume:
    return Volume(name="v", mount_path="/v", source=source)


@pytest.mark.parametrize(
    ("volumes", "level"),
    [
        ([], "restricted"),
        ([volume(persistentVolumeClaim={"claimName": "home"}), volume(csi={}), volume(emptyDir={})], "restricted"),
        ([volume(nfs={"server": "s", "path": "/"})], "baseline"),
        ([volume(cephfs={}), volume(secret={})], "baseline"),
        ([volume(hostPath={"path": "/home"})], "privileged"),
        ([volume(nfs={}), volume(hostPath={}), volume(persistentVolumeClaim={})], "privileged"),
    ],
)
def test_pod_security_is_as_strict_as_the_volumes_allow(volumes: list[Volume], level: str) -> None:
    assert pod_security_level(volumes) == level


def test_the_controller_reads_out_of_the_namespace_what_the_admin_said() -> None:
    namespace = objects()["Namespace", "ns"]
    assert identity_of(namespace) == ALICE
    assert namespace["metadata"]["labels"] == {
        "hpcbatch.io/user": "alice",
        "pod-security.kubernetes.io/enforce": "restricted",
    }


def test_rights_are_the_users_own_and_the_controllers() -> None:
    found = objects()
    own, controller = found["RoleBinding", "hpcbatch-user"], found["RoleBinding", "hpcbatch-controller"]
    assert own["roleRef"]["name"] == "hpcbatch-user"
    assert [subject["name"] for subject in own["subjects"]] == ["hpcbatch:alice"]
    assert controller["roleRef"]["name"] == "hpcbatch-controller-jobs"
    assert controller["subjects"] == [
        {"kind": "ServiceAccount", "name": "hpcbatch-controller", "namespace": "hpcbatch-system"}
    ]


def test_a_disabled_user_has_no_rights_and_stays_disabled() -> None:
    disabled = Identity(user="alice", uid=1000, gid=100, home="/h", is_disabled=True)
    found = objects(disabled)
    assert ("RoleBinding", "hpcbatch-user") not in found
    assert ("RoleBinding", "hpcbatch-controller") in found, "what runs goes on"
    assert identity_of(found["Namespace", "ns"]).is_disabled


def test_only_the_users_own_pods_come_in() -> None:
    spec = objects()["NetworkPolicy", "hpcbatch-user"]["spec"]
    assert spec == {"podSelector": {}, "policyTypes": ["Ingress"], "ingress": [{"from": [{"podSelector": {}}]}]}


def test_a_quota_is_made_when_one_is_asked_for() -> None:
    assert ("ResourceQuota", "hpcbatch-user") not in objects()
    quota = objects(quota={"requests.cpu": "8", "pods": None})["ResourceQuota", "hpcbatch-user"]
    assert quota["spec"]["hard"] == {"requests.cpu": "8"}


@pytest.mark.parametrize(
    ("claim", "spec"),
    [
        (Claim(name="home", size="1Gi"), {}),
        (Claim(name="home", size="1Gi", storage_class="nfs"), {"storageClassName": "nfs"}),
        (Claim(name="home", size="1Gi", volume="pv"), {"volumeName": "pv", "storageClassName": ""}),
        (
            Claim(name="home", size="1Gi", volume="pv", storage_class="nfs"),
            {"volumeName": "pv", "storageClassName": "nfs"},
        ),
    ],
    ids=["default class", "class", "volume", "both"],
)
def test_claims(claim: Claim, spec: dict[str, str]) -> None:
    found = objects(claims=(claim,))["PersistentVolumeClaim", "home"]["spec"]
    assert found == {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "1Gi"}}} | spec
