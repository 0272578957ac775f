"""A PostgreSQL server of one's own, from Debian's packages: no network, an ordinary user, gone afterwards."""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.waiting import wait_for

_USER = "nobody"  # PostgreSQL does not run as root


def programs() -> Path | None:
    """Where initdb and postgres are; None if PostgreSQL is not installed."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    if found:
        return found[-1].parent
    on_path = shutil.which("initdb")
    return None if on_path is None else Path(on_path).resolve().parent


@dataclass
class Postgres:
    directory: Path
    process: subprocess.Popen[bytes] | None = None

    @property
    def dsn(self) -> str:
        return f"host={self.directory} user=hpcbatch dbname=postgres"

    def start(self) -> None:
        options = ["-c", "listen_addresses=", "-c", f"unix_socket_directories={self.directory}", "-c", "fsync=off"]
        log = (self.directory / "log").open("ab")
        self.process = subprocess.Popen(
            [_program("postgres"), "-D", self.directory / "data", *options],
            stdout=log,
            stderr=log,
            cwd=self.directory,
            **_as_ordinary_user(),
        )
        wait_for("PostgreSQL", self._answers)

    def stop(self) -> None:
        """At once, as a crash would."""
        if self.process is not None:
            self.process.send_signal(signal.SIGQUIT)
            self.process.wait(60)
            self.process = None

    def _answers(self) -> bool:
        import psycopg

        assert self.process is not None
        assert self.process.poll() is None, (self.directory / "log").read_text()
        try:
            psycopg.connect(self.dsn).close()
        except psycopg.Error:
            return False
        return True


@contextmanager
def postgres() -> Iterator[Postgres]:
    with tempfile.TemporaryDirectory(prefix="hpcbatch-pg-", dir="/tmp") as name:  # a socket's path is short
        server = Postgres(Path(name))
        if os.getuid() == 0:
            shutil.chown(name, _USER)
        subprocess.run(
            [
                _program("initdb"),
                "-D",
                server.directory / "data",
                "-U",
                "hpcbatch",
                "-A",
                "trust",
                "--no-sync",
                "-E",
                "UTF8",
                "--locale=C",
            ],
            check=True,
            capture_output=True,
            cwd=name,
            **_as_ordinary_user(),
        )
        try:
            server.start()
            yield server
        finally:
            server.stop()


def _program(name: str) -> Path:
    found = programs()
    assert found is not None
    return found / name


def _as_ordinary_user() -> dict[str, Any]:
    if os.getuid() != 0:
        return {}
    entry = pwd.getpwnam(_USER)
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": [], "env": {"PATH": os.environ["PATH"]}}
