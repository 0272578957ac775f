"""`srun` in a job of one pod, by each shell. Several pods: tests/conformance/test_steps.py."""

from __future__ import annotations

import re
import socket
from importlib import resources
from pathlib import Path

import pytest

from hpcbatch.dialects.slurm.value_help import value_help
from hpcbatch.model.chunk import Chunk
from hpcbatch.model.site import SiteConfig
from tests.component.runner_pod import RunnerPod
from tests.component.test_runner_watch import ask
from tests.waiting import wait_for


@pytest.fixture
def pod(shell: str, tmp_path: Path) -> RunnerPod:
    return RunnerPod(tmp_path, shell)


def output(pod: RunnerPod, script: str, cpus: int = 4, ranks: int = 2) -> tuple[list[str], str]:
    """Lines of stdout, and stderr, of a script that must end with 0."""
    chunk = Chunk(count=1, cpus=cpus, ranks=ranks)
    code, report = pod.run(
        f"#!/bin/sh\n{script}\n", chunks=(chunk,), variables={"SLURM_NTASKS": str(ranks)}, is_host=True
    )
    assert code == 0, (report, pod.err.read_text())
    return pod.out.read_text().splitlines(), pod.err.read_text()


def test_tasks_know_their_numbers(pod: RunnerPod) -> None:
    shown = (
        "$SLURM_PROCID of $SLURM_NTASKS, $SLURM_LOCALID $SLURM_NODEID, step $SLURM_STEP_ID $SLURM_STEP_TASKS_PER_NODE"
    )
    lines, err = output(pod, f"srun --mpi=none sh -c 'echo \"{shown}\"'")
    assert sorted(lines) == ["0 of 2, 0 0, step 0 2", "1 of 2, 1 0, step 0 2"]
    assert err == ""


@pytest.mark.parametrize("mpi", ["", "--mpi=none"])
def test_a_step_of_a_script_that_has_only_the_job_s_number(pod: RunnerPod, mpi: str) -> None:
    """As Snakemake starts it. PATH is what srun is found by."""
    shown = "$SLURM_PROCID of $SLURM_NTASKS: $SLURM_JOB_NODELIST $SLURM_NODELIST $SLURM_TASKS_PER_NODE"
    of_job = {"SLURM_NTASKS": "9", "SLURM_JOB_NODELIST": "here", "SLURM_NODELIST": "here", "SLURM_TASKS_PER_NODE": "2"}
    pod.prepare(
        f'env -i SLURM_JOB_ID=12 PATH="$PATH" srun -n2 {mpi} sh -c \'echo "{shown}"\'; echo $?\n',
        chunks=(Chunk(count=1, cpus=2, ranks=2),),
        variables=of_job,
        is_host=True,
    )
    pod.finish(pod.start())
    assert sorted(pod.out.read_text().splitlines()) == ["0", "0 of 2: here here 2", "1 of 2: here here 2"]


def test_labels(pod: RunnerPod) -> None:
    lines, err = output(pod, "srun -n3 -l --mpi=none sh -c 'echo \"out  $SLURM_PROCID\"; echo err >&2'")
    assert sorted(lines) == ["0: out  0", "1: out  1", "2: out  2"]
    assert sorted(err.splitlines()) == ["0: err", "1: err", "2: err"]


def test_the_highest_exit_code_is_srun_s(pod: RunnerPod) -> None:
    lines, err = output(pod, "srun -n3 --mpi=none sh -c 'exit $((SLURM_PROCID * 3))'; echo $?")
    assert lines == ["6"]
    told = sorted(line.partition(": task ")[2] for line in err.splitlines())
    assert told == ["1: Exited with exit code 3", "2: Exited with exit code 6"]


def test_a_killed_task(pod: RunnerPod) -> None:
    lines, err = output(pod, "srun -n1 --mpi=none sh -c 'kill -9 $$'; echo $?")
    assert lines == ["137"]
    assert err.startswith("srun: error: ") and err.endswith(": task 0: Killed\n")


