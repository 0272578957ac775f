"""`scontrol update NodeName=…`: an operator takes nodes out of use and back."""

from __future__ import annotations

from hpcbatch.cli.common import Session
from hpcbatch.dialects.slurm.errors import SlurmUsageError
from hpcbatch.errors import ForbiddenError, NotFoundError
from hpcbatch.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def update_nodes(session: Session, words: Sequence[str]) -> int:
    """As in Slurm either all nodes exist, or nothing is changed."""
    from hpcbatch.client.node_admin import MissingFeatureError, mark_node, set_features
    from hpcbatch.client.nodes import list_nodes
    from hpcbatch.client.partition_admin import wait_for_features
    from hpcbatch.client.pod_nodes import nodes_of_pods
    from hpcbatch.dialects.slurm.node_update import ALL, read_node_update

    update = read_node_update(words)
    known = [node.name for node in list_nodes(session.api, session.namespace)]
    names = known if update.names == (ALL,) else list(update.names)
    of_pods = nodes_of_pods(session.api, session.namespace, (name for name in names if name not in known))
    names = list(dict.fromkeys(of_pods.get(name, name) for name in names))
    features: set[str] = set()
    invalid = SlurmUsageError("slurm_update error: Invalid node name specified")
    if any(name not in known for name in names):
        raise invalid
    for name in names:
        try:
            if update.available is not None or update.active is not None:
                features |= set_features(session.api, name, available=update.available, active=update.active)
            mark_node(
                session.api,
                name,
                add=update.add,
                remove=update.remove,
                comment=update.reason,
                user=session.user,
                now=session.now,
            )
        except ForbiddenError as error:
            text = f"slurm_update error: Invalid user id\nscontrol: hpcbatch: {error}"
            raise SlurmUsageError(text) from None
        except MissingFeatureError as error:
            text = f"slurm_update error: Invalid feature specification\nscontrol: hpcbatch: not available: {error}"
            raise SlurmUsageError(text) from None
        except NotFoundError:  # removed in between
            raise invalid from None
    if features:
        wait_for_features(session.api, features)
    return 0
