"""Job numbers: each is given once, and many that are wanted at once take few writes."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from hpcbatch.api.names import SYSTEM_NAMESPACE
from hpcbatch.api.port import Object
from hpcbatch.api.resources import CONFIGMAPS, Resource
from hpcbatch.controller.numbers import JobNumbers
from hpcbatch.engine.registry.registry import Registry
from hpcbatch.engine.registry.store import Store
from hpcbatch.errors import ApiError
from tests.waiting import wait_for

THREADS = 20


class Slow(Registry):
    """Counts writes, and holds each back until it `may_go`."""

    def __init__(self) -> None:
        super().__init__(Store(":memory:"))
        self.install_builtin()
        self.writes, self.fails = 0, False
        self.may_go = threading.Event()

    def replace(
        self, resource: Resource, obj: Mapping[str, Any], namespace: str | None = None, *, subresource: str = ""
    ) -> Object:
        self.writes += 1
        self.may_go.wait(60)
        if self.fails:
            raise ApiError(500, "InternalError", "etcdserver: no space")
        return super().replace(resource, obj, namespace, subresource=subresource)


def test_threads_that_ask_meanwhile_share_a_write() -> None:
    api = Slow()
    numbers = JobNumbers(api)
    with ThreadPoolExecutor(THREADS) as pool:
        first = pool.submit(numbers.take)
        wait_for("the first write", lambda: api.writes == 1)
        others = [pool.submit(numbers.take) for _ in range(THREADS - 1)]
        wait_for("all to ask", lambda: numbers.waiting == THREADS)
        api.may_go.set()
        taken = [first.result(), *(other.result() for other in others)]
    assert sorted(taken) == list(range(1, THREADS + 1))
    assert api.writes == 2
    assert list(numbers.take_many(3)) == [THREADS + 1, THREADS + 2, THREADS + 3]
    assert numbers.take() == THREADS + 4, "nothing was taken for nobody"
    assert api.get(CONFIGMAPS, "job-numbers", SYSTEM_NAMESPACE)["data"]["last"] == str(THREADS + 4)


def test_what_cannot_be_written_is_given_to_nobody() -> None:
    api = Slow()
    api.may_go.set()
    numbers = JobNumbers(api)
    assert numbers.take() == 1
    api.fails = True
    with pytest.raises(ApiError, match="no space"):
        numbers.take()
    api.fails = False
    assert numbers.take() == 2