@pytest.mark.parametrize(
    ("program", "code", "why"),
    [("./nowhere", 2, "No such file or directory"), ("./plain", 13, "Permission denied")],
    ids=["missing", "not executable"],
)
def test_a_program_that_cannot_be_run(pod: RunnerPod, program: str, code: int, why: str) -> None:
    lines, err = output(pod, f"echo >plain; srun -n1 {program}; echo $?")
    assert lines == [str(code)]
    assert f": error: execve(): {program}: {why}\n" in err
    assert f": task 0: Exited with exit code {code}\n" in err


REFUSED = {
    "--foo hostname": "srun: unrecognized option '--foo'\nTry \"srun --help\" for more information\n",
    "-n x hostname": 'srun: error: Invalid numeric value "x" for --ntasks.\n',
    "-n 0 hostname": 'srun: error: Invalid numeric value "0" for --ntasks.\n',
    "-n 5 hostname": "srun: error: Unable to create step for job 12: More processors requested than permitted\n",
    "-w elsewhere hostname": (
        "srun: error: Unable to create step for job 12: Requested node configuration is not available\n"
    ),
    "--ntask-per hostname": "srun: unrecognized option '--ntask-per'\nTry \"srun --help\" for more information\n",
    "--ntasks-per=2 hostname": (
        "srun: option '--ntasks-per' is ambiguous; possibilities: '--ntasks-per-core' '--ntasks-per-gpu' "
        "'--ntasks-per-node' '--ntasks-per-socket' '--ntasks-per-tres'\n"
        'Try "srun --help" for more information\n'
    ),
    "--label=3 hostname": (
        "srun: option '--label' doesn't allow an argument\nTry \"srun --help\" for more information\n"
    ),
    "--nodes": ("srun: option '--nodes' requires an argument\nTry \"srun --help\" for more information\n"),
    "-j hostname": "srun: invalid option -- 'j'\nTry \"srun --help\" for more information\n",
    "-n": "srun: option requires an argument -- 'n'\nTry \"srun --help\" for more information\n",
    "-Z hostname": "srun: error: --no-allocate is not supported: a step is always its job's\n",
    "-K2 hostname": 'srun: error: Invalid numeric value "2" for --kill-on-bad-exit.\n',
    "-N 3-2 hostname": "srun: error: Invalid node count specification: 3-2\n",
    "--export=ALL,1x=2 hostname": (
        "srun: error: Invalid --export specification: '1x=2': expected ALL, NONE, NAME or NAME=value\n"
    ),
    "-n1": "srun: error: No command given to execute.\n",
    "--pty -o out bash": "srun: error: --error/--input/--output are incompatible with --pty\n",
    "-I0x hostname": 'srun: error: Invalid numeric value "0x" for --immediate.\n',
    "--x11 hostname": "srun: error: --x11 is not supported: X11 is not forwarded\n",
    "--container=here hostname": (
        "srun: error: --container is not supported: "
        "the pods of the job are containers already, of the image that sbatch --container-image names\n"
    ),
    "--bcast nowhere": "srun: fatal: Can not execute nowhere\n",
    "a : b": (
        "srun: error: Attempt to run a job step with het group value of 1,"
        " but the job allocation has maximum value of 0\n"
    ),
    "-N 2 hostname": "srun: error: Only allocated 1 nodes asked for 2\n",
    "-r 1 -w x hostname": "srun: error: -r,--relative not allowed with -w,--nodelist or -x,--exclude.\n",
    "-W x hostname": 'srun: error: Invalid numeric value "x" for --wait.\n',
    "-n2 -m arbitrary hostname": "srun: error: You asked for 2 tasks but hostlist specified 0 nodes\n",
    "--multi-prog nowhere": "srun: error: Could not open multi_prog config file nowhere\n",
    "--jobid=3 hostname": (
        "srun: error: srun starts steps of its own job only, not of job 3: "
        "pods do not call the API, and the image has no hpcbatch\n"
    ),
}


