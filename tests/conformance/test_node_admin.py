"""Nodes that operators take out of use and back, in both dialects; who else may not."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.conformance.operator import as_operator
from tests.conformance.site import Site
from tests.waiting import wait_for

pytestmark = pytest.mark.alone


@pytest.fixture
def node(site: Site) -> Iterator[str]:
    """One that may be changed, which is put back."""
    name = site.run("sinfo", "-h", "-N", "-o", "%n").stdout.split()[-1]
    yield name
    as_operator(site, "pbsnodes", "-r", "-C", "", name)


def reasons(site: Site) -> list[str]:
    return site.run("sinfo", "-h", "-R", "-o", "%E|%N").stdout.splitlines()


def test_pbs_operators_mark_nodes(site: Site, node: str) -> None:
    as_operator(site, "pbsnodes", "-o", "-C", "disk fails", node)
    text = site.run("pbsnodes", node).stdout
    assert "     state = offline\n" in text
    assert "     comment = disk fails\n" in text
    assert site.run("pbsnodes", "-l").stdout == f"{node:<20} offline disk fails\n"
    assert reasons(site) == [f"disk fails|{node}"]
    assert " Reason=disk fails [" in site.run("scontrol", "-o", "show", "node", node).stdout
    job = site.qsub("-l", f"select=1:host={node}", "-o", "/dev/null", "-j", "oe", stdin="true\n")
    wait_for("its reason", lambda: "No node of" in site.run("qstat", "-s", job).stdout)
    as_operator(site, "pbsnodes", "-r", node)
    assert site.wait_end(job)["Exit_status"] == 0
    text = site.run("pbsnodes", node).stdout
    assert "     state = offline\n" not in text
    assert "     comment = disk fails\n" in text
    assert site.run("pbsnodes", "-l").stdout == ""
    as_operator(site, "pbsnodes", "-C", "", node)
    assert "comment" not in site.run("pbsnodes", node).stdout


def test_slurm_administrators_mark_nodes(site: Site, node: str) -> None:
    as_operator(site, "scontrol", "update", f"NodeName={node}", "State=DRAIN", "Reason=new fan")
    assert site.run("sinfo", "-h", "-N", "-n", node, "-o", "%t").stdout == "drain\n"
    assert reasons(site) == [f"new fan|{node}"]
    assert "     comment = new fan\n" in site.run("pbsnodes", node).stdout
    as_operator(site, "scontrol", "update", f"NodeName={node}", "State=RESUME")
    assert site.run("sinfo", "-h", "-N", "-n", node, "-o", "%t %E").stdout == "idle none\n"
    assert reasons(site) == []


@pytest.mark.slow
def test_a_node_that_is_set_down_loses_its_jobs(site: Site, node: str) -> None:
    again = site.sbatch("-w", node, "-o", "/dev/null", "--requeue", "--wrap", "sleep 600")
    never = site.sbatch("-w", node, "-o", "/dev/null", "--no-requeue", "--wrap", "sleep 600")
    both = f"{again},{never}"
    wait_for("they run", lambda: site.run("squeue", "-h", "-j", both, "-o", "%T").stdout == "RUNNING\n" * 2)
    as_operator(site, "scontrol", "update", f"NodeName={node}", "State=DOWN", "Reason=no power")
    assert site.run("sinfo", "-h", "-N", "-n", node, "-o", "%t|%E").stdout == "down|no power\n"
    assert " State=DOWN " in site.run("scontrol", "-o", "show", "node", node).stdout
    assert site.run("pbsnodes", "-l").stdout == f"{node:<20} down no power\n"
    wait_for("one is queued", lambda: site.run("squeue", "-h", "-j", again, "-o", "%T").stdout == "PENDING\n")
    ended = ("sacct", "-X", "-n", "-P", "-j", never, "-o", "State")
    wait_for("one has failed", lambda: site.run(*ended).stdout == "NODE_FAIL\n")
    runs = site.run("sacct", "-X", "-D", "-n", "-P", "-j", again, "-o", "State").stdout.splitlines()
    assert runs == ["NODE_FAIL", "PENDING"]
    as_operator(site, "scontrol", "update", f"NodeName={node}", "State=DRAIN", "Reason=no power")
    assert site.run("sinfo", "-h", "-N", "-n", node, "-t", "down&drain", "-o", "%T").stdout == "drained\n"
    assert site.run("pbsnodes", "-l").stdout == f"{node:<20} down,offline no power\n"
    as_operator(site, "scontrol", "update", f"NodeName={node}", "State=RESUME")
    wait_for("it runs again", lambda: site.run("squeue", "-h", "-j", again, "-o", "%T").stdout == "RUNNING\n")
    site.run("scancel", again)


def test_features_that_operators_give_nodes(site: Site, node: str) -> None:
    update = ("scontrol", "update", f"NodeName={node}")
    unknown = site.run("sbatch", "-C", "fast.disk", "--wrap", "true", check=False)
    assert "Invalid feature specification" in unknown.stderr
    as_operator(site, *update, "AvailableFeatures=fast.disk,big", "ActiveFeatures=fast.disk")
    try:
        shown = site.run("scontrol", "-o", "show", "node", node).stdout
        assert " AvailableFeatures=big,fast.disk ActiveFeatures=fast.disk " in shown
        assert site.run("sinfo", "-h", "-N", "-n", node, "-o", "%f|%b").stdout == "big,fast.disk|fast.disk\n"
        job = site.sbatch("-C", "fast.disk", "-o", "/dev/null", "--wrap", "true")
        ended = ("sacct", "-X", "-n", "-P", "-j", job, "-o", "State,NodeList")
        wait_for("it ends there", lambda: site.run(*ended).stdout == f"COMPLETED|{node}\n")
        done = as_operator(site, *update, "ActiveFeatures=slow", check=False)
        assert done.stderr.startswith("slurm_update error: Invalid feature specification\n")
    finally:
        as_operator(site, *update, "Features=")
    assert " AvailableFeatures=(null) " in site.run("scontrol", "-o", "show", "node", node).stdout


def test_nodes_that_there_are_not(site: Site) -> None:
    done = as_operator(site, "pbsnodes", "-o", "nosuch", check=False)
    assert (done.returncode, done.stdout, done.stderr) == (214, "", "Error marking node nosuch - Unknown node \n")
    done = as_operator(site, "scontrol", "update", "NodeName=nosuch", "State=RESUME", check=False)
    assert (done.returncode, done.stderr) == (1, "slurm_update error: Invalid node name specified\n")


def test_users_are_refused(site: Site, node: str) -> None:
    if not site.admin_env:
        pytest.skip("the engine's one user may do everything")
    done = site.run("pbsnodes", "-o", node, check=False)
    assert done.returncode == 159
    assert done.stderr.startswith(f"Error marking node {node} - Unauthorized Request \n")
    done = site.run("scontrol", "update", f"NodeName={node}", "State=RESUME", check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("slurm_update error: Invalid user id\n")
    assert site.run("pbsnodes", "-l").stdout == ""
