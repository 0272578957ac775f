"""Root runs the tests of pods once more as an ordinary user, and those of plain processes without namespaces.

The user is made for it and taken away after.
"""

from __future__ import annotations

import os
import pwd
import re
import shutil
import site
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]
USER = "hpcbatch-test"
SUITES = ("test_podhost.py", "agent", "test_agent_crash.py", "test_agent_mpi.py")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.getuid() != 0, reason="needs root, to become somebody else"),
]


@pytest.fixture(scope="module")
def user() -> Iterator[pwd.struct_passwd]:
    made = False
    try:
        pwd.getpwnam(USER)
    except KeyError:
        subprocess.run(["useradd", "--create-home", "--shell", "/bin/bash", USER], check=True)
        made = True
    yield pwd.getpwnam(USER)
    if made:
        subprocess.run(["userdel", "--remove", USER], check=True, capture_output=True)


@pytest.fixture
def base(user: pwd.struct_passwd) -> Iterator[Path]:
    """A directory of the user's own; pytest's is for root only."""
    base = Path(tempfile.mkdtemp(prefix="hpcbatch-as-user-"))
    os.chown(base, user.pw_uid, user.pw_gid)
    yield base
    shutil.rmtree(base)


def _python(as_user: list[str]) -> str:
    """An interpreter of this version that the user may run."""
    for candidate in (sys.executable, f"/usr/bin/python3.{sys.version_info.minor}"):
        # by way of env: setpriv itself still has root's rights when it looks for the program
        if subprocess.run([*as_user, "env", candidate, "-c", ""], capture_output=True, check=False).returncode == 0:
            return candidate
    pytest.skip(f"an ordinary user may run no Python 3.{sys.version_info.minor} here")


def _pytest(user: pwd.struct_passwd, base: Path, wrapper: list[str], *arguments: str) -> str:
    as_user = ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--init-groups", *wrapper]
    environment = {
        "PATH": f"{CHECKOUT}/.venv/bin:/usr/local/bin:/usr/bin:/bin",
        "HOME": user.pw_dir,
        "USER": USER,
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": ":".join([str(CHECKOUT), *site.getsitepackages()]),
    }
    command = [_python(as_user), "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--basetemp={base}/t", *arguments]
    done = subprocess.run(
        [*as_user, *command], cwd=CHECKOUT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-4000:]
    return done.stdout


@pytest.mark.timeout(600)
@pytest.mark.parametrize("suite", SUITES)
def test_as_an_ordinary_user(user: pwd.struct_passwd, base: Path, suite: str) -> None:
    output = _pytest(user, base, [], f"tests/component/{suite}")
    assert re.search(r"\d+ passed", output)


def test_where_namespaces_are_forbidden(user: pwd.struct_passwd, base: Path) -> None:
    """A user namespace that allows none below it, and no capabilities: as in many containers."""
    forbid = 'echo 0 >/proc/sys/user/max_user_namespaces; exec setpriv --bounding-set=-all --inh-caps=-all "$@"'
    wrapper = ["unshare", "--map-root-user", "sh", "-c", forbid, "sh"]
    output = _pytest(user, base, wrapper, "tests/component/test_agent_plain.py")
    assert re.search(r"\d+ passed", output)
    assert "skipped" not in output
