"""Asks the runner's judge how a run of WRF ended: `awk -f wrf.awk` on its logs, as it is done in the job's pod."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import BinaryIO

from hpcbatch.errors import HpcBatchError
from hpcbatch.wrf.verdict import Verdict, read_answer


def judge(folder: Path, logs: Sequence[BinaryIO], others: Sequence[str], *, wants_history: bool) -> Verdict:
    """`logs`: rank 0's, rsl.error.0000 first; open, since a script may have moved them. `others`: names in `folder`.
    Raises HpcBatchError where that cannot be done.
    """
    program = f"{files('hpcbatch.runner') / 'wrf'}"
    for log in logs:
        log.seek(0)  # some awks go on where the file is
    numbers = [log.fileno() for log in logs]
    names = [f"/dev/fd/{number}" for number in numbers] or [os.devnull]
    argv = ["awk", "-v", f"wants_history={int(wants_history)}", "-v", f"logs={len(names)}", "-f", f"{program}/wrf.awk"]
    try:
        done = subprocess.run(
            [*argv, *names, *(f"./{name}" for name in others)],
            env={**os.environ, "LC_ALL": "C", "wrf_lines": f"{program}/wrf_lines.txt", "launcher_words": ""},
            cwd=folder if others else None,
            pass_fds=numbers,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
    except OSError as error:
        raise HpcBatchError(f"cannot judge the run: awk: {error.strerror}") from None
    if done.returncode:
        raise HpcBatchError(f"cannot judge the run: {done.stderr.decode(errors='replace').strip()}")
    return read_answer(done.stdout.decode("ascii", "replace"))
