"""Volcano Jobs written by hand: a namespace of one's own, kubectl, vcctl, and a record of all that changes there.

The rig gives `volcano_env`, an environment that leads kubectl and vcctl to a cluster as one who may do everything in
it, and $HPCBATCH_TEST_IMAGE, an image of that cluster with sh, ssh and sshd (the embedded engine ignores images).
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import subprocess
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import pytest

from tests.waiting import wait_for

T = TypeVar("T")
Object = dict[str, Any]

IMAGE = os.environ.get("HPCBATCH_TEST_IMAGE", "localhost/mpi:1")
LIMIT_S = 80.0
_GET = ("kubectl", "get", "--raw")
WORKER = "trap 'exit 0' TERM; sleep 1000 & wait"
"""Runs until it is told to end, and then ends well."""


class Record:
    """Every state of the objects of one kind in one namespace, in their order, from a watch. `path` is their URL's.

    Each kind has a watch of its own, and one may tell later than another: what is asked of a record outside a `wait` is
    answered once it holds all that the API server does.
    """

    def __init__(self, env: Mapping[str, str], path: str) -> None:
        self._env, self._path = env, path
        self._changed = threading.Condition()
        self._is_waiting = False
        self._events: dict[str, list[tuple[str, Object]]] = defaultdict(list)
        begin = self._listed()
        for item in begin["items"]:
            self._events[item["metadata"]["name"]].append(("ADDED", item))
        url = f"{path}?watch=true&resourceVersion={_version(begin)}"
        self._process = subprocess.Popen([*_GET, url], env=env, stdout=subprocess.PIPE)
        self._thread = threading.Thread(target=self._read, name=f"record {path}", daemon=True)
        self._thread.start()

    def _listed(self) -> Object:
        found: Object = json.loads(subprocess.check_output([*_GET, self._path], env=self._env))
        return found

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            event = json.loads(line)
            with self._changed:
                self._events[event["object"]["metadata"]["name"]].append((event["type"], event["object"]))
                self._changed.notify_all()

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait()
        self._thread.join()

    def wait(self, what: str, condition: Callable[[], T], limit_s: float = LIMIT_S) -> T:
        """What `condition` answers once that is true, asked of what is there now and after each change."""
        self._catch_up()
        return self._wait(what, condition, limit_s)

    def _wait(self, what: str, condition: Callable[[], T], limit_s: float = LIMIT_S) -> T:
        with self._changed:
            self._is_waiting = True
            try:
                answer = self._changed.wait_for(condition, limit_s)
            finally:
                self._is_waiting = False
            assert answer, f"waited {limit_s:.0f} s in vain for {what}"
            return answer

    def _catch_up(self) -> None:
        if self._is_waiting:  # in its condition, which every change asks anew
            return
        listed = self._listed()
        versions = {item["metadata"]["name"]: _version(item) for item in listed["items"]}

        def has_all() -> bool:
            last = {name: events[-1] for name, events in self._events.items()}
            there = {name: _version(obj) for name, (kind, obj) in last.items() if kind != "DELETED"}
            return all(
                name in last and _version(last[name][1]) >= version for name, version in versions.items()
            ) and all(name in versions or version > _version(listed) for name, version in there.items())

        self._wait(f"the watch of {self._path} to tell all", has_all)

    def history(self, name: str) -> list[Object]:
        """All states, also those of former objects of that name."""
        self._catch_up()
        with self._changed:
            return [state for kind, state in self._events.get(name, ()) if kind != "DELETED"]

    def all(self) -> dict[str, Object]:
        """What is there now, by name."""
        self._catch_up()
        with self._changed:
            return {name: events[-1][1] for name, events in self._events.items() if events[-1][0] != "DELETED"}

    def is_gone(self, name: str) -> bool:
        """It was there, and is deleted."""
        self._catch_up()
        with self._changed:
            return name in self._events and self._events[name][-1][0] == "DELETED"


def _version(obj: Object) -> int:
    return int(obj["metadata"]["resourceVersion"])


class Volcano:
    """One namespace of a cluster. What is asked of jobs, pods and PodGroups comes from their records."""

    def __init__(self, env: Mapping[str, str], namespace: str) -> None:
        self.env, self.namespace = env, namespace
        self.run("kubectl", "create", "namespace", namespace)
        self.jobs, self.pod_record, self.groups = (
            Record(env, f"{group}/namespaces/{namespace}/{kind}")
            for group, kind in (
                ("/apis/batch.volcano.sh/v1alpha1", "jobs"),
                ("/api/v1", "pods"),
                ("/apis/scheduling.volcano.sh/v1beta1", "podgroups"),
            )
        )

    def close(self) -> None:
        for record in (self.jobs, self.pod_record, self.groups):
            record.stop()
        self.run("kubectl", "delete", "namespace", self.namespace, "--wait=false")

    def run(self, *argv: str, stdin: str = "", check: bool = True) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            argv, env=self.env, input=stdin, capture_output=True, text=True, timeout=LIMIT_S, check=False
        )
        if check and done.returncode:
            raise AssertionError(f"{argv} ended with {done.returncode}\n{done.stdout}{done.stderr}")
        return done

    def kubectl(self, *argv: str, stdin: str = "", check: bool = True) -> subprocess.CompletedProcess[str]:
        return self.run("kubectl", "-n", self.namespace, *argv, stdin=stdin, check=check)

    def vcctl(self, *argv: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """`argv` names the namespace itself: for queues -n means something else."""
        return self.run(vcctl_path(), *argv, check=check)

    def create(self, *objects: Object) -> None:
        items = json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)})
        self.kubectl("create", "-f", "-", stdin=items)

    def refusals(self, resource: str, objects: Mapping[str, Object]) -> dict[str, str]:
        """What the API says against each object, by key; "" where it takes it. Nothing is made: it is a dry run."""
        group = "batch.volcano.sh/v1alpha1" if resource == "jobs" else "scheduling.volcano.sh/v1beta1"
        place = f"namespaces/{self.namespace}/jobs" if resource == "jobs" else resource
        path = f"/apis/{group}/{place}?dryRun=All"

        def ask(obj: Object) -> str:
            done = self.kubectl("create", "--raw", path, "-f", "-", stdin=json.dumps(obj), check=False)
            return done.stderr.rstrip("\n").removeprefix("Error from server: ") if done.returncode else ""

        with ThreadPoolExecutor(4) as pool:
            return dict(zip(objects, pool.map(ask, objects.values()), strict=True))

    def get(self, kind: str, name: str) -> Object:
        obj: Object = json.loads(self.kubectl("get", kind, name, "-o", "json").stdout)
        return obj

    def names(self, kind: str) -> set[str]:
        lines = self.kubectl("get", kind, "-o", "name").stdout.splitlines()
        return {line.rpartition("/")[2] for line in lines}

    def events(self, name: str, kind: str = "Job") -> list[str]:
        """`<type> <reason> <message>` of the events on an object, oldest first."""
        selector = f"involvedObject.name={name},involvedObject.kind={kind}"
        items = json.loads(self.kubectl("get", "events", "--field-selector", selector, "-o", "json").stdout)["items"]
        items.sort(key=lambda item: item["firstTimestamp"])
        return [f"{item['type']} {item['reason']} {item['message']}" for item in items]

    def wait_event(self, name: str, kind: str, text: str) -> None:
        """Wait for an event on an object; `text` as in `events`."""
        wait_for(f"event {text!r} on {kind} {name}", lambda: text in self.events(name, kind), LIMIT_S, every_s=0.2)

    def logs(self, pod: str) -> str:
        return self.kubectl("logs", pod).stdout

    # Jobs

    def job(self, name: str) -> Object:
        return self.jobs.all()[name]

    def phase(self, name: str) -> str:
        return phase(self.jobs.all().get(name, {}))

    def wait_phase(self, name: str, wanted: str, limit_s: float = LIMIT_S) -> Object:
        """The job as it is when it comes into that phase (or is in it)."""

        def reached() -> Object | None:
            job = self.jobs.all().get(name, {})
            return job if phase(job) == wanted else None

        try:
            found = self.jobs.wait(f"job {name} to be {wanted}", reached, limit_s)
        except AssertionError as error:
            shown = json.dumps(self.jobs.all().get(name, {}).get("status"))
            raise AssertionError(f"{error}\n{shown}\n{self.pod_phases(name)}\n{self.events(name)}") from None
        assert found is not None
        return found

    def pods(self, job: str) -> dict[str, Object]:
        """The pods of a job that are there, by name without the job's."""
        return {
            name.removeprefix(f"{job}-"): pod
            for name, pod in self.pod_record.all().items()
            if (pod["metadata"].get("labels") or {}).get("volcano.sh/job-name") == job
        }

    def pod_phases(self, job: str) -> dict[str, str]:
        return {name: pod["status"].get("phase", "") for name, pod in self.pods(job).items()}

    def wait_pods(self, job: str, wanted: Mapping[str, str]) -> dict[str, Object]:
        """Wait until exactly these pods are there, in these phases."""
        what = f"the pods of {job} to be {wanted}"
        try:
            self.pod_record.wait(what, lambda: self.pod_phases(job) == wanted)
        except AssertionError as error:
            raise AssertionError(f"{error}; they are {self.pod_phases(job)}") from None
        return self.pods(job)

    def incarnations(self, pod: str) -> int:
        """How many pods of this name there have been."""
        return len({state["metadata"]["uid"] for state in self.pod_record.history(pod)})

    def group(self, job: str) -> Object | None:
        """The job's PodGroup, if there is one."""
        return self.groups.all().get(f"{job}-{self.job(job)['metadata']['uid']}")

    def wait_group(self, job: str, what: str, condition: Callable[[Object], Any]) -> Object:
        def reached() -> Object | None:
            found = self.group(job) if job in self.jobs.all() else None
            return found if found is not None and condition(found) else None

        found = self.groups.wait(f"the PodGroup of {job}: {what}", reached)
        assert found is not None
        return found

    def command(self, job: str, action: str) -> None:
        """Make a Command, as vcctl does."""
        meta = self.job(job)["metadata"]
        target = {
            "apiVersion": "batch.volcano.sh/v1alpha1",
            "kind": "Job",
            "name": job,
            "uid": meta["uid"],
            "controller": True,
            "blockOwnerDeletion": True,
        }
        self.create(
            {
                "apiVersion": "bus.volcano.sh/v1alpha1",
                "kind": "Command",
                "action": action,
                "target": target,
                "metadata": {"generateName": f"{job}-{action.lower()}-", "ownerReferences": [target]},
            }
        )


