"""The form of a value of the model in a BatchJob: its name there, its JSON form and the bounds of its schema.

Each field of a dataclass declares this, beside type and default:
`queue: str | None = field(default=None, metadata=stored("queue", NAME))`.
JSON both ways, the definition of the BatchJob and all tables of fields follow from it (hpcbatch/record).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum, StrEnum, auto
from functools import lru_cache

from hpcbatch.dataclass import MISSING, Declared, declared_fields
from hpcbatch.model.indices import Indices, check_size
from hpcbatch.model.text import UNPRINTABLE
from hpcbatch.typed import Any, Final, NamedTuple, TypeVar
from hpcbatch.units import MAX_WALLTIME_S, check_time, parse_rfc3339, rfc3339

Json = dict[str, Any]
"""An object as returned by the JSON decoder."""
_T = TypeVar("_T")
_KEY: Final = "stored"
_INT32: Final = 2**31 - 1


def _same(value: Any) -> Any:
    return value


class Kind(NamedTuple):
    """A form of values: the OpenAPI schema, and the conversion to JSON and back. `from_json` may raise the errors in
    record.rows.UNREADABLE.
    """

    schema: Mapping[str, Any]
    to_json: Callable[[Any], Any] = _same
    from_json: Callable[[Any], Any] = _same
    parts: tuple[Stored, ...] = ()
    """For a dataclass: its fields."""


class Alterable(Enum):
    """Until when `qalter`, `qmove` and `scontrol update` may change a field."""

    NEVER = auto()
    WAITING = auto()  # until the job has its nodes
    RUNNING = auto()  # until its end; some of these fields apply only if it runs again


class Stored(NamedTuple):
    """A field of a dataclass as stored in a BatchJob."""

    attribute: str
    json: str
    kind: Kind
    default: Any
    """Omitted from the JSON, unless `is_always`."""
    is_required: bool | None
    """None: only without a default (in metadata; `stored_fields` decides it)."""
    is_always: bool
    alterable: Alterable
    altered_kind: Kind
    """The form that an alteration may use."""
    is_size: bool
    """The job's layout depends on it."""
    is_open: bool
    """The object's owner, or an operator, may change it at any time, without an alteration."""
    description: str
    schema_default: Any


def stored(
    json: str,
    kind: Kind,
    alterable: Alterable = Alterable.NEVER,
    *,
    altered_kind: Kind | None = None,
    is_required: bool | None = None,
    is_always: bool = False,
    is_size: bool = False,
    is_open: bool = False,
    description: str = "",
    schema_default: Any = None,
) -> Mapping[str, Any]:
    """The metadata of a dataclass' field: see Stored. A field without default is required."""
    part = Stored(
        attribute="",
        json=json,
        kind=kind,
        default=MISSING,
        is_required=is_required,
        is_always=is_always,
        alterable=alterable,
        altered_kind=altered_kind or kind,
        is_size=is_size,
        is_open=is_open,
        description=description,
        schema_default=schema_default,
    )
    return {_KEY: part}


NOT_STORED: Final[Mapping[str, Any]] = {_KEY: None}
"""The metadata of a field that is stored elsewhere in the BatchJob."""
_FIELDS: dict[type[Any], tuple[Stored, ...]] = {}


def stored_fields(cls: type[Any]) -> tuple[Stored, ...]:
    """The fields of a dataclass that are stored in a BatchJob. Raises TypeError for a field without metadata."""
    if cls not in _FIELDS:
        _FIELDS[cls] = tuple(part for field in declared_fields(cls) if (part := _stored_field(cls, field)) is not None)
    return _FIELDS[cls]


def _stored_field(cls: type[Any], field: Declared) -> Stored | None:
    if _KEY not in field.metadata:
        raise TypeError(f"{cls.__name__}.{field.name}: its metadata do not say how it is stored")
    part: Stored | None = field.metadata[_KEY]
    if part is None:
        return None
    default = field.default if field.default_factory is MISSING else field.default_factory()
    is_required = default is MISSING if part.is_required is None else part.is_required
    is_always = part.is_always or is_required or default is MISSING
    return part._replace(attribute=field.name, default=default, is_required=is_required, is_always=is_always)


def struct_to_json(value: Any, parts: tuple[Stored, ...]) -> Json:
    """The fields of `value`, without default values."""
    body = {}
    for part in parts:
        held = getattr(value, part.attribute)
        if part.is_always or held != part.default:
            body[part.json] = part.kind.to_json(held)
    return body


