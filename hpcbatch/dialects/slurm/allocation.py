"""srun and salloc outside of a job: an allocation, which sbatch's options describe, and what runs in it.

An option that says something of the steps alone goes on to the srun in the job's first pod (runner/steps), which reads
it and reports what it does not do.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from hpcbatch.dataclass import replace
from hpcbatch.dialects.slurm.errors import VERSION_TEXT, SlurmAnswer, SlurmUsageError
from hpcbatch.dialects.slurm.getopt import Given, Option, Parser, Takes
from hpcbatch.dialects.slurm.options import BY_NAME, OPTIONS
from hpcbatch.dialects.slurm.submit import read_submission
from hpcbatch.errors import NotSupportedError
from hpcbatch.model.chunk import of_each_pod
from hpcbatch.model.interactive import Interactive
from hpcbatch.model.record import JobRecord
from hpcbatch.model.spec import Output, Submission
from hpcbatch.typed import Any, Final, NamedTuple

_TAKES = {"": Takes.NOTHING, "=": Takes.VALUE, "?": Takes.OPTIONAL}


def _table(rows: str) -> tuple[Option, ...]:
    """Words are `name[=|?][/letter]`."""
    found = []
    for row in rows.split():
        word, _, short = row.partition("/")
        name = word.rstrip("=?")
        found.append(Option(name=name, short=short, takes=_TAKES[word[len(name) :]]))
    return tuple(found)


USAGE = "Usage: {} [OPTIONS...] [executable [args...]]"
_OF_STEPS = _table(
    "accel-bind= bcast? bcast-exclude= compress? cpu-bind= debugger-test disable-status/X epilog= exact het-group="
    " immediate?/I interactive jobid= kill-on-bad-exit?/K label/l launch-cmd max-exit-timeout= mpi= msg-timeout="
    " multi-prog no-allocate/Z overlap pack-group= preserve-env/E prolog= pty quit-on-interrupt relative=/r resv-ports?"
    " send-libs? slurmd-debug= task-epilog= task-prolog= threads=/T tres-bind= tres-per-task= unbuffered/u wait=/W"
    " whole x11?"
)
"""Those that srun has and sbatch has not, or in another form."""
_OF_SALLOC = _table("bell no-bell no-shell kill-command?/K immediate?/I x11? wait-all-nodes=")
_NOT_OF_BOTH = frozenset(
    {"array", "wrap", "wait", "parsable", "requeue", "no-requeue", "ignore-pbs", "get-user-env", "export-file"}
    | {"dry-run", "explain"}
)
_OUTPUT = frozenset({"output", "error", "input", "open-mode"})
_STEPS_TOO = _OUTPUT | {
    *("ntasks", "nodes", "cpus-per-task", "ntasks-per-node", "distribution", "hint", "threads-per-core"),
    *("ntasks-per-core", "ntasks-per-socket", "overcommit", "quiet"),
}
"""What sbatch's table has, and each step of srun reads, too."""
_PLAIN_TERMINAL = frozenset(
    {"pty", "jobid", "quiet", "overlap", "oversubscribe", "unbuffered", "interactive", "mpi", "preserve-env"}
    | {"ntasks=1", "nodes=1", "mem-per-cpu=0", "cpu-bind=none", "cpu-bind=no"}
)
"""With these alone srun's step is one program on the terminal: so SallocDefaultCommand of Slurm's manual has it."""
_BESIDE = ("--overlap", "--preserve-env", "--nodes=1", "--ntasks=1")
_DIGITS = 18
_PREFIX = {"srun": "SLURM_", "salloc": "SALLOC_"}
"""Of the input variables of each."""
_ANSWERS = frozenset({"help", "usage", "version"})


def _parser(command: str, own: Iterable[Option], lacks: frozenset[str]) -> Parser:
    own = tuple(own)
    names = {option.name for option in own} | lacks | _NOT_OF_BOTH
    return Parser(command, (*own, *(option for option in OPTIONS if option.name not in names)))


SRUN = _parser("srun", _OF_STEPS, frozenset())
SALLOC = _parser("salloc", _OF_SALLOC, _OUTPUT | {"export", "test-only"})


