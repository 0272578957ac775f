"""Interactive jobs in which nobody does anything, where the site has a limit for that."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pexpect
import pytest

from tests.conformance.rigs import Rig
from tests.conformance.site import Site
from tests.conformance.site_file import HEAD, configure, configured, published
from tests.conformance.terminals import terminal
from tests.waiting import wait_for

pytestmark = [pytest.mark.alone, pytest.mark.slow]

LIMIT_S = 12
"""More than 8: the kernel notes only so often when a terminal was written to."""


@pytest.fixture(autouse=True, scope="module")
def limit(rig: Rig, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    admin = rig.site(tmp_path_factory.mktemp("admin"))
    given = configured(admin)
    # the size of arrays is published, by which it is known that all has been read
    text = (given if given is not None else HEAD) + f"interactiveIdleLimit: {LIMIT_S}\nmaxArraySize: 777\n"

    def is_read() -> bool:
        settings = published(admin).get("settings")
        return isinstance(settings, dict) and settings.get("maxArraySize") == 777

    configure(admin, text)
    wait_for("the configuration", is_read)
    yield
    configure(admin, given)
    wait_for("the old configuration", lambda: not is_read())


def test_a_session(site: Site) -> None:
    with terminal(site, "qsub", "-I") as shell:
        job = shell.found(r"waiting for job (\d+)\S* to start")
        shell.expect_exact("ready")
        for _ in range(8):  # what is typed counts, and what is computed
            assert shell.answer("echo here") == "here\n"
            time.sleep(2)
        assert shell.answer(f"timeout {LIMIT_S + 5} sh -c 'while :; do :; done'; echo computed") == "computed\n"
        shell.expect_exact(f"nothing was done here for {LIMIT_S} s, after which this site ends a session")
        shell.expect_exact("completed")
    record = site.wait_end(job)
    assert record["Exit_status"] == -29
    assert record["comment"].endswith(" and exceeded resource idle time")


def test_an_allocation(site: Site) -> None:
    with terminal(site, "salloc", "-n1", "bash", "--norc", "-i") as shell:
        job = shell.found(r"salloc: Granted job allocation (\d+)")
        assert shell.answer(f"srun sleep {LIMIT_S + 5}; echo slept") == "slept\n"
        shell.expect_exact(f"salloc: Job {job} has exceeded its time limit and its allocation has been revoked.")
        shell.expect(pexpect.EOF)
    site.wait_end(job)
    assert site.run("sacct", "-Xn", "-j", job, "-o", "state").stdout.split() == ["TIMEOUT"]


def test_what_is_no_session_has_no_such_limit(site: Site) -> None:
    started = time.monotonic()
    assert site.run("srun", "sh", "-c", f"sleep {LIMIT_S + 8}; echo done").stdout == "done\n"
    assert time.monotonic() - started > LIMIT_S + 8
