"""`scontrol`: show jobs, nodes, partitions and host lists; hold and release jobs."""

from __future__ import annotations

import sys
from functools import partial

from hpcbatch.cli.common import Session, run
from hpcbatch.cli.slurm.common import check_cluster_names, describe
from hpcbatch.errors import UnknownJobError, UnreachableError
from hpcbatch.model.text import printable
from hpcbatch.record.rows import row_of
from hpcbatch.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hpcbatch.dialects.slurm.array_records import ShownJob
    from hpcbatch.dialects.slurm.scontrol_command import ScontrolCommand
    from hpcbatch.model.record import JobRecord


def main() -> None:
    run("scontrol", _body, partial(describe, "scontrol"))


def _body(session: Session) -> int:
    from hpcbatch.dialects.slurm.scontrol_command import Verb, read_command

    command = read_command(sys.argv[1:], session.environ)
    if command.verb is Verb.INTERACTIVE:
        from hpcbatch.cli.slurm.prompt import requests

        options = sys.argv[1:]

        def answer(words: Sequence[str]) -> int:
            return execute(session, read_command([*options, *words], session.environ))

        return requests(session, "scontrol", answer)
    return execute(session, command)


def execute(session: Session, command: ScontrolCommand) -> int:
    """Do one request; the exit code."""
    from hpcbatch.dialects.slurm.errors import VERSION_TEXT
    from hpcbatch.dialects.slurm.scontrol_command import Verb

    check_cluster_names(session, "scontrol", command.clusters)
    match command.verb:
        case Verb.VERSION:
            print(VERSION_TEXT)
            return 0
        case Verb.SHOW_HOSTNAMES | Verb.SHOW_HOSTLIST | Verb.SHOW_HOSTLIST_SORTED:
            from hpcbatch.dialects.slurm.scontrol import format_hosts

            for line in format_hosts(command).splitlines():
                print(line)  # a terminal gets one after the other
            return 0
        case Verb.SHOW_JOB:
            return _show_jobs(session, command)
        case Verb.SHOW_NODE:
            return _show_nodes(session, command)
        case Verb.SHOW_PARTITION:
            return _show_partitions(session, command)
        case Verb.WRITE_CONFIG:
            from hpcbatch.cli.slurm.scontrol_show import write_config

            return write_config(session, command)
        case Verb.PING:
            return _ping(session)
        case Verb.NOTHING | Verb.INTERACTIVE:
            return 0
        case Verb.WRITE_SCRIPT | Verb.WAIT_JOB | Verb.COMPLETING | Verb.LISTPIDS | Verb.PIDINFO:
            from hpcbatch.cli.slurm.scontrol_job import run_request

            return run_request(session, command)
        case verb if verb.startswith("show "):
            from hpcbatch.cli.slurm.scontrol_show import show

            return show(session, command)
        case _:
            from hpcbatch.cli.slurm.scontrol_change import change

            return change(session, command)


def _show_jobs(session: Session, command: ScontrolCommand) -> int:
    from hpcbatch.cli.unix_names import group_name
    from hpcbatch.dialects.slurm.array_records import ShownJob
    from hpcbatch.dialects.slurm.component_records import components
    from hpcbatch.dialects.slurm.scontrol import NO_JOBS, format_job

    if any(text.partition("_")[0].strip("0") for text in command.ids):  # job 0 stands for all
        shown = [job for text in command.ids for job in _named_jobs(session, text)]
    else:
        shown = recent_jobs(session, shows_hidden=command.shows_hidden)
    _tell_update(session, command, len(shown))
    exempt_s = _exempt_s(session) if shown else None
    parts = (ShownJob(one, whole.in_array) for whole in shown for one in components(whole.record))
    for job in parts:
        text = format_job(
            job.record,
            session.now,
            session.zone,
            command.one_line,
            time_format=command.time_format,
            group=group_name(job.record.status.gid),
            in_array=job.in_array,
            exempt_s=exempt_s,
            has_details=command.has_details,
        )
        sys.stdout.write(text)
    if not shown:
        sys.stdout.write(NO_JOBS)
    return 0


def _exempt_s(session: Session) -> int | None:
    """How long a job runs before it may be preempted; None: it never is."""
    from hpcbatch.client.queues import read_preemption
    from hpcbatch.model.preemption import PreemptBy

    config = read_preemption(session.api)
    return None if config.by is PreemptBy.NONE else config.exempt_s


def recent_jobs(session: Session, *, shows_hidden: bool = True) -> list[ShownJob]:
    """All jobs that slurmctld would still know, in order; without those of hidden partitions unless `shows_hidden`."""
    from hpcbatch.client import listing
    from hpcbatch.client.arrays import held_members
    from hpcbatch.dialects.slurm.array_records import shown_jobs
    from hpcbatch.dialects.slurm.squeue import MIN_JOB_AGE
    from hpcbatch.record.batchjob import shown_record

    recent = session.now - MIN_JOB_AGE
    found = listing.in_order(listing.iter_ended(session.api, session.namespace, since=recent, include_unfinished=True))
    held = {int(obj["status"]["jobId"]): held_members(obj) for obj in found}
    records = [shown_record(obj) for obj in found]
    if records and not shows_hidden:
        from hpcbatch.client.queues import hidden_partitions

        hidden = hidden_partitions(session.api)
        records = [each for each in records if not hidden.issuperset((each.queue, *each.spec.other_queues))]
    return shown_jobs(records, held)