class Allocation(NamedTuple):
    """A command line of srun or salloc."""

    submission: Submission
    quiet: bool
    has_terminal: bool = False
    """srun --pty."""
    lacks_terminal: bool = False
    """srun --pty without a terminal, for which it counts as not given."""
    command: tuple[str, ...] = ()
    """What salloc runs on the login node; empty: a shell."""
    shell: bool = True
    """Not with salloc --no-shell."""
    is_verbose: bool = False
    test_only: bool = False
    """It is only asked when and where the job would start."""


class Surroundings(NamedTuple):
    """The submitter's, as `read_submission` takes them."""

    environ: Mapping[str, str]
    others: Mapping[str, Any]
    """cwd, host, user, server, now, umask and the like."""


def read_srun(argv: Sequence[str], around: Surroundings, *, is_terminal: bool) -> Allocation:
    """`is_terminal`: there is one for --pty. Raises as `read_submission`, in srun's name."""
    given, operands = _parsed(SRUN, argv)
    names = {each.option.name for each in given}
    if not operands and "test-only" not in names:
        raise SlurmUsageError("srun: fatal: No command given to execute.")
    if ":" in operands:
        raise NotSupportedError("heterogeneous jobs of srun are not supported yet; sbatch has them")
    has_terminal = "pty" in names and is_terminal
    step = [_long(each) for each in given if _is_of_steps(each.option.name) and each.option.name != "pty"]
    command = tuple(operands) if has_terminal else ("srun", *step, *operands)
    kind = Interactive.TERMINAL if has_terminal else Interactive.STREAMS
    submission, quiet = _submission("srun", given, (operands or ["srun"])[0], around, kind=kind, runs=command)
    return Allocation(
        submission,
        quiet,
        has_terminal,
        lacks_terminal="pty" in names and not is_terminal,
        is_verbose="verbose" in names,
        test_only="test-only" in names,
    )


def launching(record: JobRecord) -> Iterator[str]:
    """What srun -v says of its step when the job has its hosts. Source: slurm_step_launch()."""
    ranks = (chunk.ranks for chunk in of_each_pod(record.layout))
    first = 0
    for host, count in zip(record.status.hosts, ranks, strict=False):
        numbers = str(first) if count == 1 else f"[{first}-{first + count - 1}]"
        first += count
        yield f"launching StepId={record.job_id}.0 on host {host.node}, {count} tasks: {numbers}"


_DAEMONS: Final = {
    "prted": "Open MPI",
    "orted": "Open MPI",
    "hydra_pmi_proxy": "MPICH",
    "hydra_bstrap_proxy": "Intel MPI",
}
"""By their programs."""
_MPIRUNS: Final = frozenset({"mpirun", "mpiexec", "mpiexec.hydra", "orterun", "prterun"})


class Step(NamedTuple):
    """A step of an allocation, from its user's shell on the login node."""

    command: tuple[str, ...]
    has_terminal: bool
    lacks_terminal: bool
    quiet: bool
    daemon_of: str = ""
    """The kind of MPI whose mpirun starts its daemons by this step; "": it is no such step."""


def read_step(argv: Sequence[str], *, is_terminal: bool) -> Step:
    """srun in an allocation of salloc: the srun in its first pod reads the options. Raises SlurmUsageError.

    Without any that it could heed, `srun --pty -n1 bash` is one shell, beside which other steps of the allocation run.
    """
    given, operands = _parsed(SRUN, argv)
    if not operands:
        raise SlurmUsageError("srun: fatal: No command given to execute.")
    names = {each.option.name for each in given}
    rest = [_long(each) for each in given if each.option.name not in {"pty", "jobid"}]
    has_terminal = "pty" in names and is_terminal
    if has_terminal and all(_is_plain(each) for each in given):
        command = ("srun", *_BESIDE, "--pty", *operands)
    else:
        command = ("srun", *(["--pty"] if has_terminal else []), *rest, *operands)
    daemon_of = _DAEMONS.get(operands[0].rpartition("/")[2], "")
    return Step(command, has_terminal, "pty" in names and not is_terminal, "quiet" in names, daemon_of)


def of_mpirun(kind: str = "mpirun", command: str = "srun") -> str:
    """What srun, or salloc, says when the daemons of an mpirun on the login node have failed, or may have."""
    return (
        f"{command}: hpcbatch: the daemons of {kind} have to reach this machine from the job's hosts, and rarely can\n"
        f"{command}: hpcbatch: `srun PROGRAM` starts MPI programs itself; mpirun works in `srun --pty bash`"
    )


