"""The value of each option of sbatch, read into a Request. A wrong one is refused in sbatch's words."""

from __future__ import annotations

import re
from datetime import datetime

from hpcbatch.dialects.slurm import binding_values, gpu_values, placement_values, readers, tres, values
from hpcbatch.dialects.slurm.array_spec import parse_array
from hpcbatch.dialects.slurm.begin import parse_begin, parse_deadline
from hpcbatch.dialects.slurm.dependency import parse_dependency
from hpcbatch.dialects.slurm.errors import SlurmAnswer, SlurmUsageError
from hpcbatch.dialects.slurm.readers import Reader, Reading, invalid
from hpcbatch.dialects.slurm.request import Features, Request
from hpcbatch.dialects.slurm.warn_signal import parse_warn_signal
from hpcbatch.errors import HpcBatchError, NotSupportedError
from hpcbatch.model.grouping import MOST_WAIT_S, Grouping
from hpcbatch.model.image import parse_image
from hpcbatch.model.outcome import Fate

NODE_TEXT = "sbatch: error: Batch job submission failed: Invalid node name specified"


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


def _exclusive(request: Request, value: str, _now: datetime) -> Reading | None:
    word = value.lower()
    if word == "oversubscribe":  # later releases' word for --oversubscribe
        return Reading(Fate.KEPT, "it only counts in partitions with OverSubscribe=YES")
    if word not in {"", "exclusive", "allocation", "user", "mcs", "topo"}:
        raise invalid("exclusive")
    request.exclusive = True
    if word in {"user", "mcs", "topo"}:
        return Reading(Fate.TRANSLATED, "no other job on the same nodes, not even of the same user")
    return None


def _export(request: Request, value: str, _now: datetime) -> None:
    try:
        values.split_export(value)
    except ValueError:
        raise invalid("export") from None
    request.export = value


def _get_user_env(request: Request, value: str, _now: datetime) -> None:
    """`[timeout][mode]`; what stands behind the mode's letter is not read. Source: arg_set_get_user_env()."""
    match = re.fullmatch(_USER_ENV, value)
    if match is None:
        raise invalid("get-user-env")
    request.login = (match[1] or "L") in "lL"


_USER_ENV = r"(?as)\s*[+-]?[0-9]*(?:([slSL]).*)?"


def _constraint(request: Request, value: str, _now: datetime) -> None:
    from hpcbatch.dialects.slurm.constraint import parse_constraint

    try:
        request.features = parse_constraint(value) if value else Features()
    except NotImplementedError as error:
        raise NotSupportedError(f"--constraint={value}: {error} is not supported yet") from None
    except ValueError:
        raise SlurmUsageError("sbatch: error: Batch job submission failed: Invalid feature specification") from None
    request.constraint = value


def _image(request: Request, value: str, _now: datetime) -> None:
    try:
        request.image = parse_image(value)
    except HpcBatchError as error:
        raise SlurmUsageError(f"sbatch: error: --container-image: {error}", 255) from None


def _shifter_image(request: Request, value: str, _now: datetime) -> None:
    """`[docker:]name:tag`, as shifter has it."""
    try:
        request.image = parse_image(value.removeprefix("docker:").removeprefix("//"))
    except HpcBatchError as error:
        raise SlurmUsageError(f"sbatch: error: --image: {error}", 255) from None


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
    nice = values.leading_number(value) if value else 100  # a text without one is 0
    if abs(nice) > values.MAX_NICE:
        text = f"sbatch: error: Invalid --nice value, out of range (+/- {values.MAX_NICE})"
        raise SlurmUsageError(text, 255)
    request.nice = nice


def _nodes(request: Request, value: str, _now: datetime) -> None:
    try:
        low, high = values.parse_nodes(value)
    except ValueError as error:
        raise SlurmUsageError(f'sbatch: error: "{error}" is not a valid node count', 255) from None
    if high and high < low:
        text = f"sbatch: error: Maximum node count {high} is less than minimum node count {low}"
        raise SlurmUsageError(text, 255)
    request.nodes = (max(low, 1), high or values.MAX_COUNT) if low or high else None


