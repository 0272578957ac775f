"""What each option of qsub, each resource of `-l` and each attribute of `-W` becomes: one line for each.

The reading, the outcomes of a submission and the documentation take it from here. The meaning of what is ignored is the
reason. Where one of a table's names depends on its value or on others, the reader says so itself.
"""

from __future__ import annotations

from collections.abc import Mapping

from hpcbatch.model.outcome import Fate
from hpcbatch.typed import Final, NamedTuple


class Rule(NamedTuple):
    fate: Fate
    meaning: str
    """One line of plain English; of an ignored one the reason."""
    system: str = "PBS"
    """The system that has it, if OpenPBS does not."""


def _honoured(meaning: str, system: str = "PBS") -> Rule:
    return Rule(Fate.HONOURED, meaning, system)


def _translated(meaning: str, system: str = "PBS") -> Rule:
    return Rule(Fate.TRANSLATED, meaning, system)


def _kept(meaning: str, system: str = "PBS") -> Rule:
    return Rule(Fate.KEPT, meaning, system)


def _ignored(reason: str, system: str = "PBS") -> Rule:
    return Rule(Fate.IGNORED, reason, system)


def _refused(reason: str, system: str = "PBS") -> Rule:
    return Rule(Fate.REFUSED, reason, system)


OPTIONS: Final[Mapping[str, Rule]] = {
    "a": _honoured("the job does not start before that time"),
    "A": _honoured("the account that the job is booked to"),
    "b": _ignored("qsub tries again by itself", "Torque"),
    "c": _ignored("jobs are not checkpointed"),
    "C": _honoured("how the lines of the script begin that qsub reads"),
    "d": _honoured("the directory in which the job starts", "Torque"),
    "D": _ignored("the root directory of a job is its image's", "Torque"),
    "e": _honoured("the file of the standard error"),
    "E": _ignored("the job has the variables anyway", "Torque"),
    "f": _honoured("qsub ends when the job is accepted, as it always does"),
    "F": _honoured("the arguments of the script", "Torque"),
    "h": _honoured("the job is held by its user"),
    "I": _honoured("a shell on this terminal in place of a script"),
    "j": _honoured("both streams are written to one file"),
    "J": _honoured("the job is an array"),
    "k": _honoured("the files that are written directly"),
    "K": _ignored("the time between the signals that end a job is the site's", "Torque"),
    "l": _honoured("requested resources"),
    "L": _translated("tasks of that size: a chunk for each", "Torque"),
    "m": _honoured("the events that mail is sent for"),
    "M": _honoured("who gets the mail"),
    "n": _translated("no other job on its nodes", "Torque"),
    "N": _honoured("the name of the job"),
    "o": _honoured("the file of the standard output"),
    "p": _honoured("the priority among the jobs"),
    "P": _kept("the project, which the job's record shows"),
    "q": _honoured("the queue"),
    "r": _honoured("whether the job may be run again"),
    "R": _honoured("the files that are removed when the job has ended with 0"),
    "S": _honoured("the shell that runs the script"),
    "t": _translated("the job is an array, as with -J", "Torque"),
    "T": _ignored("the site's nodes have no prologues of users", "Torque"),
    "u": _honoured("the job runs as its submitter"),
    "v": _honoured("variables of the job"),
    "V": _honoured("all variables of the submitter travel with the job"),
    "w": _honoured("the directory in which the job starts, and PBS_O_WORKDIR", "Torque"),
    "W": _honoured("further attributes"),
    "x": _ignored("it is for interactive jobs", "Torque"),
    "X": _ignored("a job has no X display: X11 is not forwarded"),
    "z": _honoured("the id is not printed"),
    "--dry-run": _honoured("nothing is submitted, the manifests are shown", "hpcbatch"),
    "--explain": _honoured("nothing is submitted, what becomes of each option is shown", "hpcbatch"),
    "--strict": _honoured("the job is refused if anything of it would be ignored", "hpcbatch"),
    "--group": _ignored("the job has the groups that the site gives its user", "NQSV"),
    "--cpunum-lhost": _translated("CPUs of each node", "NQSV"),
    "--gpunum-lhost": _translated("GPUs of each node", "NQSV"),
    "--memsz-lhost": _translated("memory of each node", "NQSV"),
    "--venode": _translated("vector engines of the job", "NQSV"),
    "--venum-lhost": _translated("vector engines of each node", "NQSV"),
}
"""By letter, or by the name of a long option."""

LIMIT: Final = "a limit of each process of the job"
_HINT: Final = "which nodes a job gets is the scheduler's to choose"
_MOAB_HINT: Final = Rule(Fate.IGNORED, _HINT, "Moab")
_POWER: Final = _ignored("the power of the nodes is the site's")

