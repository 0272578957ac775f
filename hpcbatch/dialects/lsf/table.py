"""What each option of bsub becomes: one line for each.

The reading, the outcomes of a submission and the documentation take it from here. The meaning of what is ignored is the
reason.
"""

from __future__ import annotations

from collections.abc import Mapping

from hpcbatch.model.outcome import Fate
from hpcbatch.typed import Final, NamedTuple


class Rule(NamedTuple):
    fate: Fate
    meaning: str
    """One line of plain English; of an ignored one the reason."""
    takes: str = ""
    """"" for no value, "=" for one in the same word or the next, "?" for one that may be missing."""
    value: str = ""
    """What the value is called in the manual."""


def _honoured(meaning: str, value: str = "", takes: str = "") -> Rule:
    return Rule(Fate.HONOURED, meaning, takes or "=" * bool(value), value)


def _translated(meaning: str, value: str = "", takes: str = "") -> Rule:
    return Rule(Fate.TRANSLATED, meaning, takes or "=" * bool(value), value)


def _kept(meaning: str, value: str = "") -> Rule:
    return Rule(Fate.KEPT, meaning, "=" * bool(value), value)


def _ignored(reason: str, value: str = "", takes: str = "") -> Rule:
    return Rule(Fate.IGNORED, reason, takes or "=" * bool(value), value)


def _refused(reason: str, value: str = "") -> Rule:
    return Rule(Fate.REFUSED, reason, "=" * bool(value), value)


_CHECKPOINT: Final = "jobs are not checkpointed"
_COPY: Final = "submission hosts and nodes share their files: nothing is copied"
_OF_NODES: Final = "the site's nodes run no commands of users before or after a job: write it into the script"
_POWER: Final = "the power of the nodes is the site's"
_SUMMIT: Final = "CORAL's service nodes are not here"

OPTIONS: Final[Mapping[str, Rule]] = {
    "a": _ignored("the site has no esub programs", "esub …"),
    "alloc_flags": _ignored("how nodes are set up is the site's to say", "flags"),
    "app": _kept("the application profile, which bjobs shows; its limits and defaults are not here", "profile"),
    "ar": _ignored("a job's size does not change while it runs"),
    "b": _honoured("the job does not start before that time", "[[[year:]month:]day:]hour:minute"),
    "B": _honoured("mail when the job starts"),
    "c": _honoured("CPU time of all processes of the job", "[hours:]minutes[/host]"),
    "C": _honoured("the size of core files", "KB"),
    "clusters": _ignored("there is one cluster", "clusters"),
    "cn_cu": _ignored(_SUMMIT, "cu"),
    "cn_mem": _ignored(_SUMMIT, "MB"),
    "core_isolation": _ignored("a job's CPUs are its own", "level"),
    "csm": _ignored(_SUMMIT, "y|n"),
    "cwd": _honoured("the directory in which the job starts", "directory", "?"),
    "D": _honoured("the data of each process", "KB"),
    "data": _ignored(_COPY, "files"),
    "datachk": _ignored(_COPY),
    "datagrp": _ignored(_COPY, "group"),
    "e": _honoured("the file of the standard error, which is appended to", "file"),
    "E": _ignored(_OF_NODES, "command"),
    "env": _honoured("which variables of the submitter travel with the job", "none|all|~name|name=value …"),
    "eo": _honoured("the file of the standard error, which is written anew", "file"),
    "Ep": _ignored(_OF_NODES, "command"),
    "eptl": _ignored("a running job's time limit is -W", "[hours:]minutes"),
    "ext": _ignored("schedulers' extensions of LSF are not here", "options"),
    "extsched": _ignored("schedulers' extensions of LSF are not here", "options"),
    "f": _ignored(_COPY, "local op [remote]"),
    "F": _honoured("the size of each file that the job writes", "KB"),
    "freq": _ignored(_POWER, "frequency"),
    "fwd": _ignored("there is one cluster"),
    "g": _kept("the job group, which bjobs -g selects by; it has no limit of its own", "/group"),
    "G": _kept("the user group for fair share, which bjobs shows", "group"),
    "gpu": _translated("GPUs of each host, and of which model", "-|num=…:mode=…", "="),
    "h": _honoured("bsub says how it is used"),
    "H": _honoured("the job is held by its user"),
    "hl": _honoured("the limits of memory hold for each host, as they always do"),
    "hostfile": _ignored("nodes are chosen by the scheduler; -m names those that a job may have", "file"),
    "i": _honoured("the file of the standard input", "file"),
    "is": _honoured("the file of the standard input", "file"),
    "I": _honoured("input and output of the job are those of bsub"),
    "Ip": _honoured("the job's terminal is this one"),
    "Is": _honoured("the job's terminal is this one, in shell mode"),
    "ISp": _honoured("the job's terminal is this one"),
    "ISs": _honoured("the job's terminal is this one, in shell mode"),
    "IS": _honoured("input and output of the job are those of bsub"),
    "IX": _ignored("a job has no X display: X11 is not forwarded"),
    "J": _honoured("the name of the job, and the indices of an array with its limit", 'name["[indices]%limit"]'),
    "Jd": _kept("the description, which bjobs -l shows", "text"),
    "jobaff": _ignored("a job's place among others is the scheduler's to choose", "affinity"),
    "jsdl": _refused("JSDL files are not read: submit a script", "file"),
    "jsdl_strict": _refused("JSDL files are not read: submit a script", "file"),
    "jsm": _ignored("jsrun needs no job step manager here", "y|n|d"),
    "json": _refused("submissions in JSON are not read: submit a script", "file"),
    "k": _ignored(_CHECKPOINT, "directory"),
    "K": _honoured("bsub waits for the end of the job"),
    "L": _translated("a login shell starts the job", "shell"),
    "Lp": _kept("the project of the licence scheduler, which the record shows", "project"),
    "ln_mem": _ignored(_SUMMIT, "MB"),
    "ln_slots": _ignored(_SUMMIT, "slots"),
    "m": _honoured("nodes of which the job's are", "host …"),
    "M": _honoured("the memory of the job on each host", "size"),
    "mig": _ignored("running jobs are not moved", "minutes"),
    "n": _honoured("the slots of the job; of a least and a most number the least", "min[,max]"),
    "N": _honoured("mail when the job has ended"),
    "Ne": _honoured("mail when the job has failed"),
    "network": _ignored("a job's network is its nodes'", "requirement"),
    "nnodes": _translated("so many whole nodes", "number"),
    "notify": _honoured("mail when the job starts or ends", "events"),
    "o": _honoured("the file of the standard output, which is appended to", "file"),
    "oo": _honoured("the file of the standard output, which is written anew", "file"),
    "outdir": _translated("the directory, which must exist, of output files that are named without one", "directory"),
    "p": _honoured("processes of the user in the job", "number"),
    "P": _honoured("the project, which is the account that the job is booked to", "project"),
    "pack": _refused("one bsub submits one job", "file"),
    "ptl": _ignored("jobs wait as long as it takes", "[hours:]minutes"),
    "q": _honoured("the queue; of several the first in which the job can start", "queue …"),
    "Q": _ignored("exit codes do not queue a job again: brequeue does", "codes"),
    "r": _honoured("the job may be run again"),
    "R": _honoured("what the nodes must have, and how the slots are spread", "requirement"),
    "rcacct": _ignored("there is no resource connector", "account"),
    "rn": _honoured("the job is not run again"),
    "rnc": _ignored("a job's size does not change while it runs", "command"),
    "s": _ignored("which signal a queue sends first is the site's to say", "signal"),
    "S": _honoured("the stack of each process", "KB"),
    "sla": _kept("the service class, which bjobs shows", "class"),
    "smt": _ignored("how many threads a core has is the node's", "value"),
    "sp": _honoured("the priority among the jobs", "priority"),
    "stage": _ignored(_COPY, "options"),
    "step_cgroup": _ignored("processes of a job share its limits", "y|n"),
    "t": _honoured("the job ends by that time, or does not start", "[[[year:]month:]day:]hour:minute"),
    "T": _ignored("threads of a job are not limited", "number"),
    "tty": _honoured("the job's terminal is this one"),
    "ti": _honoured("the job ends when its dependency can never be met"),
    "u": _honoured("who gets the mail", "address"),
    "ul": _translated("the submitter's soft limits hold for the processes of the job"),
    "U": _honoured("the reservation in which the job runs", "reservation"),
    "v": _honoured("the address space of each process", "KB"),
    "V": _honoured("bsub prints its version"),
    "w": _honoured("the jobs that this one waits for", "expression"),
    "W": _honoured("the job ends after that time", "[hours:]minutes[/host]"),
    "wa": _honoured("the signal before the job's time is up", "signal"),
    "We": _ignored("the plan counts with the time limit of -W", "[hours:]minutes[/host]"),
    "wt": _honoured("how long before the end that signal is sent", "[hours:]minutes"),
    "x": _honoured("no other job on the nodes of the job"),
    "XF": _ignored("a job has no X display: X11 is not forwarded"),
    "Zs": _honoured("the script is kept with the job, as it always is"),
    "--dry-run": _honoured("nothing is submitted, the manifests are shown"),
    "--explain": _honoured("nothing is submitted, what becomes of each option is shown"),
    "--strict": _honoured("the job is refused if anything of it would be ignored"),
}
"""By its name behind the dash; those with two dashes are hpcbatch's."""

