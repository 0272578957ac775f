"""The server, the queues and the nodes with their attributes, as qstat and qmgr show them."""

from __future__ import annotations

from hpcbatch.cli.common import Session
from hpcbatch.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hpcbatch.dialects.pbs.qstat_full import Attributes
    from hpcbatch.dialects.pbs.qstat_queues import JobCounts
    from hpcbatch.model.row import NodeRow, QueueRow


def server_count(session: Session) -> JobCounts:
    """The jobs of all queues, ended ones among them."""
    from hpcbatch.client import listing
    from hpcbatch.dataclass import replace
    from hpcbatch.dialects.pbs.qstat_queues import count_jobs

    count = count_jobs(listing.list_present_rows(session.api, session.namespace))
    return replace(count, finished=count.finished + listing.count_moved(session.api, session.namespace))


def server_objects(session: Session) -> dict[str, Attributes]:
    from hpcbatch.cli.pbs.qmgr_limits import with_limits
    from hpcbatch.cli.pbs.qmgr_resources import with_amounts
    from hpcbatch.client.accounts import read_accounts
    from hpcbatch.client.queues import list_queues, read_priority
    from hpcbatch.dialects.pbs.qstat_queues import server_attributes

    queues = list_queues(session.api)
    default = next((queue.name for queue in queues if queue.is_default), "")
    count = server_count(session)
    priority, depth = read_priority(session.api), read_accounts(session.api).server_settings.backfill_depth
    attributes = server_attributes(
        session.server,
        default,
        count,
        is_idle=is_idle(queues),
        formula=priority.formula,
        backfill_depth=depth,
        has_eligible_time=priority.has_eligible_time,
    )
    attributes = with_amounts(session, attributes)
    return with_limits(session, {session.server: attributes}, of_server=True)


def is_idle(queues: Sequence[QueueRow]) -> bool:
    """Whether the server starts no job of any queue."""
    return bool(queues) and all(queue.is_idle for queue in queues)


def queue_objects(session: Session) -> dict[str, Attributes]:
    from hpcbatch.cli.pbs.qmgr_limits import with_limits
    from hpcbatch.client import listing
    from hpcbatch.client.queues import list_queues
    from hpcbatch.dialects.pbs.qstat_queues import count_by_queue, queue_attributes

    queues = list_queues(session.api)
    counts = count_by_queue(
        listing.list_rows(session.api, session.namespace, finished=False), [queue.name for queue in queues]
    )
    found = {queue.name: queue_attributes(queue, counts[queue.name]) for queue in queues}
    return with_limits(session, found, of_server=False)


def node_objects(session: Session) -> dict[str, Attributes]:
    from hpcbatch.cli.pbs.qmgr_resources import known_resources
    from hpcbatch.client.nodes import list_nodes
    from hpcbatch.dialects.pbs.pbsnodes import node_attributes

    nodes = with_members(session, list_nodes(session.api, session.namespace))
    resources = known_resources(session).all
    return {node.name: list(node_attributes(node, session.server, session.zone, resources)) for node in nodes}


def with_members(session: Session, nodes: Sequence[NodeRow]) -> list[NodeRow]:
    """The members of arrays under the ids by which PBS knows them."""
    if not any(node.jobs for node in nodes):
        return list(nodes)
    from hpcbatch.client import listing
    from hpcbatch.dialects.pbs.ids import row_id

    rows = listing.list_rows(session.api, session.namespace, finished=False)
    shown = {str(row.job_id): row_id(row).partition(".")[0] for row in rows if row.array_id is not None}
    return [node._replace(jobs=tuple(shown.get(job, job) for job in node.jobs)) for node in nodes]
