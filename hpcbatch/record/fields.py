"""The table of a job's fields: those of JobSpec and JobStatus, and those that only a BatchJob has."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from hpcbatch.model.record import JobRecord, Summary
from hpcbatch.model.spec import JobSpec
from hpcbatch.model.stored import (
    ANY_INDICES,
    ANY_TEXT,
    BOOLEAN,
    OBJECT_NAME,
    Alterable,
    Kind,
    integer,
    stored_fields,
    string,
    struct,
)
from hpcbatch.typed import Any, Final, NamedTuple


class Computed(NamedTuple):
    """A field of a BatchJob's status that is computed from the whole record."""

    json: str
    kind: Kind
    of: Callable[[JobRecord], Any]
    """Its value; None if there is none."""
    description: str = ""


COMPUTED = (
    Computed(
        "jobId",
        string(pattern="^[0-9]+$"),
        lambda record: str(record.job_id),
        "Number of the job, given at admission, never used twice.",
    ),
    Computed("queue", ANY_TEXT, lambda record: record.queue),
    Computed("workDir", ANY_TEXT, lambda record: record.spec.work_dir or record.status.home),
    Computed("walltimeSeconds", integer(1), lambda record: record.walltime_s),
    Computed("summary", struct(Summary), Summary.of),
)


class ObjectField(NamedTuple):
    """A field that commands and controller read from the BatchJob itself, outside of a job's spec and status."""

    kind: Kind
    is_open: bool = False
    """It may change after submission."""
    description: str = ""


_ID = string(least=1, most=64).schema
_RERUN: Final = Kind(
    {
        "type": "object",
        "required": ["id"],
        "properties": {
            "id": _ID,
            "special": {
                "type": "boolean",
                "description": "It is marked as having ended in a special way, if it is held too.",
            },
        },
    }
)

_EXCHANGE: Final = Kind(
    {
        "type": "object",
        "required": ["id", "namespace", "name"],
        "properties": {"id": _ID, "namespace": OBJECT_NAME.schema, "name": OBJECT_NAME.schema},
    }
)

OBJECT_ONLY: Final[Mapping[str, Mapping[str, ObjectField]]] = {
    "spec": {
        "submissionSecret": ObjectField(
            string(most=253, pattern="^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$"),
            description="Name of the immutable Secret with script and environment.",
        ),
        "exportNone": ObjectField(BOOLEAN),
        "testOnly": ObjectField(
            BOOLEAN,
            description="It is refused in any case; the reply says when it would start.",
        ),
        "deleteRequested": ObjectField(
            BOOLEAN, is_open=True, description="Set by qdel and scancel; taken back only with a rerunRequest."
        ),
        "suspended": ObjectField(
            BOOLEAN, is_open=True, description="Its processes are to be stopped until this is taken back."
        ),
        "suspendedRun": ObjectField(
            integer(0, 2**31 - 1),
            is_open=True,
            description="The run that is suspended, by status.runCount; absent: every run.",
        ),
        "rerunRequest": ObjectField(
            _RERUN, is_open=True, description="A request to end the running job, if it runs, and queue it again."
        ),
        "exchangeRequest": ObjectField(
            _EXCHANGE,
            is_open=True,
            description="A request to exchange its place with that waiting job, which has one by the same id.",
        ),
        "signalRequest": ObjectField(
            Kind(
                {
                    "type": "object",
                    "required": ["id", "signal", "scope"],
                    "properties": {
                        "id": _ID,
                        "signal": integer(1, 64).schema,
                        "scope": {
                            "type": "string",
                            "maxLength": 32,
                            "pattern": "^(script|session|steps|all|(step|cancel)[.][0-9]{1,9}|"
                            "limit([.][0-9]{1,9}){2})$",
                            "description": "The script's shell; its session; all but that shell, in every pod; all in "
                            "every pod; the tasks of one step of srun; that step, to end it; or its alarm: its number "
                            "and the seconds of its time limit, 0 for none.",
                        },
                    },
                }
            ),
            is_open=True,
        ),
        "arrayRequest": ObjectField(
            Kind({"type": "object", "properties": dict.fromkeys(("deleted", "held", "own"), ANY_INDICES.schema)}),
            is_open=True,
            description="What is asked of members of an array; sets of indices. Those of `own` get a record of "
            "their own before they may run.",
        ),
    },
    "status": {
        "refusal": ObjectField(
            Kind({"type": "object", "properties": {"code": ANY_TEXT.schema, "message": ANY_TEXT.schema}})
        ),
        "volcanoJob": ObjectField(ANY_TEXT),
        "row": ObjectField(ANY_TEXT, description="What listings show beside the other printer columns, as JSON."),
        "rowMark": ObjectField(ANY_TEXT, description="Which columns these are."),
        "cleaned": ObjectField(
            BOOLEAN,
            description="The ended job's pods and keys are gone; script and environment too, unless it may run again.",
        ),
    },
}

ARRAY_LIMIT: Final = "arrayLimit"
"""A field of alterations only: it changes the limit in an array's status, where 0 means none."""
ALTERATION: Final = "alteration"


class Alterations(NamedTuple):
    """Names of the spec's fields, as in the BatchJob, by when they may be altered."""

    while_running: frozenset[str]
    """May be altered when the job has its nodes; some of them apply only if it runs again."""
    alterable: frozenset[str]
    of_size: frozenset[str]
    """The fields that determine a job's layout."""


def alterations(cls: type[JobSpec] = JobSpec) -> Alterations:
    parts = stored_fields(cls)
    running = frozenset(part.json for part in parts if part.alterable is Alterable.RUNNING) | {ARRAY_LIMIT}
    waiting = frozenset(part.json for part in parts if part.alterable is Alterable.WAITING)
    return Alterations(running, running | waiting, frozenset(part.json for part in parts if part.is_size))


WHILE_RUNNING, ALTERABLE, OF_SIZE = alterations()


def open_fields(cls: type[JobSpec] = JobSpec) -> frozenset[str]:
    """The fields of a BatchJob's spec that may change after submission: holds, deletion, requests."""
    declared = {part.json for part in stored_fields(cls) if part.is_open}
    return frozenset({*declared, ALTERATION, *(name for name, field in OBJECT_ONLY["spec"].items() if field.is_open)})
