"""The commands, a file each, which parses, calls and prints. What a command does to jobs is in `hpcbatch.client`, and
what it says in its dialect: neither is here.
"""

PACKAGES = {
    "pbs": (
        "pbsnodes",
        "qalter",
        "qdel",
        "qhold",
        "qmove",
        "qrerun",
        "qrls",
        "qselect",
        "qsig",
        "qstat",
        "qsub",
        "tracejob",
    ),
    "slurm": ("sacct", "salloc", "sattach", "sbatch", "scancel", "scontrol", "sinfo", "squeue", "srun"),
}
"""The commands of each dialect; `hpcbatch` is ours."""


def module_of(command: str) -> str:
    """The module whose `main` is the command."""
    for package, commands in PACKAGES.items():
        if command in commands:
            return f"hpcbatch.cli.{package}.{command}"
    return f"hpcbatch.cli.{command}"
