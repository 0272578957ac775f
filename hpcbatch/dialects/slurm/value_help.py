"""The answers to `--hint=help` and `--cpu-bind=help` of sbatch, salloc and srun on a login node. In a job srun gives
the same (runner/steps/srun_options.sh).
"""

from __future__ import annotations

from collections.abc import Mapping

from hpcbatch.typed import Final

HELP: Final[Mapping[str, str]] = {
    "hint": """\
Values of --hint, several with commas:
  compute_bound      all cores, one thread of each
  memory_bound       one core of each socket, one thread of it
  multithread        all threads of a core
  nomultithread      one thread of each core
  help               this""",
    "cpu-bind": """\
Values of --cpu-bind, several with commas:
  quiet, verbose     whether each task says what it is bound to
  none               tasks are not bound
  rank               task 0 to CPU 0, task 1 to CPU 1, and on
  map_cpu:LIST       to the CPUs of LIST, in turn
  mask_cpu:LIST      to the CPUs that are set in the masks of LIST, in turn
  threads            to threads
  cores              to cores
  sockets            to sockets
  help               this""",
}
