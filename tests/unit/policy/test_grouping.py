"""Jobs whose nodes are near each other: what the dialects ask for, and the ways to run that follow."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from hpcbatch.model.grouping import Grouping, Level
from hpcbatch.model.site import Policy, SiteConfig
from hpcbatch.model.spec import Arrangement, JobSpec
from hpcbatch.policy.grouping import MOST_CHOICES, choices, groups_of, until_s
from hpcbatch.policy.plan.snapshot import LabelTest, Part, Shape
from hpcbatch.policy.vocabulary import translate
from tests.unit.policy.test_accelerators import read
from tests.unit.policy.test_planned import job

SWITCH, RACK = Level(name="switch", label="net/switch"), Level(name="rack", label="net/rack", tier=2)
SITE = SiteConfig(topology=(SWITCH, RACK))
SHAPE = Shape(parts=(Part(count=2, needs={"cpu": 1}),))


@pytest.mark.parametrize(
    ("dialect", "options", "expected"),
    [
        ("slurm", "--switches=1", Grouping(wait_s=300)),
        ("slurm", "--switches=2@10", Grouping(groups=2, wait_s=600)),
        ("slurm", "--switches=1@1-00:00:00", Grouping(wait_s=86400)),
        ("slurm", "--switches=1@00:00:01", Grouping(wait_s=1)),
        ("slurm", "--switches=1@0", Grouping(wait_s=0)),
        ("slurm", "--switches=1@infinite", Grouping()),
        ("pbs", "-l select=2 -l place=group=rack", Grouping(level="rack")),
        ("pbs", "-l select=2 -l place=scatter:excl:group=switch", Grouping(level="switch")),
        ("lsf", '-R "cu[type=rack:maxcus=2]"', Grouping(level="rack", groups=2)),
        ("lsf", '-R "cu[maxcus=1]"', Grouping()),
        ("lsf", '-R "cu[pref=maxavail]"', None),
        ("slurm", "-n 1", None),
    ],
)
def test_what_the_dialects_ask_for(dialect: str, options: str, expected: Grouping | None) -> None:
    assert read(dialect, options).grouping == expected


def test_pbs_s_group_by_host_is_one_node() -> None:
    spec = read("pbs", "-l select=2 -l place=group=host")
    assert (spec.grouping, spec.arrangement) == (None, Arrangement.PACK)


@pytest.mark.parametrize(
    ("level", "topology", "told"),
    [
        ("", (), "nodes near each other, by switch: the site does not say which nodes are near each other"),
        ("row", (SWITCH, RACK), "nodes near each other, row: there are: switch, rack"),
        ("rack", (SWITCH, RACK), ""),
        ("", (SWITCH, RACK), ""),
    ],
)
def test_a_site_without_that_level_says_so(level: str, topology: tuple[Level, ...], told: str) -> None:
    spec = JobSpec(dialect="slurm", name="x", grouping=Grouping(level=level))
    found = translate(spec, SiteConfig(topology=topology), ())
    assert found.ignored == ((told,) if told else ())


@pytest.mark.parametrize(
    ("grouping", "is_kept"),
    [(Grouping(level="rack"), True), (Grouping(level="rack", groups=2), False), (Grouping(), False)],
)
def test_without_a_plan_only_volcano_s_own_groups_count(grouping: Grouping, is_kept: bool) -> None:
    spec = JobSpec(dialect="slurm", name="x", grouping=grouping)
    found = translate(spec, SiteConfig(topology=(SWITCH, RACK), policy=Policy.VOLCANO), ())
    why = "with policy: volcano one group of a level with a tier can be asked for"
    assert found.ignored == (() if is_kept else (f"nodes near each other, {grouping.level or 'by switch'}: {why}",))


def test_the_lowest_level_is_meant_where_none_is_named() -> None:
    assert SITE.level_of(Grouping()) == SWITCH
    assert SITE.level_of(Grouping(level="rack")) == RACK
    assert SITE.level_of(Grouping(level="row")) is None
    assert SITE.level_of(None) is None


def test_groups_are_the_values_of_the_label() -> None:
    assert groups_of("net/switch", [{"net/switch": "b"}, {}, {"net/switch": "a"}, {"net/switch": "b"}]) == ("a", "b")


def values(shapes: tuple[Shape, ...]) -> list[set[str]]:
    return [{value for term in shape.parts[0].terms for test in term for value in test.values} for shape in shapes]


def test_each_choice_of_groups_is_a_way_to_run() -> None:
    one = choices(SHAPE, Grouping(), "net/switch", ("a", "b", "c"), any_will_do=False)
    assert values(one) == [{"a"}, {"b"}, {"c"}]
    two = choices(SHAPE, Grouping(groups=2), "net/switch", ("a", "b", "c"), any_will_do=False)
    assert values(two) == [{"a", "b"}, {"a", "c"}, {"b", "c"}]
    assert choices(SHAPE, Grouping(groups=3), "net/switch", ("a", "b", "c"), any_will_do=False) == (SHAPE,)


def test_who_has_waited_long_enough_may_have_any_nodes() -> None:
    assert choices(SHAPE, Grouping(), "net/switch", ("a", "b"), any_will_do=True)[-1] == SHAPE
    assert choices(SHAPE, Grouping(), "net/switch", (), any_will_do=True)[-1] == SHAPE
    assert values(choices(SHAPE, Grouping(), "net/switch", (), any_will_do=False)) == [set()]


def test_there_are_not_too_many_choices() -> None:
    groups = tuple(f"{number:03}" for number in range(100))
    assert len(choices(SHAPE, Grouping(groups=3), "net/switch", groups, any_will_do=False)) == MOST_CHOICES


def test_what_a_part_asks_of_its_nodes_stays() -> None:
    tests = (LabelTest(key="cpu", values=frozenset({"x"})), LabelTest(key="cpu", values=frozenset({"y"})))
    shape = Shape(parts=(Part(count=1, needs={"cpu": 1}, terms=((tests[0],), (tests[1],))),))
    (found,) = choices(shape, Grouping(), "net/switch", ("a", "b"), any_will_do=False)[:1]
    near = LabelTest(key="net/switch", values=frozenset({"a"}))
    assert found.parts[0].terms == ((tests[0], near), (tests[1], near))


def test_how_long_a_job_waits_for_its_groups() -> None:
    noon = datetime(2026, 1, 1, 12, tzinfo=UTC)

    def until(grouping: Grouping | None, begin: datetime | None = None) -> float | None:
        record = job(grouping=grouping, begin_time=begin)
        return until_s(replace(record, status=replace(record.status, eligible_time=noon)))

    assert until(Grouping(wait_s=300)) == noon.timestamp() + 300
    assert until(Grouping(wait_s=300), noon + timedelta(hours=1)) == noon.timestamp() + 3900
    assert until(Grouping()) is None
    assert until(None) is None
