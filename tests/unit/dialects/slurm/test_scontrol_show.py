"""scontrol: what it shows of a cluster beside jobs, nodes and partitions."""

from __future__ import annotations

from datetime import UTC, timedelta

import pytest

from hpcbatch.dialects.slurm.errors import SlurmUsageError
from hpcbatch.dialects.slurm.scontrol_command import Verb, read_command
from hpcbatch.dialects.slurm.scontrol_config import Cluster, format_config
from hpcbatch.dialects.slurm.scontrol_show import (
    format_aliases,
    format_completing,
    format_daemons,
    format_licenses,
    format_pidinfo,
    format_steps,
    format_topology,
    format_update,
    read_step,
    step_not_found,
    topology_error,
)
from hpcbatch.dialects.slurm.steps import steps_of
from hpcbatch.model.array import Membership
from hpcbatch.model.named import NamedJob
from hpcbatch.model.record import ExecHost
from hpcbatch.model.state import JobState, Reason
from hpcbatch.record.rows import row_of
from tests.unit.dialects.slurm.jobs import NOW, QUEUE, RUNNING, record

RECORDED = """\
LicenseName=ansys
    Total=10 Used=0 Free=10 Reserved=0 Remote=no
LicenseName=matlab
    Total=4 Used=2 Free=2 Reserved=0 Remote=no
"""
TOTAL, USED = {"matlab": 4, "ansys": 10}, {"matlab": 2}


@pytest.mark.parametrize(
    ("word", "verb"),
    [
        ("a", Verb.SHOW_ALIASES),
        ("bb", Verb.SHOW_NOTHING),
        ("c", Verb.SHOW_CONFIG),
        ("d", Verb.SHOW_DAEMONS),
        ("f", Verb.SHOW_NOTHING),
        ("fr", Verb.SHOW_FRONTEND),
        ("job", Verb.SHOW_JOB),
        ("licenses", Verb.SHOW_LICENSES),
        ("lic", Verb.SHOW_LICENSES),
        ("License", Verb.SHOW_LICENSES),
        ("r", Verb.SHOW_RESERVATION),
        ("reservationname", Verb.SHOW_RESERVATION),
        ("sl", Verb.SHOW_SLURMD),
        ("st", Verb.SHOW_STEP),
        ("t", Verb.SHOW_TOPOLOGY),
    ],
)
def test_entities_may_be_cut_short(word: str, verb: Verb) -> None:
    assert read_command(["show", word], {}).verb is verb


@pytest.mark.parametrize("word", ["b", "h", "hos", "l", "p", "s", "foo"])
def test_not_too_short(word: str) -> None:
    with pytest.raises(SlurmUsageError, match=f"invalid entity:{word} for keyword:show "):
        read_command(["show", word], {})


@pytest.mark.parametrize("words", [["daemons", "x"], ["res", "a", "b"], ["config=a", "b"]])
def test_too_many(words: list[str]) -> None:
    with pytest.raises(SlurmUsageError, match="too many arguments for keyword:show"):
        read_command(["show", *words], {})


def test_licences_as_recorded() -> None:
    assert format_licenses(TOTAL, USED) == RECORDED
    assert format_licenses(TOTAL, USED, "matlab") == RECORDED[RECORDED.index("LicenseName=matlab") :]
    assert format_licenses(TOTAL, USED, "nosuch") == ""
    line = "LicenseName=matlab Total=4 Used=2 Free=2 Reserved=0 Remote=no\n"
    assert format_licenses(TOTAL, USED, "matlab", one_line=True) == line


def test_more_held_than_the_site_has_now_leaves_none_free() -> None:
    assert "Total=1 Used=3 Free=0" in format_licenses({"a": 1}, {"a": 3})


HOSTS = tuple(ExecHost(node=f"n{index}", pod=f"job-7-{index}", cpus=2) for index in (1, 2))
WIDE = record(7, state=JobState.RUNNING, reason=Reason.NONE, **{**RUNNING, "hosts": HOSTS})
MEMBER = record(
    10,
    state=JobState.RUNNING,
    reason=Reason.NONE,
    member_of=Membership(array_id=9, array_name="job-9", index=4),
    **RUNNING,
)
BATCH = """\
StepId=85.batch UserId=1002 StartTime=2026-11-21T02:50:04 TimeLimit=UNLIMITED
   State=RUNNING Partition=debug NodeList=vm
   Nodes=1 CPUs=0 Tasks=1 Name=batch Network=(null)
   TRES=(null)
   ResvPorts=(null)
   CPUFreqReq=Default
   SrunHost:Pid=(null):0

"""


def test_steps_as_recorded() -> None:
    rows = [row_of(job) for job in QUEUE]
    shown = list(steps_of(rows, {}))
    assert [step.step_id for step in shown] == ["85.batch", "86.batch"]
    assert format_steps(shown[:1], UTC) == BATCH
    one_line = " ".join(line.strip() for line in BATCH.splitlines() if line) + "\n"
    assert format_steps(shown[:1], UTC, one_line=True) == one_line
    assert format_steps([], UTC) == ""


