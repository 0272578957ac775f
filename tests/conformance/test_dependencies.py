"""Jobs that wait for others: when they run, what is shown meanwhile, and what becomes of those that never can."""

from __future__ import annotations

import re

import pytest

from tests.conformance.site import Site
from tests.waiting import wait_for

FAR = "999999"
CD = "cd $PBS_O_WORKDIR\n"


def held(site: Site) -> str:
    """A job that runs when it is let go: what stands behind it is there before it starts."""
    return site.qsub("-h", "-N", "first", "-j", "oe", stdin="true\n")


def squeue(site: Site, *jobs: str) -> dict[str, str]:
    """State, reason and dependency of each job."""
    shown = site.run("squeue", "-h", "-t", "all", "-j", ",".join(jobs), "-o", "%A %t %r %E").stdout
    return {line.partition(" ")[0]: line.partition(" ")[2] for line in shown.splitlines()}


def attributes(site: Site, job: str) -> dict[str, str]:
    shown = site.run("qstat", "-x", "-f", "-w", job).stdout
    return dict(re.findall(r"^    (\S+) = (.*)$", shown, re.MULTILINE))


def test_afterok_across_dialects(site: Site) -> None:
    first = held(site)
    pbs = site.qsub("-N", "second", "-j", "oe", "-W", f"depend=afterok:{first}.{site.server}", stdin=CD + "cat once\n")
    slurm = site.sbatch("-d", f"afterok:{first}", "-o", "third.txt", "--wrap", "echo third")
    shown = attributes(site, pbs)
    full = f"{first}.{site.server}@{site.server}"
    assert shown["depend"] == f"afterok:{full}"
    assert (shown["job_state"], shown["Hold_Types"], shown["substate"]) == ("H", "s", "22")
    assert "etime" not in shown
    ends = ":".join(f"{job}.{site.server}@{site.server}" for job in (pbs, slurm))
    wait_for("the other end", lambda: attributes(site, first).get("depend") == f"beforeok:{ends}")
    assert squeue(site, slurm) == {slurm: f"PD Dependency afterok:{first}(unfulfilled)"}
    record = site.run("scontrol", "show", "job", slurm).stdout
    assert f"JobState=PENDING Reason=Dependency Dependency=afterok:{first}(unfulfilled)" in record
    assert "EligibleTime=Unknown" in record
    assert not re.search(r"Priority=0\b", record)
    site.script("once", "second\n")
    site.run("qrls", first)
    assert site.wait_end(pbs)["Exit_status"] == 0
    assert site.read(f"second.o{pbs}") == "second\n"
    site.wait_end(slurm)
    assert "depend" not in attributes(site, pbs)
    assert squeue(site, slurm) == {slurm: "CD None (null)"}


def test_what_a_failure_means(site: Site) -> None:
    first = site.qsub("-h", "-N", "bad", "-j", "oe", stdin="exit 3\n")
    pbs = {
        kind: site.qsub("-j", "oe", "-W", f"depend={kind}:{first}", stdin="true\n")
        for kind in ("afterok", "afternotok")
    }
    slurm = {
        name: site.sbatch("-o", "/dev/null", "-d", *argv, "--wrap", "true")
        for name, argv in {
            "never": (f"afterok:{first}",),
            "killed": (f"afterok:{first}", "--kill-on-invalid-dep=yes"),
            "notok": (f"afternotok:{first}",),
            "any": (f"afterany:{first}",),
            "one": (f"afterok:{first}?afternotok:{first}",),
        }.items()
    }
    site.run("qrls", first)
    for job in (slurm["notok"], slurm["any"], slurm["one"], slurm["killed"], *pbs.values()):
        site.wait_end(job)
    assert squeue(site, *slurm.values()) == {
        slurm["never"]: f"PD DependencyNeverSatisfied afterok:{first}(failed)",
        slurm["killed"]: f"CA DependencyNeverSatisfied afterok:{first}(failed)",
        slurm["notok"]: "CD None (null)",
        slurm["any"]: "CD None (null)",
        slurm["one"]: "CD None (null)",
    }
    site.run("scancel", slurm["never"])
    dropped = attributes(site, pbs["afterok"])
    assert dropped["depend"] == f"afterok:{first}.{site.server}@{site.server}"
    assert "Exit_status" not in dropped
    assert "comment" not in dropped
    assert attributes(site, pbs["afternotok"])["Exit_status"] == "0"


