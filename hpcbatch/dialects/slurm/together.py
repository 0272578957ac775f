"""Options of sbatch together: what excludes what, what follows from what, and files that an option names."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from hpcbatch.dialects.slurm.errors import SlurmUsageError
from hpcbatch.dialects.slurm.notebook import Notebook
from hpcbatch.dialects.slurm.placement_values import parse_hostfile
from hpcbatch.dialects.slurm.request import Place, Request
from hpcbatch.typed import TypeAlias

ReadFile: TypeAlias = Callable[[str | None], tuple[str | None, bytes]]
"""Reads the file of that name and returns its path and content. Raises OSError if it cannot."""

SIZE_OPTIONS = (
    "",  # a word that is no option
    "constraint",
    "cpus-per-gpu",
    "cpus-per-task",
    "gpus",
    "gpus-per-node",
    "gpus-per-socket",
    "gpus-per-task",
    "gres",
    "mem",
    "mem-per-cpu",
    "mem-per-gpu",
    "mincpus",
    "nodelist",
    "nodes",
    "ntasks",
    "ntasks-per-gpu",
    "ntasks-per-node",
    "ntasks-per-tres",
)
_MEMORY = {"mem": "mem_mb", "mem-per-cpu": "mem_per_cpu_mb", "mem-per-gpu": "mem_per_gpu_mb"}
_BESIDE_HINT = {
    "ntasks-per-core": "ntasks_per_core",
    "threads-per-core": "threads_per_core",
    "extra-node-info": "sockets_per_node",
}


def place_of(request: Request, names: Iterable[str]) -> Place | None:
    """Where the last of these options stands that the script gives; None where it gives none of them."""
    places = [request.places[name] for name in names if name in request.places]
    return max(
        (place for place in places if place.line is not None),
        key=lambda place: (place.line, place.column),
        default=None,
    )


def check_together(request: Request, book: Notebook) -> None:
    """Note options that exclude each other, in the order in which sbatch looks. A variable gives way to a given
    option.
    """
    for names, text in _conflicts(request):
        book.wrong(SlurmUsageError(text), place_of(request, names))
    _settle_memory(request, book)
    _settle_hint(request, book)


def _conflicts(request: Request) -> Iterable[tuple[tuple[str, ...], str]]:
    if request.ntasks_per_gpu is not None:
        for name in ("gpus-per-task", "gpus-per-socket", "ntasks-per-node"):
            is_given = name in request.given or (name == "ntasks-per-node" and request.ntasks_per_node is not None)
            if is_given:
                shown = f"SLURM_{name.upper().replace('-', '_')}" if name in request.from_environment else f"--{name}"
                yield (
                    (name, request.ntasks_per_gpu_by),
                    f"sbatch: fatal: {shown} is mutually exclusive with --ntasks-per-gpu and SLURM_NTASKS_PER_GPU",
                )
                break
    if {"core-spec", "thread-spec"} <= request.ignored.keys():
        text = "sbatch: fatal: -S/--core-spec and --thred-spec options are mutually exclusive"
        if {"core-spec", "thread-spec"} <= request.from_environment:
            text = (
                "sbatch: fatal: Both --core-spec and --thread-spec set using environment variables. "
                "Those options are mutually exclusive."
            )
        yield ("core-spec", "thread-spec"), text
    if request.cpus_per_gpu is not None and request.cpus_per_task is not None:
        text = "sbatch: fatal: --cpus-per-task and --cpus-per-gpu are mutually exclusive."
        yield ("cpus-per-task", "cpus-per-gpu"), text
    if request.quiet and request.verbose:
        yield ("verbose", "quiet"), "sbatch: error: don't specify both --verbose (-v) and --quiet (-Q)"
    if {"bb", "bbf"} <= request.ignored.keys():
        yield ("bb", "bbf"), "sbatch: error: Cannot specify both --burst-buffer and --bbf"
    if request.begin is not None and request.deadline is not None and request.deadline < request.begin:
        text = "sbatch: error: Incompatible begin and deadline time specification"
        yield ("begin", "deadline"), text
    if request.bound.get("distribution", "").lower() in {"arbitrary", "hostfile"} and not request.hosts:
        text = "With Arbitrary distribution you need to specify a nodelist or hostfile with the -w option"
        yield ("distribution",), f"sbatch: error: {text}"
    if request.partition == "":
        yield (
            ("partition",),
            "sbatch: error: invalid partition specified: (null)\n"
            "sbatch: error: Batch job submission failed: Invalid partition name specified",
        )


def _settle_memory(request: Request, book: Notebook) -> None:
    given = {name for name, attribute in _MEMORY.items() if getattr(request, attribute) is not None}
    variables = given & request.from_environment
    if len(given) > 1:
        if len(given - variables) != 1:
            names = (
                "SLURM_MEM_PER_CPU, SLURM_MEM_PER_GPU, and SLURM_MEM_PER_NODE"
                if variables
                else "--mem, --mem-per-cpu, and --mem-per-gpu"
            )
            text = f"sbatch: fatal: {names} are mutually exclusive."
            book.wrong(SlurmUsageError(text), place_of(request, given))
            return
        for name in variables:
            setattr(request, _MEMORY[name], None)


def _settle_hint(request: Request, book: Notebook) -> None:
    """--hint gives way to the options that say the same more exactly. Source: validate_hint_option(), verify_hint()."""
    if "hint" not in request.bound:
        return
    beside = request.bound.keys() & _BESIDE_HINT.keys()
    is_given = "hint" not in request.from_environment
    if beside - request.from_environment or (beside and not is_given):
        del request.bound["hint"]
        book.overrules("hint", f"it gives way to --{min(beside)}, as on the real system")
        return
    for name in beside:
        del request.bound[name]
        setattr(request, _BESIDE_HINT[name], None)
    words = {word.lower() for word in request.bound["hint"].split(",")}
    if "memory_bound" in words:
        request.cores_per_socket = 1
    if words & {"memory_bound", "compute_bound", "nomultithread"}:
        request.threads_per_core = 1


def settle_hosts(request: Request, reader: ReadFile | None, book: Notebook) -> None:
    """Read the files that name nodes. As many nodes are requested as --nodelist names, at least."""
    for option, name in request.host_files.items():
        place = request.places.get(option)
        try:
            if reader is None:
                raise FileNotFoundError(2, "No such file or directory")
            hosts = parse_hostfile(reader(name)[1])
        except OSError as error:
            text = f"slurm_allocate_resources error opening file {name}, {error.strerror}"
        except ValueError as error:
            text = f"Invalid hostfile {name} {error}" if str(error).startswith("contents") else str(error)
        else:
            if option == "exclude":
                request.excluded = hosts
            else:
                request.hosts = hosts
            continue
        more, code = ("\nsbatch: error: Invalid --nodefile node file", 255) if option == "nodefile" else ("", 1)
        book.wrong(SlurmUsageError(f"sbatch: error: {text}{more}", code), place)
    if not request.hosts:
        return
    if request.bound.get("distribution", "").lower() in {"arbitrary", "hostfile"} and request.ntasks is None:
        request.ntasks = len(request.hosts)
    request.hosts = tuple(dict.fromkeys(request.hosts))
    count = len(request.hosts)
    low, high = request.nodes or (count, count)
    if count > high:
        text = f"sbatch: error: invalid number of nodes (-N {max(low, count)}-{high})"
        book.wrong(SlurmUsageError(text), place_of(request, ("nodelist", "nodefile", "nodes")))
        return
    request.nodes = max(low, count), high
    if request.ntasks is not None and request.ntasks < request.nodes[0]:
        request.hosts = request.hosts[: request.ntasks]
