"""A field that is added to a job's class is in everything that is made from the table of fields."""

from __future__ import annotations

import jsonschema
import pytest
from hypothesis import Phase, find, given, settings

from hpcbatch.dataclass import dataclass, field
from hpcbatch.model.dialect import Dialect
from hpcbatch.model.record import JobRecord, JobStatus
from hpcbatch.model.row import PRINTED, Column
from hpcbatch.model.spec import JobSpec
from hpcbatch.model.stored import NAME, Alterable, stored, stored_fields
from hpcbatch.record import batchjob, crd
from hpcbatch.record.cells import cells_of
from hpcbatch.record.fields import ALTERABLE, OF_SIZE, WHILE_RUNNING, alterations, open_fields
from hpcbatch.record.manifest import spec_to_json
from tests.job_values import specs


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked(JobSpec):
    fixed: str | None = field(default=None, metadata=stored("fixed", NAME))
    late: str | None = field(default=None, metadata=stored("late", NAME, Alterable.RUNNING))
    early: str | None = field(default=None, metadata=stored("early", NAME, Alterable.WAITING, is_size=True))
    free: str | None = field(default=None, metadata=stored("free", NAME, is_open=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class Became(JobStatus):
    seen: str = field(default="", metadata=stored("seen", NAME))


SHOWN = (*PRINTED, Column("Late", "string", ".spec.late", {}, 1), Column("Seen", "string", ".status.seen", {}, 1))
VERSION = crd.definition(Asked, Became, SHOWN)["spec"]["versions"][0]
SPEC, STATUS = (VERSION["schema"]["openAPIV3Schema"]["properties"][name] for name in ("spec", "status"))
NEW = ("fixed", "late", "early", "free")
VALIDATOR = jsonschema.Draft7Validator(SPEC)


@given(specs(Asked))
def test_json_both_ways(spec: Asked) -> None:
    body = spec_to_json(spec)
    assert {name: body.get(name) for name in NEW} == {name: getattr(spec, name) for name in NEW}
    VALIDATOR.validate(body)
    assert batchjob.spec_from_json(body, Asked) == spec


@pytest.mark.parametrize("seen", ["", "x"])
def test_json_of_the_status(seen: str) -> None:
    body = batchjob.status_to_json(Became(seen=seen))
    assert body.get("seen", "") == seen
    assert batchjob.status_from_json(body, None, Became) == Became(seen=seen)


@pytest.mark.parametrize("name", NEW)
def test_strategies_draw_it(name: str) -> None:
    many = settings(max_examples=2000, database=None, phases=[Phase.generate])
    assert getattr(find(specs(Asked), lambda spec: bool(getattr(spec, name)), settings=many), name)


def test_the_definition_has_it() -> None:
    assert {*NEW} <= SPEC["properties"].keys()
    assert "seen" in STATUS["properties"]
    assert {column["name"] for column in VERSION["additionalPrinterColumns"]} >= {"Late", "Seen"}


def test_nobody_changes_it_but_where_it_may() -> None:
    assert open_fields(Asked) - open_fields() == {"free"}


def test_alterations() -> None:
    found = alterations(Asked)
    assert found.while_running - WHILE_RUNNING == {"late"}
    assert found.alterable - ALTERABLE == {"late", "early"}
    assert found.of_size - OF_SIZE == {"early"}
    altered = SPEC["properties"]["alteration"]["properties"]["fields"]["properties"]
    assert altered.keys() & {*NEW} == {"late", "early"}


def test_cells() -> None:
    spec = Asked(dialect=Dialect.PBS, name="x", late="b")
    record = JobRecord(job_id=1, namespace="n", object_name="o", spec=spec, status=Became(seen="c"), queue="q")
    cells = cells_of(record, SHOWN[-2:])
    assert (cells["Late"], cells["Seen"]) == ("b", "c")


def test_a_field_that_does_not_say_how_it_is_stored_is_an_error() -> None:
    @dataclass(frozen=True, slots=True, kw_only=True)
    class Forgotten(JobSpec):
        new: str = ""

    with pytest.raises(TypeError, match=r"Forgotten\.new"):
        stored_fields(Forgotten)