def attributes_from_json(body: Mapping[str, Any], parts: tuple[Stored, ...]) -> dict[str, Any]:
    """The fields in `body`, for the dataclass' constructor. Raises KeyError if a required one is missing."""
    readers, required, _ = _readers(parts)
    found = {}
    try:
        # a job has a third of its fields at most
        for name, held in body.items():
            if held is not None and (reader := readers.get(name)) is not None:
                attribute, from_json = reader
                found[attribute] = held if from_json is _same else from_json(held)
        if found.keys() >= required:
            return found
    except Exception:  # noqa: S110  raised anew below, in the order of the fields
        pass
    return _in_order(body, parts)


class _Readers(NamedTuple):
    by_json: Mapping[str, tuple[str, Callable[[Any], Any]]]
    """The attribute and its conversion."""
    required: frozenset[str]
    parts: tuple[Stored, ...]
    """Kept, so that their `id` stays theirs."""


_READERS: dict[int, _Readers] = {}


def _readers(parts: tuple[Stored, ...]) -> _Readers:
    known = _READERS.get(id(parts))
    if known is None:
        by_json = {part.json: (part.attribute, part.kind.from_json) for part in parts}
        required = frozenset(part.attribute for part in parts if part.is_required)
        known = _READERS[id(parts)] = _Readers(by_json, required, parts)
    return known


def _in_order(body: Mapping[str, Any], parts: tuple[Stored, ...]) -> dict[str, Any]:
    found = {}
    for part in parts:
        held = body.get(part.json)
        if held is not None:
            found[part.attribute] = part.kind.from_json(held)
        elif part.is_required:
            raise KeyError(part.json)
    return found


def struct_schema(parts: tuple[Stored, ...]) -> Json:
    schema: Json = {"type": "object"}
    if required := [part.json for part in parts if part.is_required]:
        schema["required"] = required
    return schema | {
        "properties": {part.json: described(part.kind, part.description, part.schema_default) for part in parts}
    }


def described(kind: Kind, description: str, default: Any = None) -> Json:
    """The schema of `kind` with the description and default of one field."""
    extra = {"description": description, "default": default}
    return dict(kind.schema) | {name: value for name, value in extra.items() if value}


# Kinds of text


def string(*, most: int | None = None, least: int = 0, pattern: str = "") -> Kind:
    bounds = {"minLength": least or None, "maxLength": most, "pattern": pattern or None}
    return Kind({"type": "string"} | {name: bound for name, bound in bounds.items() if bound is not None})


PRINTABLE: Final = f"^[^{UNPRINTABLE}]*$"
"""Letters of any language, but no terminal controls or line breaks: hpcbatch/model/text.py."""
NAME: Final = string(least=1, most=1024, pattern=PRINTABLE)
TEXT: Final = string(most=1024, pattern=PRINTABLE)
PATH: Final = string(most=4096, pattern=PRINTABLE)
LETTERS: Final = string(most=16, pattern=PRINTABLE)
HOST: Final = string(most=253, pattern=f"^[^ ;|{UNPRINTABLE}]*$")
ANY_TEXT: Final = string()
"""Written only by the controller."""
OBJECT_NAME: Final = string(most=253)


def enum(values: type[StrEnum]) -> Kind:
    schema = {"type": "string", "enum": [value.value for value in values]}
    return Kind(schema, lambda value: value.value, _member(values))


def enum_of_controller(values: type[StrEnum]) -> Kind:
    """An enum that grows with the controller: an older definition accepts new values too."""
    return Kind({"type": "string"}, lambda value: value.value, _member(values))


def _member(values: type[StrEnum]) -> Callable[[str], StrEnum]:
    """As `values(text)`, in a quarter of its time."""
    known = {value.value: value for value in values}
    return lambda text: known.get(text) or values(text)


# Kinds of numbers


def integer(least: int | None = None, most: int | None = None) -> Kind:
    is_wide = most is None or most > _INT32 or (least or 0) < -_INT32 - 1
    bounds = {"format": "int64" if is_wide else None, "minimum": least, "maximum": most}
    return Kind({"type": "integer"} | {name: bound for name, bound in bounds.items() if bound is not None})


BOOLEAN: Final = Kind({"type": "boolean"})
COUNT: Final = integer(0)
ANY_INTEGER: Final = integer()
SECONDS: Final = integer(1, MAX_WALLTIME_S)
INT32: Final = integer(-_INT32 - 1, _INT32)
UNIX_ID: Final = integer(0, 2**32 - 1)


