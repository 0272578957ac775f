"""The way into an allocation's first pod: pods/exec of the one program that users may start there (enter.sh)."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping, Sequence

from hpcbatch.api.streams import STATUS, STDERR, STDOUT, BrokenStreamError, PodStream, Target, exit_code
from hpcbatch.client.request_ids import random_id
from hpcbatch.errors import ApiError, ForbiddenError, HpcBatchError, UnauthorizedError, UnreachableError
from hpcbatch.typed import TYPE_CHECKING, Final, Literal
from hpcbatch.volcano.job_names import script_host

if TYPE_CHECKING:
    from hpcbatch.api.client import HttpApi

Verb = Literal["put", "step", "signal", "show", "release", "live"]
_PROGRAM: Final = ("/bin/sh", "/hpcbatch/runner/enter.sh")
_START_S = 30.0
_PAUSE_S = 0.2


class Pod:
    """The first pod of a job in the user's namespace."""

    def __init__(self, api: HttpApi, namespace: str, job_id: int) -> None:
        self._api, self._namespace, self._name = api, namespace, script_host(job_id)

    def environment(self) -> dict[str, str]:
        """The variables of the allocation. Waits for its pod, which may start a little after its record says so."""
        give_up = time.monotonic() + _START_S
        while True:
            try:
                text = self._run("show", random_id(10))
                break
            except (ForbiddenError, UnauthorizedError):
                raise
            except (ApiError, UnreachableError, BrokenStreamError):
                if time.monotonic() > give_up:
                    raise
                time.sleep(_PAUSE_S)
        pairs = (entry.partition("=") for entry in os.fsdecode(text).split("\0"))
        return {name: value for name, equals, value in pairs if equals}

    def release(self, code: int) -> None:
        """The allocation ends, with that exit code."""
        self._run("release", str(code & 0xFF))

    def prepare(self, directory: str, environment: Mapping[str, str], command: Sequence[str]) -> str:
        """Leave a step there; returns its word for `step`. Raises NotFoundError if there is no such pod."""
        word = random_id(16)
        entries = [f"{name}={value}" for name, value in environment.items()]
        text = b'case $part in\nenvironment)\n directory=%s\n set -- "$@" %s\n ;;\n*) set -- %s ;;\nesac\n' % (
            _quoted([directory]),
            _quoted(entries),
            _quoted(command),
        )
        self._run("put", word, text)
        return word

    def step(self, word: str, *, has_terminal: bool) -> PodStream:
        """Start it; its streams are this connection's."""
        return PodStream(self._api, self._target("step", word, tty=has_terminal))

    def interrupt(self, word: str) -> None:
        """Control-C, where there is no terminal that would make a signal of it."""
        self._run("signal", word)

    def live(self) -> PodStream:
        """A connection with whose end the session on the pod's terminal ends."""
        return PodStream(self._api, self._target("live", random_id(10)))

    def _target(self, verb: Verb, word: str, *, tty: bool = False) -> Target:
        return Target(self._namespace, self._name, "exec", tty=tty, command=(*_PROGRAM, verb, word))

    def _run(self, verb: Verb, word: str, text: bytes = b"") -> bytes:
        """Returns what it prints. Raises HpcBatchError if it fails."""
        stream = PodStream(self._api, self._target(verb, word))
        found = {STDOUT: b"", STDERR: b""}
        try:
            if text:
                stream.send(0, text)
            stream.end_input()
            for channel, data in stream.messages():
                found[channel] = found.get(channel, b"") + data
        finally:
            stream.close()
        if exit_code(found[STATUS]):
            why = " ".join(found[STDERR].decode(errors="replace").split()) or "it does not say why"
            raise HpcBatchError(f"the job's first pod refuses: {why}")
        return found[STDOUT]


def _quoted(words: Iterable[str]) -> bytes:
    """For sh, any bytes but NUL."""
    return b" ".join(b"'" + os.fsencode(word).replace(b"'", b"'\\''") + b"'" for word in words)
