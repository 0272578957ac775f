"""What is prepared for the runner is what the runner itself would make."""

from __future__ import annotations

import os
import re
import subprocess
import time
from pathlib import Path

import pytest

from hpcbatch.engine.podhost.prepared import clock, entries, prepare

RUNNER = Path(__file__).parents[4] / "hpcbatch" / "runner"
NOTHING = re.compile(rb"(?!)")


def sourced(text: bytes, tmp_path: Path) -> list[bytes]:
    """The arguments that a shell has after it."""
    (tmp_path / "text.sh").write_bytes(text)
    script = f"set --; . {tmp_path}/text.sh; [ $# = 0 ] || printf '%s\\0' \"$@\""
    return subprocess.run(["sh", "-c", script], check=True, capture_output=True).stdout.split(b"\0")[:-1]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"A=1\0",
        b"A=it's\0B='\0C=''x'\0",
        b"A=two\nlines\n\0B=\n\0",
        b"A=\xff\xfe\0\xc3\xa9=x\0",
        b"no entry\0=none\0A=b=c\0BASH_FUNC_f%%=() {  echo '$1'\n}\0",
        b"A=last one without an end",
        b'A=$HOME `x` \\ "q" \\\'\0',
    ],
    ids=repr,
)
def test_entries_are_the_runners(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "data").write_bytes(data)
    script = f"root={tmp_path}; . {RUNNER}/common.sh; run={tmp_path}; entries {tmp_path}/data >{tmp_path}/theirs"
    subprocess.run(["sh", "-c", script], check=True)
    ours = sourced(entries(data, NOTHING), tmp_path)
    assert ours == sourced((tmp_path / "theirs").read_bytes(), tmp_path)
    assert ours == [entry for entry in data.split(b"\0") if entry.find(b"=") > 0]


def a_pod(tmp_path: Path, script: bytes = b"#!/bin/sh\ntrue\n") -> Path:
    root = tmp_path / "hpcbatch"
    for name in ("run", "job/conf"):
        (root / name).mkdir(parents=True)
    (root / "job" / "environment").write_bytes(b"A=1\0OMPI_PRTERUN=/x/run/job/prterun\0OMPI_PRTERUN=/x/prterun\0")
    (root / "job" / "script").write_bytes(script)
    (root / "job" / "conf" / "job.sh").write_text("job_id='7'\nscript_name='7.SC'\n")
    return root


def test_a_first_pod(tmp_path: Path) -> None:
    root = a_pod(tmp_path, b"#!/bin/sh\nmpirun ./wrf.exe\n")
    given = {"B": "2", "HPCBATCH_ROOT": "x", "PWD": "/", "KUBERNETES_PORT": "1"}
    for _ in range(2):  # a container may start again
        env = prepare(given, str(tmp_path / "memory"), str(root))
        assert env["HPCBATCH_PREPARED"] == "yes"
    run = root / "run" / "job"
    assert run.resolve() == tmp_path / "memory" / "job"
    assert run.stat().st_mode & 0o777 == 0o700
    assert sourced((run / "pod.sh").read_bytes(), tmp_path) == [b"B=2"]
    assert b"HPCBATCH_ROOT=x" in (run / "pod.env").read_bytes().split(b"\0")
    assert sourced((run / "submitted.sh").read_bytes(), tmp_path) == [b"A=1", b"OMPI_PRTERUN=/x/prterun"]
    assert (run / "7.SC").read_bytes() == (root / "job" / "script").read_bytes()
    assert os.access(run / "7.SC", os.X_OK)
    assert (run / "mentions").read_text() == "wrf.exe\n"
    assert (run / "bin").is_dir()
    assert (run / "modules" / "init").is_dir()
    assert (root / "run" / "tmp").is_dir()


def test_other_pods_have_no_script(tmp_path: Path) -> None:
    (tmp_path / "hpcbatch" / "run").mkdir(parents=True)
    env = prepare({"B": "2"}, str(tmp_path / "memory"), str(tmp_path / "hpcbatch"))
    assert env["HPCBATCH_PREPARED"] == "yes"
    assert not (tmp_path / "hpcbatch" / "run" / "job" / "submitted.sh").exists()


def test_what_cannot_be_prepared_is_left_to_the_runner(tmp_path: Path) -> None:
    root = a_pod(tmp_path)
    (root / "job" / "environment").unlink()
    env = prepare({"B": "2"}, str(tmp_path / "memory"), str(root))
    assert "HPCBATCH_PREPARED" not in env
    assert env["B"] == "2"


@pytest.mark.parametrize("left_s", [600, -1], ids=["in force", "expired"])
def test_the_time_of_day(tmp_path: Path, left_s: int) -> None:
    offset, _ = clock().split()
    until = round((time.clock_gettime(time.CLOCK_BOOTTIME) + left_s) * 100)
    script = f". {RUNNER}/common.sh; time_of_day; echo $today $now"
    env = {**os.environ, "HPCBATCH_CLOCK": f"{offset} {until}"}
    before = time.time()
    told = subprocess.run(["sh", "-c", script], check=True, capture_output=True, text=True, env=env).stdout.split()
    assert int(before) <= int(told[0]) <= int(time.time()) + 1
    assert int(told[1]) > 0
