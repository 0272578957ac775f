"""The one table of sbatch's options: names, values, environment names, what we do with each, and what that means.

The names are those of sbatch 22.05.8, read from what it answers to every prefix; the retired ones are still in use.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from hpcbatch.dataclass import dataclass
from hpcbatch.dialects.slurm.getopt import Option, Parser, Takes


class Support(Enum):
    """What we do with an option that sbatch knows; the values are those of `Fate`. Some of its values may do else."""

    HONOURED = "honoured"
    TRANSLATED = "translated"
    KEPT = "kept"  # changes nothing here; kept for display
    IGNORED = "ignored"
    REFUSED = "refused"  # with the real sbatch's text


@dataclass(frozen=True, slots=True, kw_only=True)
class SbatchOption(Option):
    support: Support = Support.REFUSED
    environment: tuple[str, ...] = ()
    """Input variables that stand for it, in the order in which they are looked at."""
    meaning: str = ""
    """What becomes of it, or why it is ignored: a line of plain English."""


_TAKES = {"": Takes.NOTHING, "=": Takes.VALUE, "?": Takes.OPTIONAL}


def _options(support: Support, table: Iterable[str]) -> list[SbatchOption]:
    """Rows are `name[=|?] [-short] [alias …] [+exact …] [VARIABLE …] | meaning`."""
    options = []
    for row in table:
        names, _, meaning = row.partition(" | ")
        first, *rest = names.split()
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
                meaning=meaning,
            )
        )
    return options


OPTIONS: tuple[SbatchOption, ...] = (
    *_options(
        Support.HONOURED,
        (
            "account= -A SBATCH_ACCOUNT | the account of the job",
            "array= -a SBATCH_ARRAY_INX | the job is an array with these indices",
            "begin= -b | the job starts no earlier",
            "chdir= -D +workdir | the directory in which the script starts",
            "constraint= -C SBATCH_CONSTRAINT | features that the nodes must have",
            "container-image= | the container image, as with the plugin pyxis",
            "cores-per-socket= | where --ntasks is not given, the number of tasks is a multiple of it",
            "cpus-per-gpu= SBATCH_CPUS_PER_GPU | CPUs for each GPU",
            "cpus-per-task= -c | CPUs for each task",
            "deadline= | the job is taken off the queue when it can no longer end by then",
            "dependency= -d | what the job waits for of other jobs",
            "distribution= -m SBATCH_DISTRIBUTION | how tasks are dealt out to the CPUs of a node",
            "dry-run +dry-run | prints the manifests and submits nothing",
            "error= -e SBATCH_ERROR | the file of the standard error",
            "exclude= -x | nodes that the job must not have",
            "exclusive? SBATCH_EXCLUSIVE | no other job on the same nodes",
            "explain +explain | says what becomes of each option and submits nothing",
            "export= SBATCH_EXPORT | the variables of the submitter that the job gets",
            "export-file= | the variables of the job are those of this file",
            "extra-node-info= -B | sockets, cores and threads of a node to which the tasks are bound",
            "get-user-env? SBATCH_GET_USER_ENV | whether the job gets the user's login environment",
            "gpu-bind= SBATCH_GPU_BIND | which of the GPUs of a node each task sees",
            "gpus= -G SBATCH_GPUS | GPUs of the whole job",
            "gpus-per-node= SBATCH_GPUS_PER_NODE | GPUs of each node",
            "gpus-per-task= SBATCH_GPUS_PER_TASK | GPUs for each task",
            "gres= SBATCH_GRES | generic resources of each node",
            "help -h | prints the options and submits nothing",
            "hint= SBATCH_HINT SLURM_HINT | how the tasks are bound to CPUs",
            "hold -H | the job is held until it is released",
            "ignore-pbs SBATCH_IGNORE_PBS | #PBS and #BSUB lines are not read",
            "input= -i SBATCH_INPUT | the file of the script's standard input",
            "job-name= -J SBATCH_JOB_NAME | the name of the job",
            "kill-on-invalid-dep= | whether the job is deleted when what it waits for can never come",
            "licenses= -L | licences that the job holds while it runs",
            "mail-type= | the events that the user gets mail for",
            "mail-user= | who gets the mail",
            "mem= SBATCH_MEM_PER_NODE | memory of each node; 0: all of it",
            "mem-per-cpu= SBATCH_MEM_PER_CPU | memory for each CPU",
            "mem-per-gpu= SBATCH_MEM_PER_GPU | memory for each GPU",
            "mincpus= | CPUs of each node, at least",
            "nice? | lowers the priority of the job",
            "no-requeue SBATCH_NO_REQUEUE | the job is not queued again",
            "nodefile= -F | a file with the nodes that the job must have",
            "nodelist= -w | nodes that the job must have",
            "nodes= -N | the number of nodes",
            "ntasks= -n | the number of tasks",
            "ntasks-per-core= | tasks that are bound to one core, at most",
            "ntasks-per-gpu= | GPUs follow from the tasks, or tasks from the GPUs",
            "ntasks-per-node= tasks-per-node | tasks on each node",
            "ntasks-per-socket= | tasks that are bound to one socket, at most",
            "open-mode= SBATCH_OPEN_MODE | whether the output files are truncated or appended to",
            "output= -o SBATCH_OUTPUT | the file of the standard output",
            "overcommit -O SBATCH_OVERCOMMIT | tasks share the CPUs of one task on each node",
            "parsable | only the job's number is printed",
            "partition= -p SBATCH_PARTITION | the partition; of several the first in which the job can start",
            "priority= | the priority of the job, from those who may set it",
            "propagate? | the submitter's limits of a process hold for the job",
            "quiet -Q | nothing is printed but errors",
            "requeue SBATCH_REQUEUE | the job may be queued again",
            "signal= SBATCH_SIGNAL | a signal before the time limit",
            "sockets-per-node= | sockets of a node, for --gpus-per-socket and the number of tasks",
            "switches= SBATCH_REQ_SWITCH | nodes of so many leaf switches, as the site knows them",
            "test-only | says when and where the job would start; nothing is submitted",
            "threads-per-core= SBATCH_THREADS_PER_CORE | threads of a core to which the tasks are bound",
            "time= -t SBATCH_TIMELIMIT | the time limit",
            "strict +strict | the job is refused if any option would be ignored",
            "time-min= | the time limit may be lowered to this to start sooner, or by queue or deadline",
            "tmp= | disk for temporary files on each node",
            "usage | prints the usage and submits nothing",
            "verbose -v SBATCH_DEBUG | more is printed",
            "version -V | prints the version and submits nothing",
            "wait -W SBATCH_WAIT | sbatch ends with the job, and with its exit code",
            "wrap= | the script is this command",
        ),
    ),
    *_options(
        Support.TRANSLATED,
        (
            "container-workdir= | the directory in which the script starts, where --chdir is not given",
            "gpus-per-socket= SBATCH_GPUS_PER_SOCKET | GPUs of each node, by the number of sockets",
            "ntasks-per-tres= | the same as --ntasks-per-gpu",
        ),
    ),
    *_options(
        Support.KEPT,
        (
            "acctg-freq= SBATCH_ACCTG_FREQ | kept with the job",
            "clusters= -M cluster SBATCH_CLUSTERS SLURM_CLUSTERS | the cluster, which the site decides about",
            "comment= | kept with the job",
            "delay-boot= SBATCH_DELAY_BOOT | kept with the job: no node is booted for one",
            "oversubscribe -s +share | kept with the job: it only counts in partitions with OverSubscribe=YES",
            "qos= -q SBATCH_QOS | the quality of service, which the site decides about",
            "reservation= SBATCH_RESERVATION | the reservation, which the site decides about",
            "use-min-nodes SBATCH_USE_MIN_NODES | kept with the job: the lesser number of nodes is always taken",
            "wait-all-nodes= SBATCH_WAIT_ALL_NODES | kept with the job: its pods start together anyway",
            "wckey= SBATCH_WCKEY | kept with the job",
        ),
    ),
    *_options(
        Support.IGNORED,
        (
            "batch= SBATCH_BATCH | the script runs on the first of the job's nodes",
            "bb= SBATCH_BURST_BUFFER | there are no burst buffers here",
            "bbf= | there are no burst buffers here",
            "cluster-constraint= SBATCH_CLUSTER_CONSTRAINT | there is one cluster, and no federation",
            "container= SBATCH_CONTAINER | there are no OCI bundles here; --container-image names an image",
            "container-entrypoint | the script is started, not the entry point of the image",
            "container-env= | the variables of the job go over those of the image",
            "container-mount-home | the site says what is mounted, which the home directory is part of",
            "container-mounts= | the site says which directories are mounted",
            "container-name= | containers end with the job and have no names",
            "container-readonly | the container's own file system can be written to",
            "container-remap-root | the job runs as its user, never as root",
            "container-save= | containers are not saved",
            "container-writable | the container's own file system can be written to anyway",
            "context= | there are no SELinux contexts here",
            "contiguous | nodes have no order here",
            "core-spec= -S SBATCH_CORE_SPEC | the site sets cores aside for the system, not the job",
            "cpu-freq= SBATCH_CPU_FREQ_REQ | the clock of the CPUs is the node's",
            "gpu-freq= SBATCH_GPU_FREQ | the clock of the GPUs is the node's",
            "gres-flags= SBATCH_GRES_FLAGS | GPUs are chosen by their device plugin, whatever CPUs the job has",
            "mcs-label= | there are no MCS labels here",
            "mem-bind= +mem_bind SBATCH_MEM_BIND | memory is not bound to tasks",
            "network= SBATCH_NETWORK | there is no switch to be set up",
            "no-kill? -k SBATCH_NO_KILL | a job that loses a node ends",
            "power= SBATCH_POWER | the power of the nodes is not managed",
            "prefer= | it is a wish, and nodes are chosen without it",
            "profile= SBATCH_PROFILE | no profiles are written",
            "reboot | no node is booted for a job",
            "spread-job SBATCH_SPREAD_JOB | the scheduler chooses the nodes",
            "thread-spec= SBATCH_THREAD_SPEC | the site sets threads aside for the system, not the job",
        ),
    ),
    *_options(
        Support.REFUSED,
        (
            "gid= | --gid only permitted by root user",
            "uid= | --uid only permitted by root user",
        ),
    ),
)

BOUND = frozenset(
    {
        "cores-per-socket",
        "distribution",
        "extra-node-info",
        "hint",
        "ntasks-per-core",
        "ntasks-per-gpu",
        "ntasks-per-socket",
        "overcommit",
        "sockets-per-node",
        "threads-per-core",
    }
)
"""Options whose value the runner, scontrol and the job's environment need again: kept in `spec.attributes`."""

BY_NAME: dict[str, SbatchOption] = {option.name: option for option in OPTIONS}
OURS = frozenset({"dry-run", "explain", "strict"})
"""These are no directives: the real sbatch would refuse such a script."""
PARSER = Parser("sbatch", OPTIONS)
SCRIPT_PARSER = Parser("sbatch", (option for option in OPTIONS if option.name not in OURS))
