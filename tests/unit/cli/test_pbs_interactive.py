"""The question that `qsub -I` asks at Ctrl-C."""

from __future__ import annotations

import contextlib
import io
import os
import select
import signal
from collections.abc import Iterator
from typing import Any

import pytest

from hpcbatch.cli.pbs import interactive


@pytest.fixture
def _handler() -> Iterator[None]:
    before = signal.getsignal(signal.SIGINT)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("_handler")
def test_a_second_one_just_before_the_wait_is_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its handler cannot run between the last look for signals and the system call: something else has to end that."""
    before = signal.set_wakeup_fd(-1)
    terminal, typist = os.pipe()
    waits: list[list[Any]] = []

    def wait(readers: list[Any], *_: object) -> tuple[list[Any], list[Any], list[Any]]:
        with contextlib.suppress(BaseException):
            signal.raise_signal(signal.SIGINT)
        found = select_before(readers, [], [], 5)
        waits.append(found[0])
        os.write(typist, b"y\n")
        monkeypatch.setattr(select, "select", select_before)
        return found

    select_before = select.select
    with os.fdopen(terminal) as stdin, contextlib.redirect_stdout(io.StringIO()):
        monkeypatch.setattr("sys.stdin", stdin)
        monkeypatch.setattr(select, "select", wait)
        with pytest.raises(interactive._StoppedError):
            interactive._ask(signal.SIGINT, None)
    os.close(typist)
    assert len(waits[0]) == 1, "the wait ended, though nothing was typed"
    assert signal.set_wakeup_fd(before) == -1, "it is as it was"