def test_steps_of_arrays_and_of_several_hosts() -> None:
    (member,) = steps_of([row_of(MEMBER)], {})
    assert member.step_id == "9_4.batch"
    batch, extern = steps_of([row_of(WIDE)], {})
    assert (batch.hosts, batch.tasks) == (("n1",), 1)
    assert (extern.step_id, extern.hosts, extern.tasks) == ("7.extern", ("n1", "n2"), 2)
    assert "NodeList=n[1-2]\n   Nodes=2 CPUs=0 Tasks=2 Name=extern" in format_steps([extern], UTC)


def test_names_of_steps() -> None:
    assert read_step("12.batch") == (NamedJob(12), "batch")
    assert read_step("9_4")[0] is not None
    assert read_step("abc") == (None, "")
    assert step_not_found("8") == "Job step 8. not found"
    assert step_not_found("8.5") == "Job step 8.5 not found"


def test_what_there_is_not() -> None:
    nodes = {"n1": {"s": "a", "r": "x"}, "n2": {"s": "a", "r": "x"}, "n3": {"s": "b", "r": "x"}, "n4": {}}
    a = "SwitchName=a Level=0 LinkSpeed=1 Nodes=n[1-2]\n"
    b = "SwitchName=b Level=0 LinkSpeed=1 Nodes=n3\n"
    x = "SwitchName=x Level=1 LinkSpeed=1 Nodes=n[1-3] Switches=a,b\n"
    assert format_topology(["s", "r"], nodes, "") == a + b + x
    assert format_topology(["s", "r"], nodes, "a") == a
    assert format_topology(["s", "r"], nodes, "n3") == b + x
    assert format_topology(["s", "r"], nodes, "n4") == ""
    assert format_topology([], nodes, "") == ""
    assert topology_error("") == "scontrol: error: No topology information available"
    assert topology_error("x") == "scontrol: error: Topology information contains no switch or node named x"
    assert format_aliases(["n1", "n2"], "") == "n1,n2\n"
    assert format_aliases(["n1", "n2"], "n[1-2]") == "n1,n2\n"
    assert format_aliases(["n1"], "nosuch") == ""


def test_jobs_that_are_ending() -> None:
    rows = [row_of(WIDE)._replace(state=JobState.EXITING), row_of(MEMBER)]
    line = "JobId=7 EndTime=2026-11-21T02:50:06 CompletingTime=00:00:00 Nodes(COMPLETING)=n[1-2] \n"
    assert format_completing(rows, NOW, UTC) == line


def test_config() -> None:
    cluster = Cluster(
        name="hpc", host="api", port=6443, nodes=3, licenses={"a": 2, "b": 1}, kill_delay_s=10, max_array_size=1000
    )
    head, *lines = format_config(cluster, NOW, UTC).splitlines()
    assert head == "Configuration data as of 2026-11-21T02:50:06"
    assert lines[-2:] == ["", "Slurmctld(primary) at hpc is UP"]
    values = {line[:23].rstrip() if line[23] == " " else line.split()[0]: line for line in lines[:-2]}
    assert len(values) == len(lines) - 2
    assert values["ClusterName"] == "ClusterName             = hpc"
    assert values["KillWait"] == "KillWait                = 10 sec"
    assert values["Licenses"] == "Licenses                = a:2,b:1"
    assert values["MaxArraySize"] == "MaxArraySize            = 1001"
    assert values["SLURM_VERSION"] == "SLURM_VERSION           = 22.05.8"
    assert values["AccountingStorageBackupHost"] == "AccountingStorageBackupHost = (null)"
    older = format_config(cluster._replace(max_array_size=None, kill_delay_s=None), NOW, UTC)
    assert "\nKillWait                = N/A\n" in older


def test_verbose_tells_when_and_how_many() -> None:
    assert format_update(NOW, 3, UTC) == f"last_update_time={NOW:%Y-%m-%dT%H:%M:%S}, records=3\n"


@pytest.mark.parametrize(
    ("walltime_s", "text"),
    [
        (3600, "Slurm JobId=7 ends at {end}\nJob remaining time is 3540 seconds\n"),
        (30, "Slurm JobId=7 ends at {end}\nJob remaining time is 0 seconds\n"),
        (None, "Slurm JobId=7 ends at Unknown\n"),
    ],
)
def test_pidinfo(walltime_s: int | None, text: str) -> None:
    started = NOW - timedelta(seconds=60)
    row = row_of(record(7, "x", JobState.RUNNING, Reason.NONE, walltime_s=walltime_s))._replace(start_time=started)
    end = started + timedelta(seconds=walltime_s or 0)
    assert format_pidinfo(row, NOW, UTC) == text.format(end=f"{end:%Y-%m-%dT%H:%M:%S}")


@pytest.mark.parametrize(
    ("host", "controller", "text"),
    [("vm", "127.0.0.1", "slurmctld\n"), ("n1", "api", "slurmd\n"), ("api", "api", "slurmctld\n"), ("vm", "api", "\n")],
)
def test_daemons(host: str, controller: str, text: str) -> None:
    assert format_daemons(host, controller, ["n1", "n2"]) == text
