"""Definitions of kinds, and what they admit."""

from typing import Any

import pytest

from hpcbatch.api import resources
from hpcbatch.clone import clone
from hpcbatch.engine.registry.registry import Registry
from hpcbatch.errors import (
    ApiError,
    InvalidError,
    NotFoundError,
)
from tests.component.registry.objects import CRD, THINGS, thing

# --- definitions ---


def test_definition_is_in_force_at_once(registry: Registry) -> None:
    made = registry.create(resources.CRDS, CRD)
    conditions = {item["type"]: item["status"] for item in made["status"]["conditions"]}
    assert conditions == {"NamesAccepted": "True", "Established": "True"}
    assert made["status"]["storedVersions"] == ["v1"]
    assert made["spec"]["names"]["listKind"] == "ThingList"
    assert registry.create(THINGS, thing(), "default")["spec"] == {"queue": "main"}
    assert [item["metadata"]["name"] for item in registry.list(THINGS, fields="spec.queue=main").items] == ["t"]


def test_definition_goes_with_its_objects(things: Registry) -> None:
    things.create(THINGS, thing(), "default")
    watch = things.watch(THINGS)
    things.delete(resources.CRDS, "things.example.com")
    assert [event.type for event in watch] == ["ADDED", "DELETED"]
    with pytest.raises(NotFoundError):
        things.list(THINGS)


def test_definition_waits_for_finalizers(things: Registry) -> None:
    things.create(THINGS, thing(metadata={"name": "t", "finalizers": ["x.io/a"]}), "default")
    things.delete(resources.CRDS, "things.example.com")
    assert things.get(resources.CRDS, "things.example.com")["metadata"]["deletionTimestamp"]
    things.patch(THINGS, "t", {"metadata": {"finalizers": None}}, "default")
    with pytest.raises(NotFoundError):
        things.get(resources.CRDS, "things.example.com")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda crd: crd["metadata"].update(name="wrong.x"),
            'metadata.name: Invalid value: "wrong.x": must be spec.names.plural+"."+spec.group',
        ),
        (lambda crd: crd["spec"]["versions"][0].update(schema={}), "schema.openAPIV3Schema: Required value"),
        (
            lambda crd: crd["spec"]["versions"][0].update(storage=False),
            "must have exactly one version marked as storage version",
        ),
        (
            lambda crd: crd["spec"]["versions"][0].update(selectableFields=[{"jsonPath": ".spec.zz"}]),
            'Invalid value: ".spec.zz": is an invalid path: does not refer to a valid field',
        ),
        (
            lambda crd: crd["spec"]["versions"][0].update(
                additionalPrinterColumns=[{"name": "A", "type": "foo", "jsonPath": ".spec.a"}]
            ),
            'Invalid value: "foo": must be one of boolean,date,integer,number,string',
        ),
        (
            lambda crd: crd["spec"]["versions"][0].update(
                additionalPrinterColumns=[{"name": "A", "type": "string", "jsonPath": "spec.a"}]
            ),
            "must be a simple json path starting with .",
        ),
        (lambda crd: crd["spec"].pop("names"), "spec.names: Required value"),
        (lambda crd: crd.update(spec=None), "spec.names: Required value"),
        (lambda crd: crd["spec"]["versions"].append(3), "of type v1.CustomResourceDefinitionVersion"),
        (lambda crd: crd["spec"].update(versions="x"), "cannot unmarshal string"),
        (lambda crd: crd["spec"].update(versions=[]), "spec.versions: Required value"),
    ],
)
def test_bad_definitions(registry: Registry, change: Any, message: str) -> None:

    crd = clone(CRD)
    change(crd)
    with pytest.raises(ApiError) as caught:
        registry.create(resources.CRDS, crd)
    assert message in caught.value.message
    assert caught.value.code in {400, 422}


