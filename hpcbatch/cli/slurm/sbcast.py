"""`sbcast` on the login node: a file to each host of an allocation."""

from __future__ import annotations

import os
import stat
import sys
from functools import partial
from pathlib import Path
from typing import BinaryIO

from hpcbatch.cli.common import EndedError, Session, run
from hpcbatch.cli.slurm.common import describe
from hpcbatch.errors import NotFoundError

_PIECE = 64 * 1024


def main() -> None:
    run("sbcast", _body, partial(describe, "sbcast"))


def _body(session: Session) -> int:
    from hpcbatch.dialects.slurm.sbcast import read_sbcast

    wanted = read_sbcast(sys.argv[1:], session.environ)
    try:
        with Path(wanted.source).open("rb") as source:
            return _send(session, source, wanted.job_id, wanted.command)
    except OSError as error:
        raise EndedError(f"sbcast: error: Can't open `{wanted.source}`: {error.strerror}", 1) from None


def _send(session: Session, source: BinaryIO, job_id: int, command: tuple[str, ...]) -> int:
    from hpcbatch.api.streams import STATUS, STDIN, exit_code
    from hpcbatch.client.entering import Pod

    found = os.fstat(source.fileno())
    if not stat.S_ISREG(found.st_mode):
        raise EndedError(f"sbcast: error: `{source.name}` is not a regular file", 1)
    pod = Pod(session.api, session.namespace, job_id)
    # its name there: runner/launch/sbcast.sh
    environment = {"HPCBATCH_SBCAST": f"{stat.S_IMODE(found.st_mode):o}:{int(found.st_mtime)}"}
    try:
        stream = pod.step(pod.prepare(session.cwd, environment, command), has_terminal=False)
    except NotFoundError:
        raise EndedError("sbcast: error: Slurm job ID lookup error: Invalid job id specified", 1) from None
    try:
        while piece := source.read(_PIECE):
            stream.send(STDIN, piece)
        stream.end_input()
        for channel, data in stream.messages():
            if channel != STATUS:
                sys.stderr.write(data.decode(errors="backslashreplace"))
        return exit_code(data)
    finally:
        stream.close()
