"""The tests of Slurm's source tree that are about our commands, and one run of each.

Nothing of the tree is kept here: what it writes, it writes into a copy. Its own exit codes and reports say how a test
went.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path

EXPECT_FAMILIES = {2: "scontrol", 4: "sinfo", 5: "squeue", 6: "scancel", 12: "sacct", 17: "sbatch", 28: "job arrays"}
"""The numbers before the point in the names of expect's tests, and what they are about."""
EXPECT_TESTS = {"3.11": "reservations"}
"""Of the family that is for administrators, which mostly writes slurm.conf."""
PYTHON_FOLDERS = (
    *(f"tests/commands/{name}" for name in ("scontrol", "sinfo", "squeue", "scancel", "sacct", "sbatch")),
    "tests/features/job_arrays",
)
LIMIT_S = 400
SKIPPED_FROM = 128
"""The suite's run-tests takes an exit code this high for a test that was skipped."""


class Outcome(StrEnum):
    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True)
class Result:
    outcome: Outcome
    why: str
    """The first thing that the test complained of, "" where it passed."""


def of_tree(tree: Path, wanted: list[str]) -> list[str]:
    """The tests in the suite's order: `2.1`, `tests/commands/sinfo/test_--help.py`. All, or the wanted ones."""
    numbers = [re.fullmatch(r"test(\d+)\.(\d+)", path.name) for path in (tree / "testsuite/expect").iterdir()]
    pairs = sorted((int(match[1]), int(match[2])) for match in numbers if match)
    names = [f"{family}.{number}" for family, number in pairs if family in EXPECT_FAMILIES]
    names += [name for name in EXPECT_TESTS if (tree / "testsuite/expect" / f"test{name}").exists()]
    python = tree / "testsuite/python"
    names += [
        str(path.relative_to(python))
        for folder in PYTHON_FOLDERS
        for path in sorted(python.glob(f"{folder}/test_*.py"))
    ]
    begins = tuple(f"{word}{end}" for word in wanted for end in ("./" if "." not in word else "/"))
    return [name for name in names if not wanted or name in wanted or name.startswith(begins)]


class Copy:
    """A copy of the tree that the tests may write to, and the installation of Slurm that they are pointed to: the
    folder of our commands.
    """

    def __init__(self, tree: Path, directory: Path, prefix: Path, env: Mapping[str, str]) -> None:
        self.expect = directory / "testsuite/expect"
        self.python = directory / "testsuite/python"
        shutil.copytree(tree / "testsuite", directory / "testsuite", symlinks=True)
        shutil.copy(tree / "META", directory)
        config = directory / "etc"
        config.mkdir()
        shown = subprocess.run(["scontrol", "show", "config"], env=env, capture_output=True, text=True, check=True)
        (config / "slurm.conf").write_text(_slurm_conf(shown.stdout))
        (directory / "testsuite/testsuite.conf").write_text(
            f"SlurmSourceDir={directory}\nSlurmBuildDir={directory}\nSlurmInstallDir={prefix}\nSlurmConfigDir={config}\n"
        )
        (self.expect / "globals.local").write_text(
            f'set slurm_dir "{prefix}"\nset src_dir "{directory}"\nset build_dir "{directory}"\n'
            f'set mpicc "{prefix}/bin/mpicc"\nset max_job_delay 60\nset testsuite_colorize 0\n'
        )
        self._env = {**env, "SLURM_TESTSUITE_CONF": str(directory / "testsuite/testsuite.conf")}

    def run(self, name: str, log: Path) -> Result:
        """Run the test to its end, or for LIMIT_S seconds. Its output is in `log` afterwards."""
        if name.endswith(".py"):
            argv = [str(_python()), "-m", "pytest", "-c", "tox.ini", "-s", "-rA", "-v", "-p", "no:cacheprovider", name]
            directory, judge = self.python, _of_pytest
        else:
            argv, directory, judge = ["expect", f"./test{name}"], self.expect, _of_expect
        with log.open("w", errors="replace") as output:
            process = subprocess.Popen(
                argv,
                cwd=directory,
                env=self._env,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
            try:
                code = process.wait(LIMIT_S)
            except subprocess.TimeoutExpired:
                code = None
            finally:
                _end(process)
        if code is None:
            return Result(Outcome.FAILED, f"not done after {LIMIT_S} s")
        return judge(code, log.read_text(errors="replace"))


def _slurm_conf(shown: str) -> str:
    """What an installation's file says: the parameters that `scontrol show config` has, as far as they have values."""
    known = re.findall(r"^(\w+) += (\S.*?)(?:\(\d+\))?$", shown, re.M)
    return "".join(f"{name}={value}\n" for name, value in known if value not in {"(null)", "N/A"})


@cache
def _python() -> Path:
    """One with the pytest that the suite of that time needs."""
    home = Path(__file__).parents[2] / "build/slurm-suite/python"
    if not (home / "bin/pytest").exists():
        subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
        pip = [str(home / "bin/python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "pytest==7.4.4", "py==1.11.0"], check=True)
    return home / "bin/python"


def _end(process: subprocess.Popen[bytes]) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def _of_expect(code: int, output: str) -> Result:
    if code == 0:
        return Result(Outcome.PASSED, "")
    level = "Warning" if code >= SKIPPED_FROM else "(?:Fatal|Error)"
    found = re.search(rf"^\[[^\]]+\] {level}\s+(.*?)(?: \(.*)?$", output, re.M)
    outcome = Outcome.SKIPPED if code >= SKIPPED_FROM else Outcome.FAILED
    return Result(outcome, found[1] if found else f"exit code {code}")


def _of_pytest(code: int, output: str) -> Result:
    """A file of several tests passed if all did, and was skipped if one was and none failed."""
    counts = re.findall(r"(\d+) (passed|failed|errors?|skipped)", output.rpartition("\n=")[2])
    kinds = {kind for _, kind in counts}
    found = re.search(r"^(?:E  |SKIPPED \[\d+\]|ERROR|FAILED)\s+(.*)$", output, re.M)
    why = found[1] if found else f"exit code {code}"
    if code == 0 and kinds == {"passed"}:
        return Result(Outcome.PASSED, "")
    return Result(Outcome.SKIPPED if code in (0, 5) and "skipped" in kinds else Outcome.FAILED, why)