@pytest.mark.parametrize("arguments", REFUSED)
def test_refused(pod: RunnerPod, arguments: str) -> None:
    without_ours = "PATH=${PATH%%:*}:/usr/bin:/bin" if "jobid" in arguments else ":"
    lines, err = output(pod, f"{without_ours}; srun {arguments}; echo $?")
    assert (lines, err) == (["1"], REFUSED[arguments])


def test_what_is_not_applied_is_said(pod: RunnerPod) -> None:
    lines, err = output(pod, "srun -n1 --mpi=none --mem-bind=local -t 5 --mem=3G echo hi")
    assert lines == ["hi"]
    assert err.splitlines() == [
        "srun: hpcbatch: --mem-bind is not applied: tasks are bound to CPUs and GPUs only",
        "srun: hpcbatch: --mem is not applied: a step has what its job has",
    ]


# Without those that are refused, or end srun.
TOLD_NOWHERE = {
    *("gpu-bind", "gpus", "gpus-per-node", "gpus-per-task", "gres", "ntasks-per-gpu", "ntasks-per-tres", "tres-bind"),
    "chdir",
    "cpu-bind",
    "cpu_bind",
    "cpus-per-task",
    "distribution",
    "error",
    "exclude",
    "exclusive",
    "exact",
    "hint",
    "ntasks-per-core",
    "ntasks-per-socket",
    "threads-per-core",
    "time",
    "export",
    "het-group",
    "input",
    "job-name",
    "jobid",
    "kill-on-bad-exit",
    "label",
    "mpi",
    "multi-prog",
    "nodelist",
    "nodes",
    "ntasks",
    "ntasks-per-node",
    "output",
    "overcommit",
    "overlap",
    "oversubscribe",
    "pack-group",
    "preserve-env",
    "quiet",
    "relative",
    "tasks-per-node",
    "unbuffered",
    "verbose",
    "wait",
    "disable-status",
    "quit-on-interrupt",
    "open-mode",
    "prolog",
    "epilog",
    "bcast",
    "compress",
    "immediate",
    "pty",
    "task-epilog",
    "task-prolog",
}
REFUSED_OR_LAST = {
    "container",
    "help",
    "no-allocate",
    "test-only",
    "usage",
    "version",
    "x11",
}


def long_options(kind: str) -> set[str]:
    text = (resources.files("hpcbatch.runner") / "steps/srun_options.sh").read_text()
    found = re.search(rf"^srun_{kind}='([^']*)'$", text, re.MULTILINE)
    assert found is not None
    return set(found[1].split())


@pytest.mark.parametrize("option", ["hint", "cpu-bind"])
def test_help_of_a_value(pod: RunnerPod, option: str) -> None:
    lines, _ = output(pod, f"srun --{option}=help")
    assert "\n".join(lines) == value_help(option)


def test_every_option_is_applied_or_told(pod: RunnerPod) -> None:
    values, others = long_options("values"), long_options("maybe") | long_options("flags")
    told = (values | others) - TOLD_NOWHERE - REFUSED_OR_LAST
    arguments = [f"--{name}=1" if name in values else f"--{name}" for name in sorted(told)]
    lines, err = output(pod, f"srun -n1 --mpi=none {' '.join(arguments * 2)} echo hi")
    assert lines == ["hi"]
    said = re.findall(r"^srun: hpcbatch: --(\S+) is not applied: \w+", err, re.MULTILINE)
    assert sorted(said) == sorted(told), "each once"
    assert len(said) == len(err.splitlines())


def test_letters_and_abbreviations(pod: RunnerPod) -> None:
    lines, err = output(pod, "srun -ln2 -v -T 3 -k -mblock:cyclic --mp none --cpus-per-t=1 -N1-2 -I5 echo hi; srun -V")
    assert sorted(lines) == ["0: hi", "1: hi", "slurm 22.05.8"]
    assert re.findall(r"hpcbatch: (.*) is not applied", err) == [
        "--threads",
        "--no-kill",
    ]
    assert f"srun: launching StepId=12.0 on host {socket.gethostname()}, 2 tasks: [0-1]\n" in err


