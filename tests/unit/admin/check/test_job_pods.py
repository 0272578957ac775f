"""Whether nodes can give jobs their users' groups alone."""

import pytest

from hpcbatch.admin.check.finding import Level
from hpcbatch.admin.check.job_pods import judge_groups
from tests.unit.admin.check.test_nodes import node


@pytest.mark.parametrize(
    ("old", "new", "level", "names"),
    [(0, 2, Level.OK, ""), (1, 2, Level.ERROR, "old0"), (5, 0, Level.ERROR, "old0, old1, old2 and 2 more")],
)
def test_nodes(old: int, new: int, level: Level, names: str) -> None:
    found = [node(f"old{number}") for number in range(old)]
    for number in range(new):
        found.append(node(f"new{number}"))
        found[-1]["status"]["features"] = {"supplementalGroupsPolicy": True}
    found.append(node("cordoned", unschedulable=True))
    finding = judge_groups(found)
    assert finding.level is level
    assert names in finding.seen
