"""Jobs that have only some of their nodes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hpcbatch.policy.observed import PodView, VolcanoJobView
from hpcbatch.volcano.report import RunReport


def pods(*nodes: str, report: RunReport | None = None) -> list[PodView]:
    found = [PodView(index=index, name=f"p{index}", node=node, cpus=1, phase="") for index, node in enumerate(nodes)]
    return (
        found
        if report is None
        else [
            PodView(index=0, name="p0", node=nodes[0], cpus=1, phase="", report=report),
            *found[1:],
        ]
    )


@pytest.mark.parametrize(
    ("seen", "in_part", "has_run", "lacks"),
    [
        pytest.param(pods("a", "b"), True, False, False, id="whole"),
        pytest.param(pods("a", ""), True, False, True, id="one waits"),
        pytest.param(pods("a"), True, False, True, id="one is not made yet"),
        pytest.param(pods(), True, False, True, id="none is made yet"),
        pytest.param(pods("a"), True, True, False, id="one is lost after the whole has run"),
        pytest.param(pods("a", report=RunReport(started=1)), True, False, False, id="the script has run"),
        pytest.param(pods("a", report=RunReport()), True, False, True, id="the runner ended before the script"),
        pytest.param([replace(pods("a")[0], has_word=True)], True, False, False, id="the script was let start"),
        pytest.param(pods("a", ""), False, False, False, id="Volcano places all or none"),
    ],
)
def test_who_lacks_nodes(seen: list[PodView], in_part: bool, has_run: bool, lacks: bool) -> None:
    job = VolcanoJobView(uid="u", phase="Pending", may_bind_in_part=in_part, has_run=has_run)
    assert job.lacks_nodes(seen, 2) is lacks
