"""What PBS's commands say of the cluster and of its parts that are neither jobs nor nodes."""

from __future__ import annotations

import pytest

from tests.conformance.site import Site


@pytest.mark.parametrize("command", ["pbs_python", "pbsdsh", "printjob", "qterm"])
def test_a_command_that_is_not_here_says_so(site: Site, command: str) -> None:
    done = site.run(command, "x", check=False)
    assert (done.returncode, done.stdout) != (0, "")
    assert f"\n{command}: hpcbatch has no {command} here: " in done.stderr
    assert site.run(command, "--version").stdout == site.run("qstat", "--version").stdout


def test_there_are_no_reservations(site: Site) -> None:
    assert site.run("pbs_rstat").stdout == ""
    done = site.run("pbs_rstat", "R1", "what", check=False)
    assert (done.returncode, done.stdout) == (1, "")
    first, second = done.stderr.splitlines()
    assert first == "pbs_rstat: Unknown Reservation Id"
    assert second == "pbs_rstat: illegally formed reservation identifier: what"
