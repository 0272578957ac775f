"""The definition of the BatchJob: what the file holds, and what the API server checks by it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from hpcbatch.model.state import JobState
from hpcbatch.model.text import UNPRINTABLE
from hpcbatch.record import crd
from hpcbatch.record.crd import SCHEMA_ANNOTATION, SCHEMA_VERSION
from hpcbatch.record.fields import open_fields

FILE = Path(__file__).parents[3] / "deploy/crd/batchjobs.yaml"
CRD = yaml.safe_load(FILE.read_text())
VERSION = CRD["spec"]["versions"][0]
SCHEMA = VERSION["schema"]["openAPIV3Schema"]


def test_the_file_is_what_make_crd_writes() -> None:
    assert FILE.read_text() == crd.text(), "the fields of a job have changed: run `make crd`"
    notes = {key: value for key, value in CRD["metadata"]["annotations"].items() if not key.startswith("helm.sh/")}
    assert crd.definition() == CRD | {"metadata": CRD["metadata"] | {"annotations": notes}}


def test_the_file_of_reservations_is_what_make_crd_writes() -> None:
    assert FILE.with_name("reservations.yaml").read_text() == crd.reservations_text(), "run `make crd`"


@pytest.mark.parametrize("field", ["name", "queue", "account", "workDir", "submitDir", "scriptPath", "interpreter"])
def test_the_definition_refuses_what_cannot_be_printed(field: str) -> None:
    properties = SCHEMA["properties"]["spec"]["properties"]
    assert properties[field]["pattern"] == f"^[^{UNPRINTABLE}]*$"
    altered = properties["alteration"]["properties"]["fields"]["properties"]
    assert altered.get(field, properties[field]) == properties[field]


@pytest.mark.parametrize("server", ["a\n12.pbs1", "a;E;1", "a b", "a|b", "a\x1b[2J"])
def test_no_server_is_called_so(server: str) -> None:
    assert not re.search(SCHEMA["properties"]["spec"]["properties"]["server"]["pattern"], server)


def test_the_definition_carries_its_version() -> None:
    assert CRD["metadata"]["annotations"][SCHEMA_ANNOTATION] == str(SCHEMA_VERSION)


def bounds(schema: Any) -> Iterator[float]:
    if isinstance(schema, dict):
        yield from (schema[key] for key in ("minimum", "maximum") if isinstance(schema.get(key), int))
        for part in schema.values():
            yield from bounds(part)


def test_kubernetes_can_hold_every_bound() -> None:
    """It compares integers with the bound as a float made an integer again: 2^63 - 1 would come out as -2^63."""
    found = list(bounds(SCHEMA))
    assert found
    assert all(-(2**63) <= float(bound) < 2**63 for bound in found)


_LATER = {
    "hold",
    "deleteRequested",
    "adminHolds",
    "suspended",
    "suspendedRun",
    "alteration",
    "rerunRequest",
    "exchangeRequest",
    "signalRequest",
    "arrayRequest",
}


def test_what_may_change_after_submission() -> None:
    """The policy names what may; it refuses every other field that comes, goes, or changes (tests/cluster)."""
    policies = yaml.safe_load_all((FILE.parents[1] / "keep-records.yaml").read_text())
    (policy,) = [
        one for one in policies if one["metadata"]["name"] == "hpcbatch-submitted" and "variables" in one["spec"]
    ]
    variables = {one["name"]: one["expression"] for one in policy["spec"]["variables"]}
    assert {*re.findall(r"'(\w+)'", variables["open"])} == _LATER == open_fields()
    assert {*SCHEMA["properties"]["spec"]["properties"]} > _LATER


def test_the_rules_of_the_definition_read_few_fields() -> None:
    """They are evaluated with each status, and the API server takes 20 us for a field of such an object."""
    rules = [one["rule"] for one in SCHEMA["properties"]["spec"]["x-kubernetes-validations"]]
    assert sum(len(re.findall(r"(?:self|oldSelf)\.\w+", rule)) for rule in rules) <= 10


def test_every_text_and_list_of_the_spec_has_a_bound() -> None:
    """What a user writes is bounded, and what rules look at has to be."""

    def check(schema: dict[str, Any], path: str) -> None:
        bound = {"string": "maxLength", "array": "maxItems"}.get(str(schema["type"]))
        assert bound is None or bound in schema or "enum" in schema, path
        if "additionalProperties" in schema:
            assert "maxProperties" in schema, path
        parts = {**schema.get("properties", {}), "[]": schema.get("items"), "*": schema.get("additionalProperties")}
        for name, part in parts.items():
            if part is not None:
                check(part, f"{path}.{name}")

    check(SCHEMA["properties"]["spec"], "spec")


def test_every_state_is_in_the_schema() -> None:
    assert set(SCHEMA["properties"]["status"]["properties"]["state"]["enum"]) == {s.value for s in JobState}
