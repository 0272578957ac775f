"""What a real etcd holds, behind a real kube-apiserver, while 100,000 jobs end; and with 100,000 records that stay."""

from __future__ import annotations

import base64
import json
import os
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.controller.rig import SITE, ControllerProcess, ended_like, namespaces, rig
from hpcbatch.api import kubeconfig
from hpcbatch.api.client import HttpApi
from hpcbatch.api.names import SYSTEM_NAMESPACE
from hpcbatch.api.port import Object
from hpcbatch.api.resources import BATCHJOBS, CONFIGMAPS, NAMESPACES
from tests.kube_api import ADMIN, KubeApi, kube_api
from tests.postgres import postgres
from tests.waiting import wait_for

JOBS, RATE, COMPACTION_S, _USUAL_COMPACTION_S = 100_000, 100.0, 36.0, 300.0
RECORDS, SURPLUS = 100_000, 2000
_ROOT = Path(__file__).parents[2]
_KEY = "/registry/hpcbatch.io/batchjobs"
_PARTS = {"batchjob": 1200, "volcanojob": 3000, "pod": 3500, "configmap": 3000, "secret": 600}
"""Bytes of a running job's objects, as docs/scale.md has them."""
_WRITES = 5
"""Of each of these, before it is deleted: with the record some 30 writes a job."""
_GROUP = 20
"""Jobs whose writes share a transaction; etcd takes 128 operations in one."""
_TELL_S, _LIMIT_S = 60.0, 3600.0


class Etcd:
    """By its JSON gateway."""

    def __init__(self, url: str) -> None:
        self._url = url

    def sizes_mib(self) -> tuple[float, float]:
        """Of the file, and of what is in use in it."""
        status = self._call("maintenance/status", {})
        return int(status["dbSize"]) / 2**20, int(status["dbSizeInUse"]) / 2**20

    def count(self, folder: str) -> int:
        end = f"{folder}0"  # the character after "/"
        found = self._call("kv/range", {"key": _text(f"{folder}/"), "range_end": _text(end), "count_only": True})
        return int(found.get("count", 0))

    def defragment(self) -> None:
        self._call("maintenance/defragment", {})

    def put(self, values: Sequence[tuple[str, str]]) -> None:
        """Keys, and values as base64 has them."""
        self._txn([{"requestPut": {"key": _text(key), "value": value}} for key, value in values])

    def delete(self, keys: Sequence[str]) -> None:
        self._txn([{"requestDeleteRange": {"key": _text(key)}} for key in keys])

    def _txn(self, operations: Sequence[Object]) -> None:
        self._call("kv/txn", {"success": operations})

    def _call(self, what: str, body: Object) -> Any:
        request = urllib.request.Request(f"{self._url}/v3/{what}", json.dumps(body).encode())
        with urllib.request.urlopen(request, timeout=120) as response:
            return json.load(response)


def main(jobs: int = JOBS, rate: float = RATE, compaction_s: float = COMPACTION_S) -> None:
    print(f"{jobs} jobs, {rate:.0f} a second, and a compaction every {compaction_s:.0f} s: as much between two")
    print(f"compactions as {rate * compaction_s / 300:.0f} jobs a second leave when it comes every 300 s")
    ended = like()
    with _kubernetes(compaction_s) as (api, etcd), postgres() as database:
        (api.directory / "dsn").write_text(database.dsn)
        record = installed(api, ended, RECORDS)
        _tell(etcd, "nothing but the installation")
        with _controller(api, "--history-dsn-file", str(api.directory / "dsn")) as controller:
            began = time.monotonic()
            _leave_jobs(etcd, record, jobs, rate)
            _tell(etcd, f"after the last of {jobs} jobs, {time.monotonic() - began:.0f} s", controller)
            wait_for("the move of all records", lambda: not etcd.count(_KEY), _LIMIT_S, every_s=1)
            _tell(etcd, f"all in PostgreSQL after {time.monotonic() - began:.0f} s", controller)
        _after_compactions(etcd, compaction_s)
    with _kubernetes(_USUAL_COMPACTION_S) as (api, etcd):
        record = installed(api, ended, RECORDS)
        fill(etcd, record, 0, RECORDS + SURPLUS)
        _tell(etcd, f"{RECORDS + SURPLUS} records, no history")
        _wait_seen(api, record, RECORDS + SURPLUS)
        with _controller(api) as controller:
            _tell(etcd, "and a controller that acts", controller)
            wait_for(f"{RECORDS} records", lambda: etcd.count(_KEY) <= RECORDS, _LIMIT_S, every_s=1)
            _tell(etcd, "the controller has removed the surplus", controller)


def _after_compactions(etcd: Etcd, compaction_s: float) -> None:
    time.sleep(2 * compaction_s + 5)
    _tell(etcd, "after two compactions")
    etcd.defragment()
    _tell(etcd, "after `etcdctl defrag`")