def phase(job: Object) -> str:
    return str(((job.get("status") or {}).get("state") or {}).get("phase", ""))


def phases(job: Object) -> list[str]:
    """The phases in the order they were entered last. (Volcano keeps an entry for each write, the engine the last.)"""
    seen = [entry["status"] for entry in job["status"]["conditions"]]
    return [name for index, name in enumerate(seen) if name not in seen[index + 1 :]]


def task(
    name: str,
    command: str,
    replicas: int = 1,
    *,
    cpu: str = "50m",
    pod: Mapping[str, Any] | None = None,
    container: Mapping[str, Any] | None = None,
    metadata: Mapping[str, Any] | None = None,
    **more: Any,
) -> Object:
    """A task whose pods run `command` in sh. `more` are fields of the task, `pod` and `container` of what it makes."""
    main = {
        "name": "main",
        "image": IMAGE,
        "imagePullPolicy": "IfNotPresent",
        "command": ["sh", "-c", command],
        "resources": {"requests": {"cpu": cpu}},
        **(container or {}),
    }
    spec = {"restartPolicy": "Never", "terminationGracePeriodSeconds": 1, "containers": [main], **(pod or {})}
    template = {"metadata": metadata, "spec": spec} if metadata else {"spec": spec}
    return {"name": name, "replicas": replicas, "template": template, **more}


