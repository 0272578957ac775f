"""seff: how much of a job's CPUs and memory it used. The forms are those of seff 2.1, which comes with Slurm 22.05."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hpcbatch.dialects.slurm.attributes import number
from hpcbatch.dialects.slurm.clock import full
from hpcbatch.dialects.slurm.errors import SlurmAnswer, SlurmUsageError
from hpcbatch.dialects.slurm.ids import parse_id
from hpcbatch.dialects.slurm.sacct_line import Line
from hpcbatch.dialects.slurm.states import LONG
from hpcbatch.model.named import NamedJob
from hpcbatch.typed import NamedTuple

HELP = """\
Usage: seff [Options] <Jobid>
       Options:
       -h    Help menu
       -v    Version
       -d    Debug mode: display raw Slurm data
"""
_VERSION = "seff Version 2.1\n"
_UNITS = "KMGTPE"


class SeffOptions(NamedTuple):
    job: NamedJob
    text: str
    """The job as it was written."""
    debug: bool = False


def read_options(argv: Sequence[str]) -> SeffOptions | tuple[str, str]:
    """Or what goes to standard output and to standard error; seff then ends with 1. Raises SlurmUsageError, and
    SlurmAnswer for --help, which the real one does not know.
    """
    if "--help" in argv:
        raise SlurmAnswer(HELP.rstrip("\n"))
    letters = [letter for word in argv if word.startswith("-") for letter in word[1:]]
    words = [word for word in argv if not word.startswith("-")]
    unknown = "".join(f"Unknown option: {letter}\n" for letter in letters if letter not in "hvd")
    if "v" in letters:
        return _VERSION, unknown
    if "h" in letters or len(words) != 1 or not words[0]:
        return HELP, unknown
    try:
        return SeffOptions(parse_id(words[0]), words[0], "d" in letters)
    except ValueError:
        raise SlurmUsageError(f"seff: fatal: Bad job/step specified: {words[0]}") from None


def not_found() -> SlurmUsageError:
    return SlurmUsageError("Job not found.", 2)


def format_efficiency(lines: Sequence[Line], group_name: Callable[[int], str], *, debug: bool = False) -> str:
    """Of a job: its line and those of its steps, as sacct has them. Raises SlurmUsageError for an array whose members
    wait together.
    """
    job, steps = lines[0], lines[1:]
    status, array_id = job.record.status, job.row.array_id
    if array_id is None and job.record.spec.array is not None:
        raise SlurmUsageError(f"Badly formatted array jobid {job.record.job_id} with task_id = -2", 3)
    cpus, nodes = max(job.cpus, 1), max(job.nodes, 1)
    cpu_s, used_kib, tasks = _used(steps)
    asked_kib = (job.row.mem_bytes or 0) // 1024
    per_cpu_mb = number(job.record.spec.attributes, "mem_per_cpu_mb")
    state, group = LONG[job.state], group_name(status.gid)
    member = "" if array_id is None else f"{array_id}_{job.row.array_index}"
    shown = []
    if debug:
        raw = [job.job_id_raw, member, job.row.user, group, state, job.record.spec.server, cpus, nodes, tasks]
        raw += [asked_kib, int(per_cpu_mb is None), cpu_s, job.elapsed_s, used_kib, job.exit_code]
        shown += [_RAW, f"Slurm data: {' '.join(map(str, raw))}", ""]
    shown += [f"Job ID: {job.job_id_raw}"]
    shown += [f"Array Job ID: {member}"] * bool(member)
    shown += [f"Cluster: {job.record.spec.server}", f"User/Group: {job.row.user}/{group}"]
    shown += [f"State: {state}" if state in {"PENDING", "RUNNING"} else f"State: {state} (exit code {job.exit_code})"]
    shown += ["Cores: 1"] if cpus == 1 else [f"Nodes: {nodes}", f"Cores per node: {cpus // nodes}"]
    if state == "PENDING":
        return _text([*shown, "Efficiency not available for jobs in the PENDING state."])
    core_s = job.elapsed_s * cpus
    about = "" if tasks == 1 else " (estimated maximum)"
    share = f"{_size(asked_kib / nodes)}/node" if per_cpu_mb is None else f"{_size(asked_kib / cpus)}/core"
    shown += [
        f"CPU Utilized: {full(cpu_s)}",
        f"CPU Efficiency: {_percent(cpu_s, core_s)} of {full(core_s)} core-walltime",
        f"Job Wall-clock time: {full(job.elapsed_s)}",
        f"Memory Utilized: {_size(used_kib)}{about}",
        f"Memory Efficiency: {_percent(used_kib, asked_kib)} of {_size(asked_kib)}" + (f" ({share})" if about else ""),
    ]
    if state == "RUNNING":
        shown.append("WARNING: Efficiency statistics may be misleading for RUNNING jobs.")
    return _text(shown)


_RAW = (
    "Slurm data: JobID ArrayJobID User Group State Clustername Ncpus Nnodes Ntasks Reqmem PerNode Cput Walltime Mem "
    "ExitStatus"
)


def _text(lines: Sequence[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _used(steps: Sequence[Line]) -> tuple[int, int, int]:
    """CPU seconds of all steps; KiB and tasks of the step with the largest task, taken as that of each of its tasks."""
    largest_kib, tasks = 0, 0
    for step in steps:
        kib = max((size for _, size in step.rss_bytes), default=0) // 1024
        if kib > largest_kib:
            largest_kib, tasks = kib, step.tasks or 1
    return sum(step.cpu_s or 0 for step in steps), largest_kib * tasks, tasks


def _percent(part: float, whole: float) -> str:
    return f"{part / whole * 100 if whole else 0:.2f}%"


def _size(kib: float) -> str:
    if not kib:
        return "0.00 MB"
    power = 0
    while kib >= 1024 and power < len(_UNITS) - 1:
        kib, power = kib / 1024, power + 1
    return f"{kib:.2f} {_UNITS[power]}B"
