"""The value of each option of sbatch, read into a Request. A wrong one is refused in sbatch's words."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime

from hpcbatch.dialects.slurm import tres, values
from hpcbatch.dialects.slurm.array_spec import parse_array
from hpcbatch.dialects.slurm.begin import parse_begin
from hpcbatch.dialects.slurm.dependency import parse_dependency
from hpcbatch.dialects.slurm.errors import SlurmUsageError
from hpcbatch.dialects.slurm.request import Request
from hpcbatch.dialects.slurm.tres import Amounts
from hpcbatch.dialects.slurm.warn_signal import parse_warn_signal
from hpcbatch.errors import HpcBatchError, NotSupportedError
from hpcbatch.model.image import parse_image

Reader = Callable[[Request, str, datetime], None]
"""Reads a value into the Request; the time is that of the submission."""


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


READERS: dict[str, Reader] = {
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
    "explain": _flag("explain"),
    "strict": _flag("strict"),
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
