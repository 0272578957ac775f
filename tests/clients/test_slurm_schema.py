"""JSON against Slurm's own OpenAPI schema of 22.05: every name that it shows is one of Slurm's, and of that type.

The schema lies in Slurm's source tree, which HPCBATCH_SLURM_SOURCE names (tag slurm-22-05-8-1). Slurm 22.05 itself
prints names that its schema lacks, and null and numbers where it says string: those are allowed here, and no others.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.site import Site

ENVIRONMENT = "HPCBATCH_SLURM_SOURCE"
PLUGINS = "src/plugins/openapi"
TYPES: dict[str, Any] = {
    "object": dict,
    "array": list,
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
}
BEYOND = {
    "squeue": {
        *("jobs.group_name", "jobs.prefer", "jobs.tasks_per_node", "jobs.job_resources.allocated_cores"),
        *(f"jobs.job_resources.allocated_nodes.{name}" for name in ("cpus_used", "memory_allocated", "memory_used")),
    },
    "sinfo": {"nodes.comment", "nodes.extra", "nodes.last_busy"},
    "sacct": {f"jobs.steps.tres.requested.{each}.{name}" for each in ("max", "min") for name in ("node", "task")},
}
"""What the C code writes and the schema does not have: jobs.c, nodes.c, parse.c of the plugins."""
OTHER_TYPE = {"major", "micro", "minor", "allocation_nodes", "id", "task"}
"""Numbers, and of a step's task an object, where the schema says string."""


class Schema:
    def __init__(self, plugin: str, path: str) -> None:
        source = os.environ.get(ENVIRONMENT)
        if not source:
            pytest.skip(f"{ENVIRONMENT} names Slurm's source tree: its schema is not copied")
        self._document = json.loads((Path(source) / PLUGINS / plugin / "openapi.json").read_text())
        response = self._document["paths"][path]["get"]["responses"]["200"]
        self._root = response["content"]["application/json"]["schema"]

    def _resolved(self, schema: dict[str, Any]) -> dict[str, Any]:
        """Where the schema refers to what it does not have, anything will do."""
        while "$ref" in schema:
            found: Any = self._document
            for part in schema["$ref"].removeprefix("#/").split("/"):
                found = found.get(part, {})
            schema = found
        return schema

    def problems(self, value: object) -> Iterator[tuple[str, str]]:
        """Paths without indices, and what is wrong there."""
        return self._problems(self._root, value, "")

    def _problems(self, schema: dict[str, Any], value: object, path: str) -> Iterator[tuple[str, str]]:
        schema = self._resolved(schema)
        name = path.rpartition(".")[2]
        wanted = TYPES.get(schema.get("type", ""))
        if value is None or wanted is None:
            return
        if not isinstance(value, wanted) or (isinstance(value, bool) and wanted is not bool):
            if name not in OTHER_TYPE:
                yield path, f"{value!r} is no {schema['type']}"
            return
        if isinstance(value, list):
            for each in value:
                yield from self._problems(schema.get("items", {}), each, path)
        elif isinstance(value, dict) and "properties" in schema:
            for key, each in value.items():
                inner = f"{path}.{key}".lstrip(".")
                if key in schema["properties"]:
                    yield from self._problems(schema["properties"][key], each, inner)
                else:
                    yield inner, "no such name"


@pytest.mark.parametrize(
    ("command", "plugin", "path"),
    [
        ("squeue", "v0.0.38", "/jobs/"),
        ("sinfo", "v0.0.38", "/nodes/"),
        ("sacct", "dbv0.0.38", "/jobs/"),
    ],
)
def test_json(site: Site, command: str, plugin: str, path: str) -> None:
    schema = Schema(plugin, path)
    array = site.sbatch("-a", "1-2", "-t", "5", "--mem=100M", "-A", "proj", "--comment=c", "--wrap", "srun true")
    long = site.sbatch("-n2", "-N2", "-t", "5", "--gres=none", "--nice=3", "--wrap", "sleep 300")
    waits = site.sbatch("-n2", "-N2", "-t", "5", "--begin=now+1hour", "--wrap", "true")
    site.wait_end(f"{array}[]")
    site.wait_state(long, "R")
    shown = json.loads(site.run(command, "--json").stdout)
    if command != "sinfo":
        known = {job["job_id"] for job in shown["jobs"]}
        assert {int(array), int(long)} <= known
    found = {(where, what) for where, what in schema.problems(shown) if where not in BEYOND[command]}
    assert not found
    site.run("scancel", long, waits)
