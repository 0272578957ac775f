"""What qmgr's requests do to one object."""

from __future__ import annotations

import re

from hpcbatch.cli.common import Session
from hpcbatch.dialects.pbs import errors
from hpcbatch.dialects.pbs.qmgr_attributes import Kind, set_elsewhere
from hpcbatch.dialects.pbs.qmgr_change import QmgrError, check_attributes, not_here, unauthorized
from hpcbatch.dialects.pbs.qmgr_parse import Request, Verb
from hpcbatch.errors import AlreadyExistsError, ForbiddenError, HpcBatchError, NotFoundError, UnknownQueueError
from hpcbatch.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hpcbatch.dialects.pbs.qmgr_change import QueueChange
    from hpcbatch.dialects.pbs.qstat_full import Attributes
    from hpcbatch.model.row import QueueRow

_UNKNOWN_QUEUE = QmgrError(errors.PBSE_UNKQUE, "Unknown queue")
_NAME = re.compile(r"[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?", re.ASCII)
_NO_NAME = (
    "a new queue is a Volcano Queue, whose name has small letters, digits, - and . only, 63 at most: "
    "queues that site.yaml names may have capitals and _, too"
)
_UNKNOWN_NODE = QmgrError(errors.PBSE_UNKNODE, "Unknown node ")


def as_answer(error: HpcBatchError) -> QmgrError:
    """What the server would say."""
    from hpcbatch.client.partition_admin import TakenQueueError
    from hpcbatch.client.queue_admin import BusyQueueError

    said = " ".join(str(error).split())
    match error:
        case QmgrError():
            return error
        case ForbiddenError():
            return unauthorized(said)
        case UnknownQueueError():
            return _UNKNOWN_QUEUE
        case AlreadyExistsError() | TakenQueueError():
            return QmgrError(errors.PBSE_QUEEXIST, "Queue already exists")
        case BusyQueueError():
            return QmgrError(errors.PBSE_OBJBUSY, "Cannot delete busy object")
        case _:
            return QmgrError(errors.PBSE_IVALREQ, "Invalid request", said)


def shown(session: Session, request: Request, name: str) -> str:
    """`list` and `print`."""
    from hpcbatch.dialects.pbs.qmgr_show import flat, format_list, format_print

    kind = request.kind
    check_attributes(kind, request.settings)
    form = format_print if request.verb is Verb.PRINT else format_list
    objects = {key: flat(attributes, request.settings) for key, attributes in _objects(session, kind, name).items()}
    text = form(kind, objects, name) if kind not in {Kind.HOOK, Kind.PBSHOOK} else ""
    if kind is Kind.SERVER and request.verb is Verb.PRINT and not request.settings:
        for before in (Kind.QUEUE, Kind.RESOURCE):
            found = {key: flat(attributes) for key, attributes in _objects(session, before, "").items()}
            text = format_print(before, found) + text
    return text


def names_of(session: Session, kind: Kind) -> Iterable[str]:
    return _objects(session, kind, "")


def _objects(session: Session, kind: Kind, name: str) -> dict[str, Attributes]:
    """One by its name, or all; of resources all but PBS's own. There are no hooks."""
    from hpcbatch.cli.pbs import cluster

    if kind is Kind.SERVER:
        return cluster.server_objects(session)
    if kind is Kind.SCHED:
        from hpcbatch.client.accounts import read_accounts
        from hpcbatch.client.queues import read_preemption
        from hpcbatch.dialects.pbs.preemption import sched_attributes

        settings = read_accounts(session.api).server_settings
        own = sched_attributes(settings.over(read_preemption(session.api)))
        return {"default": [("sched_host", session.server), ("scheduling", "True"), *own]}
    if kind is Kind.RESOURCE:
        from hpcbatch.cli.pbs.qmgr_resources import resource_objects

        return resource_objects(session, name)
    if kind not in {Kind.QUEUE, Kind.NODE}:
        if not name:
            return {}
        raise QmgrError(errors.PBSE_IVALREQ, "hook not found")
    objects = cluster.queue_objects(session) if kind is Kind.QUEUE else cluster.node_objects(session)
    if not name:
        return objects
    if name not in objects:
        raise _UNKNOWN_QUEUE if kind is Kind.QUEUE else _UNKNOWN_NODE
    return {name: objects[name]}


def change(session: Session, request: Request, name: str) -> None:
    """`create`, `delete`, `set`, `unset`, `import` and `export`."""
    if request.verb is Verb.SET and (name or request.kind in {Kind.SERVER, Kind.SCHED}):
        from hpcbatch.dialects.pbs.qmgr_change import new_settings
        from hpcbatch.dialects.pbs.qmgr_show import flat

        (present,) = _objects(session, request.kind, name).values()
        request = request._replace(settings=new_settings(request.settings, dict(flat(present))))
        if not request.settings:
            return
    if request.kind in {Kind.SERVER, Kind.QUEUE, Kind.SCHED} and request.verb in {Verb.SET, Verb.UNSET}:
        from hpcbatch.cli.pbs.qmgr_limits import take_limits

        queues = [""] if request.kind is not Kind.QUEUE else [name] if name else [*names_of(session, Kind.QUEUE)]
        if request.kind is Kind.QUEUE and name:
            _objects(session, Kind.QUEUE, name)  # raises for a queue that there is not
        request = request._replace(settings=take_limits(session, request, queues))
        if not request.settings:
            return
    if request.kind in {Kind.SERVER, Kind.NODE, Kind.RESOURCE}:
        from hpcbatch.cli.pbs.qmgr_resources import take_resources

        request = request._replace(settings=take_resources(session, request, name))
        if request.kind is Kind.RESOURCE or (request.verb in {Verb.SET, Verb.UNSET} and not request.settings):
            return
    if request.kind is Kind.QUEUE:
        _change_queue(session, request, name)
    elif request.kind is Kind.NODE:
        _change_node(session, request, name)
    elif request.kind is Kind.SERVER and request.verb in {Verb.SET, Verb.UNSET}:
        _change_server(session, request)
    elif request.verb in {Verb.SET, Verb.UNSET}:
        raise not_here(request.kind, request.settings)
    else:
        raise unauthorized(set_elsewhere(request.kind))


