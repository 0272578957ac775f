"""What real systems answered, as it is kept in a file; and how the planner's answers differ."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

from bench.puzzles.planned import LATE_S, planned
from bench.puzzles.puzzles import Puzzle, PuzzleJob


class Answer(NamedTuple):
    puzzle: Puzzle
    times: Sequence[tuple[float, float]]
    """By job: start and end, in seconds from the first start."""


def write(file: Path, version: str, answers: Sequence[Answer]) -> None:
    lines = [json.dumps({**asdict(puzzle), "times": list(times)}) for puzzle, times in answers]
    file.write_text(f'{{"system": {json.dumps(version)}, "puzzles": [\n' + ",\n".join(lines) + "\n]}\n")


def read(file: Path) -> tuple[str, list[Answer]]:
    found = json.loads(file.read_text())
    answers = []
    for one in found["puzzles"]:
        jobs = tuple(PuzzleJob(**job) for job in one["jobs"])
        puzzle = Puzzle(name=one["name"], jobs=jobs, max_running=one["max_running"])
        answers.append(Answer(puzzle, [(start, end) for start, end in one["times"]]))
    return found["system"], answers


def differences(answer: Answer, *, depth: int | None) -> Iterator[tuple[int, float, float]]:
    """The jobs that the planner starts at another time: number, the real system's start, ours."""
    ours = planned(answer.puzzle, answer.times, depth=depth)
    for number, ((real_s, _), ours_s) in enumerate(zip(answer.times, ours, strict=True)):
        if abs(real_s - ours_s) > LATE_S:
            yield number, real_s, ours_s
