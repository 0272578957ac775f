"""`qstat`: jobs, queues and the server, as PBS shows them."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial

from hpcbatch.cli.common import NO_CONNECTION, Session, complain, leave, run
from hpcbatch.cli.pbs.common import Jobs, answered, check_server, describe
from hpcbatch.errors import HpcBatchError, JobFinishedError, UnknownQueueError
from hpcbatch.record.rows import Rows
from hpcbatch.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from hpcbatch.api.port import Object
    from hpcbatch.dialects.pbs.qstat_full import Attributes
    from hpcbatch.dialects.pbs.qstat_options import QstatOptions
    from hpcbatch.model.indices import Indices
    from hpcbatch.model.record import JobRecord
    from hpcbatch.model.row import JobRow, QueueRow

_HEADING = "Job Id"


def main() -> None:
    run("qstat", _body, partial(describe, "qstat"))


def _body(session: Session) -> int:
    if answered(sys.argv[1:]):
        return 0
    from hpcbatch.dialects.pbs.qstat_options import About, parse_qstat

    options = parse_qstat(sys.argv[1:])
    check_server(session, "qstat")
    if options.about is About.JOBS:
        return _Listing(session, options).show()
    if options.about is About.SERVERS:
        return _show_server(session, options)
    return _show_queues(session, options)


class _Listing:
    """Jobs, by operands or all."""

    def __init__(self, session: Session, options: QstatOptions) -> None:
        self._session, self._options = session, options
        self._code = 0
        self._all: list[JobRow] | None = None
        self._living: set[int] = set()
        """Numbers of the arrays seen that have not ended."""

    def show(self) -> int:
        if self._options.full and not self._options.is_alternate:
            self._show_full()
            return self._code
        from hpcbatch.dialects.pbs.qstat_choice import chosen

        for index, group in enumerate(self._groups()):
            # The heading belongs to the first operand: if that is bad there is none (recorded).
            self._show_table(chosen(group or [], self._options), header=index == 0)
        return self._code

    def _groups(self) -> list[list[JobRow] | None]:
        """The jobs of each operand; None for a bad one, which has been reported."""
        operands = self._options.operands
        if not operands:
            return [self._unfolded(self._everything(), is_filtered=self._options.is_filtered)]
        from hpcbatch.dialects.pbs.errors import describe as pbs_describe
        from hpcbatch.dialects.pbs.ids import full_id, is_id

        ids = [operand for operand in operands if is_id(operand)]
        for operand in ids:
            if named := operand.partition("@")[2]:
                check_server(self._session, "qstat", named)
        named_jobs = Jobs(self._session, ids)
        groups: list[list[JobRow] | None] = []
        for operand in operands:
            try:
                if is_id(operand):
                    groups.append(self._named(*named_jobs.target(operand)))
                else:
                    groups.append(self._unfolded(self._destination(operand), is_filtered=True))
            except NO_CONNECTION:
                raise
            except HpcBatchError as error:
                name = full_id(operand, self._session.server) if is_id(operand) else operand.partition("@")[0]
                text, self._code = pbs_describe(error, "qstat", name)
                complain(text)
                groups.append(None)
        return groups

    def _named(self, row: JobRow, members: Indices | None) -> list[JobRow]:
        """The rows of one id."""
        if row.state.is_final and not self._options.history:
            raise JobFinishedError(f"job {row.job_id} has finished")
        if members is None and not (row.array_indices and self._options.subjobs):
            return [row]
        from hpcbatch.client.arrays import own_rows
        from hpcbatch.dialects.pbs.array_requests import check_known
        from hpcbatch.model.members import rows_of

        if not row.state.is_final:
            self._living.add(row.job_id)
        if members is not None:
            check_known(row, members)
        own = own_rows(self._session.api, row, members)
        found = rows_of(row, own, members)
        return list(found) if members is not None else [row, *found]

    def _unfolded(self, rows: Sequence[JobRow], *, is_filtered: bool) -> list[JobRow]:
        from hpcbatch.dialects.pbs.qstat_choice import living, unfolded

        if self._options.subjobs:
            self._living |= living(rows)
        return unfolded(rows, self._options, is_filtered=is_filtered)

    def _destination(self, operand: str) -> list[JobRow]:
        """The jobs of `queue`, `queue@server` or `@server`."""
        queue, _, server = operand.partition("@")
        if server:
            check_server(self._session, "qstat", server)
        if not queue:
            return self._everything()
        rows = [row for row in self._everything() if row.queue == queue]
        if not rows:
            from hpcbatch.client.queues import queue_called

            name = queue_called(self._session.api, queue)
            rows = [row for row in self._everything() if row.queue == name]
        return rows

    def _everything(self) -> list[JobRow]:
        from hpcbatch.client import listing

        if self._all is None:
            session, options = self._session, self._options
            if options.subjobs and not options.history:
                # members that have ended are shown for as long as their array has not
                self._all = listing.list_present_rows(session.api, session.namespace)
            else:
                self._all = listing.list_rows(
                    session.api, session.namespace, finished=options.history, members=options.subjobs
                )
        return self._all

    def _show_table(self, rows: list[JobRow], *, header: bool) -> None:
        from hpcbatch.dialects.pbs.qstat import format_alternate, format_default

        options, now = self._options, self._session.now
        if not options.is_alternate:
            text = format_default(
                rows,
                wide=options.wide,
                header=header,
                percent=options.percent,
                now=now,
                living=self._living,
            )
        else:
            text = format_alternate(
                rows,
                server=self._session.server,
                now=now,
                nodes=options.nodes,
                comments=options.comments,
                one_line=options.one_line,
                wide=options.wide,
                estimates=options.estimates,
                gigabytes=options.gigabytes,
                megawords=options.megawords,
                header=header,
                timezone=self._session.zone,
                living=self._living,
            )
        sys.stdout.write(text)
        leave(self._all, rows)

    def _show_full(self) -> None:
        from hpcbatch.client import listing
        from hpcbatch.dialects.pbs.ids import row_id
        from hpcbatch.dialects.pbs.qstat_choice import chosen
        from hpcbatch.dialects.pbs.qstat_options import Format
        from hpcbatch.model.members import by_array

        session, options = self._session, self._options
        attributes = _Attributes(session)
        if options.operands:
            rows = [row for group in self._groups() for row in chosen(group or [], self._options)]
        else:
            if options.history:
                every = listing.in_order(listing.iter_ended(session.api, session.namespace, include_unfinished=True))
            else:
                every = listing.list_objects(session.api, session.namespace, finished=options.subjobs)
            self._all = [attributes.add(obj).row for obj in every]
            attributes.members = by_array(self._all)
            rows = chosen(self._groups()[0] or [], options)
            attributes.read_environments(dict.fromkeys(row.object_name for row in rows))
        attributes.living = frozenset(self._living)
        if options.format is Format.DEFAULT:
            sys.stdout.write("".join(attributes.texts(rows, wide=options.wide)))
        else:
            shown = ((row_id(row), attributes.of(row)) for row in rows)
            sys.stdout.write(_formatted(session, options, shown, heading=_HEADING, key="Jobs"))
        leave(attributes, rows)


class _Known(NamedTuple):
    obj: Object
    record: JobRecord
    row: JobRow


class _Attributes:
    """What qstat -f shows of jobs."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.members: dict[int, dict[int, JobRow]] | None = None
        """The rows of arrays' members; None: those of each array are requested."""
        self.living: frozenset[int] = frozenset()
        self._rows = Rows()
        self._known: dict[str, _Known] = {}
        """By the BatchJob's name."""
        self._environments: Mapping[str, dict[str, str] | None] | None = None
        """None: each is requested."""
        self._arrays: dict[int, Attributes] = {}
        self._has_eligible_time: bool | None = None

    def add(self, obj: Object) -> _Known:
        from hpcbatch.record.batchjob import shown_record

        record = shown_record(obj)
        known = self._known[record.object_name] = _Known(obj, record, self._rows.of(record))
        return known

    def read_environments(self, names: Iterable[str]) -> None:
        """At once those of the jobs of these names."""
        from hpcbatch.client import listing

        self._environments = listing.environments_of(self._session.api, (self._known[name].obj for name in names))

    def texts(self, rows: Iterable[JobRow], *, wide: bool) -> Iterator[str]:
        """Those of each as text."""
        from hpcbatch.dialects.pbs.ids import row_id
        from hpcbatch.dialects.pbs.qstat_alike import FullTexts
        from hpcbatch.dialects.pbs.qstat_full import format_full
        from hpcbatch.model.members import is_made_up

        alike = FullTexts(wide=wide)
        for row in rows:
            heading = f"{_HEADING}: {row_id(row)}"
            if is_made_up(row):
                yield format_full(heading, self.of(row), wide=wide)
            else:
                known = self._whole(row)
                environment = self._environment(known)
                yield alike.of(heading, known.record, environment, partial(self._full, known, environment))

    def of(self, row: JobRow) -> Attributes:
        from hpcbatch.dialects.pbs.array_attributes import member_attributes
        from hpcbatch.model.members import is_made_up

        if not is_made_up(row):
            known = self._whole(row)
            return self._full(known, self._environment(known))
        if row.job_id not in self._arrays:
            array = self._whole(row)
            self._arrays[row.job_id] = self._full(array, self._environment(array))
        return member_attributes(self._arrays[row.job_id], row, self.living)

    def _whole(self, row: JobRow) -> _Known:
        """The row's record, which for a made-up member is its array's."""
        from hpcbatch.client import listing

        return self._known.get(row.object_name) or self.add(listing.get_object(self._session.api, row))

    def _environment(self, known: _Known) -> Mapping[str, str] | None:
        from hpcbatch.client import listing

        if self._environments is None:
            return listing.environment_of(self._session.api, known.obj)
        return self._environments.get(known.record.object_name)

    def _full(self, known: _Known, environment: Mapping[str, str] | None) -> Attributes:
        from hpcbatch.dialects.pbs.qstat_full import full_attributes

        session = self._session
        _, record, own_row = known
        own: dict[int, JobRow] = {}
        if record.status.array is not None:
            if self.members is not None:
                own = self.members.get(record.job_id, {})
            elif record.status.array.active:
                from hpcbatch.client.arrays import own_rows

                own = own_rows(session.api, own_row, ended=False)
        if self._has_eligible_time is None:
            from hpcbatch.client.queues import read_priority

            self._has_eligible_time = read_priority(session.api).has_eligible_time
        return full_attributes(
            record,
            environment,
            session.now,
            session.zone,
            row=own_row,
            own=own,
            living=self.living,
            has_eligible_time=self._has_eligible_time,
        )


