"""What `srun` in a job takes from files and puts into them, and how it lays out and ends tasks: by each shell."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.component.runner_pod import RunnerPod
from tests.component.test_runner_steps import output


@pytest.fixture
def pod(shell: str, tmp_path: Path) -> RunnerPod:
    return RunnerPod(tmp_path, shell)


@pytest.mark.parametrize(
    ("options", "seen"),
    [
        ("-n1", "cyclic  "),
        ("-n2", "block  "),
        ("-n1 -c2", "cyclic  2"),
        ("-n2 -m plane=2", "plane 2 "),
        ("-m arbitrary -w here,here", "arbitrary  "),
        ("-n1 -m arbitrary -w here,here", "arbitrary  "),
        ("-n2 -m '*'", "block  "),
    ],
)
def test_variables_of_a_step(pod: RunnerPod, options: str, seen: str) -> None:
    shown = "$SLURM_DISTRIBUTION $SLURM_DIST_PLANESIZE $SLURM_CPUS_PER_TASK"
    options = options.replace("here", "$(hostname)")
    lines, err = output(pod, f"srun {options} --mpi=none sh -c 'echo \"{shown}\"'")
    assert (set(lines), err) == ({seen}, "")
    assert len(lines) == (1 if "-n1" in options else 2)


@pytest.mark.parametrize("options", ["", "-m arbitrary", "-m block"])
def test_hosts_of_a_file(pod: RunnerPod, options: str) -> None:
    """Each task has its line, whatever order is asked for. Source: _opt_args() of srun."""
    hosts = "hostname >hosts; hostname >>hosts; export SLURM_HOSTFILE=$PWD/hosts\n"
    lines, err = output(pod, f"{hosts}srun {options} --mpi=none sh -c 'echo $SLURM_DISTRIBUTION'")
    assert (lines, err) == (["arbitrary"] * 2, "")


@pytest.mark.parametrize(
    ("option", "text"),
    [
        ("-m plane", "srun: error: Invalid plane size or size not specified\n"),
        ("-m bad", ""),
        ("-m block:bad", ""),
        ("-m block:block:block:block", ""),
        ("-m arbitrary:block", ""),
    ],
)
def test_distributions_that_there_are_not(pod: RunnerPod, option: str, text: str) -> None:
    lines, err = output(pod, f"srun -n2 {option} hostname; echo $?")
    assert (lines, err) == (["255"], f"{text}srun: error: Invalid --distribution specification\n")


def test_forms_of_distributions(pod: RunnerPod) -> None:
    """Capitals do not matter."""
    forms = ("Block:Cyclic", "'*'", "'*:*:*'", "Cyclic,NoPack", "Pack", "Plane=2", "cyclic:fcyclic:fcyclic")
    steps = "; ".join(f"srun -n1 --mpi=none -m {form} echo {number}" for number, form in enumerate(forms))
    bindings = "srun -n1 --mpi=none --cpu-bind=Quiet,None --hint=NoMultiThread echo 7"
    lines, err = output(pod, f"{steps}; {bindings}; srun -n1 --mpi=none -m block:block:cyclic echo 8")
    assert lines == list("012345678")
    assert err.splitlines() == [
        "srun: hpcbatch: the third part of --distribution=block:block:cyclic is not applied: "
        "tasks fill the cores of a socket in their order"
    ]


def test_output_files(pod: RunnerPod) -> None:
    output(
        pod, "srun -n2 --mpi=none -J run -o 'o-%j.%s-%2t-%x-%%-%A.txt' -e e-%t sh -c 'echo $SLURM_PROCID; echo bad >&2'"
    )
    assert {path.name: path.read_text() for path in pod.root.glob("[oe]-*")} == {
        "o-12.0-00-run-%-12.txt": "0\n",
        "o-12.0-01-run-%-12.txt": "1\n",
        "e-0": "bad\n",
        "e-1": "bad\n",
    }


def test_one_task_s_output_or_none(pod: RunnerPod) -> None:
    program = "--mpi=none sh -c 'echo $SLURM_PROCID; echo bad $SLURM_PROCID >&2'"
    lines, err = output(
        pod,
        f"srun -n2 -o 1 -e 0 {program}; srun -n2 -o none {program}; srun -n2 -e none {program} | sort",
    )
    assert (lines, err) == (["1", "0", "1"], "bad 0\n")


@pytest.mark.parametrize("mpi", ["", "--mpi=none"])
def test_files_begin_anew_or_go_on(pod: RunnerPod, mpi: str) -> None:
    program = f"{mpi} sh -c 'echo $SLURM_PROCID; echo bad >&2'"
    output(
        pod,
        "for mode in truncate append; do for i in 1 2; do\n"
        f"srun -n1 --open-mode=$mode -o $mode-o -e $mode-e {program}\n"
        f"srun -n1 --open-mode=$mode -o $mode-o-%t -e $mode-e-%n {program}\ndone; done",
    )
    for mode, times in (("truncate", 1), ("append", 2)):
        for name, text in (("o", "0\n"), ("o-0", "0\n"), ("e", "bad\n"), ("e-0", "bad\n")):
            assert (pod.root / f"{mode}-{name}").read_text() == text * times


@pytest.mark.parametrize("mpi", ["", "--mpi=none"])
def test_an_input_for_each_task(pod: RunnerPod, mpi: str) -> None:
    lines, err = output(
        pod,
        f"echo a >in-0; echo b >in-1; echo c >in.12; srun -n2 -l -i in-%t {mpi} sh -c cat\n"
        f"srun -n1 -l -i in.%j {mpi} sh -c cat",
    )
    assert (sorted(lines), err) == (["0: a", "0: c", "1: b"], "")


@pytest.mark.parametrize("mpi", ["", "--mpi=none"])
def test_the_first_to_end_takes_the_others_along(pod: RunnerPod, mpi: str) -> None:
    lines, err = output(
        pod,
        f"srun -n2 -W 1 {mpi} sh -c 'sleep 0.2'; echo $?\n"
        f"srun -n2 -W 1 {mpi} sh -c '[ $SLURM_PROCID = 0 ] || exec sleep 100'; echo $?",
    )
    assert lines in (["0", code] for code in ("137", "143", "1"))  # 1: the launcher's word
    assert err.startswith(
        "srun: First task exited 1s ago\nsrun: StepId=12.1 task 1: running\nsrun: StepId=12.1 task 0: exited\n"
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("0 echo zero\n", "Configuration file programs invalid, no record for task id 1"),
        ("# c\n0-5 echo zero\n", "Invalid task id, 5 >= ntasks\nLine 2 of configuration file programs invalid"),
        ("0 a\n3 b\n", "Invalid task id, 3 >= ntasks\nLine 2 of configuration file programs invalid"),
        ("0-1\n", "Line 1 of configuration file programs invalid"),
        ("a b\n", "Invalid task range specification (a).\nLine 1 of configuration file programs invalid"),
    ],
)
def test_a_file_of_programs_that_is_wrong(pod: RunnerPod, text: str, said: str) -> None:
    lines, err = output(pod, f"printf '{text}' >programs; srun -n2 --multi-prog programs; echo $?")
    assert lines == ["1"]
    assert err.splitlines() == [f"srun: error: {line}" for line in said.split("\n")]


def test_places_in_a_line_of_programs(pod: RunnerPod) -> None:
    """As Slurm 22.05 numbers them."""
    (pod.root / "programs").write_text("0,2 echo a %t %o \\\n  more\n1,3 echo o %t %o\n")
    lines, _ = output(pod, "srun -n4 -O -l --multi-prog programs")
    assert sorted(lines) == ["0: a 0 0 more", "1: o 1 0", "2: a 2 1 more", "3: o 3 1"]


def test_several_programs(pod: RunnerPod) -> None:
    (pod.root / "programs").write_text("# comment\n0 echo 'first  task' %t\n1-2 echo other %t %o $HOME\n* echo rest\n")
    lines, _ = output(pod, "srun -n4 -l --multi-prog programs")
    assert sorted(lines) == ["0: first  task 0", "1: other 1 0 $HOME", "2: other 2 1 $HOME", "3: rest"]


def test_prolog_and_epilog(pod: RunnerPod) -> None:
    """Of srun: where it runs, with the step's command line."""
    tell = "printf '#!/bin/sh\\necho %s $SLURM_SCRIPT_CONTEXT $SLURM_STEP_ID \"$@\"\\n'"
    lines, err = output(
        pod,
        f"{tell} before >before; {tell} after >after; printf '#!/bin/sh\\nexit 3\\n' >bad; chmod +x before after bad\n"
        "srun -n2 --mpi=none --prolog=./before --epilog=./after echo x; srun -n1 --prolog=none echo y\n"
        "srun -n1 --prolog=./nowhere --epilog=./bad --mpi=none echo z; echo $?\n"
        "srun -n1 --prolog=./bad echo never; echo $?",
    )
    assert lines == ["before prolog_srun 0 echo x", "x", "x", "after epilog_srun 0 echo x", "y", "z", "0", "1"]
    assert err.splitlines() == [
        "srun: Access denied for ./nowhere: No such file or directory",
        "srun: error: srun epilog failed status=3",
        "srun: error: srun prolog failed rc = 3. Aborting step.",
    ]