def time_from_json(given: str) -> Any:
    """A time of a job, as Kubernetes writes it, as an aware datetime. Raises HpcBatchError."""
    return check_time(parse_rfc3339(given))


_TIME_SCHEMA: Final[Mapping[str, Any]] = {"type": "string", "format": "date-time"}
TIME: Final = Kind(_TIME_SCHEMA, rfc3339, time_from_json)
"""Written by the controller."""
USER_TIME: Final = Kind(
    {**_TIME_SCHEMA, "maxLength": 64, "pattern": "^(19[7-9][0-9]|[2-4][0-9]{3})-", "description": "From 1970 to 4999."},
    rfc3339,
    time_from_json,
)


# Kinds of more than one value


def list_of(kind: Kind, *, most: int | None = None, least: int = 0) -> Kind:
    """A tuple."""
    bounds = {"minItems": least or None, "maxItems": most}
    schema = {"type": "array"} | {name: bound for name, bound in bounds.items() if bound is not None}
    to_json, from_json = kind.to_json, kind.from_json
    return Kind(
        schema | {"items": dict(kind.schema)},
        lambda values: [to_json(value) for value in values],
        lambda items: tuple(from_json(item) for item in items),
    )


def mapping_of(kind: Kind, *, most: int | None = None) -> Kind:
    """Names with values that are JSON already."""
    bound = {} if most is None else {"maxProperties": most}
    return Kind({"type": "object", **bound, "additionalProperties": dict(kind.schema)}, dict)


WORDS: Final = list_of(string(most=131072), most=65536)
SORTED_NAMES: Final = Kind(
    list_of(string(least=1, most=253, pattern=PRINTABLE), most=64).schema, list, lambda names: tuple(sorted(names))
)
AMOUNTS: Final = Kind(
    {
        "description": "Further countable resources by the site's names for them, such as ngpus.",
        **mapping_of(integer(1), most=64).schema,
    },
    dict,
    lambda amounts: tuple(sorted(amounts.items())),
)
"""Sorted pairs of a name and a number of at least 1."""
LIMITS: Final = AMOUNTS._replace(schema=mapping_of(COUNT, most=64).schema)
"""Sorted pairs of a name and a number, which may be 0."""
GROUPS: Final = Kind(
    {
        "type": "array",
        "maxItems": 65536,
        "items": {
            "type": "object",
            "required": ["gid", "name"],
            "properties": {"gid": dict(UNIX_ID.schema), "name": {"type": "string"}},
        },
    },
    lambda groups: [{"gid": gid, "name": name} for gid, name in groups],
    lambda groups: tuple((group["gid"], group["name"]) for group in groups),
)
"""Pairs of a group's number and its name."""


def struct(cls: type[_T], *, check: Callable[[_T], object] | None = None, is_cached: bool = False) -> Kind:
    """A dataclass whose fields declare how they are stored. `check` raises for a value that views could not show.
    `is_cached`: most jobs have the same few values of it, which are slow to make.
    """
    parts = stored_fields(cls)

    def from_json(body: Mapping[str, Any]) -> _T:
        value = cls(**attributes_from_json(body, parts))
        if check is not None:
            check(value)
        return value

    @lru_cache(maxsize=1000)
    def remembered(items: tuple[tuple[str, Any], ...]) -> _T:
        return from_json(dict(items))

    def from_json_once(body: Mapping[str, Any]) -> _T:
        try:
            return remembered(tuple(body.items()))
        except TypeError:  # lists or objects in it, or no object at all
            return from_json(body)

    return Kind(
        struct_schema(parts),
        lambda value: struct_to_json(value, parts),
        from_json_once if is_cached else from_json,
        parts,
    )


# Sets of array indices

_RANGES: Final = r"[0-9]+(-[0-9]+(:[0-9]+)?)?(,[0-9]+(-[0-9]+(:[0-9]+)?)?)*"
INDICES: Final = Kind(
    {"type": "string", "minLength": 1, "maxLength": 65536, "pattern": f"^{_RANGES}$"}, str, Indices.parse
)
ANY_INDICES: Final = Kind({"type": "string", "maxLength": 524288, "pattern": f"^({_RANGES})?$"}, str, Indices.parse)
COUNTED_INDICES: Final = Kind({"type": "string"}, str, lambda given: check_size(Indices.parse(given)))
"""Written by the controller."""
