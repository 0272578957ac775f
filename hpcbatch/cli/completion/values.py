"""`hpcbatch complete job|queue|node pbs|slurm`: what a completion requests when a key is pressed, a line each, with a
tab and a description behind where there is one. It says nothing where it has no answer within a second, or within
the seconds of HPCBATCH_COMPLETION_WAIT.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator

from hpcbatch.cli.common import Session
from hpcbatch.typed import NoReturn

_LONGEST_S = 1.0
_WAIT = "HPCBATCH_COMPLETION_WAIT"


def main() -> NoReturn:
    """Everything that goes wrong ends here: who presses a key wants no message."""
    signal.signal(signal.SIGALRM, lambda *_: os._exit(1))
    signal.setitimer(signal.ITIMER_REAL, _LONGEST_S)
    try:
        if _WAIT in os.environ:
            signal.setitimer(signal.ITIMER_REAL, float(os.environ[_WAIT]))
        _, _, kind, dialect = sys.argv
        text = "".join(f"{line}\n" for line in _values(Session(os.environ), kind, dialect))
        sys.stdout.write(text)
        sys.stdout.flush()
    except BaseException:
        os._exit(1)
    os._exit(0)


def _values(session: Session, kind: str, dialect: str) -> Iterator[str]:
    if kind == "job":
        yield from _jobs(session, dialect)
    elif kind == "queue":
        from hpcbatch.client.queues import list_queues

        yield from (queue.name for queue in list_queues(session.api))
    elif kind == "node":
        from hpcbatch.client.nodes import list_nodes

        yield from (node.name for node in list_nodes(session.api, session.namespace))


def _jobs(session: Session, dialect: str) -> Iterator[str]:
    """One's own jobs that have not ended, the newest first; root's are all. `dialect` is that of the command."""
    from hpcbatch.client import listing

    user = "" if os.getuid() == 0 else session.user
    for row in reversed(listing.list_rows(session.api, session.namespace, finished=False)):
        if row.array_id is None and user in ("", row.user):
            name = f"{row.job_id}[]" if row.array_indices and dialect == "pbs" else str(row.job_id)
            yield f"{name}\t{row.name} {row.state.lower()}"
