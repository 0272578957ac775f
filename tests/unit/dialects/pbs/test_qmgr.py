"""What qmgr shows, and what it changes. The outputs of queue workq were recorded from OpenPBS 23.06.06."""

from __future__ import annotations

import pytest

from hpcbatch.dialects.pbs.qmgr_attributes import Kind
from hpcbatch.dialects.pbs.qmgr_change import (
    NodeChange,
    QmgrError,
    QueueChange,
    check_attributes,
    new_settings,
    node_change,
    not_here,
    queue_change,
    scheduling_change,
)
from hpcbatch.dialects.pbs.qmgr_help import help_on
from hpcbatch.dialects.pbs.qmgr_parse import Setting, Verb
from hpcbatch.dialects.pbs.qmgr_show import flat, format_list, format_print
from hpcbatch.dialects.pbs.qstat_queues import JobCounts, queue_attributes
from hpcbatch.model.row import QueueRow

WORKQ = flat(queue_attributes(QueueRow(name="workq", is_default=True, is_open=True), JobCounts()))
LISTED = """\
Queue workq
    queue_type = Execution
    total_jobs = 0
    state_count = Transit:0 Queued:0 Held:0 Waiting:0 Running:0 Exiting:0 Begun:0 
    resources_assigned.mem = 0mb
    resources_assigned.mpiprocs = 0
    resources_assigned.ncpus = 0
    resources_assigned.nodect = 0
    enabled = True
    started = True

"""  # noqa: W291
PRINTED = """\
#
# Create queues and set their attributes.
#
#
# Create and define queue workq
#
create queue workq
set queue workq queue_type = Execution
set queue workq enabled = True
set queue workq started = True
"""


def test_recorded() -> None:
    # as in qstat, nothing is known here of the processes of MPI jobs
    assert format_list(Kind.QUEUE, {"workq": WORKQ}) == LISTED.replace("    resources_assigned.mpiprocs = 0\n", "")
    assert format_print(Kind.QUEUE, {"workq": WORKQ}) == PRINTED


def test_long_values_are_broken() -> None:
    text = format_list(Kind.SERVER, {"s": [("acl_hosts", ",".join(f"host{n:04}.example" for n in range(5)))]})
    assert text.splitlines()[1:] == [
        "    acl_hosts = host0000.example,host0001.example,host0002.example,",
        "\thost0003.example,",
        "\thost0004.example",
        "",
    ]


def test_print_quotes() -> None:
    node = [
        ("Mom", "n1"),
        ("state", "down,offline"),
        ("comment", 'a "b", c'),
        ("resources_available.x", "a,b"),
        ("license", "l"),
    ]
    assert format_print(Kind.NODE, {"n1": node}).splitlines()[6:] == [
        "create node n1",
        "set node n1 comment = 'a \"b\", c'",
        "set node n1 resources_available.x = a",
        "set node n1 resources_available.x += b",
    ]


def test_selected() -> None:
    assert flat([("a", "1"), ("r", {"x": "2", "y": "3"})], [Setting("r", "y"), Setting("a")]) == [
        ("a", "1"),
        ("r.y", "3"),
    ]
    assert flat([("a", "1"), ("r", {"x": "2", "y": "3"})], [Setting("r")]) == [("r.x", "2"), ("r.y", "3")]


def test_queue_changes() -> None:
    settings = [Setting("enabled", value="T"), Setting("started", value="0"), Setting("queue_type", value="e")]
    assert queue_change(settings, Verb.SET) == QueueChange(True, False)
    assert queue_change([Setting("enabled")], Verb.UNSET) == QueueChange(False, None)
    limits = [Setting("resources_max", "walltime", value="1:00:00"), Setting("default_chunk", "mem", value="1gb")]
    values = {"maxWalltimeSeconds": 3600, "defaultMemoryPerNodeBytes": 1 << 30}
    assert queue_change(limits, Verb.SET) == QueueChange(limits=values)
    for value in ("150", "-1024"):
        assert queue_change([Setting("Priority", value=value)], Verb.SET).limits == {"priority": int(value)}
    assert queue_change([Setting("Priority")], Verb.UNSET) == QueueChange(limits={"priority": None})
    assert queue_change([Setting("resources_max", "ncpus")], Verb.UNSET) == QueueChange(limits={"maxCPUs": None})


def test_node_changes() -> None:
    assert node_change([Setting("state", op="+=", value="offline"), Setting("comment", value="x")], Verb.SET) == (
        True,
        "x",
    )
    assert node_change([Setting("state", value="free")], Verb.SET) == NodeChange(False, None)
    assert node_change([Setting("state", op="-=", value="offline")], Verb.SET) == NodeChange(False, None)
    assert node_change([Setting("comment")], Verb.UNSET) == NodeChange(None, "")


