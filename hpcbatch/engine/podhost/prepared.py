"""What a job's runner would make with a dozen programs, each of which costs more than all of this: its directory in
memory, the environment of pod and submitter as shell text, and its copy of the script. The container's main process
makes it before it becomes the runner, as the user that the runner runs as. What is missing in the end the runner makes
itself (runner/common.sh, script/master.sh).
"""

from __future__ import annotations

import os
import re
import shlex
import time
from collections.abc import Iterator, Mapping
from typing import Final

_ROOT: Final = "/hpcbatch"
_CLOCK_S: Final = 600.0
"""For so long from the container's start the uptime tells the time of day: nobody sets the clock in between."""
_HOSTS_OWN: Final = re.compile(rb"(?:PWD|OLDPWD|SHLVL|_|HPCBATCH_[^=]*|KUBERNETES_[^=]*)=")
_OTHER_JOBS: Final = re.compile(rb"OMPI_PRTERUN=.*/run/job/prterun\Z", re.DOTALL)
_SCRIPT_NAME: Final = re.compile(rb"^script_name=(.*)$", re.MULTILINE)
_WRF: Final = (b"wrf.exe", b"real.exe")


def prepare(environment: Mapping[str, str], memory: str, root: str = _ROOT) -> dict[str, str]:
    """Returns the environment with what the runner reads of this. `memory` is the container's directory in memory."""
    whole = {**environment, "HPCBATCH_PREPARED": "yes", "HPCBATCH_CLOCK": clock()}
    try:
        _make(whole, f"{memory}/job", root)
    except (OSError, ValueError):  # the runner tries it again, and says what is wrong
        return {name: value for name, value in whole.items() if name != "HPCBATCH_PREPARED"}
    return whole


def clock() -> str:
    """`OFFSET UNTIL` in hundredths of a second: time of day less uptime, and the uptime up to which that holds."""
    uptime_s = time.clock_gettime(time.CLOCK_BOOTTIME)
    return f"{round((time.time() - uptime_s) * 100)} {round((uptime_s + _CLOCK_S) * 100)}"


def entries(data: bytes, left_out: re.Pattern[bytes]) -> bytes:
    """NUL-separated NAME=VALUE as `set -- "$@" 'NAME=VALUE'...`, as `entries` of runner/common.sh makes it."""
    return b'set -- "$@"' + b"".join(_quoted(data, left_out)) + b"\n\n"


def _quoted(data: bytes, left_out: re.Pattern[bytes]) -> Iterator[bytes]:
    for entry in data.split(b"\0"):
        if entry.find(b"=") > 0 and not left_out.match(entry):
            yield b" '" + entry.replace(b"'", b"'\\''") + b"'"


def _make(environment: Mapping[str, str], kept: str, root: str) -> None:
    for directory in (kept, f"{kept}/bin", f"{kept}/modules", f"{kept}/modules/init", f"{root}/run/tmp"):
        os.makedirs(directory, 0o700, exist_ok=True)
    own = b"".join(os.fsencode(f"{name}={value}") + b"\0" for name, value in environment.items())
    _write(f"{kept}/pod.env", own)
    _write(f"{kept}/pod.sh", entries(own, _HOSTS_OWN))
    if os.path.exists(f"{root}/job/script"):
        _write(f"{kept}/submitted.sh", entries(_read(f"{root}/job/environment"), _OTHER_JOBS))
        _copy_script(kept, root)
    if not os.path.islink(f"{root}/run/job"):  # of an earlier start of this container
        os.symlink(kept, f"{root}/run/job")


def _copy_script(kept: str, root: str) -> None:
    named = _SCRIPT_NAME.search(_read(f"{root}/job/conf/job.sh"))
    name = shlex.split(os.fsdecode(named[1]))[0] if named else ""
    if not name or "/" in name:
        return
    script = _read(f"{root}/job/script")
    _write(f"{kept}/{name}", script, 0o700)
    _write(f"{kept}/mentions", b" ".join(word for word in _WRF if word in script) + b"\n")


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _write(path: str, data: bytes, mode: int = 0o600) -> None:
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, mode), "wb") as file:
        file.write(data)
