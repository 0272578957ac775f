"""`salloc`, steps from its shell, and `sattach`."""

from __future__ import annotations

import re
from pathlib import Path

import pexpect
import pytest

from tests.conformance.site import Site
from tests.conformance.terminals import Terminal, terminal, without_waiting
from tests.waiting import wait_for

GRANTED = re.compile(r"salloc: Granted job allocation (\d+)\n")


def test_a_command_and_its_steps(site: Site) -> None:
    script = site.script(
        "steps.sh",
        'echo "$SLURM_JOB_NUM_NODES $SLURM_NTASKS $MINE"\n'
        "srun -l sh -c 'echo $MINE'\n"
        "cd sub && srun -n1 sh -c 'pwd; exit 7'\n"
        'echo "code $?"\n'
        "printf 'a\\nb\\n' | srun -n1 cat\n"
        "exit 3\n",
    )
    (site.work / "sub").mkdir(mode=0o777)
    done = site.run("salloc", "-N2", "-n2", "-J", "held", "sh", script, check=False, env={"MINE": "w 'x'"})
    match = GRANTED.match(without_waiting(done.stderr))
    assert match, done.stderr
    assert done.returncode == 3
    lines = done.stdout.splitlines()
    assert lines[0] == "2 2 w 'x'"
    assert sorted(lines[1:3]) == ["0: w 'x'", "1: w 'x'"]
    assert lines[3:] == [str(site.work / "sub"), "code 7", "a", "b"]
    assert done.stderr.endswith(f"salloc: Relinquishing job allocation {match[1]}\n")
    assert re.search(r"srun: error: \S+: task 0: Exited with exit code 7\n", done.stderr)
    site.wait_end(match[1])
    shown = site.run("sacct", "-Xn", "-j", match[1], "--format=jobname,state,exitcode").stdout.split()
    assert shown == ["held", "FAILED", "3:0"]


def test_a_shell(site: Site) -> None:
    with terminal(site, "salloc", "-n1", "bash", "--norc", "-i") as shell:
        job = shell.found(r"salloc: Granted job allocation (\d+)")
        assert shell.answer("echo $SLURM_JOB_ID; hostname") != f"{job}\njob-{job}-mpimaster-0\n"
        assert shell.answer("srun hostname") == f"job-{job}-mpimaster-0\n"
        shell.sendline("srun --pty bash --norc -i")
        assert shell.answer("hostname; tty | sed 's/[0-9]*$//'; stty size") == (
            f"job-{job}-mpimaster-0\n/dev/pts/\n31 97\n"
        )
        shell.sendline("exit 4")
        shell.expect(r"task 0: Exited with exit code 4\r\n\S*bash-\S+ ")  # the other shell, on the login node
        shell.sendline("echo code $?")
        shell.expect_exact("code 4\r\n")
        shell.sendline("srun sh -c 'echo be''gun; exec sleep 1000'")
        shell.expect_exact("begun\r\n")
        shell.interrupt_twice("srun: sending Ctrl-C to the step")
        shell.expect_exact("Terminating")
        shell.expect(r"bash-\S+ ")
        assert site.run("squeue", "--me", "-h", "-o", "%i %T").stdout == f"{job} RUNNING\n"
        shell.sendline("exit")
        shell.expect_exact(f"salloc: Relinquishing job allocation {job}")
        assert shell.code() == 143
    assert site.wait_end(job)["job_state"] == "F"
    steps = site.run("sacct", "-n", "-P", "-j", f"{job}.0,{job}.1", "--format=jobid,jobname,exitcode").stdout.split()
    assert steps == [f"{job}.0|hostname|0:0", f"{job}.1|bash|4:0"]


def test_a_terminal_is_step_0(site: Site) -> None:
    """Of the job that srun has made for it; what runs beside it counts from 1."""
    with terminal(site, "srun", "--pty", "bash", "--norc", "-i") as shell:
        job = shell.answer("echo $SLURM_JOB_ID").strip()
        shown = site.run("squeue", "-h", "-s", "-j", job, "-o", "%i %j").stdout
        assert shown == f"{job}.0 bash\n"
        assert "Nodes=1 CPUs=1 Tasks=1 Name=bash " in site.run("scontrol", "show", "step", f"{job}.0").stdout
        assert shell.answer("echo $SLURM_STEP_ID; srun sh -c 'echo $SLURM_STEP_ID' </dev/null") == "0\n1\n"
        shell.sendline("exit 3")
        assert shell.code() == 3
    site.wait_end(job)
    steps = site.run("sacct", "-n", "-P", "-j", job, "--format=jobid,jobname,exitcode").stdout.split()
    assert steps == [f"{job}|bash|3:0", f"{job}.0|bash|3:0", f"{job}.1|sh|0:0"]


