"""Scripts made by `hpcbatch new`, submitted as they are."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.conformance.site import Site
from tests.conformance.test_lsf import bsub
from tests.thoroughness import in_turn

DIALECTS = ("pbs", "slurm", "lsf")
# Open MPI 5 can miss the end of very short programs (openpmix/prrte#1839).
REAL = """#!/bin/sh
sleep 0.5
[ -e met_em ] || exit 3
touch wrfinput_d01
echo 'd01 2024-01-15_13:00:00 real_em: SUCCESS COMPLETE REAL_EM INIT' >>rsl.error.0000
"""
WRF = """#!/bin/sh
sleep 0.5
ls wrfinput_d01 >/dev/null || exit 3
echo "threads $OMP_NUM_THREADS on $(hostname)"
echo "$(cat namelist.input)" >>rsl.error.0000
touch wrfout_d01_2024-01-15_12:00:00
"""
NO_SUCCESS = 'wrf.exe ended without "wrf: SUCCESS COMPLETE WRF" in rsl.error.0000'
SUCCESS = "d01 2024-01-15_13:00:00 wrf: SUCCESS COMPLETE WRF"
LOST = "open_hist_w : error opening nodir/wrfout_d01 for writing. -1021"


def program(site: Site, name: str, text: str) -> None:
    path = Path(site.script(name, text))
    path.chmod(0o755)


def made(site: Site, template: str, dialect: str, *argv: str) -> str:
    """The output of a job made from a template, once it has ended with 0."""
    code, text = ended(site, template, dialect, *argv)
    assert code == 0, text
    return text


def ended(site: Site, template: str, dialect: str, *argv: str, limit_s: float = 60) -> tuple[int, str]:
    file = f"{template}.{dialect}"
    # what these have for a namelist is none to `hpcbatch wrf check`, which says so and writes the script all the same
    site.run(
        "hpcbatch", "new", template, "--dialect", dialect, "-o", file, "--name", "made", *argv, check=template != "wrf"
    )
    if dialect == "lsf":
        job = bsub(site, stdin=site.read(file))
    else:
        job = site.qsub("-V", file) if dialect == "pbs" else site.sbatch(file)
    return site.wait_end(job, limit_s)["Exit_status"], output(site, "made", dialect, job)


def output(site: Site, name: str, dialect: str, job: str) -> str:
    """What the job wrote; LSF's report stands below it."""
    text = site.read(f"{name}.o{job}" if dialect == "pbs" else f"{name}.{job}.out")
    return re.split(r"\n-+\nSender: LSF System", text)[0] if dialect == "lsf" else text


@pytest.mark.parametrize("dialect", DIALECTS)
def test_mpi(site: Site, dialect: str) -> None:
    program(site, "say", '#!/bin/sh\necho "$OMP_NUM_THREADS $(hostname) $1"\nsleep 0.5\n')
    text = made(site, "mpi", dialect, "--nodes", "2", "--ranks-per-node", "2", "./say", "a  b'$(id)")
    lines = [re.fullmatch(r"1 (job-\d+-mpi\w+-0) a  b'\$\(id\)", line) for line in text.splitlines()]
    assert all(lines), text
    assert len(lines) == 4
    assert len({line[1] for line in lines if line}) == 2


def test_wrf(site: Site) -> None:
    """Two small programs take the place of WRF's."""
    program(site, "real.exe", REAL)
    program(site, "wrf.exe", WRF)
    site.script("met_em", "")
    site.script("namelist.3km", SUCCESS)
    given = ("--nodes", "2", "--ranks-per-node", "1", "--namelist")
    text = made(site, "wrf", "slurm", *given, f"{site.work}/namelist.3km")
    assert len(set(re.findall(r"^threads 1 on (\S+)$", text, re.MULTILINE))) == 2, text
    assert "wrfout_d01_2024-01-15_12:00:00" in text
    assert "SUCCESS COMPLETE REAL_EM INIT" in site.read("rsl.real/rsl.error.0000")


