"""What the PBS commands share: how they say an error, which server they speak to, and the round over job ids."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

from hpcbatch.cli.common import NO_CONNECTION, Describe, EndedError, Session, complain
from hpcbatch.errors import HpcBatchError, JobFinishedError, UnknownJobError
from hpcbatch.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from hpcbatch.api.port import Object
    from hpcbatch.dialects.pbs.requests import HoldOptions
    from hpcbatch.model.indices import Indices
    from hpcbatch.model.named import NamedJob
    from hpcbatch.model.row import JobRow


def describe(command: str, session: Session) -> Describe:
    """PBS's words for what ends the whole command."""

    def say(error: Exception) -> tuple[str, int]:
        from hpcbatch.dialects.pbs import errors

        return errors.describe(error, command, session.server if isinstance(error, NO_CONNECTION) else "")

    return say


def answered(arguments: Sequence[str]) -> bool:
    """Whether the command line is `--version` or `--help` alone, whose answer is printed then."""
    if list(arguments) == ["--version"]:
        from hpcbatch.dialects.pbs import errors, usage

        print(usage.VERSION.format(errors.PBS_VERSION))
        return True
    if list(arguments) == ["--help"]:
        from hpcbatch.dialects.pbs.command_lines import command_lines
        from hpcbatch.model.command_line import help_page

        line = command_lines().get(sys.argv[0].rpartition("/")[2])
        if line is not None:  # a command that is not here says so
            print(help_page(line))
        return line is not None
    return False


def is_other_server(session: Session, name: str) -> bool:
    """Whether that is none of the names of the cluster that the kubeconfig gives; "" is."""
    return bool(name) and _short(name) != _short(session.server)


def check_server(session: Session, command: str, named: str | None = None) -> None:
    """End the command if PBS_DEFAULT, or `named`, is another server than the cluster that the kubeconfig gives."""
    default = session.environ.get("PBS_DEFAULT", "")
    wanted, shown = (default, default) if named is None else (named, session.server)
    if is_other_server(session, wanted):
        from hpcbatch.dialects.pbs.errors import PBSE_INTERNAL

        text = f"Unknown Host.\n{command}: cannot connect to server {shown} (errno={PBSE_INTERNAL})"
        raise EndedError(text, 255)


def for_each_job(
    session: Session,
    command: str,
    operands: Sequence[str],
    act: Callable[[JobRow], Object | None],
    act_on_members: Callable[[JobRow, Indices], Object | None] | None = None,
) -> int:
    """Do something to each job; one bad id does not stop the others. The exit code is that of the last failure.

    What `act` returns is a changed record: before the command ends, the controller has a moment to act on it.
    `act_on_members` is the same for members of the array given; without it they are an invalid request.
    """
    from hpcbatch.dialects.pbs.errors import describe as pbs_describe
    from hpcbatch.dialects.pbs.ids import full_id, invalid_request

    code = 0
    changed: list[Object] = []
    arrays: list[tuple[Object, Indices]] = []
    found = Jobs(session, operands)
    for operand in operands:
        try:
            row, members = found.target(operand)
            if members is None:
                result = act(row)
                if result is not None:
                    changed.append(result)
                continue
            if row.state.is_final:
                raise JobFinishedError(f"job {row.job_id} has finished")
            if act_on_members is None:
                raise invalid_request(full_id(operand, session.server))
            result = act_on_members(row, members)
            if result is not None:
                arrays.append((result, members))
        except NO_CONNECTION:
            raise
        except HpcBatchError as error:
            text, code = pbs_describe(error, command, full_id(operand, session.server))
            complain(text)
    if changed or arrays:
        from hpcbatch.client.watch import settle

        settle(session.api, changed, arrays)
    return code


def change_hold(
    session: Session,
    command: str,
    arguments: Sequence[str],
    parse: Callable[[Sequence[str]], HoldOptions],
    act: Callable[[JobRow, HoldOptions], Object | None],
) -> int:
    """qhold and qrls. `act` raises ForbiddenError for the holds of operators and the system, if they are not the
    caller's to change.
    """
    from hpcbatch.errors import ForbiddenError

    if answered(arguments):
        return 0
    options = parse(arguments)
    check_server(session, command)

    def checked(row: JobRow) -> Object | None:
        if row.state.is_final:
            raise JobFinishedError(f"job {row.job_id} has finished")
        if not options.is_permitted:
            raise ForbiddenError(403, "Forbidden", "a hold for a bad password is the server's")
        return act(row, options) if options.user or options.admin else None

    return for_each_job(session, command, options.job_ids, checked)


class Jobs:
    """The jobs that operands name, fetched together."""

    def __init__(self, session: Session, operands: Sequence[str]) -> None:
        from hpcbatch.client import listing
        from hpcbatch.dialects.pbs.ids import parse_id

        api = session.api  # first of all: where no cluster is known, no job is
        self._named: dict[str, NamedJob | HpcBatchError] = {}
        for operand in operands:
            try:
                self._named[operand] = parse_id(operand, session.server)
            except HpcBatchError as error:
                self._named[operand] = error
        numbers = [named.number for named in self._named.values() if not isinstance(named, HpcBatchError)]
        self._rows = listing.find_all(api, session.namespace, numbers) if numbers else {}

    def target(self, operand: str) -> tuple[JobRow, Indices | None]:
        """The job, or the array and which of its members (None: all of it). Raises what is wrong with the operand, or
        UnknownJobError. As in PBS an array is `12[]`, never `12`, and its members go by their indices alone.
        """
        named = self._named[operand]
        if isinstance(named, HpcBatchError):
            raise named
        row = self._rows.get(named.number)
        if row is None or row.array_id is not None or bool(row.array_indices) != named.is_array:
            raise UnknownJobError(f"Unknown Job Id {operand}")
        return row, named.members


def _short(server: str) -> str:
    return server.partition(":")[0].partition(".")[0].lower()
