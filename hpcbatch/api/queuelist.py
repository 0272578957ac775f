"""What users may know of a site's queues: the JSON in ConfigMap hpcbatch-queues, written by the controller."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence

from hpcbatch.errors import HpcBatchError
from hpcbatch.model.queue_fields import read_fields, shown_fields
from hpcbatch.model.queue_switches import NONE_SUCH, Switches
from hpcbatch.model.row import QueueRow
from hpcbatch.typed import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:  # listings avoid this import
    from hpcbatch.model.custom_resource import CustomResource
    from hpcbatch.model.gres import Gres
    from hpcbatch.model.mail import MailConfig
    from hpcbatch.model.preemption import PreemptionConfig
    from hpcbatch.model.priority import PriorityConfig
    from hpcbatch.model.site import QueueConfig, SiteConfig

_T = TypeVar("_T")


def queues_to_json(site: SiteConfig, problem: str = "") -> str:
    """`{"default": name, "queues": […]}`; no queues: every Volcano Queue is a queue of the same name, or
    what `operatorQueues` has of that name, and these. `"mail"` if the
    site sends mail about jobs: the allowed recipients. `"options"`: plugins' options that it ignores, with reasons.
    `"licenses"`: how many there are. `"topology"`: the levels of the network. `"features"`: those of nodes that
    operators have set. `"resources"`: those that PBS would list. `"gres"`: those that Slurm would.
    `"settings"`: others that users may know. `"problem"`: why the site's file is not what is in force.
    """
    from hpcbatch.model.custom_resource import resource_to_json, resources_of_site
    from hpcbatch.model.gres import gres_of_site, gres_to_json
    from hpcbatch.model.site import Policy

    body: dict[str, Any] = {
        "default": site.default_queue,
        "queues": [_queue_to_json(queue) for queue in site.queues],
        "operatorQueues": [_queue_to_json(queue) for queue in site.operator_queues],
        "settings": {
            "killDelaySeconds": site.kill_delay_s,
            "maxArraySize": site.max_array_size,
            **({"refuseOversize": 1} if site.refuses_oversize else {}),
            **({"startedByVolcano": 1} if site.policy is Policy.VOLCANO else {}),
            **({} if (short := site.short_first) is None else {"shortSeconds": short.walltime_s}),
            **({} if short is None else {"shortDelaySeconds": short.delay_s}),
        },
    }
    if problem:
        body["problem"] = problem
    if site.node_features:
        body["features"] = sorted(site.node_features)
    if site.priority.ranks or site.priority.counts_eligible is not None:
        body["priority"] = priority_to_json(site.ranked_by)
    if site.preemption != type(site.preemption)():
        body["preemption"] = unusual(site.preemption)
    if site.accounting_enforce:
        body["accountingEnforce"] = sorted(site.accounting_enforce)
    if site.topology:
        body["topology"] = [[level.name, level.label] for level in site.topology]
    if site.licenses:
        body["licenses"] = dict(site.licenses)
    if resources := resources_of_site(site):
        body["resources"] = [resource_to_json(each) for each in resources]
    body["gres"] = [gres_to_json(each) for each in gres_of_site(site)]
    if site.ignored_options:
        body["options"] = dict(site.ignored_options)
    if site.mail is not None:
        mail = site.mail
        body["mail"] = {
            "domain": mail.domain,
            "maxRecipients": mail.max_recipients,
            **({} if mail.allowed_domains is None else {"allowedDomains": list(mail.allowed_domains)}),
        }
    return json.dumps(body, indent=1)


def priority_to_json(config: PriorityConfig) -> dict[str, Any]:
    """What is not as usual, by the names of the fields."""
    return unusual(config)


def unusual(config: Any) -> dict[str, Any]:
    """The fields of a dataclass that have not their defaults."""
    from hpcbatch.dataclass import declared_fields

    usual = type(config)()
    given = {each.name: getattr(config, each.name) for each in declared_fields(config)}
    return {name: value for name, value in given.items() if value != getattr(usual, name)}


def preemption_from_json(text: str) -> PreemptionConfig:
    """Raises HpcBatchError for a text that the controller cannot have written."""
    from hpcbatch.model.preemption import PreemptBy, PreemptionConfig, PreemptMode

    try:
        given: dict[str, Any] = dict(json.loads(text).get("preemption", {}))
        for name, kind in (("by", PreemptBy), ("mode", PreemptMode)):
            if name in given:
                given[name] = kind(given[name])
        return PreemptionConfig(**given)
    except (ValueError, TypeError, AttributeError) as error:
        raise HpcBatchError(f"the list of queues cannot be read: {error!r}") from None


def enforced_from_json(text: str) -> tuple[str, ...]:
    """What of the accounts is enforced. Raises HpcBatchError for a text that the controller cannot have written."""
    try:
        return tuple(map(str, json.loads(text).get("accountingEnforce", ())))
    except (ValueError, TypeError, AttributeError) as error:
        raise HpcBatchError(f"the list of queues cannot be read: {error!r}") from None


def priority_from_json(text: str) -> PriorityConfig:
    """Who goes first. Raises HpcBatchError for a text that the controller cannot have written."""
    from hpcbatch.model.priority import PriorityConfig

    try:
        return PriorityConfig(**json.loads(text).get("priority", {}))
    except (ValueError, TypeError, AttributeError) as error:
        raise HpcBatchError(f"the list of queues cannot be read: {error!r}") from None


def _queue_to_json(queue: QueueConfig) -> Mapping[str, Any]:
    fields = {
        "name": queue.name,
        "aliases": list(queue.aliases) or None,
        "volcanoQueue": queue.volcano_queue,
        "nodeSelector": dict(queue.node_selector) or None,
        "reservation": queue.reservation or None,
        "isOn": queue.is_on if queue.reservation else None,
        **shown_fields(queue),
    }
    return {key: value for key, value in fields.items() if value is not None}


def queues_from_json(text: str, switches: Mapping[str, Switches]) -> list[QueueRow]:
    """The queues in the site's order; `switches` has the Volcano Queues. A queue without its Volcano Queue is closed.
    Raises HpcBatchError for a text that the controller cannot have written.
    """

    def found(body: Any) -> list[QueueRow]:
        default = body["default"]
        given = body["queues"] or _of_volcano(body.get("operatorQueues") or [], default, switches)
        return [
            QueueRow(
                name=queue["name"],
                is_default=queue["name"] == default,
                is_open=switches.get(queue["volcanoQueue"], NONE_SUCH).takes(queue["name"]),
                node_selector=tuple(sorted(queue.get("nodeSelector", {}).items())),
                aliases=tuple(map(str, queue.get("aliases", ()))),
                is_started=bool(queue.get("isOn", True))
                and switches.get(queue["volcanoQueue"], NONE_SUCH).starts(queue["name"]),
                reservation=str(queue.get("reservation", "")),
                volcano_queue=queue["volcanoQueue"],
                is_idle=switches.get(queue["volcanoQueue"], NONE_SUCH).is_idle,
                site_preempt_mode=str(body.get("preemption", {}).get("mode", "")),
                **read_fields(queue),
            )
            for queue in given
        ]

    return _read(text, found)


def _of_volcano(changed: Sequence[Any], default: str, switches: Mapping[str, Switches]) -> list[Any]:
    """Where the site names no queues: the default one first. A Volcano Queue that is gone is none, though operators
    have changed it.
    """
    found = {name: {"name": name, "volcanoQueue": name} for name in switches}
    found |= {one["name"]: one for one in changed if one["name"] in found or one["volcanoQueue"] != one["name"]}
    return [found[name] for name in sorted(found, key=lambda name: (name != default, name))]


def options_from_json(text: str) -> dict[str, str]:
    """Pattern of a plugin's options → why the site ignores them, in the site's order. Raises HpcBatchError for a text
    that the controller cannot have written.
    """
    return _read(text, lambda body: {str(pattern): str(reason) for pattern, reason in body.get("options", {}).items()})


def settings_from_json(text: str) -> dict[str, int]:
    """`killDelaySeconds` and `maxArraySize`. Raises HpcBatchError for a text that the controller cannot have
    written.
    """
    return _counts(text, "settings")


def topology_from_json(text: str) -> tuple[tuple[str, str], ...]:
    """The levels of the network, the lowest first: the name, and the label of nodes that says their group. Raises
    HpcBatchError for a text that the controller cannot have written.
    """
    return _read(text, lambda body: tuple((str(name), str(label)) for name, label in body.get("topology", ())))


def licenses_from_json(text: str) -> dict[str, int]:
    """How many licences of each name there are. Raises HpcBatchError for a text that the controller cannot have
    written.
    """
    return _counts(text, "licenses")


def resources_from_json(text: str) -> tuple[CustomResource, ...]:
    """What PBS would list as custom resources of the site's file. Raises HpcBatchError for a text that the controller
    cannot have written.
    """
    from hpcbatch.model.custom_resource import resource_from_json

    return _read(text or "{}", lambda body: tuple(resource_from_json(each) for each in body.get("resources", ())))


def gres_from(text: str) -> tuple[Gres, ...]:
    """What Slurm would list as generic resources. Raises HpcBatchError for a text that the controller cannot have
    written.
    """
    from hpcbatch.model.gres import gres_from_json

    return _read(text or "{}", lambda body: tuple(gres_from_json(each) for each in body.get("gres", ())))


def _counts(text: str, key: str) -> dict[str, int]:
    return _read(text, lambda body: {str(name): int(value) for name, value in body.get(key, {}).items()})


def _read(text: str, found: Callable[[Any], _T]) -> _T:
    """What `found` makes of the JSON. Raises HpcBatchError for a text that the controller cannot have written."""
    try:
        return found(json.loads(text))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise HpcBatchError(f"the list of queues cannot be read: {error!r}") from None


def mail_from_json(text: str) -> MailConfig | None:
    """To whom the site sends mail about jobs; None if it sends none. Raises HpcBatchError for a text that the
    controller cannot have written.
    """
    from hpcbatch.model.mail import MailConfig

    def found(body: Any) -> MailConfig | None:
        mail = body.get("mail")
        if not mail:
            return None
        allowed = mail.get("allowedDomains")
        return MailConfig(
            domain=str(mail["domain"]),
            max_recipients=int(mail["maxRecipients"]),
            allowed_domains=None if allowed is None else tuple(map(str, allowed)),
        )

    return _read(text, found)
