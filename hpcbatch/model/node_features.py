"""Features that operators give nodes: labels of the Node, `features.hpcbatch.io/NAME: active`, or `available` for one
that the node could have.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

PREFIX = "features.hpcbatch.io/"
ACTIVE, AVAILABLE = "active", "available"
_NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")


def is_feature_name(name: str) -> bool:
    """Whether Kubernetes takes it as a part of a label's name."""
    return _NAME.fullmatch(name) is not None


def features_of(labels: Iterable[tuple[str, str]], *values: str) -> tuple[str, ...]:
    """The features of a node that have one of `values`, in order."""
    found = (label.removeprefix(PREFIX) for label, value in labels if label.startswith(PREFIX) and value in values)
    return tuple(sorted(found))


def properties(features: Iterable[str]) -> dict[str, dict[str, str]]:
    """Each as a site's nodeProperties have it: the labels that its nodes have."""
    return {name: {PREFIX + name: ACTIVE} for name in features}


def relabelled(before: Mapping[str, str], available: Iterable[str], active: Iterable[str]) -> dict[str, str | None]:
    """The labels to set, and with None to remove, so that the node has these features and no others."""
    wanted = {PREFIX + name: AVAILABLE for name in available} | {PREFIX + name: ACTIVE for name in active}
    return {**{label: None for label in before if label.startswith(PREFIX)}, **wanted}
