"""`python -m tests.slurm_suite SOURCE [TEST …]`: Slurm's own tests of our commands, on an engine of their own.

SOURCE is Slurm's source tree, release 22.05.8 (tag slurm-22-05-8-1): its folder testsuite is what is used. TEST is a
test as the suite names it (17.5, tests/commands/sinfo/test_--help.py) or a family (17). What does not pass stands in
docs/slurm-suite.md with its reason; the exit code is 1 where a test went otherwise than that page says.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.conformance.site import BIN, login_environment
from tests.slurm_suite import expected, suite

LOGS = Path(__file__).parents[2] / "build/slurm-suite"
NODES, CPUS, MEM = 8, 4, "8Gi"
SITE = "apiVersion: hpcbatch.io/v1alpha1\nkind: SiteConfiguration\nrefuseOversize: true\n"
"""The site's configuration: without EnforcePartLimits some tests leave themselves out."""


def main(words: list[str]) -> int:
    if not words or not (tree := Path(words[0])).joinpath("testsuite/expect/globals").exists():
        print(__doc__, file=sys.stderr)
        return 2
    names = suite.of_tree(tree, words[1:])
    expectations = expected.of_page()
    LOGS.mkdir(parents=True, exist_ok=True)
    counts: Counter[suite.Outcome] = Counter()
    deviations = []
    with tempfile.TemporaryDirectory(prefix="slurm-suite-") as directory, _engine(Path(directory) / "state") as env:
        copy = suite.Copy(tree, Path(directory), BIN.parent, env)
        for name in names:
            start = time.monotonic()
            result = copy.run(name, LOGS / f"{name.replace('/', '%')}.log")
            counts[result.outcome] += 1
            print(f"{name:<55} {result.outcome:<8} {time.monotonic() - start:4.0f} s  {result.why}", flush=True)
            should = expectations.get(name, suite.Outcome.PASSED)
            if result.outcome is not should:
                deviations.append(f"{name}: {result.outcome}, where {expected.PAGE.name} has: {should}")
            _cancel_what_is_left(env)
    print(f"of {counts.total()} tests " + ", ".join(f"{counts[outcome]} {outcome}" for outcome in suite.Outcome))
    for line in deviations:
        print(line)
    return 1 if deviations else 0


@contextmanager
def _engine(state: Path) -> Iterator[dict[str, str]]:
    env = {**os.environ, **login_environment(state)}
    site = state.parent / "site.yaml"
    site.write_text(SITE)
    up = [str(BIN / "hpcbatch"), "up", "--site", str(site), "--nodes", str(NODES), "--cpus", str(CPUS), "--mem", MEM]
    subprocess.run(up, env=env, check=True, timeout=60)
    try:
        yield env
    finally:
        subprocess.run([str(BIN / "hpcbatch"), "down"], env=env, check=True, timeout=60)


def _cancel_what_is_left(env: dict[str, str]) -> None:
    """A test that failed may leave jobs, which the next would count."""
    left = subprocess.run(["squeue", "-h", "-o", "%A"], env=env, capture_output=True, text=True, check=True, timeout=60)
    if ids := sorted(set(left.stdout.split())):
        subprocess.run(["scancel", *ids], env=env, check=False, capture_output=True, timeout=60)


sys.exit(main(sys.argv[1:]))
