"""ReFrame's configuration: one system with a partition for each scheduler."""

environs = [{"name": "builtin", "cc": "gcc", "cxx": "", "ftn": ""}]
partitions = [
    {"name": name, "scheduler": name, "launcher": launcher, "environs": ["builtin"], "access": access}
    for name, launcher, access in (("slurm", "srun", ["--partition=default"]), ("pbs", "local", ["-q default"]))
]
site_configuration = {
    "systems": [{"name": "own", "hostnames": [".*"], "partitions": partitions}],
    "environments": environs,
}
