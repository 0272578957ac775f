"""What a script finds when it runs: variables, host lists, directory, arguments, byte for byte."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.conformance.site import Site

# Recorded from OpenPBS 23.06.06 (a job of one chunk without -V); MANPATH, OLDPWD, SHLVL, _ are the shell's.
PBS_NAMES = """ENVIRONMENT HOME LOGNAME NCPUS OMP_NUM_THREADS PATH PBS_ENVIRONMENT PBS_JOBDIR PBS_JOBID PBS_JOBNAME
PBS_MOMPORT PBS_NODEFILE PBS_NODENUM PBS_O_HOME PBS_O_HOST PBS_O_LANG PBS_O_LOGNAME PBS_O_PATH PBS_O_QUEUE PBS_O_SHELL
PBS_O_SYSTEM PBS_O_WORKDIR PBS_QUEUE PBS_TASKNUM PWD SHELL TMPDIR USER FOO""".split()
# Recorded from Slurm 22.05.8; NODE_ALIASES, CONF, TOPOLOGY_*, WORKING_CLUSTER name parts of a Slurm that is not here.
SLURM_NAMES = """ENVIRONMENT HOSTNAME PWD SLURMD_NODENAME SLURM_CLUSTER_NAME SLURM_CPUS_ON_NODE SLURM_GTIDS SLURM_JOBID
SLURM_JOB_CPUS_PER_NODE SLURM_JOB_GID SLURM_JOB_ID SLURM_JOB_NAME SLURM_JOB_NODELIST SLURM_JOB_NUM_NODES
SLURM_JOB_PARTITION SLURM_JOB_QOS SLURM_JOB_UID SLURM_JOB_USER SLURM_LOCALID SLURM_NNODES SLURM_NODEID SLURM_NODELIST
SLURM_PRIO_PROCESS SLURM_PROCID SLURM_SUBMIT_DIR SLURM_SUBMIT_HOST SLURM_TASKS_PER_NODE SLURM_TASK_PID TMPDIR""".split()


def variables(text: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in text.splitlines() if "=" in line)


def test_pbs_environment(site: Site) -> None:
    site.script("env.pbs", "#!/bin/sh\nenv\n")
    job = site.qsub(
        "-l", "select=1:ncpus=2:mpiprocs=2", "-v", "FOO=b ar", "-k", "oed", "-N", "envy", "env.pbs", env={"LANG": "C"}
    )
    site.wait_end(job)
    env = variables(site.read(f"envy.o{job}"))
    assert [name for name in PBS_NAMES if name not in env] == []
    assert env["FOO"] == "b ar"
    assert env["PBS_JOBID"] == f"{job}.{site.server}"
    assert (env["PBS_JOBNAME"], env["PBS_QUEUE"], env["PBS_O_WORKDIR"]) == ("envy", "default", str(site.work))
    assert (env["NCPUS"], env["OMP_NUM_THREADS"], env["PBS_NP"]) == ("2", "2", "2")
    assert not [name for name in env if name.startswith("SLURM_")]


def test_directories_of_path_stay_in_their_order(site: Site) -> None:
    """Where a login shell's /etc/profile sets PATH anew, too: of two programs of one name the first is meant."""
    mine = site.work / "mine"
    mine.mkdir()
    owner = site.work.stat()
    (mine / "uname").write_text("#!/bin/sh\necho mine\n")
    (mine / "uname").chmod(0o755)
    os.chown(mine, owner.st_uid, owner.st_gid)
    path = site.env["PATH"]
    for name, given, expected in (("last", f"{path}:{mine}", "Linux"), ("first", f"{mine}:{path}", "mine")):
        pbs = site.qsub("-V", "-j", "oe", "-o", f"{name}.pbs", stdin="uname\n", env={"PATH": given})
        slurm = site.sbatch("-o", f"{name}.slurm", "--wrap", "uname", env={"PATH": given})
        for job, output in ((pbs, f"{name}.pbs"), (slurm, f"{name}.slurm")):
            site.wait_end(job)
            assert site.read(output) == f"{expected}\n"


