"""How long `hpcbatch site survey` takes for generated scripts: `python -m bench.survey [SCRIPTS]` (default: 3000)."""

from __future__ import annotations

import random
import sys
import tempfile
import time
from pathlib import Path

from click.testing import CliRunner

from hpcbatch.cli.common import Session
from hpcbatch.cli.site_survey import survey

_SLURM = (
    "-N {n} --ntasks-per-node={m}",
    "--mem={m}G",
    "-p {queue}",
    "-t {m}:00:00",
    "-J job{n}",
    "-o out.%j -e err.%j",
    "--gres=gpu:{n}",
    "-C {feature}",
    "--array=0-{m}%{n}",
    "-A abc{n}",
    "--mail-type=END --mail-user=anna@example.org",
)
_PBS = (
    "-l select={n}:ncpus={m}:mem={m}gb",
    "-l walltime={m}:00:00",
    "-q {queue}",
    "-N job{n}",
    "-j oe -o out.log",
    "-A abc{n}",
    "-m abe -M anna@example.org",
    "-V",
    "-J 0-{m}",
)
_QUEUES = ("batch", "normal", "long", "gpu", "debug", "regular", "bigmem")


def main(number: int) -> None:
    chance = random.Random(1)
    with tempfile.TemporaryDirectory() as name:
        for index in range(number):
            directory = Path(name, str(index % 100))
            directory.mkdir(exist_ok=True)
            (directory / f"job{index}.sh").write_text(_script(chance))
        started = time.process_time()
        result = CliRunner().invoke(survey, [name], obj=Session({}), catch_exceptions=False)
        took_s = time.process_time() - started
    print("\n".join(result.stdout.splitlines()[:6]))
    print(f"{number} scripts in {took_s:.1f} s of CPU: {1000 * took_s / number:.2f} ms each")


def _script(chance: random.Random) -> str:
    word, table = chance.choice((("#SBATCH", _SLURM), ("#PBS", _PBS)))
    given = {
        "n": chance.randint(1, 8),
        "m": chance.randint(9, 40),
        "queue": chance.choice(_QUEUES),
        "feature": "haswell",
    }
    options = chance.sample(table, chance.randint(3, 8))
    lines = ["#!/bin/bash", *(f"{word} {option.format(**given)}" for option in options)]
    lines += [
        "module load gcc/12 openmpi",
        "cd /scratch/run",
        *(f"echo step {step}" for step in range(60)),
        "srun ./a.out",
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3000)
