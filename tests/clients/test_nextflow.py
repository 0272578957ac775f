"""What Nextflow's executors slurm, pbspro and lsf give to a shell, replayed: Maven Central did not give Nextflow.

The words are those of SlurmExecutor, PbsExecutor, PbsProExecutor and GridTaskHandler in Nextflow 26.08, and of
LsfExecutor as it is since it has arrays of tasks. The job script
is ours: it has the executors' header, and does to its task what theirs does.
"""

from __future__ import annotations

import os
import pwd
import re
from pathlib import Path

import pytest

from tests.conformance.site import Site
from tests.waiting import wait_for

USER = pwd.getpwuid(os.getuid()).pw_name
SCRIPT = """\
#!/bin/bash
{header}
NXF_CHDIR={work}
set -e
set -u
on_exit() {{ code=$?; printf -- $code > .exitcode; exit $code; }}
on_term() {{ set +e; kill $pid; }}
trap on_exit EXIT
trap on_term TERM INT USR2
trap '' USR1
cd "$NXF_CHDIR"{member}
: > .command.begin
(set -o pipefail; /bin/bash -ue .command.sh | tee .command.out) &
pid=$!
wait $pid
"""
HEADER = {
    "slurm": (
        "#SBATCH -J {name}",
        "#SBATCH -o {log}",
        "#SBATCH --no-requeue",
        "#SBATCH --signal B:USR2@30",
        "#SBATCH -c 2",
        "#SBATCH -t 00:05:00",
        "#SBATCH --mem 300M",
        "#SBATCH -p default",
    ),
    "pbspro": (
        "#PBS -N {name}",
        "#PBS -o {log}",
        "#PBS -j oe",
        "#PBS -q default",
        "#PBS -l select=1:ncpus=2:mem=300mb",
        "#PBS -l walltime=00:05:00",
    ),
    "lsf": (
        "#BSUB -o {log}",
        "#BSUB -q default",
        "#BSUB -n 2",
        '#BSUB -R "span[hosts=1]"',
        "#BSUB -W 00:05",
        "#BSUB -M 153600",
        '#BSUB -R "select[mem>=307200] rusage[mem=300]"',
        "#BSUB -J {name}",
    ),
}
ARRAY = {"slurm": "#SBATCH --array 0-1", "pbspro": "#PBS -J 0-1", "lsf": ""}
INDEX = {"slurm": "$SLURM_ARRAY_TASK_ID", "pbspro": "$PBS_ARRAY_INDEX", "lsf": "$((LSB_JOBINDEX - 1))"}
SUBMIT = {"slurm": "sbatch .command.run", "pbspro": "qsub -N nf-{name} .command.run", "lsf": "bsub < .command.run"}
ANSWER = {"slurm": r"Submitted batch job (\d+)", "pbspro": r"^(\S+)\n$", "lsf": r"Job <(\d+)> is submitted"}
KILL = {"slurm": "scancel", "pbspro": "qdel", "lsf": "bkill"}
SERVERS = "$( qstat -B -f | awk -v ORS=' ' '$1 == \"Server:\" {print \"@\"$2}' )"
QSTAT = "set -o pipefail; qstat -f %s | { grep -E '(Job Id:|job_state =)' || true; }"
RUNS = {"slurm": {"R", "CG"}, "pbspro": {"R", "E"}, "lsf": {"RUN"}}


class Executor:
    """A task has a folder; the file .exitcode in it says that it has ended."""

    def __init__(self, site: Site, system: str) -> None:
        self._site, self._system = site, system

    def submit(self, name: str, command: str, *, array: bool = False) -> tuple[str, Path]:
        work = self._site.work / name
        for each in (work / "0", work / "1") if array else (work,):
            each.mkdir(parents=True)
            (each / ".command.sh").write_text(command)
        log = "/dev/null" if array else str(work / ".command.log")
        header = [line.format(name=f"nf-{name}", log=log) for line in HEADER[self._system]]
        if array:
            header.insert(0, ARRAY[self._system])
            if self._system == "lsf":
                header[-1] = f'#BSUB -J "nf-{name}[1-2]"'
        member = f"/{INDEX[self._system]}" if array else ""
        (work / ".command.run").write_text(SCRIPT.format(header="\n".join(header), work=work, member=member))
        submit = SUBMIT[self._system].format(name=name)
        answer = self._site.run("/bin/bash", "-c", f"cd {work} && {submit}").stdout
        found = re.search(ANSWER[self._system], answer)
        assert found, answer
        return found[1], work

    def states(self, queue: str = "") -> dict[str, str]:
        """By id, of the jobs of a queue or of all."""
        if self._system == "slurm":
            partition = ("-p", queue) if queue else ()
            all_ = ("squeue", "--noheader", "-o", "%i %t", "-t", "all", *partition, "-u", USER)
            return dict(line.split() for line in self._site.run(*all_).stdout.splitlines())
        if self._system == "lsf":
            named = ("-q", queue) if queue else ()
            lines = self._site.run("bjobs", "-w", *named, check=False).stdout.splitlines()
            columns = lines[0].split() if lines else []
            return {line.split()[columns.index("JOBID")]: line.split()[columns.index("STAT")] for line in lines[1:]}
        answer = self._site.run("/bin/bash", "-c", QSTAT % (queue or SERVERS)).stdout
        return dict(re.findall(r"^Job Id: (\S+)\n\s*job_state = (\w)$", answer, re.M))

    def kill(self, *jobs: str) -> None:
        self._site.run(KILL[self._system], *jobs)

    def member(self, job: str, index: int) -> str:
        if self._system == "slurm":
            return f"{job}_{index}"
        return f"{job}[{index + 1}]" if self._system == "lsf" else job.replace("[]", f"[{index}]")


def exit_code(work: Path) -> str:
    path = work / ".exitcode"
    return wait_for(f"{path}", lambda: path.exists() and path.read_text(), 90)


@pytest.mark.parametrize("system", ["slurm", "pbspro", "lsf"])
def test_tasks(site: Site, system: str) -> None:
    executor = Executor(site, system)
    (_, good), (_, bad) = executor.submit("good", "echo hello\n"), executor.submit("bad", "exit 3\n")
    long, killed = executor.submit("long", "sleep 600\n")
    assert (exit_code(good), (good / ".command.out").read_text()) == ("0", "hello\n")
    assert exit_code(bad) == "3"
    wait_for("the start", (killed / ".command.begin").exists)
    wait_for("its state", lambda: executor.states("default").get(long) in RUNS[system])
    assert executor.states()[long] in RUNS[system]
    executor.kill(long)
    assert exit_code(killed) == "143"
    wait_for("its end", lambda: executor.states("default").get(long) not in RUNS[system])
    wait_for("its output", lambda: (good / ".command.log").exists() and (good / ".command.log").read_text())
    assert (good / ".command.log").read_text().splitlines()[0] == "hello"  # with LSF's report below


@pytest.mark.parametrize("system", ["slurm", "pbspro", "lsf"])
def test_array_of_tasks(site: Site, system: str) -> None:
    executor = Executor(site, system)
    job, work = executor.submit("array", "echo $PWD\n", array=True)
    for index in "01":
        assert exit_code(work / index) == "0"
        assert (work / index / ".command.out").read_text() == f"{work / index}\n"
    job, work = executor.submit("long", "sleep 600\n", array=True)
    for index in "01":
        wait_for("the start", (work / index / ".command.begin").exists)
    executor.kill(executor.member(job, 0), executor.member(job, 1))
    assert [exit_code(work / index) for index in "01"] == ["143", "143"]
