"""Launchers inside a job of several pods: `srun`, `pbsdsh` and those of sites. More: test_runner_steps.py."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.conformance.site import Site
from tests.conformance.test_mpi import ranks_by_host, ring_in

pytestmark = pytest.mark.alone


@pytest.fixture
def ring(site: Site) -> Site:
    return ring_in(site)


def slurm_output(site: Site, script: str, *options: str) -> str:
    path = site.script("steps.sh", f"#!/bin/sh\n{script}\n")
    job = site.sbatch("-N", "3", "--ntasks-per-node=2", "-o", "steps.out", *options, path)
    record = site.wait_end(job)
    text = site.read("steps.out")
    assert record["Exit_status"] == 0, text
    return text


def pbs_output(site: Site, script: str) -> str:
    job = site.qsub(
        "-l", "select=3:ncpus=2:mpiprocs=2", "-N", "steps", "-j", "oe", stdin=f"cd $PBS_O_WORKDIR\n{script}\n"
    )
    record = site.wait_end(job)
    text = site.read(f"steps.o{job}")
    assert record["Exit_status"] == 0, text
    return text


def test_srun_starts_one_mpi_world(ring: Site) -> None:
    text = slurm_output(ring, "srun ./ring")
    assert sorted(ranks_by_host(text).values()) == [[0, 1], [2, 3], [4, 5]], text


def test_srun_starts_mpi_on_some_of_the_hosts(ring: Site) -> None:
    text = slurm_output(ring, 'srun -N 2 -n 4 ./ring; srun -x "$SLURMD_NODENAME" -n 2 ./ring')
    worlds = re.findall(r"rank (\d) of (\d) on \S+-(\S+-\d)$", text, re.MULTILINE)
    assert {host for _, size, host in worlds if size == "4"} == {"mpimaster-0", "mpiworker-0"}, text
    assert {host for _, size, host in worlds if size == "2"} == {"mpiworker-0", "mpiworker-1"}, text


def test_tasks_of_srun(site: Site) -> None:
    text = slurm_output(
        site,
        "export COLOUR='deep blue'\n"
        "srun -l --mpi=none sh -c 'echo \"$(hostname) $SLURM_NODEID $SLURM_LOCALID $COLOUR $(pwd)\"'\n"
        "srun -n 3 --mpi=none sh -c 'exit $SLURM_PROCID'; echo \"code $?\"",
    )
    lines = dict(line.split(": ", 1) for line in text.splitlines() if re.match(r"\d: ", line))
    hosts = [f"{name} {node}" for node, name in enumerate(["mpimaster-0", "mpiworker-0", "mpiworker-1"])]
    for task in range(6):
        expected = f"{hosts[task // 2]} {task % 2} deep blue {site.work}"
        assert lines[str(task)].endswith(expected), text
    assert "mpiworker-1: task 2: Exited with exit code 2\n" in text
    assert text.endswith("code 2\n")


def test_tasks_go_to_one_host_after_the_other(site: Site) -> None:
    """Also by blocks, which only says which numbers they have; packed, they fill a host: slurm_step_layout.c."""
    show = "sh -c 'echo $SLURM_PROCID:$SLURM_NODEID' | sort | tr '\\n' ' '; echo"
    ways = ("block", "cyclic", "plane=2", "block,pack")
    text = slurm_output(site, "\n".join(f"srun --mpi=none -N2 -O -n4 -m {way} {show}" for way in ways))
    assert text.splitlines() == ["0:0 1:0 2:1 3:1 ", "0:0 1:1 2:0 3:1 ", "0:0 1:0 2:1 3:1 ", "0:0 1:0 2:0 3:1 "]


def test_a_script_that_starts_an_mpi_program_is_one_world(ring: Site) -> None:
    """Although it is linked to nothing, and each task fails afterwards."""
    Path(ring.script("wrapper.sh", "#!/bin/sh\nexport COLOUR=blue\n./ring\n")).chmod(0o755)
    text = slurm_output(ring, "srun ./wrapper.sh; srun sh -c './ring; exit 3'; echo \"code $?\"")
    assert sorted(ranks_by_host(text).values()) == [[0, 0, 1, 1], [2, 2, 3, 3], [4, 4, 5, 5]], text
    assert text.count("Exited with exit code 3\n") == 6 and text.endswith("code 3\n"), text


@pytest.mark.parametrize("mpi", ["", "--mpi=none"])
@pytest.mark.slow
def test_all_tasks_read_the_input(site: Site, mpi: str) -> None:
    text = slurm_output(site, f"seq 20000 | srun {mpi} bash -c 'wc -l'")
    assert re.findall(r"^ *(\d+)$", text, re.MULTILINE) == ["20000"] * 6, text
    text = slurm_output(site, f"echo line | srun -l -i 5 {mpi} bash -c cat")
    assert re.findall(r"^\d: .*", text, re.MULTILINE) == ["5: line"], text


def test_tasks_here_and_elsewhere_write_to_one_pipe(site: Site) -> None:
    """Which ssh makes non-blocking for all that write to it."""
    text = slurm_output(site, "srun --mpi=none seq -f '%06.0f' 50000 | wc -c")
    assert text.split() == [str(6 * 50000 * 7)], text


@pytest.mark.parametrize("mpi", ["", "--mpi=none"])
@pytest.mark.slow
def test_a_task_that_fails_leaves_the_others_alone(site: Site, mpi: str) -> None:
    program = "[ $SLURM_PROCID != 3 ] || exit 3; [ $SLURM_PROCID != 4 ] || kill -9 $$; sleep 1; echo task $SLURM_PROCID"
    text = slurm_output(site, f"srun {mpi} sh -c '{program}'; echo code $?")
    assert sorted(re.findall("^task (.)$", text, re.MULTILINE)) == ["0", "1", "2", "5"], text
    assert re.search(r"^srun: error: job-\d+-mpiworker-0: task 3: Exited with exit code 3$", text, re.MULTILINE), text
    assert re.search(r"^srun: error: job-\d+-mpiworker-1: task 4: Killed$", text, re.MULTILINE), text
    assert text.endswith("code 137\n"), text


def test_what_tasks_get_of_the_environment(ring: Site) -> None:
    text = slurm_output(
        ring,
        "export COLOUR='deep blue' SIZE=big\n"
        "srun -l --mpi=none --export=COLOUR,SHAPE=round sh -c 'echo \"<$COLOUR $SHAPE $SIZE>\"'\n"
        "srun --export=NONE ./ring",
    )
    assert sorted(re.findall(r"^\d: (.*)", text, re.MULTILINE)) == ["<deep blue round >"] * 6, text
    assert sorted(ranks_by_host(text).values()) == [[0, 1], [2, 3], [4, 5]], text


def test_a_step_that_is_ended_leaves_nothing(site: Site) -> None:
    text = slurm_output(
        site,
        "srun --mpi=none sh -c 'touch begun.$SLURM_PROCID; exec sleep 987' & step=$!\n"
        'until [ "$(ls begun.* 2>/dev/null | wc -l)" = 6 ]; do sleep 0.2; done\n'
        'kill $step; wait $step; echo "code $?"\n'
        "srun -N3 -n3 --mpi=none sh -c "
        '\'for f in /proc/[0-9]*/cmdline; do tr "\\0" " " <$f | grep "^sleep 987"; done 2>/dev/null; true\'',
    )
    assert "code 143\n" in text and "sleep 987" not in text, text


def test_pbsdsh(site: Site) -> None:
    text = pbs_output(
        site,
        "export COLOUR='deep blue'\npbsdsh -- sh -c 'echo \"$(hostname) $PBS_NODENUM $COLOUR\"'\n"
        'pbsdsh -u hostname\npbsdsh -n 4 hostname\npbsdsh -n 6 hostname; echo "code $?"\n'
        "echo \"copies $(pbsdsh -c 7 -- sh -c 'echo x' | wc -l)\"\n"
        'pbs_tmrsh "$(tail -n 1 "$PBS_NODEFILE")" hostname\npbs_tmrsh elsewhere hostname; echo "code $?"\n'
        'pbs_tmrsh -n "$(head -n 1 "$PBS_NODEFILE")" -l me exit 3; echo "code $?"',
    )
    hosts = re.findall(r"^job-\d+-(\S+)$", text, re.MULTILINE)
    assert sorted(hosts[:3]) == ["mpimaster-0", "mpiworker-0", "mpiworker-1"], text
    assert hosts[3:] == ["mpiworker-1", "mpiworker-1"], text
    numbered = sorted(re.findall(r"-(mpi\w+-\d) (\d) deep blue$", text, re.MULTILINE), key=lambda found: found[1])
    assert [host for host, _ in numbered] == [h for h in ["mpimaster-0", "mpiworker-0", "mpiworker-1"] for _ in "xx"], (
        text
    )
    assert "pbsdsh: only 6 nodes available\ncode 1\n" in text
    assert 'pbs_tmrsh: host "elsewhere" is not a node in job' in text and text.endswith("code 254\ncode 3\n")
    assert "copies 7\n" in text


@pytest.mark.parametrize(
    "launcher",
    [
        "aprun -n 6 -N 2 -cc depth -b",
        "mpiexec_mpt -n 6 omplace -nt 1",
        *(pytest.param(words, marks=pytest.mark.slow) for words in ("mpiexec_mpt", "ibrun")),
    ],
)
def test_launchers_of_sites(ring: Site, launcher: str) -> None:
    text = pbs_output(ring, f"{launcher} ./ring")
    assert sorted(ranks_by_host(text).values()) == [[0, 1], [2, 3], [4, 5]], text


def test_more_tasks_than_there_is_room_for(ring: Site) -> None:
    text = pbs_output(ring, 'ibrun -n 4 -o 2 ./ring; mpiexec_mpt -n 7 ./ring; echo "code $?"')
    assert "rank 3 of 4 on" in text and not re.search(r" on job-\d+-mpimaster", text), text
    assert text.endswith("mpiexec_mpt: error: 7 tasks asked for, the job's hosts have room for 6\ncode 1\n")


def test_programs_before_and_after_each_task_and_a_copy_of_the_program(site: Site) -> None:
    """On all hosts: --task-prolog, --task-epilog, --bcast into a directory that each host has for itself."""
    for name, text in (
        ("before", 'echo "export WHERE=$(hostname)"'),
        ("after", "touch after.$SLURM_PROCID"),
        ("program", 'echo "$0 $WHERE $(hostname)"'),
    ):
        Path(site.script(name, f"#!/bin/sh\n{text}\n")).chmod(0o755)
    text = slurm_output(
        site,
        "copy=/tmp/copy.$SLURM_JOB_ID\n"
        "srun --mpi=none --task-prolog=before --task-epilog=./after --bcast=$copy ./program\n"
        'echo "$(ls after.* | tr "\\n" " ")"\n'
        "srun --mpi=none -N3 -n3 rm -f $copy",
    )
    lines = [line.split() for line in text.splitlines()]
    assert lines[6:] == [[f"after.{task}" for task in range(6)]], text
    assert all(copy.startswith("/tmp/copy.") and seen == host for copy, seen, host in lines[:6]), text
    assert {host.split("-", 2)[2] for _, _, host in lines[:6]} == {"mpimaster-0", "mpiworker-0", "mpiworker-1"}, text