def test_slurm_environment(site: Site) -> None:
    site.script("env.sh", "#!/bin/sh\nenv\n")
    job = site.sbatch("-n", "2", "-c", "1", "--mem=500", "-J", "envy", "env.sh", env={"FOO": "a b"})
    site.wait_end(job)
    env = variables(site.read(f"slurm-{job}.out"))
    assert [name for name in SLURM_NAMES if name not in env] == []
    assert env["FOO"] == "a b"
    assert (env["SLURM_NTASKS"], env["SLURM_NPROCS"], env["SLURM_CPUS_PER_TASK"]) == ("2", "2", "1")
    assert (env["SLURM_MEM_PER_NODE"], env["SLURM_JOB_ID"], env["SLURM_JOB_PARTITION"]) == ("500", job, "default")
    assert not [name for name in env if name.startswith("PBS_")]


def test_get_user_env(site: Site) -> None:
    """As JupyterHub's batchspawner submits: the login environment below what is sent along."""
    site.script(
        "hub.sh", "#!/bin/bash\n#SBATCH --get-user-env=L\n#SBATCH --export=FOO\necho $SLURM_GET_USER_ENV $FOO $BAR\n"
    )
    job = site.sbatch("-o", "hub.out", "hub.sh", env={"FOO": "sent", "BAR": "not sent"})
    site.wait_end(job)
    assert site.read("hub.out") == "1 sent\n"


def test_nodefile_has_a_line_for_each_rank(site: Site) -> None:
    job = site.qsub(
        "-l",
        "select=2:ncpus=1:mpiprocs=2+1:ncpus=2",
        "-l",
        "place=scatter",
        "-N",
        "nodes",
        "-j",
        "oe",
        stdin="cat $PBS_NODEFILE; hostname\n",
    )
    site.wait_end(job)
    *lines, me = site.read(f"nodes.o{job}").split()
    first, second, third = dict.fromkeys(lines)
    assert lines == [first, first, second, second, third]
    assert me == first


def test_hosts_of_the_job_answer_ssh(site: Site) -> None:
    job = site.qsub(
        "-l",
        "select=3:ncpus=1",
        "-N",
        "ssh",
        "-j",
        "oe",
        stdin="for h in $(cat $PBS_NODEFILE); do ssh $h hostname; done\ncat $PBS_NODEFILE\n",
    )
    site.wait_end(job)
    lines = site.read(f"ssh.o{job}").split()
    assert len(lines) == 6, lines
    assert lines[:3] == lines[3:]


@pytest.mark.parametrize("interpreter", ["/bin/sh", "/bin/bash", "/usr/bin/env perl"])
def test_script_runs_under_the_interpreter_it_names(site: Site, interpreter: str) -> None:
    text = 'print scalar @ARGV, " @ARGV\\n"' if "perl" in interpreter else 'echo "$#" "$@"'
    site.script("job", f"#!{interpreter}\n{text}\n")
    job = site.sbatch("-o", "out", "job", "a b", "$HOME")
    site.wait_end(job)
    assert site.read("out") == "2 a b $HOME\n"


def test_environment_arrives_byte_for_byte(site: Site) -> None:
    value = "line 1\nline 2 'quoted' \"double\" $HOME `id` \\ \t* ü €"
    site.script("show", '#!/bin/sh\nprintf %s "$ODD"\n')
    job = site.sbatch("-o", "odd", "show", env={"ODD": value})
    site.wait_end(job)
    assert site.read("odd") == value


def test_bash_functions_travel_with_V(site: Site) -> None:
    job = site.qsub(
        "-V",
        "-S",
        "/bin/bash",
        "-N",
        "fun",
        "-j",
        "oe",
        stdin="greet you\n",
        env={"BASH_FUNC_greet%%": "() { echo hello $1; }"},
    )
    site.wait_end(job)
    assert site.read(f"fun.o{job}") == "hello you\n"


