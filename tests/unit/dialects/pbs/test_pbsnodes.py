from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from hpcbatch.dialects.pbs import usage
from hpcbatch.dialects.pbs.errors import PbsError, PbsUsageError, describe
from hpcbatch.dialects.pbs.pbsnodes import (
    PbsnodesOptions,
    format_marked,
    format_nodes,
    format_nodes_dsv,
    format_nodes_json,
    format_summary,
    node_state,
    parse_pbsnodes,
    unknown_node,
)
from hpcbatch.dialects.pbs.qstat_options import Format
from hpcbatch.model.row import NodeRow

from .jobs import recorded

NODE = NodeRow(
    name="pbs1",
    ready=True,
    schedulable=True,
    cpus=2,
    mem_bytes=24684092 << 10,
    cpus_used=0,
    mem_used_bytes=0,
    since=datetime(2026, 11, 21, 2, 46, 51, tzinfo=UTC),
)
BUSY = NODE._replace(cpus_used=2, mem_used_bytes=1 << 30, jobs=("85", "86"))
NOW = datetime.fromtimestamp(1795229687, UTC)


def without_last_use(text: str) -> str:
    """The API does not tell when a node was last used."""
    lines = text.splitlines(keepends=True)
    kept = [line for line in lines if "last_used_time" not in line]
    return "".join(kept).replace("1795229211,\n\t\t}", "1795229211\n\t\t}")


def test_outputs_are_the_recorded_ones() -> None:
    assert format_nodes([NODE], server="pbs1", timezone=UTC) == without_last_use(recorded("pbsnodes_a.txt"))
    assert format_nodes_json([NODE], now=NOW, server="pbs1") == without_last_use(recorded("pbsnodes_json.txt"))
    assert format_summary([NODE]) == recorded("pbsnodes_S.txt")
    assert format_summary([NODE], jobs=True) == recorded("pbsnodes_Sj.txt")


def test_busy_node() -> None:
    text = format_nodes([BUSY], server="pbs1", timezone=UTC)
    assert "     state = job-busy\n     pcpus = 2\n     jobs = 85.pbs1/0, 86.pbs1/1\n" in text
    assert "     resources_assigned.mem = 1048576kb\n" in text
    node = json.loads(format_nodes_json([BUSY], now=NOW, server="pbs1"))["nodes"]["pbs1"]
    assert node["jobs"] == ["85.pbs1", "86.pbs1"]
    assert node["resources_assigned"] == {"mem": "1048576kb", "ncpus": 2}
    assert "|jobs=85.pbs1/0,86.pbs1/1|" in format_nodes_dsv([BUSY], server="pbs1", timezone=UTC)
    assert format_summary([BUSY], jobs=True).endswith(
        "job-busy             2     2      0    23gb/24gb     0/2     0/0     0/0 85,86\n"
    )


def test_short_json() -> None:
    short = json.loads(format_nodes_json([BUSY], now=NOW, server="pbs1", summary=True))["nodes"]["pbs1"]
    assert (short["State"], short["Memory"], short["ncpus"]) == ("job-busy", "24gb", 2)
    jobs = json.loads(format_nodes_json([BUSY], now=NOW, server="pbs1", summary=True, jobs=True))["nodes"]["pbs1"]
    assert (jobs["Total Jobs"], jobs["ncpus f/t"], jobs["jobs"]) == (2, "0/2", ["85.pbs1", "86.pbs1"])


@pytest.mark.parametrize(
    ("changes", "state"),
    [
        ({}, "free"),
        ({"cpus_used": 2}, "job-busy"),
        ({"ready": False}, "down"),
        ({"schedulable": False}, "offline"),
        ({"ready": False, "schedulable": False, "cpus_used": 2}, "down,offline"),
        ({"cpus": 0}, "free"),
    ],
)
def test_states(changes: dict[str, object], state: str) -> None:
    assert node_state(NODE._replace(**changes)) == state  # type: ignore[arg-type]


def test_marked_nodes() -> None:
    down = NODE._replace(name="n2", ready=False)
    assert format_marked([NODE, down]) == f"{'n2':<20} down \n"


def test_unknown_node() -> None:
    assert unknown_node("nosuch") == "Node: nosuch,  Error: Unknown node "
    text = format_nodes_json([], now=NOW, server="pbs1", unknown=["x"])
    assert json.loads(text)["nodes"] == {"x": {"x": "Unknown node "}}


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        (("-a",), PbsnodesOptions(all=True)),
        (("n1", "n2"), PbsnodesOptions(names=("n1", "n2"))),
        (("-H", "n1"), PbsnodesOptions(names=("n1",))),
        (("-v", "n1"), PbsnodesOptions(names=("n1",))),
        (("-av",), PbsnodesOptions(all=True)),
        (("-l",), PbsnodesOptions(marked=True)),
        (("-aSj", "-F", "json"), PbsnodesOptions(all=True, summary=True, jobs=True, format=Format.JSON)),
        (("-aSL",), PbsnodesOptions(all=True, summary=True, long=True)),
        (("-a", "-F", "dsv", "-D", ","), PbsnodesOptions(all=True, format=Format.DSV, delimiter=",")),
    ],
)
def test_options(argv: tuple[str, ...], expected: PbsnodesOptions) -> None:
    assert parse_pbsnodes(argv) == expected


@pytest.mark.parametrize(
    "argv",
    [
        (),
        ("-l", "n1"),
        ("-S",),
        ("-H",),
        ("-a", "-l"),
        ("-F", "xml", "-a"),
        ("-o",),
        ("-v",),
        ("-j",),
        ("-or", "n1"),
        ("-ao", "n1"),
    ],
)
def test_usage(argv: tuple[str, ...]) -> None:
    with pytest.raises(PbsUsageError) as caught:
        parse_pbsnodes(argv)
    assert describe(caught.value, "pbsnodes") == (usage.PBSNODES, 1)


@pytest.mark.parametrize(
    ("argv", "offline", "comment"),
    [
        (("-o", "n1"), True, None),
        (("-o", "-C", "a b", "n1"), True, "a b"),
        (("-C", "a", "-r", "n1"), False, "a"),
        (("-c", "n1"), False, None),
        (("-C", "", "n1"), None, ""),
        (("-C", "x" * 100, "n1"), None, "x" * 79),
    ],
)
def test_changes(argv: tuple[str, ...], offline: bool | None, comment: str | None) -> None:
    options = parse_pbsnodes(argv)
    assert options.is_change
    assert (options.offline, options.comment, options.names) == (offline, comment, ("n1",))


def test_a_comment_is_shown() -> None:
    node = NODE._replace(comment="bad, disk", schedulable=False)
    assert "     comment = bad, disk\n" in format_nodes([node])
    assert "|comment=bad,disk|" in format_nodes_dsv([node])
    assert format_marked([node]) == "pbs1                 offline bad, disk\n"
    assert format_summary([node]).endswith(" bad, disk\n")
    assert json.loads(format_nodes_json([node], now=NOW, server="pbs1"))["nodes"]["pbs1"]["comment"] == "bad, disk"


def test_a_node_that_is_down_is_the_kubelets() -> None:
    with pytest.raises(PbsError) as caught:
        parse_pbsnodes(("-d", "n1"))
    text = "pbsnodes: Unauthorized Request\npbsnodes: whether a node is down is for its kubelet to say"
    assert describe(caught.value, "pbsnodes") == (text, 159)
