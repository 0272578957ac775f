"""Labels of nodes in the site's file: keys and values as Kubernetes takes them."""

from __future__ import annotations

import re

import yaml

from hpcbatch.site.yaml_fields import Fields, UnfitError

SUBDOMAIN = re.compile(r"(?=.{1,253}\Z)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
LABEL_NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")


def is_label_key(key: str) -> bool:
    domain, slash, name = key.rpartition("/")
    return bool(LABEL_NAME.fullmatch(name)) and (not slash or bool(SUBDOMAIN.fullmatch(domain)))


def label_value(node: yaml.Node) -> str:
    if isinstance(node, yaml.ScalarNode) and (node.value == "" or LABEL_NAME.fullmatch(node.value)):
        return str(node.value)
    raise UnfitError("expected a label's value: up to 63 letters, digits, '-', '_' or '.'")


def read_labels(item: Fields, name: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for key, node in item.entries(name) or ():
        if not is_label_key(key):
            item.complain(name, f"{key!r} is no label key: expected [domain/]name")
        try:
            found[key] = label_value(node)
        except UnfitError as unfit:
            item.complain(name, f"{key}: {unfit}")
    return found
