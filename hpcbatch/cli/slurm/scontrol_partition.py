"""`scontrol update PartitionName=…`: an operator switches a partition."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hpcbatch.cli.common import Session
from hpcbatch.dialects.slurm.errors import SlurmUsageError
from hpcbatch.errors import ForbiddenError, UnknownQueueError

if TYPE_CHECKING:
    from collections.abc import Sequence


def update_partition(session: Session, words: Sequence[str]) -> int:
    """All or nothing."""
    from hpcbatch.client.nodes import list_nodes
    from hpcbatch.client.queue_admin import switch_queue
    from hpcbatch.client.queues import list_queues
    from hpcbatch.dialects.slurm.partition_update import check_others, read_partition_update

    update = read_partition_update(words)
    queues = list_queues(session.api)
    queue = next((one for one in queues if one.name == update.name), None)
    invalid = SlurmUsageError("slurm_update error: Invalid partition name specified")
    if queue is None:
        raise invalid
    if update.others:
        check_others(update, queue, list_nodes(session.api, session.namespace))
    if update.enabled is None:
        return 0
    try:
        switch_queue(session.api, queue, queues, enabled=update.enabled, started=update.started)
    except ForbiddenError as error:
        raise SlurmUsageError(f"slurm_update error: Invalid user id\nscontrol: hpcbatch: {error}") from None
    except UnknownQueueError:  # removed in between
        raise invalid from None
    return 0