RESOURCES: Final[Mapping[str, Rule]] = {
    # the shape
    "select": _honoured("the chunks of the job"),
    "nodes": _translated("a chunk for each node"),
    "place": _honoured("how the chunks are spread over nodes, and whether other jobs may be there"),
    "ncpus": _honoured("CPUs of a chunk"),
    "mem": _honoured("memory of a chunk, or of the job"),
    "mpiprocs": _honoured("MPI processes of a chunk"),
    "ompthreads": _honoured("OpenMP threads of an MPI process"),
    "ngpus": _honoured("GPUs of a chunk"),
    "gpus": _translated("GPUs, as ngpus", "Torque"),
    "mics": _honoured("coprocessors of a chunk, if the site has them", "Torque"),
    "naccelerators": _honoured("accelerators of a chunk, if the site has them"),
    "vmem": _translated("memory, where mem is not given"),
    "pmem": _translated("memory of each process, where mem is not given"),
    "pvmem": _translated("memory of each process, where mem is not given, and its limit"),
    "host": _honoured("the node of the chunk"),
    "vnode": _honoured("the node of the chunk"),
    "hostlist": _honoured("nodes that the job must have", "Moab"),
    "procs": _translated("so many CPUs, on as few nodes as they fit on", "Torque"),
    "size": _translated("so many CPUs, on as few nodes as they fit on", "Torque"),
    "tpn": _translated("processes of each node", "Moab"),
    "mppwidth": _translated("so many processes", "Cray"),
    "mppnppn": _translated("processes of each node", "Cray"),
    "mppdepth": _translated("CPUs and OpenMP threads of each process", "Cray"),
    "mppmem": _translated("memory of each process", "Cray"),
    "EC_total_tasks": _translated("so many processes", "ECMWF"),
    "EC_tasks_per_node": _translated("processes of each node", "ECMWF"),
    "EC_threads_per_task": _translated("CPUs and OpenMP threads of each process", "ECMWF"),
    "EC_memory_per_task": _translated("memory of each process", "ECMWF"),
    "cpunum_job": _translated("CPUs of each node", "NQSV"),
    "gpunum_job": _translated("GPUs of each node", "NQSV"),
    "memsz_job": _translated("memory of each node", "NQSV"),
    "feature": _translated("properties that the nodes must have", "Moab"),
    "gres": _translated("resources by the site's names", "Moab"),
    "naccesspolicy": _translated("whether other jobs may be on the nodes", "Moab"),
    # limits
    "walltime": _honoured("the job ends after that time"),
    "min_walltime": _translated(
        "the walltime may be lowered down to this to start sooner; without max_walltime it is the walltime"
    ),
    "max_walltime": _translated("the job ends after that time, or earlier where no more is possible"),
    "elapstim_req": _translated("the job ends after that time, as with walltime", "NQSV"),
    "cput": _honoured("the CPU time of all processes of the job"),
    "cputim_job": _translated("the CPU time of all processes of the job, as with cput", "NQSV"),
    "pcput": _honoured("the CPU time of each process"),
    "cputim_prc": _translated("the CPU time of each process, as with pcput", "NQSV"),
    "file": _honoured("the size of each file that the job writes"),
    "filesz_prc": _translated("the size of each file that the job writes", "NQSV"),
    "coresz_prc": _translated("the size of core files", "NQSV"),
    "datasz_prc": _translated("the data of each process", "NQSV"),
    "stacksz_prc": _translated("the stack of each process", "NQSV"),
    "vmemsz_prc": _translated("the address space of each process", "NQSV"),
    "nice": _honoured("the nice value of the processes"),
    "signal": _honoured("the signal that the job gets before its walltime is up", "Moab"),
    # names for the site
    "qos": _kept("the quality of service, for the site to know", "Moab"),
    "advres": _translated("a reservation, for the site to know", "Moab"),
    "depend": _honoured("the jobs that this one waits for, as with -W depend", "Moab"),
    "wd": _honoured("the job starts in the directory where qsub runs", "NCI"),
    "arch": _honoured("the system of the nodes: linux"),
    "software": _kept("programs that the job uses; the record shows them"),
    "site": _kept("a text for the site, which the record shows"),
    "resc": _kept("a text for the site, which the record shows"),
    # what has no effect
    "soft_walltime": _ignored("only the walltime ends a job"),
    "start_time": _ignored("it is for reservations"),
    "preempt_targets": _ignored("which jobs give way is the scheduler's to choose"),
    "cpupercent": _ignored("the CPUs of a job are its own"),
    "pstate": _POWER,
    "pgov": _POWER,
    "pcap_node": _POWER,
    "pcap_accelerator": _POWER,
    "cpunum_prc": _ignored("a process may use all CPUs of its chunk", "NQSV"),
    "prologue": _ignored("the site's nodes have no prologues of users", "Torque"),
    "epilogue": _ignored("the site's nodes have no epilogues of users", "Torque"),
    "resfailpolicy": _ignored("a job that loses a node runs again or ends as -r says", "Moab"),
    "EC_nodes": _ignored("the numbers of tasks say how many nodes there are", "ECMWF"),
    "EC_hyperthreads": _ignored("the CPUs of a job are those that its nodes count", "ECMWF"),
    "EC_billing_account": _ignored("the account of the job is what -A names", "ECMWF"),
    "ttc": _ignored("the chunks say how many tasks there are", "Moab"),
    "trl": _ignored("the chunks say how many tasks there are", "Moab"),
    "flags": _ignored("flags of Moab mean nothing here", "Moab"),
    "var": _ignored("variables of Moab mean nothing here", "Moab"),
    "deadline": _MOAB_HINT,
    "nallocpolicy": _MOAB_HINT,
    "nodematchpolicy": _MOAB_HINT,
    "nmatchpolicy": _MOAB_HINT,
    "nodeset": _MOAB_HINT,
    "placementpolicy": _MOAB_HINT,
    "pref": _MOAB_HINT,
    "taskdistpolicy": _MOAB_HINT,
    "geometry": _MOAB_HINT,
    "mppnodes": _MOAB_HINT,
}
"""Of `-l` and of chunks. An amount of any other name belongs to a chunk, any other text is for the site to know."""

