"""`qenable`, `qdisable`, `qstart`, `qstop`: whether queues take jobs, and whether their jobs are started."""

from __future__ import annotations

import sys
from functools import partial

from hpcbatch.cli.common import Session, complain, run
from hpcbatch.cli.pbs.common import answered, check_server, describe
from hpcbatch.errors import ForbiddenError, UnknownQueueError


def main() -> None:
    command = sys.argv[0].rpartition("/")[2]
    run(command, partial(_body, command), partial(describe, command))


def _body(command: str, session: Session) -> int:
    if answered(sys.argv[1:]):
        return 0
    from hpcbatch.client.queue_admin import switch_queue
    from hpcbatch.client.queues import list_queues
    from hpcbatch.dialects.pbs.queue_commands import FAILED, SWITCHES, failure, read_destinations
    from hpcbatch.model.queue_names import queue_of

    destinations = read_destinations(command, sys.argv[1:])
    check_server(session, command)
    queues = list_queues(session.api)
    switch = SWITCHES[command]
    code = 0
    for destination in destinations:
        if isinstance(destination, str):
            complain(f"{command}: {destination}")
            code = 1
            continue
        if destination.server:
            check_server(session, command, destination.server)
        try:
            named = queue_of(destination.queue, queues) if destination.queue else None
            if destination.queue and named is None:
                raise UnknownQueueError(destination.queue)
            for queue in queues if named is None else [named]:
                switch_queue(session.api, queue, queues, enabled=switch.enabled, started=switch.started)
        except (UnknownQueueError, ForbiddenError) as error:
            text = failure(error, destination)
            complain("\n".join(f"{command}: {line}" for line in text.split("\n")))
            code = FAILED
    return code
