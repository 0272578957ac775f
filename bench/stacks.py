"""`python -m bench.stacks FILE [PERCENT]`: a flame graph as text, of what `py-spy record -f raw -o FILE` has written.

Each function stands below the one that called it, with its share of all samples, if that is at least PERCENT (2). A
caller that does next to nothing itself is left out.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

_LEAST_PERCENT = 2.0
_NEXT_TO_ALL = 0.97


class Frame:
    """A function where it was called by the same ones."""

    def __init__(self) -> None:
        self.samples = 0
        self.below: defaultdict[str, Frame] = defaultdict(Frame)


def read(lines: Iterable[str]) -> Frame:
    """Each line is `caller (file:line);callee (file:line) samples`."""
    root = Frame()
    for line in lines:
        names, _, count = line.rstrip().rpartition(" ")
        frame = root
        frame.samples += int(count)
        for name in names.split(";"):
            if not name.startswith(("thread (", "process ")):
                frame = frame.below[f"{name.partition(':')[0]})" if ":" in name else name]
                frame.samples += int(count)
    return root


def shown(frame: Frame, total: int, least_percent: float, depth: int = 0) -> Iterator[str]:
    for name, below in sorted(frame.below.items(), key=lambda item: -item[1].samples):
        percent = 100 * below.samples / total
        if percent < least_percent:
            return
        main = max((each.samples for each in below.below.values()), default=0)
        is_shown = main < _NEXT_TO_ALL * below.samples
        if is_shown:
            yield f"{percent:5.1f} % {'  ' * depth}{name}"
        yield from shown(below, total, least_percent, depth + is_shown)


def main(file: str, least_percent: str = str(_LEAST_PERCENT)) -> None:
    with Path(file).open() as lines:
        root = read(lines)
    print(f"{root.samples} samples")
    for line in shown(root, root.samples, float(least_percent)):
        print(line)


if __name__ == "__main__":
    main(*sys.argv[1:])