@pytest.mark.parametrize(
    ("option", "seen"),
    [
        ("", "red blue"),
        ("--export=ALL", "red blue"),
        ("--export=ALL,B=green", "red green"),
        ("--export=A", "red "),
        ("--export=A,B=green", "red green"),
        ("--export=NONE", " "),
        ("--export=B,ALL", "red blue"),
    ],
)
def test_what_the_tasks_get_of_the_environment(pod: RunnerPod, option: str, seen: str) -> None:
    lines, err = output(
        pod,
        f"export A=red B=blue\nsrun -n1 --mpi=none {option} sh -c 'echo \"$SLURM_PROCID-$A $B\"; echo ${{LOGNAME-no}}'",
    )
    assert (lines[0], err) == (f"0-{seen}", "")
    assert (lines[1] == "no") == (option not in ("",) and "ALL" not in option)


def test_settings_of_the_environment(pod: RunnerPod) -> None:
    lines, _ = output(
        pod,
        "export SLURM_LABELIO=1 SLURM_DISTRIBUTION=cyclic SLURM_EXPORT_ENV=NONE\n"
        "srun -n2 -E --mpi=none sh -c 'echo $SLURM_NTASKS'\nsrun -n1 -E --mpi=none sh -c 'echo $SLURM_NTASKS'",
    )
    assert sorted(lines) == ["0: 2", "0: 2", "1: 2"]


@pytest.mark.parametrize("has_flock", [True, False], ids=["flock", "no flock"])
def test_a_step_that_was_killed_while_it_chose_its_cpus(pod: RunnerPod, has_flock: bool) -> None:
    """`cut` ends srun by KILL the first time that it is called in the lock."""
    if Path(pod.shell).resolve().name == "busybox":
        pytest.skip("busybox has a cut and a flock of its own")
    tools = pod.root / "tools"
    tools.mkdir()
    hidden = set() if has_flock else {"flock"}
    for directory in ("/usr/bin", "/bin"):
        for path in Path(directory).iterdir():
            if path.name not in {"cut", *hidden} and not (tools / path.name).exists():
                (tools / path.name).symlink_to(path)
    lock = pod.root / "run/job/steps" / ("lock" if has_flock else "locked")
    (tools / "cut").write_text(
        f"#!/bin/sh\nif [ -s pid ] && [ -e {lock} ] && mkdir killed 2>/dev/null; then kill -9 $(cat pid); fi\n"
        'exec /usr/bin/cut "$@"\n'
    )
    (tools / "cut").chmod(0o755)
    pod.environment["PATH"] = str(tools)
    lines, _ = output(
        pod,
        "sh -c 'echo $$ >pid; exec srun -n2 --mpi=none echo never'; echo \"code $?\"\n"
        "srun -n2 --mpi=none echo after; ls -d killed",
    )
    assert lines == ["code 137", "after", "after", "killed"]


@pytest.mark.parametrize("program", ["cat", "sh -c cat"])
@pytest.mark.parametrize("option", ["", "--input=all", "--input=1", "--input=none", "--input=lines"])
def test_which_tasks_read_the_input(pod: RunnerPod, program: str, option: str) -> None:
    """A shell may start MPI programs, so mpirun starts its tasks."""
    lines, _ = output(pod, f"printf 'one\\ntwo\\n' >lines; srun -n3 -l {option} {program} <lines; echo over", ranks=3)
    readers = {"--input=1": [1], "--input=none": []}.get(option, [0, 1, 2])
    assert sorted(lines) == sorted([f"{task}: {line}" for task in readers for line in ("one", "two")] + ["over"])
    assert not list((pod.root / "run/job").glob("in.*"))


def test_a_task_that_does_not_read_leaves_the_input_to_the_others(pod: RunnerPod) -> None:
    script = "yes 0123456789 | head -n 100000 | srun -n3 sh -c '[ $SLURM_PROCID = 1 ] || wc -l'"
    lines, err = output(pod, script, ranks=3)
    assert ([line.strip() for line in lines], err) == (["100000", "100000"], "")


