"""Whose jobs are listed only for those who ask for all."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hpcbatch.api.names import QUEUES_KEY
from hpcbatch.client.queues import hidden_partitions

QUEUES = {
    "queues": [{"name": "a"}, {"name": "b", "hidden": True}, {"name": "R1", "hidden": True, "reservation": "R1"}],
    "operatorQueues": [{"name": "c", "hidden": True}],
}


class Api:
    def __init__(self, text: str, *, is_operator: bool) -> None:
        self._text, self._is_operator = text, is_operator

    def get(self, *_: Any) -> Any:
        return {"data": {QUEUES_KEY: self._text}}

    def create(self, *_: Any) -> Any:
        return {"status": {"allowed": self._is_operator}}


@pytest.mark.parametrize(
    ("body", "is_operator", "expected"),
    [(QUEUES, False, {"b", "c"}), (QUEUES, True, set()), ({"queues": [{"name": "a"}]}, False, set())],
    ids=["user", "operator", "none"],
)
def test_hidden_partitions(body: Any, is_operator: bool, expected: set[str]) -> None:
    api = Api(json.dumps(body), is_operator=is_operator)
    assert hidden_partitions(api) == expected  # type: ignore[arg-type]
