"""Volcano Jobs on the registry, with the phases that a real Volcano was recorded to go through."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from hpcbatch.api.resources import (
    COMMANDS,
    CONFIGMAPS,
    EVENTS,
    NETWORK_POLICIES,
    PODS,
    QUEUES,
    SECRETS,
    SERVICES,
    VOLCANO_JOBS,
)
from hpcbatch.engine.registry.store import Store
from hpcbatch.errors import NotFoundError
from tests.component.volcano_cluster import ENDS_WITH, NS, ON_TERM, Cluster, on, running, task

MPI: dict[str, list[str]] = {"ssh": [], "svc": [], "env": []}


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with running(2, 2, 2) as made:
        yield made


def command(cluster: Cluster, job: str, action: str) -> None:
    target = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": job, "uid": "not compared"}
    cluster.create(COMMANDS, {"metadata": {"generateName": f"{job}-"}, "action": action, "target": target})


def exists(cluster: Cluster, resource: Any, name: str) -> bool:
    try:
        cluster.registry.get(resource, name, NS)
    except NotFoundError:
        return False
    return True


def beside(cluster: Cluster, job: str) -> list[str]:
    names = {SECRETS: f"{job}-ssh", CONFIGMAPS: f"{job}-svc", SERVICES: job, NETWORK_POLICIES: job}
    return [resource.kind for resource, name in names.items() if exists(cluster, resource, name)]


def messages(cluster: Cluster, reason: str) -> list[str]:
    return [e["message"] for e in cluster.registry.list(EVENTS, NS).items if e["reason"] == reason]


def test_mpi_job_from_start_to_end(cluster: Cluster) -> None:
    cluster.submit(
        "m1", task("mpimaster", policies=[on("TaskCompleted", "CompleteJob")]), task("mpiworker", 2), plugins=MPI
    )
    job = cluster.wait_phase("m1", "Running")
    cluster.wait("all counted", lambda: cluster.job("m1")["status"].get("running") == 3)
    status = cluster.job("m1")["status"]
    assert status["taskStatusCount"] == {"mpimaster": {"phase": {"Running": 1}}, "mpiworker": {"phase": {"Running": 2}}}
    assert status["controlledResources"] == {"plugin-env": "env", "plugin-ssh": "ssh", "plugin-svc": "svc"}
    assert [c["status"] for c in status["conditions"]] == ["Pending", "Running"]
    assert job["metadata"]["generation"] == 1
    assert len(beside(cluster, "m1")) == 4
    group = cluster.group("m1")
    assert group is not None
    assert (group["spec"]["minMember"], group["spec"]["queue"]) == (3, "default")
    cluster.kubelet.end("m1-mpimaster-0", 0)
    done = cluster.wait_phase("m1", "Completed")["status"]
    assert (done["succeeded"], done["version"]) == (1, 1)
    assert cluster.pod_phases("m1") == {"m1-mpimaster-0": "Succeeded"}
    cluster.settled()
    assert (beside(cluster, "m1"), cluster.group("m1")) == ([], None)
    assert "controlledResources" not in cluster.job("m1")["status"]
    assert "Start to execute action CompleteJob " in messages(cluster, "ExecuteAction")


def test_ends_by_itself(cluster: Cluster) -> None:
    cluster.submit("s", task("t", 2, notes={ENDS_WITH: "0"}))
    assert cluster.wait_phase("s", "Completed")["status"]["succeeded"] == 2
    cluster.settled()
    assert cluster.group("s") is None
    assert messages(cluster, "ExecuteAction") == []


def test_a_job_that_is_let_in_at_once_has_one_status_for_that(cluster: Cluster) -> None:
    """A job of one pod, which has nothing beside. On a busy machine its group may take longer."""
    firsts = []
    with closing(cluster.registry.watch(VOLCANO_JOBS, NS, timeout_s=60)) as watch:
        events = iter(watch)
        for number in range(10):
            cluster.submit(f"j{number}", task("t"), plugins={"env": []})
            first = next(event.object for event in events if event.object.get("status"))
            assert first["status"]["state"]["phase"] == "Pending"
            firsts.append(first["status"].get("pending", 0))
            cluster.wait_phase(f"j{number}", "Running")
            cluster.registry.delete(VOLCANO_JOBS, f"j{number}", NS)
            cluster.wait("the room", lambda number=number: not cluster.pods(f"j{number}"))  # type: ignore[misc]
            assert any(event.type == "DELETED" for event in events)
    assert max(firsts) == 1


def test_a_job_that_waits_for_room_says_so(cluster: Cluster) -> None:
    cluster.submit("all", task("t", 3, cpu="2"))
    cluster.wait_phase("all", "Running")
    cluster.submit("waits", task("t"), plugins={"env": []})
    assert "pending" not in cluster.wait_phase("waits", "Pending")["status"]
    assert cluster.pods("waits") == {}


def test_one_failed_pod_fails_the_job_after_all_have_ended(cluster: Cluster) -> None:
    cluster.submit("f", task("t", 2))
    cluster.wait_phase("f", "Running")
    cluster.kubelet.end("f-t-0", 3)
    cluster.settled()
    assert cluster.phase("f") == "Running"
    cluster.kubelet.end("f-t-1", 0)
    assert cluster.wait_phase("f", "Failed")["status"]["failed"] == 1


def test_restart_job_until_retries_are_used_up(cluster: Cluster) -> None:
    cluster.submit(
        "r", task("t", notes={ENDS_WITH: "3"}), task("w"), policies=[on("PodFailed", "RestartJob")], plugins=MPI
    )
    status = cluster.wait_phase("r", "Failed")["status"]
    assert status["retryCount"] == 3
    assert cluster.kubelet.started.count("r-t-0") == 3
    cluster.wait("the worker's end", lambda: cluster.pod_phases("r") == {"r-t-0": "Failed"})
    cluster.settled()
    assert beside(cluster, "r") == []
    notes = cluster.pods("r")["r-t-0"]["metadata"]["annotations"]
    assert (notes["volcano.sh/job-version"], notes["volcano.sh/job-retry-count"]) == ("2", "2")


@pytest.mark.parametrize("max_retry", [1, 2])
def test_max_retry(cluster: Cluster, max_retry: int) -> None:
    cluster.submit("r", task("t", notes={ENDS_WITH: "1"}), policies=[on("PodFailed", "RestartJob")], maxRetry=max_retry)
    assert cluster.wait_phase("r", "Failed")["status"]["retryCount"] == max_retry
    assert cluster.kubelet.started.count("r-t-0") == max_retry
    assert cluster.pod_phases("r") == {"r-t-0": "Failed"}


@pytest.mark.parametrize(
    ("action", "phase"), [("AbortJob", "Aborted"), ("TerminateJob", "Terminated"), ("CompleteJob", "Completed")]
)
def test_whole_job_actions(cluster: Cluster, action: str, phase: str) -> None:
    cluster.submit("a", task("t", 2), policies=[on("PodFailed", action)], plugins=MPI)
    cluster.wait_phase("a", "Running")
    cluster.kubelet.end("a-t-0", 5)
    cluster.wait_phase("a", phase)
    assert cluster.pod_phases("a") == {"a-t-0": "Failed"}
    cluster.settled()
    assert (beside(cluster, "a"), cluster.group("a")) == ([], None)


@pytest.mark.parametrize(("action", "survivors"), [("RestartTask", 1), ("RestartPod", 2)])
def test_partial_restarts_leave_the_others_alone(cluster: Cluster, action: str, survivors: int) -> None:
    cluster.submit("p", task("a", 2), task("b"), policies=[on("PodFailed", action)], plugins=MPI)
    cluster.wait_phase("p", "Running")
    before = {name: pod["metadata"]["uid"] for name, pod in cluster.pods("p").items()}
    key = cluster.registry.get(SECRETS, "p-ssh", NS)["data"]
    cluster.kubelet.end("p-a-0", 1)
    cluster.wait(
        "a new pod", lambda: cluster.pods("p").get("p-a-0", {}).get("metadata", {}).get("uid") != before["p-a-0"]
    )
    status = cluster.wait_phase("p", "Running")["status"]
    assert (status["retryCount"], "version" in status) == (1, False)
    after = {name: pod["metadata"]["uid"] for name, pod in cluster.pods("p").items()}
    assert sum(after[name] == before[name] for name in before) == survivors
    assert cluster.registry.get(SECRETS, "p-ssh", NS)["data"] == key, "all pods still share one key"


def test_evicted_pod_fires_its_policy(cluster: Cluster) -> None:
    cluster.submit("e", task("t", 2), policies=[on("PodEvicted", "RestartJob")])
    cluster.wait_phase("e", "Running")
    cluster.registry.delete(PODS, "e-t-1", NS)
    cluster.wait("the restart", lambda: cluster.job("e")["status"].get("retryCount") == 1)
    cluster.wait_phase("e", "Running")
    assert cluster.kubelet.started.count("e-t-0") == 2


def test_deleted_pod_without_policy_runs_again(cluster: Cluster) -> None:
    cluster.submit("d", task("t", 2))
    cluster.wait_phase("d", "Running")
    cluster.registry.delete(PODS, "d-t-1", NS)
    cluster.wait("it to run again", lambda: cluster.kubelet.started.count("d-t-1") == 2)
    status = cluster.wait_phase("d", "Running")["status"]
    assert "retryCount" not in status


def test_deleted_worker_that_fails_on_term_is_a_failed_pod(cluster: Cluster) -> None:
    cluster.submit("d", task("t", 2, notes={ON_TERM: "4"}), policies=[on("PodFailed", "AbortJob")])
    cluster.wait_phase("d", "Running")
    cluster.registry.delete(PODS, "d-t-1", NS)
    cluster.wait_phase("d", "Aborted")


@pytest.mark.parametrize(("code", "phase"), [(5, "Completed"), (7, "Aborted")])
def test_exit_code_policies(cluster: Cluster, code: int, phase: str) -> None:
    policies = [{"exitCode": 5, "action": "CompleteJob"}, on("PodFailed", "AbortJob")]
    cluster.submit("x", task("t", notes={ENDS_WITH: str(code)}), policies=policies)
    cluster.wait_phase("x", phase)


def test_task_policy_wins_over_job_policy(cluster: Cluster) -> None:
    own = task("t", notes={ENDS_WITH: "1"}, policies=[on("PodFailed", "CompleteJob")])
    cluster.submit("x", own, policies=[on("PodFailed", "AbortJob")])
    cluster.wait_phase("x", "Completed")


def test_task_failed_counts_container_restarts(cluster: Cluster) -> None:
    cluster.submit("x", task("t", maxRetry=2), policies=[on("TaskFailed", "TerminateJob")])
    cluster.wait_phase("x", "Running")
    cluster.kubelet.restarted("x-t-0", 1)
    cluster.settled()
    assert cluster.phase("x") == "Running"
    cluster.kubelet.restarted("x-t-0", 2)
    cluster.wait_phase("x", "Terminated")


def test_timeout_of_a_pending_pod(cluster: Cluster) -> None:
    cluster.submit("t", task("t", cpu="3"), policies=[on("PodPending", "AbortJob", timeout="1s")])
    cluster.wait_phase("t", "Aborted")
    assert cluster.pods("t") == {}


def test_timeout_delays_and_is_announced_once(cluster: Cluster) -> None:
    cluster.submit("t", task("t", 2), policies=[on("PodFailed", "TerminateJob", timeout="2s")])
    cluster.wait_phase("t", "Running")
    cluster.kubelet.end("t-t-0", 1)
    cluster.wait(
        "the announcement", lambda: "Execute action TerminateJob after 2s" in messages(cluster, "ExecuteAction")
    )
    assert cluster.phase("t") == "Running"
    cluster.wait_phase("t", "Terminated")


def test_min_success(cluster: Cluster) -> None:
    cluster.submit("m", task("t", 3), minSuccess=1)
    cluster.wait_phase("m", "Running")
    cluster.kubelet.end("m-t-1", 0)
    cluster.wait_phase("m", "Completed")
    cluster.wait("the others' end", lambda: cluster.pod_phases("m") == {"m-t-1": "Succeeded"})


def test_min_available_below_replicas(cluster: Cluster) -> None:
    cluster.submit("m", task("t", 3, minAvailable=1), minAvailable=1)
    cluster.wait("all to run", lambda: list(cluster.pod_phases("m").values()) == ["Running"] * 3)
    cluster.kubelet.end("m-t-0", 1)
    for name in ("m-t-1", "m-t-2"):
        cluster.kubelet.end(name, 0)
    status = cluster.wait_phase("m", "Completed")["status"]
    assert (status["succeeded"], status["failed"]) == (2, 1)


def test_commands_suspend_and_resume(cluster: Cluster) -> None:
    cluster.submit("c", task("t", 2))
    cluster.wait_phase("c", "Running")
    command(cluster, "c", "AbortJob")
    cluster.wait_phase("c", "Aborted")
    assert cluster.pods("c") == {}
    command(cluster, "c", "ResumeJob")
    status = cluster.wait_phase("c", "Running")["status"]
    assert status["retryCount"] == 1
    assert cluster.registry.list(COMMANDS, NS).items == ()
    assert len(messages(cluster, "CommandIssued")) == 2


def test_command_for_nobody_is_deleted(cluster: Cluster) -> None:
    command(cluster, "nosuch", "AbortJob")
    cluster.wait("its end", lambda: not cluster.registry.list(COMMANDS, NS).items)


def test_ttl_deletes_job_and_pods(cluster: Cluster) -> None:
    cluster.submit("t", task("t", notes={ENDS_WITH: "0"}), ttlSecondsAfterFinished=1)
    cluster.wait_phase("t", "Completed")
    cluster.wait("the job's deletion", lambda: not exists(cluster, VOLCANO_JOBS, "t"))
    cluster.wait("the pod's deletion", lambda: cluster.pods() == {})


def test_depends_on_in_a_full_gang(cluster: Cluster) -> None:
    """Volcano 1.14.1 waits for ever here."""
    cluster.submit("d", task("a", notes={ENDS_WITH: "0"}), task("b", notes={ENDS_WITH: "0"}, dependsOn={"name": ["a"]}))
    cluster.wait_phase("d", "Completed")
    assert cluster.kubelet.started == ["d-a-0", "d-b-0"]


def test_depends_on_what_has_failed(cluster: Cluster) -> None:
    cluster.submit("d", task("a", notes={ENDS_WITH: "1"}), task("b", dependsOn={"name": ["a"]}))
    cluster.wait_phase("d", "Failed")
    assert cluster.kubelet.started == ["d-a-0"]


def test_scale_up_and_down(cluster: Cluster) -> None:
    cluster.submit("s", task("t", 2), plugins=MPI, policies=[on("PodEvicted", "AbortJob")])
    cluster.wait_phase("s", "Running")

    def scale(count: int) -> None:
        def change(job: Any) -> Any:
            job["spec"]["tasks"][0] |= {"replicas": count, "minAvailable": 1}
            job["spec"]["minAvailable"] = 1
            return job

        cluster.registry.update(VOLCANO_JOBS, "s", NS, change)

    scale(3)
    cluster.wait("three pods", lambda: list(cluster.pod_phases("s").values()) == ["Running"] * 3)
    assert cluster.registry.get(CONFIGMAPS, "s-svc", NS)["data"]["VC_T_NUM"] == "3"
    scale(1)
    cluster.wait("one pod", lambda: cluster.pod_phases("s") == {"s-t-0": "Running"})
    cluster.settled()
    assert cluster.phase("s") == "Running", "scaling down is no eviction"


def test_deleting_the_job_takes_everything_along(cluster: Cluster) -> None:
    cluster.submit("x", task("t", 2), plugins=MPI)
    cluster.wait_phase("x", "Running")
    cluster.registry.delete(VOLCANO_JOBS, "x", NS)
    cluster.wait("the pods' end", lambda: cluster.pods() == {})
    assert beside(cluster, "x") == []
    cluster.submit("x", task("t", 2))
    cluster.wait_phase("x", "Running")


def test_foreign_objects_survive_the_job(cluster: Cluster) -> None:
    mine = {"metadata": {"name": "pre-svc"}, "data": {"mine": "1"}}
    cluster.create(CONFIGMAPS, mine)
    cluster.submit("pre", task("t", notes={ENDS_WITH: "0"}), plugins=MPI)
    cluster.wait_phase("pre", "Completed")
    cluster.settled()
    assert beside(cluster, "pre") == ["ConfigMap"]
    assert "VC_T_NUM" in cluster.registry.get(CONFIGMAPS, "pre-svc", NS)["data"]


def test_a_pod_name_that_is_taken_is_waited_for(cluster: Cluster) -> None:
    foreign = {"metadata": {"name": "w-t-0"}, "spec": {"containers": [{"name": "c", "image": "x"}]}}
    cluster.create(PODS, foreign)
    cluster.submit("w", task("t"))
    cluster.settled()
    assert cluster.phase("w") == "Pending"
    cluster.registry.delete(PODS, "w-t-0", NS, grace_period_s=0)
    cluster.wait_phase("w", "Running")


def test_refused_pods_are_told(cluster: Cluster) -> None:
    cluster.submit("n", task("t", pod={"priorityClassName": "nosuch"}))
    cluster.wait("the event", lambda: messages(cluster, "FailedCreate"))
    assert "no PriorityClass with name nosuch was found" in messages(cluster, "FailedCreate")[0]
    cluster.wait_phase("n", "Pending")


def test_a_service_name_that_cannot_be_is_told(cluster: Cluster) -> None:
    cluster.submit("a.b", task("t"), plugins={"svc": []})
    cluster.wait("the event", lambda: messages(cluster, "PluginError"))
    assert messages(cluster, "PluginError")[0].startswith('Execute plugin when job add failed, err: Service "a.b" is')


def test_a_plugin_that_cannot_work_is_told(cluster: Cluster) -> None:
    cluster.submit("r", task("worker"), plugins={"ray": []})
    cluster.wait("the event", lambda: messages(cluster, "FailedCreate"))
    assert messages(cluster, "FailedCreate")[0] == (
        "Error creating pods: [failed to create pod r-worker-0, err: job r doesn't have head task head]"
    )
    cluster.wait_phase("r", "Pending")


def test_closed_queue(cluster: Cluster) -> None:
    cluster.create(QUEUES, {"metadata": {"name": "q"}})
    cluster.submit("one", task("t"), queue="q")
    cluster.wait_phase("one", "Running")
    target = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "name": "q", "uid": "x"}
    close = {"metadata": {"generateName": "q-"}, "action": "CloseQueue", "target": target}
    cluster.create(COMMANDS, close)

    def state() -> object:
        return cluster.registry.get(QUEUES, "q")["status"]["state"]

    cluster.wait("Closing", lambda: state() == "Closing")
    assert cluster.phase("one") == "Running"
    cluster.kubelet.end("one-t-0", 0)
    cluster.wait("Closed", lambda: state() == "Closed")


def test_a_new_controller_goes_on_where_the_old_one_stopped(tmp_path: Path) -> None:
    path = str(tmp_path / "store.db")
    first = Cluster(2, 2, 2, store=Store(path))
    first.start()
    plan = [task("t", 2), task("w")]
    first.submit("evicted", *plan, policies=[on("PodEvicted", "RestartJob")])
    first.submit("failed", task("t", 2), policies=[on("PodFailed", "TerminateJob")])
    first.wait_phase("evicted", "Running")
    first.wait("counted", lambda: first.job("evicted")["status"].get("running") == 3)
    first.wait_phase("failed", "Running")
    first.stop()
    # while nobody looks
    first.registry.delete(PODS, "evicted-t-1", NS, grace_period_s=0)
    first.kubelet.end("failed-t-0", 1)
    first.registry.store.close()
    with running(store=Store(path)) as second:
        second.wait("the restart", lambda: second.job("evicted")["status"].get("retryCount") == 1)
        second.wait_phase("evicted", "Running")
        second.wait_phase("failed", "Terminated")
