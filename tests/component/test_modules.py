"""`module load` in a job whose image has no `module`: by the site's table, in the shells that scripts are for."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from hpcbatch.model.site import SiteConfig, SiteModule
from tests.component.runner_pod import RunnerPod

SITE = SiteConfig(
    kill_delay_s=2,
    modules=(
        SiteModule(name="openmpi/*"),
        SiteModule(name="cuda/12", image="registry.site/cuda:12"),
        SiteModule(name="base", image=SiteConfig().image),
        SiteModule(
            name="wrf/4.5",
            environment={"WRF_HOME": 'it\'s * here; "x" $HOME `id` !', "NETCDF": "/n"},
            prepend_path={"LD_LIBRARY_PATH": ("/first", "/second"), "PATH": ("/wrf/bin",)},
        ),
        SiteModule(name="wrf/4.4", environment={"WRF_HOME": "old"}),
    ),
)
NOT_THERE = "not in this site's table of modules: nothing is changed, the image is to have what the job needs"
HOME = 'it\'s * here; "x" $HOME `id` !'


@pytest.fixture
def pod(shell: str, tmp_path: Path) -> RunnerPod:
    """The shell is the runner's own; that of the script is in the script."""
    return RunnerPod(tmp_path, shell)


def output(
    pod: RunnerPod, script: str, site: SiteConfig = SITE, submitted: dict[str, str] | None = None
) -> tuple[list[str], list[str]]:
    """Lines of stdout and stderr of a script that must end with 0."""
    code, report = pod.run(script, site=site, submitted=submitted or {})
    assert code == 0, (report, pod.err.read_text())
    return pod.out.read_text().splitlines(), pod.err.read_text().splitlines()


SHOW = 'echo "$WRF_HOME|$LD_LIBRARY_PATH|${PATH%%:*}|$LOADEDMODULES"\n'


@pytest.mark.parametrize(
    "begin",
    ["#!/bin/bash\n", '#!/bin/sh\n. "$MODULESHOME/init/sh"\n', '#!/bin/bash\nsource "$MODULESHOME/init/bash"\n'],
)
def test_variables_are_set_and_taken_back(pod: RunnerPod, begin: str) -> None:
    lines, err = output(
        pod,
        f"{begin}export LD_LIBRARY_PATH=/mine\nmodule load wrf\n{SHOW}module load wrf openmpi/5\n{SHOW}"
        f"module swap wrf/4.5 wrf/4.4\n{SHOW}module purge\n{SHOW}",
    )
    assert lines[0] == f"{HOME}|/first:/second:/mine|/wrf/bin|wrf"
    assert lines[1] == f"{HOME}|/first:/second:/mine|/wrf/bin|wrf:openmpi/5"
    assert lines[2].startswith("old|/mine|") and lines[2].endswith("|openmpi/5:wrf/4.4") and "/wrf/bin" not in lines[2]
    assert lines[3].startswith("|/mine|") and lines[3].endswith("|")
    assert err == [
        "module: hpcbatch: wrf: WRF_HOME set, NETCDF set, /second put in front of LD_LIBRARY_PATH, "
        "/first put in front of LD_LIBRARY_PATH, /wrf/bin put in front of PATH",
        "module: hpcbatch: openmpi/5: the image has it",
        "module: hpcbatch: wrf/4.4: WRF_HOME set",
    ]


@pytest.mark.parametrize("begin", ["#!/bin/bash\n", "#!/bin/sh\n"], ids=["function", "program"])
def test_what_is_not_in_the_table_does_no_harm_and_is_told_once(pod: RunnerPod, begin: str) -> None:
    lines, err = output(
        pod,
        f"{begin}set -e\nmodule purge\nmodule load intel/19 'a b'\nmodule load intel/19\nml gcc\nmodule use /x\n"
        "module list\nmodule load base; echo end",
        site=SITE if "bash" in begin else SiteConfig(modules=(SITE.modules[2],)),
    )
    assert lines == ["end"]
    assert err == [
        f"module: hpcbatch: intel/19: {NOT_THERE}",
        f"module: hpcbatch: a b: {NOT_THERE}",
        f"module: hpcbatch: gcc: {NOT_THERE}",
        "module: hpcbatch: use /x: nothing is changed: here is only this site's table of modules",
        "No Modulefiles Currently Loaded.",
        "module: hpcbatch: base: the job runs in its image",
    ]


def test_a_site_without_a_table(pod: RunnerPod) -> None:
    _, err = output(pod, "#!/bin/bash\nmodule load intel\nmodule avail\n", site=SiteConfig())
    assert err == [f"module: hpcbatch: intel: {NOT_THERE}"]


def test_what_cannot_be_done_fails(pod: RunnerPod) -> None:
    lines, err = output(
        pod,
        "#!/bin/sh\nmodule load wrf || echo failed\nmodule load cuda/12 || echo failed\nmodule frob || echo failed\n",
    )
    assert lines == ["failed"] * 3
    assert err[0].startswith("module: hpcbatch: wrf: a program cannot set WRF_HOME in this shell: use bash, or begin")
    assert err[1] == (
        "module: hpcbatch: cuda/12: it is in image registry.site/cuda:12, this job runs in another: "
        "qsub -v CONTAINER_IMAGE=registry.site/cuda:12, sbatch --container-image=registry.site/cuda:12"
    )
    assert err[2].startswith("module: hpcbatch: frob: no such command: expected load")


def test_an_image_that_is_not_the_job_s(pod: RunnerPod) -> None:
    lines, err = output(pod, "#!/bin/bash\nmodule load cuda/12 || echo failed\nml cuda/12 || echo failed\n")
    assert lines == ["failed"] * 2 and len(err) == 2


def test_what_was_loaded_at_submission_is_not_loaded_here(pod: RunnerPod) -> None:
    submitted = {"LOADEDMODULES": "wrf/4.5", "MODULESHOME": "/gone", "LMOD_CMD": "/gone/lmod"}
    submitted["BASH_FUNC_module%%"] = "() {  eval `/gone/lmod bash $*`\n}"
    lines, err = output(pod, "#!/bin/bash\nmodule load wrf/4.5\necho $NETCDF\n", submitted=submitted)
    assert lines == ["/n"] and len(err) == 1


def test_a_module_of_the_site_s_own_wins(pod: RunnerPod) -> None:
    theirs = pod.root / "modules"
    (theirs / "init").mkdir(parents=True)
    (theirs / "init/sh").write_text('module() { echo "theirs $*"; }\n')
    submitted = {"MODULESHOME": str(theirs), "BASH_FUNC_module%%": '() {  echo "theirs $*"\n}'}
    lines, err = output(pod, '#!/bin/bash\nmodule load x\n. "$MODULESHOME/init/sh"\nmodule list\n', submitted=submitted)
    assert (lines, err) == (["theirs load x", "theirs list"], [])


def test_csh(pod: RunnerPod) -> None:
    csh = shutil.which("tcsh") or shutil.which("csh")
    if csh is None:
        pytest.skip("NOT TESTED: tcsh is not installed here")
    lines, err = output(
        pod,
        f"#!{csh} -f\nsource $MODULESHOME/init/csh\nmodule load wrf gone\nprintenv WRF_HOME\n"
        "printenv LD_LIBRARY_PATH\nml -wrf\nprintenv NETCDF || echo away\n",
    )
    assert lines == [HOME, "/first:/second", "away"]
    assert len(err) == 2