def _formatted(
    session: Session,
    options: QstatOptions,
    shown: Iterable[tuple[str, Attributes]],
    *,
    heading: str,
    key: str,
) -> str:
    from hpcbatch.dialects.pbs.qstat_full import format_dsv, format_full, format_json
    from hpcbatch.dialects.pbs.qstat_options import Format

    if options.format is Format.JSON:
        return format_json(dict(shown), now=session.now, server=session.server, key=key)
    if options.format is Format.DSV:
        parts = (format_dsv(f"{heading}: {n}", a, delimiter=options.delimiter) for n, a in shown)
    else:
        parts = (format_full(f"{heading}: {name}", attributes, wide=options.wide) for name, attributes in shown)
    return "".join(parts)


def _show_queues(session: Session, options: QstatOptions) -> int:
    """`qstat -Q` and `-q`."""
    from hpcbatch.client import listing
    from hpcbatch.client.queues import list_queues
    from hpcbatch.dialects.pbs.errors import describe as pbs_describe
    from hpcbatch.dialects.pbs.qstat_queues import count_by_queue, format_limits, format_queues, queue_attributes

    rows = listing.list_rows(session.api, session.namespace, finished=False)
    known = {queue.name: queue for queue in list_queues(session.api)}
    shown: list[QueueRow] = []
    code = 0
    for operand in options.operands or ("@",):
        name, _, server = operand.partition("@")
        if server:
            check_server(session, "qstat", server)
        if not name:
            shown += known.values()
        elif name in known:
            shown.append(known[name])
        else:
            text, code = pbs_describe(UnknownQueueError(name), "qstat", name)
            complain(text)
    counts = count_by_queue(rows, known)
    if options.queue_limits:
        text = format_limits(
            shown, counts, server=session.server, gigabytes=options.gigabytes, megawords=options.megawords
        )
        sys.stdout.write(text)
    elif options.full:
        from hpcbatch.cli.pbs.qmgr_limits import with_limits

        attributes = {queue.name: queue_attributes(queue, counts[queue.name]) for queue in shown}
        attributes = with_limits(session, attributes, of_server=False)
        sys.stdout.write(_formatted(session, options, attributes.items(), heading="Queue", key="Queue"))
    else:
        sys.stdout.write(format_queues(shown, counts))
    return code


def _show_server(session: Session, options: QstatOptions) -> int:
    """`qstat -B`; operands are names of servers."""
    from hpcbatch.cli.pbs.cluster import is_idle, server_count, server_objects
    from hpcbatch.client.queues import list_queues
    from hpcbatch.dialects.pbs.qstat_queues import format_server

    for operand in options.operands:
        check_server(session, "qstat", operand.removeprefix("@"))
    if not options.full:
        idle = is_idle(list_queues(session.api))
        sys.stdout.write(format_server(session.server, server_count(session), is_idle=idle))
        return 0
    sys.stdout.write(_formatted(session, options, server_objects(session).items(), heading="Server", key="Server"))
    return 0
