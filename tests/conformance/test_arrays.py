"""Job arrays from submission to their end: answers, environment, output names, limits, holds, ends, what is left."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.conformance.site import Site
from tests.waiting import wait_for


def qsub_array(site: Site, *argv: str, stdin: str = "") -> str:
    """Submit; the array's number."""
    answer = site.run("qsub", *argv, stdin=stdin).stdout
    match = re.fullmatch(rf"(\d+)\[\]\.{re.escape(site.server)}\n", answer)
    assert match, f"qsub printed {answer!r}"
    return match[1]


def records(site: Site, selector: str) -> list[dict[str, Any]]:
    answer = site.kubectl("get", "batchjobs.hpcbatch.io", "-o", "json", *selector.split()).stdout
    return list(json.loads(answer)["items"])


def record(site: Site, number: str) -> dict[str, Any]:
    return records(site, f"--field-selector status.jobId={number}")[0]


def members(site: Site, number: str) -> dict[int, dict[str, Any]]:
    found = records(site, f"-l hpcbatch.io/array-id={number}")
    return {obj["spec"]["memberOf"]["index"]: obj for obj in found}


def wait_over(site: Site, number: str, limit_s: float = 120) -> dict[str, Any]:
    """The status of an array of which only the records are left."""

    def over() -> dict[str, Any] | None:
        status: dict[str, Any] = record(site, number)["status"]
        return status if status.get("cleaned") else None

    return wait_for(f"array {number} to end", over, limit_s)


def names(site: Site, pattern: str) -> list[str]:
    return sorted(path.name for path in site.work.glob(pattern))


def test_pbs_array(site: Site) -> None:
    words = "$PBS_ARRAY_INDEX $PBS_ARRAYID $PBS_ARRAY_ID $PBS_JOBID $PBS_JOBNAME"
    site.script("sweep.pbs", f"#!/bin/sh\n#PBS -N sweep\n#PBS -J 3-7:2\necho {words}\necho err >&2\n")
    array = qsub_array(site, "sweep.pbs")
    status = wait_over(site, array)
    assert (status["state"], status["exitCode"]) == ("Finished", 0)
    assert status["array"] == {"succeeded": "3-7:2"}
    assert names(site, "sweep.[oe]*") == [f"sweep.{stream}{array}.{index}" for stream in "eo" for index in (3, 5, 7)]
    for index in (3, 5, 7):
        of_all = f"{array}[].{site.server}"
        said = site.read(f"sweep.o{array}.{index}")
        assert said == f"{index} {index} {of_all} {array}[{index}].{site.server} sweep\n"
        assert site.read(f"sweep.e{array}.{index}") == "err\n"
    numbers = {obj["status"]["jobId"] for obj in members(site, array).values()}
    assert len(numbers | {array}) == 4


def test_slurm_array(site: Site) -> None:
    shown = "echo $SLURM_JOB_ID; env | grep ^SLURM_ARRAY_ | sort"
    array = site.sbatch("--array=0,5-6,2%9", "-J", "sweep", "--wrap", shown)
    status = wait_over(site, array)
    assert (status["state"], status["exitCode"]) == ("Finished", 0)
    assert status["array"] == {"succeeded": "0,2,5-6", "limit": 9}
    assert names(site, "slurm-*") == [f"slurm-{array}_{index}.out" for index in (0, 2, 5, 6)]
    own = {index: obj["status"]["jobId"] for index, obj in members(site, array).items()}
    assert site.read(f"slurm-{array}_5.out").splitlines() == [
        own[5],
        f"SLURM_ARRAY_JOB_ID={array}",
        "SLURM_ARRAY_TASK_COUNT=4",
        "SLURM_ARRAY_TASK_ID=5",
        "SLURM_ARRAY_TASK_MAX=6",
        "SLURM_ARRAY_TASK_MIN=0",
        "SLURM_ARRAY_TASK_STEP=1",
    ]
    raw = dict(
        line.split("|")
        for line in site.run("sacct", "-X", "-n", "-P", "-j", array, "-o", "JobID,JobIDRaw").stdout.split()
    )
    assert raw == {f"{array}_{index}": own[index] for index in (0, 2, 5)} | {f"{array}_6": array}
    for index in (0, 2, 5, 6):
        assert site.read(f"slurm-{array}_{index}.out").splitlines()[0] == raw[f"{array}_{index}"]


def test_output_names(site: Site) -> None:
    (site.work / "out").mkdir()
    (site.work / "out").chmod(0o777)
    in_dir = qsub_array(site, "-J1-2", "-j", "oe", "-o", "out/", stdin="echo $PBS_ARRAY_INDEX\n")
    tagged = qsub_array(site, "-J1-2", "-j", "oe", "-o", "t^array_index^.txt", stdin="echo $PBS_ARRAY_INDEX\n")
    pattern = site.sbatch("-a", "7", "-o", "%x-%A-%3a-%j.txt", "-J", "pat", "--wrap", "true")
    for array in (in_dir, tagged, pattern):
        wait_over(site, array)
    assert names(site, "out/*") == [f"{in_dir}[{index}].{site.server}.OU" for index in (1, 2)]
    assert {index: site.read(f"t{index}.txt") for index in (1, 2)} == {1: "1\n", 2: "2\n"}
    assert names(site, "pat-*") == [f"pat-{pattern}-007-{pattern}.txt"], "the only one keeps the array's number"


