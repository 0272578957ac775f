"""What options do that no help page lists: those that all commands share, and those of srun, salloc and others."""

from __future__ import annotations

from collections.abc import Mapping

from hpcbatch.dialects.slurm.strigger import EVENTS
from hpcbatch.typed import Final

_ONE_CLUSTER: Final = "changes nothing: there is one cluster"
_NOT_HERE: Final = "refused here"
_NO_TRIGGERS: Final = "refused: nothing starts programs here"
_IN_THE_JOB: Final = "refused, or reported as ignored, by the srun in the job"

ABOUTS: Final[Mapping[str, str]] = {
    "help": "show the options",
    "usage": "show a brief usage message",
    "version": "show the version",
    "verbose": "say more",
    "quiet": "say less",
    "federation": _ONE_CLUSTER,
    "local": _ONE_CLUSTER,
    "sibling": _ONE_CLUSTER,
    "clusters": "this cluster, or all",
    "cluster": "this cluster, or all",
    "all_clusters": _ONE_CLUSTER,
    "all": "hidden partitions, too",
    "hide": "no hidden partitions",
    "noheader": "no headings",
    "parsable": "fields with | between them and at the end",
    "parsable2": "fields with | between them",
    "noconvert": "sizes in their own unit",
    "oneliner": "a line for each object",
    "readonly": "changes are refused",
    "qos": "of this quality of service",
    "reservation": "of this reservation",
    "array": "a line for each member of an array",
    "array-unique": "a line for each array",
    "priority": "a line for each partition of a job",
}
"""The same for all commands that have the option."""

OF_COMMANDS: Final[Mapping[str, Mapping[str, str]]] = {
    "sacct": {
        "completion": "refused: there are no files of completed jobs",
        "env-vars": "the variables of jobs",
        "file": _NOT_HERE,
        "flags": "changes nothing",
        "use-local-uid": "users by the numbers of this host",
        "wckeys": "of these keys",
        "whole-hetjob": "heterogeneous jobs with all their components",
        "associations": "of these associations",
    },
    "sattach": {
        "label": _NOT_HERE,
        "layout": _NOT_HERE,
        "pty": "a terminal",
        "input-filter": _NOT_HERE,
        "output-filter": _NOT_HERE,
        "error-filter": _NOT_HERE,
        "debugger-test": _NOT_HERE,
    },
    "sbcast": {
        "force": "replace files that are there",
        "preserve": "keep times and rights of the file",
        "compress": "compress the file on its way",
        "send-libs": "refused: libraries are not copied",
        "exclude": "which libraries are not copied",
        "fanout": "to so many hosts at a time",
        "size": "the size of a block",
        "timeout": "how long one message may take",
        "jobid": "the job, whose hosts get the file",
    },
    "scancel": {
        "batch": "the signal goes to the script alone",
        "ctld": "changes nothing: requests always go to the controller",
        "full": "the signal goes to the script and all its children",
        "hurry": "changes nothing: there is no burst buffer",
        "signal": "send this signal",
        "wckey": "act only on jobs of this key",
    },
    "scontrol": {
        "details": "more of jobs",
        "future": "nodes that are to come, of which there are none",
        "uid": _NOT_HERE,
    },
    "sdiag": {
        "all": "nothing: calls are not counted",
        "sort-by-id": "nothing: calls are not counted",
        "sort-by-time": "nothing: calls are not counted",
        "sort-by-time2": "nothing: calls are not counted",
    },
    "sinfo": {
        "dead": "nodes that do not answer",
        "exact": "no nodes with others together that differ",
        "list-reasons": "why nodes are out of use",
        "responding": "nodes that answer",
    },
    "sreport": {
        "sort": "by cputime or name",
        "time": "the unit of times",
        "tres": "the resources to report",
    },
    "salloc": {
        "bell": "ring the terminal's bell when the allocation is there",
        "no-bell": "do not ring the terminal's bell",
        "no-shell": "end, and leave the allocation",
        "kill-command": "the signal that the command gets when the allocation ends",
        "immediate": "give up unless the allocation is there within these seconds",
        "x11": "refused: X11 is not forwarded",
        "wait-all-nodes": "changes nothing: the pods of a job start together",
    },
    "srun": {
        **dict.fromkeys(
            (
                *("accel-bind", "bcast-exclude", "debugger-test", "disable-status", "launch-cmd"),
                *("max-exit-timeout", "msg-timeout", "preserve-env", "quit-on-interrupt", "resv-ports", "send-libs"),
                *("slurmd-debug", "threads", "tres-bind", "no-allocate", "pack-group"),
            ),
            _IN_THE_JOB,
        ),
        "bcast": "copy the program to the hosts first",
        "compress": "changes nothing: how --bcast copies",
        "cpu-bind": "how tasks are bound to CPUs",
        "epilog": "a program that runs after the step",
        "exact": "the step has the CPUs that it requests, and no more",
        "het-group": "the components of a heterogeneous job",
        "immediate": "give up unless the resources are there within these seconds",
        "interactive": "the step of salloc's shell",
        "jobid": "the allocation in which the step runs",
        "kill-on-bad-exit": "end the step when a task fails",
        "label": "the number of the task before each line",
        "mpi": "the kind of MPI",
        "multi-prog": "the command is a file that says which program each task runs",
        "overlap": "the step shares CPUs with other steps",
        "prolog": "a program that runs before the step",
        "pty": "the first task has a terminal",
        "relative": "the first node of the step, counted from 0",
        "task-epilog": "a program that runs after each task",
        "task-prolog": "a program that runs before each task; it may set the task's environment",
        "tres-per-task": "resources of each task",
        "unbuffered": "write output as it comes",
        "wait": "seconds from the end of the first task until the rest is ended",
        "whole": "the step has all CPUs of its nodes",
        "x11": "refused: X11 is not forwarded",
    },
    "strigger": {
        **dict.fromkeys(("flags", "id", "jobid", "node", "user", "front_end"), "of which triggers"),
        **dict.fromkeys(("offset", "program"), _NO_TRIGGERS),
        **dict.fromkeys((name for name, _ in EVENTS), _NO_TRIGGERS),
    },
}
"""Of one command."""
