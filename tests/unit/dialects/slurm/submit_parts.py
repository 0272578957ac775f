"""sbatch read from a command line and a script, for the tests of sbatch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from hpcbatch.dialects.slurm.submit import SlurmSubmission, read_submission
from hpcbatch.model.spec import JobSpec

NOW = datetime(2026, 11, 21, 12, 3, 15, tzinfo=UTC)
PLAIN = "#!/bin/bash\nsleep 1\n"
ENVIRON = {"HOME": "/home/u", "PATH": "/bin", "FOO": "1", "SLURM_CONF": "/etc/x"}


def submit(
    *argv: str,
    script: str | bytes = PLAIN,
    environ: Mapping[str, str] = ENVIRON,
    name: str = "job.sh",
    **more: Any,
) -> SlurmSubmission:
    content = script.encode() if isinstance(script, str) else script
    words = list(argv) if any(w.startswith("--wrap") for w in argv) else [*argv, name]
    return read(words, content, environ, **more)


def read(words: Sequence[str], content: bytes, environ: Mapping[str, str] = ENVIRON, **more: Any) -> SlurmSubmission:
    return read_submission(
        words,
        script=lambda path: (None if path is None else f"/work dir/{path}", content),
        environ=environ,
        cwd="/work dir",
        host="login",
        user="u",
        server="cluster",
        now=NOW,
        umask=0o22,
        **more,
    )


def spec(*argv: str, **kwargs: object) -> JobSpec:
    return submit(*argv, **kwargs).submission.spec  # type: ignore[arg-type]


def directives(*lines: str) -> str:
    return "".join(f"{line}\n" for line in ("#!/bin/bash", *(f"#SBATCH {line}" for line in lines), "sleep 1"))
