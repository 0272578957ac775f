"""What the PBS commands share: how they say an error, which server they speak to, and the round over job ids."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from hpcbatch.cli.common import Describe, EndedError, Session, complain
from hpcbatch.errors import HpcBatchError, UnauthorizedError, UnknownJobError, UnreachableError

if TYPE_CHECKING:
    from hpcbatch.api.port import Object
    from hpcbatch.model.row import JobRow
    from hpcbatch.pbs.requests import HoldOptions

NO_CONNECTION = (UnreachableError, UnauthorizedError)
"""What ends a command at once, however many jobs it was to look at."""
_PBSE_INTERNAL = 15008  # what the real commands print for a server whose host is not known


def describe(command: str, session: Session) -> Describe:
    """PBS's words for what ends the whole command."""

    def say(error: Exception) -> tuple[str, int]:
        from hpcbatch.pbs import errors

        return errors.describe(error, command, session.server if isinstance(error, NO_CONNECTION) else "")

    return say


def printed_version(arguments: Sequence[str]) -> bool:
    """Whether the command line asked for the version, which is printed then."""
    from hpcbatch.pbs import errors, options, usage

    if not options.wants_version(arguments):
        return False
    print(usage.VERSION.format(errors.PBS_VERSION))
    return True


def check_server(session: Session, command: str, named: str | None = None) -> None:
    """End the command if PBS_DEFAULT, or `named`, is another server than the cluster that the kubeconfig gives."""
    default = session.environ.get("PBS_DEFAULT", "")
    wanted, shown = (default, default) if named is None else (named, session.server)
    if wanted and _short(wanted) != _short(session.server):
        text = f"Unknown Host.\n{command}: cannot connect to server {shown} (errno={_PBSE_INTERNAL})"
        raise EndedError(text, 255)


def for_each_job(
    session: Session, command: str, operands: Sequence[str], act: Callable[[JobRow], Object | None]
) -> int:
    """Do something to each job; one bad id does not stop the others. The exit code is that of the last failure.

    What `act` returns is a changed record: before the command ends, the controller has a moment to act on it.
    """
    from hpcbatch import jobs
    from hpcbatch.pbs.errors import describe as pbs_describe
    from hpcbatch.pbs.ids import full_id

    code = 0
    changed: list[Object] = []
    found = Jobs(session, operands)
    for operand in operands:
        try:
            result = act(found.row(operand))
            if result is not None:
                changed.append(result)
        except NO_CONNECTION:
            raise
        except HpcBatchError as error:
            text, code = pbs_describe(error, command, full_id(operand, session.server))
            complain(text)
    if changed:
        jobs.settle(session.api, changed)
    return code


def change_hold(
    session: Session,
    command: str,
    arguments: Sequence[str],
    parse: Callable[[Sequence[str]], HoldOptions],
    act: Callable[[JobRow], Object],
) -> int:
    """qhold and qrls. Holds other than the user's own are the operator's, whom we do not have."""
    from hpcbatch.errors import ForbiddenError, JobFinishedError

    if printed_version(arguments):
        return 0
    options = parse(arguments)
    check_server(session, command)

    def checked(row: JobRow) -> Object | None:
        if row.state.is_final:
            raise JobFinishedError(f"job {row.job_id} has finished")
        if not options.is_permitted:
            raise ForbiddenError(403, "Forbidden", "only user holds can be set or taken off")
        return act(row) if options.has_effect else None

    return for_each_job(session, command, options.job_ids, checked)


class Jobs:
    """The jobs that operands name, fetched together."""

    def __init__(self, session: Session, operands: Sequence[str]) -> None:
        from hpcbatch import jobs
        from hpcbatch.pbs.ids import parse_id

        self._numbers: dict[str, int | HpcBatchError] = {}
        for operand in operands:
            try:
                self._numbers[operand] = parse_id(operand, session.server)
            except HpcBatchError as error:
                self._numbers[operand] = error
        numbers = [number for number in self._numbers.values() if isinstance(number, int)]
        self._rows = jobs.find_all(session.api, session.namespace, numbers) if numbers else {}

    def row(self, operand: str) -> JobRow:
        """Raises what is wrong with the operand, or UnknownJobError."""
        number = self._numbers[operand]
        if isinstance(number, HpcBatchError):
            raise number
        if number not in self._rows:
            raise UnknownJobError(f"Unknown Job Id {operand}")
        return self._rows[number]


def _short(server: str) -> str:
    return server.partition(":")[0].partition(".")[0].lower()
