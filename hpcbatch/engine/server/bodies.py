"""Bodies of requests: JSON, YAML or protobuf in, one JSON value out, and what a strict reader would refuse in it."""

from __future__ import annotations

import json
import math
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

import yaml

from hpcbatch.engine.registry.statuses import bad_request
from hpcbatch.engine.registry.values import MAX_DEPTH, check_size, too_deep
from hpcbatch.engine.server import protobuf
from hpcbatch.errors import ApiError

JSON = "application/json"
YAML_TYPES = frozenset({"application/yaml", "text/yaml", "application/x-yaml"})
PROTOBUF = "application/vnd.kubernetes.protobuf"
_ALIASES = 100
_MERGED_KEYS = 10_000
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True)
class Body:
    value: Any
    duplicates: list[str] = field(default_factory=list)
    """`duplicate field "spec.a"`: the last one counts."""


class _Pairs(dict[str, Any]):
    """A JSON object that remembers which of its keys stood there twice."""

    twice: tuple[str, ...] = ()


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = _Pairs(pairs)
    if len(result) != len(pairs):
        seen: set[str] = set()
        result.twice = tuple(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
    return result


def _walk(value: Any, path: str, found: list[str], depth: int = 0) -> Any:
    """Plain dicts and lists again; the paths of duplicates go to `found`."""
    if depth > MAX_DEPTH:
        raise too_deep()
    if isinstance(value, dict):
        for key in getattr(value, "twice", ()):
            found.append(f'duplicate field "{path}{key}"')
        return {key: _walk(item, f"{path}{key}.", found, depth + 1) for key, item in value.items()}
    if isinstance(value, list):
        return [_walk(item, f"{path[:-1]}[{index}].", found, depth + 1) for index, item in enumerate(value)]
    return value


def _refuse_constant(text: str) -> Any:
    raise ValueError(f"invalid character {text[0]!r} looking for beginning of value")


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"cannot unmarshal number {text[:100]} into Go value of type float64")
    return number


class _YamlLoader(_Loader):  # type: ignore[misc,valid-type]
    """YAML as Kubernetes reads it: what looks like a time stays text, and keys are text."""

    def flatten_mapping(self, node: Any) -> None:
        super().flatten_mapping(node)
        if len(node.value) > _MERGED_KEYS:
            raise yaml.constructor.ConstructorError(None, None, "too many merged keys", node.start_mark)

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Hashable, Any]:
        found: dict[Hashable, Any] = super().construct_mapping(node, deep=deep)
        return {
            key if isinstance(key, str) else json.dumps(key) if isinstance(key, (bool, int, float)) else str(key): item
            for key, item in found.items()
        }


_YamlLoader.yaml_implicit_resolvers = {
    letter: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for letter, resolvers in _Loader.yaml_implicit_resolvers.items()
}


def _from_json(text: str, wanted: str) -> Body:
    try:
        value = json.loads(text, object_pairs_hook=_pairs, parse_constant=_refuse_constant, parse_float=_finite)
    except RecursionError:
        raise too_deep() from None
    except ValueError as error:
        what = str(error) if text.strip() else "unexpected end of JSON input"
        shown = text[:100] if text.strip() else "<empty>"
        raise bad_request(
            f"the object provided is unrecognized (must be of type {wanted}): couldn't get version/kind; "
            f"json parse error: {what} ({shown})"
        ) from None
    found: list[str] = []
    return Body(_walk(value, "", found), found)


def _check_yaml(text: str) -> None:
    """Before it is composed, which the C library does by recursion: 200,000 brackets would end the process."""
    depth = aliases = 0
    for event in yaml.parse(text, _Loader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        aliases += isinstance(event, yaml.AliasEvent)
        if depth > MAX_DEPTH:
            raise too_deep()
        if aliases > _ALIASES:
            raise bad_request(f"the body has more than {_ALIASES} YAML aliases")


def _from_yaml(text: str, wanted: str) -> Body:
    try:
        _check_yaml(text)
        value = yaml.load(text, _YamlLoader)  # noqa: S506 - a safe loader
        check_size(value)
        return Body(json.loads(json.dumps(value, allow_nan=False)))
    except (yaml.YAMLError, TypeError, ValueError, RecursionError) as error:
        what = " ".join(str(error).split())
        raise bad_request(
            f"the object provided is unrecognized (must be of type {wanted}): couldn't get version/kind; "
            f"yaml parse error: {what}"
        ) from None


def read_body(content: bytes, content_type: str, wanted: str) -> Body:
    """Decode a body; `wanted` is the kind that it should hold, for messages. No type means JSON.
    Raises ApiError 400 or 415.
    """
    if content_type == PROTOBUF:
        return Body(protobuf.decode(content))
    if content_type not in {"", JSON, *YAML_TYPES} and not content_type.endswith("+json"):
        accepted = f"{JSON}, application/yaml, {PROTOBUF}"
        raise unsupported(accepted)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise bad_request("the body is no valid UTF-8 text") from None
    return _from_yaml(text, wanted) if content_type in YAML_TYPES else _from_json(text, wanted)


def unsupported(accepted: str) -> ApiError:
    return ApiError(
        415,
        "UnsupportedMediaType",
        f"the body of the request was in an unknown format - accepted media types include: {accepted}",
    )
