"""Jobs that say what else they may be made of: one of it is chosen when they are admitted."""

from __future__ import annotations

from typing import Any

from hpcbatch.dataclass import replace
from hpcbatch.model.spec import Alternative, JobSpec
from hpcbatch.model.stored import stored_fields
from hpcbatch.record.manifest import spec_to_json

_MADE_OF = (*(part.json for part in stored_fields(Alternative)), "otherwise")


def alternatives(spec: JobSpec) -> tuple[JobSpec, ...]:
    """The job as each of them, in order; only itself if it has no choice."""
    if not spec.otherwise:
        return (spec,)
    return replace(spec, otherwise=()), *(each.of(spec) for each in spec.otherwise)


def chosen(spec: JobSpec, made: JobSpec) -> dict[str, Any]:
    """What is to be altered of a BatchJob's spec, None to be removed, so that it is `made`, one of its alternatives."""
    if not spec.otherwise:
        return {}
    body = spec_to_json(made)
    return {name: body.get(name) for name in _MADE_OF}
