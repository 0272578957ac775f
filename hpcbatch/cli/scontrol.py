"""`scontrol`: show jobs, nodes, partitions and host lists; hold and release jobs."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING

from hpcbatch.cli.common import Session, complain, run
from hpcbatch.cli.slurm import NO_CONNECTION, describe
from hpcbatch.errors import HpcBatchError, UnreachableError

if TYPE_CHECKING:
    from hpcbatch.api.port import Object
    from hpcbatch.slurm.scontrol import ScontrolCommand


def main() -> None:
    run("scontrol", _body, partial(describe, "scontrol"))


def _body(session: Session) -> int:
    from hpcbatch.slurm.errors import VERSION_TEXT
    from hpcbatch.slurm.scontrol import Verb, format_hosts, read_command

    command = read_command(sys.argv[1:], session.environ)
    match command.verb:
        case Verb.VERSION:
            print(VERSION_TEXT)
            return 0
        case Verb.SHOW_HOSTNAMES | Verb.SHOW_HOSTLIST | Verb.SHOW_HOSTLIST_SORTED:
            sys.stdout.write(format_hosts(command))
            return 0
        case Verb.SHOW_JOB:
            return _show_jobs(session, command)
        case Verb.SHOW_NODE:
            return _show_nodes(session, command)
        case Verb.SHOW_PARTITION:
            return _show_partitions(session, command)
        case Verb.PING:
            return _ping(session)
        case Verb.HOLD | Verb.RELEASE:
            return _change_hold(session, command)


def _show_jobs(session: Session, command: ScontrolCommand) -> int:
    from hpcbatch import jobs
    from hpcbatch.api.batchjob import record_from
    from hpcbatch.slurm.scontrol import NO_JOBS, format_job, read_job_id
    from hpcbatch.slurm.squeue import MIN_JOB_AGE

    if command.ids:
        numbers = [read_job_id(text, command.verb) for text in command.ids]
        rows = [jobs.find(session.api, session.namespace, number) for number in numbers]
        records = [jobs.get_record(session.api, row) for row in rows]
    else:
        every = [record_from(obj) for obj in jobs.list_objects(session.api, session.namespace)]
        ends = [(record, record.status.end_time) for record in every]
        records = [record for record, end in ends if end is None or session.now - end <= MIN_JOB_AGE]
    for record in records:
        text = format_job(
            record,
            session.now,
            session.zone,
            command.one_line,
            time_format=command.time_format,
            group=_group_name(record.status.gid),
        )
        sys.stdout.write(text)
    if not records:
        sys.stdout.write(NO_JOBS)
    return 0


def _group_name(gid: int) -> str:
    import grp

    try:
        return grp.getgrgid(gid).gr_name
    except KeyError:
        return ""


def _show_nodes(session: Session, command: ScontrolCommand) -> int:
    from hpcbatch import jobs
    from hpcbatch.slurm.hostlist import expand
    from hpcbatch.slurm.scontrol import format_node, not_found

    known = {node.name: node for node in jobs.nodes(session.api, session.namespace)}
    queues = jobs.queues(session.api)
    for name in expand(command.operand) if command.operand else known:
        if name not in known:
            raise not_found("Node", name)
        text = format_node(known[name], queues, session.zone, command.one_line, time_format=command.time_format)
        sys.stdout.write(text)
    return 0


def _show_partitions(session: Session, command: ScontrolCommand) -> int:
    from hpcbatch import jobs
    from hpcbatch.slurm.scontrol import format_partition, not_found

    nodes = jobs.nodes(session.api, session.namespace)
    known = {queue.name: queue for queue in jobs.queues(session.api)}
    if command.operand and command.operand not in known:
        raise not_found("Partition", command.operand)
    for name, queue in known.items():
        if command.operand in {"", name}:
            sys.stdout.write(format_partition(queue, nodes, command.one_line))
    return 0


def _ping(session: Session) -> int:
    from hpcbatch import jobs
    from hpcbatch.slurm.scontrol import format_ping

    try:
        jobs.queues(session.api)
    except UnreachableError:
        sys.stdout.write(format_ping(session.server, up=False))
        return 1
    sys.stdout.write(format_ping(session.server, up=True))
    return 0


def _change_hold(session: Session, command: ScontrolCommand) -> int:
    from hpcbatch import jobs
    from hpcbatch.slurm.errors import SlurmUsageError, describe_hold
    from hpcbatch.slurm.scontrol import Verb, read_job_id

    change = jobs.release if command.verb is Verb.RELEASE else jobs.hold
    changed: list[Object] = []
    code = 0
    for text in command.ids:
        try:
            row = jobs.find(session.api, session.namespace, read_job_id(text, command.verb))
            changed.append(change(session.api, row))
        except (*NO_CONNECTION, SlurmUsageError):
            raise
        except HpcBatchError as error:
            message, code = describe_hold(error, text)
            complain(message)
    if changed:
        jobs.settle(session.api, changed)
    return code
