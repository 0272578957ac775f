"""What the site has published: its queues, and the addresses it sends mail to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hpcbatch.api.names import QUEUES_CONFIGMAP, QUEUES_KEY, SYSTEM_NAMESPACE
from hpcbatch.api.port import Api
from hpcbatch.api.resources import CONFIGMAPS, QUEUES
from hpcbatch.errors import ForbiddenError, HpcBatchError, NotFoundError, UnknownQueueError
from hpcbatch.model.queue_switches import switches_of
from hpcbatch.model.row import QueueRow
from hpcbatch.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from hpcbatch.model.custom_resource import CustomResource
    from hpcbatch.model.mail import MailConfig
    from hpcbatch.model.preemption import PreemptionConfig
    from hpcbatch.model.priority import PriorityConfig, ShortJobs
    from hpcbatch.model.row import NodeRow


_DEFAULT_QUEUE = "default"


def list_queues(api: Api) -> list[QueueRow]:
    """The queues that jobs may use, in the site's order; if the site names none, the default one first."""
    volcano = [queue for queue in api.list(QUEUES).items if queue["metadata"]["name"] != "root"]
    switches = {queue["metadata"]["name"]: switches_of(queue) for queue in volcano}
    try:
        published = api.get(CONFIGMAPS, QUEUES_CONFIGMAP, SYSTEM_NAMESPACE)
    except (NotFoundError, ForbiddenError):
        rows = [
            QueueRow(
                name=name,
                is_default=name == _DEFAULT_QUEUE,
                is_open=found.takes(name),
                is_started=found.starts(name),
                volcano_queue=name,
                is_idle=found.is_idle,
            )
            for name, found in switches.items()
        ]
        return sorted(rows, key=lambda row: (not row.is_default, row.name))
    from hpcbatch.api.queuelist import queues_from_json

    return queues_from_json((published.get("data") or {}).get(QUEUES_KEY, ""), switches)


def default_queue(api: Api) -> str:
    """The queue of jobs that request none; "" if the site has no such queue."""
    return next((row.name for row in list_queues(api) if row.is_default), "")


def queue_called(api: Api, name: str) -> str:
    """The queue of that name or alias. Raises UnknownQueueError if jobs may not use it."""
    from hpcbatch.model.queue_names import queue_of

    found = queue_of(name, list_queues(api))
    if found is None:
        raise UnknownQueueError(name)
    return found.name


def names_its_queues(api: Api) -> bool:
    """Whether the site says which queues there are; else every Volcano Queue is one."""
    import json

    try:
        return bool(json.loads(published(api)).get("queues"))
    except (ValueError, AttributeError):
        return False


def hidden_partitions(api: Api) -> frozenset[str]:
    """Names of the partitions whose jobs are listed only for those who ask for all; none for those who may change all
    jobs, as in Slurm.
    """
    import json

    try:
        body = json.loads(published(api) or "{}")
        given = [*(body.get("queues") or ()), *(body.get("operatorQueues") or ())]
        names = frozenset(str(queue["name"]) for queue in given if queue.get("hidden") and not queue.get("reservation"))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise HpcBatchError(f"the list of queues cannot be read: {error!r}") from None
    from hpcbatch.client.rights import may_change_all

    return frozenset() if not names or may_change_all(api) else names


def plugin_options(api: Api) -> Mapping[str, str]:
    """Patterns of options of sbatch's plugins that the site ignores, each with the reason; none if it names none."""
    from hpcbatch.api.queuelist import options_from_json

    return options_from_json(published(api))


def read_topology(api: Api) -> tuple[tuple[str, str], ...]:
    """The levels of the site's network, the lowest first: the name and the label of nodes that says their group."""
    from hpcbatch.api.queuelist import topology_from_json

    return topology_from_json(published(api))


def list_licenses(api: Api) -> Mapping[str, int]:
    """How many licences of each name the site has."""
    from hpcbatch.api.queuelist import licenses_from_json

    return licenses_from_json(published(api))


def list_resources(api: Api) -> tuple[CustomResource, ...]:
    """What PBS would list as custom resources of the site's file."""
    from hpcbatch.api.queuelist import resources_from_json

    return resources_from_json(published(api))


def with_gres(api: Api, nodes: Sequence[NodeRow]) -> list[NodeRow]:
    """The nodes, with what they have of the site's generic resources."""
    if not any(node.extended for node in nodes):
        return list(nodes)
    from hpcbatch.api.queuelist import gres_from
    from hpcbatch.model.gres import amounts_of

    known = gres_from(published(api))
    return [node._replace(gres=amounts_of(node, known)) for node in nodes]


def read_enforced(api: Api) -> tuple[str, ...]:
    """What of the accounts the site enforces: associations, limits, qos."""
    from hpcbatch.api.queuelist import enforced_from_json

    return enforced_from_json(published(api))


def read_priority(api: Api) -> PriorityConfig:
    """Who goes first at this site."""
    from hpcbatch.api.queuelist import priority_from_json

    return priority_from_json(published(api))


def read_preemption(api: Api) -> PreemptionConfig:
    """Which jobs may be ended for others, and how."""
    from hpcbatch.api.queuelist import preemption_from_json

    return preemption_from_json(published(api))


def list_settings(api: Api) -> Mapping[str, int]:
    """Further settings of the site that users may know: `killDelaySeconds`, `maxArraySize`."""
    from hpcbatch.api.queuelist import settings_from_json

    return settings_from_json(published(api))


def read_short_first(api: Api) -> ShortJobs | None:
    """Which jobs go first at this site; None: none."""
    from hpcbatch.model.priority import ShortJobs

    settings = list_settings(api)
    if "shortSeconds" not in settings:
        return None
    return ShortJobs(walltime_s=settings["shortSeconds"], delay_s=settings["shortDelaySeconds"])


def list_features(api: Api) -> list[str]:
    """Features of nodes that jobs may ask for by the labels that operators give nodes."""
    import json

    try:
        return [str(name) for name in json.loads(published(api)).get("features", [])]
    except (ValueError, AttributeError, TypeError):
        return []


def site_problem(api: Api) -> str:
    """What is wrong with the site's file, where another one than that is in force."""
    import json

    try:
        return str(json.loads(published(api)).get("problem", ""))
    except (ValueError, AttributeError):
        return ""


def published(api: Api) -> str:
    """The JSON that the controller writes for users; "{}" where there is none to be read."""
    try:
        published = api.get(CONFIGMAPS, QUEUES_CONFIGMAP, SYSTEM_NAMESPACE)
    except (NotFoundError, ForbiddenError):
        return "{}"
    return str((published.get("data") or {}).get(QUEUES_KEY, "{}"))


def mail_rules(api: Api) -> MailConfig | None:
    """To which addresses the site sends mail, as far as users may know; None if it sends none."""
    from hpcbatch.api.queuelist import mail_from_json

    try:
        return mail_from_json(published(api))
    except HpcBatchError:
        return None
