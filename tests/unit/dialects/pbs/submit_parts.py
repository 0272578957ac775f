"""qsub read from a command line and a script, for the tests of qsub."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

import pytest

from hpcbatch.dialects.pbs.errors import PbsError, describe
from hpcbatch.dialects.pbs.submit import PbsSubmission, read_submission
from hpcbatch.model.spec import JobSpec

NOW = datetime(2026, 11, 21, 14, 30, tzinfo=UTC)
ENVIRON = {
    "HOME": "/home/u",
    "LOGNAME": "u",
    "PATH": "/bin",
    "SHELL": "/bin/bash",
    "LANG": "C",
    "T": "40",
    "C": "a,'b\\",
}


def submit(*argv: str, script: str | bytes = "", environ: Mapping[str, str] = ENVIRON) -> PbsSubmission:
    data = script.encode() if isinstance(script, str) else script

    def read(path: str | None) -> tuple[str | None, bytes]:
        return (None if path is None else f"/data/{path}"), data

    return read_submission(
        argv, script=read, environ=environ, cwd="/data", host="login.site", user="u", server="pbs1", now=NOW
    )


def spec(*argv: str, script: str | bytes = "") -> JobSpec:
    return submit(*argv, script=script).submission.spec


def refusal(*argv: str, script: str | bytes = "") -> tuple[str, int]:
    with pytest.raises(PbsError) as caught:
        submit(*argv, script=script)
    return describe(caught.value, "qsub")
