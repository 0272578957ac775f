"""Values that fit a CRD's structural schema, for hypothesis: a field that is added there is drawn by itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from hpcbatch.record import crd

_LONG = 40
_TIMES = [
    "1970-01-01T00:00:00Z",
    "2026-11-21T10:17:35.5+14:00",
    "2400-01-01T00:00:00Z",
    "4999-12-31T23:59:59-12:00",
    "0001-01-01T00:00:00+14:00",
    "9999-12-31T23:59:59Z",
    "2026-02-28T23:59:59z",
]
_TEXTS = [
    "",
    "a",
    "1",
    "-1",
    "0",
    "9" * 39,
    "x" * 300,
    "a b",
    "é中",
    "%s%d{}",
    "[1-3]",
    "1:2:3",
    "a,b=c",
    "/d/%j",
    "%99999999j",
    "1e9",
    "0x1",
    "None",
    "*",
    "^array_index^",
    "default",
    "\\",
    "'\"",
]
_SETS = [
    "1",
    "1-9",
    "1-9:2,20",
    "0-30000000:3,1-30000000",
    "1-2000",
    "0-999999999999999",
    "5-1",
    "1-5:0",
    "3,2,1",
    "9" * 39,
    "1-100000,1-100000,1-100000",
]
_NAMES = """
    ntasks ntasks_per_node cpus_per_task mem_per_node_mb mem_per_cpu_mb nodes qos comment constraint tres_per_node gpus
    export time_min umask Join_Path Keep_Files Mail_Points Output_Path Error_Path Resource_List.ncpus Resource_List.mem
    Resource_List.walltime Resource_List.select Resource_List.ngpus Submit_arguments project Shell_Path_List ngpus x é
""".split()


def schema_of(field: str) -> Mapping[str, Any]:
    """Of `spec` or `status` of a BatchJob."""
    (version,) = crd.definition()["spec"]["versions"]
    found: Mapping[str, Any] = version["schema"]["openAPIV3Schema"]["properties"][field]
    return found


@dataclass(frozen=True)
class Leaves:
    """The strategies for what holds nothing else."""

    integers: Callable[[Mapping[str, Any]], st.SearchStrategy[int]]
    strings: Callable[[Mapping[str, Any]], st.SearchStrategy[str]]


def values(schema: Mapping[str, Any], leaves: Leaves | None = None) -> st.SearchStrategy[Any]:
    """What `schema` allows. Without `leaves` mostly small values, the ends of what is allowed, and nonsense."""
    leaves = leaves or HOSTILE
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    match schema["type"]:
        case "object":
            return _object(schema, leaves)
        case "array":
            least = schema.get("minItems", 0)
            return st.lists(values(schema["items"], leaves), min_size=least, max_size=least + 2)
        case "string":
            return leaves.strings(schema)
        case "integer":
            return leaves.integers(schema)
        case "boolean":
            return st.booleans()
    raise AssertionError(f"no values for {schema}")


def _object(schema: Mapping[str, Any], leaves: Leaves) -> st.SearchStrategy[Any]:
    if "properties" not in schema:
        part = schema.get("additionalProperties")
        if not part:
            return st.just({})
        return st.dictionaries(st.sampled_from(_NAMES), values(part, leaves), max_size=4)
    fields = {name: values(part, leaves) for name, part in schema["properties"].items()}
    return some_of(fields, {name: fields.pop(name) for name in schema.get("required", ())})


def some_of(
    fields: Mapping[str, st.SearchStrategy[Any]], needed: Mapping[str, st.SearchStrategy[Any]]
) -> st.SearchStrategy[dict[str, Any]]:
    """Objects with all that is needed and a few of `fields`."""
    if not fields:
        return st.fixed_dictionaries(dict(needed))

    @st.composite
    def draw_some(draw: st.DrawFn) -> Any:
        # each now and then: with all of them in most records, the first mistake would hide the others
        names = draw(st.lists(st.sampled_from(sorted(fields)), max_size=5, unique=True))
        return {name: draw(part) for name, part in needed.items()} | {name: draw(fields[name]) for name in names}

    return draw_some()


def _integer(schema: Mapping[str, Any]) -> st.SearchStrategy[int]:
    low, high = schema.get("minimum", -(2**63)), schema.get("maximum", 2**63 - 1)
    ends = st.sampled_from([low, high, min(max(low, 1), high)])
    return ends | st.integers(max(low, -3), min(high, 70)) | st.integers(low, high)


def _string(schema: Mapping[str, Any]) -> st.SearchStrategy[str]:
    low, high = schema.get("minLength", 0), schema.get("maxLength", _LONG)
    if schema.get("format") == "date-time":
        found = st.sampled_from(_TIMES)
    elif "pattern" in schema:
        found = st.sampled_from(_SETS + _TEXTS) | st.from_regex(schema["pattern"].replace("$", r"\Z"), fullmatch=True)
    else:
        found = st.sampled_from(_TEXTS) | st.text(max_size=_LONG)
    return found.filter(lambda text: low <= len(text) <= high)


HOSTILE = Leaves(_integer, _string)
