"""The installation: controller, policies, rights; and that what is expected is what deploy/ has."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from hpcbatch import __version__
from hpcbatch.admin.check import installation, rights
from hpcbatch.admin.check.cluster import CONTROLLER
from hpcbatch.admin.check.finding import Level
from hpcbatch.api.port import Object

NOW = datetime(2026, 11, 21, 15, 0, 0, tzinfo=UTC)
DEPLOY = Path(__file__).parents[4] / "deploy"


def deployment(replicas: int, available: int, image: str = f"r/hpcbatch:{__version__}", label: str = "") -> Object:
    labels = {"app.kubernetes.io/version": label} if label else {}
    return {
        "spec": {
            "replicas": replicas,
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [{"image": image}]}},
        },
        "status": {"availableReplicas": available} if available else {},
    }


@pytest.mark.parametrize(
    ("found", "level"),
    [
        (deployment(2, 2), Level.OK),
        (deployment(2, 1), Level.WARNING),
        (deployment(2, 0), Level.ERROR),
        (deployment(0, 0), Level.ERROR),
        (None, Level.ERROR),
    ],
)
def test_deployment(found: Object | None, level: Level) -> None:
    assert next(iter(installation.judge_deployment(found, "hpcbatch-system"))).level is level


@pytest.mark.parametrize(
    ("image", "label", "level"),
    [
        (f"r/hpcbatch:{__version__}", "", Level.OK),
        (f"localhost:5000/hpcbatch:v{__version__}@sha256:00", "", Level.OK),
        ("r/hpcbatch:site-3", __version__, Level.OK),
        ("r/hpcbatch:0.0.1", "", Level.WARNING),
        ("localhost:5000/hpcbatch", "", Level.UNKNOWN),
        ("r/hpcbatch:latest", "", Level.UNKNOWN),
    ],
)
def test_version(image: str, label: str, level: Level) -> None:
    assert installation.judge_version(deployment(2, 2, image, label)).level is level


@pytest.mark.parametrize(
    ("spec", "level"),
    [
        ({"holderIdentity": "pod_1", "renewTime": "2026-11-21T14:59:50.000000Z", "leaseDurationSeconds": 15}, Level.OK),
        (
            {"holderIdentity": "pod_1", "renewTime": "2026-11-21T14:50:00.000000Z", "leaseDurationSeconds": 15},
            Level.ERROR,
        ),
        ({"holderIdentity": "", "renewTime": "2026-11-21T14:59:50.000000Z"}, Level.ERROR),
    ],
)
def test_lease(spec: Object, level: Level) -> None:
    assert installation.judge_lease({"spec": spec}, "hpcbatch-system", NOW).level is level


def test_no_lease() -> None:
    assert installation.judge_lease(None, "hpcbatch-system", NOW).level is Level.ERROR


def bound(name: str, *actions: str) -> Object:
    return {"spec": {"policyName": name, "validationActions": list(actions)}}


def test_policies() -> None:
    found: dict[str, Object] = {name: {} for name in installation.POLICIES}
    bindings = [bound(name, "Deny") for name in installation.POLICIES]
    assert [f.level for f in installation.judge_policies(found, bindings)] == [Level.OK]
    first, *others = installation.POLICIES
    for broken, seen in (
        ((others, bindings), "not there"),
        ((installation.POLICIES, bindings[1:]), "has no binding"),
        ((installation.POLICIES, [bound(first, "Audit"), *bindings[1:]]), "no binding makes it refuse anything"),
    ):
        findings = list(installation.judge_policies({name: {} for name in broken[0]}, broken[1]))
        assert [(f.level, f.subject) for f in findings] == [(Level.ERROR, f"ValidatingAdmissionPolicy {first}")]
        assert findings[0].seen.startswith(seen)


def test_a_policy_that_does_not_fit_the_crd() -> None:
    warning = {"fieldRef": "spec.validations[0].expression", "warning": "undefined field 'hold'"}
    found: dict[str, Object] = {name: {} for name in installation.POLICIES}
    found[installation.POLICIES[0]] = {"status": {"typeChecking": {"expressionWarnings": [warning]}}}
    findings = list(installation.judge_policies(found, [bound(name, "Deny") for name in installation.POLICIES]))
    assert [f.seen for f in findings] == ["its expressions do not fit: undefined field 'hold'"]


def test_rights() -> None:
    missing = [rights.Right("", "secrets", ("get", "list")), rights.Right("batch.volcano.sh", "jobs", ("create",))]
    findings = list(rights.judge_rights("sa", "namespace x", missing, "mend"))
    assert [f.seen for f in findings] == ["may not, in namespace x: get, list secrets; create jobs.batch.volcano.sh"]
    assert [f.level for f in rights.judge_rights("sa", "namespace x", [], "mend")] == [Level.OK]
    assert [f.level for f in rights.judge_excess("sa", [])] == []
    assert [f.level for f in rights.judge_excess("sa", missing)] == [Level.WARNING]


# What is expected is what is installed


def manifests() -> list[dict[str, Any]]:
    return [
        obj
        for path in sorted(DEPLOY.rglob("*.yaml"))
        if "chart" not in path.relative_to(DEPLOY).parts  # it has templates, and links to these files
        for obj in yaml.safe_load_all(path.read_text())
        if isinstance(obj, dict)  # a list is a patch
    ]


def of_kind(kind: str) -> dict[str, dict[str, Any]]:
    return {obj["metadata"]["name"]: obj for obj in manifests() if obj["kind"] == kind}


def test_policies_are_those_of_deploy() -> None:
    assert set(installation.POLICIES) == set(of_kind("ValidatingAdmissionPolicy"))


def test_the_controller_has_the_name_that_is_looked_for() -> None:
    assert CONTROLLER in of_kind("Deployment")
    assert CONTROLLER in of_kind("ServiceAccount")


@pytest.mark.parametrize(
    ("kind", "name", "table"),
    [
        ("ClusterRole", "hpcbatch-controller", rights.EVERYWHERE),
        ("ClusterRole", "hpcbatch-controller-jobs", rights.IN_A_USERS),
        ("Role", "hpcbatch-controller", rights.IN_ITS_OWN),
    ],
)
def test_rights_are_those_of_deploy(kind: str, name: str, table: tuple[rights.Right, ...]) -> None:
    check_rights(of_kind(kind)[name]["rules"], table)


@pytest.mark.parametrize(
    ("file", "table"),
    [("rights", rights.MORE_EVERYWHERE), ("rights-in-user-namespaces", rights.MORE_IN_A_USERS)],
)
def test_rights_without_volcano_are_those_of_deploy(file: str, table: tuple[rights.Right, ...]) -> None:
    patches = yaml.safe_load((DEPLOY / f"without-volcano/{file}.yaml").read_text())
    check_rights([patch["value"] for patch in patches], table)


def test_the_definitions_without_volcano_are_those_of_the_engine() -> None:
    for path in (DEPLOY / "without-volcano/crd").iterdir():
        assert path.read_text() == (DEPLOY.parent / "hpcbatch/engine/registry/crd" / path.name).read_text(), path.name


def check_rights(rules: list[dict[str, Any]], table: tuple[rights.Right, ...]) -> None:
    given = {
        (group, resource, verb)
        for rule in rules
        if "resourceNames" not in rule
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        if not resource.endswith("/finalizers")  # asked only where an admission plugin is on
        for verb in rule["verbs"]
    }
    assert given == {(right.group, right.resource, verb) for right in table for verb in right.verbs}