def test_on_jobs_that_have_ended(site: Site) -> None:
    good = site.qsub("-j", "oe", stdin="true\n")
    bad = site.qsub("-j", "oe", stdin="false\n")
    site.wait_end(good)
    site.wait_end(bad)
    runs = site.qsub("-j", "oe", "-W", f"depend=afterok:{good},afternotok:{bad}", stdin="true\n")
    never = site.qsub("-j", "oe", "-W", f"depend=afterok:{bad}", stdin="true\n")
    waits = site.sbatch("-d", f"afternotok:{good}", "-o", "/dev/null", "--wrap", "true")
    assert site.wait_end(runs)["Exit_status"] == 0
    assert attributes(site, never)["job_state"] == "F"
    assert squeue(site, waits) == {waits: f"PD DependencyNeverSatisfied afternotok:{good}(failed)"}
    site.run("scancel", waits)


def test_unknown_jobs(site: Site) -> None:
    """Recorded: PBS takes the job and deletes it, Slurm takes it and runs it."""
    pbs = site.qsub("-j", "oe", "-W", f"depend=afterok:{FAR}", stdin="true\n")
    slurm = site.sbatch("-d", f"afterok:{FAR}", "-o", "/dev/null", "--wrap", "true")
    assert attributes(site, pbs)["job_state"] == "F"
    assert "Exit_status" not in attributes(site, pbs)
    site.wait_end(slurm)
    assert squeue(site, slurm) == {slurm: "CD None (null)"}


@pytest.mark.parametrize("text", ["foo:1", "afterok:1,", "afterok", "after:1+x"])
def test_sbatch_refuses(site: Site, text: str) -> None:
    done = site.run("sbatch", "-d", text, "--wrap", "true", check=False)
    assert done.stderr == "sbatch: error: Batch job submission failed: Job dependency problem\n"
    assert (done.returncode, done.stdout) == (1, "")


@pytest.mark.parametrize(("text", "code"), [("foo:1", 2), ("afterok:1,", 2), ("afterok:1[3]", 2), ("on:0", 166)])
def test_qsub_refuses(site: Site, text: str, code: int) -> None:
    done = site.run("qsub", "-W", f"depend={text}", stdin="true\n", check=False)
    wanted = "illegal -W value" if code == 2 else "Illegal attribute or resource value depend"
    assert f"qsub: {wanted}\n" in done.stderr
    assert (done.returncode, done.stdout) == (code, "")


def test_before_and_on(site: Site) -> None:
    last = site.qsub("-N", "last", "-j", "oe", "-W", "depend=on:2", stdin=CD + "cat parts\n")
    assert attributes(site, last)["depend"] == "on:2"
    one = site.qsub("-h", "-j", "oe", "-W", f"depend=beforeok:{last}", stdin=CD + "echo one >> parts\n")
    other = site.qsub("-j", "oe", "-W", f"depend=beforeany:{last}", stdin=CD + "echo two >> parts; false\n")
    more = site.qsub("-j", "oe", "-W", f"depend=beforeany:{last}", stdin=CD + "echo three >> parts\n")
    site.wait_end(other)
    assert attributes(site, more)["job_state"] == "F"
    assert "Exit_status" not in attributes(site, more)
    site.wait_state(last, "H")
    wait_for("the first part", lambda: attributes(site, last)["depend"].startswith(f"afterok:{one}."))
    site.run("qrls", one)
    assert site.wait_end(last)["Exit_status"] == 0
    assert site.read(f"last.o{last}") == "two\none\n"


