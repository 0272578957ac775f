"""`hpcbatch site survey`."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from hpcbatch.cli.common import Session
from hpcbatch.cli.site import site


@pytest.fixture
def scripts(tmp_path: Path) -> Path:
    below = tmp_path / "scripts" / "deep"
    below.mkdir(parents=True)
    (below / "good.sh").write_text("#!/bin/sh\n#PBS -l ncpus=2\nmodule load gcc/12\n./a\n")
    (below / "queue.sh").write_text("#!/bin/sh\n#SBATCH -p long\n./a\n")
    (below / "bad.sh").write_text("#!/bin/sh\n#SBATCH --time=never\n./a\n")
    (below / "README").write_text("no script\n")
    (below / "large.sh").write_text("#PBS -q long\n" * 100_000)
    (below / "binary").write_bytes(b"#PBS\0")
    os.mkfifo(below / "pipe")
    return tmp_path / "scripts"


def _run(*arguments: str) -> Result:
    return CliRunner().invoke(site, arguments, obj=Session({}), catch_exceptions=False)


def test_counts_and_what_is_missing(scripts: Path) -> None:
    result = _run("survey", str(scripts))
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[1].split() == ["scripts", "3", "100.0", "%", "1", "100.0", "%", "2", "100.0", "%"]
    assert lines[2].split()[:6] == ["run", "as", "they", "are", "1", "33.3"]
    assert "4 other files skipped, 0 not readable" in lines
    assert any(line.split() == ["queue", "long", "refused", "1", "1", "deep/queue.sh:2"] for line in lines)
    assert any(line.endswith("deep/bad.sh:2") for line in lines)
    assert "  unknownQueues: default" in lines


def test_json(scripts: Path) -> None:
    found = json.loads(_run("survey", "--json", str(scripts)).stdout)
    assert (found["scripts"], found["skipped"], found["unreadable"]) == (3, 4, [])
    assert {(each["kind"], each["name"]) for each in found["missing"]} == {
        ("queue", "long"),
        ("module", "gcc/12"),
        ("option", "--time"),
    }


def test_the_written_file_is_right_and_settles_it(scripts: Path, tmp_path: Path) -> None:
    target = tmp_path / "site.yaml"
    assert _run("survey", "--write", str(target), str(scripts)).exit_code == 0
    assert _run("check", str(target)).stdout == f"{target}: ok\n"
    found = json.loads(_run("survey", "--json", "--site", str(target), str(scripts)).stdout)
    assert "queue" not in {each["kind"] for each in found["missing"]}
    again = _run("survey", "--site", str(target), "--write", "-", str(scripts)).stdout
    assert "unknownQueues: default" in again


def test_all_read_as_one_system(scripts: Path) -> None:
    found = json.loads(_run("survey", "--json", "--as", "pbs", str(scripts)).stdout)
    assert found["dialects"].keys() == {"pbs"}


def test_an_empty_directory(tmp_path: Path) -> None:
    assert _run("survey", str(tmp_path)).stdout == "no scripts with #PBS, #SBATCH or #BSUB lines (0 other files)\n"
