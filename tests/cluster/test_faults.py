"""kill -9 of every part in the midst of work: no job lost, none run twice, none stuck without a reason."""

from __future__ import annotations

import json
import os
import signal
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import groupby

import pytest

from hpcbatch.model.labels import JOB_ID_LABEL
from tests.cluster import controllers, daemons, nodes
from tests.cluster.control_plane import AUDIT_LOG
from tests.cluster.state import kubectl
from tests.conformance.site import Site
from tests.waiting import wait_for

JOBS = 50


def submit(site: Site, number: int) -> str:
    """A job that says in a file that it ran; of either dialect."""
    line = f"echo {number} >>ran\n"
    if number % 2:
        return site.qsub(
            "-r", "y", "-N", f"n{number}", "-j", "oe", "-o", "/dev/null", stdin=f"cd $PBS_O_WORKDIR; {line}"
        )
    return site.sbatch("--requeue", "-o", "/dev/null", "--wrap", line)


def assert_each_ran_once(site: Site, jobs: list[str]) -> None:
    for job in jobs:
        record = site.wait_end(job, 240)
        assert record["Exit_status"] == 0, record
    assert len(set(jobs)) == len(jobs)
    assert Counter(site.read("ran").split()) == Counter(str(number) for number in range(len(jobs)))


def test_controllers_killed_in_the_midst_of_fifty_submissions(alice: Site) -> None:
    with ThreadPoolExecutor(6) as pool:
        pending = [pool.submit(submit_patiently, alice, number) for number in range(JOBS)]

        def are_done(count: int) -> bool:
            return sum(p.done() for p in pending) >= count

        for done in (5, 20, 35):
            wait_for(f"{done} submissions", partial(are_done, done), 120)
            controllers.kill_leader()
        jobs = [p.result() for p in pending]
    controllers.kill_leader()  # once more while they run
    assert_each_ran_once(alice, jobs)


def test_two_controllers_never_act_at_once(alice: Site) -> None:
    """The leader is frozen for longer than its lease, another one takes over, and the first one wakes up again."""
    begin = time.time()
    jobs = [submit(alice, number) for number in range(6)]
    frozen = controllers.wait_for_leader()
    process = controllers.process(frozen)
    os.kill(process, signal.SIGSTOP)
    try:
        jobs += [submit_patiently(alice, number) for number in range(6, 12)]
        assert controllers.leader() != frozen
    finally:
        os.kill(process, signal.SIGCONT)
    jobs += [submit(alice, number) for number in range(12, 16)]
    assert_each_ran_once(alice, jobs)
    writers = [name for name, _ in groupby(writers_since(begin))]
    assert len(writers) == 2, f"the controllers took turns: {writers}"


def submit_patiently(site: Site, number: int) -> str:
    """As a user would, who is told to try again while nobody leads."""

    def attempt() -> str:
        try:
            return submit(site, number)
        except AssertionError as error:
            assert "did not answer" in str(error), error
            return ""

    return wait_for("a controller that admits", attempt, 90)


def writers_since(begin: float) -> list[str]:
    """The controller pod behind each write on jobs, in order."""
    stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(begin))
    names = []
    for line in AUDIT_LOG.read_text().splitlines():
        entry = json.loads(line)
        extra = entry["user"].get("extra", {})
        pod = extra.get("authentication.kubernetes.io/pod-name", [""])[0]
        resource = entry.get("objectRef", {}).get("resource", "")
        is_write = entry["verb"] in {"create", "update", "patch", "delete"}
        succeeded = entry["responseStatus"].get("code", 500) < 300
        if pod and is_write and succeeded and resource != "leases" and entry["stageTimestamp"] >= stamp:
            names.append(pod)
    return names


def test_the_api_server_is_killed(alice: Site) -> None:
    """Its clients go on when it is back; what ran goes on running."""
    long = alice.sbatch("-o", "long", "--wrap", "echo begun; sleep 15; echo ended")
    alice.wait_state(long, "R")
    jobs = [submit(alice, number) for number in range(4)]
    daemons.kill("kube-apiserver")
    done = alice.run("qstat", check=False)
    daemons.restart("kube-apiserver")
    assert done.returncode == 255
    assert done.stderr.startswith(f"qstat: cannot connect to server {alice.server} (errno=15010)\n"), done.stderr
    wait_for("the API", lambda: alice.run("qstat", check=False).returncode == 0, 60)
    jobs += [submit_patiently(alice, number) for number in range(4, 8)]
    assert_each_ran_once(alice, jobs)
    assert alice.wait_end(long)["Exit_status"] == 0
    assert alice.read("long") == "begun\nended\n"


