"""`bqueues`, `bhosts`, `lshosts`, `lsload`, `lsid`, `bparams`, `busers`: what there is, and how busy it is."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from functools import partial

from hpcbatch.cli.common import Session, complain, run
from hpcbatch.cli.lsf.common import describe
from hpcbatch.cli.lsf.jobs import FAILED, all_rows, print_lines
from hpcbatch.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from hpcbatch.dialects.lsf.commands import Line
    from hpcbatch.model.row import JobRow, NodeRow


def main() -> None:
    command = os.path.basename(sys.argv[0])  # noqa: PTH119  pathlib costs milliseconds
    run(command, partial(_body, command), partial(describe, command))


def _body(command: str, session: Session) -> int:
    from hpcbatch.dialects.lsf.commands import parse

    line = parse(command, sys.argv[1:])
    act = {
        "bqueues": _queues,
        "bhosts": _hosts,
        "lshosts": _lshosts,
        "lsload": _lsload,
        "lsid": _lsid,
        "bparams": _params,
        "busers": _users,
    }[command]
    return act(session, line)


def _jobs(session: Session) -> list[JobRow]:
    from hpcbatch.dialects.lsf.rows import unfolded

    return unfolded(all_rows(session, ended=False), ended=False)


def _queues(session: Session, line: Line) -> int:
    from hpcbatch.client.nodes import list_nodes
    from hpcbatch.client.queues import list_queues
    from hpcbatch.dialects.lsf import cluster

    queues = list_queues(session.api)
    nodes: list[NodeRow] = list_nodes(session.api, session.namespace) if {"l", "m"} & set(line.options) else []
    if (host := line.value("m")) is not None:
        reached = [node for node in nodes if node.name == host]
        queues = [queue for queue in queues if any(queue.reaches(node) for node in reached)]
    code = 0
    if line.operands:
        known = {queue.name: queue for queue in queues}
        for name in line.operands:
            if name not in known:
                complain(f"{name}: No such queue")
                code = FAILED
        queues = [known[name] for name in line.operands if name in known]
    if not queues:
        return FAILED
    rows = _jobs(session)
    if (text := line.value("o")) is not None:
        fields = cluster.queue_fields(queues, rows)
        print_lines(cluster.chosen(fields, len(queues), text, "bqueues", line))
    elif "l" in line:
        for queue in queues:
            print_lines(cluster.queue_text(queue, rows, nodes))
    else:
        print_lines(cluster.table(cluster.QUEUE_HEADS, cluster.queue_rows(queues, rows), line))
    return code


def _nodes(session: Session, names: Sequence[str]) -> tuple[list[NodeRow], int]:
    """Those named, or all; unknown ones are told."""
    from hpcbatch.client.nodes import list_nodes
    from hpcbatch.client.reservations import in_force, list_reservations, with_reserved

    found = with_reserved(
        list_nodes(session.api, session.namespace), in_force(list_reservations(session.api)), session.now
    )
    if not names:
        return found, 0
    known = {node.name: node for node in found}
    code = 0
    for name in names:
        if name not in known:
            complain(f"{name}: Bad host name, host group name or cluster name")
            code = FAILED
    return [known[name] for name in names if name in known], code


def _hosts(session: Session, line: Line) -> int:
    from hpcbatch.dialects.lsf import cluster

    nodes, code = _nodes(session, line.operands)
    if not nodes:
        return FAILED
    rows = _jobs(session)
    if (text := line.value("o")) is not None:
        print_lines(cluster.chosen(cluster.host_fields(nodes, rows), len(nodes), text, "bhosts", line))
    elif "l" in line:
        for node in nodes:
            print_lines(cluster.host_text(node, rows))
    else:
        print_lines(cluster.table(cluster.HOST_HEADS, cluster.host_rows(nodes, rows), line))
    return code


def _lshosts(session: Session, line: Line) -> int:
    from hpcbatch.dialects.lsf import cluster

    nodes, code = _nodes(session, line.operands)
    print_lines(cluster.table(cluster.LSHOSTS_HEADS, cluster.lshosts_rows(nodes), line))
    return code


def _lsload(session: Session, line: Line) -> int:
    from hpcbatch.dialects.lsf import cluster

    nodes, code = _nodes(session, line.operands)
    print_lines(cluster.table(cluster.LSLOAD_HEADS, cluster.lsload_rows(nodes), line))
    return code


def _lsid(session: Session, _line: Line) -> int:
    from hpcbatch.dialects.lsf.errors import VERSION

    print_lines([VERSION, "", f"My cluster name is {session.server}", f"My master name is {session.connection.server}"])
    return 0


def _params(session: Session, line: Line) -> int:
    from hpcbatch.client.queues import default_queue, list_settings
    from hpcbatch.dialects.lsf.cluster import parameters

    every = bool({"a", "l"} & set(line.options))
    print_lines(parameters(default_queue(session.api), list_settings(session.api), every=every))
    return 0


def _users(session: Session, line: Line) -> int:
    from hpcbatch.dialects.lsf import cluster

    rows = _jobs(session)
    users: Sequence[str] = line.operands or (session.user,)
    if "all" in users:
        users = sorted({row.user for row in rows} | {session.user})
    print_lines(cluster.table(cluster.BUSERS_HEADS, cluster.user_rows(users, rows), line))
    return 0
