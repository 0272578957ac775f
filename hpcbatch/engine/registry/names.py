"""Names of objects: what is allowed, and how the server makes them up."""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from typing import Any

from hpcbatch.engine.registry.statuses import INVALID, REQUIRED, Cause

_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_QUALIFIED = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_LABEL_VALUE = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?")

SUBDOMAIN_TEXT = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
LABEL_TEXT = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    "an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
_QUALIFIED_TEXT = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
_LABEL_VALUE_TEXT = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
# The letters that Kubernetes takes: no vowels, so that no words come out, and nothing that looks like a digit.
_SUFFIX_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
_LABEL_NAMES = frozenset({("", "namespaces"), ("", "services")})


def generate(prefix: str) -> str:
    """A name for `generateName`: the prefix and five random letters."""
    return prefix[:58] + "".join(secrets.choice(_SUFFIX_LETTERS) for _ in range(5))


def check_name(key: tuple[str, str], name: str) -> list[Cause]:
    """The faults of an object's name."""
    if not name:
        return [Cause(REQUIRED, "metadata.name", "Required value: name or generateName is required")]
    limit, pattern, text = (63, _LABEL, LABEL_TEXT) if key in _LABEL_NAMES else (253, _SUBDOMAIN, SUBDOMAIN_TEXT)
    faults: list[str] = []
    if len(name) > limit:
        faults.append(f"must be no more than {limit} bytes")
    if not pattern.fullmatch(name):
        faults.append(text)
    return [Cause(INVALID, "metadata.name", f'Invalid value: "{name}": {fault}') for fault in faults]


def check_qualified(key: str) -> str:
    """What is wrong with the key of a label or annotation; "" if nothing."""
    prefix, slash, name = key.rpartition("/")
    if slash and (len(prefix) > 253 or not _SUBDOMAIN.fullmatch(prefix)):
        return "prefix part " + SUBDOMAIN_TEXT
    if not name:
        return "name part must be non-empty"
    if len(name) > 63:
        return "name part must be no more than 63 bytes"
    return "" if _QUALIFIED.fullmatch(name) else _QUALIFIED_TEXT


def check_labels(labels: Mapping[str, Any], field: str) -> list[Cause]:
    causes: list[Cause] = []
    for key, value in labels.items():
        if wrong := check_qualified(key):
            causes.append(Cause(INVALID, field, f'Invalid value: "{key}": {wrong}'))
        if len(value) > 63:
            causes.append(Cause(INVALID, field, f'Invalid value: "{value}": must be no more than 63 bytes'))
        elif not _LABEL_VALUE.fullmatch(value):
            causes.append(Cause(INVALID, field, f'Invalid value: "{value}": {_LABEL_VALUE_TEXT}'))
    return causes


def check_annotations(annotations: Mapping[str, Any], field: str) -> list[Cause]:
    causes = [
        Cause(INVALID, field, f'Invalid value: "{key}": {wrong}')
        for key in annotations
        if (wrong := check_qualified(key.lower()))
    ]
    if sum(len(key) + len(value) for key, value in annotations.items()) > 256 * 1024:
        causes.append(Cause("FieldValueTooLong", field, "Too long: may not be more than 262144 bytes"))
    return causes