def test_never_more_than_the_limit_run(site: Site) -> None:
    array = site.sbatch(
        "--array=1-6%2", "-o", "/dev/null", "--wrap", "echo + >>log; sleep 0.4; echo - $SLURM_ARRAY_TASK_ID >>log"
    )
    assert wait_over(site, array)["array"] == {"succeeded": "1-6", "limit": 2}
    running = most = 0
    for line in site.read("log").splitlines():
        running += 1 if line == "+" else -1
        most = max(most, running)
    assert most in {1, 2}
    assert sorted(re.findall(r"- (\d)", site.read("log"))) == list("123456")


@pytest.mark.parametrize("dialect", ["pbs", "slurm"])
def test_a_member_that_fails_fails_the_array(site: Site, dialect: str) -> None:
    if dialect == "pbs":
        array = qsub_array(site, "-J", "1-3", "-j", "oe", stdin="[ $PBS_ARRAY_INDEX != 2 ] || exit 7\n")
    else:
        array = site.sbatch("-a", "1-3", "--wrap", "[ $SLURM_ARRAY_TASK_ID != 2 ] || exit 7")
    status = wait_over(site, array)
    assert (status["state"], status["exitCode"]) == ("Failed", 1)
    assert status["array"] == {"succeeded": "1,3", "failed": "2"}
    assert members(site, array)[2]["status"]["exitCode"] == 7


def test_a_large_array_is_one_record(site: Site) -> None:
    array = site.sbatch("--array=1-100000%1", "-H", "-o", "/dev/null", "--wrap", "sleep 600")
    assert members(site, array) == {}
    obj = record(site, array)
    assert obj["status"]["array"] == {"pending": "1-100000", "limit": 1}
    assert len(json.dumps(obj)) < 10_000
    site.run("scontrol", "release", array)
    wait_for(
        "the first member", lambda: members(site, array).get(1, {}).get("status", {}).get("state") == "Running", 60
    )
    assert list(members(site, array)) == [1]
    site.run("scancel", array)
    status = wait_over(site, array)
    assert status["state"] == "Deleted"
    assert status["array"] == {"deleted": "1-100000", "limit": 1}


def test_a_held_array_starts_when_it_is_released(site: Site) -> None:
    array = qsub_array(site, "-h", "-J", "1-2", "-j", "oe", stdin="true\n")
    assert record(site, array)["status"]["state"] == "Held"
    site.run("qrls", f"{array}[]")
    assert wait_over(site, array)["array"] == {"succeeded": "1-2"}


def test_a_limit_that_is_no_number_is_told(site: Site) -> None:
    done = site.run("sbatch", "-H", "--array=1-3%0x", "--wrap=true")
    assert done.stderr == "sbatch: array: %0x is read as no limit\n"
    site.run("scancel", done.stdout.split()[-1])


def test_nothing_but_records_is_left(site: Site) -> None:
    array = qsub_array(site, "-J", "1-2", "-j", "oe", stdin="true\n")
    secret = record(site, array)["spec"]["submissionSecret"]
    wait_over(site, array)
    assert site.kubectl("get", "secret", secret, check=False).returncode == 1
    numbers = [obj["status"]["jobId"] for obj in members(site, array).values()]

    def left() -> str:
        found = [
            site.kubectl("get", "pods,configmaps,jobs.batch.volcano.sh", "-o", "name", "-l", f"hpcbatch.io/job-id={n}")
            for n in numbers
        ]
        return "".join(done.stdout for done in found)

    wait_for("the members' objects to go", lambda: left() == "")


@pytest.mark.parametrize(
    ("argv", "code", "first"),
    [
        (("qsub", "-J", "4-1"), 2, "qsub: illegal -J value"),
        (("qsub", "-J", "3-3"), 2, "qsub: illegal -J value"),
        (("qsub", "-J", "0-100000"), 3, "qsub: Array job exceeds server or queue size limit"),
        (("qsub", "-J", "1-4", "-r", "n"), 255, "qsub: cannot submit non-rerunable Array Job"),
        (("qsub", "-J", "1-4%2", "-W", "max_run_subjobs=4"), 2, "qsub: multiple max_run_subjobs values found"),
        (("qsub", "-W", "max_run_subjobs=4"), 1, "qsub: Attribute has to be set on an array job"),
        (("sbatch", "--array=5-1"), 1, "sbatch: error: Batch job submission failed: Invalid job array specification"),
        (("sbatch", "--array=x"), 1, "sbatch: error: Batch job submission failed: Invalid job array specification"),
        (("sbatch", "--array=0-100000"), 1, "sbatch: error: array: 100001 members, at most 100000"),
    ],
)
def test_what_is_no_array(site: Site, argv: tuple[str, ...], code: int, first: str) -> None:
    done = site.run(*argv, stdin="#!/bin/sh\ntrue\n", check=False)
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr.splitlines()[0] == first
