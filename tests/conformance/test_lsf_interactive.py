"""bsub -I, -Ip and -Is: the job's input and output, or its terminal, here."""

from __future__ import annotations

import re

from tests.conformance.site import Site
from tests.conformance.terminals import terminal


def test_streams(site: Site) -> None:
    done = site.run("bsub", "-I", "cat; hostname; exit 4", stdin="to the job\n", check=False)
    assert done.returncode == 4
    match = re.fullmatch(r"Job <(\d+)> is submitted to default queue <default>\.\n(.*)", done.stdout, re.DOTALL)
    assert match, done.stdout
    assert match[2] == f"to the job\njob-{match[1]}-mpimaster-0\n"
    assert [line.split()[0] for line in done.stderr.splitlines()] == ["<<Waiting", "<<Starting"]


def test_a_terminal_is_needed(site: Site) -> None:
    done = site.run("bsub", "-Is", "sh", check=False)
    assert (done.returncode, done.stdout) == (255, "")
    assert done.stderr.endswith("standard input is no terminal. Job not submitted.\n")


def test_terminal(site: Site) -> None:
    with terminal(site, "bsub", "-Is", "sh") as shell:
        job = shell.found(r"Job <(\d+)> is submitted")
        shell.expect_exact("<<Starting on")
        assert shell.answer("hostname; echo $LSB_INTERACTIVE; test -t 0 && echo terminal") == (
            f"job-{job}-mpimaster-0\nY\nterminal\n"
        )
        shell.sendline("exit 3")
        assert shell.code() == 3
