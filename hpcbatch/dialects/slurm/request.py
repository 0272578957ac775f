"""What sbatch was asked for: script, environment and command line, read option by option into a Request."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from hpcbatch.dialects.slurm import tres, values
from hpcbatch.dialects.slurm.array_spec import parse_array
from hpcbatch.dialects.slurm.begin import parse_begin
from hpcbatch.dialects.slurm.dependency import parse_dependency
from hpcbatch.dialects.slurm.directives import Directives, Word, read_directives, refuse_foreign
from hpcbatch.dialects.slurm.errors import VERSION_TEXT, SlurmAnswer, SlurmUsageError
from hpcbatch.dialects.slurm.getopt import Given, Takes, WordError
from hpcbatch.dialects.slurm.help import SBATCH_HELP, SBATCH_USAGE
from hpcbatch.dialects.slurm.options import NO_EFFECT, OPTIONS, PARSER, SCRIPT_PARSER, SbatchOption, Support
from hpcbatch.dialects.slurm.tres import Amounts
from hpcbatch.dialects.slurm.warn_signal import parse_warn_signal
from hpcbatch.errors import DirectiveError, HpcBatchError, NotSupportedError
from hpcbatch.model.array import Array
from hpcbatch.model.image import parse_image
from hpcbatch.model.spec import JobSpec, WarnSignal
from hpcbatch.model.text import is_printable, printable


@dataclass(slots=True, kw_only=True)
class Request:
    """The options in force, each the last of its kind. None: not given."""

    account: str | None = None
    array: Array | None = None
    begin: datetime | None = None
    chdir: str | None = None
    constraint: str | None = None
    """As given; `features` is what it says."""
    cpus_per_gpu: int | None = None
    cpus_per_task: int | None = None
    dependency: str | None = None
    """As given, and found to be right."""
    dry_run: bool = False
    error: str | None = None
    exclusive: bool = False
    export: str | None = None
    features: tuple[str, ...] = ()
    login: bool | None = None
    """--get-user-env: whether the login environment is loaded (L), or none (S); None: not given."""
    gpus: Amounts = field(default_factory=dict)
    gpus_per_node: Amounts = field(default_factory=dict)
    gpus_per_task: Amounts = field(default_factory=dict)
    gres: Amounts = field(default_factory=dict)
    hold: bool = False
    ignore_pbs: bool = False
    image: str | None = None
    job_name: str | None = None
    kill_if_never: bool | None = None
    mail_types: tuple[str, ...] = ()
    mail_users: tuple[str, ...] = ()
    mem_mb: int | None = None
    mem_per_cpu_mb: int | None = None
    mem_per_gpu_mb: int | None = None
    nice: int = 0
    nodes: tuple[int, int] | None = None
    ntasks: int | None = None
    ntasks_per_node: int | None = None
    append: bool | None = None
    output: str | None = None
    parsable: bool = False
    partition: str | None = None
    priority: int | None = None
    """Given outright; 0 holds the job."""
    quiet: bool = False
    wait: bool = False
    requeue: bool = True
    walltime_s: int | None = None
    warn_signal: WarnSignal | None = None
    verbose: int = 0
    wrap: str | None = None
    kept: dict[str, str] = field(default_factory=dict)
    """Options that change nothing here, by name."""
    given: dict[str, str] = field(default_factory=dict)
    """The text of --gres, --gpus and its kin, by option, where it asks for something."""
    notes: list[str] = field(default_factory=list)
    from_environment: set[str] = field(default_factory=set)
    """Options whose value in force comes from the environment."""

    @property
    def tres(self) -> dict[str, str]:
        """What `squeue`, `scontrol show job` and SLURM_GPUS… show of generic resources, by the job's attribute."""
        of_node = [tres.shown(self.given["gres"])] if "gres" in self.given else []
        found = {name.replace("-", "_"): self.given[name] for name in _GPU_OPTIONS if name in self.given}
        for attribute, name in (("job", "gpus"), ("task", "gpus-per-task"), ("node", "gpus-per-node")):
            parts = of_node if attribute == "node" else []
            if name in self.given:
                parts.append(tres.shown(self.given[name], "gres:gpu:"))
            if parts:
                found[f"tres_per_{attribute}"] = ",".join(parts)
        return found


_ANY_TEXT = frozenset({"export", "wrap"})
"""The options whose values no listing shows."""
Reader = Callable[[Request, str, datetime], None]


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
    _READERS[name](request, value, now)


