"""`hpcbatch watch` follows jobs to their end; `hpcbatch login-check` tells a user that all is well."""

from __future__ import annotations

import re

from tests.conformance.site import Site


def test_watch_follows_jobs_to_their_end(site: Site) -> None:
    good = site.qsub("-N", "good", "-j", "oe", stdin="true\n")
    bad = site.sbatch("-J", "bad", "-o", "/dev/null", "--wrap", "exit 3")
    both = site.run("hpcbatch", "watch", good, f"{bad}.{site.server}", check=False)
    assert (both.returncode, both.stderr) == (1, "")
    lines = [line.partition(" ")[2] for line in both.stdout.splitlines()]
    assert re.fullmatch(rf"job {good} \(good\) finished on \S+", [line for line in lines if f"job {good} " in line][-1])
    assert [line for line in lines if f"job {bad} " in line][-1] == f"job {bad} (bad) failed exit code 3"
    assert len(lines) == len(set(lines))
    again = site.run("hpcbatch", "watch", good)
    assert len(again.stdout.splitlines()) == 1
    assert site.run("hpcbatch", "watch", bad, check=False).returncode == 1


def test_watch_of_what_there_is_not(site: Site) -> None:
    for name in ("999999", "abc"):
        done = site.run("hpcbatch", "watch", name, check=False)
        assert done.returncode != 0
        assert done.stdout == ""
        assert name in done.stderr
        assert len(done.stderr.splitlines()) == 1


def test_login_check(site: Site) -> None:
    done = site.run("hpcbatch", "login-check")
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert lines
    assert all(line.startswith("ok ") for line in lines), done.stdout
