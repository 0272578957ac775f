"""What -v adds: the options as the command has understood them. Layouts: recorded from Slurm."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hpcbatch.dialects.slurm.clock import full
from hpcbatch.dialects.slurm.getopt import Given, Parser, Takes
from hpcbatch.dialects.slurm.memory import size
from hpcbatch.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from hpcbatch.dialects.slurm.request import Request

_RULE = "-" * 29
_SIDES = f"{'-' * 20} {'-' * 20}"


def level(given: Sequence[Given]) -> int:
    """How often -v was given."""
    return sum(each.option.name == "verbose" for each in given)


def all_options(parser: Parser, given: Sequence[Given]) -> str:
    """sinfo, squeue: every option between two lines, with its value where it was given."""
    values = {each.option.name: each.value for each in given}
    lines = []
    for option in sorted(parser.options, key=lambda option: option.name):
        if option.name == "verbose":
            value = str(level(given))
        elif option.takes is Takes.NOTHING:
            value = "true" if option.name in values else "false"
        else:
            value = values.get(option.name) or "(null)"
        lines.append(f"{option.name:<11} = {value}")
    return "\n".join((_RULE, *lines, _RULE)) + "\n"


def options_in_force(command: str, request: Request) -> Iterator[str]:
    """sbatch: the options that count, wherever they were given, one a line, each once."""
    values = {name: "set" if text is None else text for name, text in request.texts.items()} | _as_understood(request)
    lines = [f"{name:<20}: {values[name]}" for name in sorted(values)]
    return (f"{command}: {line}" for line in ("defined options", _SIDES, *lines, _SIDES, "end of defined options"))


def _as_understood(request: Request) -> dict[str, str]:
    found = {"verbose": str(request.verbose)} if request.verbose else {}
    if request.walltime_s is not None and "time" in request.texts:
        found["time"] = full(request.walltime_s)
    if request.nodes is not None and "nodes" in request.texts:
        low, high = request.nodes
        found["nodes"] = f"{low}" if low == high else f"{low}-{high}"
    sizes = {"mem": request.mem_mb, "mem-per-cpu": request.mem_per_cpu_mb, "mem-per-gpu": request.mem_per_gpu_mb}
    return found | {name: size(mib) for name, mib in sizes.items() if mib is not None and name in request.texts}