def request_of(spec: JobSpec) -> Request:
    """What a job asked for that says how large it is, read again from its attributes (`submit.size_attributes`)."""
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
    for name in _GPU_OPTIONS:
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
                "it has a character that cannot be printed", 255,
            )  # fmt: skip
    if option.support is Support.HONOURED:
        _READERS[option.name](request, "" if value is None else value, now)
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


def invalid(name: str) -> SlurmUsageError:
    """`Invalid --NAME specification`, exit 255."""
    return SlurmUsageError(f"sbatch: error: Invalid --{name} specification", 255)


def _text(attribute: str) -> Reader:
    def read(request: Request, value: str, _now: datetime) -> None:
        setattr(request, attribute, value)

    return read


def _flag(attribute: str, on: bool = True) -> Reader:
    def read(request: Request, _value: str, _now: datetime) -> None:
        setattr(request, attribute, on)

    return read


def _count(attribute: str, name: str) -> Reader:
    def read(request: Request, value: str, _now: datetime) -> None:
        try:
            setattr(request, attribute, values.parse_positive(value))
        except ValueError:
            raise SlurmUsageError(f'sbatch: error: Invalid numeric value "{value}" for --{name}.') from None

    return read


def _memory(attribute: str, name: str) -> Reader:
    def read(request: Request, value: str, _now: datetime) -> None:
        try:
            size = values.parse_memory_mb(value)
        except ValueError:
            raise invalid(name) from None
        if size == 0:
            raise NotSupportedError(f"--{name}=0 (all memory of a node) is not supported yet")
        setattr(request, attribute, size)

    return read


def _array(request: Request, value: str, _now: datetime) -> None:
    try:
        request.array = parse_array(value) if value else None
    except ValueError:
        text = "sbatch: error: Batch job submission failed: Invalid job array specification"
        raise SlurmUsageError(text) from None


def _begin(request: Request, value: str, now: datetime) -> None:
    request.begin = parse_begin(value, now)


def _dependency(request: Request, value: str, _now: datetime) -> None:
    try:
        parse_dependency(value)
    except ValueError:
        text = "sbatch: error: Batch job submission failed: Job dependency problem"
        raise SlurmUsageError(text) from None
    request.dependency = value


def _kill_if_never(request: Request, value: str, _now: datetime) -> None:
    if value.lower() not in {"yes", "no"}:
        raise invalid("kill-on-invalid-dep")
    request.kill_if_never = value.lower() == "yes"


def _exclusive(request: Request, value: str, _now: datetime) -> None:
    if value in {"user", "mcs"}:
        raise NotSupportedError(f"--exclusive={value} is not supported yet")
    if value not in {"", "exclusive"}:
        raise invalid("exclusive")
    request.exclusive = True


def _export(request: Request, value: str, _now: datetime) -> None:
    try:
        names = values.split_export(value)
    except ValueError:
        names = []
    if not names:
        raise invalid("export")
    request.export = value


def _get_user_env(request: Request, value: str, _now: datetime) -> None:
    """`[timeout][mode]`; what stands behind the mode's letter is not read. Source: arg_set_get_user_env()."""
    match = _USER_ENV.fullmatch(value)
    if match is None:
        raise invalid("get-user-env")
    request.login = (match[1] or "L") in "lL"


_USER_ENV = re.compile(r"\s*[+-]?[0-9]*(?:([slSL]).*)?", re.DOTALL | re.ASCII)
_GPU_OPTIONS = ("gpus", "gpus-per-node", "gpus-per-task")


def _amounts(name: str, parse: Callable[[str], Amounts]) -> Reader:
    def read(request: Request, value: str, _now: datetime) -> None:
        try:
            amounts = parse(value)
        except ValueError:
            raise SlurmUsageError("sbatch: error: Invalid generic resource (gres) specification") from None
        setattr(request, name.replace("-", "_"), amounts)
        request.given.pop(name, None)
        if amounts:
            request.given[name] = value

    return read


def _constraint(request: Request, value: str, _now: datetime) -> None:
    try:
        request.features = tres.parse_constraint(value)
    except NotImplementedError:
        raise NotSupportedError(
            f"--constraint={value}: anything but features joined by & is not supported yet"
        ) from None
    except ValueError:
        raise SlurmUsageError("sbatch: error: Batch job submission failed: Invalid feature specification") from None
    request.constraint = value


def _image(request: Request, value: str, _now: datetime) -> None:
    try:
        request.image = parse_image(value)
    except HpcBatchError as error:
        raise SlurmUsageError(f"sbatch: error: --container-image: {error}", 255) from None


def _mail_type(request: Request, value: str, _now: datetime) -> None:
    try:
        # What the directives and the command line say adds up. Source: arg_set_mail_type().
        types = {*request.mail_types, *values.parse_mail_types(value)}
    except ValueError:
        raise invalid("mail-type") from None
    request.mail_types = tuple(name for name in values.MAIL_TYPES if name in types)


