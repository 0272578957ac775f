"""Ids of arrays and their members in all commands: how they are listed, deleted, held and released."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest

from tests.conformance.site import Site
from tests.waiting import wait_for


class BegunArray:
    """An array of 1-6 whose members run one at a time, each until `end` lets it go."""

    def __init__(self, site: Site, *submit: str) -> None:
        site.script("member.sh", f"#!/bin/sh\nwhile [ ! -e '{site.work}/go' ]; do sleep 0.2; done\n")
        answer = site.run(*submit, "member.sh").stdout
        match = re.search(r"\d+", answer)
        assert match, answer
        self._site, self.number = site, match[0]
        self.pbs = f"{match[0]}[].{site.server}"

    def member(self, index: int) -> str:
        return f"{self.number}[{index}].{self._site.server}"

    def states(self, *options: str) -> str:
        """The letters of the members, in order."""
        lines = self._site.run("qstat", "-t", *options, self.pbs).stdout.splitlines()
        return "".join(line.split()[-2] for line in lines[3:])

    def queue(self, *options: str) -> list[str]:
        shown = self._site.run("squeue", "-h", "-j", self.number, "-o", "%i %t", *options).stdout
        return shown.splitlines()

    def wait_states(self, pattern: str, *options: str) -> None:
        seen = [""]

        def reached() -> bool:
            seen[0] = self.states(*options)
            return re.fullmatch(pattern, seen[0]) is not None

        try:
            wait_for(f"members in {pattern}", reached, 90, every_s=0.2)
        except AssertionError as error:
            raise AssertionError(f"{error}: they are in {seen[0]}") from None

    def end(self) -> None:
        self._site.script("go", "")


@pytest.fixture
def pbs(site: Site) -> Iterator[BegunArray]:
    array = BegunArray(site, "qsub", "-J", "1-6%1", "-N", "arr", "-l", "select=1:ncpus=1")
    yield array
    site.run("qdel", array.pbs, check=False)


@pytest.fixture
def slurm(site: Site) -> Iterator[BegunArray]:
    array = BegunArray(site, "sbatch", "--array=1-6%1", "-J", "arr", "-n", "1")
    yield array
    site.run("scancel", array.number)


def failure(site: Site, *argv: str) -> tuple[str, int]:
    done = site.run(*argv, check=False)
    return done.stderr, done.returncode


def test_array_that_waits(site: Site) -> None:
    answer = site.run("qsub", "-h", "-J", "1-9:2", "-N", "arr", "-l", "select=1:ncpus=1", stdin="true\n").stdout.strip()
    number = answer.partition("[")[0]
    assert answer == f"{number}[].{site.server}"
    heading, _, line = site.run("qstat", answer).stdout.splitlines()
    assert line.split() == [answer, "arr", site.env["USER"], "0", "H", "default"]
    assert line.index("arr") == heading.index("Name")
    members = [f"{number}[{index}].{site.server}" for index in (1, 3, 5, 7, 9)]
    unfolded = site.run("qstat", "-t", answer).stdout.splitlines()[2:]
    assert [row.split()[0] for row in unfolded] == [answer, *members]
    assert [row.split()[0] for row in site.run("qstat", f"{number}[3-7:4]").stdout.splitlines()[2:]] == [
        members[1],
        members[3],
    ]
    assert answer in site.run("qstat", "-J").stdout
    assert members[0] not in site.run("qstat").stdout
    found = json.loads(site.run("qstat", "-f", "-F", "json", answer).stdout)["Jobs"][answer]
    assert (found["array"], found["array_indices_submitted"], found["array_indices_remaining"]) == (
        "True",
        "1-9:2",
        "1-9:2",
    )
    assert found["array_state_count"] == "Queued:5 Running:0 Exiting:0 Expired:0"
    assert found["Output_Path"].endswith(f"/arr.o{number}.^array_index^")
    one = site.run("qstat", "-f", members[2]).stdout
    assert one.startswith(f"Job Id: {members[2]}\n    Job_Name = arr\n")
    assert "\n    array" not in one
    assert site.run("squeue", "-h", "-j", number, "-o", "%i %K %t %r").stdout == (
        f"{number}_[1,3,5,7,9] 1,3,5,7,9 PD JobHeldUser\n"
    )
    assert site.run("squeue", "-h", "-r", "-j", number, "-o", "%i").stdout.split() == [
        f"{number}_{index}" for index in (1, 3, 5, 7, 9)
    ]
    shown = site.run("scontrol", "show", "job", number).stdout
    assert shown.startswith(f"JobId={number} ArrayJobId={number} ArrayTaskId=1,3,5,7,9 JobName=arr\n")
    assert site.run("qselect", "-J").stdout.split().count(answer) == 1
    assert set(members) <= set(site.run("qselect", "-T").stdout.split())
    site.run("qdel", answer)
    assert failure(site, "qstat", answer)[1] == 35


def test_ids_that_are_none(site: Site, pbs: BegunArray) -> None:
    number, server = pbs.number, site.server
    for argv, text, code in (
        (("qstat", number), f"qstat: Unknown Job Id {number}.{server}\n", 153),
        (("qstat", f"{number}[9]"), f"qstat: Unknown Job Id {number}[9].{server}\n", 153),
        (("qstat", f"{number}[5-9]"), f"qstat: Unknown Job Id {number}[5-9].{server}\n", 153),
        (("qstat", "999999[]"), f"qstat: Unknown Job Id 999999[].{server}\n", 153),
        (("qdel", f"{number}[x]"), f"qdel: illegally formed job identifier: {number}[x]\n", 1),
        (("qdel", f"{number}[3-1]"), f"qdel: Invalid request {number}[3-1].{server}\n", 156),
        (("qdel", f"{number}[9]"), f"qdel: Invalid request {number}[9].{server}\n", 156),
        (("qdel", f"{number}[7-9]"), f"qdel: Unknown Job Id {number}[7-9].{server}\n", 153),
        (("qhold", f"{number}[2]"), f"qhold: Invalid request {number}[2].{server}\n", 156),
        (("qrls", f"{number}[2-3]"), f"qrls: Invalid request {number}[2-3].{server}\n", 156),
        (("squeue", "-j", "999999_1"), "slurm_load_jobs error: Invalid job id specified\n", 1),
        (("squeue", "-j", f"{number}_x"), f"squeue: error: Invalid job id: {number}_x\n", 1),
        (("scontrol", "show", "job", f"{number}_[1-2]"), "scontrol_print_job error: Invalid job id specified\n", 1),
        (("scancel", f"{number}_x"), f"scancel: error: Invalid job id {number}_x\n", 1),
        (("scancel", f"{number}_9"), "", 0),
        (
            ("scontrol", "hold", f"{number}_9"),
            f"Invalid job id specified for job {number}_9\nslurm_suspend error: Invalid job id specified\n",
            1,
        ),
    ):
        assert failure(site, *argv) == (text, code), argv
    done = site.run("scontrol", "show", "job", f"{number}_9", check=False)
    assert (done.returncode, done.stdout, done.stderr) == (1, f"Job {number}_9 not found\n", "")


def test_members_come_and_go(site: Site, pbs: BegunArray) -> None:
    pbs.wait_states("RQQQQQ")

    def listed() -> list[str]:
        return site.run("qstat", pbs.pbs).stdout.splitlines()[2].split()[-2:]

    wait_for("the array to begin", lambda: listed() == ["B", "default"])  # its record follows its member's
    found = json.loads(site.run("qstat", "-f", "-F", "json", pbs.pbs).stdout)["Jobs"][pbs.pbs]
    assert (found["job_state"], found["array_state_count"]) == ("B", "Queued:5 Running:1 Exiting:0 Expired:0")
    assert found["comment"].startswith("Job Array Began at ")
    one = site.attributes(pbs.member(1))
    assert (one["job_state"], one["array_id"], one["array_index"]) == ("R", pbs.pbs, 1)
    assert pbs.member(1) in site.run("qselect", "-T", "-s", "R").stdout.split()
    assert pbs.queue() == [f"{pbs.number}_[2-6%1] PD", f"{pbs.number}_1 R"]
    assert f" {pbs.member(1)}/" in site.run("pbsnodes", "-a").stdout
    site.run("qdel", pbs.member(4), pbs.member(2))
    pbs.wait_states("RXQXQQ")
    assert failure(site, "qdel", pbs.member(4)) == (
        f"qdel: Request invalid for finished array subjob {pbs.member(4)}\n",
        55,
    )
    site.run("qdel", f"{pbs.number}[4-6:2]")
    pbs.wait_states("RXQXQX")
    site.run("qdel", pbs.member(1))
    pbs.wait_states("XXRXQX")
    pbs.end()
    pbs.wait_states("FFFFFF", "-x")
    ended = site.attributes(pbs.pbs)
    assert (ended["job_state"], ended["array_indices_remaining"]) == ("F", "-")
    assert failure(site, "qstat", pbs.member(3))[1] == 35
    for command in ("qdel", "qhold"):
        assert failure(site, command, pbs.member(3)) == (f"{command}: Job has finished {pbs.member(3)}\n", 35)


def test_slurm_members(site: Site, slurm: BegunArray) -> None:
    number = slurm.number
    slurm.wait_states("RQQQQQ")
    assert slurm.queue() == [f"{number}_[2-6%1] PD", f"{number}_1 R"]
    assert slurm.queue("-r")[1:3] == [f"{number}_3 PD", f"{number}_4 PD"]
    own = site.run("squeue", "-h", "-j", f"{number}_1", "-o", "%A %F %K").stdout.split()
    assert own[1:] == [number, "1"]
    shown = site.run("scontrol", "show", "job", number).stdout
    assert re.findall(r"^JobId=(\S+) ArrayJobId=(\S+) ArrayTaskId=(\S+)", shown, re.MULTILINE) == [
        (number, number, "2-6%1"),
        (own[0], number, "1"),
    ]
    assert site.run("scontrol", "show", "job", own[0]).stdout.startswith(f"JobId={own[0]} ArrayJobId={number} ")
    site.run("scancel", f"{number}_4")
    site.run("scancel", f"{number}_[5-6]")
    slurm.wait_states("RQQXXX")
    assert slurm.queue() == [f"{number}_[2-3%1] PD", f"{number}_1 R"]
    assert failure(site, "scancel", "-v", f"{number}_4") == (
        f"scancel: Terminating job {number}_4\n"
        f"scancel: error: Kill job error on job id {number}_4: Job/step already completing or completed\n",
        0,
    )
    for gone in (f"{number}_4", f"{number}_6"):
        done = site.run("scontrol", "show", "job", gone, check=False)
        assert (done.returncode, done.stdout) == (1, f"Job {gone} not found\n")
    assert failure(site, "scancel", "-t", "PENDING", f"{number}_1")[1] == 1
    site.run("scontrol", "hold", f"{number}_2")
    assert slurm.queue("-t", "PD", "-o", "%i %r") == [f"{number}_[3%1] JobArrayTaskLimit", f"{number}_2 JobHeldUser"]
    site.run("scancel", "-t", "RUNNING", number)
    slurm.wait_states("XQRXXX")  # the one that is held was passed
    site.run("scontrol", "release", f"{number}_2")
    site.run("scancel", f"{number}_3")
    slurm.wait_states("XRXXXX")
    site.run("scancel", number)
    slurm.wait_states("FFFFFF", "-x")
    assert slurm.queue() == []


def test_the_last_member_keeps_the_number_of_the_array(site: Site) -> None:
    """As in Slurm; that number means the whole array all the same."""
    array = BegunArray(site, "sbatch", "--array=1-3", "-n", "1")
    array.wait_states("RRR")
    number = array.number
    shown = site.run("squeue", "-h", "-j", number, "-o", "%A %F %K", "-S", "i").stdout.split()
    alone = shown[::3]
    assert shown == [alone[0], number, "1", alone[1], number, "2", number, number, "3"]
    assert len({*alone}) == 3
    for one in (f"{number}_3", number):
        assert f"JobId={number} ArrayJobId={number} ArrayTaskId=3 " in site.run("scontrol", "show", "job", one).stdout
    assert site.run("scontrol", "show", "job", number).stdout.count("JobId=") == 6  # and ArrayJobId=
    assert site.run("squeue", "-h", "-O", "JobID:9,ArrayTaskID", "-j", f"{number}_3").stdout.split() == [number, "3"]
    behind = site.sbatch("-d", f"afterany:{number}", "--wrap", "true")
    site.run("scontrol", "requeue", f"{number}_3")
    site.start_again_now(f"{number}_3")
    array.wait_states("RRR")
    assert site.run("squeue", "-h", "-j", f"{number}_3", "-o", "%A").stdout.split() == [number]
    site.run("scancel", alone[0])
    array.wait_states("XRR")
    assert site.state(behind) == "H"
    site.run("scancel", number)
    array.wait_states("FFF", "-x")
    assert site.run("sacct", "-X", "-n", "-P", "-j", f"{number}_3", "-o", "JobIDRaw").stdout.split()[-1] == number
    site.wait_end(behind)


def test_scontrol_changes_an_array_that_has_begun(site: Site) -> None:
    """Those that wait and each that runs are answered for by themselves."""
    array = BegunArray(site, "sbatch", "--array=1-3%1", "-n", "1", "-t", "30")
    number, late = array.number, "Job is no longer pending execution"
    array.wait_states("RQQ")
    this = f"JobId={number}"
    site.run("scontrol", "update", this, "TimeLimit=20", "Name=other")
    assert array.queue("-o", "%i %l %j") == [f"{number}_[2-3%1] 20:00 other", f"{number}_1 20:00 other"]
    both = f"{number}_2-3: No error\n{number}_1: {late}\n"
    assert failure(site, "scontrol", "update", this, "StartTime=now+1hour") == (both, 1)
    assert array.queue("-o", "%i %t %r") == [f"{number}_[2-3%1] PD BeginTime", f"{number}_1 R None"]
    assert failure(site, "scontrol", "update", this, "NumTasks=2") == (both, 1)
    ends = f"{number}_2-3: Job is not running\n{number}_1: No error\n"
    assert failure(site, "scontrol", "update", this, "EndTime=now+5minutes") == (ends, 1)
    site.run("scontrol", "update", f"JobId={number}_1", "TimeLimit=4")
    assert failure(site, "scontrol", "update", f"JobId={number}_1", "NumTasks=2") == (f"{number}_1: {late}\n", 1)
    assert array.queue("-o", "%i %l") == [f"{number}_[2-3%1] 20:00", f"{number}_1 4:00"]
    assert failure(site, "scontrol", "update", this, "StartTime=now", "NumTasks=1") == (both, 1)
    array.end()
    array.wait_states("FFF", "-x")


def test_scontrol_changes_a_member_that_waits(site: Site) -> None:
    """It is a job of its own from then on, as in Slurm, and waits as the others do."""
    array = BegunArray(site, "sbatch", "--array=1-5%1", "-n", "1", "-t", "30")
    number = array.number
    array.wait_states("RQQQQ")
    site.run("scontrol", "update", f"JobId={number}", "TimeLimit=25")
    site.run("scontrol", "update", f"JobId={number}_3", "TimeLimit=20")
    site.run("scontrol", "update", f"JobId={number}_[4-5]", "NumTasks=2")
    site.run("scontrol", "update", f"JobId={number}", "Name=other")
    assert array.queue("-t", "PD", "-o", "%i %l %j %C %r") == [
        f"{number}_[2%1] 25:00 other 1 JobArrayTaskLimit",
        f"{number}_3 20:00 other 1 JobArrayTaskLimit",
        f"{number}_4 25:00 other 2 JobArrayTaskLimit",
        f"{number}_5 25:00 other 2 JobArrayTaskLimit",
    ]
    own = site.run("scontrol", "show", "job", f"{number}_3").stdout
    assert "JobState=PENDING Reason=JobArrayTaskLimit " in own
    assert " TimeLimit=00:20:00 " in own
    site.run("scontrol", "hold", f"{number}_3")
    assert array.queue("-t", "PD", "-o", "%i %r")[1:2] == [f"{number}_4 JobArrayTaskLimit"]
    assert f"{number}_3 JobHeldUser" in array.queue("-t", "PD", "-o", "%i %r")
    site.run("scontrol", "release", f"{number}_3")
    assert failure(site, "scontrol", "update", f"JobId={number}_3", "Dependency=afterok:1") == (
        f"scontrol: error: members of an array have no dependency of their own: change that of {number}\n",
        1,
    )
    site.run("scancel", f"{number}_5")
    array.end()
    array.wait_states("FFFFF", "-x")
    assert failure(site, "scontrol", "update", f"JobId={number}_[3-4,9]", "Name=x") == (
        f"{number}_3-4: Job has already finished\n{number}_9: Invalid job id specified\n",
        1,
    )
    assert site.run("sacct", "-n", "-X", "-P", "-j", number, "-o", "state,alloccpus").stdout.split("\n")[2:4] == [
        "COMPLETED|1",
        "COMPLETED|2",
    ]


def test_qalter_changes_those_that_have_not_started(site: Site, pbs: BegunArray) -> None:
    """An array in state B is no running job."""
    pbs.wait_states("RQQQQQ")
    site.run("qalter", "-A", "acc", "-l", "walltime=00:09:00", "-N", "other", pbs.pbs)
    for job, name, account in (
        (pbs.pbs, "other", "acc"),
        (pbs.member(1), "arr", None),
        (pbs.member(3), "other", "acc"),
    ):
        found = site.attributes(job)
        assert (found["Job_Name"], found.get("Account_Name")) == (name, account)
    assert failure(site, "qalter", "-N", "x", pbs.member(3)) == (f"qalter: Invalid request {pbs.member(3)}\n", 156)
    pbs.end()
    pbs.wait_states("FFFFFF", "-x")
    assert site.attributes(pbs.member(3))["Resource_List"]["walltime"] == "00:09:00"


def test_whole_array_is_held_and_a_part_released(site: Site) -> None:
    array = BegunArray(site, "sbatch", "-H", "--array=1-3", "-n", "1")
    number = array.number
    assert array.queue("-o", "%i %r") == [f"{number}_[1-3] JobHeldUser"]
    site.run("scontrol", "release", f"{number}_2")
    array.wait_states("QRQ")
    assert array.queue() == [f"{number}_[1,3] PD", f"{number}_2 R"]
    array.end()
    array.wait_states("QXQ")
    site.run("scontrol", "release", number)
    watched = site.run("hpcbatch", "watch", number).stdout.splitlines()
    assert f"job {number}[] (member.sh) finished 100 % of 3 members ended" in watched[-1]
    array.wait_states("FFF", "-x")
