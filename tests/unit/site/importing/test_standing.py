"""Maui's SRCFG as scontrol's commands."""

from __future__ import annotations

import pytest

from tests.unit.site.importing.reading import config, found_in, left, planned

HEAD = "# maui.cfg\nSERVERHOST pbs1\nCLASSCFG[a] MAX.PROC=4\n"


@pytest.mark.parametrize(
    ("text", "command"),
    [
        (
            "SRCFG[course] STARTTIME=8:00:00 ENDTIME=17:00:00 DAYS=MON,TUE,WED,THU,FRI HOSTLIST=n01,n02\n"
            "SRCFG[course] USERLIST=ann,bob",
            "ReservationName=course StartTime=08:00:00 Duration=09:00:00 Nodes=n01,n02 Users=ann,bob Flags=WEEKDAY",
        ),
        (
            "SRCFG[test] PERIOD=DAY TASKCOUNT=4 RESOURCES=PROCS:2 GROUPLIST=staff\nSRCFG[test] DAYS=ALL",
            "ReservationName=test StartTime=00:00:00 Duration=24:00:00 CoreCnt=8 Groups=staff Flags=DAILY",
        ),
        (
            "SRCFG[own] PERIOD=INFINITY TASKCOUNT=2 RESOURCES=PROCS:-1 ACCOUNTLIST=phys NODEFEATURES=ib:big",
            "ReservationName=own StartTime=now Duration=UNLIMITED NodeCnt=2 'Features=ib&big' Accounts=phys",
        ),
        (
            "SRCFG[night] STARTTIME=22:00:00 ENDTIME=6:00:00 HOSTLIST=ALL DAYS=SAT,SUN",
            "ReservationName=night StartTime=22:00:00 Duration=08:00:00 Nodes=ALL Users=root Flags=WEEKEND",
        ),
    ],
)
def test_commands(text: str, command: str) -> None:
    assert planned(HEAD + text).reservations == (f"scontrol create reservation {command}",)
    assert not any("SRCFG" in line for line in left(HEAD + text))
    config(HEAD + text)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("SRCFG[x] DAYS=MON,TUE HOSTLIST=n1", "it is on other days"),
        ("SRCFG[x] WSTARTTIME=1:00:00:00 HOSTLIST=n1 PERIOD=WEEK", "it begins on a day of the week"),
        ("SRCFG[x] STARTTIME=8:00:00 DAYS=MON HOSTLIST=n1 PERIOD=WEEK", "it begins on a day of the week"),
        ("SRCFG[x] STARTTIME=soon HOSTLIST=n1", "expected a time"),
        ("SRCFG[x] STARTTIME=8:00:00", "expected HOSTLIST"),
        ("SRCFG[x] HOSTLIST=n1 USERLIST=a GROUPLIST=b", "it is for users or for groups"),
        ("SRCFG[x] HOSTLIST=n1 USERLIST=$(id)", "expected names"),
        ("SRCFG[x;y] HOSTLIST=n1", "its name has characters"),
        ("SRCFG[x] HOSTLIST=n1 CLASSLIST=a", "a reservation is for users, groups and accounts"),
    ],
)
def test_what_is_left(text: str, why: str) -> None:
    assert any(why in line for line in left(HEAD + text))


def test_one_that_cannot_be_makes_no_command() -> None:
    found = found_in(f"{HEAD}SRCFG[x] DAYS=MON HOSTLIST=n1\n")
    assert list(found.standing) == ["x"]
    assert planned(f"{HEAD}SRCFG[x] DAYS=MON HOSTLIST=n1\n").reservations == ()
