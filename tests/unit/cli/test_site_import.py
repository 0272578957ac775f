"""`hpcbatch site import` as an admin calls it; docs/site-import.md has the example."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from hpcbatch.cli.hpcbatch import main
from hpcbatch.site.file import read_config

PAGE = (Path(__file__).parents[3] / "docs/site-import.md").read_text()
CONF = "ClusterName=pine\nInclude parts/nodes.conf\nPartitionName=work Nodes=ALL Default=YES MaxTime=60\n"
NODES = "NodeName=n[1-2] CPUs=4 Feature=ib\n"
COUNTS = (
    "7 settings carried over; 0 not, or not exactly, each with its reason above and in the file; 1 need no counterpart"
)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "slurm.conf").write_text(CONF)
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts/nodes.conf").write_text(NODES)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *argv: str) -> tuple[int, str, str]:
    """The exit code, standard output and standard error."""
    monkeypatch.setattr(sys, "argv", ["hpcbatch", "site", "import", *argv])
    with pytest.raises(SystemExit) as ended:
        main()
    out, err = capsys.readouterr()
    return int(ended.value.code or 0), out, err


def test_the_documented_example(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    given, written = (re.search(rf"```{kind}\n(.*?)```", PAGE, re.DOTALL) for kind in ("text", "yaml"))
    told = re.search(r"```console\n\$ hpcbatch site import (.*?)\n(.*?)```", PAGE, re.DOTALL)
    assert given and written and told
    (home / "slurm.conf").write_text(given[1])
    code, out, err = run(capsys, monkeypatch, *told[1].split())
    assert (code, out, err) == (0, "", told[2])
    assert (home / "site.yaml").read_text() == written[1]


def test_a_file_with_its_includes(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    code, out, err = run(capsys, monkeypatch, "slurm.conf", "--image", "mpi:1")
    assert (code, err) == (0, f"hpcbatch: {COUNTS}\n")
    assert read_config(out).node_properties == {"ib": {"hpcbatch.io/feature-ib": "true"}}
    assert read_config(out).image == "mpi:1"


def test_a_folder(home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """An included file is read once; what is nobody's file is named, or not text at all."""
    (home / "slurm.conf").write_text(CONF.replace("parts/", "/etc/slurm/"))
    (home / "nodes.conf").write_text(NODES)
    (home / "cgroup.conf").write_text("ConstrainCores=yes\n")
    (home / "core").write_bytes(b"\x7fELF\xff")
    code, out, err = run(capsys, monkeypatch, str(home), "--image", "mpi:1")
    assert (code, err) == (0, f"hpcbatch: {home}/cgroup.conf: not recognised, and left out\nhpcbatch: {COUNTS}\n")
    assert read_config(out).queues[0].max_walltime_s == 3600


def test_the_file_is_written_at_the_end(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    target = home / "site.yaml"
    (home / "parts/nodes.conf").write_text("NodeName=n[1- CPUs=4\nNodeName=n3 Gres=(\n")
    code, out, err = run(capsys, monkeypatch, "slurm.conf", "-o", "site.yaml")
    assert (code, out) == (1, "")
    assert err == (
        "hpcbatch: parts/nodes.conf:1: NodeName=n[1-: expected a host list such as n[01-20]\n"
        "hpcbatch: parts/nodes.conf:2: Gres=(: expected generic resources such as gpu:a100:4\n"
    )
    assert not target.exists()
    (home / "parts/nodes.conf").write_text(NODES)
    code, out, err = run(capsys, monkeypatch, "slurm.conf", "-o", "site.yaml")
    assert (code, out) == (0, "")
    assert err.endswith("hpcbatch: the image is a placeholder: give --image, or replace it in the file\n")
    text = target.read_text()
    code, out, err = run(capsys, monkeypatch, "slurm.conf", "-o", "site.yaml", "--image", "mpi:1")
    assert (code, out, err) == (1, "", "hpcbatch: site.yaml is there already: --force overwrites it\n")
    assert target.read_text() == text
    assert run(capsys, monkeypatch, "slurm.conf", "-o", "site.yaml", "--image", "mpi:1", "--force")[0] == 0
    assert "image: mpi:1\n" not in text != target.read_text()


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (("none.conf",), "cannot read none.conf: No such file or directory"),
        (("empty",), "empty: no file of Slurm, PBS or LSF in this folder"),
        (("other.txt",), "other.txt: not recognised; expected slurm.conf, gres.conf, scontrol show partition or"),
        (("void.sh",), "void.sh: no setting found"),
        (("lost.conf",), "lost.conf:2: Include gone.conf: no such file, nor one of that name in ."),
        (("latin.conf",), "cannot read latin.conf: it is not UTF-8 text"),
        (("slurm.conf", "-o", "no/site.yaml"), "cannot write no/site.yaml: No such file or directory"),
        (("slurm.conf", "--image", "No Image"), "nothing is written: the site's file would have these errors"),
    ],
)
def test_errors(
    home: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    argv: tuple[str, ...],
    message: str,
) -> None:
    (home / "empty").mkdir()
    (home / "other.txt").write_text("hello\n")
    (home / "void.sh").write_text("set server\nlist server\n")
    (home / "lost.conf").write_text("ClusterName=a\nInclude gone.conf\n")
    (home / "latin.conf").write_bytes("ClusterName=é\n".encode("latin-1"))
    code, out, err = run(capsys, monkeypatch, *argv)
    assert (code, out) == (1, "")
    assert err.splitlines()[-1].startswith(f"hpcbatch: {message}")


DUMP = "Cluster - 'pine':Fairshare=1\nParent - 'root'\nAccount - 'physics':Description='p'\n"


def test_accounts_can_be_checked(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "dump.cfg").write_text(DUMP)
    _, out, _ = run(capsys, monkeypatch, "dump.cfg", "--image", "mpi:1", "--check-accounts")
    first, last = read_config(out).translations
    assert (first.pattern, first.renamed) == ("physics", "physics")
    assert (last.pattern, last.refused) == ("*", "this site has no such account")
    _, out, _ = run(capsys, monkeypatch, "dump.cfg", "--image", "mpi:1")
    assert read_config(out).translations == ()
