"""`srun` on the login node: an allocation, what runs in it, and its output, input and exit code here."""

from __future__ import annotations

import re
import subprocess

import pytest

from tests.conformance.site import Site
from tests.conformance.terminals import terminal, without_waiting
from tests.waiting import wait_for


def test_output_of_all_tasks_and_the_highest_exit_code(site: Site) -> None:
    script = 'echo "out $SLURM_PROCID of $SLURM_NTASKS"; echo "err $SLURM_PROCID" >&2; exit $((SLURM_PROCID * 3))'
    done = site.run("srun", "-N2", "-J", "two", "sh", "-c", script, check=False)
    assert done.returncode == 3
    assert sorted(done.stdout.splitlines()) == ["out 0 of 2", "out 1 of 2"]
    errors = without_waiting(done.stderr).splitlines()
    assert {"err 0", "err 1"} <= set(errors)
    assert any(re.fullmatch(r"srun: error: \S+: task 1: Exited with exit code 3", line) for line in errors)
    assert len(errors) == 3, errors
    listed = site.run("sacct", "-Xn", "--format=jobname,state,exitcode,nnodes").stdout.split()
    assert listed[-4:] == ["two", "FAILED", "3:0", "2"]


@pytest.mark.alone
def test_when_it_would_start(site: Site) -> None:
    """Which is not known where others' jobs have all CPUs and no end."""
    done = site.run("srun", "--test-only", "-n2", "true")
    at = r"srun: Job \d+ to start at \S+ using 2 processors on nodes \S+ in partition \S+\n"
    assert done.stdout == "" and re.fullmatch(at, done.stderr), done.stderr
    assert site.run("squeue", "-h", "-n", "true", "-u", site.env["USER"]).stdout == ""


def test_labels(site: Site) -> None:
    done = site.run("srun", "-n", "2", "--label", "echo", "word")
    assert sorted(done.stdout.splitlines()) == ["0: word", "1: word"]


def test_where_and_as_what_it_runs(site: Site) -> None:
    done = site.run("srun", "sh", "-c", "pwd; echo $MINE; umask; id -un", env={"MINE": "a b"})
    assert done.stdout.splitlines()[:2] == [str(site.work), "a b"]


def test_input_to_its_end(site: Site) -> None:
    text = "".join(f"line {number} äöü\n" for number in range(20_000))
    assert site.run("srun", "cat", stdin=text).stdout == text
    assert site.run("srun", "head", "-n1", stdin=text).stdout == "line 0 äöü\n"


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("exit 7", 7),
        ("kill -9 $$", 137),
        *(pytest.param(*row, marks=pytest.mark.slow) for row in (("kill -11 $$", 139), ("true", 0), ("exit 255", 255))),
    ],
)
def test_exit_codes(site: Site, command: str, code: int) -> None:
    assert site.run("srun", "sh", "-c", command, check=False).returncode == code


@pytest.mark.parametrize(
    ("argv", "code", "text"),
    [
        ((), 1, "srun: fatal: No command given to execute."),
        (("-p", "nosuch", "true"), 1, "srun: error: Unable to allocate resources: Invalid partition name specified"),
        (("--nosuch", "true"), 1, "srun: unrecognized option '--nosuch'"),
        (("-n", "x", "true"), 1, "srun: error: "),
        (("nosuch",), 2, "execve(): nosuch: No such file or directory"),
    ],
)
def test_refusals(site: Site, argv: tuple[str, ...], code: int, text: str) -> None:
    done = site.run("srun", *argv, check=False)
    assert (done.returncode, done.stdout) == (code, "")
    assert text in done.stderr
    assert "sbatch" not in done.stderr


def test_it_says_what_it_waits_for_and_control_c_takes_it_back(site: Site) -> None:
    with terminal(site, "srun", "--hold", "hostname") as shell:
        job = shell.found(r"srun: job (\d+) queued and waiting for resources\r\n")
        assert site.run("squeue", "--me", "-h", "-o", "%i %t").stdout == f"{job} PD\n"
        shell.sendcontrol("c")
        shell.expect_exact(f"srun: Job allocation {job} has been revoked")
        assert shell.code() == 1
    assert site.wait_end(job)["job_state"] == "F"


def test_it_starts_when_it_may(site: Site) -> None:
    with terminal(site, "srun", "--hold", "echo", "ran") as shell:
        job = shell.found(r"srun: job (\d+) queued and waiting for resources\r\n")
        site.run("scontrol", "release", job)
        shell.expect_exact(f"srun: job {job} has been allocated resources\r\nran\r\n")
        assert shell.code() == 0