def _named_jobs(session: Session, text: str) -> list[ShownJob]:
    """What one id means. Raises UnknownJobError or SlurmUsageError."""
    if "+" in text:
        return _named_component(session, text)
    from hpcbatch.client import listing
    from hpcbatch.dialects.slurm.array_records import shown_array, shown_index, shown_member
    from hpcbatch.dialects.slurm.scontrol_command import not_found_member, read_job
    from hpcbatch.dialects.slurm.squeue import MIN_JOB_AGE
    from hpcbatch.record.batchjob import shown_record

    named = read_job(text)
    row = listing.find(session.api, session.namespace, named.number)
    obj = listing.get_object(session.api, row)
    record = shown_record(obj)
    if not row.array_indices:
        if named.is_array:
            raise not_found_member(text)
        return [shown_member(record, *_array_of(session, record))]
    from hpcbatch.client.arrays import get_records, held_members, own_rows

    held = held_members(obj)
    own = own_rows(session.api, row, named.members).values()
    if named.members is None:
        recent = [one for one in own if one.end_time is None or session.now - one.end_time <= MIN_JOB_AGE]
        return shown_array(record, get_records(session.api, row, recent), held)
    records = get_records(session.api, row, own)
    found = [job for index in named.members if (job := shown_index(record, records, index, held)) is not None]
    if not found:
        raise not_found_member(text)
    return found


def _named_component(session: Session, text: str) -> list[ShownJob]:
    """Of `12+1`, as of 12 where the job is not heterogeneous."""
    from hpcbatch.dialects.slurm.component_records import components, offset_in
    from hpcbatch.dialects.slurm.scontrol_command import read_job

    number, _, offset = text.partition("+")
    if not offset.isdecimal():
        read_job(text)
    found = [job._replace(record=one) for job in _named_jobs(session, number) for one in components(job.record)]
    chosen = [job for job in found if (offset_in(job.record) or 0) == int(offset)]
    if not chosen:
        raise UnknownJobError(f"job {number} has no component {offset}")
    return chosen


def _array_of(session: Session, member: JobRecord) -> tuple[JobRecord | None, str]:
    """And which of its members users hold; None where the job is no member, or its array is gone."""
    from hpcbatch.client import listing
    from hpcbatch.client.arrays import held_members
    from hpcbatch.record.batchjob import shown_record

    if member.spec.member_of is None:
        return None, ""
    try:
        obj = listing.get_object(session.api, row_of(member)._replace(object_name=member.spec.member_of.array_name))
    except UnknownJobError:
        return None, ""
    return shown_record(obj), held_members(obj)


def _show_nodes(session: Session, command: ScontrolCommand) -> int:
    from hpcbatch.cli.slurm.common import shown_nodes
    from hpcbatch.client.nodes import cpu_topologies
    from hpcbatch.client.pod_nodes import nodes_of_pods
    from hpcbatch.client.queues import list_queues
    from hpcbatch.dialects.slurm.hostlist import expand
    from hpcbatch.dialects.slurm.scontrol import format_node, not_found
    from hpcbatch.model.cpu_topology import CpuTopology

    known = {node.name: node for node in shown_nodes(session, gres=True)}
    queues = [queue for queue in list_queues(session.api) if not queue.reservation]
    code = 0
    _tell_update(session, command, len(known))
    names = expand(command.operand) if command.operand else list(known)
    nodes = nodes_of_pods(session.api, session.namespace, (name for name in names if name not in known))
    topologies = cpu_topologies(session.api)
    for name in dict.fromkeys(nodes.get(name, name) for name in names):
        if name not in known:
            print(printable(not_found("Node", name).text))
            code = 1
            continue
        text = format_node(
            known[name],
            queues,
            session.zone,
            command.one_line,
            time_format=command.time_format,
            cpus=topologies.get(name, CpuTopology()),
        )
        sys.stdout.write(text)
    return code


def _show_partitions(session: Session, command: ScontrolCommand) -> int:
    from hpcbatch.client.nodes import list_nodes
    from hpcbatch.client.queues import list_queues
    from hpcbatch.dialects.slurm.scontrol import format_partition, not_found

    nodes = list_nodes(session.api, session.namespace)
    queues = list_queues(session.api)
    known = {queue.name: queue for queue in queues if queue.destinations is None and not queue.reservation}
    if command.operand and command.operand not in known:
        raise not_found("Partition", command.operand)
    _tell_update(session, command, len(known))
    for name, queue in known.items():
        if command.operand == name or (not command.operand and (command.shows_hidden or not queue.is_hidden)):
            sys.stdout.write(format_partition(queue, nodes, command.one_line))
    return 0


def _tell_update(session: Session, command: ScontrolCommand, records: int) -> None:
    if command.verbose:
        from hpcbatch.dialects.slurm.scontrol_show import format_update

        sys.stdout.write(format_update(session.now, records, session.zone, command.time_format))


def _ping(session: Session) -> int:
    from hpcbatch.client.queues import list_queues
    from hpcbatch.dialects.slurm.scontrol_show import format_ping

    try:
        list_queues(session.api)
    except UnreachableError:
        sys.stdout.write(format_ping(session.server, up=False))
        return 1
    sys.stdout.write(format_ping(session.server, up=True))
    return 0