def test_runone(site: Site) -> None:
    first = held(site)
    second, third = (
        site.qsub("-N", "one", "-j", "oe", "-W", f"depend=runone:{first}", stdin=CD + "echo ran >> ran\n")
        for _ in range(2)
    )
    site.wait_end(second)
    for job in (first, third):
        assert "Exit_status" not in site.wait_end(job)
    assert site.read("ran") == "ran\n"


def test_singleton(site: Site) -> None:
    script = "echo in >> log; sleep 0.3; echo out >> log"
    jobs = [site.sbatch("-J", "alone", "-d", "singleton", "-o", "/dev/null", "--wrap", script) for _ in range(3)]
    for job in jobs:
        site.wait_end(job)
    assert site.read("log") == "in\nout\n" * 3


def test_after_the_start(site: Site) -> None:
    first = site.qsub("-h", "-j", "oe", stdin=CD + "until test -e seen; do sleep 0.1; done\n")
    second = site.sbatch("-d", f"after:{first}", "-o", "/dev/null", "--wrap", "touch seen")
    late = site.sbatch("-d", f"after:{first}+60", "-o", "/dev/null", "--wrap", "true")
    site.run("qrls", first)
    site.wait_end(second)
    assert site.wait_end(first)["Exit_status"] == 0
    assert squeue(site, late) == {late: f"PD Dependency after:{first}+60(unfulfilled)"}
    site.run("scancel", late)


def test_arrays(site: Site) -> None:
    first = site.sbatch("--hold", "-a", "0-2", "-o", "/dev/null", "--wrap", "test $SLURM_ARRAY_TASK_ID != 1")
    member = site.sbatch("-d", f"afternotok:{first}_1", "-o", "/dev/null", "--wrap", "true")
    whole = site.sbatch("-d", f"afterok:{first}", "-o", "/dev/null", "--wrap", "true")
    pbs = site.qsub("-j", "oe", "-W", f"depend=afterany:{first}[]", stdin="true\n")
    each = site.sbatch("-a", "0-2", "-d", f"aftercorr:{first}", "-o", "/dev/null", "--wrap", "true")
    assert squeue(site, whole) == {whole: f"PD Dependency afterok:{first}_*(unfulfilled)"}
    assert attributes(site, pbs)["depend"] == f"afterany:{first}[].{site.server}@{site.server}"
    site.run("scontrol", "release", first)
    site.wait_end(pbs)
    site.wait_end(member)
    wait_for(
        "the failed one",
        lambda: squeue(site, whole) == {whole: f"PD DependencyNeverSatisfied afterok:{first}_*(failed)"},
    )
    shown = ("squeue", "-h", "-r", "-t", "all", "-j", each, "-o", "%i %t %r")
    wanted = [f"{each}_0 CD None", f"{each}_1 PD DependencyNeverSatisfied", f"{each}_2 CD None"]
    wait_for("the counterparts", lambda: sorted(site.run(*shown).stdout.splitlines()) == wanted)
    site.run("scancel", whole, each)


def test_arrays_that_wait(site: Site) -> None:
    first = site.qsub("-h", "-j", "oe", stdin="exit 1\n")
    script = CD + "echo $PBS_ARRAY_INDEX >> ran\n"
    runs, never = (
        array_of(site, "-J", "1-3", "-j", "oe", "-W", f"depend={kind}:{first}", stdin=script)
        for kind in ("afternotok", "afterok")
    )
    behind = site.qsub("-j", "oe", "-W", f"depend=afterok:{runs}[]", stdin="true\n")
    shown = attributes(site, f"{runs}[]")
    assert shown["depend"].partition(",")[0] == f"afternotok:{first}.{site.server}@{site.server}"
    assert (shown["job_state"], shown["Hold_Types"]) == ("H", "s")
    site.run("qrls", first)
    assert site.wait_end(behind)["Exit_status"] == 0
    assert sorted(site.read("ran").split()) == ["1", "2", "3"]
    wait_for("the end of the other", lambda: attributes(site, f"{never}[]")["job_state"] == "F")
    assert "Exit_status" not in attributes(site, f"{never}[]")


