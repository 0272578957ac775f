"""Pods that play scripts: so long, with that exit code; and a log of who ran when."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace

from hpcbatch.api.informer import Informer
from hpcbatch.api.port import Object, WatchEvent
from hpcbatch.api.resources import BATCHJOBS, CONFIGMAPS, PODS
from hpcbatch.engine.registry.registry import Registry
from hpcbatch.errors import ConflictError, HpcBatchError, NotFoundError
from hpcbatch.model.labels import JOB_ID_LABEL, REQUESTS_ANNOTATION, START_WORD
from hpcbatch.volcano.job_conf import NO_POD, first_pod
from hpcbatch.volcano.job_names import conf_name, job_name
from tests.component.volcano_cluster import NS, PlayKubelet

MASTER = "mpimaster-0"


@dataclass(frozen=True)
class Script:
    runs_s: float
    """Infinite: until it is ended."""
    exit_code: int

    @property
    def is_endless(self) -> bool:
        return self.runs_s == float("inf")


@dataclass
class Run:
    """Of a script, once. Times are of the monotonic clock."""

    job_id: int
    name: str
    """The job's as submitted, for members of arrays `name[index]`."""
    pods: int
    cpus: int
    queue: str
    begun: float
    ended: float | None = None
    exit_code: int | None = None
    """None: it was not let come to its end."""
    nodes: frozenset[str] = frozenset()
    is_wounded: bool = False
    """A pod of its gang was lost or has failed: it must not go on."""
    stops: list[tuple[float, float | None]] = field(default_factory=list)
    """When it stood still, suspended."""

    @property
    def spells(self) -> list[Run]:
        """It, as it ran between: then it has its CPUs."""
        found, begun = [], self.begun
        for stopped, went_on in self.stops:
            found.append(replace(self, begun=begun, ended=stopped))
            if went_on is None:
                return found
            begun = went_on
        return [*found, replace(self, begun=begun)]


@dataclass
class Log:
    runs: list[Run] = field(default_factory=list)
    withdrawn: Counter[str] = field(default_factory=Counter)
    """How often a job's first pod began, but its script was not to start any more. The job shows as running then."""

    def of(self, name: str) -> list[Run]:
        return [run for run in self.runs if run.name == name]

    def of_array(self, name: str) -> list[Run]:
        return [run for run in self.runs if run.name.startswith(f"{name}[")]


@dataclass
class Playing:
    """What goes on in the first pod of a job."""

    pod: str
    uid: str
    number: int
    name: str
    queue: str
    script: Script
    run: Run | None = None
    """None: it waits for the word to start."""
    left_s: float = 0.0
    goes_on_since: float | None = None
    """None: it is stopped."""
    timer: threading.Timer | None = None
    is_wounded: bool = False


