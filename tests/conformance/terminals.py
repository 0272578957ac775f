"""A user at a terminal of the login node."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import pexpect

from tests.conformance.site import Site

if TYPE_CHECKING:
    Spawn = pexpect.spawn[str]
else:
    Spawn = pexpect.spawn

LIMIT_S = 60

STOPPABLE = "bash -c 'exec 3<> <(:); trap \"echo on again\" CONT; echo be''gun; while :; do read -rt 0.1 -u 3; done'"
"""A command for Ctrl-Z. It starts nothing: dash does so with vfork, and a child stopped before its exec holds it up."""


_WAITED = re.compile(
    r"^s(?:run|alloc): "
    r"(?:Pending job allocation \d+|job \d+ (?:queued and waiting for|has been allocated) resources)\n",
    re.MULTILINE,
)


def without_waiting(errors: str) -> str:
    """Standard error of srun and salloc without what they say when a job has to wait, as it may on any cluster."""
    return _WAITED.sub("", errors)


class Terminal(Spawn):
    """What a command shows on a terminal of 31 lines and 97 columns, which answers to keys."""

    _asked = 0

    def answer(self, command: str) -> str:
        """What a shell there prints for a command, with plain line ends."""
        self._asked += 1
        first, last = f"<{self._asked}<", f">{self._asked}>"
        # in two halves: the terminal shows what is typed, too
        self.sendline(f"echo '{first[:2]}''{first[2:]}'; {command}; echo '{last[:2]}''{last[2:]}'")
        self.expect_exact(f"{first}\r\n")
        self.expect_exact(f"{last}\r\n")
        return str(self.before).replace("\r\n", "\n")

    def found(self, pattern: str) -> str:
        """Waits for it; returns its first group."""
        self.expect(pattern)
        assert isinstance(self.match, re.Match)
        return str(self.match[1])

    def interrupt_twice(self, said: str) -> None:
        """Ctrl-C until a second one has come within a second of the first, by which srun says `said`: on a busy machine
        the answer to the first may have come too late for that.
        """
        once = re.escape("srun: interrupt (one more within 1 sec to abort)")
        self.sendcontrol("c")
        self.expect(once)
        for _ in range(20):
            self.sendcontrol("c")
            if self.expect([re.escape(said), once]) == 0:
                return
        raise AssertionError(f"interrupted 20 times, and not told: {said}")

    def hang_up(self) -> None:
        """As when a window is closed: what it held gets SIGHUP, and time to act on it."""
        with suppress(pexpect.ExceptionPexpect):  # it may take its time
            self.close(force=False)

    def code(self) -> int:
        """The exit code of the command, which ends now."""
        self.expect(pexpect.EOF)
        self.close()
        assert self.exitstatus is not None, f"ended by signal {self.signalstatus}"
        return self.exitstatus


@contextmanager
def terminal(site: Site, *argv: str, env: Mapping[str, str] | None = None) -> Iterator[Terminal]:
    words = site.command(*argv)
    started = Terminal(
        words[0],
        words[1:],
        cwd=str(site.work),
        env={**site.env, "TERM": "xterm", **(env or {})},
        encoding="utf-8",
        timeout=LIMIT_S,
        dimensions=(31, 97),
    )
    started.delaybeforesend = None
    try:
        yield started
    finally:
        started.close(force=True)
