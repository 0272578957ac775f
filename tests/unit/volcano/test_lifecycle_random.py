"""Any order of events, commands and failures leads a Volcano Job to its end."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from hpcbatch.volcano.job_status import job_status, recorded_pods
from hpcbatch.volcano.job_view import Phase, PodView, Policy, TaskView
from hpcbatch.volcano.lifecycle import (
    AddPluginObjects,
    CreatePod,
    Decision,
    DeletePodGroup,
    Evicted,
    KillPod,
    PutPodGroup,
    RemovePluginObjects,
    SetState,
    decide,
    unchanged,
)
from tests.thoroughness import examples
from tests.unit.volcano.lifecycle_objects import NOW, job, pod, with_state

EVENTS = ["PodFailed", "PodEvicted", "TaskCompleted", "TaskFailed", "Unknown", "PodPending", "*"]
ACTIONS = ["AbortJob", "RestartJob", "RestartTask", "RestartPod", "TerminateJob", "CompleteJob", "ResumeJob"]
_policies = st.lists(
    st.builds(
        Policy,
        events=st.sampled_from(EVENTS).map(lambda event: frozenset({event})),
        action=st.sampled_from(ACTIONS),
        timeout_s=st.sampled_from([None, None, 5.0]),
    ),
    max_size=3,
).map(tuple)


class Life(RuleBasedStateMachine):
    """A cluster in a few lines: pods start, end and are deleted; the controller may die between any two actions."""

    def __init__(self) -> None:
        super().__init__()
        self.now = NOW
        self.pods: dict[str, PodView] = {}
        self.group: str | None = None
        self.view = job()
        self.ended: Phase | None = None
        self.evicted: list[Evicted] = []
        self.made = 0

    @initialize(
        sizes=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=2),
        policies=_policies,
        max_retry=st.integers(1, 3),
        depends=st.booleans(),
    )
    def begin(self, sizes: list[tuple[int, int]], policies: tuple[Policy, ...], max_retry: int, depends: bool) -> None:
        tasks = [
            TaskView(
                name=f"t{index}",
                replicas=count,
                min_available=min(count, least),
                max_retry=1,
                depends_on=("t0",) if depends and index else (),
            )
            for index, (count, least) in enumerate(sizes)
        ]
        self.view = job(*tasks, policies=policies, max_retry=max_retry)

    def decide(self, request: str = "", steps: int | None = None) -> Decision:
        evicted, self.evicted = self.evicted, []
        decision = decide(
            self.view, list(self.pods.values()), self.group, now=self.now, request=request, evicted=evicted
        )
        self.evicted += decision.pending_evictions
        kills = any(isinstance(action, KillPod) for action in decision.actions)
        before = self.view
        for action in decision.actions[:steps]:
            match action:
                case CreatePod(task=task, index=index):
                    assert self.view.phase in {Phase.PENDING, Phase.RUNNING}, "a kill never creates"
                    assert f"j-{task}-{index}" not in self.pods
                    assert self.group not in {None, "", "Pending"}
                    self.made += 1
                    self.pods[f"j-{task}-{index}"] = pod(
                        f"{task}-{index}", "Pending", uid=str(self.made), version=self.view.version, created=self.now
                    )
                case KillPod(name=name):
                    self.pods[name] = replace(self.pods[name], is_terminating=True, is_marked=True)
                case PutPodGroup():
                    self.group = self.group if self.group is not None else ""
                case DeletePodGroup():
                    self.group = None
                case AddPluginObjects():
                    self.view = replace(self.view, has_plugin_objects=True)
                case RemovePluginObjects():
                    self.view = replace(self.view, has_plugin_objects=False)
                case SetState():
                    assert action.version >= self.view.version, "version is monotone"
                    assert action.retry_count in {self.view.retry_count, self.view.retry_count + 1}
                    if self.view.phase in {Phase.PENDING, Phase.RUNNING}:
                        assert action.retry_count <= self.view.max_retry
                    self.view = with_state(self.view, action, self.now)
        if kills and before.phase not in {Phase.PENDING, Phase.RUNNING}:
            assert not any(isinstance(action, CreatePod) for action in decision.actions)
        return decision

    @rule()
    def sync(self) -> None:
        self.decide()

    @rule(steps=st.integers(0, 3))
    def die_in_between(self, steps: int) -> None:
        """What was known of evictions is lost with the controller, the rest is in the API."""
        self.decide(steps=steps)
        self.evicted = []

    @rule(action=st.sampled_from([*ACTIONS, "Nonsense"]))
    def command(self, action: str) -> None:
        self.decide(request=action)

    @precondition(lambda self: self.group is not None)
    @rule(phase=st.sampled_from(["Pending", "Inqueue", "Running", "Unknown"]))
    def schedule(self, phase: str) -> None:
        self.group = phase

    @precondition(lambda self: self.pods)
    @rule(pick=st.integers(0, 9), phase=st.sampled_from(["Running", "Succeeded", "Failed"]), code=st.integers(1, 2))
    def move_pod(self, pick: int, phase: str, code: int) -> None:
        name = sorted(self.pods)[pick % len(self.pods)]
        if not self.pods[name].is_finished:
            finished = self.now if phase != "Running" else None
            self.pods[name] = replace(
                self.pods[name],
                phase=phase,
                exit_code=code if phase == "Failed" else 0,
                finished=finished,
                is_ready=phase == "Running",
                restarts=self.pods[name].restarts + (phase == "Running" and code == 2),
            )

    @precondition(lambda self: self.pods)
    @rule(pick=st.integers(0, 9))
    def pod_goes(self, pick: int) -> None:
        name = sorted(self.pods)[pick % len(self.pods)]
        gone = self.pods.pop(name)
        if not gone.is_marked:
            self.evicted.append(Evicted(pod=gone, at=self.now))

    @rule(seconds=st.integers(1, 4))
    def time_passes(self, seconds: int) -> None:
        self.now += timedelta(seconds=seconds)

    @invariant()
    def final_is_final(self) -> None:
        if self.ended is not None:
            assert self.view.phase is self.ended
        elif self.view.phase.is_final:
            self.ended = self.view.phase

    @invariant()
    def counters_are_right(self) -> None:
        pods = list(self.pods.values())
        status = job_status(self.view, {}, unchanged(self.view), pods, controlled={}, now=self.now)
        names = ("pending", "running", "succeeded", "failed", "terminating")
        assert sum(status.get(name, 0) for name in names) == len(pods)
        there = [item for item in pods if not item.is_terminating]
        assert sum(recorded_pods(status).values()) == len(there)

    def teardown(self) -> None:
        """Left alone, with pods that end when they are killed, the job's killing comes to an end."""
        for _ in range(12):
            self.decide()
            self.pods = {name: item for name, item in self.pods.items() if not item.is_terminating}
        if self.view.phase.is_final or self.view.phase is Phase.ABORTED:
            assert all(item.is_finished for item in self.pods.values())
            assert not self.view.has_plugin_objects
            assert self.group is None
        assert self.view.phase not in {Phase.ABORTING, Phase.COMPLETING, Phase.TERMINATING}


Life.TestCase.settings = settings(max_examples=examples(300), deadline=None)
TestLife = Life.TestCase
