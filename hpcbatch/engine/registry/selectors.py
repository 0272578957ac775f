"""Label and field selectors, as they stand in URLs: `app in (a,b),!gone`, `status.phase!=Running`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from hpcbatch.engine.registry.kinds import Kind
from hpcbatch.errors import ApiError

Object = Mapping[str, Any]
Predicate = Callable[[Object], bool]

_TOKEN = re.compile(r"\s*(==|!=|=|!|\(|\)|,|<|>|[^\s=!(),<>]+)")
_LABEL_KEY = re.compile(r"(?:[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_LABEL_VALUE = re.compile(r"(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?")
_EVERY_KIND = frozenset({"metadata.name", "metadata.namespace"})


@dataclass(frozen=True, slots=True)
class Requirement:
    """One term. `operator` is one of = != in notin exists !exists gt lt."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        value = labels.get(self.key)
        match self.operator:
            case "exists":
                return value is not None
            case "!exists":
                return value is None
            case "=" | "in":
                return value in self.values
            case "!=" | "notin":
                return value not in self.values
        # gt, lt: a label that is no number matches neither
        if value is None or not re.fullmatch(r"[+-]?\d+", value):
            return False
        bound = int(self.values[0])
        return int(value) > bound if self.operator == "gt" else int(value) < bound


def _bad(message: str) -> ApiError:
    return ApiError(400, "BadRequest", f"unable to parse requirement: {message}")


class _Tokens:
    def __init__(self, text: str) -> None:
        self.tokens: list[str] = []
        position = 0
        text = text.rstrip()
        while position < len(text):
            match = _TOKEN.match(text, position)
            if match is None:
                raise _bad(f"found '{text[position:]}', expected: identifier")
            self.tokens.append(match[1])
            position = match.end()
        self.position = 0

    def peek(self) -> str:
        return self.tokens[self.position] if self.position < len(self.tokens) else ""

    def next(self) -> str:
        token = self.peek()
        self.position += 1
        return token


def _read_key(tokens: _Tokens) -> str:
    key = tokens.next()
    if not _LABEL_KEY.fullmatch(key):
        raise _bad(f"found '{key}', expected: !, identifier, or 'end of string'")
    return key


def _check_value(key: str, value: str) -> str:
    if not _LABEL_VALUE.fullmatch(value):
        raise _bad(
            f'values[0][{key}]: Invalid value: "{value}": a valid label must be an empty string or consist of '
            "alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
        )
    return value


def _read_set(tokens: _Tokens, key: str) -> tuple[str, ...]:
    if tokens.next() != "(":
        tokens.position -= 1
        raise _bad(f"found '{tokens.peek()}' expected: '('")
    values: list[str] = []
    expect_value = True
    while True:
        word = tokens.next()
        if word == ")":
            if expect_value:
                values.append("")
            return tuple(values)
        if word == ",":
            if expect_value:
                values.append("")
            expect_value = True
        elif word and expect_value and word not in {"(", "=", "==", "!=", "!", "<", ">"}:
            values.append(_check_value(key, word))
            expect_value = False
        else:
            raise _bad(f"found '{word}', expected: ',' or ')'")


def _read_requirement(tokens: _Tokens) -> Requirement:
    if tokens.peek() == "!":
        tokens.next()
        return Requirement(_read_key(tokens), "!exists")
    key = _read_key(tokens)
    operator = tokens.peek()
    if operator in {"", ","}:
        return Requirement(key, "exists")
    tokens.next()
    if operator in {"in", "notin"}:
        return Requirement(key, operator, _read_set(tokens, key))
    if operator in {"=", "==", "!="}:
        value = "" if tokens.peek() in {"", ","} else _check_value(key, tokens.next())
        return Requirement(key, "!=" if operator == "!=" else "=", (value,))
    if operator in {"gt", "lt", ">", "<"}:
        value = tokens.next()
        if not re.fullmatch(r"[+-]?\d+", value):
            raise _bad(f"for 'Gt', 'Lt' operators, the value must be an integer, found '{value}'")
        return Requirement(key, {">": "gt", "<": "lt"}.get(operator, operator), (value,))
    raise _bad(f"found '{operator}', expected: in, notin, =, ==, !=, gt, lt")