def job(
    name: str,
    *tasks: Object,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    **spec: Any,
) -> Object:
    metadata: Object = {"name": name}
    if labels:
        metadata["labels"] = dict(labels)
    if annotations:
        metadata["annotations"] = dict(annotations)
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": metadata,
        "spec": {"tasks": list(tasks), **spec},
    }


def queue(name: str, **spec: Any) -> Object:
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": name},
        "spec": spec,
    }


def on(event: str, action: str, **more: Any) -> Object:
    """A lifecycle policy."""
    return {"event": event, "action": action, **more}


def on_exit(code: int, action: str) -> Object:
    return {"exitCode": code, "action": action}


def vcctl_path() -> str:
    """Volcano's own client, which `make cluster` builds from the same Go module as the rest of Volcano."""
    from tests.cluster import binaries

    built = binaries.cache_dir() / f"volcano-{binaries.checksum(binaries.VOLCANO)}" / "vcctl"
    found = os.environ.get("HPCBATCH_TEST_VCCTL") or shutil.which("vcctl") or (str(built) if built.exists() else "")
    if not found:
        pytest.skip("no vcctl: `make cluster` builds it, or set HPCBATCH_TEST_VCCTL")
    return found


@pytest.fixture(scope="module")
def volcano(volcano_env: Mapping[str, str], request: pytest.FixtureRequest) -> Iterator[Volcano]:
    """A fresh namespace for each module, so that all jobs of a module can run at once."""
    words: Sequence[str] = str(request.module.__name__).rpartition(".")[2].removeprefix("test_").split("_")
    site = Volcano(volcano_env, f"try-{'-'.join(words)}-{secrets.token_hex(2)}")
    yield site
    site.close()
