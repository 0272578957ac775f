"""What sbatch refuses, does not support, or passes over, and in which words."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbatch.dialects.slurm.errors import SlurmAnswer, SlurmUsageError, describe
from hpcbatch.dialects.slurm.options import OPTIONS
from hpcbatch.dialects.slurm.submit import read_submission
from hpcbatch.errors import DirectiveError, HpcBatchError, ObstaclesError
from tests.unit.dialects.slurm.submit_parts import NOW, PLAIN, directives, read, spec, submit

TRY = '\nTry "sbatch --help" for more information'
FAILED = "sbatch: error: Batch job submission failed: "
EXCLUSIVE = "are mutually exclusive."
ERRORS: list[tuple[list[str], str, int]] = [
    (["--foo"], f"sbatch: unrecognized option '--foo'{TRY}", 255),
    (["-t", "abc"], "sbatch: error: Invalid --time specification", 255),
    (["--mem=1.5G"], "sbatch: error: Invalid --mem specification", 255),
    (["--mem-per-cpu=x"], "sbatch: error: Invalid --mem-per-cpu specification", 255),
    (["-n", "abc"], 'sbatch: error: Invalid numeric value "abc" for --ntasks.', 1),
    (["-n", "0"], 'sbatch: error: Invalid numeric value "0" for --ntasks.', 1),
    (["-n", "99999999999"], 'sbatch: error: Invalid numeric value "99999999999" for --ntasks.', 1),
    (["-c", "-1"], 'sbatch: error: Invalid numeric value "-1" for --cpus-per-task.', 1),
    (["--tasks-per-node=x"], 'sbatch: error: Invalid numeric value "x" for --ntasks-per-node.', 1),
    (["-N=4"], 'sbatch: error: "=4" is not a valid node count', 255),
    (["-N4-2"], "sbatch: error: Maximum node count 2 is less than minimum node count 4", 255),
    (["-N4-"], "sbatch: error: Maximum node count -1 is less than minimum node count 4", 255),
    (["--open-mode=x"], "sbatch: error: Invalid --open-mode specification", 255),
    (["--signal=FOO@3"], "sbatch: error: Invalid --signal specification", 255),
    (["--mail-type=x"], "sbatch: error: Invalid --mail-type specification", 255),
    (["--exclusive=x"], "sbatch: error: Invalid --exclusive specification", 255),
    (["--priority=-1"], "sbatch: error: Priority must be >= 0", 255),
    (["--priority=4294967294"], "sbatch: error: Priority must be < 4294967294", 255),
    (["--nice=99999999999"], "sbatch: error: Invalid --nice value, out of range (+/- 2147483645)", 255),
    (
        ["--begin=yesterday"],
        "Invalid time specification (pos=0): yesterday\nsbatch: error: Invalid --begin specification",
        255,
    ),
    (["--mem=1", "--mem-per-cpu=1"], f"sbatch: fatal: --mem, --mem-per-cpu, and --mem-per-gpu {EXCLUSIVE}", 1),
    (["-v", "-Q"], "sbatch: error: don't specify both --verbose (-v) and --quiet (-Q)", 1),
    (["-p", ""], f"sbatch: error: invalid partition specified: (null)\n{FAILED}Invalid partition name specified", 1),
    (["-J", "x" * 1025], f"{FAILED}Pathname of a file, directory or other parameter too long", 1),
    (["-N1", "-n2", "--ntasks-per-node=1"], f"{FAILED}Requested node configuration is not available", 1),
    (["--wait-all-nodes=2"], "sbatch: error: Invalid --wait-all-nodes specification", 255),
]


@pytest.mark.parametrize(("argv", "text", "code"), ERRORS, ids=[" ".join(e[0])[:40] for e in ERRORS])
def test_error(argv: list[str], text: str, code: int) -> None:
    with pytest.raises(SlurmUsageError) as error:
        submit(*argv)
    assert describe(error.value, "sbatch") == (text, code)


def test_script_arguments_with_wrap() -> None:
    with pytest.raises(SlurmUsageError, match="Script arguments not permitted with --wrap option"):
        submit("--wrap=x", "y")


def test_memory_given_twice() -> None:
    with pytest.raises(SlurmUsageError, match="mutually exclusive"):
        submit("--mem=100", script=directives("--mem-per-cpu=50"))
    with pytest.raises(SlurmUsageError, match="SLURM_MEM_PER_CPU, SLURM_MEM_PER_GPU, and SLURM_MEM_PER_NODE are"):
        submit(environ={"SBATCH_MEM_PER_NODE": "1", "SBATCH_MEM_PER_CPU": "1"})
    found = spec(script=directives("--mem-per-cpu=50"), environ={"SBATCH_MEM_PER_NODE": "100"})
    assert found.attributes == {"mem_per_cpu_mb": "50"}


def test_an_error_in_a_script_says_where() -> None:
    with pytest.raises(SlurmUsageError) as error:
        submit(script=directives("-J x", "-N 1 --time=abc"))
    assert describe(error.value, "sbatch") == (
        "sbatch: error: Invalid --time specification\nsbatch: error: job.sh:3:14: refused here",
        255,
    )


INVALID = "sbatch: error: Invalid directive found in batch script:"
PLACES = [
    ("--foo=1", "sbatch: unrecognized option '--foo=1'", 255, 9),
    ("-J a foo", f"{INVALID} foo", 255, 14),
    ("-n", "sbatch: option requires an argument -- 'n'", 255, 9),
    ("–N 1", f"{INVALID} –N", 255, 9),
    ("--dry-run", "sbatch: unrecognized option '--dry-run'", 255, 9),
    ("-- -J x", f"{INVALID} -J", 255, 12),
]


@pytest.mark.parametrize(("line", "text", "code", "column"), PLACES, ids=[p[0] for p in PLACES])
def test_refused_directive(line: str, text: str, code: int, column: int) -> None:
    with pytest.raises(SlurmUsageError) as error:
        submit(script=directives(line))
    assert text in error.value.text
    assert (error.value.code, error.value.path, error.value.line, error.value.column) == (code, "job.sh", 2, column)


def test_all_obstacles_at_once() -> None:
    script = directives("-t x --foo", "-J 'a", "-n 0 bar -N x", "--mem=z")
    with pytest.raises(ObstaclesError) as error:
        submit("-c", "0", script=script, environ={"SBATCH_SIGNAL": "x"})
    text, code = describe(error.value, "sbatch")
    assert text.splitlines() == [
        "sbatch: fatal: job.sh: line 3: Unmatched `'` in [ -J 'a]",
        "sbatch: error: job.sh:3:12: refused here",
        "sbatch: error: Invalid --time specification",
        "sbatch: error: job.sh:2:9: refused here",
        "sbatch: unrecognized option '--foo'",
        'Try "sbatch --help" for more information',
        "sbatch: error: job.sh:2:14: refused here",
        'sbatch: error: Invalid numeric value "0" for --ntasks.',
        "sbatch: error: job.sh:4:9: refused here",
        "sbatch: error: Invalid directive found in batch script: bar",
        "sbatch: error: job.sh:4:14: refused here",
        "sbatch: error: Invalid --mem specification",
        "sbatch: error: job.sh:5:9: refused here",
        "sbatch: error: Invalid --signal specification",
        'sbatch: error: Invalid numeric value "0" for --cpus-per-task.',
    ]
    assert code == 1


def test_what_contradicts_each_other_is_found_at_its_place() -> None:
    for lines, text, place in (
        (
            ("--mem=1", "-n 1 --mem-per-cpu=1"),
            "--mem, --mem-per-cpu, and --mem-per-gpu are mutually exclusive.",
            (3, 14),
        ),
        (("-N1", "-n2", "--ntasks-per-node=1"), "Requested node configuration is not available", (4, 9)),
        (("-v", "-Q"), "don't specify both", (3, 9)),
        (("--begin=now+5", "--deadline=now+3"), "Incompatible begin and deadline time specification", (3, 9)),
        (("-S 1", "--thread-spec=1"), "options are mutually exclusive", (3, 9)),
        (("--bb=x", "--bbf=x"), "Cannot specify both --burst-buffer and --bbf", (3, 9)),
        (("-G1 --ntasks-per-gpu=1", "--gpus-per-task=1"), "--gpus-per-task is mutually exclusive with", (3, 9)),
    ):
        with pytest.raises(SlurmUsageError) as error:
            submit(script=directives(*lines))
        assert text in error.value.text
        assert (error.value.line, error.value.column) == place


@pytest.mark.parametrize("name", ["uid", "gid"])
def test_only_root(name: str) -> None:
    with pytest.raises(SlurmUsageError) as error:
        submit(script=directives("-n 1", f"-J x --{name}=0"))
    assert describe(error.value, "sbatch") == (
        f"sbatch: error: --{name} only permitted by root user\nsbatch: error: job.sh:3:14: refused here",
        255,
    )


def test_bytes_that_are_no_text() -> None:
    assert spec(script=b"#!/bin/sh\n#SBATCH -J x # caf\xe9\necho \xe9\n").name == "x"
    with pytest.raises(DirectiveError, match=r"job\.sh:2:9: --job-name: caf\\xe9 is not valid UTF-8"):
        submit(script=b"#!/bin/sh\n#SBATCH -J caf\xe9\n")
    with pytest.raises(DirectiveError, match="not valid UTF-8"):
        submit("-J", "caf\udce9")


def test_wrap_in_a_script_is_passed_over() -> None:
    notes = submit(script=directives("--wrap=x", "--version")).submission.notes
    assert [note.partition(":2")[0] for note in notes[:1]] == ["sbatch: job.sh"]
    assert len(notes) == 2


@pytest.mark.parametrize("word", ["--help", "-h", "--usage", "--version", "-V"])
def test_answers(word: str) -> None:
    with pytest.raises(SlurmAnswer) as answer:
        submit(word)
    assert answer.value.text.startswith(("Usage: sbatch", "slurm 22.05.8"))


def test_usage_has_every_option_of_the_help_page() -> None:
    with pytest.raises(SlurmAnswer) as answer:
        submit("--usage")
    text = answer.value.text
    assert re.fullmatch(r"Usage: sbatch (\[-[^\n]*?\]\s+)+executable \[args\.\.\.\]", text)
    assert {"[-A name]", "[-H]", "[--mem=MB]", "[--nice[=value]]"} <= {*re.findall(r"\[-.*?\]+(?=\s)", text)}


def test_command_line_is_refused_before_the_script_is_read() -> None:
    def absent(_path: str | None) -> tuple[str | None, bytes]:
        raise FileNotFoundError

    for words, expected in ((["--foo", "x"], SlurmUsageError), (["x"], OSError)):
        with pytest.raises(expected):
            read_submission(words, script=absent, environ={}, cwd="/", host="h", user="u", server="s", now=NOW, umask=0)


VALUES = st.sampled_from(["", "1", "2-4", "1k", "abc", "1:00", "ALL", "x,y", "a b", "0", "-1", "none", "append"])


@given(st.lists(st.tuples(st.sampled_from(OPTIONS), VALUES), max_size=6))
def test_any_options(given_: list[tuple[object, str]]) -> None:
    words = []
    for option, value in given_:
        nothing = option.takes.value == "nothing"  # type: ignore[attr-defined]
        words.append(f"--{option.name}" if nothing else f"--{option.name}={value}")  # type: ignore[attr-defined]
    try:
        found = read([*words, "job.sh"], PLAIN.encode())
    except HpcBatchError as error:
        text, code = describe(error, "sbatch")
        assert (text and code) or isinstance(error, SlurmAnswer)
        return
    ranks = sum(c.count * c.ranks for c in found.submission.spec.chunks)
    tasks = found.submission.spec.attributes.get("ntasks")
    assert tasks is None or ranks == int(tasks)


@given(st.text(max_size=80))
def test_any_directive(text: str) -> None:
    try:
        submit(script=directives(text).encode("utf-8", "surrogatepass"))
    except HpcBatchError as error:
        assert describe(error, "sbatch")[1] > 0


def test_variables_that_exclude_each_other() -> None:
    with pytest.raises(SlurmUsageError) as error:
        submit(environ={"SBATCH_CORE_SPEC": "1", "SBATCH_THREAD_SPEC": "1"})
    assert error.value.text.startswith("sbatch: fatal: Both --core-spec and --thread-spec set using environment")
