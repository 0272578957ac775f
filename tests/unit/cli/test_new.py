"""`hpcbatch new` as a user calls it; no cluster is asked."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = str(Path(sys.executable).parent / "hpcbatch")
REQUIRED = ("--nodes", "2", "--dialect", "pbs")


def new(home: Path, *argv: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [COMMAND, "new", *argv],
        cwd=home,
        env={"HOME": str(home), "LANG": "C.UTF-8", **(env or {})},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def error(home: Path, *argv: str, code: int = 2) -> str:
    """The one line that the command fails with."""
    done = new(home, *argv)
    assert (done.returncode, done.stdout) == (code, ""), done
    assert done.stderr.startswith("hpcbatch: ")
    assert done.stderr.count("\n") == 1
    return done.stderr.removeprefix("hpcbatch: ").rstrip("\n")


def test_a_script_and_its_file(tmp_path: Path) -> None:
    script = new(tmp_path, "mpi", *REQUIRED, "./a.out", "--nodes", "3").stdout
    assert script.endswith("\nmpirun ./a.out --nodes 3\n")
    done = new(tmp_path, "mpi", *REQUIRED, "-o", "job.pbs", "./a.out", "--nodes", "3")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert (tmp_path / "job.pbs").read_text() == script
    text = error(tmp_path, "mpi", *REQUIRED, "-o", "job.pbs", "./b.out", code=1)
    assert text == f"{tmp_path}/job.pbs is there already: --force overwrites it"
    assert (tmp_path / "job.pbs").read_text() == script
    assert new(tmp_path, "mpi", *REQUIRED, "-o", "job.pbs", "--force", "./b.out").returncode == 0
    assert (tmp_path / "job.pbs").read_text().endswith("\nmpirun ./b.out\n")
    text = error(tmp_path, "mpi", *REQUIRED, "-o", "no/job.pbs", "./a.out", code=1)
    assert text == f"cannot write {tmp_path}/no/job.pbs: No such file or directory"


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (("mpi", "--nodes", "2", "./a"), "template mpi: --dialect is missing: expected pbs, slurm or lsf"),
        (
            ("mpi", "--nodes", "2", "--dialect", "sge", "./a"),
            "template mpi: --dialect must be pbs, slurm or lsf, not 'sge'",
        ),
        (("mpi", "--nodes"), "template mpi: --nodes: expected a whole number from 1 to 1000000 (nodes), found nothing"),
        (("mpi", "--nodez", "2"), "template mpi has no parameter --nodez: did you mean --nodes?"),
        (
            ("mpi", *REQUIRED),
            "template mpi: PROGRAM is missing: expected a program and its arguments, printable text on",
        ),
        (
            ("mpi", *REQUIRED, "--queue", "a\n#PBS", "./a"),
            "template mpi: --queue: expected printable text on one line, f",
        ),
        (("wrf", *REQUIRED, "--ranks-per-node", "1", "x"), "template wrf: Got unexpected extra argument (x)"),
        (("mpj",), "there is no template mpj: expected one of deepspeed, horovod, mpi, ray, tf, torch, wrf"),
        (("--templates", "/nowhere", "list"), "--templates: expected a directory with templates, found '/nowhere'"),
    ],
    ids=range(9),
)
def test_errors(tmp_path: Path, argv: tuple[str, ...], message: str) -> None:
    assert error(tmp_path, *argv).startswith(message)


def test_what_qsub_and_sbatch_refuse_is_refused(tmp_path: Path) -> None:
    text = error(tmp_path, "mpi", *REQUIRED, "--name", "a b", "./a.out", code=1)
    assert text == "template mpi: qsub would refuse the script: mpi.sh:2:6: illegal -N value"


LSF = """\
#!/bin/bash
#BSUB -J "my run"
#BSUB -n 6
#BSUB -R "span[ptile=3] affinity[core(2)] rusage[mem=4096]"
#BSUB -gpu "num=1"
#BSUB -W 1:31
#BSUB -q gpu
#BSUB -P proj
#BSUB -o "my run.%J.out"

cd "$LS_SUBCWD" || exit 1

export OMP_NUM_THREADS=2

