"""The form of deploy/controller/flow-control.yaml."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

DEPLOY = Path(__file__).parents[2] / "deploy/controller"
OTHERS = 9000
"""The precedence of Kubernetes' own FlowSchema of all service accounts; that of all users is 9900."""


def documents(name: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((DEPLOY / name).read_text()))


def of_kind(kind: str) -> dict[str, dict[str, Any]]:
    found = documents("flow-control.yaml")
    return {each["metadata"]["name"]: each["spec"] for each in found if each["kind"] == kind}


def subjects(schema: dict[str, Any]) -> list[dict[str, Any]]:
    return [subject for rule in schema["rules"] for subject in rule["subjects"]]


def test_each_schema_names_a_level_and_goes_before_those_of_kubernetes() -> None:
    levels, schemas = of_kind("PriorityLevelConfiguration"), of_kind("FlowSchema")
    assert {schema["priorityLevelConfiguration"]["name"] for schema in schemas.values()} == levels.keys()
    for schema in schemas.values():
        assert schema["matchingPrecedence"] < OTHERS
        assert schema["distinguisherMethod"] == {"type": "ByUser"}, "nobody waits for another"
    assert all(level["limited"]["limitResponse"]["type"] == "Queue" for level in levels.values())


def test_they_hold_for_those_who_have_the_rights() -> None:
    schemas = of_kind("FlowSchema")
    (users,) = subjects(schemas["hpcbatch-users"])
    bound = {subject["name"] for binding in documents("viewers.yaml") for subject in binding["subjects"]}
    assert {users["group"]["name"]} == bound
    (controller,) = subjects(schemas["hpcbatch-controller"])
    account = documents("service-account.yaml")[0]["metadata"]
    assert controller["serviceAccount"] == {"name": account["name"], "namespace": account["namespace"]}


def test_it_is_applied_with_the_others() -> None:
    assert "flow-control.yaml" in documents("kustomization.yaml")[0]["resources"]
