"""`hpcbatch explain` of scripts, without a cluster."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from hpcbatch.cli.common import Session
from hpcbatch.cli.explain import explain
from hpcbatch.errors import HpcBatchError, UnreachableError, UsageError

SITE = """\
apiVersion: hpcbatch.io/v1alpha1
kind: SiteConfiguration
image: example.org/mpi:1
queues:
- name: workq
  default: true
"""


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Session:
    monkeypatch.chdir(tmp_path)
    return Session({"HOME": str(tmp_path), "HPCBATCH_STATE_DIR": str(tmp_path), "PWD": str(tmp_path)})


def _explain(session: Session, *arguments: str, stdin: str = "") -> Result:
    result = CliRunner().invoke(explain, arguments, obj=session, input=stdin)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def _write(session: Session, *lines: str) -> str:
    path = Path(session.cwd, "job.sh")
    path.write_text("".join(f"{line}\n" for line in ("#!/bin/sh", *lines, "sleep 1")))
    return path.name


def test_the_shape_of_a_pbs_script(session: Session) -> None:
    script = _write(session, "#PBS -l select=2:ncpus=4:mem=8gb:ngpus=1,walltime=1:00:00", "#PBS -q long -o out.log")
    result = _explain(session, script)
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert "queue      long" in lines
    assert "pods       2 × 4 CPUs, 8Gi, 1 ngpus, 1 rank" in lines
    assert "in all     2 pods, 8 CPUs, 16Gi, 2 ngpus, 2 ranks" in lines
    assert "walltime   01:00:00" in lines
    assert f"stdout     {session.cwd}/out.log" in lines
    assert lines[-1] == "names that are the site's to know: queue long, resource ngpus"


def test_json_has_the_same(session: Session) -> None:
    result = _explain(session, "--json", _write(session, "#SBATCH -N 2 -p long --gres=gpu:1"))
    found = json.loads(result.stdout)
    assert found.keys() == {"command", "script", "fit", "options", "site", "shape", "problems", "remarks"}
    assert (found["command"], found["fit"]) == ("sbatch", True)
    assert found["shape"]["queue"] == {"asked": "long"}


def test_a_script_of_two_systems_is_read_as_the_one_with_more_lines(session: Session) -> None:
    script = _write(session, "#PBS -N a", "#PBS -l ncpus=2", "#SBATCH -n 3")
    result = _explain(session, script)
    assert "it has 2 #PBS and 1 #SBATCH lines: explained for qsub" in result.stdout
    assert "1 × 2 CPUs" in result.stdout
    assert "1 × 3 CPUs" in _explain(session, "--as", "slurm", _write(session, "#SBATCH -c 3 --ignore-pbs")).stdout


def test_what_is_wrong_is_said_and_the_exit_code_is_1(session: Session) -> None:
    result = _explain(session, _write(session, "#SBATCH --time=never"))
    assert result.exit_code == 1
    assert "sbatch: error: Invalid --time specification" in result.stderr
    assert "job.sh:2:9" in result.stderr
    found = json.loads(_explain(session, "--json", "job.sh").stdout)
    assert (found["fit"], found["shape"], len(found["problems"])) == (False, {}, 1)


def test_the_site_says_what_names_mean(session: Session) -> None:
    Path(session.cwd, "site.yaml").write_text(SITE)
    result = _explain(session, "--site", "site.yaml", _write(session, "#PBS -q long"))
    assert result.exit_code == 1
    assert "queue  long  refused  there is no such queue" in result.stdout
    assert _explain(session, "--site", "site.yaml", _write(session, "#PBS -q workq")).exit_code == 0


IGNORED = ("#PBS -l select=1:ncpus=1,filesystems=home -W group_list=g",)


@pytest.mark.parametrize("refuses", [True, False])
def test_a_site_that_refuses_what_it_would_ignore(session: Session, refuses: bool) -> None:
    Path(session.cwd, "site.yaml").write_text(SITE + ("unsupported: refuse\n" if refuses else ""))
    result = _explain(session, "--site", "site.yaml", _write(session, *IGNORED))
    fate = "refused" if refuses else "ignored"
    assert f"-W group_list=g {fate} the job has the groups" in " ".join(result.stdout.split())
    assert f"resource filesystems=home {fate} every file system" in " ".join(result.stdout.split())
    assert ("nothing of this job may be ignored" in result.stdout, result.exit_code) == (refuses, int(refuses))
    assert _explain(session, "--site", "site.yaml", _write(session, "#PBS -l ncpus=1")).exit_code == 0


def test_control_characters_reach_no_terminal(session: Session) -> None:
    Path(session.cwd, "job.sh").write_bytes(b"#!/bin/sh\n#SBATCH --time=\x1b[31m\nsleep 1\n")
    result = _explain(session, "job.sh")
    assert "\x1b" not in result.stdout + result.stderr


def test_standard_input(session: Session) -> None:
    assert "1 × 2 CPUs" in _explain(session, "-", stdin="#!/bin/sh\n#PBS -l ncpus=2\n").stdout


@pytest.mark.parametrize(
    ("arguments", "kind", "text"),
    [
        (["nosuch.sh"], HpcBatchError, "cannot read nosuch.sh: No such file or directory"),
        (
            ["plain.sh"],
            UsageError,
            "plain.sh has no lines with #BSUB or #PBS or #SBATCH: say with --as whose script it is",
        ),
        (["--as", "sge", "plain.sh"], HpcBatchError, "dialect 'sge' is not known here: expected lsf or pbs or slurm"),
        (["12"], UnreachableError, "no cluster is configured"),
    ],
)
def test_refused(session: Session, arguments: list[str], kind: type[Exception], text: str) -> None:
    Path(session.cwd, "plain.sh").write_text("#!/bin/sh\nsleep 1\n")
    with pytest.raises(kind) as error:
        _explain(session, *arguments)
    assert text in str(error.value)