def test_control_c_while_it_runs(site: Site) -> None:
    with terminal(site, "srun", "sh", "-c", "echo begun; sleep 1000") as shell:
        shell.expect_exact("begun")
        shell.interrupt_twice("srun: forcing job termination")
        assert shell.code() != 0


def test_cancelled_while_it_runs(site: Site) -> None:
    with terminal(site, "srun", "-J", "long", "sh", "-c", "echo begun; sleep 1000") as shell:
        shell.expect_exact("begun")
        site.run("scancel", "--name", "long")
        shell.expect(r"srun: Force Terminated job \d+")
        assert shell.code() != 0


def test_a_terminal(site: Site) -> None:
    with terminal(site, "srun", "--pty", "-n1", "bash", "--norc", "-i", env={"MINE": "word"}) as shell:
        assert (
            shell.answer("tty | sed 's/[0-9]*$//'; stty size; echo $MINE $SLURM_STEP_ID")
            == "/dev/pts/\n31 97\nword 0\n"
        )
        assert shell.answer("pwd") == f"{site.work}\n"
        shell.setwinsize(45, 123)
        assert shell.answer("until [ \"$(stty size)\" = '45 123' ]; do sleep 0.1; done; echo there") == "there\n"
        shell.sendline("sh -c 'echo be''gun; exec sleep 1000'")
        shell.expect_exact("begun\r\n")
        shell.sendcontrol("c")
        assert "-n" not in shell.answer("srun hostname | sed 's/.*-//'").replace("0\n", "")
        shell.sendline("exit 4")
        assert shell.code() == 4


def test_a_program_on_the_terminal(site: Site) -> None:
    """Without a shell that would take the terminal for itself."""
    with terminal(
        site, "srun", "--pty", "sh", "-c", "trap 'echo caught; exit 9' INT; echo begun; while :; do sleep 0.1; done"
    ) as shell:
        shell.expect_exact("begun\r\n")
        shell.sendcontrol("c")
        shell.expect_exact("caught\r\n")
        assert shell.code() == 9


def test_pty_without_a_terminal(site: Site) -> None:
    done = site.run("srun", "--pty", "echo", "word")
    assert (done.stdout, without_waiting(done.stderr)) == (
        "word\n",
        "srun: error: Not using a pseudo-terminal, disregarding --pty option\n",
    )


def test_output_before_the_end(site: Site) -> None:
    """It is not kept back until the job ends."""
    with subprocess.Popen(
        site.command("srun", "sh", "-c", "echo first; read -r line; echo $line"),
        cwd=site.work,
        env=dict(site.env),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as client:
        assert client.stdin is not None
        assert client.stdout is not None
        assert client.stdout.readline() == "first\n"
        client.stdin.write("second\n")
        client.stdin.flush()
        assert client.stdout.readline() == "second\n"
        wait_for("the end", lambda: client.poll() is not None)
        assert client.returncode == 0


def test_a_verbose_srun_names_its_hosts(site: Site) -> None:
    done = site.run("srun", "-v", "-N2", "hostname")
    lines = [line for line in done.stderr.splitlines() if line.startswith("srun: launching StepId=")]
    assert [line.rpartition(", ")[2] for line in lines] == ["1 tasks: 0", "1 tasks: 1"]
    job = lines[0].partition("StepId=")[2].partition(".")[0]
    for host in done.stdout.split():
        assert site.run("sacct", "-Xn", "-j", job, "-N", host, "--format=jobid").stdout.split() == [job]


def test_a_step_of_another_job_from_within_one(site: Site) -> None:
    """Where the job has the way to the API; a pod of a cluster has not, and its srun says so."""
    other = site.sbatch("-N2", "-n2", "-o", "other", "--wrap", "sleep 600")
    site.wait_state(other, "R")
    form = "'echo $SLURM_JOB_ID $SLURM_PROCID of $SLURM_NTASKS $(hostname) $MINE'"
    job = site.sbatch("-o", "out", "--wrap", f"export MINE=x; srun --jobid={other} -l sh -c {form} 2>&1; echo $?")
    site.wait_end(job)
    *said, code = site.read("out").splitlines()
    if code == "0":
        assert sorted(said) == [f"{n}: {other} {n} of 2 {host} x" for n, host in enumerate(hosts_of(site, other))]
    else:
        assert code == "1" and said[0].startswith("srun: "), said


def hosts_of(site: Site, job: str) -> list[str]:
    return [f"job-{job}-mpimaster-0", f"job-{job}-mpiworker-0"]
