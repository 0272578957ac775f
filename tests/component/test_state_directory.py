"""The files that docs/engine.md lists, with the modes that it gives."""

import re
import stat
from pathlib import Path

import pytest

from tests.conformance.site import Site, login_environment
from tests.pages import section
from tests.waiting import wait_for

PAGE = Path(__file__).parents[2] / "docs/engine.md"


def listed() -> list[tuple[str, int]]:
    rows = re.findall(r"^\| (`.*?`) \| (0\d{3}) \|", section(PAGE.read_text(), "Files"), re.MULTILINE)
    return [(path, int(mode, 8)) for paths, mode in rows for path in re.findall(r"`(.+?)`", paths)]


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "above" / "state"


def test_modes(tmp_path: Path, state: Path) -> None:
    site = Site(login_environment(state), tmp_path)
    site.run("hpcbatch", "up", "--nodes", "1")
    try:
        job = site.sbatch("-o", "out", "--wrap", "echo runs; sleep 100")
        wait_for("the job", lambda: (tmp_path / "out").exists() and site.read("out"))
        assert len(listed()) > 15
        for path, mode in listed():
            found = list(state.glob(re.sub(r"<.*?>", "*", path)))
            assert found, f"{path} is not there"
            for file in found:
                assert oct(stat.S_IMODE(file.stat().st_mode)) == oct(mode), file
        assert stat.S_IMODE(state.stat().st_mode) == 0o700
        site.run("scancel", job)
    finally:
        site.run("hpcbatch", "down", check=False)
