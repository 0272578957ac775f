"""Reads script, environment and command line of sbatch, option by option, into a Request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from hpcbatch.dialects.slurm import values
from hpcbatch.dialects.slurm.directives import Directives, Word, read_directives, refuse_foreign
from hpcbatch.dialects.slurm.errors import VERSION_TEXT, SlurmAnswer, SlurmUsageError
from hpcbatch.dialects.slurm.getopt import Given, Takes, WordError
from hpcbatch.dialects.slurm.help import SBATCH_HELP, SBATCH_USAGE
from hpcbatch.dialects.slurm.option_values import READERS, invalid
from hpcbatch.dialects.slurm.options import NO_EFFECT, OPTIONS, PARSER, SCRIPT_PARSER, SbatchOption, Support
from hpcbatch.dialects.slurm.request import GPU_OPTIONS, Request
from hpcbatch.errors import DirectiveError, NotSupportedError
from hpcbatch.model.spec import JobSpec
from hpcbatch.model.text import is_printable, printable

_ANY_TEXT = frozenset({"export", "wrap"})
"""The options whose values no listing shows."""


def read_command_line(argv: Sequence[str], now: datetime) -> tuple[list[Given], list[str], Request]:
    """The options of the command line, its operands (script and arguments), and a Request of them alone.
    Raises SlurmAnswer for --help, --usage and --version.
    """
    for word in argv:
        _check_utf8(word, "command line")
    given, operands = PARSER.parse(argv)
    for option in given:
        match option.option.name:
            case "help":
                raise SlurmAnswer(SBATCH_HELP)
            case "usage":
                raise SlurmAnswer(SBATCH_USAGE)
            case "version":
                raise SlurmAnswer(VERSION_TEXT)
    request = Request()
    apply_command_line(request, given, now)
    return given, [argv[index] for index in operands], request


def apply_command_line(request: Request, given: Sequence[Given], now: datetime) -> None:
    """Apply the options of the command line, which go over all others."""
    for option in given:
        _apply(request, option, now)
        request.from_environment.discard(option.option.name)


def apply_environment(request: Request, environ: Mapping[str, str], now: datetime) -> None:
    """Apply the SBATCH_* input variables, which go over the script."""
    for option in OPTIONS:
        for variable in option.environment:
            if variable not in environ:
                continue
            value = environ[variable]
            _check_utf8(value, variable)
            takes_none = option.takes is Takes.NOTHING or (option.takes is Takes.OPTIONAL and not value)
            if option.name == "verbose":
                request.verbose = values.leading_number(value) if value.isascii() and value.isdigit() else 0
                break
            try:
                _apply(request, Given(option, None if takes_none else value, 0), now)
            except NotSupportedError as error:
                raise NotSupportedError(f"{variable} in the environment: {error.message}") from None
            request.from_environment.add(option.name)
            break


def apply_script(request: Request, script: bytes, path: str, now: datetime) -> Directives:
    """Apply the directives of a script; every error names `path`, line and column."""
    directives = read_directives(script, path)
    words = directives.words
    texts = [word.text for word in words]
    try:
        given, operands = SCRIPT_PARSER.parse(texts)
    except WordError as error:
        for option in error.given:
            _apply_directive(request, option, words[option.word], path, now)
        word = words[error.word]
        raise SlurmUsageError(error.text, error.code, path=path, line=word.line, column=word.column) from None
    for option in given:
        word = words[option.word]
        _apply_directive(request, option, word, path, now)
        if option.option.name == "container-image":
            _check_whole(words[option.word + ("=" not in word.text)], path)
    if operands:
        raise _no_option(words[operands[0]], path)
    request.notes += directives.notes
    return directives


def read_option(request: Request, name: str, value: str, now: datetime) -> None:
    """Read one option that is honoured, by its long name."""
    READERS[name](request, value, now)


def request_of(spec: JobSpec) -> Request:
    """What a job requested that says how large it is, read again from its attributes (`submit.size_attributes`)."""
    given = spec.attributes
    request = Request()
    for name in ("ntasks", "ntasks_per_node", "cpus_per_task", "mem_per_cpu_mb", "cpus_per_gpu", "mem_per_gpu_mb"):
        if name in given:
            setattr(request, name, int(given[name]))
    if "mem_per_node_mb" in given:
        request.mem_mb = int(given["mem_per_node_mb"])
    if "nodes" in given:
        low, _, high = given["nodes"].partition("-")
        request.nodes = int(low), int(high)
    no_time = datetime.min  # these readers look at no clock
    for name in GPU_OPTIONS:
        if text := given.get(name.replace("-", "_")):
            read_option(request, name, text, no_time)
    if text := given.get("constraint"):
        read_option(request, "constraint", text, no_time)
    of_node = given.get("tres_per_node", "").removesuffix(request.tres.get("tres_per_node", "")).rstrip(",")
    if of_node:
        read_option(request, "gres", of_node, no_time)
    return request


def check_foreign(request: Request, directives: Directives, path: str) -> None:
    """Refuse #PBS and #BSUB lines, unless --ignore-pbs says to pass over them."""
    if directives.foreign is not None and not request.ignore_pbs:
        raise refuse_foreign(directives.foreign, path)


