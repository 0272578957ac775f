"""qmgr's resources: those that it lists, and what operators make and set of them."""

from __future__ import annotations

from hpcbatch.cli.common import Session
from hpcbatch.dialects.pbs.custom_resources import Known
from hpcbatch.dialects.pbs.qmgr_attributes import Kind
from hpcbatch.dialects.pbs.qmgr_parse import Request, Setting, Verb
from hpcbatch.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from hpcbatch.dialects.pbs.qstat_full import Attributes
    from hpcbatch.model.accounts import Accounts


def known_resources(session: Session) -> Known:
    from hpcbatch.client.accounts import read_accounts
    from hpcbatch.client.queues import list_resources

    return Known(list_resources(session.api), read_accounts(session.api).server_settings.resources)


def resource_objects(session: Session, name: str) -> dict[str, Attributes]:
    from hpcbatch.dialects.pbs.custom_resources import attributes_of

    return {each: list(shown) for each, shown in attributes_of(known_resources(session), name).items()}


def with_amounts(session: Session, attributes: Attributes) -> Attributes:
    """The server's attributes, with what it has and what jobs hold of the resources that it counts."""
    from hpcbatch.dialects.pbs.custom_resources import server_amounts

    known = known_resources(session)
    if not any(each.is_counted for each in known.all):
        return attributes
    from hpcbatch.client.licenses import held_licenses

    found = dict(server_amounts(known, held_licenses(session.api, session.namespace)))
    merged: Attributes = []
    for name, value in attributes:
        if name == "resources_assigned" and name in found and not isinstance(value, str):
            merged += [("resources_available", found["resources_available"]), (name, {**value, **found[name]})]
        else:
            merged.append((name, value))
    return merged


def take_resources(session: Session, request: Request, name: str) -> tuple[Setting, ...]:
    """Carry out what the request says of resources; returns its other settings. Raises QmgrError, ForbiddenError."""
    from hpcbatch.dialects.pbs.custom_resources import is_amount

    if request.kind is Kind.RESOURCE:
        _change_resource(session, request, name)
        return ()
    given = [each for each in request.settings if is_amount(each)]
    if request.verb not in {Verb.SET, Verb.UNSET} or not given:
        return request.settings
    if request.kind is Kind.SERVER:
        _set_amounts(session, given, request.verb)
    else:
        _label_nodes(session, given, request.verb, name)
    return tuple(each for each in request.settings if each not in given)


def _change_resource(session: Session, request: Request, name: str) -> None:
    from hpcbatch.client.accounts import change_accounts
    from hpcbatch.dataclass import replace
    from hpcbatch.dialects.pbs.custom_resources import busy, with_resource
    from hpcbatch.dialects.pbs.qmgr_change import unauthorized

    if request.verb not in {Verb.CREATE, Verb.DELETE, Verb.SET, Verb.UNSET}:
        raise unauthorized("there are no hooks")
    _check_operator(session)
    of_site = known_resources(session).of_site

    def change(accounts: Accounts) -> Accounts:
        settings = accounts.server_settings
        made = with_resource(Known(of_site, settings.resources), name, request.settings, request.verb)
        return replace(accounts, server_settings=replace(settings, resources=made))

    with_resource(known_resources(session), name, request.settings, request.verb)  # raises what is wrong with it
    if request.verb is not Verb.CREATE:
        if _is_busy(session, name):
            raise busy("job")
        _take_from_nodes(session, request, name)
    change_accounts(session.api, change)


def _check_operator(session: Session) -> None:
    from hpcbatch.client.accounts import may_change_accounts
    from hpcbatch.dialects.pbs.qmgr_change import unauthorized

    if not may_change_accounts(session.api):
        raise unauthorized("ClusterRole hpcbatch-operator has an operator's rights (docs/pbs.md)")


def _is_busy(session: Session, name: str) -> bool:
    """Whether a job asks for it."""
    from hpcbatch.client.listing import list_objects
    from hpcbatch.dialects.pbs.custom_resources import has_resource

    for obj in list_objects(session.api, session.namespace, finished=False):
        attributes = obj["spec"].get("attributes") or {}
        if has_resource(attributes, name) or name in (obj["status"].get("licenses") or {}):
            return True
    return False


def _take_from_nodes(session: Session, request: Request, name: str) -> None:
    """A deleted one is taken from the nodes that have it. Raises QmgrError where they forbid the change of a type."""
    from hpcbatch.client.node_admin import label_node
    from hpcbatch.client.nodes import list_nodes
    from hpcbatch.dialects.pbs.custom_resources import busy
    from hpcbatch.model.custom_resource import CustomResource

    label = CustomResource(name=name).label
    nodes = [node.name for node in list_nodes(session.api, session.namespace) if label in dict(node.labels)]
    if nodes and request.verb is not Verb.DELETE:
        raise busy("node")
    for node in nodes:
        label_node(session.api, node, {label: None})


def _set_amounts(session: Session, given: list[Setting], verb: Verb) -> None:
    from hpcbatch.client.accounts import change_accounts
    from hpcbatch.dataclass import replace
    from hpcbatch.dialects.pbs import custom_resources

    of_site = known_resources(session).of_site

    def change(accounts: Accounts) -> Accounts:
        settings = accounts.server_settings
        made = custom_resources.with_amounts(Known(of_site, settings.resources), given, verb)
        return replace(accounts, server_settings=replace(settings, resources=made))

    change_accounts(session.api, change)


def _label_nodes(session: Session, given: list[Setting], verb: Verb, name: str) -> None:
    from hpcbatch.client.node_admin import label_node
    from hpcbatch.client.nodes import list_nodes
    from hpcbatch.dialects.pbs.custom_resources import node_labels
    from hpcbatch.dialects.pbs.errors import PBSE_UNKNODE
    from hpcbatch.dialects.pbs.qmgr_change import QmgrError

    labels = node_labels(known_resources(session), given, verb)
    nodes = [node.name for node in list_nodes(session.api, session.namespace)]
    if name and name not in nodes:
        raise QmgrError(PBSE_UNKNODE, "Unknown node ")
    for node in [name] if name else nodes:
        label_node(session.api, node, labels)
