"""Queues of operators over those of the site's file."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from hpcbatch.api.queuelist import queues_from_json, queues_to_json
from hpcbatch.model.queue_fields import FIELDS, changed, shown_fields
from hpcbatch.model.queue_switches import Switches
from hpcbatch.model.row import QueueRow
from hpcbatch.model.site import QueueConfig, SiteConfig
from hpcbatch.site.partitions import with_partitions

DEBUG = QueueConfig(name="debug", volcano_queue="v", is_default=True, max_nodes=4, max_walltime_s=600)
NAMED = SiteConfig(default_queue="debug", queues=(DEBUG,))
UNNAMED = SiteConfig()


def entry(**keys: Any) -> str:
    return json.dumps(keys)


def test_a_change_goes_over_the_file() -> None:
    site, problems = with_partitions(NAMED, {"debug": entry(maxNodes=None, nodes=["n1"])})
    assert problems == ()
    assert site.queue("debug") == replace(DEBUG, max_nodes=None, nodes=("n1",))


@pytest.mark.parametrize("site", [NAMED, UNNAMED])
def test_a_queue_that_operators_make(site: SiteConfig) -> None:
    merged = with_partitions(site, {"p": entry(volcanoQueue="v", maxNodes=1, default=True)}).site
    made = QueueConfig(name="p", volcano_queue="v", max_nodes=1, is_default=True)
    assert (merged.queue("p"), merged.default_queue) == (made, "p")
    before = merged.queue(site.default_queue)
    assert before is not None
    assert not before.is_default
    rows = queues_from_json(queues_to_json(merged), {"v": Switches(), "default": Switches()})
    shown = next(row for row in rows if row.name == "p")
    assert (shown.is_default, shown.max_nodes, shown.volcano_queue) == (True, 1, "v")
    assert sum(row.is_default for row in rows) == 1


def test_a_queue_that_is_gone_from_the_file_stays_gone() -> None:
    assert with_partitions(NAMED, {"gone": entry(maxNodes=1)}).site == NAMED


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"x": 1}', '{"maxNodes": "many"}', '{"nodes": "n1"}', '{"hidden": 1}', '{"maxNodes": -1}']
)
def test_what_cannot_be_read_changes_nothing(text: str) -> None:
    site, problems = with_partitions(NAMED, {"debug": text})
    assert site == NAMED
    assert [problem.partition(":")[0] for problem in problems] == ["debug"]


def test_each_field_goes_there_and_back() -> None:
    values = {"_names": ["a", "b"], "_name": "low", "_switch": True, "_preempt_mode": "cancel"}
    full = {key: values.get(field.read.__name__, 7) for key, field in FIELDS.items()}
    queue = changed(QueueConfig(name="q", volcano_queue="v"), full)
    assert shown_fields(queue) == full
    assert {field.attribute for field in FIELDS.values()} <= set(QueueRow._fields)


def test_a_volcano_queue_that_is_gone_is_no_queue() -> None:
    text = queues_to_json(with_partitions(UNNAMED, {"gone": entry(maxNodes=1)}).site)
    assert [row.name for row in queues_from_json(text, {"default": Switches()})] == ["default"]