mpirun ./a.out
"""


def test_a_script_for_bsub(tmp_path: Path) -> None:
    given = ("--nodes", "2", "--ranks-per-node", "3", "--threads", "2", "--mem", "4G", "--gpus", "1", "--queue", "gpu")
    more = ("--walltime", "1:30:01", "--account", "proj", "--name", "my run", "./a.out")
    assert new(tmp_path, "mpi", "--dialect", "lsf", *given, *more).stdout == LSF


def test_a_site_s_template_for_fewer_dialects(tmp_path: Path) -> None:
    (tmp_path / "old.sh.j2").write_text("#!/bin/sh\n#SBATCH -n 1\n")
    (tmp_path / "old.yaml").write_text("description: x\n")
    text = error(tmp_path, "--templates", ".", "old", "--dialect", "lsf", code=1)
    assert text == "template old: it is not made for lsf: it writes lines with #SBATCH"


def test_list(tmp_path: Path) -> None:
    text = new(tmp_path, "list").stdout
    assert [line.partition(":")[0] for line in text.splitlines() if line and line[0] != " "] == [
        "deepspeed",
        "horovod",
        "mpi",
        "ray",
        "tf",
        "torch",
        "wrf",
    ]
    one = new(tmp_path, "list", "wrf").stdout
    assert one.startswith(
        "wrf: A WRF forecast, real.exe and then wrf.exe\n  --ranks-per-node N    MPI ranks of each node (re"
    )
    assert one in text
    (tmp_path / "mine.sh.j2").write_text("")
    done = new(tmp_path, "--templates", ".", "list")
    assert (done.returncode, done.stdout) == (1, text)
    assert done.stderr.startswith("hpcbatch: template mine: mine.yaml is missing: expected it in . or ")
    assert error(tmp_path, "list", "x").startswith("there is no template x: expected one of deepspeed, ")


def test_help_shows_the_parameters(tmp_path: Path) -> None:
    text = new(tmp_path, "wrf", "--help").stdout
    assert "--ranks-per-node N" in text
    assert "--dialect pbs|slurm|lsf" in text
    assert "torch" in new(tmp_path, "--help").stdout


def test_a_site_template(tmp_path: Path) -> None:
    place = tmp_path / "mine"
    place.mkdir()
    (place / "mpi.sh.j2").write_text("#!/bin/sh\n#PBS -l nodes={{ nodes }}\naprun {{ program | shellquote }}\n")
    for argv, env in ((("--templates", "mine"), {}), ((), {"HPCBATCH_TEMPLATES": str(place)})):
        done = new(tmp_path, *argv, "mpi", *REQUIRED, "./a b", env=env)
        assert done.stdout == "#!/bin/sh\n#PBS -l nodes=2\naprun './a b'\n"
    (place / "mpi.sh.j2").write_text("#!/bin/sh\n\n{{ colour }}\n")
    text = error(tmp_path, "--templates", "mine", "mpi", *REQUIRED, "./a", code=1)
    assert text == "template mine/mpi.sh.j2:3: 'colour' is undefined"


WRF = ("wrf", "--nodes", "1", "--ranks-per-node", "4", "--dialect", "slurm")


def test_the_run_is_checked(tmp_path: Path) -> None:
    done = new(tmp_path, *WRF)
    assert done.returncode == 0
    assert done.stderr == f"hpcbatch: the run is not checked: {tmp_path}/namelist.input: No such file or directory\n"
    (tmp_path / "run").mkdir()
    (tmp_path / "run/namelist.3km").write_text(
        "&time_control\n start_year = 2024, start_month = 1, start_day = 15, start_hour = 12,\n"
        " end_year = 2024, end_month = 1, end_day = 15, end_hour = 13, run_hours = 1,\n interval_seconds = 3600,\n/\n"
        "&domains\n time_step = 900, max_dom = 1, e_we = 62, e_sn = 52, e_vert = 36, dx = 12000, dy = 12000,\n/\n"
    )
    done = new(tmp_path, *WRF, "--namelist", "run/namelist.3km")
    assert done.returncode == 1
    assert done.stdout.startswith("#!/bin/bash\n#SBATCH --job-name=wrf\n")  # to be mended, not to be lost
    assert "namelist.3km:7: domains.time_step = 900: " in done.stderr
    assert "met_em.d01.2024-01-15_12:00:00.nc" in done.stderr
    assert "wrfinput" not in done.stderr
    assert "wrfinput_d01" in new(tmp_path, *WRF, "--skip-real", "--namelist", "run/namelist.3km").stderr


@pytest.fixture
def build(tmp_path: Path) -> Path:
    """Of WRF: programs, a table, and what its own run directory has beside them."""
    place = tmp_path / "WRF/run"
    place.mkdir(parents=True)
    for name in (
        "real.exe",
        "wrf.exe",
        "LANDUSE.TBL",
        "namelist.input",
        "README.namelist",
        "wrfout_d01_old",
        "rsl.out.0000",
    ):
        (place / name).touch()
    (tmp_path / "run").mkdir()
    (tmp_path / "run/namelist.input").write_text("&domains\n/\n")
    return tmp_path / "WRF"


def test_programs_and_tables_are_linked(tmp_path: Path, build: Path) -> None:
    run = tmp_path / "run"
    (run / "LANDUSE.TBL").write_text("one's own")
    (run / "wrf.exe").symlink_to(tmp_path / "gone")
    done = new(tmp_path, *WRF, "--namelist", "run/namelist.input", "--wrf", "WRF")
    assert f"hpcbatch: 2 links made in {run} to files of {build}/run\n" in done.stderr
    assert {path.name for path in run.iterdir()} == {"LANDUSE.TBL", "namelist.input", "real.exe", "wrf.exe"}
    assert (run / "wrf.exe").readlink() == build / "run/wrf.exe"
    assert (run / "LANDUSE.TBL").read_text() == "one's own"
    again = new(tmp_path, *WRF, "--namelist", "run/namelist.input", "--wrf", "WRF/run")
    assert "hpcbatch: 0 links made" in again.stderr
    absent = new(tmp_path, *WRF, "--namelist", "run/namelist.input", "--wrf", "/opt/none")
    assert "hpcbatch: /opt/none is not on this machine: the job makes the links\n" in absent.stderr


def test_the_job_makes_the_same_links(tmp_path: Path, build: Path) -> None:
    script = new(tmp_path, *WRF, "--namelist", "run/namelist.input", "--wrf", "WRF").stdout
    run = tmp_path / "run"
    linked = {path.name for path in run.iterdir()}
    for name in linked - {"namelist.input"}:
        (run / name).unlink()
    (run / "real.exe").symlink_to(tmp_path / "gone")
    links = script[: script.index("ulimit")]
    env = {"SLURM_SUBMIT_DIR": str(tmp_path), "PATH": "/usr/bin:/bin"}
    subprocess.run(["bash", "-c", links], env=env, check=True)
    assert {path.name for path in run.iterdir()} == linked
    assert (run / "real.exe").resolve() == build / "run/real.exe"
    lost = links.replace(str(build), str(tmp_path / "none"))
    done = subprocess.run(["bash", "-c", lost], env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, f"{tmp_path}/none: no such directory\n")


def test_maps_at_the_end(tmp_path: Path, build: Path) -> None:
    given = (*WRF, "--namelist", "run/namelist.input")
    assert "wrfmaps" not in new(tmp_path, *given).stdout
    done = new(tmp_path, *given, "--post", "--python", "/opt/python3 -s")
    assert done.stdout.endswith("\n/opt/python3 -s wrfmaps.pyz -o maps wrfout_d* || exit\n")
    assert (tmp_path / "run/wrfmaps.pyz").stat().st_mode & 0o111
    done = new(tmp_path, *WRF, "--namelist", "elsewhere/namelist.input", "--post")
    assert f"hpcbatch: {tmp_path}/elsewhere is not on this machine: nothing is put there\n" in done.stderr


@pytest.mark.parametrize(("dialect", "submit"), [("pbs", "qsub"), ("slurm", "sbatch")])
def test_a_chain(tmp_path: Path, build: Path, dialect: str, submit: str) -> None:
    given = ["wrf", "--nodes", "3", "--ranks-per-node", "4", "--dialect", dialect, "--chain", "--walltime", "1:00:00"]
    given += ["--namelist", "run/namelist.input", "--wrf", "WRF"]
    assert "template wrf: --chain: expected -o FILE" in error(tmp_path, *given)
    new(tmp_path, *given, "-o", "fore cast.sh")
    files = [f"fore cast-{part}.{dialect}" for part in ("real", "wrf", "maps")]
    assert sorted(path.name for path in tmp_path.glob("fore*")) == sorted([*files, "fore cast.sh"])
    texts = [(tmp_path / file).read_text() for file in files]
    for text, program, nodes in zip(texts, ("real.exe", "wrf.exe", "wrfmaps.pyz"), (3, 3, 1), strict=True):
        assert [name for name in ("run real.exe", "run wrf.exe", "wrfmaps.pyz") if name in text] == [
            name for name in ("run real.exe", "run wrf.exe", "wrfmaps.pyz") if name.endswith(program)
        ]
        assert re.search(rf"(select=|--nodes=){nodes}\b", text)
        subprocess.run(["bash", "-n"], input=text, text=True, check=True)
    fake = tmp_path / "bin"
    fake.mkdir()
    (fake / submit).write_text('#!/bin/sh\nfor last; do :; done\necho "$*" >>log\nwc -l <log | sed "s/$/.vm/"\n')
    (fake / submit).chmod(0o755)
    env = {"PATH": f"{fake}:/usr/bin:/bin"}
    done = subprocess.run(["sh", "fore cast.sh"], cwd=tmp_path, env=env, capture_output=True, text=True, check=True)
    assert done.stdout == "real: 1.vm\nwrf: 2.vm\nmaps: 3.vm\n"
    option = {"pbs": "-W depend=afterok:", "slurm": "--parsable --dependency=afterok:"}[dialect]
    first = "--parsable " if dialect == "slurm" else ""
    assert (tmp_path / "log").read_text().splitlines() == [
        f"{first}./{files[0]}",
        f"{option}1.vm ./{files[1]}",
        f"{option}2.vm ./{files[2]}",
    ]
    (tmp_path / files[1]).write_text("mine")
    (tmp_path / "fore cast.sh").unlink()
    text = error(tmp_path, *given, "-o", "fore cast.sh", code=1)
    assert f"fore cast-real.{dialect} is there already: --force overwrites it" in text
    assert not (tmp_path / "fore cast.sh").exists()
    new(tmp_path, *given, "--skip-real", "--force", "-o", "fore cast.sh")
    assert "real" not in (tmp_path / "fore cast.sh").read_text()