def array_of(site: Site, *argv: str, stdin: str) -> str:
    return site.run("qsub", *argv, stdin=stdin).stdout.partition("[")[0]


def test_a_chain_and_its_middle(site: Site) -> None:
    jobs = [site.qsub("-h", "-j", "oe", stdin=CD + "echo 0 >> chain\n")]
    for number in range(1, 5):
        jobs.append(site.qsub("-j", "oe", "-W", f"depend=afterok:{jobs[-1]}", stdin=f"{CD}echo {number} >> chain\n"))
    site.run("qdel", jobs[3])
    site.run("qrls", jobs[0])
    site.wait_end(jobs[2])
    assert site.read("chain") == "0\n1\n2\n"
    site.wait_state(jobs[4], "H")  # recorded: what was deleted before it ran keeps its dependants waiting
    site.run("qdel", jobs[4])


def test_dependency_holds_count_beside_the_users(site: Site) -> None:
    first = held(site)
    second = site.qsub("-h", "-j", "oe", "-W", f"depend=afterany:{first}", stdin="true\n")
    assert attributes(site, second)["Hold_Types"] == "su"
    site.run("qrls", second)
    assert attributes(site, second)["Hold_Types"] == "s"
    site.run("qhold", second)
    site.run("qrls", first)
    site.wait_end(first)
    wait_for("the user's hold alone", lambda: attributes(site, second)["Hold_Types"] == "u")
    site.run("qrls", second)
    assert site.wait_end(second)["Exit_status"] == 0


def test_altered(site: Site) -> None:
    first = held(site)
    pbs = site.qsub("-j", "oe", "-W", f"depend=afterok:{first}", stdin="true\n")
    slurm = site.sbatch("-d", f"afterok:{first}", "-o", "/dev/null", "--wrap", "true")
    site.run("qalter", "-W", f"depend=afterany:{first}", pbs)
    full = f"{first}.{site.server}@{site.server}"
    assert attributes(site, pbs)["depend"] == f"afterok:{full},afterany:{full}"
    circle = site.run("qalter", "-W", f"depend=afterok:{pbs}", first, check=False)
    assert circle.stderr.startswith(f"qalter: Invalid Job Dependency {first}.{site.server}\n")
    assert circle.returncode == 206
    own = site.run("qalter", "-W", f"depend=afterok:{first}", first, check=False)
    assert own.stderr.startswith(f"qalter: Invalid request {first}.{site.server}\n")
    assert own.returncode == 156
    circle = site.run("scontrol", "update", f"JobId={first}", f"Dependency=afterok:{slurm}", check=False)
    assert "Circular job dependency" in circle.stderr
    assert circle.returncode == 1
    site.run("scontrol", "update", f"JobId={slurm}", f"Dependency=afternotok:{first}")
    assert squeue(site, slurm) == {slurm: f"PD Dependency afternotok:{first}(unfulfilled)"}
    site.run("qalter", "-W", "depend=", pbs)
    site.run("scontrol", "update", f"JobId={slurm}", "Dependency=")
    for job in (pbs, slurm):
        site.wait_end(job)
    site.run("qdel", first)


@pytest.mark.alone
def test_altered_when_it_is_queued(site: Site) -> None:
    """A job that waits for room goes back behind another."""
    first = held(site)
    big = site.qsub("-l", "select=3:ncpus=2", "-j", "oe", stdin="sleep 600\n")
    site.wait_state(big, "R")
    queued = site.qsub("-j", "oe", stdin="true\n")
    site.wait_state(queued, "Q")
    site.run("qalter", "-W", f"depend=afterany:{first}", queued)
    site.wait_state(queued, "H")
    assert attributes(site, queued)["Hold_Types"] == "s"
    site.run("qdel", big)
    site.wait_end(big)
    assert attributes(site, queued)["job_state"] == "H"
    site.run("qrls", first)
    assert site.wait_end(queued)["Exit_status"] == 0