def _open_mode(request: Request, value: str, _now: datetime) -> None:
    if value[:1] not in {"a", "A", "t", "T"}:
        raise invalid("open-mode")
    request.append = value[0] in "aA"


def _partition(request: Request, value: str, _now: datetime) -> None:
    first, *others = value.split(",")
    request.partition = first
    request.other_partitions = tuple(dict.fromkeys(name for name in others if name not in {"", first}))


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


def _time_min(request: Request, value: str, _now: datetime) -> None:
    try:
        request.min_walltime_s = values.parse_time_s(value)
    except ValueError:
        raise invalid("time-min") from None


def _verbose(request: Request, _value: str, _now: datetime) -> None:
    request.verbose += 1


def _nodelist(request: Request, value: str, _now: datetime) -> None:
    request.host_files.pop("nodelist", None)
    request.host_files.pop("nodefile", None)
    request.hosts = ()
    if "/" in value:  # a file, as for --nodefile
        request.host_files["nodelist"] = value
    else:
        request.hosts = _hosts(value)


def _nodefile(request: Request, value: str, _now: datetime) -> None:
    request.hosts = ()
    request.host_files.pop("nodelist", None)
    request.host_files["nodefile"] = value


def _exclude(request: Request, value: str, _now: datetime) -> None:
    request.host_files.pop("exclude", None)
    if "/" in value:
        request.host_files["exclude"] = value
    else:
        request.excluded = _hosts(value)


def _hosts(value: str) -> tuple[str, ...]:
    try:
        return placement_values.parse_hosts(value) if value else ()
    except ValueError:
        raise SlurmUsageError(NODE_TEXT) from None


def _licenses(request: Request, value: str, _now: datetime) -> None:
    try:
        request.licenses = placement_values.parse_licenses(value)
        request.given["licenses"] = value
    except NotImplementedError:
        raise NotSupportedError(f"--licenses={value}: one of several licences is not supported yet") from None
    except ValueError:
        raise SlurmUsageError("sbatch: error: Batch job submission failed: Invalid license specification") from None


def _deadline(request: Request, value: str, now: datetime) -> None:
    request.deadline = parse_deadline(value, now)


def _input(request: Request, value: str, _now: datetime) -> None:
    request.stdin = "/dev/null" if value.lower() == "none" else value


def _propagate(request: Request, value: str, _now: datetime) -> None:
    try:
        request.limits = placement_values.parse_limits(value)
    except ValueError as error:
        text = f"sbatch: error: Bad rlimit name: {error}\nsbatch: error: --propagate={value} is not valid."
        raise SlurmUsageError(text) from None


def _bound(name: str) -> Reader:
    """A count that is also kept for the runner."""
    attribute = name.replace("-", "_")
    read_count = readers.count(attribute, name)

    def read(request: Request, value: str, now: datetime) -> None:
        read_count(request, value, now)
        request.bound[name] = str(getattr(request, attribute))

    return read


def _hint(request: Request, value: str, _now: datetime) -> None:
    for word in value.split(","):
        if word.lower() == "help":
            from hpcbatch.dialects.slurm.value_help import value_help

            raise SlurmAnswer(value_help("hint"))
        if word.lower() not in binding_values.HINTS:
            raise SlurmUsageError(f'sbatch: error: unrecognized --hint argument "{word}", see --hint=help')
    request.bound["hint"] = value


def _distribution(request: Request, value: str, _now: datetime) -> None:
    try:
        binding_values.check_distribution(value)
    except ValueError:
        plane = "sbatch: error: Invalid plane size or size not specified\n" if value.lower()[:5] == "plane" else ""
        raise SlurmUsageError(f"{plane}sbatch: error: Invalid --distribution specification", 255) from None
    request.bound["distribution"] = value


