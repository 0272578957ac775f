"""The ways to hand in a job, which of script, environment and command line wins, and the words of the answer."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest

from tests.conformance.site import Site

SHOW = 'echo "$#:$*"\n'
PBS_LINES = """#!/bin/sh
#PBS -h -N directive -l walltime=0:05:00
#PBS -l mem=64mb -p 7
#OTHER -N prefixed
true
#PBS -p 9
"""
SLURM_LINES = """#!/bin/sh
#SBATCH -H -J directive -t 5
#SBATCH --comment='a b' -A script
true
#SBATCH -t 9
"""


def test_qsub_takes_a_file_standard_input_or_a_command(site: Site) -> None:
    site.script("job.sh", SHOW)
    jobs = {
        "job.sh": (site.qsub("-j", "oe", "job.sh"), "0:\n"),
        "STDIN": (site.qsub("-j", "oe", stdin=SHOW), "0:\n"),
        "dash": (site.qsub("-N", "dash", "-j", "oe", "-", stdin=SHOW), "0:\n"),
        "words": (site.qsub("-N", "words", "-j", "oe", "--", "/bin/echo", "a  b", "$HOME", "*"), "a  b $HOME *\n"),
    }
    for name, (job, said) in jobs.items():
        assert site.wait_end(job)["Job_Name"] == name
        assert site.read(f"{name}.o{job}") == said


def test_qsub_takes_options_of_torque(site: Site) -> None:
    site.run("mkdir", "there")
    script = (
        '#PBS -N one -j oe -d there\n#PBS -F "a \'b c\'"\n#PBS -W group_list=g -c s\nbasename "$PWD"; echo "$#:$*"\n'
    )
    job = site.qsub(stdin=script)
    site.wait_end(job)
    assert site.read(f"one.o{job}") == "there\n2:a b c\n"
    array = site.run("qsub", "-t", "2,4", "-N", "many", "-j", "oe", "-l", "procs=1", stdin="echo $PBS_ARRAYID\n").stdout
    number = array.partition("[")[0]
    for index in (2, 4):
        site.wait_end(f"{number}[{index}]")
        assert site.read(f"many.o{number}.{index}") == f"{index}\n"


def test_qsub_reports_all_that_is_wrong(site: Site) -> None:
    site.script("job.sh", "#!/bin/sh\n#PBS -N a/b\n#PBS -l walltime=x\ntrue\n")
    done = site.run("qsub", "-p", "x", "job.sh", check=False)
    assert (done.returncode, done.stdout) == (166, "")
    assert [line for line in done.stderr.splitlines() if line.startswith("qsub: ")] == [
        "qsub: Illegal attribute or resource value Resource_List.walltime",
        "qsub: job.sh:3:6: refused here",
        "qsub: illegal -N value",
        "qsub: job.sh:2:6: refused here",
        "qsub: illegal -p value",
    ]


WRONG = {
    "argument": ["job.sh", "argument"],
    "option after the script": ["job.sh", "-N", "late"],
    "no command": ["--"],
}


@pytest.mark.parametrize("argv", WRONG.values(), ids=WRONG)
def test_qsub_says_how_it_is_used(site: Site, argv: list[str]) -> None:
    site.script("job.sh", "true\n")
    done = site.run("qsub", *argv, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("usage: qsub [-a date_time]")


def test_qsub_answers_with_the_id_alone(site: Site) -> None:
    done = site.run("qsub", "-h", stdin="true\n")
    assert re.fullmatch(rf"\d+\.{re.escape(site.server)}\n", done.stdout)
    assert done.stderr == ""
    quiet = site.run("qsub", "-h", "-z", stdin="true\n")
    assert (quiet.stdout, quiet.stderr) == ("", "")


def test_the_command_line_wins_over_pbs_directives(site: Site) -> None:
    site.script("job.sh", PBS_LINES)
    plain = site.attributes(site.qsub("job.sh"))
    assert (plain["Job_Name"], plain["Priority"], plain["Resource_List"]["walltime"]) == ("directive", 7, "00:05:00")
    given = site.attributes(site.qsub("-N", "given", "-l", "walltime=60", "job.sh"))
    assert (given["Job_Name"], given["Priority"], given["Resource_List"]["walltime"]) == ("given", 7, "00:01:00")
    assert given["Resource_List"]["mem"] == "64mb"


def test_the_prefix_of_pbs_directives(site: Site) -> None:
    site.script("job.sh", "#!/bin/sh\n#PBS -N common\n#OTHER -N other\n#THIRD -N third\ntrue\n")
    other = {"PBS_DPREFIX": "#OTHER"}
    names = [
        site.attributes(job)["Job_Name"]
        for job in (
            site.qsub("-h", "job.sh"),
            site.qsub("-h", "job.sh", env=other),
            site.qsub("-h", "-C", "#THIRD", "job.sh", env=other),
            site.qsub("-h", "-C", "", "job.sh"),
        )
    ]
    assert names == ["common", "other", "third", "job.sh"]


def test_sbatch_takes_a_file_standard_input_or_a_command(site: Site) -> None:
    site.script("job.sh", f"#!/bin/sh\n{SHOW}")
    jobs = {
        "job.sh": (site.sbatch("-o", "file", "job.sh", "a  b", "-n", "$HOME"), "file", "3:a  b -n $HOME\n"),
        "sbatch": (site.sbatch("-o", "stdin", stdin=f"#!/bin/sh\n{SHOW}"), "stdin", "0:\n"),
        "wrap": (site.sbatch("-o", "wrap", "--wrap", "echo one; echo two"), "wrap", "one\ntwo\n"),
    }
    for name, (job, file, said) in jobs.items():
        site.wait_end(job)
        assert f"JobId={job} JobName={name}\n" in site.run("scontrol", "show", "job", job).stdout
        assert site.read(file) == said


NO_SCRIPT = (
    "This does not look like a batch script.  The first",
    "line must start with #! followed by the path to an interpreter.",
    "For instance: #!/bin/sh",
)
DOS = ("Batch script contains DOS line breaks (\\r\\n)", "instead of expected UNIX line breaks (\\n).")
REFUSED = [
    pytest.param([], "echo hi\n", NO_SCRIPT, id="no #!"),
    pytest.param([], "", ["Batch script is empty!"], id="empty"),
    pytest.param([], " \n\t\n", ["Batch script contains only whitespace!"], id="blanks"),
    pytest.param([], "#!/bin/sh\r\ntrue\r\n", DOS, id="DOS"),
    pytest.param(["--wrap", "x", "y"], "", ["Script arguments not permitted with --wrap option"], id="wrap and script"),
]


@pytest.mark.parametrize(("argv", "stdin", "lines"), REFUSED)
def test_sbatch_refuses(site: Site, argv: list[str], stdin: str, lines: Sequence[str]) -> None:
    done = site.run("sbatch", *argv, stdin=stdin, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "".join(f"sbatch: error: {line}\n" for line in lines)


def test_sbatch_answers(site: Site) -> None:
    done = site.run("sbatch", "-H", "--wrap", "true")
    assert re.fullmatch(r"Submitted batch job \d+\n", done.stdout)
    assert done.stderr == ""
    assert re.fullmatch(r"\d+\n", site.run("sbatch", "-H", "--parsable", "--wrap", "true").stdout)
    assert site.run("sbatch", "-H", "-Q", "--wrap", "true").stdout == ""


def test_command_line_over_environment_over_sbatch_directives(site: Site) -> None:
    site.script("job.sh", SLURM_LINES)
    variables = {"SBATCH_JOB_NAME": "variable", "SBATCH_TIMELIMIT": "6"}
    jobs = {
        site.sbatch("job.sh"): "directive 5:00 script\n",
        site.sbatch("job.sh", env=variables): "variable 6:00 script\n",
        site.sbatch("-t", "7", "job.sh", env=variables | {"SBATCH_ACCOUNT": "env"}): "variable 7:00 env\n",
    }
    for job, shown in jobs.items():
        assert site.run("squeue", "-h", "-j", job, "-o", "%j %l %a").stdout == shown


def test_memory_of_processes(site: Site) -> None:
    """As HTCondor's BLAHP asks Torque for memory."""
    script = "#!/bin/sh\n#PBS -l nodes=1:ppn=2\n#PBS -l pmem=100mb\n#PBS -l pvmem=200mb\ntrue\n"
    done = site.run("qsub", "-h", stdin=script)
    job = done.stdout.partition(".")[0]
    asked = site.attributes(job)["Resource_List"]
    site.run("qdel", job)
    assert (asked["mem"], asked["pmem"], asked["pvmem"]) == ("204800kb", "100mb", "200mb")
    assert done.stderr == ""
