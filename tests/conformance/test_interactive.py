"""`qsub -I`: a shell in the job, on the user's terminal."""

import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.conformance.site import Site
from tests.conformance.terminals import STOPPABLE, Terminal, terminal
from tests.waiting import wait_for

WAITING = r"qsub: waiting for job (\d+)\.\S+ to start\r\n"


@contextmanager
def session(site: Site, *argv: str) -> Iterator[tuple[str, Terminal]]:
    """The job's number and its shell."""
    with terminal(site, "qsub", "-I", *argv) as shell:
        job = shell.found(WAITING)
        shell.expect_exact(f"qsub: job {job}.{site.server} ready\r\n\r\n")
        yield job, shell


def test_from_the_first_word_to_the_last(site: Site) -> None:
    with session(site, "-N", "talk", "-l", "walltime=10:00") as (job, shell):
        assert shell.answer('echo $PBS_ENVIRONMENT $PBS_JOBID $TERM; [ -n "$ENVIRONMENT" ] || echo none') == (
            f"PBS_INTERACTIVE {job}.{site.server} xterm\nnone\n"
        )
        assert shell.answer("cd $PBS_O_WORKDIR && pwd && echo word >there") == f"{site.work}\n"
        assert shell.answer('cat "$PBS_NODEFILE"; hostname') == 2 * f"job-{job}-mpimaster-0\n"
        record = site.attributes(job)
        assert (record["job_state"], record["Job_Name"], record["interactive"]) == ("R", "talk", "True")
        shell.sendline("exit 3")
        shell.expect_exact(f"\r\nqsub: job {job}.{site.server} completed\r\n")
        assert shell.code() == 0
    record = site.wait_end(job)
    assert (record["Exit_status"], record["Rerunable"]) == (3, "False")
    assert site.read("there") == "word\n"
    assert sorted(path.name for path in site.work.iterdir()) == ["there"]  # no files of output


def test_the_terminal(site: Site) -> None:
    with session(site) as (_, shell):
        assert shell.answer("stty size") == "31 97\n"
        shell.setwinsize(45, 123)
        changed = "until [ \"$(stty size)\" = '45 123' ]; do sleep 0.1; done; echo there"
        assert shell.answer(changed) == "there\n"
        assert shell.answer("echo ä€𝄞 | od -An -tx1") == " c3 a4 e2 82 ac f0 9d 84 9e 0a\n"
        assert shell.answer("tty") != "not a tty\n"
        # Ctrl-C ends what runs in the shell, Ctrl-Z stops it
        shell.sendline("sh -c 'echo be''gun; exec sleep 1000'")
        shell.expect_exact("begun\r\n")
        shell.sendcontrol("c")
        shell.sendline("echo code $?")
        shell.expect_exact("code 130\r\n")
        shell.sendline(STOPPABLE)
        shell.expect_exact("begun\r\n")
        shell.sendcontrol("z")
        shell.expect_exact("Stopped")
        assert "Stopped" in shell.answer("jobs")
        shell.sendline("fg")
        shell.expect_exact("on again\r\n")  # bash shows the command before that has the terminal
        shell.sendcontrol("c")
        assert shell.answer("jobs") == ""
        shell.sendcontrol("d")
        shell.expect_exact("completed")


def test_several_hosts(site: Site) -> None:
    with session(site, "-l", "select=2:ncpus=1:mpiprocs=1") as (job, shell):
        hosts = f"job-{job}-mpimaster-0\njob-{job}-mpiworker-0\n"
        assert shell.answer("pbsdsh hostname | sort") == hosts
        assert shell.answer("ssh $(tail -1 $PBS_NODEFILE) hostname") == f"job-{job}-mpiworker-0\n"
        shell.sendline("exit")
        shell.expect_exact("completed")
        assert shell.code() == 0


def test_of_a_script_the_directives_count(site: Site) -> None:
    script = site.script("job.pbs", "#PBS -N named\n#PBS -l select=1:ncpus=2\ntouch ran\n")
    with session(site, script) as (job, shell):
        assert shell.answer("echo $PBS_JOBNAME $NCPUS") == "named 2\n"
        shell.sendline("exit")
        assert shell.code() == 0
    assert not (site.work / "ran").exists()
    assert site.wait_end(job)["Exit_status"] == 0


@pytest.mark.parametrize("answer", ["y\n", "\x03"])
def test_control_c_while_it_waits(site: Site, answer: str) -> None:
    with terminal(site, "qsub", "-I", "-h") as shell:
        job = shell.found(WAITING)
        shell.sendcontrol("c")
        shell.expect_exact("Do you wish to terminate the job and exit (y|[n])? ")
        shell.send("n\n")
        wait_for("the job", lambda: site.state(job) == "H")
        shell.sendcontrol("c")
        shell.expect_exact("Do you wish to terminate the job and exit (y|[n])? ")
        shell.send(answer)
        shell.expect_exact(f"Job {job}.{site.server} is being deleted")
        assert shell.code() == 1
    assert site.wait_end(job)["job_state"] == "F"


def test_deleted_while_it_waits(site: Site) -> None:
    with terminal(site, "qsub", "-I", "-h") as shell:
        job = shell.found(WAITING)
        site.run("qdel", job)
        shell.expect_exact(f"qsub: job {job}.{site.server} apparently deleted")
        assert shell.code() == 1


def test_the_end_of_its_time(site: Site) -> None:
    with session(site, "-l", "walltime=5") as (job, shell):
        shell.expect(r"=>> PBS: job killed: walltime \d+ exceeded limit 5")
        shell.expect_exact(f"qsub: job {job}.{site.server} completed")
        assert shell.code() == 0
    assert site.wait_end(job)["Exit_status"] == -29


def test_deleted_while_it_runs(site: Site) -> None:
    with session(site) as (job, shell):
        assert shell.answer("echo here") == "here\n"
        site.run("qdel", job)
        shell.expect_exact(f"qsub: job {job}.{site.server} completed")
    assert site.wait_end(job)["job_state"] == "F"


def test_the_terminal_goes(site: Site) -> None:
    """The session ends, and what runs in it gets SIGHUP."""
    with session(site) as (job, shell):
        assert shell.answer(f"cd {site.work}; trap 'echo hup >hup; exit' HUP") == ""
        shell.sendline("sh -c 'echo be''gun; exec sleep 1000'")
        shell.expect_exact("begun")
        shell.hang_up()
        site.wait_end(job)


def test_its_command_is_killed(site: Site) -> None:
    """Nobody is left who could ask for the end of the job, and it ends all the same."""
    with session(site) as (job, shell):
        # the connection with whose end the session ends comes a moment after the terminal's
        shell.sendline("until grep -qs 'enter[.]sh' /proc/[0-9]*/cmdline; do sleep 0.1; done")
        shell.sendline("sh -c 'echo be''gun; exec sleep 1000'")
        shell.expect_exact("begun")
        shell.kill(signal.SIGKILL)
        record = site.wait_end(job)
    assert record["resources_used"]["walltime"] < "00:00:30"


@pytest.mark.parametrize(
    ("argv", "text"),
    [
        ((), "qsub:\tstandard input and output must be a terminal for\n\tinteractive job submission\n"),
        (("-J", "1-2"), "qsub: interactive and array job submission cannot be used together\n"),
    ],
)
def test_refusals(site: Site, argv: tuple[str, ...], text: str) -> None:
    done = site.run("qsub", "-I", *argv, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert re.sub(r"\nusage:.*", "\n", done.stderr, flags=re.DOTALL) == text
