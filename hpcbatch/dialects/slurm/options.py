"""The one table of sbatch's options: names, values, environment names, and what we do with each.

The names are those of sbatch 22.05.8, read from what it answers to every prefix; the retired ones are still in use.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from hpcbatch.dialects.slurm.getopt import Option, Parser, Takes


class Support(Enum):
    """What we do with an option that sbatch knows."""

    HONOURED = "honoured"
    KEPT = "kept"  # changes nothing here; kept for display
    REFUSED = "refused"  # NotSupportedError


@dataclass(frozen=True, slots=True, kw_only=True)
class SbatchOption(Option):
    support: Support = Support.REFUSED
    environment: tuple[str, ...] = ()
    """Input variables that stand for it, in the order in which they are looked at."""


_TAKES = {"": Takes.NOTHING, "=": Takes.VALUE, "?": Takes.OPTIONAL}


def _options(support: Support, table: Iterable[str]) -> list[SbatchOption]:
    """Rows are `name[=|?] [-short] [alias …] [+exact …] [VARIABLE …]`."""
    options = []
    for row in table:
        first, *rest = row.split()
        name = first.rstrip("=?")
        short = "".join(word[1:] for word in rest if word.startswith("-"))
        exact = tuple(word[1:] for word in rest if word.startswith("+"))
        aliases = tuple(word for word in rest if word[0].islower())
        variables = tuple(word for word in rest if word[0].isupper())
        options.append(
            SbatchOption(
                name=name,
                short=short,
                takes=_TAKES[first[len(name) :]],
                aliases=aliases,
                exact=exact,
                support=support,
                environment=variables,
            )
        )
    return options


OPTIONS: tuple[SbatchOption, ...] = (
    *_options(
        Support.HONOURED,
        (
            "account= -A SBATCH_ACCOUNT",
            "array= -a SBATCH_ARRAY_INX",
            "begin= -b",
            "chdir= -D +workdir",  # --workdir until 17.11; 172 scripts in 24 000 still have it
            "constraint= -C SBATCH_CONSTRAINT",
            "container-image=",  # of the plugin pyxis
            "cpus-per-gpu= SBATCH_CPUS_PER_GPU",
            "cpus-per-task= -c",
            "dependency= -d",
            "dry-run +dry-run",  # ours
            "error= -e SBATCH_ERROR",
            "exclusive? SBATCH_EXCLUSIVE",
            "explain +explain",  # ours
            "export= SBATCH_EXPORT",
            "get-user-env? SBATCH_GET_USER_ENV",
            "gpus= -G SBATCH_GPUS",
            "gpus-per-node= SBATCH_GPUS_PER_NODE",
            "gpus-per-task= SBATCH_GPUS_PER_TASK",
            "gres= SBATCH_GRES",
            "help -h",
            "hold -H",
            "ignore-pbs SBATCH_IGNORE_PBS",
            "job-name= -J SBATCH_JOB_NAME",
            "kill-on-invalid-dep=",
            "mail-type=",
            "mail-user=",
            "mem= SBATCH_MEM_PER_NODE",
            "mem-per-cpu= SBATCH_MEM_PER_CPU",
            "mem-per-gpu= SBATCH_MEM_PER_GPU",
            "nice?",
            "no-requeue SBATCH_NO_REQUEUE",
            "nodes= -N",
            "ntasks= -n",
            "ntasks-per-node= tasks-per-node",
            "open-mode= SBATCH_OPEN_MODE",
            "output= -o SBATCH_OUTPUT",
            "parsable",
            "partition= -p SBATCH_PARTITION",
            "priority=",
            "quiet -Q",
            "requeue SBATCH_REQUEUE",
            "signal= SBATCH_SIGNAL",
            "strict +strict",  # ours
            "time= -t SBATCH_TIMELIMIT",
            "usage",
            "verbose -v SBATCH_DEBUG",
            "version -V",
            "wait -W SBATCH_WAIT",
            "wrap=",
        ),
    ),
    *_options(
        Support.KEPT,
        (
            "acctg-freq= SBATCH_ACCTG_FREQ",
            "comment=",
            "delay-boot= SBATCH_DELAY_BOOT",  # no node is booted for a job
            "oversubscribe -s +share",  # partitions with OverSubscribe=NO, the default, pass over it
            "qos= -q SBATCH_QOS",  # without accounting Slurm takes any, and does nothing with it
            "time-min=",  # allows a shorter limit, requests none
            "use-min-nodes SBATCH_USE_MIN_NODES",  # the lesser number of nodes is always taken
            "wait-all-nodes= SBATCH_WAIT_ALL_NODES",  # the pods of a job start together, and the script after them
            "wckey= SBATCH_WCKEY",
        ),
    ),
    *_options(
        Support.REFUSED,
        (
            "batch= SBATCH_BATCH",
            "bb= SBATCH_BURST_BUFFER",
            "bbf=",
            "cluster-constraint= SBATCH_CLUSTER_CONSTRAINT",
            "clusters= -M cluster SBATCH_CLUSTERS SLURM_CLUSTERS",
            "container= SBATCH_CONTAINER",
            "container-entrypoint",
            "container-env=",
            "container-mount-home",
            "container-mounts=",
            "container-name=",
            "container-readonly",
            "container-remap-root",
            "container-save=",
            "container-workdir=",
            "container-writable",
            "context=",
            "contiguous",
            "core-spec= -S SBATCH_CORE_SPEC",
            "cores-per-socket=",
            "cpu-freq= SBATCH_CPU_FREQ_REQ",
            "deadline=",
            "distribution= -m SBATCH_DISTRIBUTION",
            "exclude= -x",
            "export-file=",
            "extra-node-info= -B",
            "gid=",
            "gpu-bind= SBATCH_GPU_BIND",
            "gpu-freq= SBATCH_GPU_FREQ",
            "gpus-per-socket= SBATCH_GPUS_PER_SOCKET",
            "gres-flags= SBATCH_GRES_FLAGS",
            "hint= SBATCH_HINT SLURM_HINT",
            "input= -i SBATCH_INPUT",
            "licenses= -L",
            "mcs-label=",
            "mem-bind= SBATCH_MEM_BIND",
            "mincpus=",
            "network= SBATCH_NETWORK",
            "no-kill? -k SBATCH_NO_KILL",
            "nodefile= -F",
            "nodelist= -w",
            "ntasks-per-core=",
            "ntasks-per-gpu=",
            "ntasks-per-socket=",
            "ntasks-per-tres=",
            "overcommit -O SBATCH_OVERCOMMIT",
            "power= SBATCH_POWER",
            "prefer=",
            "profile= SBATCH_PROFILE",
            "propagate?",
            "reboot",
            "reservation= SBATCH_RESERVATION",
            "sockets-per-node=",
            "spread-job SBATCH_SPREAD_JOB",
            "switches= SBATCH_REQ_SWITCH",
            "test-only",
            "thread-spec= SBATCH_THREAD_SPEC",
            "threads-per-core= SBATCH_THREADS_PER_CORE",
            "tmp=",
            "uid=",
        ),
    ),
)

NO_EFFECT: dict[str, frozenset[str]] = {
    "no-kill": frozenset({"off"}),
    "profile": frozenset({"none"}),
}
"""Values of refused options that ask for what is so anyway."""

PARSER = Parser("sbatch", OPTIONS)
OURS = frozenset({"dry-run", "explain", "strict"})
SCRIPT_PARSER = Parser("sbatch", (option for option in OPTIONS if option.name not in OURS))
"""What is ours is no directive: the real sbatch would refuse such a script."""