@lru_cache(maxsize=256)
def parse_labels(text: str) -> tuple[Requirement, ...]:
    """Read a label selector. Raises ApiError 400."""
    tokens = _Tokens(text)
    found: list[Requirement] = []
    while tokens.peek():
        found.append(_read_requirement(tokens))
        separator = tokens.next()
        if separator not in {"", ","}:
            raise _bad(f"found '{separator}', expected: ',' or 'end of string'")
        if separator == "," and not tokens.peek():
            raise _bad("found '', expected: identifier after ','")
    return tuple(found)


@dataclass(frozen=True, slots=True)
class FieldTerm:
    path: str
    equal: bool
    value: str


@lru_cache(maxsize=1024)
def parse_fields(text: str) -> tuple[FieldTerm, ...]:
    """Read a field selector: `a=b`, `a==b`, `a!=b`, joined by commas; backslash quotes. Raises ApiError 400."""
    terms: list[FieldTerm] = []
    for term in _split_unquoted(text):
        match = re.fullmatch(r"\s*([^=!\s]+)\s*(!=|==|=)\s*(.*)", term, re.DOTALL)
        if match is None:
            raise ApiError(400, "BadRequest", f"invalid selector: '{text}'; can't understand '{term}'")
        value = re.sub(r"\\([\\,=])", r"\1", match[3])
        terms.append(FieldTerm(match[1], match[2] != "!=", value))
    return tuple(terms)


def _split_unquoted(text: str) -> list[str]:
    return [term for term in re.split(r"(?<!\\),", text) if term.strip()]


def field_value(obj: Object, path: str) -> str:
    """The field as selectors see it: text, with "" for a field that is absent."""
    value: Any = obj
    for part in path.split("."):
        value = value.get(part) if isinstance(value, (dict, Mapping)) else None
        if value is None:
            return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


_ZERO = {"spec.hostNetwork": "false", "spec.unschedulable": "false"}


@dataclass(frozen=True, slots=True)
class _Field:
    """One path of a selector, and what is wanted of its value: each object is asked once for it."""

    path: str
    equal: frozenset[str]
    unequal: frozenset[str]
    zero: str

    def matches(self, obj: Object) -> bool:
        if self.path == "source":  # of an event: who reported it
            value = field_value(obj, "source.component") or field_value(obj, "reportingComponent")
        else:
            value = field_value(obj, self.path) or self.zero
        return value not in self.unequal and self.equal <= {value}


@lru_cache(maxsize=1024)
def _fields(text: str, is_custom: bool) -> tuple[_Field, ...]:
    terms = parse_fields(text)
    return tuple(
        _Field(
            path,
            frozenset(term.value for term in terms if term.path == path and term.equal),
            frozenset(term.value for term in terms if term.path == path and not term.equal),
            "" if is_custom else _ZERO.get(path, ""),
        )
        for path in dict.fromkeys(term.path for term in terms)
    )


def selector(kind: Kind, labels: str, fields: str) -> Predicate | None:
    """A test for both selectors together; None if all objects match. Raises ApiError 400."""
    label_terms = parse_labels(labels) if labels else ()
    wanted = _fields(fields, kind.custom) if fields else ()
    for field in wanted:
        if field.path not in _EVERY_KIND and field.path not in kind.selectable:
            if kind.selectable or kind.custom:
                raise ApiError(400, "BadRequest", f"field label not supported: {field.path}")
            raise ApiError(
                400,
                "BadRequest",
                f'"{field.path}" is not a known field selector: only "metadata.name", "metadata.namespace"',
            )
    if not label_terms and not wanted:
        return None

    def matches(obj: Object) -> bool:
        if label_terms:
            own = obj["metadata"].get("labels") or {}
            if not all(requirement.matches(own) for requirement in label_terms):
                return False
        return all(field.matches(obj) for field in wanted)

    return matches


def named(fields: str) -> str:
    """The name that a field selector requests, "" if it requests none: a list of one need not walk through all."""
    return next((term.value for term in parse_fields(fields) if term.path == "metadata.name" and term.equal), "")