def _extra_node_info(request: Request, value: str, _now: datetime) -> None:
    try:
        found = binding_values.parse_extra_node_info(value)
    except ValueError as error:
        place, part = error.args
        raise SlurmUsageError(f'sbatch: error: Invalid numeric value "{part}" for {place} arg of -B.') from None
    request.sockets_per_node, request.cores_per_socket, request.threads_per_core = found
    request.bound["extra-node-info"] = value


def _overcommit(request: Request, _value: str, _now: datetime) -> None:
    request.overcommit = True
    request.bound["overcommit"] = "1"


def _no_kill(_request: Request, value: str, _now: datetime) -> Reading | None:
    if value.lower() not in {"", "set", "off", "no"}:
        raise invalid("no-kill")
    return Reading(Fate.HONOURED, "a job that loses a node ends") if value.lower() in {"off", "no"} else None


def _profile(_request: Request, value: str, _now: datetime) -> Reading | None:
    word = value.lower()
    if "none" in word:
        return Reading(Fate.HONOURED, "no profile is written")
    if not any(name in word for name in ("all", "energy", "task", "lustre", "network")):
        raise SlurmUsageError(f"sbatch: error: invalid --profile={value} option", 255)
    return None


def _acctg_freq(_request: Request, value: str, _now: datetime) -> None:
    """Source: validate_acctg_freq() of proc_args.c."""
    wrong = [part for part in value.split(",") if part and not re.match(_ACCTG_FREQ, part)]
    if wrong:
        lines = (f"sbatch: error: Invalid --acctg-freq specification: {part}" for part in wrong)
        raise SlurmUsageError("\n".join(lines), 255)


_ACCTG_FREQ = r"(?ai)(?:.*(?:energy|task|filesystem|network)=)?[0-9]"


def _wait_all_nodes(_request: Request, value: str, _now: datetime) -> None:
    if not re.fullmatch(r"[0-9]{0,18}", value, re.ASCII):
        raise SlurmUsageError(f'sbatch: error: Invalid numeric value "{value}" for --wait-all-nodes.')
    if int(value or 0) > 1:
        raise invalid("wait-all-nodes")


def _mem_bind(_request: Request, value: str, _now: datetime) -> Reading | None:
    if (wrong := binding_values.wrong_mem_bind(value)) is not None:
        raise SlurmUsageError(f'sbatch: error: unrecognized --mem-bind argument "{wrong}"', 255)
    return Reading(Fate.HONOURED, "memory is not bound to tasks") if value.lower() in {"no", "none"} else None


def _switches(request: Request, value: str, now: datetime) -> None:
    """`N[@time]`: N leaf switches at most, for which the job waits so long, five minutes where it does not say."""
    count, _, wait = value.partition("@")
    readers.number("switches", 1)(request, count, now)
    try:
        wait_s = values.parse_wait_s(wait) if wait else MOST_WAIT_S
    except ValueError:
        raise invalid("switches") from None
    wait_s = None if wait_s is None or wait_s > values.MAX_MINUTES * 60 else wait_s
    request.grouping = Grouping(groups=min(int(count), 10**6), wait_s=wait_s)


def _answered(_request: Request, _value: str, _now: datetime) -> None:
    """--help and the like: read_command_line has answered them."""


