"""The commands, a file each, which parses, calls and prints. What a command does to jobs is in `hpcbatch.client`, and
what it says in its dialect: neither is here.
"""

import sys

PACKAGES = {
    "pbs": (
        "pbs_ralter",
        "pbs_rdel",
        "pbs_rstat",
        "pbs_rsub",
        "pbsfs",
        "pbsnodes",
        "qalter",
        "qdel",
        "qdisable",
        "qenable",
        "qhold",
        "qmgr",
        "qmove",
        "qmsg",
        "qorder",
        "qrerun",
        "qrls",
        "qrun",
        "qselect",
        "qsig",
        "qstart",
        "qstat",
        "qstop",
        "qsub",
        "tracejob",
    ),
    "slurm": (
        "sacct",
        "sacctmgr",
        "salloc",
        "sattach",
        "sbatch",
        "sbcast",
        "scancel",
        "scontrol",
        "sdiag",
        "seff",
        "sinfo",
        "sprio",
        "squeue",
        "sreport",
        "srun",
        "sshare",
        "sstat",
        "strigger",
    ),
    "lsf": (
        "bacct",
        "bbot",
        "bhist",
        "bhosts",
        "bjobs",
        "bkill",
        "bmod",
        "bparams",
        "bpeek",
        "bqueues",
        "brequeue",
        "bresume",
        "bstop",
        "bsub",
        "bswitch",
        "btop",
        "busers",
        "lshosts",
        "lsid",
        "lsload",
    ),
}
"""The commands of each dialect; `hpcbatch` is ours."""

_SHARED = {"qdisable": "queue_switch", "qenable": "queue_switch", "qstart": "queue_switch", "qstop": "queue_switch"} | {
    "bresume": "bstop",
    "bbot": "btop",
    **dict.fromkeys(("bqueues", "bhosts", "lshosts", "lsload", "lsid", "bparams", "busers"), "cluster"),
}
"""Commands that are one module, which goes by the name that it was called by."""


def module_of(command: str) -> str:
    """The module whose `main` is the command. `hpcbatch complete` is one by itself: someone has pressed a key."""
    if command == "hpcbatch":
        return "hpcbatch.cli.completion.values" if sys.argv[1:2] == ["complete"] else "hpcbatch.cli.hpcbatch"
    for package, commands in PACKAGES.items():
        if command in commands:
            return f"hpcbatch.cli.{package}.{_SHARED.get(command, command)}"
    for package in PACKAGES:
        if command in absent(package):
            return f"hpcbatch.cli.{package}.absent"
    return f"hpcbatch.cli.{command}"


def absent(dialect: str) -> tuple[str, ...]:
    """Names of the real system that say that they are not here, and what is instead."""
    from importlib import import_module

    return tuple(import_module(f"hpcbatch.dialects.{dialect}.absent").COMMANDS)
