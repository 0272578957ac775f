"""`scontrol create|update reservation`: what is read and refused; and how reservations are shown."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from hpcbatch.dialects.slurm.errors import SlurmUsageError
from hpcbatch.dialects.slurm.reservation_update import (
    changed_spec,
    default_name,
    denial_text,
    is_of_reservations,
    new_spec,
    read_reservation,
)
from hpcbatch.dialects.slurm.reservations import NONE, format_reservation, format_table
from hpcbatch.model.reservation import Denial, Flag, KeptNode, ReservationSpec, Reserved

NOW = datetime(2026, 11, 25, 10, 0, tzinfo=UTC)
START = datetime(2026, 11, 25, 14, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)
CREATED, UPDATED = "No reservation created.", "No reservation update."


def made(*words: str) -> ReservationSpec:
    asked = read_reservation(["reservation", *words], NOW, CREATED)
    return new_spec(asked, name=asked.name or "x", zone="", host="login", owner="root")


TIMES = ("StartTime=14:00", "Duration=60")


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        pytest.param(
            (*TIMES, "Nodes=n[1-2]", "Users=ann,bob"),
            {"nodes": ("n1", "n2"), "users": ("ann", "bob"), "flags": (Flag.SPEC_NODES,), "end": START + HOUR},
            id="nodes",
        ),
        pytest.param(
            ("StartTime=14:00", "EndTime=15:00", "NodeCnt=2", "Accounts=a"),
            {"node_counts": (2,), "accounts": ("a",), "end": START + HOUR, "flags": ()},
            id="count",
        ),
        pytest.param(
            (*TIMES, "Nodes=all", "User=ann", "Flags=maint,ignore_jobs"),
            {"nodes": ("ALL",), "flags": (Flag.MAINT, Flag.IGNORE_JOBS, Flag.SPEC_NODES, Flag.ALL_NODES)},
            id="all",
        ),
        pytest.param(
            (*TIMES, "PartitionName=p", "Users=ann"),
            {"nodes": ("ALL",), "partition": "p", "flags": (Flag.SPEC_NODES, Flag.PART_NODES)},
            id="partition",
        ),
        pytest.param(
            (*TIMES, "CoreCnt=4,2", "NodeCnt=2", "Users=-ann", "Flags=DAILY,PURGE_COMP=10"),
            {"core_counts": (4, 2), "users": ("-ann",), "flags": (Flag.DAILY, Flag.PURGE_COMP), "purge_s": 600},
            id="cores",
        ),
        pytest.param(("StartTime=14:00", "Dur=unlimited", "NodeC=1k", "Groups=g"), {"node_counts": (1024,)}, id="1k"),
        pytest.param((*TIMES, "NodeCnt=1", "Users=a", "Flags=s"), {"flags": (Flag.STATIC,)}, id="static"),
        pytest.param((*TIMES, "NodeCnt=1", "Users=a", "Flags=Replace_D"), {"flags": (Flag.REPLACE_DOWN,)}, id="down"),
    ],
)
def test_create(words: tuple[str, ...], wanted: dict[str, object]) -> None:
    found = made(*words)
    assert found.start == START
    assert {key: getattr(found, key) for key in wanted} == wanted


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("Duration=1", "NodeCnt=1", "Users=a"), f"A start time must be given.  {CREATED}"),
        (("StartTime=14:00", "NodeCnt=1", "Users=a"), f"An end time or duration must be given.  {CREATED}"),
        ((*TIMES, "EndTime=16:00", "NodeCnt=1", "Users=a"), f"StartTime + Duration does not equal EndTime.  {CREATED}"),
        (
            ("StartTime=14:00", "EndTime=2026-11-25T13:00", "NodeCnt=1", "Users=a"),
            f"Start time cannot be after end time.  {CREATED}",
        ),
        (
            (*TIMES, "Users=a"),
            f"CoreCnt, Nodes, NodeCnt, BurstBuffer, Licenses or Watts must be specified.  {CREATED}",
        ),
        ((*TIMES, "NodeCnt=1"), f"Either Users/Groups and/or Accounts must be specified.  {CREATED}"),
        (
            (*TIMES, "NodeCnt=1", "Users=a", "Groups=b"),
            f"Users and Groups are mutually exclusive.  You can have one or the other, but not both.  {CREATED}",
        ),
        (
            (*TIMES, "NodeCnt=1", "Users=a", "Flags=PART_NODES"),
            f"PART_NODES flag requires specifying a Partition and ALL nodes.  {CREATED}",
        ),
        (("Start=x",), f"Invalid start time Start=x.  {CREATED}"),
        (("Duration=x",), f"Invalid duration Duration=x.  {CREATED}"),
        (("Flags=DAILY,BLA",), f"Error parsing flags DAILY,BLA.  {CREATED}"),
        (("Users=a", "Users=b"), "Parameter Users=b specified more than once"),
        (("What=1",), f"Unknown parameter What=1.  {CREATED}"),
        (("word",), f"Misformatted parameter 'word', most options have a parameter after '='.  {CREATED}"),
        (("NodeCnt=x",), "Invalid node count x"),
        (("StartTime+=1",), f"The +=/-= notation is not supported when updating StartTime.  {CREATED}"),
    ],
)
def test_what_is_refused(words: tuple[str, ...], says: str) -> None:
    with pytest.raises(SlurmUsageError) as caught:
        made(*words)
    assert caught.value.text.split("\n")[-1] == f"scontrol: error: {says}"
    assert caught.value.code == 1


@pytest.mark.parametrize(
    "word",
    [
        "Flags=ANY_NODES",
        "Flags=magnetic",
        "Flags=FIRST_CORES",
        "Flags=REPLACE",
        "Flags=NO_HOLD_JOBS_AFTER_END",
        "Licenses=a",
        "Watts=5",
    ],
)
def test_what_is_not_here_says_why(word: str) -> None:
    with pytest.raises(SlurmUsageError) as caught:
        made(*TIMES, "NodeCnt=1", "Users=a", word)
    assert caught.value.text.split("\n")[1].startswith("scontrol: hpcbatch: ")


@pytest.mark.parametrize(
    ("words", "says"),
    [(("Nodes=n1",), "Invalid node name specified"), (("CoreCnt=2",), "CPU count specification invalid")],
)
def test_only_nodes_by_number_are_replaced(words: tuple[str, ...], says: str) -> None:
    with pytest.raises(SlurmUsageError) as caught:
        made(*TIMES, *words, "Users=a", "Flags=REPLACE_DOWN")
    assert caught.value.text == f"Error creating the reservation: {says}"


def test_the_name_of_one_without() -> None:
    assert default_name(read_reservation(["Users=-ann,bob"], NOW, CREATED), 3) == "ann_3"
    assert default_name(read_reservation(["Users=ann", "Accounts=phys"], NOW, CREATED), 1) == "phys_1"


SPEC = ReservationSpec(
    dialect="slurm", name="x", start=START, end=START + HOUR, nodes=("n1", "n2"), users=("ann",), flags=(Flag.MAINT,)
)


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (("Duration=120",), {"end": START + 2 * HOUR}),
        (("Duration+=30",), {"end": START + 1.5 * HOUR}),
        (("StartTime=15:00",), {"start": START + HOUR, "end": START + 2 * HOUR}),
        (("EndTime=16:00",), {"end": START + 2 * HOUR}),
        (("Users+=bob",), {"users": ("ann", "bob")}),
        (("Users=bob",), {"users": ("bob",)}),
        (("Users=+bob,-ann",), {"users": ("bob",)}),
        (("Accounts=a",), {"users": ("ann",), "accounts": ("a",)}),
        (("Flags+=DAILY",), {"flags": (Flag.MAINT, Flag.DAILY)}),
        (("Flags=-MAINT",), {"flags": ()}),
        (("Nodes+=n3",), {"nodes": ("n1", "n2", "n3")}),
        (("Nodes-=n1",), {"nodes": ("n2",)}),
        (("NodeCnt=1",), {"nodes": ("n1",)}),
        (("Nodes=ALL",), {"flags": (Flag.MAINT, Flag.SPEC_NODES, Flag.ALL_NODES)}),
        (
            ("Nodes=ALL", "Partition=p", "Flags=PART_NODES"),
            {"partition": "p", "flags": (Flag.MAINT, Flag.SPEC_NODES, Flag.PART_NODES)},
        ),
        (("NodeCnt=3",), {"nodes": (), "node_counts": (3,)}),
    ],
)
def test_update(words: tuple[str, ...], wanted: dict[str, object]) -> None:
    asked = read_reservation(["ReservationName=x", *words], NOW, UPDATED)
    found = changed_spec(SPEC, asked, ["n1", "n2"], NOW, is_on=False)
    assert {key: getattr(found, key) for key in wanted} == wanted


@pytest.mark.parametrize(
    ("words", "is_on", "says"),
    [
        (("CoreCnt=1",), False, "Core-based reservation can not be updated"),
        (("Features=x",), False, "Requested operation not supported on this system"),
        (("StartTime=15:00",), True, "Invalid time specified"),
        (("EndTime=2026-11-25T13:00",), False, "Invalid time specified"),
        (("Users-=ann",), False, "Reservation request lacks users, groups or accounts"),
        (("Groups=g",), False, "Reservations can't have users and groups specified, only one or the other"),
        (("NodeCnt=0",), False, "Invalid node name specified"),
        (("Flags+=REPLACE_DOWN",), False, "Invalid node name specified"),
        (("Flags=PART_NODES", "Nodes=ALL"), False, "Invalid partition name specified"),
        (("Flags=PART_NODES", "Partition=p"), False, "Invalid node name specified"),
    ],
)
def test_wrong_updates(words: tuple[str, ...], is_on: bool, says: str) -> None:
    asked = read_reservation(["ReservationName=x", *words], NOW, UPDATED)
    with pytest.raises(SlurmUsageError) as caught:
        changed_spec(SPEC, asked, ["n1", "n2"], NOW, is_on=is_on)
    assert caught.value.text == f"Error updating the reservation: {says}"


def test_whose_update_it_is() -> None:
    assert is_of_reservations(["ReservationName=x", "PartitionName=p"])
    assert not is_of_reservations(["JobId=1", "ReservationName=x"])
    assert not is_of_reservations(["PartitionName=p"])


def test_every_denial_has_a_text() -> None:
    assert all(denial_text(code, code.value) for code in Denial)
    assert denial_text(Denial.NO_PLAN, "why").endswith("\nscontrol: hpcbatch: why")


RESERVED = Reserved(
    id="maint",
    spec=replace(SPEC, flags=(Flag.MAINT, Flag.SPEC_NODES, Flag.PURGE_COMP)),
    owner="root",
    nodes=(KeptNode(name="n1"), KeptNode(name="n2", amounts={"cpu": 4000})),
    start=START,
    end=START + HOUR,
)


def test_show() -> None:
    """The lines are those of 22.05.8."""
    shown = format_reservation(RESERVED, {"n1": 8, "n2": 8}, NOW, UTC)
    assert shown == (
        "ReservationName=maint StartTime=2026-11-25T14:00:00 EndTime=2026-11-25T15:00:00 Duration=01:00:00\n"
        "   Nodes=n[1-2] NodeCnt=2 CoreCnt=12 Features=(null) PartitionName=(null) "
        "Flags=MAINT,SPEC_NODES,PURGE_COMP=00:05:00\n"
        "   TRES=cpu=12\n"
        "   Users=ann Groups=(null) Accounts=(null) Licenses=(null) State=INACTIVE BurstBuffer=(null) Watts=n/a\n"
        "   MaxStartDelay=(null)\n\n"
    )
    one_line = format_reservation(RESERVED, {}, START, UTC, one_line=True)
    assert one_line.count("\n") == 1
    assert " State=ACTIVE " in one_line


def test_table() -> None:
    assert format_table([], NOW, UTC) == NONE
    head, row = format_table([RESERVED], NOW, UTC).splitlines()
    assert head == "RESV_NAME     STATE           START_TIME             END_TIME     DURATION  NODELIST"
    assert row == "maint      INACTIVE  2026-11-25T14:00:00  2026-11-25T15:00:00     01:00:00  n[1-2]"
