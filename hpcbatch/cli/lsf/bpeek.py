"""`bpeek`: show the output of a running job, from its files."""

from __future__ import annotations

import os
import sys
from functools import partial

from hpcbatch.cli.common import EndedError, Session, run
from hpcbatch.cli.lsf.common import describe
from hpcbatch.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from hpcbatch.model.row import JobRow

_FAILED = 255
_SIZE = 1 << 16


def main() -> None:
    run("bpeek", _body, partial(describe, "bpeek"))


def _body(session: Session) -> int:
    from hpcbatch.client import records
    from hpcbatch.dialects.lsf.commands import parse
    from hpcbatch.dialects.registry import door
    from hpcbatch.model.chunk import of_each_pod
    from hpcbatch.model.placed import PlacedPod, of_run

    line = parse("bpeek", sys.argv[1:])
    shown, row = _job(session, line.operands, line.value("J"))
    if row.state.is_final:
        raise EndedError(f"Job <{shown}> : Job has already finished", _FAILED)
    if row.start_time is None:
        raise EndedError(f"Job <{shown}> : Not yet started.", _FAILED)
    record = records.exactly(session.api, session.namespace, row.job_id)[-1]
    if record.spec.interactive is not None:
        raise EndedError(f"Job <{shown}> : Job is interactive", _FAILED)
    pods = tuple(
        PlacedPod(host=host.pod, chunk=chunk)
        for host, chunk in zip(record.status.hosts, of_each_pod(record.layout), strict=False)
    )
    output = door(record.spec.dialect).run_setup(of_run(record, pods)).output
    paths = [_present(output.stdout, output.stdout_in_dir, output.stdout_meanwhile)]
    if output.stderr is not None:
        paths.append(_present(output.stderr, output.stderr_in_dir, output.stderr_meanwhile))
    for path, stream in zip(paths, ("stdout", "stderr"), strict=False):
        print(f"<< output from {stream} >>", flush=True)
        _copy(path)
    if "f" in line:
        sys.stdout.flush()
        os.execvp("tail", ["tail", "-n", "0", "-f", paths[0]])  # noqa: S606
    return 0


def _job(session: Session, operands: tuple[str, ...], name: str | None) -> tuple[str, JobRow]:
    """The one named, or else the last job of the user, of that name if one is given."""
    from hpcbatch.cli.lsf.jobs import all_rows, parse_ids, rows_of_ids
    from hpcbatch.dialects.lsf.ids import row_id
    from hpcbatch.dialects.lsf.rows import Choice

    if operands:
        found = rows_of_ids(session, parse_ids(operands[:1]), ended=True)
        if not found:
            raise EndedError("", _FAILED)
    else:
        choice = Choice(user=session.user, name=name)
        found = [row for row in all_rows(session, ended=False) if choice.takes(row) and not row.array_indices]
        if not found:
            raise EndedError("No matching job found", _FAILED)
    return row_id(found[-1]), found[-1]


def _present(path: str, in_dir: str | None, meanwhile: str) -> str:
    """Where the stream is written now."""
    if os.path.isdir(path) and in_dir:  # noqa: PTH112
        path = f"{path.rstrip('/')}/{in_dir}"
    beside = f"{path.rpartition('/')[0]}/{meanwhile}"
    return beside if meanwhile and os.path.exists(beside) else path  # noqa: PTH110


def _copy(path: str) -> None:
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            while part := file.read(_SIZE):
                sys.stdout.buffer.write(part)
                sys.stdout.buffer.flush()
    except OSError as error:
        raise EndedError(f"{path}: {error.strerror}", _FAILED) from None
