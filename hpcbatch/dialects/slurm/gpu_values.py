"""Options of sbatch about GPUs and other generic resources, read into a Request."""

from __future__ import annotations

from datetime import datetime

from hpcbatch.dialects.slurm import binding_values, readers, tres
from hpcbatch.dialects.slurm.errors import SlurmUsageError
from hpcbatch.dialects.slurm.readers import Reader, Reading, invalid
from hpcbatch.dialects.slurm.request import Request
from hpcbatch.errors import NotSupportedError
from hpcbatch.model.outcome import Fate


def ntasks_per_gpu(name: str) -> Reader:
    read_count = readers.count("ntasks_per_gpu", name)

    def read(request: Request, value: str, now: datetime) -> None:
        before = request.ntasks_per_gpu
        read_count(request, value, now)
        if request.ntasks_per_gpu_by not in {"", name} and before != request.ntasks_per_gpu:
            one, other = (
                (request.ntasks_per_gpu, before) if name == "ntasks-per-gpu" else (before, request.ntasks_per_gpu)
            )
            raise SlurmUsageError(
                f"sbatch: fatal: Inconsistent values set to --ntasks-per-gpu={one} and --ntasks-per-tres={other} "
            )
        request.ntasks_per_gpu_by = name
        request.bound["ntasks-per-gpu"] = str(request.ntasks_per_gpu)

    return read


def gres_flags(_request: Request, value: str, _now: datetime) -> Reading | None:
    words = value.lower().split(",")
    if words == ["disable-binding"]:
        return Reading(Fate.HONOURED, "GPUs are chosen whatever CPUs the job has")
    if not all(word in _GRES_FLAGS for word in words):
        raise invalid("gres-flags")
    return None


# the last two came with later releases
_GRES_FLAGS = ("disable-binding", "enforce-binding", "multiple-tasks-per-sharing", "one-task-per-sharing")
gpus_per_task = readers.amounts("gpus-per-task", tres.parse_gpus)


def tres_per_task(request: Request, value: str, now: datetime) -> None:
    """`cpu=4,gres/gpu:a100=1` or with colons, which came after 22.05."""
    try:
        cpus, amounts = tres.parse_tres_per_task(value)
    except NotImplementedError as error:
        raise NotSupportedError(f"--tres-per-task={value}: {error} is not supported yet") from None
    except ValueError:
        raise SlurmUsageError("sbatch: error: Invalid TRES for --tres-per-task", 255) from None
    request.cpus_per_task = cpus or request.cpus_per_task
    if amounts:
        gpus = (f"{name[4:]}:{count}" if ":" in name else str(count) for name, count in amounts.items())
        gpus_per_task(request, ",".join(gpus), now)


def gpu_bind(request: Request, value: str, _now: datetime) -> Reading | None:
    if not binding_values.is_gpu_bind(value):
        raise SlurmUsageError(f"sbatch: error: Invalid --gpu-bind argument: gpu:{value}", 255)
    word = value.lower().removeprefix("verbose,")
    if word.startswith("c"):
        return Reading(Fate.IGNORED, "what is near a GPU is not known here; tasks see all of the job's")
    request.bound["gpu-bind"] = word if word.startswith(("map", "mask", "per", "single")) else "none"
    return Reading(Fate.HONOURED, "tasks see all of the job's GPUs on their node") if word.startswith("n") else None


def tres_bind(request: Request, value: str, now: datetime) -> Reading | None:
    """`gres/gpu:single:1`, which came after 22.05."""
    kind, colon, how = value.partition(":")
    if kind not in {"gres/gpu", "gpu"} or not colon:
        return Reading(Fate.IGNORED, "tasks are bound to GPUs, and to no other generic resources")
    return gpu_bind(request, how, now)
