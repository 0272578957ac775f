"""The BatchJob of a submission. A module of its own: `qsub` and `sbatch` import only this at their start."""

from __future__ import annotations

from hpcbatch.model.labels import MANAGED_BY
from hpcbatch.model.spec import JobSpec
from hpcbatch.model.stored import Json, stored_fields, struct_to_json
from hpcbatch.record import GROUP, KIND, VERSION


def to_manifest(
    spec: JobSpec, *, name: str, submission_secret: str, export_none: bool = False, test_only: bool = False
) -> Json:
    """The BatchJob to create for `spec`; the Secret has script and environment. `test_only`: none is to be admitted."""
    body = spec_to_json(spec)
    body["submissionSecret"] = submission_secret
    if export_none:
        body["exportNone"] = True
    if test_only:
        body["testOnly"] = True
    return {
        "apiVersion": f"{GROUP}/{VERSION}",
        "kind": KIND,
        "metadata": {"name": name, "labels": dict(MANAGED_BY)},
        "spec": body,
    }


def spec_to_json(spec: JobSpec) -> Json:
    """`spec` as the BatchJob's spec, without the submission's own fields. Default values are omitted."""
    return struct_to_json(spec, stored_fields(type(spec)))
