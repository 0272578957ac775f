"""The variables that a script gets."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hpcbatch.model.dialect import Dialect
from hpcbatch.model.site import SiteConfig
from tests.component.runner_pod import RunnerPod
from tests.thoroughness import examples

DUMP = f"#!{sys.executable}\nopen('env', 'wb').write(open('/proc/self/environ', 'rb').read())\n"


@pytest.fixture
def roots() -> Iterator[Path]:
    """Room for the pods of many examples of one test."""
    path = Path(tempfile.mkdtemp())
    yield path
    shutil.rmtree(path)


def dumped(pod: RunnerPod) -> dict[bytes, bytes]:
    entries = (pod.root / "env").read_bytes().rstrip(b"\0").split(b"\0")
    return dict(entry.split(b"=", 1) for entry in entries)


# The environment

ODD = {
    b"EMPTY": b"",
    b"QUOTES": b'it\'s "so" `id` $HOME $(id) ${x} \\ \\n',
    b"LINES": b"one\n two\n\n'three'\n",
    b"TABS": b"\t \r \x0b",
    b"LOW": bytes(range(1, 128)),
    b"HIGH": bytes(range(128, 255)),
    b"LATIN": b"caf\xe9 \x81\x82\x88",
    b"EQUALS": b"a=b=c",
    b"UNICODE": "ü € 😀 \u2028".encode(),
    b"BASH_FUNC_greet%%": b'() {  echo "hello $1"\n}',
    b"-i": b"an option?",
    b"IFS": b"x",
    b"PPID": b"1",
    b"UID": b"7",
    b"long": b"x" * 100_000,
}
NOT_BY_A_SHELL = (b"BASH_FUNC_greet%%", b"-i", b"PPID", b"UID")


def test_environment_arrives_byte_for_byte(pod: RunnerPod) -> None:
    submitted = b"\0".join(name + b"=" + value for name, value in ODD.items())
    assert pod.run(DUMP, submitted=submitted)[0] == 0
    found = dumped(pod)
    assert {name: found.get(name) for name in ODD} == ODD


TOOLS = (
    "awk base64 cat cut date df env fold getent grep head id ls mkdir mktemp ps rm sed setsid sleep sort tail tr wc"
).split()


def write_down(told: Path) -> str:
    return f"{shutil.which('tr')} '\\000' '\\n' <\"/proc/$$/cmdline\" >>{told}\n"


@pytest.fixture
def watched(pod: RunnerPod) -> Path:
    """All programs that the runner starts write down their arguments, which everybody on the machine can read."""
    tools, told = pod.root / "watched", pod.root / "arguments"
    tools.mkdir()
    for name in TOOLS:
        if real := shutil.which(name):
            (tools / name).write_text(f'#!/bin/sh\n{write_down(told)}exec {real} "$@"\n')
            (tools / name).chmod(0o755)
    pod.environment["PATH"] = f"{tools}:{os.environ['PATH']}"
    return told


def test_no_value_of_a_variable_stands_in_argv(pod: RunnerPod, watched: Path) -> None:
    pod.environment["OF_THE_POD"] = "s3cret"
    submitted = {"PASSWORD": "s3cret", "BASH_FUNC_f%%": "() {  echo s3cret; }"}
    code, _ = pod.run("#!/bin/sh\necho $PASSWORD\n", submitted=submitted, variables={"OF_SLURM": "s3cret"})
    assert (code, pod.out.read_text()) == (0, "s3cret\n")
    assert watched.read_text() and "s3cret" not in watched.read_text()


def test_an_image_whose_env_takes_variables_as_arguments_only(pod: RunnerPod, tmp_path: Path, watched: Path) -> None:
    """busybox, or coreutils before 8.30"""
    if Path(pod.shell).resolve().name == "busybox":
        pytest.skip("its env cannot be replaced; /usr/bin/env is taken instead")
    busybox = shutil.which("busybox") or pytest.skip("NOT TESTED: busybox is not installed here")
    (watched.parent / "watched/env").write_text(f'#!/bin/sh\n{write_down(watched)}exec {busybox} env "$@"\n')
    ours = {b"IFS"}  # which dash, in the place of env here, does not take over from others
    values = {name: value for name, value in ODD.items() if name not in {*NOT_BY_A_SHELL, *ours}}
    values[b"PASSWORD"] = b"s3cret"
    packed = b"\0".join(name + b"=" + value for name, value in (ODD | values).items())
    code, _ = pod.run(DUMP + "print('ran')", submitted=packed, variables={"LATER": "wins"}, script_args=("a b", "x=y"))
    assert (code, pod.out.read_text()) == (0, "ran\n"), pod.err.read_text()
    found = dumped(pod)
    assert {name: found.get(name) for name in values} == values
    assert found[b"LATER"] == b"wins" and b"BASH_FUNC_module%%" in found
    assert not {name for name in found if name.startswith((b"__", b"SHLVL", b"HPCBATCH", b"v1"))}
    left_out = [f"hpcbatch: the variable {name.decode()} is left out" for name in NOT_BY_A_SHELL]
    assert [line.partition(":")[0] + ":" + line.split(":")[1] for line in pod.err.read_text().splitlines()] == left_out
    assert "s3cret" not in watched.read_text()


NAMES = st.from_regex(rb"[A-Za-z_][A-Za-z0-9_]{0,8}(%%)?", fullmatch=True).map(lambda name: b"t_" + name)
VALUES = st.binary(max_size=60).map(lambda value: value.replace(b"\0", b"'"))


@settings(max_examples=examples(12), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(submitted=st.dictionaries(NAMES, VALUES, max_size=40))
def test_any_environment_arrives(shell: str, roots: Path, submitted: dict[bytes, bytes]) -> None:
    pod = RunnerPod(Path(tempfile.mkdtemp(dir=roots)), shell)
    packed = b"\0".join(name + b"=" + value for name, value in submitted.items())
    assert pod.run(DUMP, submitted=packed)[0] == 0
    assert {name: value for name, value in dumped(pod).items() if name.startswith(b"t_")} == submitted


def test_later_variables_win(pod: RunnerPod) -> None:
    pod.environment |= {"IMAGE": "image", "A": "image", "KUBERNETES_PORT": "1", "OMPI_MCA_smsc": "image"}
    pod.run(
        DUMP,
        submitted={"A": "submitted", "B": "submitted", "OMPI_MCA_plm": "slurm", "I_MPI_PIN": "1"},
        variables={"B": "dialect", "C": "it's\nhere"},
    )
    env = dumped(pod)
    assert (env[b"IMAGE"], env[b"A"], env[b"B"], env[b"C"]) == (b"image", b"submitted", b"dialect", b"it's\nhere")
    assert (env[b"OMPI_MCA_plm"], env[b"I_MPI_PIN"]) == (b"rsh", b"1")
    assert not [name for name in env if name.startswith((b"KUBERNETES_", b"HPCBATCH_"))]


def test_slurm_variables_of_the_moment(pod: RunnerPod) -> None:
    _, report = pod.run(DUMP, walltime_s=600, submitted={"PATH": "/opt/x:/usr/bin"}, variables={"SLURM_JOB_ID": "12"})
    env = dumped(pod)
    assert int(env[b"SLURM_TASK_PID"]) == report.session_id
    assert int(env[b"SLURM_JOB_START_TIME"]) == report.started
    assert int(env[b"SLURM_JOB_END_TIME"]) == (report.started or 0) + 600
    assert env[b"PWD"] == os.fsencode(pod.root)
    path = env[b"PATH"].decode().split(":")
    assert path[:3] == [str(pod.root / "run/job/bin"), "/opt/x", "/usr/bin"]
    assert not [name for name in env if name.startswith(b"PBS_")]


def test_pbs_variables_of_the_moment(pod: RunnerPod) -> None:
    script = f"#!/bin/sh\ncat $PBS_NODEFILE; test -w $TMPDIR && echo scratch; exec {sys.executable} dump\n"
    (pod.root / "dump").write_text(DUMP)
    pod.environment["PATH"] = f"/opt/of the pod:{os.environ['PATH']}"
    assert pod.run(script, dialect=Dialect.PBS, nodefile="h1\nh1\nh2\n", work_dir=None)[0] == 0, pod.err.read_text()
    assert pod.out.read_text() == "h1\nh1\nh2\nscratch\n"
    env = dumped(pod)
    assert (env[b"HOME"], env[b"USER"], env[b"LOGNAME"]) == (os.fsencode(pod.root), b"alice", b"alice")
    assert os.access(env[b"SHELL"], os.X_OK)
    path = env[b"PATH"].decode().split(":")
    assert path[0] == str(pod.root / "run/job/bin")
    assert "/opt/of the pod" in path, "a profile that sets PATH anew must not lose the pod's"


SUBMITTER_PATH = "/opt/mine:/usr/bin:/bin"


@pytest.mark.parametrize(
    ("submitted", "expected"),
    [
        (
            {"PATH": SUBMITTER_PATH, "LD_LIBRARY_PATH": "/mine/lib"},
            {"PATH": f"{SUBMITTER_PATH}:/image/bin", "LD_LIBRARY_PATH": "/mine/lib:/image/lib", "MPI_HOME": "/image"},
        ),
        ({"PATH": SUBMITTER_PATH, "MPI_HOME": "/mine"}, {"LD_LIBRARY_PATH": "/image/lib:", "MPI_HOME": "/mine"}),
        ({}, {"PATH": "/image/bin:/usr/bin:/bin", "LD_LIBRARY_PATH": "/image/lib:"}),
        ({"LD_LIBRARY_PATH": ""}, {"LD_LIBRARY_PATH": "/image/lib"}),
    ],
    ids=["both", "one", "neither", "empty"],
)
def test_the_image_s_own_environment_survives_behind_the_submitter_s(
    pod: RunnerPod, submitted: dict[str, str], expected: dict[str, str]
) -> None:
    image = {"PATH": "/image/bin:/usr/bin:/bin", "LD_LIBRARY_PATH": "/image/lib:", "MPI_HOME": "/image"}
    pod.environment |= image
    assert pod.run(DUMP, submitted=submitted)[0] == 0
    found = {name.decode(): value.decode() for name, value in dumped(pod).items()}
    found["PATH"] = found["PATH"].removeprefix(f"{pod.root}/run/job/bin:")
    assert {name: found.get(name) for name in expected} == expected


@pytest.mark.parametrize(
    ("dialect", "submitted", "expected"),
    [
        (Dialect.PBS, {"PBS_O_SHELL": "{here}/odd"}, "{here}/odd"),
        (Dialect.PBS, {"PBS_O_SHELL": "/bin/sh", "SHELL": "{here}/odd"}, "/bin/sh"),
        (Dialect.PBS, {"PBS_O_SHELL": "/nosuch/zsh"}, "/bin/bash"),
        (Dialect.PBS, {"PBS_O_SHELL": "/usr"}, "/bin/bash"),
        (Dialect.PBS, {}, "/bin/bash"),
        (Dialect.SLURM, {}, "/bin/bash"),
    ],
)
def test_shell_of_a_user_whom_the_image_does_not_know(
    pod: RunnerPod, dialect: Dialect, submitted: dict[str, str], expected: str
) -> None:
    odd = pod.root / "odd"
    odd.symlink_to("/bin/sh")
    given = {name: value.format(here=pod.root) for name, value in submitted.items()}
    # the accounts that a site mounts do not know the user's shell
    assert pod.run(DUMP, dialect=dialect, submitted=given, site=SiteConfig(kill_delay_s=2), knows_shell=False)[0] == 0
    assert dumped(pod)[b"SHELL"].decode() == expected.format(here=pod.root)


def test_login_shell_reads_the_profile(pod: RunnerPod) -> None:
    for name in (".profile", ".bash_profile"):
        (pod.root / name).write_text("export FROM_PROFILE='yes it is'\n")
    for dialect, export_none, login_shell, expected in (
        (Dialect.PBS, False, True, "yes it is"),
        (Dialect.SLURM, True, True, "yes it is"),
        (Dialect.PBS, False, False, "no"),
        (Dialect.SLURM, False, True, "no"),
    ):
        inner = RunnerPod(pod.root / f"{dialect}{export_none}{login_shell}", pod.shell)
        inner.root.mkdir()
        for name in (".profile", ".bash_profile"):
            shutil.copy(pod.root / name, inner.root)
        inner.run(
            '#!/bin/sh\necho "${FROM_PROFILE-no}"\n',
            dialect=dialect,
            export_none=export_none,
            site=SiteConfig(login_shell=login_shell),
        )
        assert inner.out.read_text() == f"{expected}\n"


def test_exported_bash_function_reaches_a_pbs_script(pod: RunnerPod) -> None:
    pod.run(
        "greet you\n",
        dialect=Dialect.PBS,
        interpreter="/bin/bash",
        submitted={"BASH_FUNC_greet%%": "() { echo hello $1\n}"},
    )
    assert (pod.out.read_text(), pod.err.read_text()) == ("hello you\n", "")
