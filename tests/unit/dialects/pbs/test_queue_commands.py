"""qenable, qdisable, qstart, qstop."""

from __future__ import annotations

import pytest

from hpcbatch.cli import module_of
from hpcbatch.dialects.pbs.errors import PbsUsageError
from hpcbatch.dialects.pbs.queue_commands import SWITCHES, Destination, failure, read_destinations
from hpcbatch.errors import ForbiddenError, UnknownQueueError


def test_destinations() -> None:
    assert read_destinations("qstop", ["a", "a@s", "@s", "a@", "@", "-x"]) == [
        Destination("a", ""),
        Destination("a", "s"),
        Destination("", "s"),
        "illegally formed destination: a@",
        "illegally formed destination: @",
        "illegally formed destination: -x",
    ]


@pytest.mark.parametrize("command", SWITCHES)
def test_usage(command: str) -> None:
    with pytest.raises(PbsUsageError) as caught:
        read_destinations(command, [])
    assert caught.value.code == 1
    assert caught.value.usage == f"Usage: {command} [queue][@server] ...\n       {command} --version"
    assert module_of(command) == "hpcbatch.cli.pbs.queue_switch"


def test_failures() -> None:
    one = Destination("a", "s")
    assert failure(UnknownQueueError("a"), one) == "Unknown queue a@s"
    assert failure(ForbiddenError(403, "Forbidden", "no\nway"), one) == "Unauthorized Request  a@s\nno way"