def _tell(etcd: Etcd, what: str, controller: ControllerProcess | None = None) -> None:
    size, used = etcd.sizes_mib()
    records = etcd.count(_KEY)
    memory = "" if controller is None else f"{controller.memory_mib():6.0f} MiB controller"
    print(f"  {what:45} {records:7} records, file {size:6.0f} MiB, in use {used:6.0f}{memory}", flush=True)


def like() -> Object:
    """The record of a job that has ended, and of which nothing else is left."""
    with rig(1, run_s=0.1) as running, running.controller():
        running.create(1)
        running.wait_cleaned(1)
        return dict(running.records()[0])


@contextmanager
def _kubernetes(compaction_s: float) -> Iterator[tuple[KubeApi, Etcd]]:
    with tempfile.TemporaryDirectory(prefix="hpcbatch-bench-") as directory:
        options = ("--etcd-compaction-interval", f"{compaction_s:.0f}s")
        with kube_api(Path(directory), (), options=options) as api:
            yield api, Etcd(api.etcd_url)


def installed(api: KubeApi, ended: Object, most: int) -> Object:
    """As far as records need it; returns `ended` as this API server keeps it."""
    for path in [*(_ROOT / "deploy/crd").glob("*.yaml"), *(_ROOT / "hpcbatch/engine/registry/crd").glob("*.yaml")]:
        api.kubectl("apply", "--server-side", "-f", path)
    api.kubectl("wait", "--for=condition=Established", "crd", "--all")
    client = _client(api)
    client.create(NAMESPACES, {"metadata": {"name": SYSTEM_NAMESPACE}})
    for namespace in namespaces():
        client.create(NAMESPACES, namespace)
    site = f"{SITE}historyMovedAfter: 0s\nmostRecords: {most}\n"
    client.create(CONFIGMAPS, {"metadata": {"name": "hpcbatch-site"}, "data": {"site.yaml": site}}, SYSTEM_NAMESPACE)
    user, name = ended["metadata"]["namespace"], ended["metadata"]["name"]
    fresh = {**ended, "metadata": {"name": name}}
    made = client.create(BATCHJOBS, fresh, user)
    kept = client.replace(BATCHJOBS, made | {"status": ended["status"]}, user, subresource="status")
    client.delete(BATCHJOBS, name, user)
    del kept["metadata"]["resourceVersion"]
    print(f"  a record has {len(json.dumps(kept, separators=(',', ':')))} bytes", flush=True)
    return kept


def _client(api: KubeApi) -> HttpApi:
    return HttpApi(kubeconfig.load({"KUBECONFIG": str(api.kubeconfig(ADMIN))}))


@contextmanager
def _controller(api: KubeApi, *options: str) -> Iterator[ControllerProcess]:
    log = api.directory / f"controller-{len(options)}.log"
    every = ("--no-leader-elect", "--history-port", "0")
    running = ControllerProcess(api.kubeconfig(ADMIN), log, *every, *options)
    try:
        wait_for("a controller that acts", lambda: "acting," in log.read_text(), 600)
        yield running
    finally:
        running.stop()


def _leave_jobs(etcd: Etcd, record: Object, jobs: int, rate: float) -> None:
    """All that jobs write in their lives, at that rate; what ends there is a record, as the API server keeps it."""
    parts = {part: base64.b64encode(os.urandom(size)).decode() for part, size in _PARTS.items()}
    began = told = time.monotonic()
    for first in range(0, jobs, _GROUP):
        group = range(first, first + _GROUP)
        keys = [(f"/played/{part}/{number}", value) for number in group for part, value in parts.items()]
        for _ in range(_WRITES):
            etcd.put(keys)
        for number in group:  # each by itself: whoever watches takes what one transaction writes for one change
            etcd.put([_entry(record, number)])
        etcd.delete([key for key, _ in keys])
        if time.monotonic() > told + _TELL_S:
            told = time.monotonic()
            _tell(etcd, f"{first + _GROUP} jobs, {(first + _GROUP) / (told - began):.0f} a second")
        time.sleep(max(0.0, began + (first + _GROUP) / rate - time.monotonic()))


def fill(etcd: Etcd, record: Object, first: int, count: int) -> None:
    for begin in range(first, first + count, 100):
        etcd.put([_entry(record, number) for number in range(begin, min(begin + 100, first + count))])


def _wait_seen(api: KubeApi, record: Object, number: int) -> None:
    """Until the API server's cache has the record that was put into etcd last: more were put there in a second than it
    takes of any changes.
    """
    metadata = ended_like(record, number)["metadata"]
    path = f"{BATCHJOBS.path(metadata['namespace'], metadata['name'])}?resourceVersion=0"

    def is_seen() -> bool:
        try:
            return bool(api.kubectl("get", "--raw", path))
        except AssertionError:
            return False

    wait_for("an API server that knows all records", is_seen, 600, every_s=1)


def _entry(record: Object, number: int) -> tuple[str, str]:
    obj = ended_like(record, number + 1)
    path = f"{_KEY}/{obj['metadata']['namespace']}/{obj['metadata']['name']}"
    return path, _text(json.dumps(obj, separators=(",", ":")))


def _text(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
