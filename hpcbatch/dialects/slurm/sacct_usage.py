"""sacct's fields that tell what a step has used. Source: sacct 22.05.8, print.c."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from hpcbatch.dialects.slurm.clock import full
from hpcbatch.dialects.slurm.sacct_line import MIB, Figure, Line, TaskUsage, Value, View


def of_step(value: Value) -> Value:
    """Of a step; empty for the job."""
    return lambda line, view: value(line, view) if line.is_step else ""


def _most(pairs: tuple[tuple[str, int], ...]) -> tuple[str, int] | None:
    return max(pairs, key=lambda pair: pair[1]) if pairs else None


def _least(pairs: tuple[tuple[str, int], ...]) -> tuple[str, int] | None:
    return min(pairs, key=lambda pair: pair[1]) if pairs else None


def _place(pairs: tuple[tuple[str, int], ...], chosen: tuple[str, int] | None) -> str:
    """The number of a task: each host of a step has one."""
    return "" if chosen is None else str(pairs.index(chosen))


def max_rss(line: Line, view: View) -> str:
    most = _most(line.rss_bytes)
    return "" if most is None else view.size(most[1])


def max_rss_node(line: Line, _view: View) -> str:
    most = _most(line.rss_bytes)
    return "" if most is None else most[0]


def max_rss_task(line: Line, _view: View) -> str:
    return _place(line.rss_bytes, _most(line.rss_bytes)) if line.rss_task is None else str(line.rss_task)


def ave_rss(line: Line, view: View) -> str:
    if line.by_task is not None and line.by_task.rss_total is not None:
        return view.size(line.by_task.rss_total // (line.tasks or 1))
    if line.rss_task is not None and line.tasks != 1:
        return ""
    sizes = [size for _, size in line.rss_bytes]
    return view.size(sum(sizes) // len(sizes)) if sizes else ""


def _least_cpu(line: Line) -> Figure | None:
    if line.by_task is not None and line.by_task.least_cpu is not None:
        return line.by_task.least_cpu
    least = _least(line.cpu_by_host)
    return None if least is None else Figure(0, least[1], least[0], line.cpu_by_host.index(least))


def min_cpu(line: Line, _view: View) -> str:
    least = _least_cpu(line)
    return "" if least is None else full(least.most)


def min_cpu_node(line: Line, _view: View) -> str:
    least = _least_cpu(line)
    return "" if least is None else least.node


def min_cpu_task(line: Line, _view: View) -> str:
    return _task(_least_cpu(line))


def ave_cpu(line: Line, _view: View) -> str:
    seconds = [used for _, used in line.cpu_by_host]
    if not seconds and line.cpu_s is not None and line.tasks:
        return full(line.cpu_s // line.tasks)
    return full(sum(seconds) // len(seconds)) if seconds else ""


Pick = Callable[[TaskUsage], Figure | None]


def _figure(line: Line, pick: Pick) -> Figure | None:
    return None if line.by_task is None else pick(line.by_task)


def _task(figure: Figure | None) -> str:
    return "" if figure is None or figure.task is None else str(figure.task)


def node_of(pick: Pick) -> Value:
    return of_step(lambda line, _: "" if (found := _figure(line, pick)) is None else found.node)


def task_of(pick: Pick) -> Value:
    return of_step(lambda line, _: _task(_figure(line, pick)))


def most_of(line: Line, pick: Pick) -> int | None:
    return None if (found := _figure(line, pick)) is None else found.most


def average_of(line: Line, pick: Pick) -> int | None:
    return None if (found := _figure(line, pick)) is None else found.total // (line.tasks or 1)


def size_of(amount: Callable[[Line, Pick], int | None], pick: Pick) -> Value:
    return of_step(lambda line, view: "" if (found := amount(line, pick)) is None else view.size(found))


def disk(amount: Callable[[Line, Pick], int | None], pick: Pick) -> Value:
    """In megabytes. Source: _print_small_double() of sacct."""

    def value(line: Line, view: View) -> str:
        found = amount(line, pick)
        if found is None:
            return ""
        megabytes = found / MIB
        return view.size(megabytes, 2) if megabytes > 1 else f"{megabytes:.2f}M" if found else "0"

    return of_step(value)


def vm_of(usage: TaskUsage) -> Figure | None:
    return usage.vm


def read_of(usage: TaskUsage) -> Figure | None:
    return usage.read


def written_by(usage: TaskUsage) -> Figure | None:
    return usage.written


def _mean(numbers: list[int]) -> int:
    return sum(numbers) // len(numbers)


_PICK: Mapping[str, Callable[[list[int]], int]] = {"Ave": _mean, "Max": max, "Min": min, "Tot": sum}


def _parts(line: Line, statistic: str) -> dict[str, Figure]:
    """`cpu`, `fs/disk`, `mem`, `vmem` of a step, as far as known. `statistic`: Ave, Max, Min or Tot; `most` of each is
    that amount.
    """
    if line.by_task is None or line.by_task.cpu is None:
        known = {"cpu": line.cpu_by_host, "mem": line.rss_bytes}
        if statistic != "Max" and line.rss_task is not None and line.tasks != 1:
            del known["mem"]  # the largest task's is all that is known
        pick = _PICK[statistic]
        found: dict[str, Figure] = {}
        for name, pairs in known.items():
            if pairs:
                amount = pick([one for _, one in pairs])
                chosen = next(((node, at) for at, (node, one) in enumerate(pairs) if one == amount), ("", 0))
                task = line.rss_task if name == "mem" and line.rss_task is not None else chosen[1]
                found[name] = Figure(amount, amount, chosen[0], task)
        return found
    usage, tasks = line.by_task, line.tasks or 1
    largest = line.rss_bytes[0] if line.rss_bytes else ("", 0)
    mem = Figure(usage.rss_total or 0, largest[1], largest[0], line.rss_task)
    figures = {"cpu": usage.cpu, "fs/disk": usage.read, "mem": mem, "vmem": usage.vm}
    if statistic == "Min":
        return {} if usage.least_cpu is None else {"cpu": usage.least_cpu}
    shown = {name: figure for name, figure in figures.items() if figure is not None}
    if statistic == "Max":
        return shown
    divisor = tasks if statistic == "Ave" else 1
    return {name: figure._replace(most=figure.total // divisor) for name, figure in shown.items()}


def tres_in(statistic: str) -> Value:
    def text(name: str, figure: Figure, view: View) -> str:
        return full(figure.most) if name == "cpu" else view.size(figure.most)

    return of_step(
        lambda line, view: ",".join(f"{name}={text(name, one, view)}" for name, one in _parts(line, statistic).items())
    )


def tres_place(statistic: str, *, is_node: bool) -> Value:
    return of_step(
        lambda line, _: ",".join(
            f"{name}={one.node if is_node else _task(one)}" for name, one in _parts(line, statistic).items()
        )
    )


def tres_out(text: Value) -> Value:
    """What was written is all that is known."""
    return lambda line, view: f"fs/disk={found}" if (found := text(line, view)) else ""


def total_of(line: Line, pick: Pick) -> int | None:
    return None if (found := _figure(line, pick)) is None else found.total