@pytest.mark.parametrize("dialect", in_turn(DIALECTS))
def test_a_chain_of_wrf(site: Site, dialect: str) -> None:
    """One command submits real.exe, wrf.exe and the maps, each after the one before; the job links the programs."""
    (site.work / "WRF/run").mkdir(parents=True)
    program(site, "WRF/run/real.exe", REAL)
    program(site, "WRF/run/wrf.exe", WRF)
    site.script("met_em", "")
    site.script("namelist.input", SUCCESS)
    given = (
        "--nodes",
        "1",
        "--ranks-per-node",
        "1",
        "--wrf",
        f"{site.work}/WRF",
        "--chain",
        "--python",
        "echo drawn by",
    )
    site.run("hpcbatch", "new", "wrf", "--dialect", dialect, "-o", "chain.sh", *given, check=False)
    told = site.run("sh", "chain.sh").stdout
    jobs = dict(re.findall(r"^(\w+): (\d+)", told, re.MULTILINE))
    assert list(jobs) == ["real", "wrf", "maps"]
    for part, job in jobs.items():
        record = site.wait_end(job)
        text = output(site, f"wrf-{part}", dialect, job)
        assert record["Exit_status"] == 0, text
    assert text.endswith("drawn by wrfmaps.pyz -o maps wrfout_d01_2024-01-15_12:00:00\n")


@pytest.mark.parametrize(
    ("log", "code", "message"),
    [
        ("CFL", 1, f"{NO_SUCCESS}; the end of rsl.error.0000:\nCFL\n"),
        (f"{LOST}\n{SUCCESS}", 1, f"{LOST}\nwrf.exe could not write its output; the end of rsl.error.0000:\n"),
        (None, 3, "wrf.exe ended with exit code 3; the end of rsl.error.0000:\n"),
    ],
    ids=["no success", "no output", "exit code"],
)
def test_wrf_that_failed(site: Site, log: str | None, code: int, message: str) -> None:
    program(site, "wrf.exe", WRF)
    if log is not None:
        site.script("wrfinput_d01", "")
    site.script("namelist.input", log or "")
    found, text = ended(site, "wrf", "pbs", "--nodes", "1", "--ranks-per-node", "1", "--skip-real")
    assert (found, message in text) == (code, True), text


TORCHRUN = r"""#!/bin/sh
said=$(printf ' <%s>' "$@")
echo "$(hostname) $MASTER_ADDR $COLOUR [$(pwd)]$said"  # at once: the hosts write to one file
case $*:$(hostname) in *fail*worker*) exit 7 ;; *fail*) sleep 300 ;; esac
"""


@pytest.mark.parametrize("dialect", in_turn(DIALECTS))
def test_torch(site: Site, dialect: str) -> None:
    """A small program takes the place of torchrun."""
    program(site, "torchrun", TORCHRUN)
    given = ("--nodes", "2", "--torchrun", "./torchrun --max-restarts=1", "train.py", "a  'b")
    site.env = {**site.env, "COLOUR": "deep blue"}
    text = made(site, "torch", dialect, *given)
    for rank, role in enumerate(("mpimaster", "mpiworker")):
        assert re.search(
            rf"^job-(\d+)-{role}-0 job-\1-mpimaster-0 deep blue \[.*\] <--max-restarts=1> <--nnodes=2> "
            rf"<--node_rank={rank}> <--nproc_per_node=1> "
            r"<--master_addr=job-\1-mpimaster-0> <--master_port=29500> <train.py> <a  'b>$",
            text,
            re.MULTILINE,
        ), text
    assert not list(site.work.glob(".torch.*"))


def test_elastic_torch(site: Site) -> None:
    """The nodes meet by torchrun's own rendezvous, at the first one."""
    program(site, "torchrun", TORCHRUN)
    given = ("--nodes", "2", "--max-restarts", "3", "--torchrun", "./torchrun", "train.py")
    text = made(site, "torch", "slurm", *given)
    for here, role in (("true", "mpimaster"), ("false", "mpiworker")):
        assert re.search(
            rf"^job-(\d+)-{role}-0 .*\] <--nnodes=2> <--max_restarts=3> <--nproc_per_node=1> <--rdzv_backend=c10d> "
            rf"<--rdzv_id=job-\1-mpimaster-0> <--rdzv_endpoint=job-\1-mpimaster-0:29500> <--rdzv_conf=is_host={here}> "
            r"<train.py>$",
            text,
            re.MULTILINE,
        ), text


@pytest.mark.parametrize("dialect", in_turn(["pbs", "lsf"]))
def test_torch_that_failed_on_one_node(site: Site, dialect: str) -> None:
    program(site, "torchrun", TORCHRUN)
    code, text = ended(site, "torch", dialect, "--nodes", "2", "--torchrun", "./torchrun", "fail")
    assert code == 7
    assert text.endswith("torchrun ended with exit code 7 on one of the nodes\n"), text


TRAIN = r"""
role=$(printf %s "$TF_CONFIG" | sed 's/.*"type": "\([a-z]*\)".*/\1/')
echo "$TF_CONFIG" >"$role.new" && mv "$role.new" "$role.json"
[ "$role" = chief ] || exec sleep 300
count=0
until [ -e worker.json ] && [ -e ps.json ] || [ $count -gt 300 ]; do sleep 0.1; count=$((count + 1)); done
"""