_LOAD: Final = "nodes are chosen by what jobs request of them, not by their load"
SECTIONS: Final[Mapping[str, Rule]] = {
    "select[feature]": _honoured("a property that the nodes must have; `!feature`: must not have"),
    "select[hname==host]": _honoured("the node; several with ||"),
    "select[type==any]": _honoured("any node"),
    "select[model==name]": _translated("for the site to know: it says which nodes have it"),
    "select[mem>size]": _ignored("a job gets the memory that it requests, whatever is free"),
    "select[load index]": _ignored(_LOAD),
    "order[…]": _ignored(_LOAD),
    "rusage[mem=size]": _honoured("memory of each host; with /task of each slot, with /job of all"),
    "rusage[tmp=size]": _honoured("disk of each host for temporary files"),
    "rusage[swp=size]": _ignored("pods have no swap space"),
    "rusage[ngpus_physical=n]": _honoured("GPUs of each host"),
    "rusage[name=n]": _honoured("so many of the site's resource of this name, on each host"),
    "rusage[…:duration=…:decay=…]": _ignored("what a job requests is its own until it ends"),
    "span[hosts=1]": _honoured("all slots on one node"),
    "span[ptile=n]": _honoured("so many slots on each node"),
    "span[block=n]": _honoured("slots in blocks, each on one node"),
    "span[stripe]": _ignored("which slot is on which node makes no difference here"),
    "affinity[core(n)]": _translated("CPUs of each slot"),
    "affinity[…:cpubind=…:membind=…:distribute=…]": _ignored("pods do not bind processes"),
    "same[…]": _ignored("nodes of a queue are alike as far as the site says"),
    "cu[maxcus=n]": _translated("nodes of so many groups of a level of the site's network"),
    "{…} || {…}": _translated(
        "the first in which the job can start when it is submitted, else the first that there are nodes for"
    ),
    "{…} || {…}@delay": _ignored("which of them counts is decided when the job is submitted"),
    "cu[…]": _ignored("which nodes are near each other is the scheduler's to know"),
}
"""Of -R; a bare text is that of select[]."""