def test_a_terminal_on_the_host_that_is_wanted(site: Site) -> None:
    """It is a step, as any other, also from within another one's terminal."""
    with terminal(site, "salloc", "-N2", "-n2", "bash", "--norc", "-i") as shell:
        job = shell.found(r"salloc: Granted job allocation (\d+)")
        last = f"job-{job}-mpiworker-0"
        shell.sendline(f"srun --pty -n1 -w {last} bash --norc -i")
        assert shell.answer("hostname; tty | sed 's/[0-9]*$//'; stty size; echo $SLURM_STEPID") == (
            f"{last}\n/dev/pts/\n31 97\n0\n"
        )
        # not bash's own echo: bash takes a Ctrl-C badly that comes just before its next command has begun
        shell.sendline("sh -c 'echo be''gun; exec sleep 1000'")
        shell.expect_exact("begun\r\n")
        shell.sendcontrol("c")
        shell.sendline("echo co''de $?")
        shell.expect(r"code 130\r\n\S*bash-\S+ ")
        shell.sendline("exit 4")
        shell.expect(rf"srun: error: {last}: task 0: Exited with exit code 4\r\n\S*bash-\S+ ")
        shell.sendline("srun --pty bash --norc -i")
        command = "bash -c 'hostname; stty size; echo $SLURM_PROCID; exit $SLURM_PROCID'"
        assert shell.answer(f"srun --pty -n2 {command}; echo code $?") == (
            f"job-{job}-mpimaster-0\n31 97\n0\nsrun: error: {last}: task 1: Exited with exit code 1\ncode 1\n"
        )
        shell.sendline("exit")
        shell.expect(r"exit\r\n\S*bash-\S+ ")
        shell.sendline("exit")
        shell.expect_exact(f"salloc: Relinquishing job allocation {job}")
    site.wait_end(job)
    steps = site.run("sacct", "-n", "-P", "-j", job, "--format=jobid,jobname,exitcode").stdout.split()
    assert steps[3:] == [f"{job}.0|bash|4:0", f"{job}.1|bash|0:0", f"{job}.2|bash|1:0"]


@pytest.mark.slow
def test_mpirun_on_the_login_node(site: Site) -> None:
    """It starts its daemons by srun. Where these cannot reach it, srun says what works instead."""
    daemon = site.script("prted", "#!/bin/sh\necho $SLURM_PROCID $*; exit $1\n")
    Path(daemon).chmod(0o755)
    launch = "srun --ntasks-per-node=1 --kill-on-bad-exit --mpi=none --cpu-bind=none --ntasks=2"
    for code, count in ((0, 0), (1, 2)):
        done = site.run("salloc", "-N2", "sh", "-c", f"{launch} {daemon} {code}", check=False)
        assert bool(done.returncode) is bool(code), done.stderr
        assert done.stderr.count("srun: hpcbatch: ") == count
        assert code or sorted(done.stdout.splitlines()) == ["0 0", "1 0"]
    mpirun = site.script("mpirun", f"#!/bin/sh\n{launch} {daemon} 1 >/dev/null 2>&1\n")
    Path(mpirun).chmod(0o755)
    assert site.run("salloc", "-N2", mpirun, check=False).stderr.count("salloc: hpcbatch: ") == 2
    with terminal(site, "salloc", "-N2", mpirun) as shell:
        shell.expect_exact("srun: hpcbatch: the daemons of Open MPI have to reach this machine")


def test_waiting(site: Site) -> None:
    with terminal(site, "salloc", "--hold", "true") as shell:
        job = shell.found(r"salloc: Pending job allocation (\d+)\r\n")
        shell.expect_exact(f"salloc: job {job} queued and waiting for resources\r\n")
        shell.sendcontrol("c")
        shell.expect_exact(f"salloc: Job allocation {job} has been revoked")
        assert shell.code() == 1
    site.wait_end(job)


def test_its_end_ends_the_shell(site: Site) -> None:
    with terminal(site, "salloc", "bash", "--norc", "-i") as shell:
        job = shell.found(r"salloc: Granted job allocation (\d+)")
        assert shell.answer("echo here") == "here\n"
        site.run("scancel", job)
        shell.expect_exact(f"salloc: Job allocation {job} has been revoked.")
        shell.expect(pexpect.EOF)


def test_no_shell(site: Site) -> None:
    done = site.run("salloc", "--no-shell", "-n1")
    match = GRANTED.fullmatch(without_waiting(done.stderr))
    assert match
    assert site.run("srun", f"--jobid={match[1]}", "hostname").stdout == f"job-{match[1]}-mpimaster-0\n"
    site.run("scancel", match[1])
    site.wait_end(match[1])