@pytest.mark.parametrize("dialect", in_turn(["pbs", "lsf"]))
def test_tf(site: Site, dialect: str) -> None:
    """The job ends with its chief, although worker and server sleep on. A shell script takes the place of Python's."""
    site.script("train", TRAIN)
    text = made(site, "tf", dialect, "--chief", "--workers", "1", "--ps", "1", "--python", "sh", "train")
    assert text == ""
    roles = ("chief", "worker", "ps")
    found = [json.loads(site.read(f"{role}.json")) for role in roles]
    assert [each["task"] for each in found] == [{"type": role, "index": 0} for role in roles]
    cluster = found[0]["cluster"]
    assert all(each["cluster"] == cluster for each in found)
    hosts = [re.fullmatch(r"(job-\d+-mpi[a-z]+-\d):23456", cluster[role][0]) for role in roles]
    assert all(hosts)
    assert len({host[1] for host in hosts if host}) == 3


DEEPSPEED = r"""#!/bin/sh
said=$(printf ' <%s>' "$@")
case $1 in --hostfile=*) slots=$(sed 's/.* //' "${1#*=}" | tr '\n' ' ') ;; esac
echo "$(hostname) $slots$said" # at once: the hosts write to one file
"""


@pytest.mark.parametrize("dialect", in_turn(DIALECTS))
def test_deepspeed(site: Site, dialect: str) -> None:
    """A small program takes the place of DeepSpeed's launcher."""
    program(site, "deepspeed", DEEPSPEED)
    given = ("--nodes", "2", "--processes-per-node", "3", "--deepspeed", "./deepspeed", "train.py", "a  'b")
    text = made(site, "deepspeed", dialect, *given)
    for rank, role in enumerate(("mpimaster", "mpiworker")):
        assert re.search(
            rf"^job-(\d+)-{role}-0 slots=3 slots=3  <--hostfile=\S+> <--no_ssh> <--node_rank={rank}> "
            r"<--master_addr=job-\1-mpimaster-0> <--master_port=29500> <train.py> <a  'b>$",
            text,
            re.MULTILINE,
        ), text
    assert not list(site.work.glob(".deepspeed.*"))


@pytest.mark.parametrize("dialect", in_turn(["pbs", "lsf"]))
def test_horovod(site: Site, dialect: str) -> None:
    """A shell script takes the place of Python's."""
    site.script("train", 'echo "$(hostname) $1"\nsleep 0.5\n')
    given = ("--nodes", "2", "--processes-per-node", "2", "--python", "sh", "train", "a  'b")
    text = made(site, "horovod", dialect, *given)
    lines = [re.fullmatch(r"(job-\d+-mpi\w+-0) a  'b", line) for line in text.splitlines()]
    assert all(lines), text
    assert len(lines) == 4
    assert len({line[1] for line in lines if line}) == 2


RAY = r"""#!/bin/sh
case $1 in
  start)
    me=ray.$(hostname)
    # the head takes its time, for which the others do not wait long: Ray 20 s
    case $2 in --head) sleep 1 ;; *) ls ray.job-*-mpimaster-0 >/dev/null || exit 1 ;; esac
    echo "$2 $*" >"$me.new" && mv "$me.new" "$me"
    exec sleep 300
    ;;
  status) for file in ray.job-*; do case $file in *'*' | *.new) ;; *) echo ' 1 node_1234' ;; esac; done ;;
esac
"""


@pytest.mark.parametrize("dialect", in_turn(DIALECTS))
def test_ray(site: Site, dialect: str) -> None:
    """The job ends with its program, although Ray would sleep on. Small programs take the places of Ray and Python."""
    program(site, "ray", RAY)
    site.script("train", 'echo "$RAY_ADDRESS $1"\n')
    given = ("--nodes", "2", "--cpus-per-node", "1", "--ray", "./ray", "--python", "sh", "train", "a  'b")
    text = made(site, "ray", dialect, *given)
    address = re.fullmatch(r"(job-\d+-mpimaster-0:6379) a  'b\n", text)
    assert address, text
    started = sorted(path.read_text() for path in site.work.glob("ray.job-*"))
    assert [each.split()[0] for each in started] == [f"--address={address[1]}", "--head"]
    assert "start --head --port=6379 --include-dashboard=false --num-cpus=1 --num-gpus=0" in started[1]
    assert not list(site.work.glob(".ray.*"))
