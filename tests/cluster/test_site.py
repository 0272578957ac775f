"""The site's configuration, changed while the cluster works."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pytest

from tests.cluster.conftest import Admin
from tests.cluster.install import SITE
from tests.conformance.site import Site
from tests.waiting import wait_for

NAMESPACE = ("-n", "hpcbatch-system")
LIMITS = """
queues:
- {name: batch, volcanoQueue: default, default: true, maxWalltime: "01:00:00", defaultWalltime: "00:10:00", maxNodes: 2}
- {name: debug, volcanoQueue: default, maxWalltime: "00:05:00", image: "localhost/mpi:1"}
"""


@pytest.fixture
def configure(admin: Admin) -> Iterator[Callable[[str], None]]:
    """Put a text in the place of the site's configuration; the true one comes back after the test."""

    def put(text: str) -> None:
        data = json.dumps({"data": {"site.yaml": text}})
        admin.kubectl(*NAMESPACE, "patch", "configmap", "hpcbatch-site", "--type=merge", "-p", data)

    yield put
    put(SITE.read_text())
    wait_for("the true configuration", lambda: "batch" not in published(admin))


def published(admin: Admin) -> str:
    """The queues as users see them."""
    return admin.kubectl(*NAMESPACE, "get", "configmap", "hpcbatch-queues", "-o", "jsonpath={.data}").stdout


def error(admin: Admin) -> str:
    path = r"jsonpath={.metadata.annotations.hpcbatch\.io/error}"
    return admin.kubectl(*NAMESPACE, "get", "configmap", "hpcbatch-site", "-o", path).stdout


def test_limits_and_defaults_of_queues(admin: Admin, configure: Callable[[str], None], alice: Site) -> None:
    configure(SITE.read_text() + LIMITS)
    wait_for("the queues", lambda: "debug" in published(admin))
    refused = {
        ("qsub", "-l", "walltime=2:00:00"): (188, "qsub: Job violates queue and/or server resource limits\n"),
        ("qsub", "-l", "select=3:ncpus=1"): (188, "qsub: Job violates queue and/or server resource limits\n"),
        ("qsub", "-q", "default"): (170, "qsub: Unknown queue\nqsub: no queue default; there are: "),
    }
    for argv, (code, words) in refused.items():
        done = alice.run(*argv, stdin="true\n", check=False)
        assert (done.returncode, done.stdout) == (code, ""), done.stderr
        assert done.stderr.startswith(words), done.stderr
    done = alice.run("sbatch", "-p", "debug", "-t", "10", "--wrap", "true", check=False)
    assert done.returncode == 1
    assert "Batch job submission failed: Requested time limit is invalid (missing or exceeds some limit)" in done.stderr
    job = alice.qsub("-N", "fits", stdin="true\n")
    record = alice.wait_end(job)
    assert (record["queue"], record["Resource_List"]["walltime"]) == ("batch", "00:10:00")


def test_a_bad_configuration_leaves_the_old_one_in_force(
    admin: Admin, configure: Callable[[str], None], alice: Site
) -> None:
    configure(SITE.read_text() + LIMITS)
    wait_for("the queues", lambda: "debug" in published(admin))
    configure(SITE.read_text() + LIMITS.replace("maxNodes: 2", "maxNods: 2"))
    line, column = SITE.read_text().count("\n") + 3, LIMITS.splitlines()[2].index("maxNodes") + 1
    said = wait_for("the error", lambda: error(admin))
    assert said == f"site.yaml:{line}:{column}: queues[0].maxNods: unknown key; did you mean maxNodes?"
    checked = admin.run("hpcbatch", "check", "--no-probes", check=False)
    assert checked.returncode == 1
    assert "maxNods" in checked.stdout
    job = alice.qsub("-q", "debug", "-N", "still", stdin="true\n")
    assert alice.wait_end(job)["Exit_status"] == 0
    configure(SITE.read_text() + LIMITS)
    wait_for("the error to go", lambda: not error(admin))
