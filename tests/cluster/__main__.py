"""`python -m tests.cluster VERB`: a real Kubernetes of three nodes with Volcano and hpcbatch, on this machine.

up       builds what is not built yet, starts everything, installs hpcbatch as an admin would
upgrade  puts hpcbatch as it is in the checkout on the cluster that is up
down     leaves nothing behind but the build cache
test     runs the tests on it (arguments go to pytest); brings it up and down again where it was not up
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable

from tests.cluster import lifecycle, login
from tests.cluster.binaries import BuildError
from tests.cluster.state import CHECKOUT, ClusterError

NOTHING_COLLECTED = 5
"""pytest's exit code where no case is left."""


def test(arguments: list[str]) -> int:
    """The conformance cases and the cluster's own tests: first those of several users at once, then those that need the
    whole cluster, one after the other. pytest's exit code.
    """
    was_up = lifecycle.is_up()
    try:
        if not was_up:
            lifecycle.up()
        cases = arguments or ["tests/conformance", "tests/cluster"]
        several = ("--numprocesses", str(len(login.AT_ONCE)), "--dist", "loadfile")
        codes = {pytest(*several, "-m", "not alone and not mpi", *cases), pytest("-m", "alone", *cases)}
        return max(codes - {NOTHING_COLLECTED, 0}, default=0 if 0 in codes else NOTHING_COLLECTED)
    finally:
        if not was_up:
            lifecycle.down()


def pytest(*arguments: str) -> int:
    command = [sys.executable, "-m", "pytest", "--durations", "20", *arguments]
    return subprocess.run(command, cwd=CHECKOUT, env={**os.environ, "HPCBATCH_RIG": "cluster"}, check=False).returncode


def main() -> int:
    match sys.argv[1:]:
        case ["up"]:
            verb: Callable[[], int | None] = lifecycle.up
        case ["upgrade"]:
            verb = lifecycle.upgrade
        case ["down"]:
            verb = lifecycle.down
        case ["test", *arguments]:
            verb = lambda: test(arguments)  # noqa: E731
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    try:
        return verb() or 0
    except (ClusterError, BuildError) as error:
        print(f"cluster: {error}", file=sys.stderr)
        return 1


sys.exit(main())