AMOUNT: Final = _honoured("so many of the site's resource of this name")
WORD: Final = _translated("for the site to know: it says what this means")
PROPERTY: Final = _honoured("a property that the node must have")
LACKS: Final = _honoured("a property that the node must not have")

CHUNK_WIDE: Final = frozenset(
    {
        "accelerator",
        "accelerator_group",
        "accelerator_memory",
        "accelerator_model",
        "aoe",
        "arch",
        "eoe",
        "gpus",
        "hbmem",
        "host",
        "mics",
        "naccelerators",
        "ngpus",
        "vnode",
        "vntype",
    }
)
"""Names that belong into chunks, as OpenPBS or all sites have them: beside `select` they are refused."""
JOB_WIDE_ONLY: Final = frozenset(
    {
        "cpupercent",
        "cput",
        "file",
        "max_walltime",
        "min_walltime",
        "nice",
        "partition",
        "pcput",
        "pstate",
        "pgov",
        "pcap_node",
        "pcap_accelerator",
        "preempt_targets",
        "resc",
        "site",
        "soft_walltime",
        "software",
        "start_time",
    }
)
"""Names that OpenPBS knows for whole jobs: in a chunk they are refused."""

ATTRIBUTES: Final[Mapping[str, Rule]] = {
    "Account_Name": _honoured("as -A"),
    "Checkpoint": OPTIONS["c"],
    "Error_Path": _honoured("as -e"),
    "Execution_Time": _honoured("as -a"),
    "Hold_Types": _honoured("as -h"),
    "Job_Name": _honoured("as -N"),
    "Join_Path": _honoured("as -j"),
    "Keep_Files": _honoured("as -k"),
    "Mail_Points": _honoured("as -m"),
    "Mail_Users": _honoured("as -M"),
    "Output_Path": _honoured("as -o"),
    "Priority": _honoured("as -p"),
    "Rerunable": _honoured("as -r"),
    "Remove_Files": _honoured("as -R"),
    "Shell_Path_List": _honoured("as -S"),
    "User_List": _honoured("as -u"),
    "Variable_List": _honoured("as -v"),
    "project": _kept("as -P"),
    "block": _honoured("qsub waits for the end of the job"),
    "depend": _honoured("the jobs that this one waits for"),
    "max_run_subjobs": _honoured("how many members of the array may run at once"),
    "umask": _honoured("the umask of the job"),
    "x": _translated("what Moab's -l options say", "Moab"),
    "interactive": OPTIONS["I"],
    "group_list": _ignored("the job has the groups that the site gives its user"),
    "sandbox": _honoured("HOME: what happens anyway; PRIVATE: a directory of the job's own, which goes with it"),
    "stagein": _ignored("nothing is copied: the login node and the jobs share the files"),
    "stageout": _ignored("nothing is copied: the login node and the jobs share the files"),
    "run_count": _ignored("the runs are counted from 0"),
    "release_nodes_on_stageout": _ignored("nothing is copied at the end"),
    "tolerate_node_failures": _ignored("a job has all of its nodes or none"),
    "job_radix": _ignored("how the pods are started is the runner's to choose", "Torque"),
    "fault_tolerant": _ignored("a job has all of its nodes or none", "Torque"),
    "login_property": _ignored("there are no login nodes of a Cray", "Torque"),
    "create_resv_from_job": _refused("pbs_rsub --job makes a reservation of the job once it runs"),
    "cred": _refused("credentials do not travel with a job"),
    "reserve_start": _refused("it is for reservations"),
    "reserve_end": _refused("it is for reservations"),
    "Resource_List": _refused("-l says it"),
    "array_indices_submitted": _refused("-J says it"),
    "pwd": _refused("the password of a user is not needed"),
}
