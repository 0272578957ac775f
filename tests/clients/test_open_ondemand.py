"""Open OnDemand's ood_core, with the clusters' YAML that docs/clients.md shows."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.clients.install import CLIENTS, HERE
from tests.conformance.site import BIN, Site

VERSION = "0.31.1"
PAGE = HERE.parents[1] / "docs/clients.md"


def libraries() -> list[str]:
    """Ruby's options that lead to ood_core: the gem, or where rubygems.org is not reached the checkouts of ood_core and
    ood_support that HPCBATCH_OOD_CORE names the folder of.
    """
    if shutil.which("ruby") is None:
        pytest.skip("there is no ruby here: apt-get install ruby")
    if given := os.environ.get("HPCBATCH_OOD_CORE"):
        return [f"-I{given}/{name}/lib" for name in ("ood_core", "ood_support")]
    home = CLIENTS / "gems"
    if not list(home.glob(f"gems/ood_core-{VERSION}")):
        install = ["gem", "install", "--no-document", "--install-dir", str(home), "ood_core", "-v", VERSION]
        done = subprocess.run(install, capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"ood_core could not be installed: {done.stderr.strip().splitlines()[0]}")
    return [f"-I{path}" for path in home.glob("gems/*/lib")]


@pytest.mark.parametrize("adapter", ["slurm", "pbspro", "lsf"])
def test_ood_core(site: Site, tmp_path: Path, adapter: str) -> None:
    shown = re.findall(r"```yaml\n(.*?)```", PAGE.read_text(), re.S)
    text = next(each for each in shown if f'adapter: "{adapter}"' in each)
    config = tmp_path / "cluster.yml"
    config.write_text(text.replace("/opt/hpcbatch", str(BIN.parent)))
    argv = ["ruby", *libraries(), str(HERE / "programs/use_ood_core.rb"), adapter, str(config)]
    done = subprocess.run(argv, cwd=site.work, env=dict(site.env), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["ends"] == ["completed"] * 4
    held = "queued" if adapter == "slurm" else "queued_held"
    assert (found["held"], found["running"], found["hosts"]) == (held, "running", 1)
    assert (found["said"].splitlines()[0], found["listed"]) == ("hello", True)  # with LSF's report below
    assert found["array"] >= 1
    assert found.get("nodes", 3) == 3
