"""What bsub's options come to."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from hpcbatch.dialects.lsf.errors import LsfAnswer, describe
from hpcbatch.dialects.lsf.table import OPTIONS
from hpcbatch.errors import HpcBatchError
from hpcbatch.model.chunk import Chunk
from hpcbatch.model.interactive import Interactive
from hpcbatch.model.outcome import Fate, Outcome
from hpcbatch.model.spec import Alternative, Arrangement, JobSpec, Output, Sharing
from hpcbatch.model.warn_signal import WarnSignal
from tests.unit.dialects.lsf.submit_parts import spec, submission

GIB = 1024**3
FIELDS: dict[str, tuple[list[str], dict[str, Any]]] = {
    "nothing": ([], {"name": "bsub", "queue": None, "chunks": (Chunk(),), "stdout": Output(append=True)}),
    "slots": (["-n", "4"], {"chunks": (Chunk(count=4),), "arrangement": Arrangement.FILL}),
    "range": (["-n", "4,8"], {"chunks": (Chunk(count=4),)}),
    "glued": (["-n4", "-W1:30"], {"chunks": (Chunk(count=4),), "walltime_s": 5400}),
    "minutes": (["-W", "90"], {"walltime_s": 5400}),
    "host in limit": (["-W", "0:10/hostA"], {"walltime_s": 600}),
    "one host": (["-n", "4", "-R", "span[hosts=1]"], {"arrangement": Arrangement.PACK}),
    "ptile": (
        ["-n", "5", "-R", "span[ptile=2]"],
        {
            "arrangement": Arrangement.SCATTER,
            "chunks": (Chunk(count=2, cpus=2, ranks=2), Chunk(count=1, cpus=1, ranks=1)),
        },
    ),
    "memory of hosts": (["-R", "rusage[mem=2GB]"], {"mem_per_pod_bytes": 2 * GIB}),
    "memory of slots": (
        ["-n", "2", "-R", "rusage[mem=1024/task] span[hosts=1]"],
        {"mem_per_pod_bytes": None, "chunks": (Chunk(count=2, mem_bytes=GIB),)},
    ),
    "memory of the job": (["-n", "2", "-R", "span[ptile=1] rusage[mem=2G/job]"], {"mem_per_pod_bytes": GIB}),
    "limit of memory": (["-M", "2097152"], {"mem_per_pod_bytes": 2 * GIB}),
    "limit that is meant in MB": (["-M", "2048"], {"mem_per_pod_bytes": 2 * GIB}),
    "the larger one": (["-M", "1GB", "-R", "rusage[mem=3000]"], {"mem_per_pod_bytes": 3000 * 1024**2}),
    "several -R": (
        ["-n", "2", "-R", "select[fast]", "-R", "span[hosts=1]", "-R", "!old"],
        {"chunks": (Chunk(count=2, properties=("fast",), lacks=("old",)),), "arrangement": Arrangement.PACK},
    ),
    "affinity": (["-R", "affinity[core(4)]"], {"chunks": (Chunk(cpus=4, threads=4),)}),
    "choice of features": (["-R", "(a || b && c)"], {"chunks": (Chunk(alternatives=(("a",), ("b", "c"))),)}),
    "hosts": (["-m", "n1 n2+1"], {"chunks": (Chunk(hosts=("n1", "n2")),)}),
    "hosts by name": (["-R", "select[hname=='n1' || hname==n2]"], {"chunks": (Chunk(hosts=("n1", "n2")),)}),
    "GPUs": (["-gpu", "num=2:mode=shared"], {"resources_per_pod": (("gpu", 2),)}),
    "GPUs of old": (["-R", "rusage[ngpus_physical=1]"], {"resources_per_pod": (("gpu", 1),)}),
    "model of GPUs": (["-gpu", "num=1:gmodel=A100"], {"chunks": (Chunk(words=(("gpu_model", "A100"),)),)}),
    "exclusive": (["-x"], {"sharing": Sharing.EXCLUSIVE}),
    "nodes": (["-nnodes", "2"], {"chunks": (Chunk(count=2),), "sharing": Sharing.EXCLUSIVE}),
    "nodes and slots": (
        ["-nnodes", "2", "-n", "4"],
        {"chunks": (Chunk(count=2, cpus=2, ranks=2),), "sharing": Sharing.SHARED},
    ),
    "queues": (["-q", "a b"], {"queue": "a", "other_queues": ("b",)}),
    "project": (["-P", "p"], {"account": "p"}),
    "files": (
        ["-o", "%J.o", "-eo", "/e"],
        {"stdout": Output(path="/work/%J.o", append=True), "stderr": Output(path="/e")},
    ),
    "written anew": (["-oo", "o"], {"stdout": Output(path="/work/o")}),
    "output directory": (["-outdir", "d", "-o", "o"], {"stdout": Output(path="/work/d/o", append=True)}),
    "input": (["-i", "in", "-cwd", "sub"], {"stdin": "/work/sub/in", "work_dir": "/work/sub"}),
    "held": (["-H"], {"hold": True}),
    "begin": (["-b", "13:00"], {"begin_time": datetime(2026, 11, 21, 13, tzinfo=UTC)}),
    "begin tomorrow": (["-b", "9:00"], {"begin_time": datetime(2026, 11, 22, 9, tzinfo=UTC)}),
    "end": (["-t", "12:24:10:00"], {"deadline": datetime(2026, 12, 24, 10, tzinfo=UTC)}),
    "not again": (["-rn"], {"rerunnable": False}),
    "priority": (["-sp", "7"], {"priority": 7}),
    "signal": (["-wa", "URG", "-wt", "5"], {"warn_signal": WarnSignal(signal=23, before_s=300)}),
    "mail": (["-B", "-N", "-u", "a@b c@d"], {"mail_points": "BN", "mail_users": ("a@b", "c@d")}),
    "limits": (
        ["-S", "8", "-F", "1M", "-ul"],
        {"process_limits": (("core", 0), ("fsize", 1 << 20), ("stack", 8192))},
    ),
    "interactive": (["-I", "hostname"], {"interactive": Interactive.STREAMS, "command": ("/bin/sh", "-c", "hostname")}),
    "terminal": (["-Is", "bash"], {"interactive": Interactive.SESSION, "rerunnable": False}),
    "command": (["echo", "a b", ">f"], {"name": "echo 'a b' >f"}),
}


@pytest.mark.parametrize(("argv", "fields"), FIELDS.values(), ids=FIELDS)
def test_option(argv: list[str], fields: dict[str, Any]) -> None:
    found = spec(*argv)
    assert {name: getattr(found, name) for name in fields} == fields


def test_array() -> None:
    found = spec("-J", "a[1-7:2,10]%3")
    assert found.array is not None
    assert (found.name, str(found.array.indices), found.array.limit) == ("a", "1-7:2,10", 3)


def test_the_command_line_goes_over_the_script_and_this_over_the_environment() -> None:
    script = '#!/bin/sh\n #  BSUB -q script -J "one two" # comment\n##BSUB -x\ntrue\n'
    script += "#BSUB -W 5 \\\n  -P here\n#BSUB -R b\n#BSUB no\n#BSUB -x\n"
    environ = {"LSB_DEFAULTQUEUE": "default", "LSB_DEFAULTPROJECT": "p"}
    found = spec("-W", "7", "-R", "a", script=script, environ=environ)
    assert (found.queue, found.name, found.walltime_s, found.account) == ("script", "one two", 420, "here")
    assert found.sharing is Sharing.SHARED
    assert found.chunks[0].properties == ("a",)
    assert spec(environ=environ).queue == "default"


def test_a_file_with_options_is_the_script_and_another_a_command() -> None:
    files = {"job": b"#!/bin/sh\n#BSUB -n 2\n", "plain": b"#!/bin/sh\ntrue\n"}
    script = submission("job", "x", files=files).submission
    assert (script.spec.script_path, script.spec.script_args, script.script) == ("/work/job", ("x",), files["job"])
    assert script.spec.chunks == (Chunk(count=2),)
    command = submission("plain", "x", files=files).submission
    assert (command.spec.script_path, command.script) == (None, b"#!/bin/sh\nplain x\n")


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        (None, {"USER": "u", "B": "2"}),
        ("none", {}),
        ("none,A=1", {"A": "1"}),
        ("all,A=1", {"USER": "u", "B": "2", "A": "1"}),
        ("all,~B", {"USER": "u"}),
        ("none -env A=1 -env C=2", {"A": "1", "C": "2"}),
        ("B", {"B": "2"}),
    ],
)
def test_environment(env: str | None, expected: dict[str, str]) -> None:
    argv = [] if env is None else ["-env", *env.split()]
    found = submission(*argv, environ={"USER": "u", "B": "2", "LSB_JOBID": "1", "LS_SUBCWD": "/"})
    assert found.submission.environment == expected


WRONG = {
    "-W x": "-W x: Bad RUNLIMIT specification: expected [hours:]minutes",
    "-n 0": "-n 0: Bad argument for option -n: expected min[,max], at least 1, and max not below min",
    "-n": "-n: option requires an argument",
    "-zz": "-zz: Illegal option",
    "-J a[0]": "-J a[0]: Bad job name or array index: expected indices from 1 on",
    "-R select[": "-R select[: Bad resource requirement syntax: select[ is not closed",
    "-R span[hosts=2]": "-R: span[hosts=2] is not supported here: hosts=1, ptile=number and block=number are",
    "-b 25:00": "-b 25:00: Bad time specification: expected [[[year:]month:]day:]hour:minute, a time that there is",
    "-M x": "-M x: Bad MEMLIMIT specification: expected a number with KB, MB, GB or TB",
    "-gpu x": "-gpu x: Bad GPU requirement: expected num=number:mode=shared|exclusive_process:gmodel=name …, or -",
    "-w done(": "-w done(: Dependency condition syntax error: done(: expected a job",
    "-sp 0": "-sp 0: Bad user priority: expected 1 to 1023",
    "-json f": "-json f: submissions in JSON are not read: submit a script",
}


@pytest.mark.parametrize(("line", "text"), WRONG.items())
def test_errors_are_one_line_with_the_place(line: str, text: str) -> None:
    option, _, value = line.partition(" ")
    with pytest.raises(HpcBatchError) as raised:
        spec(*([option, value] if value else [option]))
    assert describe(raised.value, "bsub") == (f"{text}. Job not submitted.", 255)
    outcomes: list[Outcome] = []
    with pytest.raises(HpcBatchError) as raised:
        submission(script=f"#!/bin/sh\n  #BSUB {line}\n", outcomes=outcomes)
    assert describe(raised.value, "bsub") == (f"stdin:2:9: {text}. Job not submitted.", 255)
    if line not in {"-n", "-zz"}:
        assert [outcome.fate for outcome in outcomes] == [Fate.REFUSED]


def test_all_that_is_wrong_is_told() -> None:
    with pytest.raises(HpcBatchError) as raised:
        spec("-W", "x", "-n", "y", "-zz")
    assert len(describe(raised.value, "bsub")[0].splitlines()) == 3


@pytest.mark.parametrize("option", ["-h", "-V"])
def test_answers(option: str) -> None:
    with pytest.raises(LsfAnswer):
        spec(option)


@pytest.mark.parametrize("name", [name for name, rule in OPTIONS.items() if rule.fate is Fate.IGNORED])
def test_what_is_ignored_is_told(name: str) -> None:
    value = ["x"] * bool(OPTIONS[name].takes)
    found = spec(f"-{name}", *value)
    assert found.ignored == (f"-{' '.join([name, *value])}: {OPTIONS[name].meaning}",)


def test_that_both_files_are_appended_to_is_told() -> None:
    found = spec("-o", "o", "-eo", "e")
    assert found.ignored == ("-eo e: its file is appended to, as that of -o is",)
    assert spec("-oo", "o", "-eo", "e").ignored == ()


def test_an_option_without_its_value_is_named_where_no_command_is_left() -> None:
    for argv, why in ((["-J", "j", "-o"], "-o: option requires an argument"), ([], "No command is specified")):
        with pytest.raises(HpcBatchError, match=why):
            spec(*argv, script="")


COMPOUND: dict[str, tuple[list[str], Arrangement, list[tuple[int, int, int | None, tuple[tuple[str, int], ...]]]]] = {
    "a master and nodes": (
        ["-R", "1*{select[login]} + 50*{select[!login] span[ptile=24]}"],
        Arrangement.SCATTER,
        [(1, 1, None, ()), (2, 24, None, ()), (1, 2, None, ())],
    ),
    "what is left of -n": (
        ["-n", "5", "-R", "1*{rusage[mem=2000]}+{span[hosts=1] rusage[mem=500/task]}", "-gpu", "num=1"],
        Arrangement.FREE,
        [(1, 1, 2000 << 20, (("gpu", 1),)), (1, 4, 2000 << 20, (("gpu", 1),))],
    ),
    "a limit for all": (
        ["-M", "100MB", "-R", "2*{rusage[mem=200]} + 2*{span[hosts=1] rusage[mem=100/job]}"],
        Arrangement.FREE,
        [(2, 1, 200 << 20, ()), (1, 2, 100 << 20, ())],
    ),
}


@pytest.mark.parametrize(("argv", "arrangement", "chunks"), COMPOUND.values(), ids=COMPOUND)
def test_compound(
    argv: list[str],
    arrangement: Arrangement,
    chunks: list[tuple[int, int, int | None, tuple[tuple[str, int], ...]]],
) -> None:
    found = spec(*argv)
    assert found.arrangement is arrangement
    assert [(each.count, each.ranks, each.mem_bytes, each.resources) for each in found.chunks] == chunks


NO_COMPOUND = {
    "{} || {} x": "'{} x': expected {…} || {…}",
    "{} || {cu[maxcus=2]}": "cu[maxcus=…] within {…} || {…} is not supported here",
    "{{} || {}} || {}": "a further || within {…} || {…} is not supported here",
    "1*{} + x": "'x': expected number*{…} + number*{…} …",
    "{} + 2*{}": "only the last part may be without a number of slots",
    "3*{} + {}": "its parts have 3 slots, -n has 3",
    "1*{} + 1*{}": "its parts have 2 slots, -n has 3",
    "0*{} + {}": "expected a number of slots above 0",
    "1*{} 2*{}": "'2*{}': expected + behind a part in braces",
}


@pytest.mark.parametrize(("text", "why"), NO_COMPOUND.items())
def test_no_compound(text: str, why: str) -> None:
    with pytest.raises(HpcBatchError) as raised:
        spec("-n", "3", "-R", text)
    (line,) = describe(raised.value, "bsub")[0].splitlines()
    assert why in line


def test_alternatives() -> None:
    found = spec("-n", "4", "-R", "{span[ptile=2] rusage[mem=100]} || {1*{} + 3*{span[hosts=1]}}@60 || {select[a||b]}")
    every: list[JobSpec | Alternative] = [found, *found.otherwise]
    made = [(each.arrangement, each.mem_per_pod_bytes, each.chunks) for each in every]
    assert [(how, mem, [(each.count, each.ranks) for each in chunks]) for how, mem, chunks in made] == [
        (Arrangement.SCATTER, 100 << 20, [(2, 2)]),
        (Arrangement.FREE, None, [(1, 1), (1, 3)]),
        (Arrangement.FILL, None, [(4, 1)]),
    ]
    assert [each.partition(":")[0] for each in found.ignored] == ["-R @60"]


def test_a_compound_requirement_stands_alone() -> None:
    for argv in (["-R", "2*{}", "-R", "select[x]"], ["-R", "select[x]", "-R", "2*{}"], ["-nnodes", "2", "-R", "2*{}"]):
        with pytest.raises(HpcBatchError, match="cannot stand beside"):
            spec(*argv)