@pytest.mark.parametrize("mpi", ["", "--mpi=none"])
def test_a_task_that_fails_leaves_the_others_alone(pod: RunnerPod, mpi: str) -> None:
    program = "[ $SLURM_PROCID != 1 ] || exit 3; [ $SLURM_PROCID != 2 ] || kill -9 $$; sleep 1; echo $SLURM_PROCID"
    lines, err = output(pod, f"srun -n4 {mpi} sh -c '{program}'; echo code $?", ranks=4)
    assert sorted(lines) == ["0", "3", "code 137"]
    assert sorted(re.sub(" error: [^:]*:", "", line) for line in err.splitlines()) == [
        "srun: task 1: Exited with exit code 3",
        "srun: task 2: Killed",
    ]


def test_a_script_is_told_of_as_slurm_does(pod: RunnerPod) -> None:
    """Labelled and to files, with variables of its own."""
    lines, err = output(
        pod,
        "printf '#!/bin/sh\\necho \"$SLURM_PROCID $A\"; echo bad >&2; exit 4\\n' >own; chmod 700 own\n"
        "srun -l --export=A=red ./own; echo $?\nsrun -o o-%t ./own; echo $?\nsrun ./nowhere; echo $?",
    )
    assert sorted(lines[:3]) == ["0: 0 red", "1: 1 red", "4"] and lines[3:] == ["4", "2"]
    assert sorted(path.read_text() for path in pod.root.glob("o-*")) == ["0 \nbad\n", "1 \nbad\n"]
    assert err.count(": Exited with exit code 4\n") == 4 and err.count(": Exited with exit code 2\n") == 2


def test_steps_wait_for_each_other(pod: RunnerPod) -> None:
    script = (
        "for i in 1 2 3; do srun -n2 --mpi=none sh -c 'echo begin; sleep 0.3; echo end' & done; wait\n"
        "srun -n2 --overlap --mpi=none true & srun -n4 -Q --mpi=none true; wait"
    )
    lines, err = output(pod, script)
    running = most = 0
    for line in lines:
        running += 1 if line == "begin" else -1
        most = max(most, running)
    assert most <= 4 and len(lines) == 12, "four tasks have a CPU each"
    assert "srun: Job 12 step creation temporarily disabled, retrying (Requested nodes are busy)\n" in err
    assert "srun: Step created for StepId=12.2\n" in err


@pytest.mark.parametrize("mpi", ["", "--mpi=none"])
def test_a_bad_exit_ends_the_step(pod: RunnerPod, mpi: str) -> None:
    lines, err = output(pod, f"srun -n2 -K {mpi} sh -c '[ $SLURM_PROCID = 0 ] || exit 4; sleep 100'; echo $?")
    assert lines in (["137"], ["143"], ["4"])  # 4: the launcher's word
    assert ": task 1: Exited with exit code 4\n" in err


HANDLING = """
srun -n2 %s sh -c 'for s in HUP INT USR1 USR2; do trap "echo $SLURM_PROCID $s; kill \\$! 2>/dev/null; exit 0" $s; done
echo on; sleep 60 & wait'
echo "code $?"
"""


@pytest.mark.parametrize("mpi", ["", "-l", "--mpi=none", "--mpi=none -l"])
@pytest.mark.parametrize("scope", ["steps", "all"])
def test_a_signal_that_the_tasks_handle_does_not_end_the_step(pod: RunnerPod, mpi: str, scope: str) -> None:
    """All that Slurm's own srun does not see of it: each task has it once, and the step ends with 0."""
    pod.prepare("trap 'echo script' USR2\n" + HANDLING % mpi, chunks=(Chunk(count=1, cpus=2, ranks=2),), is_host=True)
    process = pod.start()
    wait_for("the tasks", lambda: pod.out.exists() and pod.out.read_text().count("on\n") == 2)
    ask(pod, f"signal 1 12 {scope} a\n")
    pod.finish(process)
    lines = [line.partition(": ")[2] or line for line in pod.out.read_text().splitlines()]
    assert sorted(line for line in lines if line != "script") == ["0 USR2", "1 USR2", "code 0", "on", "on"], lines
    assert ("script" in lines) == (scope == "all")
    assert pod.err.read_text() == ""


