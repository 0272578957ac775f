"""Real scripts: each is read whole, but for those that the real sbatch refuses, which are refused at the same place."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from hpcbatch.dialects.slurm.errors import SlurmUsageError
from hpcbatch.dialects.slurm.submit import read_submission
from hpcbatch.errors import DirectiveError, ObstaclesError
from hpcbatch.model.outcome import Fate, Outcome

SCRIPTS = Path(__file__).parents[5] / "shared" / "corpus" / "slurm"
FILES = sorted(SCRIPTS.iterdir()) if SCRIPTS.is_dir() else []
DOS = "Batch script contains DOS line breaks"
NO_SCRIPT = "This does not look like a batch script"
DIRECTIVE = re.compile(rb"\s*#(SBATCH[ \t]+[^\s#]|MSUB)")
REFUSED: dict[str, dict[int, str]] = {
    "Ersebreck__Sinfonia__Lcpu.sh": {0: DOS},
    "IMMM-SFA__wrf_historical__run_wrf.sl": {10: "Invalid directive found in batch script: id>"},
    "OzAmram__CaloDiffusion__diffu_train.sh": {7: "Invalid --mem specification"},
    "Shyamyohaan96__Advanced-ML__shyam_hw1.sbatch": {0: DOS},
    "alan-turing-institute__AI-workflows__batch_template.sh": {  # a template, with %words% to be filled in
        14: "is not a valid node count",
        17: "Invalid --time specification",
        23: "Invalid generic resource (gres) specification",
    },
    "conrod-lab__neuroventure__run_all_heudiconv_single.sh": {0: NO_SCRIPT},
    "jonathanking__protein-transformer__191211.sh": {11: "Invalid --time specification"},
    "jong980812__Slurm_MultiNode_DDP__original.sh": {  # --time has the next line for its value
        3: "Invalid --time specification",
        5: "option '--mem-per-gpu' requires an argument",
    },
    "liguodongiot__llm-action__llama-multinode-ib.sh": {0: NO_SCRIPT},
    "paviudes__chflow__16_07_2020_18_17_36.sh": {0: DOS},
    "zxhuang97__planet__dual2.sh": {11: "Invalid --time specification"},
}
"""What a real sbatch refuses too: by line, 0 for the script as a whole. All others are read."""


def problems(path: Path, outcomes: list[Outcome]) -> list[DirectiveError]:
    try:
        read_submission(
            [path.name],
            script=lambda name: (f"/scripts/{name}", path.read_bytes()),
            environ={},
            cwd="/scripts",
            host="login",
            user="u",
            server="cluster",
            now=datetime(2026, 11, 21, tzinfo=UTC),
            umask=0o22,
            outcomes=outcomes,
        )
    except ObstaclesError as error:
        return [problem for problem in error.problems if isinstance(problem, DirectiveError)]
    except DirectiveError as error:
        return [error]
    return []


@pytest.mark.skipif(not FILES, reason=f"no corpus of real scripts at {SCRIPTS}")
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_script_is_read_or_refused_where_sbatch_refuses_it(path: Path) -> None:
    outcomes: list[Outcome] = []
    found = problems(path, outcomes)
    assert [error.line or 0 for error in found] == list(REFUSED.get(path.name, {}))
    for error, text in zip(found, REFUSED.get(path.name, {}).values(), strict=True):
        assert isinstance(error, SlurmUsageError)
        assert text in error.text
        if error.line is not None:
            line = path.read_bytes().split(b"\n")[error.line - 1].decode("utf-8", "surrogateescape")
            assert error.path == path.name
            assert line.startswith("#SBATCH")
            assert 1 <= (error.column or 0) <= len(line)
    refused = [outcome for outcome in outcomes if outcome.fate is Fate.REFUSED]
    assert [outcome.line for outcome in refused] == [error.line for error in found if error.line]
    if not found:
        lines = path.read_bytes().split(b"\n")
        every = {number for number, line in enumerate(lines, start=1) if DIRECTIVE.match(line)}
        assert {outcome.line for outcome in outcomes} >= every


@pytest.mark.skipif(not FILES, reason=f"no corpus of real scripts at {SCRIPTS}")
def test_the_list_of_refused_scripts_is_right() -> None:
    assert REFUSED.keys() <= {path.name for path in FILES}
