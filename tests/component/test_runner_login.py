"""PATH after the profile files, by each shell."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.component.runner_pod import SHELLS, shell_or_skip

LOGIN = Path(__file__).parents[2] / "hpcbatch/runner/script/login.sh"
CASES = {
    "the profile adds": ("/opt/x:/usr/bin:/bin", "/usr/bin:/bin", "/opt/x:/usr/bin:/bin"),
    "the profile drops the last": ("/usr/bin:/bin", "/usr/bin:/bin:/venv/bin", "/usr/bin:/bin:/venv/bin"),
    "the profile drops the first": ("/usr/bin:/bin", "/venv/bin:/usr/bin:/bin", "/venv/bin:/usr/bin:/bin"),
    "the profile drops both": ("/usr/bin:/bin", "/a:/usr/bin:/z", "/a:/usr/bin:/z:/bin"),
    "the profile drops all": ("/usr/bin:/bin", "/only", "/only:/usr/bin:/bin"),
    "the system's own come last": ("/usr/local/bin:/usr/bin:/sbin", "/a:/usr/bin", "/a:/usr/bin:/usr/local/bin:/sbin"),
    "a directory of the profile": ("/u/bin:/usr/bin:/opt/x", "/a:/usr/bin:/z", "/u/bin:/a:/usr/bin:/opt/x:/z"),
    "another order": ("/bin:/usr/bin", "/usr/bin:/bin:/x", "/usr/bin:/bin:/x"),
    "twice": ("/usr/bin:/bin:/usr/bin:/bin", "/z", "/z:/usr/bin:/bin"),
    "odd names": ("/usr/bin:/bin", "/a b:/usr/bin:/c*d::/$e", "/a b:/usr/bin:/c*d::/$e:/bin"),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("name", SHELLS)
def test_what_was_given_stays_in_its_order(
    name: str, case: str, tmp_path_factory: pytest.TempPathFactory, tmp_path: Path
) -> None:
    shell = shell_or_skip(name, tmp_path_factory)
    after_profile, given, expected = CASES[case]
    done = subprocess.run(
        [shell, LOGIN, "user", "/runner/bin", given, "/bin/sh", "-c", 'echo "$PATH"'],
        env={"PATH": after_profile},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert (done.stdout, done.stderr) == (f"/runner/bin:{expected}\n", "")
