"""What listings read of records that another version of hpcbatch has written last."""

from __future__ import annotations

from typing import Any

import pytest

from hpcbatch.api.port import Object
from hpcbatch.api.resources import BATCHJOBS
from hpcbatch.controller.controller import Controller
from hpcbatch.controller.records import Admitted, record_of
from hpcbatch.controller.row_texts import RowTexts
from hpcbatch.engine.registry.registry import Registry
from hpcbatch.model.site import SiteConfig
from hpcbatch.model.state import JobState
from hpcbatch.record.batchjob import has_row, row_to_json
from tests.component.batchjobs import NS, put_job
from tests.component.volcano_cluster import Cluster
from tests.waiting import wait_for

NO_TEXT = {"row": None, "rowMark": None}
OLDER = pytest.mark.parametrize("older", [NO_TEXT, {"row": '{"Cpus":7}', "rowMark": "other"}])


def put_older(registry: Registry, state: JobState, older: Object) -> str:
    name = put_job(registry, 7, state).object_name
    registry.patch(BATCHJOBS, name, {"status": older}, NS, subresource="status")
    return name


@OLDER
@pytest.mark.parametrize("state", [JobState.QUEUED, JobState.FINISHED])
def test_the_controller_writes_it_anew(state: JobState, older: Object) -> None:
    cluster = Cluster(1, 1)
    name = put_older(cluster.registry, state, older)
    controller = Controller(cluster.registry, SiteConfig())

    def found() -> Object | None:
        obj = cluster.registry.get(BATCHJOBS, name, NS)
        return obj if has_row(obj) else None

    controller.start()
    try:
        obj: Object = wait_for("the text of this version", found)
    finally:
        controller.stop()
    assert obj["status"]["row"] == row_to_json(record_of(obj))["row"]
    assert obj["status"]["state"] == state


@OLDER
def test_it_is_written_once(older: Object) -> None:
    registry = Cluster(1, 1).registry
    name = put_older(registry, JobState.QUEUED, older)
    written: list[Object] = []
    texts = RowTexts(registry, written.append)
    assert texts.renew(look_at(registry, name))
    assert not texts.renew(look_at(registry, name))
    assert written == [registry.get(BATCHJOBS, name, NS)]


class Dropping:
    """An API whose definition of the records does not know the texts."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def __getattr__(self, name: str) -> Any:
        return getattr(self._registry, name)

    def patch(self, *args: Any, **options: Any) -> Object:
        resource, name, body, namespace = args
        status = {field: value for field, value in body["status"].items() if field not in NO_TEXT}
        return self._registry.patch(resource, name, body | {"status": status}, namespace, **options)


def test_an_older_definition_is_not_tried_again_and_again() -> None:
    registry = Cluster(1, 1).registry
    name = put_older(registry, JobState.QUEUED, NO_TEXT)
    texts = RowTexts(Dropping(registry), lambda _: None)
    assert texts.renew(look_at(registry, name))
    assert not has_row(registry.get(BATCHJOBS, name, NS))
    assert not texts.renew(look_at(registry, name))


def look_at(registry: Registry, name: str) -> Admitted:
    obj = registry.get(BATCHJOBS, name, NS)
    return Admitted(obj, record_of(obj))
