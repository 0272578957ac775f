"""Changes of objects: versions, conflicts, what may not change."""

from typing import Any

import pytest

from hpcbatch.api import resources
from hpcbatch.engine.registry.registry import Registry
from hpcbatch.errors import (
    ApiError,
    ConflictError,
    InvalidError,
    NotFoundError,
)
from tests.component.registry.objects import THINGS, pod, thing

# --- update ---


def test_status_and_spec_are_apart(things: Registry) -> None:
    made = things.create(THINGS, thing(), "default")
    changed = {**made, "spec": {"tasks": 3}, "status": {"phase": "x"}}
    done = things.replace(THINGS, changed, "default")
    assert "status" not in done
    assert done["metadata"]["generation"] == 2
    labelled = {**done["metadata"], "labels": {"a": "b"}}
    done = things.replace(
        THINGS, {**done, "metadata": labelled, "spec": {}, "status": {"phase": "x"}}, "default", subresource="status"
    )
    assert (done["spec"], done["status"]) == ({"queue": "main", "tasks": 3}, {"phase": "x"})
    assert "labels" not in done["metadata"]
    assert done["metadata"]["generation"] == 2


def test_a_kind_without_status_subresource(registry: Registry) -> None:
    registry.install_builtin()
    group = {"apiVersion": resources.PODGROUPS.api_version, "kind": "PodGroup", "metadata": {"name": "g"}, "spec": {}}
    registry.create(resources.PODGROUPS, group | {"status": {}}, "default")
    done = registry.patch(resources.PODGROUPS, "g", {"status": {"phase": "Inqueue"}}, "default")
    assert (done["status"], done["metadata"]["generation"]) == ({"phase": "Inqueue"}, 2)
    with pytest.raises(NotFoundError):
        registry.patch(resources.PODGROUPS, "g", {"status": {}}, "default", subresource="status")


def test_a_write_that_changes_nothing_is_none(things: Registry) -> None:
    made = things.create(THINGS, thing(), "default")
    assert things.patch(THINGS, "t", {"spec": {"queue": "main"}}, "default") == made
    assert things.replace(THINGS, made, "default") == made
    assert things.store.revision == int(made["metadata"]["resourceVersion"])


def test_conflict(things: Registry) -> None:
    made = things.create(THINGS, thing(), "default")
    things.patch(THINGS, "t", {"spec": {"tasks": 1}}, "default")
    with pytest.raises(ConflictError) as caught:
        things.replace(THINGS, made, "default")
    assert caught.value.message == (
        'Operation cannot be fulfilled on things.example.com "t": the object has been modified; '
        "please apply your changes to the latest version and try again"
    )
    with pytest.raises(ConflictError):
        things.patch(THINGS, "t", {"metadata": {"resourceVersion": "1"}, "spec": {"tasks": 2}}, "default")


def test_put_without_version(things: Registry) -> None:
    things.create(THINGS, thing(), "default")
    with pytest.raises(InvalidError, match=r"metadata\.resourceVersion: Invalid value: 0: must be specified"):
        things.replace(THINGS, thing(), "default")
    things.create(resources.CONFIGMAPS, {"metadata": {"name": "c"}}, "default")
    things.replace(resources.CONFIGMAPS, {"metadata": {"name": "c"}, "data": {"a": "b"}}, "default")


def test_identity(things: Registry) -> None:
    made = things.create(THINGS, thing(), "default")
    with pytest.raises(ConflictError, match="Precondition failed: UID in precondition: x, UID in object meta: "):
        things.replace(THINGS, {**made, "metadata": {**made["metadata"], "uid": "x"}}, "default")
    with pytest.raises(ApiError, match=r"the name of the object \(o\) does not match the name on the URL \(t\)"):
        things.patch(THINGS, "t", {"metadata": {"name": "o"}}, "default")


def test_pod_spec_is_fixed(registry: Registry) -> None:
    registry.create(resources.PODS, pod(), "default")
    with pytest.raises(InvalidError, match="pod updates may not change fields other than"):
        registry.patch(resources.PODS, "p", {"spec": {"hostname": "x"}}, "default")
    done = registry.patch(resources.PODS, "p", {"spec": {"activeDeadlineSeconds": 5}}, "default")
    assert done["metadata"]["generation"] == 2


def test_update_tries_again(things: Registry) -> None:
    things.create(THINGS, thing(), "default")
    calls = 0

    def change(obj: dict[str, Any]) -> dict[str, Any]:
        nonlocal calls
        calls += 1
        if calls == 1:
            things.patch(THINGS, "t", {"spec": {"tasks": 5}}, "default")
        obj["spec"]["queue"] = "other"
        return obj

    done = things.update(THINGS, "t", "default", change)
    assert (calls, done["spec"]) == (2, {"queue": "other", "tasks": 5})
    assert things.update(THINGS, "t", "default", lambda _: None) == done


def test_owned_parts_are_shared_between_versions(things: Registry) -> None:
    """So that a history of thousands of status writes costs the statuses only."""
    made = things.create(THINGS, thing(), "default")
    done = things.replace(THINGS, {**made, "status": {"phase": "x"}}, "default", subresource="status")
    assert done["spec"] is made["spec"]
    body: dict[str, Any] = {
        "apiVersion": "example.com/v1",
        "kind": "Thing",
        "metadata": dict(done["metadata"]),
        "spec": dict(made["spec"]),
    }
    body["metadata"]["labels"] = {"a": "b"}
    assert things.replace(THINGS, body, "default")["spec"] is made["spec"]
