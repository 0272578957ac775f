"""`squeue`: jobs, as Slurm shows them."""

from __future__ import annotations

import sys
from functools import partial

from hpcbatch.cli.common import EndedError, Session, complain, leave, run
from hpcbatch.cli.slurm.common import check_cluster_names, describe, tell_options
from hpcbatch.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from hpcbatch.dialects.slurm.squeue_options import SqueueOptions
    from hpcbatch.model.row import JobRow


def main() -> None:
    run("squeue", _body, partial(describe, "squeue"))


def _body(session: Session) -> int:
    from hpcbatch.dialects.slurm.squeue_options import PARSER, read_options

    options = read_options(sys.argv[1:], session.environ, session.user)
    tell_options(PARSER, sys.argv[1:])
    check_cluster_names(session, "squeue", options.clusters)
    if options.every_s:
        from hpcbatch.cli.slurm.common import iterate

        return iterate(session, "squeue", options.every_s, lambda: _show(session, options))
    return _show(session, options)


def _show(session: Session, options: SqueueOptions) -> int:
    if options.data:
        return _data(session, options)
    if options.hosts is not None:
        _check_hosts(session, options.hosts)
    from hpcbatch.client import listing
    from hpcbatch.dialects.slurm.columns import complaint

    if options.clusters is not None and not options.no_header:
        from hpcbatch.dialects.slurm.clusters import heading

        sys.stdout.write(heading(session.server))
    if options.steps is not None:
        from hpcbatch.dialects.slurm import squeue_steps

        complain(complaint(squeue_steps.columns_of(options), "squeue: error: Invalid job step"))
        from hpcbatch.client.records import running_records

        rows = listing.list_rows(session.api, session.namespace, finished=False)
        records = running_records(session.api, session.namespace)
        rows = rows if options.shows_hidden else _visible(session, rows)
        sys.stdout.write(squeue_steps.format_steps(rows, records, options, session.now, session.zone))
        return 0
    from hpcbatch.dialects.slurm.squeue import MIN_JOB_AGE, check_ids, columns_of, format_queue, needs_records
    from hpcbatch.dialects.slurm.states import ACTIVE

    columns = columns_of(options)
    complain(complaint(columns, "squeue: error: Invalid job"))
    ended_too = options.states is None or not options.states <= ACTIVE
    if options.ids is not None:
        numbers = [named.number for named in options.ids]
        rows = list(listing.find_all(session.api, session.namespace, numbers).values())
        check_ids(rows, options)
        rows += _members(session, rows, ended_too=ended_too)
    else:
        recent = session.now - MIN_JOB_AGE
        rows = listing.list_rows(session.api, session.namespace, finished=ended_too, since=recent)
    if options.users and not options.every_s:
        _check_users(session, options.users, rows)
    if not options.shows_hidden:
        rows = _visible(session, rows)
    if any(row.components for row in rows):
        rows = _with_components(session, rows)
    wrf = None
    if options.fields is not None and "wrf" in options.fields.lower():
        from hpcbatch.cli.wrf.jobs import Columns

        wrf = Columns(session).value
    detail = _details(session, options) if needs_records(columns) else None
    tiers = _tiers(session) if options.by_partition else {}
    sys.stdout.write(format_queue(rows, options, session.now, session.zone, wrf, detail=detail, tiers=tiers))
    if not options.every_s:
        leave(rows)
    return 0


def _check_users(session: Session, users: frozenset[str], rows: list[JobRow]) -> None:
    """Complain about users that neither this machine nor any of the jobs knows: the others are still listed."""
    for name in sorted(users - {session.user} - {row.user for row in rows}):
        if not name.isdigit():
            from hpcbatch.cli.unix_names import uid_of

            if uid_of(name) is None:
                complain(f"squeue: error: Invalid user: {name}")


def _visible(session: Session, rows: list[JobRow]) -> list[JobRow]:
    """Without jobs whose partitions are all hidden."""
    if not rows:
        return rows
    from hpcbatch.client.queues import hidden_partitions

    if not (hidden := hidden_partitions(session.api)):
        return rows
    return [row for row in rows if not hidden.issuperset((row.queue, *row.other_queues))]


def _details(session: Session, options: SqueueOptions) -> Callable[[JobRow, str], str | None]:
    """The values that it takes the whole records for, of all jobs that may be listed."""
    from hpcbatch.cli.unix_names import group_name
    from hpcbatch.client import records
    from hpcbatch.dialects.slurm.squeue import MIN_JOB_AGE, view_of
    from hpcbatch.dialects.slurm.squeue_details import values

    if options.ids is not None:
        found = records.by_number(session.api, session.namespace, [named.number for named in options.ids])
    else:
        found = list(records.in_window(session.api, session.namespace, session.now - MIN_JOB_AGE))
    if any("het_size" in record.spec.attributes for record in found):
        from hpcbatch.dialects.slurm.component_records import components

        found = [one for record in found for one in components(record)]
    return values(found, view_of(options, session.now, session.zone), group_name)


def _with_components(session: Session, rows: list[JobRow]) -> list[JobRow]:
    """In the place of each heterogeneous job its components, of which its record alone has the sizes."""
    from hpcbatch.client import records
    from hpcbatch.dialects.slurm.component_records import components
    from hpcbatch.record.rows import row_of

    numbers = [row.job_id for row in rows if row.components]
    known = {record.job_id: record for record in records.by_number(session.api, session.namespace, numbers)}
    found: list[JobRow] = []
    for row in rows:
        record = known.get(row.job_id) if row.components else None
        found += [row] if record is None else map(row_of, components(record))
    return found


def _tiers(session: Session) -> dict[str, int]:
    """By which jobs of a partition go before those of others."""
    from hpcbatch.client.queues import list_queues

    return {queue.name: queue.priority_tier for queue in list_queues(session.api)}


def _check_hosts(session: Session, hosts: frozenset[str]) -> None:
    from hpcbatch.client.nodes import list_nodes

    known = {node.name for node in list_nodes(session.api, session.namespace)}
    if unknown := sorted(hosts - known):
        raise EndedError(f"squeue: error: Invalid node name {unknown[0]}", 1)


def _data(session: Session, options: SqueueOptions) -> int:
    from hpcbatch.cli.slurm.scontrol import recent_jobs
    from hpcbatch.cli.unix_names import group_name
    from hpcbatch.dialects.slurm.data import listing
    from hpcbatch.dialects.slurm.squeue_json import job

    shown_jobs = recent_jobs(session, shows_hidden=options.shows_hidden)
    jobs = [job(shown, group_name) for shown in shown_jobs]
    sys.stdout.write(listing("jobs", jobs, as_yaml=options.data == "yaml"))
    return 0


def _members(session: Session, rows: list[JobRow], *, ended_too: bool) -> list[JobRow]:
    """The records of the members of the arrays among `rows`."""
    found: list[JobRow] = []
    for row in rows:
        if row.array_indices:
            from hpcbatch.client.arrays import own_rows

            found += own_rows(session.api, row, ended=ended_too).values()
    known = {row.object_name for row in rows}
    return [row for row in found if row.object_name not in known]
