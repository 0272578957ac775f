"""What is wrong with a value, by jsonschema, in the API server's words. Most values are right: an engine that meets no
other never imports this, which takes 3 MiB.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import jsonschema
from jsonschema.exceptions import ValidationError

from hpcbatch.engine.registry.formats import FORMATS, matches
from hpcbatch.engine.registry.statuses import (
    INVALID,
    NOT_SUPPORTED,
    REQUIRED,
    TOO_LONG,
    TOO_MANY,
    TYPE_INVALID,
    Cause,
)
from hpcbatch.engine.registry.values import json_kind

_formats = jsonschema.FormatChecker(formats=())
for _name, _check in FORMATS.items():
    _formats.checks(_name, raises=ValueError)(_check)


def faults(schema: Mapping[str, Any], value: object, root: str) -> list[Cause]:
    """Of a value at the path `root`; the schema is one in jsonschema's dialect."""
    found = _Validator(schema, format_checker=_formats).iter_errors(value)
    return [cause for error in found for cause in _causes(error, root)]


def _pattern(_validator: Any, pattern: str, instance: object, _schema: Any) -> Iterator[ValidationError]:
    if isinstance(instance, str) and not matches(instance, pattern):
        yield ValidationError(f"{instance!r} does not match {pattern!r}")


_Validator = jsonschema.validators.extend(jsonschema.Draft202012Validator, {"pattern": _pattern})  # type: ignore[no-untyped-call]


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _kind_of(value: Any) -> str:
    """The schema's word for the kind of a JSON value; the first three are other words than those of Go's decoder."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
    return json_kind(value)


def _path(root: str, steps: Iterator[Any]) -> str:
    path = root
    for step in steps:
        path = f"{path}[{step}]" if isinstance(step, int) else f"{path}.{step}" if path else str(step)
    return path


def _causes(error: ValidationError, root: str) -> list[Cause]:
    """One jsonschema error in the API server's words."""
    path = _path(root, iter(error.absolute_path))
    value: Any = error.instance
    limit: Any = error.validator_value
    word = str(error.validator)
    in_body = f"{path} in body"
    shown = f"Invalid value: {_text(value)}"
    plain = {
        "minimum": f"should be greater than or equal to {limit}",
        "maximum": f"should be less than or equal to {limit}",
        "exclusiveMinimum": f"should be greater than {limit}",
        "exclusiveMaximum": f"should be less than {limit}",
        "pattern": f"should match '{limit}'",
        "minLength": f"should be at least {limit} chars long",
        "multipleOf": f"should be a multiple of {limit}",
        "uniqueItems": "shouldn't contain duplicates",
        "not": "must not validate the schema (not)",
        "anyOf": "must validate at least one schema (anyOf)",
        "oneOf": "must validate one and only one schema (oneOf)",
    }
    if word in plain:
        return [Cause(INVALID, path, f"{shown}: {in_body} {plain[word]}")]
    match word:
        case "required":
            # jsonschema reports each missing field apart, and names it only in the text
            missing = re.match(r"'(.*)' is a required property", error.message)
            name = missing[1] if missing else ""
            return [Cause(REQUIRED, f"{path}.{name}" if path else name, "Required value")]
        case "enum":
            allowed = ", ".join(_text(item) for item in limit if item is not None)
            return [Cause(NOT_SUPPORTED, path, f"Unsupported value: {_text(value)}: supported values: {allowed}")]
        case "type":
            wanted = [limit] if isinstance(limit, str) else [item for item in limit if item != "null"]
            found = _kind_of(value)
            message = f'Invalid value: "{found}": {in_body} must be of type {",".join(wanted)}: "{found}"'
            return [Cause(TYPE_INVALID, path, message)]
        case "format":
            leaf = path.rpartition(".")[2]
            return [Cause(INVALID, path, f"{shown}: {leaf} in body must be of type {limit}: {_text(value)}")]
        case "maxLength":
            return [Cause(TOO_LONG, path, f"Too long: may not be more than {limit} bytes")]
        case "maxItems":
            return [Cause(TOO_MANY, path, f"Too many: {len(value)}: must have at most {limit} items")]
        case "minItems":
            return [Cause(INVALID, path, f"Invalid value: {len(value)}: {in_body} should have at least {limit} items")]
        case "minProperties" | "maxProperties":
            bound = "at least" if word == "minProperties" else "at most"
            return [
                Cause(INVALID, path, f"Invalid value: {len(value)}: {in_body} should have {bound} {limit} properties")
            ]
    return [Cause(INVALID, path, f"{shown}: {error.message}")]