READERS: dict[str, Reader] = {
    "account": readers.text_of("account"),
    "acctg-freq": _acctg_freq,
    "array": _array,
    "begin": _begin,
    "chdir": readers.text_of("chdir"),
    "constraint": _constraint,
    "container-image": _image,
    "container-workdir": readers.text_of("container_workdir"),
    "core-spec": readers.number("core-spec", 0),
    "cores-per-socket": _bound("cores-per-socket"),
    "cpu-freq": readers.checked(binding_values.is_cpu_freq, "Invalid --cpu-freq argument"),
    "cpus-per-gpu": readers.count("cpus_per_gpu", "cpus-per-gpu"),
    "cpus-per-task": readers.count("cpus_per_task", "cpus-per-task"),
    "deadline": _deadline,
    "delay-boot": readers.checked(readers.is_time, "Invalid --delay-boot specification"),
    "dependency": _dependency,
    "distribution": _distribution,
    "strict": readers.flag("strict"),
    "dry-run": readers.flag("dry_run"),
    "error": readers.text_of("error"),
    "exclude": _exclude,
    "explain": readers.flag("explain"),
    "exclusive": _exclusive,
    "export": _export,
    "export-file": readers.text_of("export_file"),
    "extra-node-info": _extra_node_info,
    "get-user-env": _get_user_env,
    "gid": readers.root_only("gid"),
    "gpu-bind": gpu_values.gpu_bind,
    "gpu-freq": readers.checked(binding_values.is_gpu_freq, "Invalid --gpu-freq argument: gpu:{value}"),
    "gpus": readers.amounts("gpus", tres.parse_gpus),
    "gpus-per-node": readers.amounts("gpus-per-node", tres.parse_gpus),
    "gpus-per-socket": readers.amounts("gpus-per-socket", tres.parse_gpus),
    "gpus-per-task": readers.amounts("gpus-per-task", tres.parse_gpus),
    "gres": readers.amounts("gres", tres.parse_gres),
    "gres-flags": gpu_values.gres_flags,
    "help": _answered,
    "hint": _hint,
    "hold": readers.flag("hold"),
    "ignore-pbs": readers.flag("ignore_pbs"),
    "image": _shifter_image,
    "input": _input,
    "job-name": readers.text_of("job_name"),
    "kill-on-invalid-dep": _kill_if_never,
    "licenses": _licenses,
    "mail-type": _mail_type,
    "mail-user": _mail_user,
    "mem": readers.memory("mem_mb", "mem"),
    "mem-bind": _mem_bind,
    "mem-per-cpu": readers.memory("mem_per_cpu_mb", "mem-per-cpu"),
    "mem-per-gpu": readers.memory("mem_per_gpu_mb", "mem-per-gpu"),
    "mincpus": readers.count("mincpus", "mincpus"),
    "nice": _nice,
    "no-kill": _no_kill,
    "no-requeue": readers.flag("requeue", on=False),
    "nodefile": _nodefile,
    "nodelist": _nodelist,
    "nodes": _nodes,
    "ntasks": readers.count("ntasks", "ntasks"),
    "ntasks-per-core": _bound("ntasks-per-core"),
    "ntasks-per-gpu": gpu_values.ntasks_per_gpu("ntasks-per-gpu"),
    "ntasks-per-node": readers.count("ntasks_per_node", "ntasks-per-node"),
    "ntasks-per-socket": _bound("ntasks-per-socket"),
    "ntasks-per-tres": gpu_values.ntasks_per_gpu("ntasks-per-tres"),
    "open-mode": _open_mode,
    "output": readers.text_of("output"),
    "overcommit": _overcommit,
    "parsable": readers.flag("parsable"),
    "partition": _partition,
    "priority": _priority,
    "profile": _profile,
    "propagate": _propagate,
    "quiet": readers.flag("quiet"),
    "requeue": readers.flag("requeue"),
    "signal": _signal,
    "sockets-per-node": _bound("sockets-per-node"),
    "switches": _switches,
    "test-only": readers.flag("test_only"),
    "thread-spec": readers.number("thread-spec", 1),
    "threads-per-core": _bound("threads-per-core"),
    "time": _time,
    "time-min": _time_min,
    "tmp": readers.memory("tmp_mb", "tmp"),
    "tres-bind": gpu_values.tres_bind,
    "tres-per-task": gpu_values.tres_per_task,
    "uid": readers.root_only("uid"),
    "usage": _answered,
    "verbose": _verbose,
    "version": _answered,
    "wait": readers.flag("wait"),
    "wait-all-nodes": _wait_all_nodes,
    "wrap": readers.text_of("wrap"),
}
