"""What operators do to nodes: take them out of use and back, and say why. Kubernetes' own rules decide who may."""

from __future__ import annotations

from datetime import datetime

from hpcbatch.api.port import Api, Object
from hpcbatch.api.resources import NODES
from hpcbatch.model.labels import NODE_COMMENT, NODE_COMMENT_BY, NODE_COMMENT_TIME
from hpcbatch.units import rfc3339


def mark_node(
    api: Api, name: str, *, offline: bool | None = None, comment: str | None = None, user: str, now: datetime
) -> None:
    """Cordon (`offline`) or uncordon a node, and say why; a comment of "" removes what was said, None leaves both.
    Running jobs go on. Raises ForbiddenError, or NotFoundError for what is no node.
    """
    patch: Object = {}
    if offline is not None:
        patch["spec"] = {"unschedulable": True if offline else None}
    if comment is not None:
        said = (comment, user, rfc3339(now)) if comment else (None, None, None)
        notes = dict(zip((NODE_COMMENT, NODE_COMMENT_BY, NODE_COMMENT_TIME), said, strict=True))
        patch["metadata"] = {"annotations": notes}
    api.patch(NODES, name, patch)