def _mail_user(request: Request, value: str, _now: datetime) -> None:
    request.mail_users = tuple(user for user in value.split(",") if user)


def _nice(request: Request, value: str, _now: datetime) -> None:
    try:
        request.nice = values.parse_nice(value) if value else 100
    except ValueError:
        raise invalid("nice") from None
    except OverflowError:
        text = f"sbatch: error: Invalid --nice value, out of range (+/- {values.MAX_NICE})"
        raise SlurmUsageError(text, 255) from None


def _nodes(request: Request, value: str, _now: datetime) -> None:
    try:
        low, high = values.parse_nodes(value)
    except ValueError as error:
        raise SlurmUsageError(f'sbatch: error: "{error}" is not a valid node count', 255) from None
    if high < low:
        text = f"sbatch: error: Maximum node count {high} is less than minimum node count {low}"
        raise SlurmUsageError(text, 255)
    request.nodes = (max(low, 1), high) if high else None


def _open_mode(request: Request, value: str, _now: datetime) -> None:
    if value[:1] not in {"a", "A", "t", "T"}:
        raise invalid("open-mode")
    request.append = value[0] in "aA"


def _partition(request: Request, value: str, _now: datetime) -> None:
    if "," in value:
        raise NotSupportedError("--partition with several partitions is not supported yet")
    request.partition = value


def _signal(request: Request, value: str, _now: datetime) -> None:
    try:
        request.warn_signal = parse_warn_signal(value)
    except ValueError:
        raise invalid("signal") from None


def _priority(request: Request, value: str, _now: datetime) -> None:
    if value.upper() == "TOP":
        request.priority = values.MAX_PRIORITY
        return
    number = values.leading_number(value)
    if number < 0:
        raise SlurmUsageError("sbatch: error: Priority must be >= 0", 255)
    if number > values.MAX_PRIORITY:
        raise SlurmUsageError(f"sbatch: error: Priority must be < {values.MAX_PRIORITY + 1}", 255)
    request.priority = number


def _time(request: Request, value: str, _now: datetime) -> None:
    try:
        request.walltime_s = values.parse_time_s(value)
    except ValueError:
        raise invalid("time") from None


def _verbose(request: Request, _value: str, _now: datetime) -> None:
    request.verbose += 1


def _answered(_request: Request, _value: str, _now: datetime) -> None:
    """--help and the like: read_command_line has answered them."""


_READERS: dict[str, Reader] = {
    "account": _text("account"),
    "array": _array,
    "begin": _begin,
    "chdir": _text("chdir"),
    "constraint": _constraint,
    "container-image": _image,
    "cpus-per-gpu": _count("cpus_per_gpu", "cpus-per-gpu"),
    "cpus-per-task": _count("cpus_per_task", "cpus-per-task"),
    "dependency": _dependency,
    "dry-run": _flag("dry_run"),
    "error": _text("error"),
    "exclusive": _exclusive,
    "export": _export,
    "get-user-env": _get_user_env,
    "gpus": _amounts("gpus", tres.parse_gpus),
    "gpus-per-node": _amounts("gpus-per-node", tres.parse_gpus),
    "gpus-per-task": _amounts("gpus-per-task", tres.parse_gpus),
    "gres": _amounts("gres", tres.parse_gres),
    "help": _answered,
    "hold": _flag("hold"),
    "ignore-pbs": _flag("ignore_pbs"),
    "job-name": _text("job_name"),
    "kill-on-invalid-dep": _kill_if_never,
    "mail-type": _mail_type,
    "mail-user": _mail_user,
    "mem": _memory("mem_mb", "mem"),
    "mem-per-cpu": _memory("mem_per_cpu_mb", "mem-per-cpu"),
    "mem-per-gpu": _memory("mem_per_gpu_mb", "mem-per-gpu"),
    "nice": _nice,
    "no-requeue": _flag("requeue", on=False),
    "nodes": _nodes,
    "ntasks": _count("ntasks", "ntasks"),
    "ntasks-per-node": _count("ntasks_per_node", "ntasks-per-node"),
    "open-mode": _open_mode,
    "output": _text("output"),
    "parsable": _flag("parsable"),
    "partition": _partition,
    "priority": _priority,
    "quiet": _flag("quiet"),
    "requeue": _flag("requeue"),
    "signal": _signal,
    "time": _time,
    "usage": _answered,
    "verbose": _verbose,
    "version": _answered,
    "wait": _flag("wait"),
    "wrap": _text("wrap"),
}
