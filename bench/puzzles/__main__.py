"""`python -m bench.puzzles slurm|pbs FILE`: puts the puzzles to a real system on this machine and writes its answers.

`python -m bench.puzzles compare FILE [DEPTH]` shows where the planner decides otherwise.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from bench.puzzles.answers import Answer, differences, read, write
from bench.puzzles.puzzles import puzzles


def record(system: str, file: Path) -> None:
    if system == "slurm":
        from bench.puzzles.slurm import slurm

        with tempfile.TemporaryDirectory(prefix="puzzles-") as folder, slurm(Path(folder), at_once=4) as real:
            answers = [Answer(puzzle, times) for puzzle, times in real.solve(puzzles())]
            version = real.version()
    else:
        from bench.puzzles.pbs import Pbs

        pbs = Pbs(Path(os.environ.get("PBS_HOME", "/var/spool/pbs")))
        pbs.prepare()
        answers = [Answer(puzzle, times) for puzzle, times in pbs.solve(puzzles())]
        version = pbs.version()
    write(file, version, answers)


def compare(file: Path, depth: int | None) -> None:
    version, answers = read(file)
    for answer in answers:
        print(f"{version} {answer.puzzle.name}")
        for number, real_s, ours_s in differences(answer, depth=depth):
            print(f"  job {number}: {real_s:.0f} s, here {ours_s:.0f} s: {answer.puzzle.jobs[number]}")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["compare", name, *words]:
            compare(Path(name), int(words[0]) if words else None)
        case [("slurm" | "pbs") as system, name]:
            record(system, Path(name))
        case _:
            sys.exit(__doc__)
