"""Accounts, users and qualities of service that an operator sets up with sacctmgr. Each case runs alone and takes its
accounts away again."""

from __future__ import annotations

import json
import secrets
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.conformance.operator import as_operator
from tests.conformance.site import Site
from tests.conformance.site_file import SYSTEM, configure, configured, published, set_line
from tests.waiting import wait_for

pytestmark = pytest.mark.alone


def sacctmgr(site: Site, words: str, *, check: bool = True, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return as_operator(site, "sacctmgr", *words.split(), check=check, stdin=stdin)


@pytest.fixture
def name(site: Site) -> Iterator[str]:
    """Of an account and a quality of service. Afterwards accounts are again those that jobs name."""
    made = f"a{secrets.token_hex(3)}"
    yield made
    site.kubectl(*SYSTEM, "delete", "configmap", "hpcbatch-accounts", "--ignore-not-found")
    in_force(site, made, is_there=False)


def test_an_account_with_a_user_and_limits(site: Site, name: str) -> None:
    user = site.env["USER"]
    added = sacctmgr(site, f"-i add account {name} Description=physics GrpTRES=cpu=8,mem=4G MaxJobs=5 fairshare=3")
    assert added.stdout == (
        f" Adding Account(s)\n  {name}\n Settings\n  Description     = physics\n"
        f"  Organization    = Parent/Account Name\n Associations\n  A = {name:<10} C = {site.server[:10]:<10}\n"
        " Settings\n  Fairshare     = 3\n  GrpTRES       = cpu=8,mem=4G\n  MaxJobs       = 5\n"
    )
    again = sacctmgr(site, f"-i add account {name}", check=False)
    assert (again.returncode, again.stdout) == (1, " Nothing new added.\n")
    sacctmgr(site, f"-i add user name={user} account={name} MaxSubmitJobs=7")
    fields = "format=account,user,share,grptres,maxjobs,maxsubmit"
    listed = site.run("sacctmgr", "-nP", "show", "assoc", f"account={name}", fields)
    assert listed.stdout == f"{name}||3|cpu=8,mem=4G|5|\n{name}|{user}|1||5|7\n"
    changed = sacctmgr(site, f"-i modify user where name={user} account={name} set maxjobs=2 maxwall=1-00:00:00")
    assert changed.stdout == f" Modified user associations...\n  C = {site.server:<10} A = {name:<20} U = {user:<9}\n"
    shown = site.run("sacctmgr", "-nP", "show", "assoc", f"user={user}", f"account={name}", "format=maxjobs,maxwall")
    assert shown.stdout == "2|1-00:00:00\n"
    deleted = sacctmgr(site, f"-i delete account {name}")
    assert deleted.stdout == f" Deleting accounts...\n  {name}\n"
    assert site.run("sacctmgr", "-nP", "show", "account", name, "format=account").stdout == ""


def test_a_quality_of_service(site: Site, name: str) -> None:
    sacctmgr(site, f"-i add qos {name} priority=10 MaxTRESPU=cpu=4 MaxJobsPU=2 Flags=DenyOnLimit Preempt=normal")
    fields = "format=name,priority,flags,preempt,maxtrespu,maxjobspu"
    shown = site.run("sacctmgr", "-nP", "show", "qos", name, fields).stdout
    assert shown == f"{name}|10|DenyOnLimit|normal|cpu=4|2\n"
    sacctmgr(site, f"-i modify qos {name} set MaxTRESPU=cpu=-1,node=2")
    assert site.run("sacctmgr", "-nP", "show", "qos", name, "format=maxtrespu").stdout == "node=2\n"
    assert sacctmgr(site, f"-i delete qos {name}").stdout == f" Deleting QOS(s)...\n  {name}\n"


def test_what_is_not_confirmed_is_not_written(site: Site, name: str) -> None:
    asked = sacctmgr(site, f"add qos {name}", stdin="n\n")
    assert asked.stdout.endswith(
        "Would you like to commit changes? (You have 30 seconds to decide)\n(N/y): \n Changes Discarded\n"
    )
    assert site.run("sacctmgr", "-nP", "show", "qos", name, "format=name").stdout == ""
    sacctmgr(site, f"add qos {name}", stdin="y\n")
    assert site.run("sacctmgr", "-nP", "show", "qos", name, "format=name").stdout == f"{name}\n"


def test_names_that_there_are_not(site: Site, name: str) -> None:
    for words, text in (
        (f"-i add user u account={name}", f" This account '{name}' doesn't exist.\n        Contact your admin"),
        (f"-i add account x parent={name}", f" Parent account '{name}' doesn't exist on cluster {site.server}\n"),
        (f"-i add account {name} qos={name}", f"sacctmgr: error: You gave a bad qos '{name}'."),
        ("-i delete account root", " You are not allowed to remove the root account.\n"),
        ("-i add account", " Need name of account to add.\n"),
        ("-i modify account root set nosuch=1", " Unknown option: nosuch=1\n"),
        (f"-i add account {name} cluster=nosuch", " This cluster 'nosuch' doesn't exist.\n"),
    ):
        done = sacctmgr(site, words, check=False)
        assert (done.returncode, done.stderr[: len(text)]) == (1, text)


def test_users_may_not(site: Site, name: str) -> None:
    if not site.admin_env:
        pytest.skip("the engine has one user, who may do everything")
    done = site.run("sacctmgr", "-i", "add", "account", name, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == " Problem adding accounts: Access/permission denied\n"


@pytest.fixture
def admin(site: Site) -> Iterator[Site]:
    """The site, whose configuration and limits of PBS are as before when the case is over."""
    before = configured(site)
    yield site
    configure(site, before)
    for word in ("max_queued", "max_queued_res.ncpus", "max_run"):
        as_operator(site, "qmgr", "-c", f"unset server {word}", check=False)


def enforce(site: Site, words: str) -> None:
    set_line(site, f"accountingEnforce: [{words}]")

    def is_enforced() -> bool:
        found = site.kubectl(*SYSTEM, "get", "configmap", "hpcbatch-site-in-force", "-o", "json", check=False)
        return words in found.stdout

    wait_for("the configuration", is_enforced)


def in_force(site: Site, text: str, *, is_there: bool = True) -> None:
    def has_text() -> bool:
        found = site.kubectl(*SYSTEM, "get", "configmap", "hpcbatch-accounts-in-force", "-o", "json", check=False)
        return (text in found.stdout) is is_there

    wait_for("the accounts", has_text)


REFUSED = (
    "sbatch: error: {}\n"
    "sbatch: error: Batch job submission failed: Job violates accounting/QOS policy (job submit limit, user's size "
    "and/or time limits)\n"
)


def test_who_may_submit_for_an_account(admin: Site, name: str) -> None:
    user = admin.env["USER"]
    sacctmgr(admin, f"-i add account {name}")
    sacctmgr(admin, f"-i add qos {name}")
    sacctmgr(admin, f"-i add user {user} account={name} MaxSubmitJobs=2")
    sacctmgr(admin, f"-i modify user where name={user} set DefaultAccount={name}")
    in_force(admin, f'\\"{user}\\": \\"{name}\\"')
    hold = ("-H", "-o", "/dev/null", "--wrap", "true")
    assert admin.run("sbatch", "-A", "nosuch", *hold, check=False).returncode == 0, "nothing is enforced"
    enforce(admin, "limits, qos")
    done = admin.run("sbatch", "-A", "nosuch", *hold, check=False)
    assert (done.returncode, done.stderr.splitlines()[-1]) == (
        1,
        "sbatch: error: Batch job submission failed: Invalid account or account/partition combination specified",
    )
    done = admin.run("sbatch", "-q", name, *hold, check=False)
    assert done.stderr.splitlines()[-1] == "sbatch: error: Batch job submission failed: Invalid qos specification"
    first = admin.sbatch(*hold)
    assert f" Account={name} " in admin.run("scontrol", "show", "job", first).stdout, "the user's default account"
    admin.sbatch(*hold)
    done = admin.run("sbatch", *hold, check=False)
    assert (done.returncode, done.stderr) == (1, REFUSED.format("AssocMaxSubmitJobLimit"))
    admin.run("scancel", first)
    done = admin.run("sbatch", "-a", "1-2", *hold, check=False)
    assert done.stderr == REFUSED.format("AssocMaxSubmitJobLimit"), "an array counts with its members"
    admin.sbatch(*hold)
    assert "AssocMax" not in admin.run("squeue").stdout


def test_a_quality_of_service_denies(admin: Site, name: str) -> None:
    user = admin.env["USER"]
    sacctmgr(admin, f"-i add qos {name} Flags=DenyOnLimit MaxTRESPerJob=cpu=2 MaxWall=10 MaxSubmitJobsPU=1")
    sacctmgr(admin, f"-i add account {name} qos={name}")
    sacctmgr(admin, f"-i add user {user} account={name} DefaultQOS={name}")
    sacctmgr(admin, f"-i modify user where name={user} set DefaultAccount={name}")
    in_force(admin, f'\\"{user}\\": \\"{name}\\"')
    enforce(admin, "limits, qos")
    for options, reason in (
        (("-n", "3"), "QOSMaxCpuPerJobLimit"),
        (("-t", "11"), "QOSMaxWallDurationPerJobLimit"),
        (("-a", "1-2"), "QOSMaxSubmitJobPerUserLimit"),
    ):
        done = admin.run("sbatch", *options, "-H", "-o", "/dev/null", "--wrap", "true", check=False)
        assert (done.returncode, done.stderr) == (1, REFUSED.format(reason))
    job = admin.sbatch("-H", "-o", "/dev/null", "--wrap", "true")
    shown = admin.run("scontrol", "show", "job", job).stdout
    assert f" QOS={name}\n" in shown
    assert " TimeLimit=00:10:00 " in shown


def test_limits_of_pbs(admin: Site) -> None:
    user = admin.env["USER"]

    def qmgr(request: str) -> None:
        as_operator(admin, "qmgr", "-c", request)

    qmgr("set server max_queued = [u:PBS_GENERIC=1]")
    qmgr("set server max_run = '[u:PBS_GENERIC=3],[o:PBS_ALL=90]'")
    printed = admin.run("qmgr", "-c", "print server").stdout
    assert "set server max_queued = [u:PBS_GENERIC=1]\n" in printed
    assert "set server max_run = [u:PBS_GENERIC=3]\nset server max_run += [o:PBS_ALL=90]\n" in printed
    in_force(admin, "PBS_GENERIC")
    job = admin.qsub("-h", stdin="true\n")
    done = admin.run("qsub", "-h", stdin="true\n", check=False)
    assert (done.returncode, done.stderr) == (38, "qsub: would exceed complex's per-user limit\n")
    qmgr(f"set server max_queued += [u:{user}=2]")
    in_force(admin, f'\\"name\\": \\"{user}\\"')
    second = admin.qsub("-h", stdin="true\n")
    done = admin.run("qsub", "-h", stdin="true\n", check=False)
    assert (done.returncode, done.stderr) == (38, f"qsub: Maximum number of jobs for user {user} already in complex\n")
    admin.run("qdel", job, second)
    qmgr("unset server max_queued")
    qmgr("set server max_queued_res.ncpus = [o:PBS_ALL=2]")
    in_force(admin, "max_queued_res")
    done = admin.run("qsub", "-l", "ncpus=3", stdin="true\n", check=False)
    assert (done.returncode, done.stderr) == (39, "qsub: would exceed limit on resource ncpus in complex\n")


def prioritise(site: Site, words: str) -> None:
    set_line(site, f"priority: {{type: multifactor, {words}}}")
    wait_for("the weights", lambda: "is_multifactor" in json.dumps(published(site)))


def test_priorities_have_factors(admin: Site, name: str) -> None:
    sacctmgr(admin, f"-i add qos {name} Priority=100000")
    in_force(admin, "100000")
    prioritise(admin, "weightQOS: 1000, weightAge: 10, weightTRES: {cpu: 0}")
    later = ("-b", "now+1hour", "-o", "/dev/null", "--wrap", "true")
    low, high = admin.sbatch(*later), admin.sbatch("-q", name, "--nice=5", *later)
    held = admin.sbatch("-H", *later)
    shown = admin.run("sprio", "-h", "-j", f"{low},{high},{held}", "-o", "%i %Y %Q %N").stdout
    assert shown == f"{low} 1 0 0\n{high} 995 1000 5\n"
    assert admin.run("sprio", "-w").stdout.splitlines()[1].split() == ["Weights", "1", "10", "1000", "cpu=0.00"]
    assert admin.run("sprio", "-h", "-u", "nosuchuser", "-l", check=False).stdout == ""
    admin.run("scancel", low, high, held)


@pytest.mark.slow
def test_shares_and_use(admin: Site, name: str) -> None:
    user = admin.env["USER"]
    sacctmgr(admin, f"-i add account {name} fairshare=3")
    sacctmgr(admin, f"-i add user {user} account={name} fairshare=2")
    in_force(admin, f'\\"account\\": \\"{name}\\", \\"user\\": \\"{user}\\"')
    prioritise(admin, "weightFairshare: 1000, decayHalfLife: 7d")

    def shares(*options: str) -> list[str]:
        return admin.run("sshare", "-nP", "-A", name, *options).stdout.splitlines()

    assert shares("-o", "account,user,rawshares,normshares,rawusage") == [
        f"{name}||3|0.750000|0",
        f" {name}|{user}|2|1.000000|0",
    ]
    job = admin.sbatch("-A", name, "-n", "2", "-o", "/dev/null", "--wrap", "sleep 2")
    admin.wait_end(job)
    (raw,) = shares("-U", "-o", "rawusage")
    assert 2 <= int(raw) <= 200, "two CPUs for two seconds and more"
    assert [line.split("|")[1] for line in shares("-o", "account,effectvusage")] == ["1.000000", "1.000000"]
    header = admin.run("sshare", "-l", "-P").stdout.splitlines()[0]
    assert header.startswith("Account|User|RawShares|NormShares|RawUsage|NormUsage|EffectvUsage|FairShare|LevelFS|")


@pytest.mark.slow
def test_equal_shares_come_to_equal_use(admin: Site, name: str) -> None:
    """Who comes later, and with fewer jobs, catches up; from then on both get as much."""
    user, (many, few) = admin.env["USER"], (f"{name}a", f"{name}b")
    sacctmgr(admin, f"-i add account {name} GrpJobs=2")
    for account in (many, few):
        sacctmgr(admin, f"-i add account {account} parent={name} fairshare=1")
        sacctmgr(admin, f"-i add user {user} account={account}")
    in_force(admin, f'\\"account\\": \\"{few}\\", \\"user\\": \\"{user}\\"')
    enforce(admin, "limits")
    prioritise(admin, "weightFairshare: 100000, decayHalfLife: 7d, calcPeriod: 1s")

    def submit(account: str, members: int) -> str:
        note = f"sleep 2; echo {account} >>{admin.work}/marks"
        options = ("-A", account, "-n", "1", "-t", "1", "-a", f"1-{members}", "-o", "/dev/null")
        return admin.sbatch(*options, "--wrap", note)

    def done(account: str) -> int:
        return 0 if not (admin.work / "marks").exists() else admin.read("marks").split().count(account)

    first = submit(many, 24)
    wait_for("four jobs of one account", lambda: done(many) >= 4, 120)
    second = submit(few, 12)
    wait_for("nearly all of the other's", lambda: done(few) >= 10, 240)
    used = done(many)
    admin.run("scancel", first, second)
    assert 7 <= used <= 13, f"{many} ran {used} jobs until {few} had run 10"


def test_many_at_once_are_not_too_many(admin: Site) -> None:
    as_operator(admin, "qmgr", "-c", "set server max_queued = [o:PBS_ALL=3]")
    in_force(admin, "PBS_ALL")
    submissions = [
        subprocess.Popen(
            admin.command("sbatch", "-H", "-o", "/dev/null", "--wrap", "true"),
            cwd=admin.work,
            env={**admin.env},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(12)
    ]
    codes = [(each.communicate(timeout=60), each.returncode)[1] for each in submissions]
    assert sorted(codes) == [0] * 3 + [1] * 9


def quick(site: Site, *options: str, sleep: str = "600") -> str:
    return site.sbatch("-n", "1", "-o", "/dev/null", *options, "--wrap", f"sleep {sleep}")


def shown_reason(site: Site, job: str) -> str:
    return site.run("squeue", "-h", "-j", job, "-o", "%t %r", check=False).stdout.strip()


def test_a_limit_of_running_jobs_holds_back(admin: Site, name: str) -> None:
    user = admin.env["USER"]
    sacctmgr(admin, f"-i add account {name} GrpTRES=cpu=2")
    sacctmgr(admin, f"-i add account {name}b")
    sacctmgr(admin, f"-i add user {user} account={name} MaxJobs=1")
    sacctmgr(admin, f"-i add user {user} account={name}b")
    in_force(admin, f'\\"account\\": \\"{name}b\\", \\"user\\": \\"{user}\\"')
    enforce(admin, "limits")
    first, second = quick(admin, "-A", name), quick(admin, "-A", name)
    too_wide = quick(admin, "-A", name, "-n", "3")
    other = quick(admin, "-A", f"{name}b")
    admin.wait_state(first, "R")
    admin.wait_state(other, "R")
    wait_for("its reason", lambda: shown_reason(admin, second) == "PD AssocMaxJobsLimit")
    wait_for("its reason", lambda: shown_reason(admin, too_wide) == "PD AssocGrpCpuLimit")
    told = admin.attributes(second)["comment"]
    assert told == "Not Running: AssocMaxJobsLimit: no more than 1 job at a time"
    assert "AssocGrpCpuLimit: the job alone is over this limit" in admin.run("hpcbatch", "why", too_wide).stdout
    admin.run("scancel", first)
    admin.wait_state(second, "R")
    sacctmgr(admin, f"-i modify account {name} set GrpTRES=cpu=-1")
    sacctmgr(admin, f"-i modify user where name={user} account={name} set MaxJobs=-1")
    admin.wait_state(too_wide, "R")
    admin.run("scancel", second, too_wide, other)


@pytest.mark.slow
def test_a_limit_is_never_exceeded(admin: Site, name: str) -> None:
    user = admin.env["USER"]
    sacctmgr(admin, f"-i add qos {name} MaxJobsPerUser=2")
    sacctmgr(admin, f"-i add account {name}")
    sacctmgr(admin, f"-i add user {user} account={name}")
    in_force(admin, f'\\"account\\": \\"{name}\\", \\"user\\": \\"{user}\\"')
    enforce(admin, "limits")
    note = f"echo + >>{admin.work}/marks; sleep 2; echo - >>{admin.work}/marks"
    options = ("-A", name, "-q", name, "-n", "1", "-t", "1", "-o", "/dev/null")
    submissions = [
        subprocess.Popen(
            admin.command("sbatch", "--parsable", *options, "--wrap", note),
            cwd=admin.work,
            env={**admin.env},
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(8)
    ]
    jobs = [each.communicate(timeout=60)[0].strip() for each in submissions]
    assert all(jobs)
    for job in jobs:
        assert admin.wait_end(job, limit_s=300)["Exit_status"] == 0
    run = most = 0
    for mark in admin.read("marks").split():
        run += 1 if mark == "+" else -1
        most = max(most, run)
    assert (run, most) == (0, 2)


def test_pbs_limits_what_a_group_runs(admin: Site, name: str) -> None:
    if admin.admin_env:
        pytest.skip("which groups a cluster's user has is its admin's to say; the engine's has the own ones")
    as_operator(admin, "qmgr", "-c", "set server max_run = [g:PBS_GENERIC=1]")
    in_force(admin, "PBS_GENERIC")
    first, second = (admin.qsub("-o", "/dev/null", "-j", "oe", stdin="sleep 600\n") for _ in range(2))
    admin.wait_state(first, "R")
    expected = "Not Running: Group has reached server running job limit."
    wait_for("its comment", lambda: admin.attributes(second).get("comment") == expected)
    as_operator(admin, "qmgr", "-c", "unset server max_run")
    in_force(admin, "PBS_GENERIC", is_there=False)
    admin.wait_state(second, "R")
    admin.run("qdel", first, second)


def test_pbs_limits_what_runs(admin: Site, name: str) -> None:
    as_operator(admin, "qmgr", "-c", "set server max_run = [u:PBS_GENERIC=1]")
    in_force(admin, "PBS_GENERIC")
    first, second = (admin.qsub("-o", "/dev/null", "-j", "oe", stdin="sleep 600\n") for _ in range(2))
    admin.wait_state(first, "R")
    expected = "Not Running: User has reached server running job limit."
    wait_for("its comment", lambda: admin.attributes(second).get("comment") == expected)
    assert shown_reason(admin, second) == "PD QOSResourceLimit"
    as_operator(admin, "qmgr", "-c", "unset server max_run")
    admin.wait_state(second, "R")
    admin.run("qdel", first, second)


@pytest.mark.slow
def test_a_higher_quality_of_service_starts_first(admin: Site, name: str) -> None:
    sacctmgr(admin, f"-i add qos {name} Priority=100")
    in_force(admin, name)
    prioritise(admin, "weightQOS: 1000, weightAge: 1")
    full = admin.sbatch("-N", "3", "-n", "6", "--exclusive", "-t", "10", "-o", "/dev/null", "--wrap", "sleep 600")
    admin.wait_state(full, "R")
    note = f"echo NAME >>{admin.work}/order"
    wide = ("-N", "3", "-n", "6", "--exclusive", "-t", "1", "-o", "/dev/null")
    low = admin.sbatch(*wide, "--wrap", note.replace("NAME", "low"))
    high = admin.sbatch(*wide, "-q", name, "--wrap", note.replace("NAME", "high"))
    wait_for("the later one's reason", lambda: shown_reason(admin, high) == "PD Resources")
    wait_for("the earlier one's reason", lambda: shown_reason(admin, low) == "PD Priority")
    assert admin.run("squeue", "-h", "-t", "PD", "-o", "%i %Q").stdout == f"{high} 1000\n{low} 1\n"
    assert " Priority=1000 " in admin.run("scontrol", "show", "job", high).stdout
    admin.run("scancel", full)
    for job in (low, high):
        assert admin.wait_end(job, limit_s=120)["Exit_status"] == 0
    assert admin.read("order").split() == ["high", "low"]


@pytest.mark.slow
def test_a_formula_orders_jobs(admin: Site) -> None:
    set_line(admin, "priority: {formula: 'walltime'}")
    wait_for("the formula", lambda: "walltime" in json.dumps(published(admin)))
    full = admin.qsub(
        "-l",
        "select=3:ncpus=2,walltime=10:00",
        "-l",
        "place=scatter",
        "-o",
        "/dev/null",
        "-j",
        "oe",
        stdin="sleep 600\n",
    )
    admin.wait_state(full, "R")
    wide = ("-l", "place=scatter", "-o", "/dev/null", "-j", "oe")
    note = f"echo NAME >>{admin.work}/order\n"
    short = admin.qsub("-l", "select=3:ncpus=2,walltime=1:00", *wide, stdin=note.replace("NAME", "short"))
    long = admin.qsub("-l", "select=3:ncpus=2,walltime=5:00", *wide, stdin=note.replace("NAME", "long"))
    wait_for("the later one's reason", lambda: shown_reason(admin, long) == "PD Resources")
    admin.run("qdel", full)
    for job in (short, long):
        assert admin.wait_end(job, limit_s=120)["Exit_status"] == 0
    assert admin.read("order").split() == ["long", "short"]


@pytest.mark.slow
def test_a_priority_given_outright_stays(admin: Site) -> None:
    """Slurm's Priority=N, scontrol top and qrun, where a formula orders jobs."""
    prioritise(admin, "formula: ncpus*1000")
    full = admin.sbatch("-N", "3", "-n", "6", "--exclusive", "-t", "10", "-o", "/dev/null", "--wrap", "sleep 600")
    admin.wait_state(full, "R")
    wide = ("-t", "10", "-o", "/dev/null", "--wrap", "sleep 600")
    first = admin.sbatch("-N", "3", "-n", "6", "--exclusive", *wide)
    second = admin.sbatch("-N", "3", "-n", "3", "--exclusive", *wide)
    third = admin.sbatch("-N", "3", "-n", "3", "--exclusive", *wide)

    def order() -> list[str]:
        return admin.run("squeue", "-h", "-t", "PD", "-o", "%i").stdout.split()

    wait_for("the order of the formula", lambda: order()[0] == first)
    as_operator(admin, "scontrol", "update", f"JobId={second}", "Priority=70000")
    wait_for("a priority given outright", lambda: order() == [second, first, third])
    assert admin.run("squeue", "-h", "-j", second, "-o", "%Q").stdout == "70000\n"
    as_operator(admin, "scontrol", "top", third)
    wait_for("the top one", lambda: order() == [third, second, first])
    as_operator(admin, "scontrol", "update", f"JobId={first}", "Priority=90000")
    wait_for("another one", lambda: order()[0] == first)
    admin.run("scancel", full)
    admin.wait_state(first, "R")
    with ThreadPoolExecutor(1) as pool:
        started = pool.submit(as_operator, admin, "qrun", second)
        wait_for("it is before all", lambda: order()[0] == second)
        admin.run("scancel", first)
        assert started.result().stderr == ""
    assert admin.state(third) == "Q"
    admin.run("scancel", second, third)
