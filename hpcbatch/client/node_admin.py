"""What operators do to nodes: take them out of use and back, and say why. Kubernetes' own rules decide who may."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from hpcbatch.api.port import Api, Object
from hpcbatch.api.resources import NODES
from hpcbatch.errors import HpcBatchError
from hpcbatch.model.labels import NODE_COMMENT, NODE_COMMENT_BY, NODE_COMMENT_TIME
from hpcbatch.model.node_features import ACTIVE, AVAILABLE, features_of, relabelled
from hpcbatch.model.node_marks import Mark, marked, marks_of
from hpcbatch.units import rfc3339


def mark_node(
    api: Api,
    name: str,
    *,
    add: Iterable[Mark] = (),
    remove: Iterable[Mark] = (),
    comment: str | None = None,
    user: str,
    now: datetime,
) -> None:
    """Mark a node, which cordons it, or take marks off, and say why; a comment of "" removes what was said, None leaves
    it. The controller ends the jobs of a node that is down. Raises ForbiddenError, or NotFoundError for what is no
    node.
    """
    add, remove = set(add), set(remove)
    patch: Object = {}
    if add or remove:
        patch = marked(marks_of(api.get(NODES, name)), add, remove)
    if comment is not None:
        said = (comment, user, rfc3339(now)) if comment else (None, None, None)
        notes = dict(zip((NODE_COMMENT, NODE_COMMENT_BY, NODE_COMMENT_TIME), said, strict=True))
        patch.setdefault("metadata", {}).setdefault("annotations", {}).update(notes)
    api.patch(NODES, name, patch)


def set_features(
    api: Api, name: str, *, available: Iterable[str] | None, active: Iterable[str] | None
) -> frozenset[str]:
    """Give a node these features and no others; None leaves them. What is available alone counts as active, too.
    Returns the active ones. Raises ForbiddenError, NotFoundError, or MissingFeatureError.
    """
    labels = api.get(NODES, name)["metadata"].get("labels") or {}
    before = features_of(labels.items(), ACTIVE, AVAILABLE)
    can = set(before if available is None else available)
    on = set(can if active is None else active)
    if not on <= can:
        raise MissingFeatureError(", ".join(sorted(on - can)))
    api.patch(NODES, name, {"metadata": {"labels": relabelled(labels, can, on)}})
    return frozenset(on)


def label_node(api: Api, name: str, labels: Mapping[str, str | None]) -> None:
    """Set labels of a node, or take those away that are None. Raises ForbiddenError, or NotFoundError."""
    api.patch(NODES, name, {"metadata": {"labels": dict(labels)}})


class MissingFeatureError(HpcBatchError):
    """An active feature is none of those that the node could have."""


def drain_node(api: Api, name: str, *, offline: bool | None, comment: str | None, user: str, now: datetime) -> None:
    """PBS's mark: take a node out of use (`offline`) or back; None leaves it. Running jobs go on. Raises as
    `mark_node`.
    """
    mark_node(
        api,
        name,
        add=[Mark.DRAIN] if offline else [],
        remove=[Mark.DRAIN, Mark.FAIL] if offline is False else [],
        comment=comment,
        user=user,
        now=now,
    )
