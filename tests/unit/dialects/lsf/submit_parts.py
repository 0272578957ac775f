"""What the tests of bsub share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from hpcbatch.dialects.lsf.submit import LsfSubmission, read_submission
from hpcbatch.model.outcome import Outcome
from hpcbatch.model.spec import JobSpec

NOW = datetime(2026, 11, 21, 12, 30, tzinfo=UTC)
NAMED = {"prep": [7], "wave*": [8, 9]}


def submission(
    *argv: str,
    script: str = "#!/bin/sh\ntrue\n",
    files: Mapping[str, bytes] | None = None,
    environ: Mapping[str, str] | None = None,
    outcomes: list[Outcome] | None = None,
) -> LsfSubmission:
    def read(path: str | None) -> tuple[str | None, bytes]:
        if path is None:
            return None, script.encode()
        if path not in (files or {}):
            raise FileNotFoundError(path)
        return f"/work/{path}", (files or {})[path]

    def lookup(name: str) -> Sequence[int]:
        return NAMED.get(name, [])

    return read_submission(
        argv,
        script=read,
        environ={"USER": "u", "LSB_JOBID": "4"} if environ is None else environ,
        cwd="/work",
        host="login",
        user="u",
        server="cluster",
        now=NOW,
        outcomes=outcomes,
        lookup=lookup,
        limits={"core": 0, "stack": -1},
    )


def spec(*argv: str, script: str = "#!/bin/sh\ntrue\n", environ: Mapping[str, str] | None = None) -> JobSpec:
    return submission(*argv, script=script, environ=environ).submission.spec
