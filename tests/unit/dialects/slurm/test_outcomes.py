"""What is reported of every option that sbatch is given."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hpcbatch.dialects.slurm.getopt import Takes
from hpcbatch.dialects.slurm.options import OPTIONS, SbatchOption, Support
from hpcbatch.errors import DirectiveError, HpcBatchError, ObstaclesError
from hpcbatch.model.outcome import Fate, Outcome
from hpcbatch.model.spec import JobSpec
from tests.unit.dialects.slurm.submit_parts import directives, submit


def outcomes_of(*argv: str, **more: Any) -> list[Outcome]:
    found: list[Outcome] = []
    try:
        submit(*argv, outcomes=found, **more)
    except HpcBatchError:
        pass
    return found


def test_each_at_its_place() -> None:
    script = directives("-n4 --exclusive=user", "--out x # why", "--cpu-freq=high -HJ y", "--comment=c", "--gid=0")
    found = outcomes_of("-n", "2", "-J", "z", script=script, environ={"SBATCH_TIMELIMIT": "5", "SBATCH_QOS": "q"})
    assert [(o.option, str(o.fate), o.where) for o in found] == [
        ("-n 4", "honoured", "job.sh:2:9"),
        ("--exclusive=user", "translated", "job.sh:2:13"),
        ("--out x", "honoured", "job.sh:3:9"),
        ("--cpu-freq=high", "ignored", "job.sh:4:9"),
        ("-H", "honoured", "job.sh:4:25"),
        ("-J y", "honoured", "job.sh:4:25"),
        ("--comment=c", "kept", "job.sh:5:9"),
        ("--gid=0", "refused", "job.sh:6:9"),
        ("SBATCH_TIMELIMIT=5", "honoured", "SBATCH_TIMELIMIT"),
        ("SBATCH_QOS=q", "kept", "SBATCH_QOS"),
        ("-n 2", "honoured", "command line"),
        ("-J z", "honoured", "command line"),
    ]
    by_option = {o.option: o.meaning for o in found}
    assert by_option["-n 4"] == "the number of tasks; a later one counts"
    assert by_option["-n 2"] == "the number of tasks"
    assert by_option["--cpu-freq=high"] == "the clock of the CPUs is the node's"
    assert by_option["--gid=0"] == "--gid only permitted by root user"


def test_also_of_a_command_line_that_is_none() -> None:
    found = outcomes_of("-n2", "--foo", "-c1")
    assert [(o.option, o.fate) for o in found] == [("-n 2", Fate.HONOURED), ("--foo", Fate.REFUSED)]
    assert found[1].meaning.startswith("unrecognized option '--foo'")


def test_what_is_ignored_is_kept_with_the_job() -> None:
    found = submit(script=directives("--switches=1@2", "-k", "--gpu-bind=closest", "--switches=2")).submission
    assert found.spec.ignored == (
        "-k: a job that loses a node ends",
        "--gpu-bind=closest: what is near a GPU is not known here; tasks see all of the job's",
    )
    assert found.notes == ()
    assert submit("--no-kill=off", "--profile=none", "--mem-bind=none").submission.spec.ignored == ()
    assert submit("-k", script=directives("--no-kill=off")).submission.spec.ignored[0].startswith("-k: ")
    assert submit("--no-kill=off", script=directives("-k")).submission.spec.ignored == ()


WRONG = [
    ("--hint=x", 'sbatch: error: unrecognized --hint argument "x", see --hint=help', 1),
    ("-m foo", "sbatch: error: Invalid --distribution specification", 255),
    ("-m plane", "sbatch: error: Invalid plane size or size not specified\n", 255),
    ("-B x", 'sbatch: error: Invalid numeric value "x" for first arg of -B.', 1),
    ("--ntasks-per-core=0", 'sbatch: error: Invalid numeric value "0" for --ntasks-per-core.', 1),
    ("--switches=x@1", 'sbatch: error: Invalid numeric value "x" for --switches.', 1),
    ("-S -1", 'sbatch: error: Invalid numeric value "-1" for --core-spec.', 1),
    ("--gres-flags=x", "sbatch: error: Invalid --gres-flags specification", 255),
    ("--gpu-bind=x", "sbatch: error: Invalid --gpu-bind argument: gpu:x", 255),
    ("--gpu-freq=x", "sbatch: error: Invalid --gpu-freq argument: gpu:x", 255),
    ("--cpu-freq=x", "sbatch: error: Invalid --cpu-freq argument", 255),
    ("--mem-bind=x", 'sbatch: error: unrecognized --mem-bind argument "x"', 255),
    ("--no-kill=x", "sbatch: error: Invalid --no-kill specification", 255),
    ("--profile=x", "sbatch: error: invalid --profile=x option", 255),
    ("--tmp=x", "sbatch: error: Invalid --tmp specification", 255),
    ("--delay-boot=x", "sbatch: error: Invalid --delay-boot specification", 255),
    ("--deadline=x", "Invalid time specification (pos=0): x\nsbatch: error: Invalid --deadline specification", 255),
    ("-L 'a b'", "sbatch: error: Batch job submission failed: Invalid license specification", 1),
    ("-w n[", "sbatch: error: Batch job submission failed: Invalid node name specified", 1),
    ("-N1 -w n[1-2]", "sbatch: error: invalid number of nodes (-N 2-1)", 1),
    (
        "-F hosts",
        "sbatch: error: slurm_allocate_resources error opening file hosts, No such file or directory\n"
        "sbatch: error: Invalid --nodefile node file",
        255,
    ),
    ("--ntasks-per-gpu=1", "sbatch: error: gres_job_state_validate: --ntasks-per-tres needs either a GRES GPU", 1),
    ("--gpus-per-socket=1", "sbatch: error: --gpus-per-socket option requires --sockets-per-node specification\n", 1),
    ("--mem-per-gpu=1", "sbatch: error: Requested mem_per_tres=gres:gpu:1 but did not request any GPU.\n", 1),
    ("-N1-2 --gpus-per-task=1", "sbatch: error: Failed to validate job spec. --gpus-per-task used without either", 1),
    ("-m arbitrary -n2", "sbatch: error: With Arbitrary distribution you need to specify a nodelist or hostfile", 1),
    ("--propagate=CORE,X", "sbatch: error: Bad rlimit name: X\nsbatch: error: --propagate=CORE,X is not valid.", 1),
    ("--acctg-freq=1,x,task=", "sbatch: error: Invalid --acctg-freq specification: x\nsbatch: error: Invalid", 255),
    ("--wait-all-nodes=x", 'sbatch: error: Invalid numeric value "x" for --wait-all-nodes.', 1),
    ("--wait-all-nodes=2", "sbatch: error: Invalid --wait-all-nodes specification", 255),
    ("--begin=-", "sbatch: error: Invalid --begin specification", 255),
    ("--ntasks-per-gpu=1 --ntasks-per-tres=2", "sbatch: fatal: Inconsistent values set to --ntasks-per-gpu=1", 1),
]


@pytest.mark.parametrize(("line", "text", "code"), WRONG, ids=[w[0] for w in WRONG])
def test_values_that_sbatch_refuses(line: str, text: str, code: int) -> None:
    with pytest.raises(DirectiveError) as error:
        submit(script=directives(line))
    assert error.value.text.startswith(text)  # type: ignore[attr-defined]
    assert (error.value.code, error.value.path, error.value.line) == (code, "job.sh", 2)  # type: ignore[attr-defined]


IGNORED = [option for option in OPTIONS if option.support is Support.IGNORED]
GOOD = {
    "core-spec": "1",
    "cpu-freq": "low",
    "gpu-bind": "closest",
    "gpu-freq": "low",
    "gres-flags": "enforce-binding",
    "mem-bind": "local",
    "profile": "all",
    "switches": "1",
    "thread-spec": "1",
}


@pytest.mark.parametrize("option", IGNORED, ids=[o.name for o in IGNORED])
def test_every_option_without_effect_says_why(option: SbatchOption) -> None:
    value = GOOD.get(option.name, "x")
    word = f"--{option.name}" + (f"={value}" if option.takes is Takes.VALUE else "")
    (outcome,) = outcomes_of(script=directives(word))
    assert outcome == Outcome(word, Fate.IGNORED, option.meaning, "job.sh", 2, 9)
    assert submit(word).submission.spec.ignored == (f"{word}: {option.meaning}",)
    for variable in option.environment:
        name = f"{variable}={value if option.takes is Takes.VALUE else ''}"
        environ = {variable: value if option.takes is Takes.VALUE else ""}
        assert submit(environ=environ).submission.spec.ignored == (f"{name}: {option.meaning}",)


@pytest.mark.parametrize(
    ("line", "fate"),
    [
        ("--uenv=icon/25.2:v1@santis --view=default", "ignored"),
        ("--environment=/capstor/e.toml", "ignored"),
        ("--singularity-container stg.sif", "ignored"),
        ("--nvmps --gpu-mps --cuda-mps", "ignored"),
        ("--gpu_cmode=shared --perf=vtune --hwctr=likwid", "ignored"),
        ("--monitoring=meminfo=10,cpu=5 --auks=yes", "ignored"),
        ("--disable-perfparanoid --disable-turbomode --disable-dcgm --enable-turbo --beeond", "ignored"),
        ("--no-container-mount-home", "ignored"),
        ("--no-container-entrypoint --no-container-remap-root", "honoured"),
    ],
)
def test_plugins_of_sites(line: str, fate: str) -> None:
    found = outcomes_of(script=directives(line, "-n 2"))
    assert [str(o.fate) for o in found] == [fate] * line.count("--") + ["honoured"]
    assert submit(script=directives(line)).submission.spec.chunks


def test_plugins() -> None:
    lines = ("--image=docker:debian:12", "--ear=on --module mpich", "--x11", "--mpi=pmi2")
    found = outcomes_of(script=directives(*lines))
    assert [(o.option, str(o.fate)) for o in found] == [
        ("--image=docker:debian:12", "translated"),
        ("--ear=on", "ignored"),
        ("--module mpich", "ignored"),
        ("--x11", "ignored"),
        ("--mpi=pmi2", "ignored"),
    ]
    assert submit(script=directives(*lines)).submission.spec.image == "debian:12"
    calls = []

    def of_site() -> dict[str, str]:
        calls.append(1)
        return {"--lustre*": "there is no Lustre here"}

    submit("-n2", plugin_options=of_site)
    assert calls == []
    spec = submit("--lustre-pool=x", plugin_options=of_site).submission.spec
    assert (spec.ignored, calls) == (("--lustre-pool=x: there is no Lustre here",), [1])
    with pytest.raises(DirectiveError, match="unrecognized option '--lustr'"):
        submit("--lustr", plugin_options=of_site)


def test_variables_of_options_without_value() -> None:
    for value, is_rerun in (("", False), ("yes", False), ("1", False), ("no", True), ("0", True), ("x", True)):
        assert submit(environ={"SBATCH_NO_REQUEUE": value}).submission.spec.rerunnable is is_rerun
    (outcome,) = outcomes_of(environ={"SBATCH_OVERCOMMIT": "no"})
    assert outcome == Outcome("SBATCH_OVERCOMMIT=no", Fate.KEPT, "it says no", "SBATCH_OVERCOMMIT")


def test_options_of_other_releases() -> None:
    lines = (
        "--tres-per-task=cpu=4,gres/gpu:a100=1",
        "--oom-kill-step",
        "--exclusive=topo",
        "--gres-flags=one-task-per-sharing",
    )
    found = outcomes_of(script=directives("-N2 -n4", *lines))
    assert [str(o.fate) for o in found[2:]] == ["translated", "ignored", "translated", "ignored"]
    (chunk,) = submit(script=directives("-N2 -n4", *lines)).submission.spec.chunks
    assert (chunk.count, chunk.cpus, chunk.ranks, chunk.resources) == (2, 8, 2, (("gpu:a100", 2),))
    assert submit("-n1", "--tres-per-task=gres:gpu:2").submission.spec.chunks[0].resources == (("gpu", 2),)
    for text in ("", "cpu", "cpu=x", "foo=1", "cpu=4,"):
        with pytest.raises(DirectiveError, match="Invalid TRES"):
            submit(f"--tres-per-task={text}")
    with pytest.raises(DirectiveError, match="license/x=1: license/x is not supported yet"):
        submit("--tres-per-task=license/x=1")
    with pytest.raises(DirectiveError, match="unrecognized option '--tres=x'"):
        submit("--tres=x")


VALUES = st.sampled_from(
    "1 2-4 1k abc 1:00 ALL x,y 0 -1 none append n[1-3] block:cyclic nomultithread [a*2&b*1] a|b 1:2:1 user STACK "
    "gpu:2 now+1hour low closest ".split(" ")
)
WORDS = st.lists(st.tuples(st.sampled_from(OPTIONS), VALUES), max_size=6)
SEPARATORS = st.lists(st.integers(0, 6), max_size=2)


def written(option: SbatchOption, value: str) -> str:
    if option.takes is Takes.NOTHING or (option.takes is Takes.OPTIONAL and not value):
        return f"--{option.name}"
    return f"--{option.name}={value}"


def count(error: HpcBatchError | None) -> int:
    return 0 if error is None else len(error.problems) if isinstance(error, ObstaclesError) else 1


@settings(max_examples=300)
@given(WORDS, WORDS, SEPARATORS)
def test_every_option_has_one_outcome(
    in_script: list[tuple[SbatchOption, str]], on_line: list[tuple[SbatchOption, str]], separators: list[int]
) -> None:
    answers = {"help", "usage", "version", "wrap", "dry-run"}
    lines = [f"'{written(o, v)}'" for o, v in in_script if o.name not in answers]
    argv = [written(o, v) for o, v in on_line if o.name not in answers]
    texts = [line.strip("'") for line in lines]
    for at in separators:
        lines.insert(at, "hetjob")
    found: list[Outcome] = []
    spec: JobSpec | None = None
    wrong: HpcBatchError | None = None
    try:
        spec = submit(*argv, script=directives(*lines), environ={}, outcomes=found).submission.spec
    except (DirectiveError, ObstaclesError) as error:
        wrong = error
    except HpcBatchError as error:  # a job that is too large, whatever the option
        assert "at most" in str(error)
        return
    assert [o.option for o in found if o.option != "hetjob"] == texts + argv
    assert len(found) == len(lines) + len(argv)
    assert all(o.meaning for o in found)
    refused = sum(o.fate is Fate.REFUSED for o in found)
    assert refused <= count(wrong)
    if spec is not None:
        assert not refused
        assert {text.partition(": ")[0] for text in spec.ignored} <= {o.option for o in found if o.fate is Fate.IGNORED}
        tasks = spec.attributes.get("ntasks")
        ranks = sum(c.count * c.ranks for c in spec.chunks if c.component == 0)
        assert tasks is None or ranks == int(tasks)


@given(WORDS)
def test_outcomes_change_nothing(words: list[tuple[SbatchOption, str]]) -> None:
    argv = [written(o, v) for o, v in words]
    results: list[object] = []
    for outcomes in (None, list[Outcome]()):
        try:
            results.append(submit(*argv, outcomes=outcomes).submission.spec)
        except HpcBatchError as error:
            results.append(str(error))
    assert results[0] == results[1]


def test_lines_that_are_not_read() -> None:
    lines = ("#!/bin/sh", "#MSUB -l nodes=2", " #SBATCH -c 2", "#SBATCH -n 4", "#SBATCH HETJOB -n 2", "##SBATCH -H")
    behind = ("cd x", "#SBATCH -t 5", "cat <<END", "  #SBATCH -p \x1b", "#PBS -q y")
    found = outcomes_of(script="\n".join([*lines, *behind]).encode())
    assert [(o.option, str(o.fate), o.where) for o in found] == [
        ("-n 4", "honoured", "job.sh:4:9"),
        ("#PBS -q y", "translated", "job.sh:11:6"),
        ("-n 2", "honoured", "job.sh:5:16"),
        ("HETJOB", "honoured", "job.sh:5:9"),
        ("#MSUB -l nodes=2", "kept", "job.sh:2:1"),
        ("#SBATCH -c 2", "kept", "job.sh:3:2"),
        ("#SBATCH -t 5", "kept", "job.sh:8:1"),
        ("#SBATCH -p ^[", "kept", "job.sh:10:3"),
    ]
    assert [o.meaning for o in found[4:7]] == [
        "sbatch does not read lines of Moab",
        "sbatch reads options in column 1 only",
        "it stands behind the first command, where sbatch reads no options",
    ]


@pytest.mark.parametrize("script", [b"#SBATCH -n 4\ntrue\n#SBATCH -n 4", b"#!/bin/sh\r\n#SBATCH -n 4\r\n"])
def test_of_what_is_no_script_no_line_is_told(script: bytes) -> None:
    assert outcomes_of(script=script) == []


def test_the_last_line_is_read() -> None:
    assert [o.option for o in outcomes_of(script=b"#!/bin/sh\n#SBATCH -n 4")] == ["-n 4"]