def test_builtin_definitions(registry: Registry) -> None:
    registry.install_builtin()
    before = registry.store.revision
    registry.install_builtin()
    assert registry.store.revision == before
    queues = {item["metadata"]["name"]: item["spec"] for item in registry.list(resources.QUEUES).items}
    assert queues["default"] == {
        "dequeueStrategy": "traverse",
        "guarantee": {},
        "parent": "root",
        "reclaimable": True,
        "weight": 1,
    }
    kinds = {kind.resource for kind in registry.kinds() if kind.custom}
    assert kinds == {
        resources.BATCHJOBS,
        resources.RESERVATIONS,
        resources.VOLCANO_JOBS,
        resources.PODGROUPS,
        resources.QUEUES,
        resources.COMMANDS,
        resources.HYPERNODES,
    }


def test_the_seed_job_is_valid(registry: Registry) -> None:
    registry.install_builtin()
    template = {"spec": {"containers": [{"name": "main", "image": "x"}], "restartPolicy": "OnFailure"}}
    job = {
        "apiVersion": resources.VOLCANO_JOBS.api_version,
        "kind": "Job",
        "metadata": {"name": "j"},
        "spec": {
            "minAvailable": 3,
            "plugins": {"ssh": [], "svc": []},
            "tasks": [
                {
                    "name": "mpimaster",
                    "replicas": 1,
                    "template": template,
                    "policies": [{"event": "TaskCompleted", "action": "CompleteJob"}],
                },
                {"name": "mpiworker", "replicas": 2, "template": template},
            ],
        },
    }
    made = registry.create(resources.VOLCANO_JOBS, job, "default")
    assert (made["spec"]["maxRetry"], made["spec"]["queue"]) == (3, "default")
    job["metadata"] = {"name": "k"}
    job["spec"]["tasks"][0]["policies"][0]["event"] = "Foo"  # type: ignore[index]
    with pytest.raises(InvalidError) as caught:
        registry.create(resources.VOLCANO_JOBS, job, "default")
    assert caught.value.message == (
        'Job.batch.volcano.sh "k" is invalid: spec.tasks[0].policies[0].event: Unsupported value: "Foo": supported '
        'values: "*", "PodPending", "PodRunning", "PodFailed", "PodEvicted", "Unknown", "TaskCompleted", "OutOfSync", '
        '"CommandIssued", "JobUpdated", "TaskFailed"'
    )


# --- admission ---


def test_admission(things: Registry) -> None:
    seen: list[tuple[str, bool]] = []

    def mutate(operation: str, obj: dict[str, Any], old: dict[str, Any] | None) -> dict[str, Any]:
        seen.append((operation, old is None))
        return {**obj, "spec": {**obj["spec"], "tasks": 7}}

    def validate(operation: str, obj: dict[str, Any], old: dict[str, Any] | None) -> None:
        if operation == "DELETE" or obj["spec"]["queue"] == "closed":
            raise ApiError(400, "", "denied")

    things.admission[THINGS].mutators.append(mutate)
    things.admission[THINGS].validators.append(validate)
    assert things.create(THINGS, thing(), "default")["spec"] == {"queue": "main", "tasks": 7}
    with pytest.raises(ApiError, match="denied"):
        things.patch(THINGS, "t", {"spec": {"queue": "closed"}}, "default")
    with pytest.raises(ApiError, match="denied"):
        things.delete(THINGS, "t", "default")
    things.patch(THINGS, "t", {"status": {"phase": "x"}}, "default", subresource="status")
    assert seen == [("CREATE", True), ("UPDATE", False)]
    assert things.get(THINGS, "t", "default")["spec"]["queue"] == "main"


def test_mutation_comes_before_the_schema(things: Registry) -> None:
    things.admission[THINGS].mutators.append(lambda _o, obj, _old: {**obj, "spec": {"tasks": 65}})
    with pytest.raises(InvalidError, match=r"spec\.tasks"):
        things.create(THINGS, thing(), "default")
