"""What a launch has come to, in the words of docs/mpi.md."""

from __future__ import annotations

import re
from collections.abc import Sequence

COLOUR = "deep blue"
THREADS = "2"

_RANK = re.compile(r"rank (\d+) of (\d+) on job-\d+-(\S+) stack=(\S+) omp=(\S+) colour=(.*) sum=(\d+)$", re.MULTILINE)


def exit_outcome(code: int) -> str:
    """Of a launch one of whose ranks fails."""
    return "hangs" if code in (124, 137) else str(code)


def outcome(text: str, code: int, hosts: Sequence[tuple[str, int]]) -> str:
    """Of a launch that should make one world, with as many ranks on each of `hosts` as is said there, in blocks."""
    if code == 127:
        return "no such command"
    if code:
        return f"code {code}"
    ranks = _RANK.findall(text)
    lost = [
        name
        for name, values, wanted in (
            ("stack", {rank[3] for rank in ranks}, {"unlimited"}),
            ("OMP_NUM_THREADS", {rank[4] for rank in ranks}, {THREADS}),
            ("environment", {rank[5] for rank in ranks}, {COLOUR}),
        )
        if values != wanted
    ]
    if lost:
        return f"without {', '.join(lost)}"
    placed = sorted((int(number), host) for number, _, host, *_ in ranks)
    sizes = {int(size) for _, size, *_ in ranks}
    block = [host for host, count in hosts for _ in range(count)]
    if sizes == {1}:
        elsewhere = "" if sorted(host for _, host in placed) == sorted(block) else ", elsewhere"
        return f"{len(placed)} × 1{elsewhere}"
    size = len(ranks)
    if sizes != {size} or [number for number, _ in placed] != list(range(size)):
        return f"{size} lines of worlds of {sorted(sizes)}"
    if {int(rank[6]) for rank in ranks} != {size * (size - 1) // 2}:
        return "wrong sums"
    found = [host for _, host in placed]
    if found == block:
        return "yes"
    if found == block[:size]:
        return f"the first {size}"
    names = [host for host, _ in hosts]
    if found == [names[rank % len(names)] for rank in range(size)]:
        return "in turn" if sorted(found) == sorted(block) else "in turn, other numbers"
    return " ".join(found)