def check_together(request: Request) -> None:
    """Raise SlurmUsageError for options that exclude each other. A variable gives way to a given option."""
    memory = {"mem": "mem_mb", "mem-per-cpu": "mem_per_cpu_mb", "mem-per-gpu": "mem_per_gpu_mb"}
    given = {name for name, attribute in memory.items() if getattr(request, attribute) is not None}
    variables = given & request.from_environment
    if len(given) > 1:
        if len(given - variables) != 1:
            names = (
                "SLURM_MEM_PER_CPU, SLURM_MEM_PER_GPU, and SLURM_MEM_PER_NODE"
                if variables
                else "--mem, --mem-per-cpu, and --mem-per-gpu"
            )
            raise SlurmUsageError(f"sbatch: fatal: {names} are mutually exclusive.")
        for name in variables:
            setattr(request, memory[name], None)
    if request.cpus_per_gpu is not None and request.cpus_per_task is not None:
        raise SlurmUsageError("sbatch: fatal: --cpus-per-task and --cpus-per-gpu are mutually exclusive.")
    if request.quiet and request.verbose:
        raise SlurmUsageError("sbatch: error: don't specify both --verbose (-v) and --quiet (-Q)")


def _apply_directive(request: Request, option: Given, word: Word, path: str, now: datetime) -> None:
    name = option.option.name
    if name in {"wrap", "help", "usage", "version"}:
        request.notes.append(f"sbatch: {path}:{word.line}:{word.column}: --{name} is passed over in a script")
        return
    try:
        _apply(request, option, now)
    except SlurmUsageError as error:
        raise error.at(path, word.line, word.column) from None
    except DirectiveError as error:
        raise type(error)(error.message, path=path, line=word.line, column=word.column) from None


def _check_whole(word: Word, path: str) -> None:
    """Refuse `registry#image` where the `#` is a comment's, which leaves the name of another image."""
    if word.is_cut:
        text = "sbatch: error: --container-image: an unquoted # ends the line; write \\#"
        raise SlurmUsageError(text, 255, path=path, line=word.line, column=word.column)


def _no_option(word: Word, path: str) -> DirectiveError:
    if word.text in {"hetjob", "packjob"}:
        return NotSupportedError(
            f"heterogeneous jobs ({word.text}) are not supported yet", path=path, line=word.line, column=word.column
        )
    text = f"sbatch: error: Invalid directive found in batch script: {word.text}"
    return SlurmUsageError(text, 255, path=path, line=word.line, column=word.column)


def _apply(request: Request, given: Given, now: datetime) -> None:
    option, value = given.option, given.value
    assert isinstance(option, SbatchOption)  # noqa: S101  for the type checker: PARSER holds no other
    if value is not None:
        _check_utf8(value, f"--{option.name}")
        if option.name not in _ANY_TEXT and not is_printable(value):
            raise SlurmUsageError(
                f"sbatch: error: Invalid --{option.name} specification: {printable(value)}: "
                "it has a character that cannot be printed",
                255,
            )
    if option.support is Support.HONOURED:
        READERS[option.name](request, "" if value is None else value, now)
    elif option.support is Support.KEPT:
        _check_kept(option.name, value)
        request.kept[option.name] = "" if value is None else value
    elif value is None or value not in NO_EFFECT.get(option.name, ()):
        raise NotSupportedError(f"--{option.name} is not supported yet")


def _check_utf8(text: str, what: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        shown = text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
        raise DirectiveError(f"{what}: {shown} is not valid UTF-8") from None


def _check_kept(name: str, value: str | None) -> None:
    """Refuse a value that the real sbatch refuses, even where it changes nothing."""
    bad = (name == "wait-all-nodes" and value not in {"0", "1"}) or (name == "time-min" and not _is_time(value or ""))
    if bad:
        raise invalid(name)


def _is_time(text: str) -> bool:
    try:
        values.parse_time_s(text)
    except ValueError:
        return False
    return True
