"""The key `topology` of the site's file, and what it makes of a Volcano Job."""

from __future__ import annotations

import pytest

from hpcbatch.model.grouping import Grouping, Level, tier_label
from hpcbatch.model.site import SiteConfig
from hpcbatch.site.file import read_config
from tests.unit.site.test_file import HEAD, problems
from tests.unit.volcano.test_translate import placed, volcano_job

BODY = "topology: [{name: switch, label: site.example/leaf}, {name: rack, label: rack, tier: 2}]"
SITE = read_config(HEAD + BODY, defaults=SiteConfig())


def test_levels() -> None:
    (level,) = read_config(HEAD + "topology: [{name: pod, tier: 3}]", defaults=SiteConfig()).topology
    assert level == Level(name="pod", label=tier_label(3), tier=3)
    assert level.is_of_hypernodes
    assert not SITE.topology[1].is_of_hypernodes
    assert SITE.topology == (Level(name="switch", label="site.example/leaf"), Level(name="rack", label="rack", tier=2))


FAULTS = {
    "topology: [{label: x}]": "site.yaml:3:12: topology[0].name: missing",
    "topology: [{name: x}]": "site.yaml:3:12: topology[0].label: missing",
    "topology: [{name: 'a b', label: x}]": (
        "site.yaml:3:19: topology[0].name: expected a word such as switch or rack, found 'a b'"
    ),
    "topology: [{name: a, label: 'a b'}]": (
        "site.yaml:3:29: topology[0].label: expected the key of a label of nodes, [domain/]name, found 'a b'"
    ),
    "topology: [{name: a, label: x}, {name: a, label: y}]": ("site.yaml:3:40: topology[1].name: a second level 'a'"),
    "topology: [{name: a, tier: x}]": (
        "site.yaml:3:28: topology[0].tier: expected a whole number from 0 to 100, found 'x'"
    ),
    "topology: [{name: a, label: x, tier: -1}]": (
        "site.yaml:3:38: topology[0].tier: expected a whole number from 0 to 100, found '-1'"
    ),
}


@pytest.mark.parametrize("body", FAULTS)
def test_faults(body: str) -> None:
    assert problems(body, SiteConfig()) == [FAULTS[body]]


@pytest.mark.parametrize(
    ("grouping", "expected"),
    [
        (Grouping(level="rack"), {"mode": "hard", "highestTierAllowed": 2}),
        (Grouping(level="rack", wait_s=300), {"mode": "soft", "highestTierAllowed": 2}),
        (Grouping(level="rack", groups=2), None),
        (Grouping(level="switch"), None),
        (Grouping(level="row"), None),
        (None, None),
    ],
)
def test_volcano_is_told_of_tiers(grouping: Grouping | None, expected: dict[str, object] | None) -> None:
    assert volcano_job(placed(grouping=grouping), site=SITE)["spec"].get("networkTopology") == expected