def _change_server(session: Session, request: Request) -> None:
    from hpcbatch.client.queue_admin import set_scheduling
    from hpcbatch.client.queues import list_queues
    from hpcbatch.dialects.pbs.qmgr_change import scheduling_change

    on = scheduling_change(request.settings, request.verb)
    if on is not None:
        set_scheduling(session.api, list_queues(session.api), on=on)


def _change_queue(session: Session, request: Request, name: str) -> None:
    from hpcbatch.client.partition_admin import (
        SiteQueueError,
        change_partition,
        forget_partition,
        is_made,
        remove_partition,
    )
    from hpcbatch.client.queue_admin import create_queue, delete_queue, switch_queue
    from hpcbatch.client.queues import list_queues, names_its_queues
    from hpcbatch.dialects.pbs.qmgr_change import queue_change

    queues = list_queues(session.api)
    if request.verb in {Verb.CREATE, Verb.DELETE}:
        chosen = _chosen(queues, name) if request.verb is Verb.DELETE else []
        is_named = names_its_queues(session.api)
        if request.verb is Verb.CREATE:
            wanted = queue_change(request.settings, request.verb)
            enabled, started = bool(wanted.enabled), bool(wanted.started)
            if is_named:
                _make_named(session, name, wanted)
            else:
                if not _NAME.fullmatch(name):
                    raise QmgrError(errors.PBSE_IVALREQ, "Invalid request", _NO_NAME)
                create_queue(session.api, name, enabled=enabled, started=started)
                if wanted.limits:
                    change_partition(session.api, name, wanted.limits)
            return
        for queue in chosen:
            _check_empty(session, queue)
            try:
                if is_named or is_made(session.api, queue.name):
                    remove_partition(session.api, queue.name)
                else:
                    delete_queue(session.api, queue.name)
                    forget_partition(session.api, queue.name)
            except NotFoundError:
                raise _UNKNOWN_QUEUE from None
            except SiteQueueError:
                raise unauthorized("the site's administrator names it in site.yaml (docs/site.md)") from None
        return
    chosen = _chosen(queues, name)
    changes = [queue_change(request.settings, request.verb, queue.destinations) for queue in chosen]
    for queue, wanted in zip(chosen, changes, strict=True):
        if wanted.limits:
            change_partition(session.api, queue.name, wanted.limits)
        if wanted.enabled is not None or wanted.started is not None:
            switch_queue(session.api, queue, queues, enabled=wanted.enabled, started=wanted.started)


def _make_named(session: Session, name: str, wanted: QueueChange) -> None:
    """Where the site names its queues: on the default queue's Volcano Queue."""
    from hpcbatch.client.partition_admin import make_partition
    from hpcbatch.client.queue_admin import switch_queue
    from hpcbatch.client.queues import list_queues

    make_partition(session.api, name, wanted.limits)
    queues = list_queues(session.api)
    for queue in (queue for queue in queues if queue.name == name):
        switch_queue(session.api, queue, queues, enabled=bool(wanted.enabled), started=bool(wanted.started))


def _chosen(queues: list[QueueRow], name: str) -> list[QueueRow]:
    chosen = [queue for queue in queues if name in {"", queue.name}]
    if not chosen:
        raise _UNKNOWN_QUEUE
    return chosen


def _check_empty(session: Session, queue: QueueRow) -> None:
    from hpcbatch.client import listing
    from hpcbatch.client.queue_admin import BusyQueueError

    rows = listing.list_rows(session.api, session.namespace, finished=False)
    if any(row.queue == queue.name for row in rows):
        raise BusyQueueError(queue.name)


def _change_node(session: Session, request: Request, name: str) -> None:
    from hpcbatch.client.node_admin import drain_node
    from hpcbatch.client.nodes import list_nodes
    from hpcbatch.dialects.pbs.qmgr_change import node_change

    known = [node.name for node in list_nodes(session.api, session.namespace)]
    if request.verb is Verb.CREATE:
        if name in known:
            raise QmgrError(errors.PBSE_NODEEXIST, "Node name already exists")
        raise unauthorized("a node joins when its kubelet does")
    if name and name not in known:
        raise _UNKNOWN_NODE
    if request.verb is Verb.DELETE:
        raise unauthorized("`kubectl delete node` removes one")
    if request.verb not in {Verb.SET, Verb.UNSET}:
        raise unauthorized(set_elsewhere(request.kind))
    wanted = node_change(request.settings, request.verb)
    for node in [name] if name else known:
        try:
            drain_node(
                session.api, node, offline=wanted.offline, comment=wanted.comment, user=session.user, now=session.now
            )
        except NotFoundError:
            raise _UNKNOWN_NODE from None
