"""`sacct`: what became of jobs, as Slurm's accounting shows it."""

from __future__ import annotations

import sys
from functools import partial

from hpcbatch.cli.common import Session, complain, run
from hpcbatch.cli.slurm.common import describe
from hpcbatch.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hpcbatch.dialects.slurm.sacct_line import Line
    from hpcbatch.dialects.slurm.sacct_options import SacctOptions
    from hpcbatch.model.record import JobRecord


def main() -> None:
    run("sacct", _body, partial(describe, "sacct"))


def _body(session: Session) -> int:
    from hpcbatch.dialects.slurm.sacct_options import read_options

    options = read_options(sys.argv[1:], session.environ, session.user, session.now)
    from hpcbatch.cli.unix_names import group_name, uid_of
    from hpcbatch.dialects.slurm.sacct import Facts, format_lines, select_lines
    from hpcbatch.dialects.slurm.sacct_line import View

    _check_users(session, options)
    if options.is_verbose:  # the first line of the real one
        complain("sacct: accounting_storage/slurmdbd: init: Accounting storage SLURMDBD plugin loaded")
    if options.hosts:
        from hpcbatch.client.pod_nodes import nodes_of_pods

        nodes = nodes_of_pods(session.api, session.namespace, options.hosts)
        options = options._replace(hosts=frozenset(nodes.get(name, name) for name in options.hosts))
    lines = select_lines(_records(session, options), options, Facts(session.now, uid_of, group_name))
    if options.data:
        from hpcbatch.dialects.slurm.sacct_json import format_json

        sys.stdout.write(format_json(lines, group_name, as_yaml=options.data == "yaml"))
        return 0
    if options.text:
        _write_texts(session, options, lines)
        return 0
    view = View(
        now=session.now,
        tz=session.zone,
        time_format=options.time_format,
        unit=options.unit,
        convert=options.convert,
        group_name=group_name,
    )
    sys.stdout.writelines(format_lines(lines, options, view))
    return 0


def _records(session: Session, options: SacctOptions) -> Iterable[JobRecord]:
    """A few more jobs than are requested, which are sorted out later, never one too few."""
    from hpcbatch.client.records import by_number, in_window

    if options.jobs:
        return by_number(session.api, session.namespace, {job.number for job in options.jobs})
    users = options.users or frozenset()
    has_numbers = any(user.isdigit() for user in users)  # only the records themselves tell whose they are
    return in_window(session.api, session.namespace, options.start, () if has_numbers else users)


def _check_users(session: Session, options: SacctOptions) -> None:
    """Raise SlurmUsageError for a user that this machine does not know."""
    from hpcbatch.cli.unix_names import uid_of
    from hpcbatch.dialects.slurm.errors import SlurmUsageError

    for name in sorted(options.users or ()):
        if not name.isdigit() and name != session.user and uid_of(name) is None:
            raise SlurmUsageError(f"sacct: error: Invalid user id: {name}")


def _write_texts(session: Session, options: SacctOptions, lines: Iterable[Line]) -> None:
    """The scripts as they were submitted, as long as they are kept: of a job that may run again until it moves to the
    history. Environments are not shown.
    """
    from hpcbatch.client.records import submitted_script
    from hpcbatch.dialects.slurm.sacct import NO_TEXT, text_heading

    for line in lines:
        if not line.is_step:
            is_script = options.text == "script"
            text = submitted_script(session.api, line.record) if is_script else b""
            sys.stdout.write(text_heading(line, options))
            sys.stdout.flush()
            sys.stdout.buffer.write((text or NO_TEXT) + b"\n")
