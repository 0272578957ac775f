"""hpcbatch is upgraded and taken away under its users; jobs and records stay."""

from __future__ import annotations

from tests.cluster import controllers, database, guide
from tests.cluster.conftest import Admin
from tests.conformance.site import Site


def test_an_upgrade_with_jobs_waiting_and_running_loses_none(alice: Site) -> None:
    running = alice.sbatch("-N", "3", "--ntasks-per-node=2", "-o", "running", "--wrap", "sleep 20; echo ran")
    alice.wait_state(running, "R")
    waiting = alice.qsub("-l", "select=3:ncpus=2", "-N", "waiting", "-j", "oe", stdin="echo waited\n")
    held = alice.sbatch("--hold", "-o", "held", "--wrap", "echo held")
    before = controllers.pods()
    guide.run("Upgrade")
    controllers.wait_for_leader()
    assert not set(before) & set(controllers.pods())
    during = alice.sbatch("-o", "during", "--wrap", "echo during")
    alice.run("scontrol", "release", held)
    for job in (running, waiting, held, during):
        assert alice.wait_end(job, 120)["Exit_status"] == 0
    assert alice.read("running") == "ran\n"
    assert alice.read(f"waiting.o{waiting}") == "waited\n"
    assert alice.attributes(running)["run_count"] == 1


def test_uninstalling_keeps_the_records(admin: Admin, alice: Site) -> None:
    done = alice.sbatch("-o", "/dev/null", "--wrap", "true")
    alice.wait_end(done)
    guide.run("Uninstall")
    try:
        assert done in admin.kubectl("get", "batchjobs", "-A").stdout
        assert not controllers.pods()
    finally:
        guide.run("Install")
        database.apply()
    controllers.wait_for_leader()
    assert alice.state(done) == "F"
    new = alice.sbatch("-o", "/dev/null", "--wrap", "true")
    assert int(new) > int(done)
    alice.wait_end(new)