def test_a_step_in_a_running_batch_job(site: Site) -> None:
    """It starts from the variables of the script, in the directory that the user is in."""
    job = site.sbatch("-n2", site.script("long", "#!/bin/sh\nsleep 300\n"))
    site.wait_state(job, "R")
    done = site.run("srun", f"--jobid={job}", "--overlap", "-n2", "-l", "sh", "-c", "echo $SLURM_JOB_ID $PWD")
    assert sorted(done.stdout.splitlines()) == [f"{task}: {job} {site.work}" for task in (0, 1)]
    assert site.run("srun", f"--jobid={job}", "--overlap", "sh", "-c", "exit 3", check=False).returncode == 3
    site.run("scancel", job)
    site.wait_end(job)


def test_no_such_allocation(site: Site) -> None:
    done = site.run("srun", "true", env={"SLURM_JOB_ID": "999999"}, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "srun: error: Unable to confirm allocation for job 999999: Invalid job id specified\n"
        "srun: Check SLURM_JOB_ID environment variable. Expired or invalid job 999999\n"
    )


def test_a_command_that_is_not_there(site: Site) -> None:
    done = site.run("salloc", "nosuch-command", check=False)
    assert 'salloc: error: Unable to exec command "nosuch-command"' in done.stderr
    assert done.returncode == 127


def test_sattach(site: Site) -> None:
    """The terminal goes, and another comes back to what runs."""
    with terminal(site, "srun", "--pty", "-J", "kept", "bash", "--norc", "-i") as shell:
        job = shell.answer("echo $SLURM_JOB_ID; word=kept").strip()
        shell.hang_up()
    assert site.state(job) == "R"
    with terminal(site, "sattach", f"{job}.0") as again:
        again.sendline("")
        assert again.answer("echo $word; stty size") == "kept\n31 97\n"
        again.sendline("exit 6")
        assert again.code() == 6
    assert site.wait_end(job)["Exit_status"] == 6


def test_two_at_one_step(site: Site) -> None:
    with terminal(site, "srun", "sh", "-c", "echo $SLURM_JOB_ID; while read -r line; do echo got $line; done") as shell:
        job = shell.found(r"(\d+)\r\n")
        with terminal(site, "sattach", f"{job}.0") as other:
            wait_for("both", lambda: _both(shell, other))
        shell.sendcontrol("d")
        assert shell.code() == 0


def _both(shell: Terminal, other: Terminal) -> bool:
    """`other` may not be attached yet."""
    shell.sendline("word")
    shell.expect_exact("got word")
    return other.expect_exact(["got word", pexpect.TIMEOUT], timeout=1) == 0


@pytest.mark.parametrize(
    ("argv", "text"),
    [
        ((), "sattach: error: No job step requested\n"),
        (("x",), 'sattach: error: Invalid job step id "x"\n'),
        (("999999.0",), "sattach: error: Could not get job step info: Invalid job id specified\n"),
    ],
)
def test_nothing_to_attach_to(site: Site, argv: tuple[str, ...], text: str) -> None:
    done = site.run("sattach", *argv, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith(text)


@pytest.mark.slow
def test_sbcast(site: Site) -> None:
    """In the shell of salloc and in a job: whole, with its mode, on each host; what is there stays without -f."""
    (site.work / "tool").write_text("#!/bin/sh\necho from $(hostname)\n")
    (site.work / "tool").chmod(0o755)
    where = f"/tmp/{site.work.name}-tool"
    lines = [
        f"sbcast {{}} {where} && srun -l {where} && srun -n1 stat -c %a {where}",
        f'sbcast {{}} {where}; echo "code $?"',
        f'sbcast -f {{}} {where}; echo "code $?"',
        f"srun -N2 -n2 rm -f {where}",
        'sbcast nosuch /tmp/x; echo "code $?"',
    ]
    script = "#!/bin/sh\n" + "\n".join(lines).format(*["tool"] * 3) + "\n"
    inside = site.script("job.sh", script)
    done = site.run("salloc", "-N2", "-n2", "sh", inside, check=False)
    job = site.sbatch("-N2", "-n2", "-o", "out", inside)
    site.wait_end(job)
    for said in (done.stdout + done.stderr, site.read("out")):
        outside = [line for line in said.splitlines() if not line.startswith("salloc: ")]
        assert sum(": from job-" in line for line in outside) == 2, said
        assert [line for line in outside if line.startswith("code")] == ["code 1", "code 0", "code 1"]
        assert "755" in outside
        exists = [line for line in outside if "File exists" in line]
        assert len(exists) == 2 and all(line.startswith("sbcast: error: REQUEST_FILE_BCAST(job-") for line in exists)
        assert "sbcast: error: Can't open `nosuch`: No such file or directory" in outside


def test_sbcast_elsewhere(site: Site) -> None:
    done = site.run("sbcast", "a", "b", check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert "sbcast: error: Need a job id to run this command." in done.stderr
    (site.work / "a").touch()
    done = site.run("sbcast", "-j", "999999", "a", "b", check=False)
    assert (done.returncode, done.stderr) == (1, "sbcast: error: Slurm job ID lookup error: Invalid job id specified\n")