def allocation_of(argv: Sequence[str], environ: Mapping[str, str]) -> int | None:
    """The number of the allocation that srun's step is for; None: it makes one of its own. Raises SlurmUsageError."""
    given, _ = _parsed(SRUN, argv)
    named = [each.value for each in given if each.option.name == "jobid"]
    text = (named[-1] if named else None) or environ.get("SLURM_JOB_ID") or environ.get("SLURM_JOBID") or ""
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= _DIGITS):
        raise SlurmUsageError(f"srun: error: Invalid job id: {text}" if named else no_allocation(text))
    return int(text)


def no_allocation(job_id: object) -> str:
    """What srun says of an allocation that there is not."""
    return (
        f"srun: error: Unable to confirm allocation for job {job_id}: Invalid job id specified\n"
        f"srun: Check SLURM_JOB_ID environment variable. Expired or invalid job {job_id}"
    )


def is_mpirun(command: Sequence[str]) -> bool:
    return command[0].rpartition("/")[2] in _MPIRUNS


def read_salloc(argv: Sequence[str], around: Surroundings) -> Allocation:
    """The same of salloc."""
    given, operands = _parsed(SALLOC, argv)
    name = operands[0] if operands else "interactive"
    submission, quiet = _submission("salloc", given, name, around, kind=Interactive.ALLOCATION, runs=())
    shell = all(each.option.name != "no-shell" for each in given)
    return Allocation(submission, quiet, command=tuple(operands), shell=shell)


def _parsed(parser: Parser, argv: Sequence[str]) -> tuple[list[Given], list[str]]:
    given, operands = parser.parse(argv)
    for each in given:
        if each.option.name == "version":
            raise SlurmAnswer(VERSION_TEXT)
        if each.option.name in _ANSWERS:
            if each.option.name == "help":
                from hpcbatch.dialects.slurm.command_lines import full_help

                raise SlurmAnswer(full_help(parser.command))
            raise SlurmAnswer(USAGE.format(parser.command))
        if each.option.name in {"hint", "cpu-bind"} and "help" in (each.value or "").lower().split(","):
            from hpcbatch.dialects.slurm.value_help import value_help

            raise SlurmAnswer(value_help(each.option.name))
    return given, [argv[index] for index in operands]


def _is_of_steps(name: str) -> bool:
    return name in _STEPS_TOO or any(option.name == name for option in _OF_STEPS)


def _is_plain(given: Given) -> bool:
    return not _PLAIN_TERMINAL.isdisjoint({given.option.name, f"{given.option.name}={given.value}"})


def _long(given: Given) -> str:
    return f"--{given.option.name}" + ("" if given.value is None else f"={given.value}")


def _submission(
    command: str,
    given: Sequence[Given],
    name: str,
    around: Surroundings,
    *,
    kind: Interactive,
    runs: tuple[str, ...],
) -> tuple[Submission, bool]:
    own = {option.name for option in (_OF_STEPS if command == "srun" else _OF_SALLOC)}
    words = [_long(each) for each in given if each.option.name not in _OUTPUT | own]
    environ, added = _as_of_sbatch(around.environ, _PREFIX[command])
    try:
        read = read_submission(
            [*words, name], script=lambda path: (path, b"#!/bin/sh\n"), environ=environ, **around.others
        )
    except SlurmUsageError as error:
        raise SlurmUsageError(error.text.replace("sbatch:", f"{command}:"), 1) from None
    submission = read.submission
    spec = replace(
        submission.spec,
        interactive=kind,
        command=runs,
        script_path=None,
        stdout=Output(),
        stderr=None,
        stdin=None,
        rerunnable=False,
    )
    environment = {name: value for name, value in submission.environment.items() if name not in added}
    notes = tuple(note.replace("sbatch:", f"{command}:") for note in submission.notes)
    return replace(submission, spec=spec, script=b"", environment=environment, notes=notes), read.quiet


def _as_of_sbatch(environ: Mapping[str, str], prefix: str) -> tuple[dict[str, str], set[str]]:
    """The input variables of the command under sbatch's names, and which of these were added."""
    names = [variable for option in BY_NAME.values() for variable in option.environment]
    of_sbatch = [name for name in names if name.startswith("SBATCH_")]
    found = {name: value for name, value in environ.items() if name not in of_sbatch}
    renamed = {name: environ[own] for name in of_sbatch if (own := prefix + name.removeprefix("SBATCH_")) in environ}
    return found | renamed, set(renamed)
