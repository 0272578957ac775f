"""What a process finds on each host of its job, not on the first one only: variables, host lists, names."""

from __future__ import annotations

from dataclasses import dataclass

from tests.conformance.site import Site

# look NAME...: leaves what it finds, in a directory called after the host; the addresses of the names too.
LOOK = r"""#!/bin/sh
cd "${0%/*}" || exit 1
mkdir "$(hostname)" && cd "$(hostname)" || exit 1
env -0 >env
umask >umask
cp /etc/volcano/*.host .
[ -z "$PBS_NODEFILE" ] || cp "$PBS_NODEFILE" nodefile
for name do
  getent ahostsv4 "$name" | cut -d ' ' -f 1 | uniq
done >addresses
"""
JOB = r"""#!/bin/sh
export COLOUR='deep  blue'
long=$(for file in /etc/volcano/*.host; do cat "$file"; echo; done)
short=$(echo "$long" | cut -d . -f 1)
for host in $short; do
  ssh "$host" {look} $short $long
done
"""


@dataclass
class Host:
    """What LOOK has left."""

    env: dict[str, str]
    umask: str
    nodefile: list[str]
    volcano: dict[str, list[str]]
    """The host list of each task."""
    addresses: list[str]


def job_text(site: Site) -> str:
    look = site.work / "look"
    look.write_text(LOOK)
    look.chmod(0o755)
    return JOB.format(look=look)


def found_on(site: Site, name: str) -> Host:
    path = site.work / name
    nodefile = path / "nodefile"
    return Host(
        env=dict(entry.split("=", 1) for entry in (path / "env").read_text().split("\0") if entry),
        umask=(path / "umask").read_text().strip(),
        nodefile=nodefile.read_text().split() if nodefile.exists() else [],
        volcano={file.stem: file.read_text().split() for file in path.glob("*.host")},
        addresses=(path / "addresses").read_text().split(),
    )


def check(site: Site, job: str, output: str) -> dict[str, Host]:
    """What holds in both dialects, for a job of three pods. Returns what was found, by host."""
    record, text = site.wait_end(job), site.read(output)
    assert (record["Exit_status"], text) == (0, "")
    names = [f"job-{job}-mpimaster-0", f"job-{job}-mpiworker-0", f"job-{job}-mpiworker-1"]
    workers = [f"{name}.job-{job}" for name in names[1:]]
    hosts = {name: found_on(site, name) for name in names}
    addresses = hosts[names[0]].addresses
    assert len(set(addresses)) == 3, "each pod has an address"
    assert addresses == addresses[:3] * 2, "it is found by its short name and by its long one"
    for index, (name, host) in zip("001", hosts.items(), strict=True):
        assert host.volcano == {"mpimaster": [f"{names[0]}.job-{job}"], "mpiworker": workers}
        assert host.addresses == addresses
        env = host.env
        assert (env["HOSTNAME"], env["VC_TASK_INDEX"]) == (name, index)
        assert (env["VC_MPIWORKER_HOSTS"], env["VC_MPIWORKER_NUM"]) == (",".join(workers), "2")
        assert (env["COLOUR"], env["HOME"], env["USER"]) == ("deep  blue", site.env["HOME"], site.env["USER"])
        assert env["PATH"] == hosts[names[0]].env["PATH"]
    return hosts


def test_a_pbs_job(site: Site) -> None:
    site.script("job.pbs", job_text(site))
    select = "select=3:ncpus=1:mpiprocs=2"
    job = site.qsub("-l", select, "-W", "umask=027", "-v", "LISTED=a,OTHER='b,c'", "-N", "each", "-j", "oe", "job.pbs")
    hosts = check(site, job, f"each.o{job}")
    for host in hosts.values():
        assert host.nodefile == [name for name in hosts for _rank in range(2)]
        assert host.umask == "0027"
        env = host.env
        assert (env["LISTED"], env["OTHER"]) == ("a", "b,c")
        assert (env["PBS_JOBID"], env["PBS_JOBNAME"]) == (f"{job}.{site.server}", "each")
        assert (env["PBS_O_WORKDIR"], env["PBS_NP"], env["NCPUS"]) == (str(site.work), "6", "1")


def test_a_slurm_job(site: Site) -> None:
    site.script("job.sh", job_text(site))
    job = site.sbatch("-N", "3", "-o", "out", "job.sh", env={"LISTED": "a b"})
    hosts = check(site, job, "out")
    for index, (name, host) in enumerate(hosts.items()):
        env = host.env
        assert (env["SLURMD_NODENAME"], env["SLURM_NODEID"]) == (name, str(index))
        assert (env["SLURM_JOB_ID"], env["SLURM_NNODES"], env["SLURM_TASKS_PER_NODE"]) == (job, "3", "1(x3)")
        assert (env["SLURM_SUBMIT_DIR"], env["LISTED"]) == (str(site.work), "a b")
        listed = site.run("scontrol", "show", "hostnames", env["SLURM_JOB_NODELIST"]).stdout
        assert listed.split() == list(hosts)
    check_that_commands_know_them(site, job, list(hosts))


def check_that_commands_know_them(site: Site, job: str, hosts: list[str]) -> None:
    """The names that a job has seen stand for its nodes, also when it has ended."""
    nodes = site.run("sacct", "-n", "-P", "-X", "-j", job, "-o", "nodelist").stdout.strip()
    ordered = site.run("scontrol", "show", "hostnames", nodes).stdout.split()
    shown = site.run("scontrol", "-o", "show", "node", hosts[1]).stdout
    assert len(ordered) == 3 and shown.partition(" ")[0].removeprefix("NodeName=") in ordered
    everywhere = site.run("scontrol", "-o", "show", "node", ",".join(hosts)).stdout.splitlines()
    assert sorted(line.partition(" ")[0].removeprefix("NodeName=") for line in everywhere) == sorted(ordered)
    first, other = (line.partition(" ")[0].removeprefix("NodeName=") for line in everywhere[:2])
    held = site.sbatch("-H", "-w", hosts[0], "-x", hosts[1], "--wrap", "true")
    text = site.run("scontrol", "show", "job", held).stdout
    assert f"ReqNodeList={first} ExcNodeList={other}\n" in text
    site.run("scancel", held)
    gone = site.run("scontrol", "show", "node", "job-999999-mpimaster-0", check=False)
    assert (gone.returncode, gone.stdout) == (1, "Node job-999999-mpimaster-0 not found\n")
