"""Which interactive jobs Kubernetes' own scheduler places."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import pytest

from hpcbatch.api.informer import Informer
from hpcbatch.controller.lone_pods import LonePods
from hpcbatch.controller.released import Released
from hpcbatch.model.interactive import Interactive
from hpcbatch.model.scheduler import Scheduler
from hpcbatch.model.site import SiteConfig
from hpcbatch.policy.lone_pod import given_to
from hpcbatch.policy.plan.snapshot import Place
from hpcbatch.policy.planned import BoundPod
from tests.unit.controller.test_plan_gate import Cache, job
from tests.unit.policy.test_lone_pod import volcano_job

SITE = SiteConfig(default_queue="q")


def released(number: int = 7, *, nodes: tuple[str, ...] = ("n0",), **changes: Any) -> Released:
    record = replace(job(number), spec=replace(job(number).spec, interactive=Interactive.SESSION))
    places = tuple(Place(part=0, node=node, count=1) for node in nodes)
    made = Released(record, None, places, 0.0, True)
    for name, value in changes.items():
        setattr(made, name, value)
    return made


def chosen(
    one: Released, *others: Released, site: SiteConfig = SITE, label: str = "os", queue: bool = True, **spec: Any
) -> str:
    queues, nodes = Cache(), Cache()
    if queue:
        queues.objects["", "q"] = {"metadata": {"name": "q"}, "spec": {}}
    nodes.objects["", "n0"] = {"metadata": {"name": "n0", "labels": {label: "x"}}}
    pods = LonePods(cast(Informer, queues), cast(Informer, nodes))
    return pods.scheduler_of(volcano_job(**spec), one, one.record, site, (one, *others))


BATCH = released()
BATCH.record = job(7)
BOUND = (BoundPod(job_id="8", node="n1", takes={}),)
OTHERS = [
    pytest.param((), "default-scheduler", id="none"),
    pytest.param((released(8),), "", id="waits for Volcano"),
    pytest.param((released(8, pods=BOUND),), "default-scheduler", id="has its nodes"),
    pytest.param((released(8, was_bound=True),), "default-scheduler", id="runs"),
    pytest.param((released(8, is_lone=True),), "default-scheduler", id="waits for the same scheduler"),
    pytest.param((released(8, is_stalled=True),), "default-scheduler", id="waits in vain"),
]


@pytest.mark.parametrize(("others", "name"), OTHERS)
def test_beside_others(others: tuple[Released, ...], name: str) -> None:
    assert chosen(released(), *others) == name


SITES = [
    pytest.param({"interactive_scheduler": "fast"}, "fast", id="another one"),
    pytest.param({"interactive_scheduler": "volcano"}, "", id="switched off"),
    pytest.param({"interactive_scheduler": "vc", "own_scheduler_name": "vc"}, "", id="switched off, another name"),
    *[pytest.param({"scheduler": one}, "", id=one.value) for one in Scheduler if one is not Scheduler.VOLCANO],
]


@pytest.mark.parametrize(("site", "name"), SITES)
def test_site(site: dict[str, Any], name: str) -> None:
    assert chosen(released(), site=replace(SITE, **site)) == name


def test_what_volcano_places_all_the_same() -> None:
    assert chosen(BATCH) == "", "nobody waits for its prompt"
    assert chosen(released(nodes=())) == "", "the plan has chosen no node"
    assert chosen(released(nodes=("n9",))) == "", "its node has just gone"
    assert chosen(released(), label="volcano.sh/revocable-zone") == ""
    assert chosen(released(), queue=False) == ""


def less(**changes: Any) -> Released:
    """A job of less priority than most, which has its nodes."""
    made = released(8, was_bound=True, **changes)
    made.record = replace(made.record, spec=replace(made.record.spec, priority=-1))
    return made


def test_no_job_of_less_priority_is_ended_for_it() -> None:
    there = (BoundPod(job_id="8", node="n0", takes={}),)
    assert chosen(released(), less()) == ""
    assert chosen(released(), less(nodes=(), pods=there)) == ""
    assert chosen(released(), less(nodes=("n1",))) == "default-scheduler"
    assert chosen(released(), less(), priorityClassName="hpcbatch-5") == "default-scheduler", "that ends no others"


def test_who_places_the_pod_is_what_the_volcano_job_says() -> None:
    """It may have been made before, by a controller that has ended since."""
    one = released(is_lone=True)
    one.take_note_of_job(one.record, None, 0.0)
    assert one.is_lone
    one.take_note_of_job(one.record, volcano_job(), 0.0)
    assert not one.is_lone
    one.take_note_of_job(one.record, given_to(volcano_job(), "default-scheduler"), 0.0)
    assert one.is_lone
