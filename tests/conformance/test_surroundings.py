"""What a user's environment holds for other programs changes nothing for the commands, and comes to the job."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance.site import Site

LIBRARIES = ("libssl.so.3", "libcrypto.so.3", "libsqlite3.so.0", "libz.so.1", "libffi.so.8", "libssl.so.1.1")
COMMANDS = (
    ["qstat"],
    ["qselect"],
    ["pbsnodes", "-a"],
    ["squeue"],
    ["sinfo"],
    ["sacct"],
    ["scontrol", "show", "partition"],
    ["hpcbatch", "status"],
    ["hpcbatch", "--version"],
)


@pytest.fixture
def elsewhere(site: Site) -> Path:
    """A directory with what breaks every Python that finds it: modules of the library's names, and no libraries."""
    base = site.work / "elsewhere"
    base.mkdir(exist_ok=True)
    for name in ("json", "re", "ssl", "click", "site", "encodings"):
        (base / f"{name}.py").write_text("raise SystemExit('the wrong module')\n")
    for name in LIBRARIES:
        (base / name).write_text("not a library\n")
    return base


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        pytest.param("PYTHONPATH", "{0}", id="PYTHONPATH"),
        pytest.param("PYTHONHOME", "{0}", id="PYTHONHOME"),
        pytest.param("PYTHONSTARTUP", "{0}/json.py", id="PYTHONSTARTUP", marks=pytest.mark.slow),
        pytest.param("LD_LIBRARY_PATH", "/opt/R/lib:{0}", id="LD_LIBRARY_PATH"),
    ],
)
def test_variables_of_other_programs(site: Site, elsewhere: Path, variable: str, value: str) -> None:
    env = {variable: value.format(elsewhere)}
    for command in COMMANDS:
        assert site.run(*command, env=env).stderr == ""
    job = site.sbatch("--wrap", f'echo "${variable}, $HPCBATCH_LD_LIBRARY_PATH"', env=env)
    pbs = site.qsub("-V", "-N", "other", "-j", "oe", stdin=f'echo "${variable}, $HPCBATCH_LD_LIBRARY_PATH"\n', env=env)
    site.wait_end(job)
    site.wait_end(pbs)
    assert site.read(f"slurm-{job}.out") == f"{env[variable]}, \n"
    assert site.read(f"other.o{pbs}") == f"{env[variable]}, \n"


def test_modules_in_the_current_directory(site: Site, elsewhere: Path) -> None:
    for command in COMMANDS:
        assert (
            site.run("sh", "-c", 'cd "$0" && exec "$@"', str(elsewhere), *command, env={"PYTHONPATH": ":"}).stderr == ""
        )
