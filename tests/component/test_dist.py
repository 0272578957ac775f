"""What a release consists of: the same bytes from the same commit, and all that runs without a checkout."""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import json
import os
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from hpcbatch import __version__
from hpcbatch.cli import PACKAGES

CHECKOUT = Path(__file__).parents[2]
SPEC = importlib.util.spec_from_file_location("dist", CHECKOUT / "requirements/dist.py")
assert SPEC is not None
assert SPEC.loader is not None
DIST = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(DIST)


def test_the_build_needs_what_it_says(tmp_path: Path) -> None:
    """`pip install` builds with these packages alone; the manual and the completion import much of hpcbatch."""
    packages = tmp_path / "packages"
    packages.mkdir()
    for requirement in tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["build-system"]["requires"]:
        name, _, _ = requirement.partition(">=")
        found = importlib.metadata.distribution(name)
        for top in {file.parts[0] for file in found.files or []} - {".."}:
            (packages / top).symlink_to(str(found.locate_file(top)))
    program = (
        f"import sys; sys.path += [{str(CHECKOUT)!r}, {str(packages)!r}]\n"
        "from pathlib import Path\n"
        "from hpcbatch.cli.completion import files\nfrom hpcbatch.cli.manual.write import write\n"
        f"write(Path({str(tmp_path / 'man')!r}), Path('docs/site.md'), '1.0'); files.write(Path({str(tmp_path)!r}))"
    )
    subprocess.run([sys.executable, "-I", "-S", "-c", program], cwd=CHECKOUT, check=True)
    assert (tmp_path / "man/man1/qsub.1").exists()


@pytest.mark.parametrize(
    ("tags", "fits"),
    [([], True), (["v1.2.0"], True), (["nightly"], True), (["v1.2.1"], False), (["v1.2.1", "v1.2.0"], True)],
)
def test_a_release_has_the_tag_of_its_version(tags: list[str], fits: bool) -> None:
    assert (DIST.tag_fault("1.2.0", tags) == "") == fits


def test_one_version_everywhere() -> None:
    deploy = CHECKOUT / "deploy"
    chart = yaml.safe_load((deploy / "chart/Chart.yaml").read_text())
    image = yaml.safe_load((deploy / "controller/kustomization.yaml").read_text())["images"][0]
    found = (
        DIST.version(),
        importlib.metadata.version("hpcbatch"),
        chart["version"],
        chart["appVersion"],
        image["newTag"],
    )
    assert set(found) == {__version__}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The source distribution and the wheel."""
    sdist, wheel = DIST.build(sys.executable, tmp_path_factory.mktemp("dist"))
    return sdist, wheel


@pytest.fixture(scope="module")
def installed(built: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A fresh environment with the wheel, and with what it needs by a path to this environment's packages."""
    home = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
    subprocess.run([str(home / "bin/pip"), "install", "--quiet", "--no-deps", str(built[1])], check=True, cwd=home)
    packages = next(home.glob("lib/python*/site-packages"))
    (packages / "others.pth").write_text(sysconfig.get_path("purelib") + "\n")
    yield home


def run(home: Path, *argv: str, **environ: str) -> subprocess.CompletedProcess[str]:
    env = {"PATH": f"{home / 'bin'}:/usr/bin:/bin:/usr/sbin:/sbin", "HOME": str(home), "LANG": "C.UTF-8", **environ}
    return subprocess.run(argv, cwd=home, env=env, capture_output=True, text=True, timeout=240, check=False)


@pytest.mark.slow
def test_a_second_build_is_the_same(built: tuple[Path, Path], tmp_path: Path) -> None:
    again = DIST.build(sys.executable, tmp_path)
    for first, second in zip(built, again, strict=True):
        assert first.name == second.name
        assert first.read_bytes() == second.read_bytes(), first.name


def test_the_chart_is_whole_and_the_same_again(tmp_path: Path) -> None:
    """Helm follows the links of deploy/chart, and a package has none."""
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    one, two = (DIST.build_chart(tmp_path / name) for name in ("one", "two"))
    assert one.read_bytes() == two.read_bytes()
    with tarfile.open(one) as chart:
        assert all(member.isfile() for member in chart.getmembers())
        names = set(chart.getnames())
    folder = CHECKOUT / "deploy"
    for path in (
        "controller/deployment.yaml",
        "crd/batchjobs.yaml",
        "history/rbac.yaml",
        "keep-records.yaml",
        "without-volcano/rights.yaml",
        "without-volcano/crd/jobs.batch.volcano.sh.yaml",
    ):
        assert (folder / path).exists()
        assert f"hpcbatch/{path}" in names
    assert {"hpcbatch/Chart.yaml", "hpcbatch/values.yaml", "hpcbatch/templates/site.yaml"} <= names


