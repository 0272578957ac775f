"""`scontrol create|update|delete PartitionName=…`: an operator makes, changes and switches partitions."""

from __future__ import annotations

from hpcbatch.cli.common import Session
from hpcbatch.dialects.slurm.errors import SlurmUsageError
from hpcbatch.errors import ApiError, ForbiddenError, HpcBatchError, UnknownQueueError
from hpcbatch.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hpcbatch.dialects.slurm.partition_update import PartitionUpdate
    from hpcbatch.typed import Any

_NO_NAME = "Invalid partition name specified"


def create_partition(session: Session, words: Sequence[str]) -> int:
    """Without `Nodes` it has none, as in Slurm."""
    from hpcbatch.client.partition_admin import make_partition
    from hpcbatch.dialects.slurm.partition_update import read_partition_update

    update = read_partition_update(words)
    if not update.name:
        raise SlurmUsageError("scontrol: error: PartitionName must be given.")
    if update.name.upper() == "DEFAULT" and update.name != "default":
        raise SlurmUsageError('scontrol: error: PartitionName cannot be "DEFAULT".')
    wrong = "Error creating the partition: "
    change = {"nodes": [], **_change(session, update, wrong)}
    try:
        make_partition(session.api, update.name, change)
    except HpcBatchError as error:
        raise _refusal(wrong, error) from None
    _switch(session, update)
    return 0


def update_partition(session: Session, words: Sequence[str]) -> int:
    """All or nothing, but for State, which comes last."""
    from hpcbatch.client.partition_admin import change_partition
    from hpcbatch.client.queues import list_queues
    from hpcbatch.dialects.slurm.partition_update import read_partition_update

    update = read_partition_update(words)
    wrong = "slurm_update error: "
    if not any(queue.name == update.name for queue in list_queues(session.api)):
        raise SlurmUsageError(f"{wrong}{_NO_NAME}")
    if update.change:
        try:
            change_partition(session.api, update.name, _change(session, update, wrong))
        except HpcBatchError as error:
            raise _refusal(wrong, error) from None
    _switch(session, update)
    return 0


def delete_partition(session: Session, words: Sequence[str]) -> int:
    from hpcbatch.client import listing
    from hpcbatch.client.partition_admin import remove_partition
    from hpcbatch.dialects.slurm.partition_update import read_partition_delete

    name = read_partition_delete(words)
    wrong = f"delete_partition {words[0]}: "
    rows = listing.list_rows(session.api, session.namespace, finished=False)
    if any(row.queue == name for row in rows):
        raise SlurmUsageError(f"{wrong}Partition is in use")
    try:
        remove_partition(session.api, name)
    except HpcBatchError as error:
        raise _refusal(wrong, error) from None
    return 0


def _change(session: Session, update: PartitionUpdate, wrong: str) -> dict[str, Any]:
    """With the host names of the nodes. Raises SlurmUsageError for what is no node."""
    change = dict(update.change)
    if update.nodes is not None:
        from hpcbatch.client.nodes import list_nodes
        from hpcbatch.client.pod_nodes import nodes_of_pods

        hosts = {node.name: node.host for node in list_nodes(session.api, session.namespace)}
        of_pods = nodes_of_pods(session.api, session.namespace, (name for name in update.nodes if name not in hosts))
        names = [of_pods.get(name, name) for name in update.nodes]
        if any(name not in hosts for name in names):
            raise SlurmUsageError(f"{wrong}Invalid node name specified")
        change["nodes"] = list(dict.fromkeys(hosts[name] for name in names))
    return change


def _switch(session: Session, update: PartitionUpdate) -> None:
    if update.enabled is None:
        return
    from hpcbatch.client.queue_admin import switch_queue
    from hpcbatch.client.queues import list_queues

    queues = list_queues(session.api)
    queue = next((one for one in queues if one.name == update.name), None)
    try:
        if queue is None:  # removed in between, or its controller is away
            raise UnknownQueueError(update.name)
        switch_queue(session.api, queue, queues, enabled=update.enabled, started=update.started)
    except HpcBatchError as error:
        raise _refusal("slurm_update error: ", error) from None


def _refusal(wrong: str, error: HpcBatchError) -> HpcBatchError:
    """In Slurm's words."""
    from hpcbatch.client.partition_admin import SiteQueueError, TakenQueueError

    match error:
        case UnknownQueueError() | TakenQueueError():
            return SlurmUsageError(f"{wrong}{_NO_NAME}")
        case ForbiddenError():
            return SlurmUsageError(f"{wrong}Invalid user id\nscontrol: hpcbatch: {error}")
        case SiteQueueError():
            why = "it stands in the site's site.yaml, or is a Volcano Queue"
            return SlurmUsageError(
                f"{wrong}Requested operation not supported on this system\nscontrol: hpcbatch: {why}"
            )
        case ApiError():
            return SlurmUsageError(f"{wrong}{_NO_NAME}\nscontrol: hpcbatch: {error}") if error.code == 422 else error
        case _:
            return error