def test_module_load_without_modules_does_no_harm_and_is_told_once(site: Site) -> None:
    site.script(
        "job",
        "#!/bin/bash\nset -e\nmodule purge\nmodule load intel/19 netcdf\nmodule load intel/19\nml list\necho on\n",
    )
    jobs = [site.sbatch("-o", "slurm.out", "job"), site.qsub("-N", "mod", "-j", "oe", "job")]
    for job, name in zip(jobs, ("slurm.out", f"mod.o{jobs[1]}"), strict=True):
        site.wait_end(job)
        lines = site.read(name).splitlines()
        assert [line.split(": ")[2] for line in lines[:2]] == ["intel/19", "netcdf"], lines
        assert all("not in this site's table of modules" in line for line in lines[:2]), lines
        assert lines[2:] == ["No Modulefiles Currently Loaded.", "on"], lines


def test_start_directory(site: Site) -> None:
    pbs = site.qsub("-N", "where", "-j", "oe", stdin="pwd\n")
    slurm = site.sbatch("-o", "here", "--wrap", "pwd")
    moved = site.sbatch("-o", f"{site.work}/there", "-D", "/usr", "--wrap", "pwd")
    text = "#PBS -W sandbox=PRIVATE\npwd; echo $PBS_JOBDIR; ls -A; touch new\n"
    private = site.qsub("-N", "own", "-j", "oe", stdin=text)
    for job in (pbs, slurm, moved, private):
        site.wait_end(job)
    assert site.read(f"where.o{pbs}").strip() == site.env["HOME"]
    assert site.read("here").strip() == str(site.work)
    assert site.read("there").strip() == "/usr"
    own, *others = site.read(f"own.o{private}").split()
    assert (own.rpartition("/")[0], others) == (site.env["HOME"], [own])
    assert own.rpartition("/")[2].startswith(f"pbs.{private}.")
    assert not Path(own).exists()


def test_script_deleted_after_submission_still_runs(site: Site) -> None:
    script = site.script("gone.sh", "#!/bin/sh\necho still here\n")
    job = site.sbatch("--hold", "-o", "out", "gone.sh")
    (site.work / script).unlink()
    site.run("scontrol", "release", job)
    site.wait_end(job)
    assert site.read("out") == "still here\n"


def test_values_of_variables_are_in_no_record(site: Site) -> None:
    """All users may read records; and what is made for the pods, those who see the namespace."""
    word, script = "hidden-word-7", 'echo "$PW,$OTHER,$SLURM_EXPORT_ENV"'
    directives = site.script("secret.sh", f"#PBS -v PW={word}\n{script}\n")
    first = site.qsub(
        "-h", "-o", "1.out", "-j", "oe", "-v", f"A,PW={word},OTHER='a,{word}'", stdin=f"{script}\n", env={"A": "1"}
    )
    second = site.qsub("-h", "-o", "2.out", "-j", "oe", directives)
    third = site.sbatch("-H", "-o", "3.out", f"--export=ALL,PW={word},'OTHER=a,b'", "--wrap", script)
    jobs = (first, second, third)
    assert word not in site.kubectl("get", "batchjobs,configmaps,jobs.batch.volcano.sh", "-o", "json").stdout
    shown = site.attributes(first)
    assert "-v A,PW=***,OTHER=*** " in shown["Submit_arguments"] + " "
    assert shown["Variable_List"]["PW"] == word  # to its owner, who may read the Secret
    site.run("qrls", first, second)
    site.run("scontrol", "release", third)
    for job in jobs:
        site.wait_end(job)
    assert word not in site.kubectl("get", "batchjobs,configmaps,jobs.batch.volcano.sh,pods", "-o", "json").stdout
    assert word not in "".join(site.run("qstat", "-x", "-f", job).stdout for job in jobs)
    assert [site.read(f"{n}.out") for n in (1, 2, 3)] == [
        f"{word},a,{word},\n",
        f"{word},,\n",
        f"{word},a,b,ALL,PW={word},'OTHER=a,b'\n",
    ]