class Stage(PlayKubelet):
    """`scripts` by job name. What a runner does with a job that must not run twice, or is suspended, is played too."""

    def __init__(self, registry: Registry, scripts: dict[str, Script]) -> None:
        super().__init__(registry)
        self._scripts = scripts
        self.log = Log()
        self._lock = threading.RLock()
        self._seen: set[str] = set()
        self._playing: dict[str, Playing] = {}  # by uid of the pod
        self._confs = Informer(registry, CONFIGMAPS, on_event=self._on_conf)

    def start(self) -> None:
        super().start()
        self._confs.start()

    def stop(self) -> None:
        super().stop()
        self._confs.stop()

    # What the kubelet sees

    def _on_pod(self, event: WatchEvent) -> None:
        pod = event.object
        meta, phase = pod["metadata"], pod["status"].get("phase", "Pending")
        number = (meta.get("labels") or {}).get(JOB_ID_LABEL)
        if number is None or not meta["name"].endswith(MASTER):
            super()._on_pod(event)
        elif meta["name"].endswith(f"-output-{MASTER}"):  # it renames files of an ended job, and is over
            super()._on_pod(event)
            if event.type != "DELETED" and "deletionTimestamp" not in meta and phase == "Running":
                self._try_end(meta["name"], 0, "")
        elif event.type == "DELETED":
            self._break_off(meta["uid"])
        elif "deletionTimestamp" in meta:
            if phase == "Running":
                has_run = self._break_off(meta["uid"])
                self._try_end(
                    meta["name"],
                    143,
                    f"signal=15\nreason=Signalled\n{_times()}" if has_run else "the pod was stopped",
                )
            super()._on_pod(event)
        elif phase == "Pending" and pod["spec"].get("nodeName"):
            super()._on_pod(event)
            with self._lock:
                if meta["uid"] not in self._seen:
                    self._seen.add(meta["uid"])
                    self._begin(meta["name"], meta["uid"], int(number))
        else:
            with self._lock:
                self._hear(meta)

    def _on_conf(self, event: WatchEvent) -> None:
        with self._lock:
            for playing in list(self._playing.values()):
                if playing.run is None and conf_name(playing.number) == event.object["metadata"]["name"]:
                    self._give_way(playing)

    # What the runner does

    def _begin(self, pod: str, uid: str, number: int) -> None:
        jobs = self._registry.list(BATCHJOBS, NS, fields=f"status.jobId={number}").items
        if not jobs:
            return  # nobody has its parts any more, so that the pod has no files
        spec, status = jobs[0]["spec"], jobs[0]["status"]
        member = f"[{spec['memberOf']['index']}]" if "memberOf" in spec else ""
        playing = Playing(pod, uid, number, spec["name"] + member, status["queue"], self._scripts[spec["name"]])
        self._playing[uid] = playing
        if not self._give_way(playing) and not self._awaits_word(playing):
            self._start_script(playing)

    def _awaits_word(self, playing: Playing) -> bool:
        conf = self._registry.get(CONFIGMAPS, conf_name(playing.number), NS)
        return "\nawaits_word='yes'\n" in conf["data"]["job.sh"]

    def _give_way(self, playing: Playing) -> bool:
        """To the pod that ran the script of a job that must not run twice, or since the job is no longer to start."""
        try:
            first = first_pod(self._registry.get(CONFIGMAPS, conf_name(playing.number), NS))
        except NotFoundError:
            del self._playing[playing.uid]  # without it the pod does not start
            return True
        if first in {None, playing.uid}:
            return False
        del self._playing[playing.uid]
        if first == NO_POD:
            self.log.withdrawn[playing.name] += 1
            why = "reason=Withdrawn\nmessage=the job was held or changed before it could start"
        else:
            why = "reason=LaunchFailed\nmessage=the job has been started before and is not rerunnable"
        self._try_end(playing.pod, 1, why, playing.uid)
        return True

    def _hear(self, meta: Object) -> None:
        """Of what is asked of the running job."""
        playing = self._playing.get(meta["uid"])
        if playing is None:
            return
        asked = (meta.get("annotations") or {}).get(REQUESTS_ANNOTATION, "").splitlines()
        if playing.run is None and asked[:1] == [START_WORD]:
            self._start_script(playing)
        if playing.run is not None:
            self._go_on(playing, is_stopped="suspend" in asked)

    def _start_script(self, playing: Playing) -> None:
        pods = self._pods_of(playing.number)
        first = next((pod for pod in pods if pod["metadata"]["uid"] == playing.uid), None)
        if first is None:
            return
        cpus = sum(int(pod["spec"]["containers"][0]["resources"]["requests"]["cpu"]) for pod in pods)
        playing.run = Run(playing.number, playing.name, len(pods), cpus, playing.queue, time.monotonic())
        playing.run.nodes = frozenset(pod["spec"].get("nodeName", "") for pod in pods)
        playing.run.is_wounded = playing.is_wounded
        self.log.runs.append(playing.run)
        playing.left_s = playing.script.runs_s
        self._go_on(playing, is_stopped=False)

    def _go_on(self, playing: Playing, *, is_stopped: bool) -> None:
        now = time.monotonic()
        if is_stopped and playing.goes_on_since is not None:
            if playing.timer is not None:
                playing.timer.cancel()
            playing.left_s -= now - playing.goes_on_since
            playing.goes_on_since = None
            if playing.run is not None:
                playing.run.stops.append((now, None))
        elif not is_stopped and playing.goes_on_since is None:
            playing.goes_on_since = now
            if playing.run is not None and playing.run.stops:
                playing.run.stops[-1] = playing.run.stops[-1][0], now
            if not playing.script.is_endless:
                playing.timer = threading.Timer(max(0.0, playing.left_s), self._finish, (playing,))
                playing.timer.start()

    def _finish(self, playing: Playing) -> None:
        with self._lock:
            if playing.goes_on_since is None or self._playing.pop(playing.uid, None) is None or playing.run is None:
                return
            code = playing.run.exit_code = playing.script.exit_code
            playing.run.ended = time.monotonic()
        self._try_end(playing.pod, code, f"exit_code={code}\nwalltime_s=1\ncpu_s=1\n{_times()}", playing.uid)

    def _break_off(self, uid: str) -> bool:
        """Whether there was a script to break off."""
        with self._lock:
            playing = self._playing.pop(uid, None)
            if playing is None or playing.run is None:
                return False
            if playing.timer is not None:
                playing.timer.cancel()
            playing.run.ended = time.monotonic()
            return True

    def _try_end(self, pod: str, code: int, message: str, uid: str = "") -> None:
        with suppress(NotFoundError, ConflictError):
            if not uid or self._registry.get(PODS, pod, NS)["metadata"]["uid"] == uid:
                self.end(pod, code, message)

    def _pods_of(self, number: int) -> list[Object]:
        found = self._registry.list(PODS, NS, labels=f"{JOB_ID_LABEL}={number}").items
        return [pod for pod in found if "deletionTimestamp" not in pod["metadata"]]

    # What befalls pods

    def lose_one(self, choose: Callable[[list[str]], str]) -> str | None:
        """Take a pod of a running job away as a lost node does; the name of the job, None where none runs."""
        return self._befall(choose, lambda pods: pods, self._lose)

    def fail_worker(self, choose: Callable[[list[str]], str]) -> str | None:
        """Let a pod other than the first of a running job end by itself."""
        return self._befall(choose, lambda pods: [pod for pod in pods if not pod.endswith(MASTER)], self._fail)

    def _befall(
        self,
        choose: Callable[[list[str]], str],
        among: Callable[[list[str]], list[str]],
        strike: Callable[[Playing, str], bool],
    ) -> str | None:
        with self._lock:
            victims = {
                pod["metadata"]["name"]: playing
                for playing in self._playing.values()
                for pod in self._pods_of(playing.number)
                if pod["status"].get("phase") == "Running"
            }
            pods = among(sorted(victims))
            if not pods:
                return None
            pod = choose(pods)
            playing = victims[pod]
            if not strike(playing, pod):
                return None
            playing.is_wounded = True
            if playing.run is not None:
                playing.run.is_wounded = True
            return playing.name

    def _lose(self, playing: Playing, pod: str) -> bool:
        if pod.endswith(MASTER):
            self._break_off(playing.uid)
        try:
            self._registry.delete(PODS, pod, NS, grace_period_s=0)
        except HpcBatchError:
            return False
        return True

    def _fail(self, playing: Playing, pod: str) -> bool:
        assert pod.startswith(job_name(playing.number))
        self._try_end(pod, 1, "reason=LaunchFailed\nmessage=sshd ended")
        return True

    # What the end of the play asks

    def going_on(self, name: str) -> list[Run]:
        """The runs of a job, or of members of an array, that are not stopped now."""
        with self._lock:
            playing = [one for one in self._playing.values() if one.name.partition("[")[0] == name]
            return [one.run for one in playing if one.run is not None and one.goes_on_since is not None]

    def wounded(self) -> list[Run]:
        """Runs that go on with a rank short."""
        return [run for run in list(self.log.runs) if run.is_wounded and run.ended is None]


def _times() -> str:
    """As a runner that was not killed reports them at its end."""
    now = int(time.time())
    return f"started={now}\nended={now}"
