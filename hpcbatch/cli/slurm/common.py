"""What the Slurm commands share: how they say an error."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hpcbatch.cli.common import Describe, Session, complain
from hpcbatch.model.text import printable_lines
from hpcbatch.typed import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from hpcbatch.dialects.slurm.getopt import Parser
    from hpcbatch.model.row import NodeRow


def describe(command: str, _session: Session) -> Describe:
    """Slurm's words for what ends the whole command; help and version are answers, not errors."""

    def say(error: Exception) -> tuple[str, int]:
        from hpcbatch.dialects.slurm import errors

        if isinstance(error, errors.SlurmAnswer):
            print(printable_lines(error.text))
            return "", error.code
        return errors.describe(error, command)

    return say


def tell_options(parser: Parser, argv: Sequence[str]) -> None:
    """With -v, all options of a command that takes its operands anywhere."""
    if not any(word.startswith("-") and "v" in word for word in argv):
        return
    from hpcbatch.dialects.slurm import verbose

    given, _ = parser.parse(argv, permute=True)
    if verbose.level(given):
        print(printable_lines(verbose.all_options(parser, given)))


def check_cluster_names(session: Session, command: str, named: str | None) -> None:
    """Those of -M, if it was given: what is no cluster is told. Raises SlurmUsageError without this one."""
    if named is not None:
        from hpcbatch.dialects.slurm.clusters import check_clusters

        complain(check_clusters(named, session.server, command))


def iterate(session: Session, command: str, every_s: int, show: Callable[[], int]) -> NoReturn:
    """Show it again and again, with an empty line behind each time, until a signal ends the command. What fails once
    may go well the next time.
    """
    import gc
    import sys
    import time
    from datetime import UTC, datetime

    from hpcbatch.errors import HpcBatchError

    gc.enable()  # this command lives long
    while True:
        try:
            show()
        except HpcBatchError as error:
            complain(describe(command, session)(error)[0])
        print(flush=True)
        sys.stdout.flush()
        time.sleep(every_s)
        session.now = datetime.now(UTC).astimezone(session.zone)


def shown_nodes(session: Session, *, gres: bool) -> list[NodeRow]:
    """The nodes, with what those are that are reserved now; with `gres` also their generic resources, which takes
    another request.
    """
    from hpcbatch.client.nodes import list_nodes
    from hpcbatch.client.queues import with_gres
    from hpcbatch.client.reservations import in_force, list_reservations, with_reserved

    found = in_force(list_reservations(session.api))
    nodes = list_nodes(session.api, session.namespace)
    return with_reserved(with_gres(session.api, nodes) if gres else nodes, found, session.now)