@pytest.mark.slow
def test_a_release_has_a_bill_of_materials_and_checksums(tmp_path: Path) -> None:
    """`make dist` of this commit: each file that it makes stands in SHA256SUMS."""
    uv = CHECKOUT / "build/audit/bin/python"
    if not uv.exists():
        pytest.skip("NOT TESTED: the tools of `make audit` are not installed here (make dist installs them)")
    target = tmp_path / "dist"
    command = [str(uv), str(CHECKOUT / "requirements/dist.py"), sys.executable, str(target)]
    subprocess.run(command, cwd=CHECKOUT, capture_output=True, check=True)
    lines = (target / "SHA256SUMS").read_text().splitlines()
    sums = {
        name: hashlib.sha256((target / name).read_bytes()).hexdigest() for _, name in (line.split() for line in lines)
    }
    assert {f"{digest}  {name}" for name, digest in sums.items()} == set(lines)
    assert {Path(name).suffix for name in sums} == {".gz", ".whl", ".tgz", ".json"}
    (bill,) = target.glob("*.cdx.json")
    assert {"click", "pyyaml"} <= {part["name"].lower() for part in json.loads(bill.read_text())["components"]}


@pytest.mark.slow
def test_the_sdist_has_licence_and_security_policy(built: tuple[Path, Path]) -> None:
    with tarfile.open(built[0]) as sdist:
        names = {name.partition("/")[2] for name in sdist.getnames()}
    assert {"LICENSE", "SECURITY.md", "CHANGELOG.md", "README.md", "docs/site.md"} <= names
    assert any(name.endswith("licenses/LICENSE") for name in zipfile.ZipFile(built[1]).namelist())


@pytest.mark.slow
def test_the_wheel_is_complete(built: tuple[Path, Path]) -> None:
    names = {name.partition(".data/data/share/")[2] for name in zipfile.ZipFile(built[1]).namelist()}
    for command in ("hpcbatch", *(name for commands in PACKAGES.values() for name in commands)):
        assert {
            f"man/man1/{command}.1",
            f"bash-completion/completions/{command}",
            f"fish/vendor_completions.d/{command}.fish",
        } <= names
    assert {"man/man5/hpcbatch-site.yaml.5", "zsh/site-functions/_hpcbatch"} <= names


@pytest.mark.slow
def test_it_runs_without_a_checkout(installed: Path) -> None:
    where = run(installed, "python", "-c", "import hpcbatch; print(hpcbatch.__file__)").stdout
    assert where.startswith(str(installed))
    assert run(installed, "hpcbatch", "--version").stdout.endswith("0.1.0\n")
    done = run(installed, "hpcbatch", "new", "list")
    assert (done.returncode, done.stderr) == (0, "")
    script = installed / "job.pbs"
    script.write_text("#PBS -l select=2:ncpus=1\nmpirun hostname\n")
    done = run(installed, "qsub", "--dry-run", str(script))
    assert (done.returncode, done.stderr) == (0, "")
    assert "# Dry run: nothing was submitted." in done.stdout


@pytest.mark.slow
def test_bash_loads_the_completion_of_each_command(installed: Path) -> None:
    file = installed / "share/bash-completion/completions/squeue"
    program = f"source {file}; COMP_WORDS=(squeue --sta); COMP_CWORD=1; _hpcbatch; echo ${{COMPREPLY[@]}}"
    assert run(installed, "bash", "-c", program).stdout == "--start --states=\n"


@pytest.mark.slow
def test_its_demo(installed: Path) -> None:
    mpi = Path(sys.executable).parent
    path = f"{installed / 'bin'}:{mpi}:/usr/bin:/bin:/usr/sbin:/sbin"
    done = run(installed, "hpcbatch", "demo", PATH=path, TMPDIR=os.environ.get("TMPDIR", "/tmp"))
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert done.stdout.count("the token is back after 6 ranks") == 2