@pytest.mark.parametrize("part", ["vc-scheduler", "vc-controller-manager", "vc-webhook-manager"])
def test_a_part_of_volcano_is_killed(alice: Site, part: str) -> None:
    before = [submit(alice, number) for number in range(3)]
    daemons.kill(part)
    try:
        between = [submit(alice, number) for number in range(3, 6)]
        assert {alice.state(job) for job in between} <= set("QREF")
    finally:
        daemons.restart(part)
    assert_each_ran_once(alice, before + between)


def test_pods_do_not_wait_for_the_scheduler(alice: Site) -> None:
    """The plan has let the job start: its pods are there when the scheduler looks for the first time."""
    daemons.kill("vc-scheduler")
    try:
        job = submit(alice, 0)
        label = f"{JOB_ID_LABEL}={job.partition('.')[0]}"
        pods = ("-n", alice.namespace, "get", "pods", "-l", label, "-o", "jsonpath={.items[*].status.phase}")
        wait_for("its pod", lambda: kubectl(*pods) == "Pending", 60)
    finally:
        daemons.restart("vc-scheduler")
    assert_each_ran_once(alice, [job])


def gang(site: Site, rerunnable: str, name: str) -> str:
    return site.qsub(
        "-r",
        rerunnable,
        "-l",
        "select=3:ncpus=1",
        "-l",
        "place=scatter",
        "-N",
        name,
        "-j",
        "oe",
        stdin="cd $PBS_O_WORKDIR; echo $PBS_JOBID >>starts\n[ $(grep -c $PBS_JOBID starts) -gt 1 ] || sleep 600\n",
    )


def test_a_node_is_gone(alice: Site) -> None:
    """Kubelet, containers and all: reruns follow -r, and a gang never runs on with a rank short.

    Noticed after 12 s, the pods are given up after their toleration of 60 s, and forgotten 25 s after that.
    """
    again, once = gang(alice, "y", "again"), gang(alice, "n", "once")
    for job in (again, once):
        alice.wait_state(job, "R")
    starts = alice.work / "starts"
    wait_for("both scripts", lambda: starts.exists() and len(starts.read_text().split()) == 2, 60)
    nodes.crash("node-1")
    try:
        ended = alice.wait_end(once, 240)
        assert ended.get("Exit_status") != 0
        assert "node-1" in ended["comment"], ended["comment"]
        wait_for("the job to wait again", lambda: alice.state(again) == "Q", 240)
    finally:
        nodes.boot("node-1")
    record = alice.wait_end(again, 180)
    assert record["Exit_status"] == 0
    assert record["run_count"] == 2
    assert Counter(starts.read_text().split()) == {f"{again}.{alice.server}": 2, f"{once}.{alice.server}": 1}


def test_what_happens_while_the_controller_is_away(alice: Site) -> None:
    """The runner alone keeps walltime, exit code and output; deletion is done when the controller is back."""
    late = alice.qsub("-l", "walltime=5", "-N", "late", stdin="sleep 600\n")
    coded = alice.sbatch("-o", "coded", "--wrap", "sleep 3; echo done; exit 7")
    doomed = alice.sbatch("-o", "doomed", "--wrap", "sleep 600")
    for job in (late, coded, doomed):
        alice.wait_state(job, "R")
    with controllers.away():
        wait_for("the output", lambda: alice.written("coded") == "done\n", 60)
        wait_for("the walltime", (alice.work / f"late.e{late}").exists, 60)
        assert "exceeded limit" in alice.read(f"late.e{late}")
        alice.run("scancel", doomed)
        refused = alice.run("sbatch", "--wrap", "true", check=False, limit_s=60)
        assert refused.returncode == 1
        assert "did not answer" in refused.stderr
    assert alice.wait_end(late)["Exit_status"] == -29
    assert alice.wait_end(coded)["Exit_status"] == 7
    alice.wait_end(doomed)
    assert alice.run("squeue", "-h", "-t", "all", "-j", doomed, "-o", "%t").stdout == "CA\n"
