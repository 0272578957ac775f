"""Debian's nginx before the page of a user, as docs/web.md says."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.pages import fenced
from tests.waiting import wait_for

NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
USERS = "anna:{PLAIN}a\nberta:{PLAIN}b\n"


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def accepts(port: int) -> bool:
    with socket.socket() as found:
        return found.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def documented_proxy(
    directory: Path, port: int, host: str, *, certificate: tuple[Path, Path] | None = None
) -> Iterator[None]:
    """Listens on `port` of the loopback address, by TLS with `certificate` and its key; the users are anna with the
    password a and berta with b, whose sockets are `directory`/NAME/page.sock.
    """
    assert NGINX is not None
    location = fenced((Path(__file__).parents[1] / "docs/web.md").read_text(), "nginx")
    location = location.replace("/run/hpcbatch-web", str(directory))
    location = location.replace("/etc/nginx/portal.users", f"{directory}/users")
    (directory / "users").write_text(USERS)
    where = directory / "nginx"
    where.mkdir()
    temporary = "".join(
        f"{name}_temp_path {where}/{name};" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    user = "user root;" if os.getuid() == 0 else ""
    tls = "ssl_certificate {}; ssl_certificate_key {};".format(*certificate) if certificate else ""
    listen = f"listen 127.0.0.1:{port}{' ssl' if certificate else ''}; {tls}"
    page = f"server {{ {listen} server_name {host};\n{location}\n}}"
    (where / "conf").write_text(
        f"{user} daemon off; pid {where}/pid; error_log stderr; events {{}}\n"
        f"http {{ {temporary} access_log off; {page} }}\n"
    )
    argv = [NGINX, "-c", str(where / "conf"), "-p", str(where)]
    with (where / "log").open("w") as log:
        process = subprocess.Popen(argv, stderr=log)
    try:
        wait_for("nginx", lambda: accepts(port) or process.poll() is not None)
        assert process.poll() is None, (where / "log").read_text()
        yield
    finally:
        process.terminate()
        process.wait(20)