@pytest.mark.parametrize("mpi", ["", "--mpi=none"])
@pytest.mark.parametrize("name", ["HUP", "INT", "USR1"])
def test_signals_to_the_tasks(pod: RunnerPod, mpi: str, name: str) -> None:
    """Those that srun itself would take for orders."""
    number = {"HUP": 1, "INT": 2, "USR1": 10}[name]
    pod.prepare(HANDLING % mpi, chunks=(Chunk(count=1, cpus=2, ranks=2),), is_host=True)
    process = pod.start()
    wait_for("the tasks", lambda: pod.out.exists() and pod.out.read_text().count("on\n") == 2)
    ask(pod, f"signal 1 {number} steps a\n")
    pod.finish(process)
    assert sorted(pod.out.read_text().splitlines()) == sorted(["on", "on", f"0 {name}", f"1 {name}", "code 0"])


@pytest.mark.parametrize("mpi", ["", "--mpi=none"])
def test_usr1_to_srun_is_for_its_tasks(pod: RunnerPod, mpi: str) -> None:
    step, _, _ = (HANDLING % mpi).rpartition("\necho ")
    script = (
        f"{step} & step=$!\nuntil grep -c on out | grep -qx 2; do sleep 0.1; done\n"
        "kill -s USR1 $step; wait $step; code=$?; while kill -0 $step; do wait $step; code=$?; done 2>/dev/null\n"
        'echo "code $code"'
    )
    lines, err = output(pod, script)
    assert sorted(lines) == ["0 USR1", "1 USR1", "code 0", "on", "on"], (lines, err)


@pytest.mark.parametrize("mpi", ["", "--mpi=none"])
def test_a_cancelled_step_takes_no_time(pod: RunnerPod, mpi: str) -> None:
    pod.prepare(
        f"srun -n2 {mpi} sh -c 'echo on; exec sleep 60'\n",
        chunks=(Chunk(count=1, cpus=2, ranks=2),),
        is_host=True,
        site=SiteConfig(kill_delay_s=40),
    )
    process = pod.start()
    wait_for("the tasks", lambda: pod.out.exists() and pod.out.read_text().count("on\n") == 2)
    process.terminate()
    pod.finish(process, limit_s=20)


def test_a_signal_ends_the_step(pod: RunnerPod) -> None:
    script = (
        "srun -n2 --mpi=none sh -c 'echo $$ >>pids; exec sleep 100' & step=$!\n"
        'until [ "$(wc -l <pids)" = 2 ]; do sleep 0.1; done 2>/dev/null; kill $step; wait $step; echo $?\n'
        "for task in $(cat pids); do ! kill -0 $task || echo left; done 2>/dev/null"
    )
    lines, err = output(pod, script)
    assert lines == ["143"]
    assert "srun: error: StepId=12.0: Terminating\n" in err


def without_scontrol(folder: Path) -> str:
    """A PATH with all of this machine but hpcbatch's scontrol and Slurm's."""
    folder.mkdir()
    for program in (*Path("/bin").iterdir(), *Path("/usr/bin").iterdir()):
        if program.name != "scontrol" and not (folder / program.name).is_symlink():
            (folder / program.name).symlink_to(program)
    return str(folder)


def test_scontrol_show_hostnames(pod: RunnerPod) -> None:
    pod.environment["PATH"] = without_scontrol(pod.root / "plain")
    lines, err = output(pod, "scontrol show hostnames 'a,b[08-10,3]-x,c[1-2]'; scontrol show job 12; echo $?")
    assert lines == ["a", "b08-x", "b09-x", "b10-x", "b3-x", "c1", "c2", "1"]
    said = "scontrol: error: in a job only `scontrol show hostnames', `listpids' and `requeue' are there"
    assert err.startswith(said)
