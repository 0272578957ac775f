"""The page behind nginx with the site's login and TLS, as docs/web.md says, in a browser."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from hpcbatch.engine.server.certificates import ensure_certificate
from tests.conformance.site import BIN, Site
from tests.nginx import NGINX, documented_proxy, free_port
from tests.waiting import wait_for
from tests.web.browser import browser


@pytest.fixture
def port(site: Site, tmp_path: Path) -> Iterator[int]:
    """Of the proxy, which leads to the page of anna."""
    if NGINX is None:
        pytest.skip("nginx is not installed: the page is NOT tested behind a proxy (make test-web)")
    port = free_port()
    path = tmp_path / "anna" / "page.sock"
    path.parent.mkdir()
    public = ["--public-url", f"https://localhost:{port}/queue/", "--proxy-user", "anna"]
    command = [str(BIN / "hpcbatch"), "web", "--socket", str(path), *public]
    page = subprocess.Popen(command, env=dict(site.env), stdout=subprocess.PIPE, text=True)
    certificate = ensure_certificate(tmp_path)
    try:
        wait_for("the page", path.is_socket)
        key = (Path(certificate.cert_file), Path(certificate.key_file))
        with documented_proxy(tmp_path, port, "localhost", certificate=key):
            yield port
    finally:
        page.send_signal(signal.SIGTERM)
        page.communicate(timeout=20)
    assert page.returncode == 0


def test_who_has_logged_in_gets_the_page_and_holds_a_job(site: Site, port: int, pictures: Path) -> None:
    job = site.sbatch("--begin=now+1hour", "-J", "later", "-o", "/dev/null", "--wrap", "true")
    with browser(arguments=("--ignore-certificate-errors",)) as found:
        found.emulate()
        found.get(f"https://anna:a@localhost:{port}/queue/")
        wait_for("the list of jobs", lambda: "later" in found.text("main"))
        found.picture(pictures / "behind-a-proxy.png")
        found.get(f"https://localhost:{port}/queue/jobs/{job}")
        found.click(f"#hold-{job}")
        wait_for("what was done", lambda: "Held: it starts after" in found.text("main .notice"))
        assert found.current_url.startswith(f"https://localhost:{port}/queue/")
        assert site.state(job) == "H"
        assert found.log() == []
    with browser(arguments=("--ignore-certificate-errors",)) as found:
        found.get(f"https://berta:b@localhost:{port}/queue/")
        assert "502 Bad Gateway" in found.text("h1")