@pytest.mark.parametrize(
    ("change", "setting", "number", "text"),
    [
        (queue_change, Setting("enabled", value="perhaps"), 15014, "Illegal attribute or resource value  enabled"),
        (queue_change, Setting("Priority", value="1024"), 15014, "Illegal attribute or resource value  Priority"),
        (queue_change, Setting("Priority", value="high"), 15014, "Illegal attribute or resource value  Priority"),
        (queue_change, Setting("queue_type", value="Rest"), 15014, "Illegal attribute or resource value  queue_type"),
        (queue_change, Setting("route_destinations", value="a"), 15026, "Incompatible type"),
        (
            queue_change,
            Setting("resources_max", "nodect", value="many"),
            15014,
            "Illegal attribute or resource value  resources_max.nodect",
        ),
        (
            queue_change,
            Setting("resources_max", "vmem", value="1gb"),
            15003,
            "Cannot set attribute, read only or insufficient permission  resources_max.vmem",
        ),
        (
            queue_change,
            Setting("total_jobs", value="1"),
            15003,
            "Cannot set attribute, read only or insufficient permission  total_jobs",
        ),
        (queue_change, Setting("foo", value="1"), 15002, "Undefined attribute  foo"),
        (node_change, Setting("state", value="down"), 15014, "Illegal attribute or resource value  state"),
        (node_change, Setting("foo", value="1"), 15002, "Undefined attribute  foo"),
    ],
)
def test_refused(change: object, setting: Setting, number: int, text: str) -> None:
    assert callable(change)
    with pytest.raises(QmgrError) as caught:
        change([setting], Verb.SET)
    assert (caught.value.number, caught.value.text) == (number, text)


@pytest.mark.parametrize(
    ("settings", "verb", "now", "then"),
    [
        (
            [Setting("route_destinations", value="a,b"), Setting("queue_type", value="Route")],
            Verb.SET,
            None,
            ["a", "b"],
        ),
        ([Setting("route_destinations", op="+=", value="c")], Verb.SET, ("a", "b"), ["a", "b", "c"]),
        ([Setting("route_destinations", op="-=", value="a")], Verb.SET, ("a", "b"), ["b"]),
        ([Setting("route_destinations")], Verb.UNSET, ("a", "b"), []),
        ([Setting("queue_type", value="e")], Verb.SET, ("a",), None),
    ],
    ids=["a new one", "one more", "one less", "none", "no routing queue any more"],
)
def test_destinations(settings: list[Setting], verb: Verb, now: tuple[str, ...] | None, then: list[str] | None) -> None:
    assert queue_change(settings, verb, now).limits == {"destinations": then}


def test_a_destination_is_of_this_server() -> None:
    with pytest.raises(QmgrError):
        queue_change([Setting("route_destinations", value="a@b")], Verb.SET, ())


def test_scheduling() -> None:
    assert scheduling_change([Setting("scheduling", value="false")], Verb.SET) is False
    for setting, verb in ((Setting("scheduling"), Verb.UNSET), (Setting("managers", value="x"), Verb.SET)):
        with pytest.raises(QmgrError):
            scheduling_change([setting], verb)


def test_other_objects() -> None:
    assert not_here(Kind.SERVER, [Setting("managers", value="x")]).number == 15003
    assert "ClusterRole" in not_here(Kind.SERVER, [Setting("managers", value="x")]).note
    for name in ("default_queue", "job_sort_formula"):
        assert "site.yaml" in not_here(Kind.SERVER, [Setting(name, value="x")]).note
    assert "nothing" in not_here(Kind.SERVER, [Setting("node_pack", value="x")]).note
    assert not_here(Kind.HOOK, []).text == "Unauthorized Request "
    with pytest.raises(QmgrError, match="Undefined attribute  foo"):
        check_attributes(Kind.QUEUE, [Setting("foo")])


def test_what_is_so_already_is_no_change() -> None:
    present = {"scheduling": "True", "resources_max.mem": "1gb", "comment": ""}
    same = [Setting("scheduling", value="True"), Setting("resources_max", "mem", value="1gb")]
    other = [Setting("scheduling", value="False"), Setting("comment", value="")]
    assert new_settings([*same, *other], present) == tuple(other)


def test_help() -> None:
    assert help_on("").startswith("A request is: ")
    assert help_on("operators").startswith("=  sets")
    assert help_on("foo") == "No help available on: foo\nCheck the PBS Reference Guide for more help.\n\n"
