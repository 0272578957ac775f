"""The definition of the BatchJob (CustomResourceDefinition), made from the table of a job's fields.

`make crd` writes it to deploy/crd/batchjobs.yaml.
"""

from __future__ import annotations

from hpcbatch.model.array import Array
from hpcbatch.model.chunk import MAX_CHUNKS
from hpcbatch.model.record import JobStatus
from hpcbatch.model.row import PRINTED, Column
from hpcbatch.model.spec import JobSpec
from hpcbatch.model.stored import Alterable, Json, described, integer, stored_fields, string, struct_schema
from hpcbatch.record import GROUP, KIND, VERSION
from hpcbatch.record.fields import ALTERATION, ARRAY_LIMIT, COMPUTED, OBJECT_ONLY, open_fields
from hpcbatch.typed import Any, Final

SCHEMA_ANNOTATION: Final = "hpcbatch.io/schema"
SCHEMA_VERSION: Final = 37
"""The annotation's value; raised at each change of the definition, so that `hpcbatch check` recognizes an old one."""
_HEAD = """\
# The job record. What was requested stands in spec, what became of it in status; `qstat` and `squeue` are made from the
# printer columns alone. hpcbatch's commands write the spec, its controller writes the status.
# This file is made by `make crd` from the fields that hpcbatch/model declares: do not change it by hand.
"""
_RESERVATIONS_HEAD = """\
# A reservation. pbs_rsub makes one in its user's namespace, scontrol in hpcbatch-system; the controller grants it or
# not, and writes the status.
# This file is made by `make crd` from the fields that hpcbatch/model declares: do not change it by hand.
"""


def text() -> str:
    """The definition as the YAML of deploy/crd/batchjobs.yaml."""
    return as_yaml(_HEAD, _kept(definition()))


def reservations_text() -> str:
    """That of the Reservation as the YAML of deploy/crd/reservations.yaml."""
    from hpcbatch.record import reservation

    return as_yaml(_RESERVATIONS_HEAD, _kept(reservation.definition()))


def _kept(body: Json) -> Json:
    """Helm leaves it where it is when the release goes: with it would go all records."""
    body["metadata"].setdefault("annotations", {})["helm.sh/resource-policy"] = "keep"
    return body


def as_yaml(head: str, body: Json) -> str:
    import yaml

    class Plain(yaml.SafeDumper):
        """Writes no anchors."""

        def ignore_aliases(self, _data: Any) -> bool:
            return True

    return head + yaml.dump(body, Dumper=Plain, sort_keys=False, default_flow_style=None, width=160)


def definition(
    spec_class: type[JobSpec] = JobSpec,
    status_class: type[JobStatus] = JobStatus,
    columns: tuple[Column, ...] = PRINTED,
) -> Json:
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"batchjobs.{GROUP}", "annotations": {SCHEMA_ANNOTATION: str(SCHEMA_VERSION)}},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {
                "kind": KIND,
                "listKind": f"{KIND}List",
                "plural": "batchjobs",
                "singular": "batchjob",
                "shortNames": ["bj"],
                "categories": ["all", "hpc"],
            },
            "versions": [
                {
                    "name": VERSION,
                    "served": True,
                    "storage": True,
                    "subresources": {"status": {}},
                    "selectableFields": [{"jsonPath": ".status.jobId"}, {"jsonPath": ".status.state"}],
                    "additionalPrinterColumns": [_printer_column(column) for column in columns],
                    "schema": {"openAPIV3Schema": _schema(spec_class, status_class)},
                }
            ],
        },
    }


def _printer_column(column: Column) -> Json:
    body: Json = {"name": column.name, "type": column.type, "jsonPath": column.path}
    if column.priority:
        body["priority"] = column.priority
    return body | ({"description": column.description} if column.description else {})


def _schema(spec_class: type[JobSpec], status_class: type[JobStatus]) -> Json:
    return {
        "description": "A batch job as PBS, Slurm and LSF know it, and what became of it.",
        "type": "object",
        "required": ["spec"],
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object"},
            "spec": _spec_schema(spec_class),
            "status": _status_schema(status_class),
        },
    }


def _spec_schema(cls: type[JobSpec]) -> Json:
    schema = struct_schema(stored_fields(cls))
    properties = schema.pop("properties") | _object_only("spec")
    properties[ALTERATION] = _alteration_schema(cls)
    opened = ", ".join(name for name in properties if name in open_fields(cls))
    return {
        "description": f"What was requested. Only these may change after submission: {opened}.",
        **schema,
        "x-kubernetes-validations": [
            {
                "rule": f"self.chunks.map(chunk, chunk.count).sum() <= {MAX_CHUNKS}",
                "message": f"a job has at most {MAX_CHUNKS} chunks",
                "fieldPath": ".chunks",
            },
            {
                "rule": "!(has(oldSelf.deleteRequested) && oldSelf.deleteRequested) || "
                "(has(self.deleteRequested) && self.deleteRequested) || (has(self.rerunRequest) && "
                "(!has(oldSelf.rerunRequest) || self.rerunRequest.id != oldSelf.rerunRequest.id))",
                "message": "the deletion of a job cannot be taken back, but by a new rerunRequest",
                "fieldPath": ".deleteRequested",
                "reason": "FieldValueForbidden",
            },
        ],
        "properties": properties,
    }


def _alteration_schema(cls: type[JobSpec]) -> Json:
    fields = {
        part.json: described(part.altered_kind, part.description)
        for part in stored_fields(cls)
        if part.alterable is not Alterable.NEVER
    }
    limit = {part.attribute: part for part in stored_fields(Array)}["limit"]
    fields[ARRAY_LIMIT] = {
        **integer(0, limit.kind.schema["maximum"]).schema,
        "description": "How many members of an array may run at once; 0: as many as fit.",
    }
    return {
        "description": "A request to change the job; the controller takes it over into status.altered, or says in "
        "status.answered why not.",
        "type": "object",
        "required": ["id"],
        "properties": {
            "id": string(least=1, most=64).schema,
            "cleared": {
                "description": "Fields to take away; `attributes.x`: of the attributes.",
                "type": "array",
                "maxItems": 256,
                "items": string(most=256).schema,
            },
            "fields": {
                "description": "Fields of the spec with their new values. Attributes are added to the present ones.",
                "type": "object",
                "properties": fields,
            },
        },
    }


def _status_schema(cls: type[JobStatus]) -> Json:
    """Without `required`: the controller writes a status in steps."""
    computed = {part.json: described(part.kind, part.description) for part in COMPUTED}
    properties = computed | struct_schema(stored_fields(cls))["properties"] | _object_only("status")
    return {"type": "object", "properties": properties}


def _object_only(root: str) -> Json:
    return {name: described(field.kind, field.description) for name, field in OBJECT_ONLY[root].items()}
