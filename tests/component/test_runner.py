"""The runner in one pod, under each shell that an image may have as /bin/sh: what the script gets, what is reported."""

from __future__ import annotations

import os
import re
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hpcbatch.model.dialect import Dialect
from hpcbatch.model.placed import OutputFiles
from hpcbatch.model.site import SiteConfig
from hpcbatch.model.state import Reason
from hpcbatch.volcano.job_conf import bar_rerun
from tests.component.runner_pod import POD_UID, RunnerPod
from tests.processes import command_lines
from tests.thoroughness import examples
from tests.waiting import wait_for

DUMP = f"#!{sys.executable}\nopen('env', 'wb').write(open('/proc/self/environ', 'rb').read())\n"


@pytest.fixture
def pod(shell: str, tmp_path: Path) -> RunnerPod:
    return RunnerPod(tmp_path, shell)


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


# The script: bytes, interpreter, arguments, directory, limits


def test_script_is_run_byte_for_byte_with_its_arguments(pod: RunnerPod) -> None:
    script = b'#!/bin/sh\nprintf \'%s|\' "$#" "$@"; cat "$0" >copy\nexit 0\n\xff\x00\x01 not text\n'
    arguments = ("a b", "", "$HOME", "it's", "-x", "a=b", "two\nlines", "*")
    code, _ = pod.run(script, script_args=arguments)
    assert code == 0, pod.err.read_text()
    assert pod.out.read_text() == "8|" + "|".join(arguments) + "|"
    assert (pod.root / "copy").read_bytes() == script


@pytest.mark.parametrize(
    ("script", "asked", "expected"),
    [
        pytest.param(f"#!{sys.executable}\nprint('py')", {}, "py\n", id="python by its line"),
        pytest.param("#! /usr/bin/env -S sh -e\nfalse; echo not here", {}, "", id="blank after the mark, arguments"),
        pytest.param("echo $0", {"dialect": Dialect.PBS}, "{run}/12.SC\n", id="no line: the login shell"),
        pytest.param(
            'a=(1 2); echo "${#a[@]}"', {"dialect": Dialect.PBS, "interpreter": "/bin/bash"}, "2\n", id="-S, no line"
        ),
        pytest.param(
            "#!/bin/bash\na=(1 2); echo ${#a[@]}",
            {"dialect": Dialect.PBS, "interpreter": "/bin/sh"},
            "2\n",
            id="the line wins over -S",
        ),
        pytest.param(
            "print('py')", {"dialect": Dialect.PBS, "interpreter": sys.executable}, "py\n", id="-S is no shell"
        ),
        pytest.param(
            "", {"dialect": Dialect.PBS, "command": ("printf", "%s,", "a b", "c=d")}, "a b,c=d,", id="a command"
        ),
        pytest.param("", {"command": ("./odd=name",)}, "ran\n", id="a command with ="),
    ],
)
def test_interpreter(pod: RunnerPod, script: str, asked: dict[str, Any], expected: str) -> None:
    (pod.root / "odd=name").write_text("#!/bin/sh\necho ran\n")
    (pod.root / "odd=name").chmod(0o755)
    pod.run(script, **asked)
    assert pod.err.read_text() == ""
    assert pod.out.read_text() == expected.format(run=pod.root / "run/job")


@pytest.mark.parametrize(("dialect", "code"), [(Dialect.PBS, 126), (Dialect.SLURM, 2)])
@pytest.mark.parametrize("name", ["/no/such/shell", "/bin/sh\r", "/etc/passwd", "/usr"])
def test_interpreter_that_is_not_there(pod: RunnerPod, dialect: Dialect, code: int, name: str) -> None:
    exit_code, report = pod.run(f"#!{name}\necho hi\n", dialect=dialect)
    assert (exit_code, report.exit_code, report.reason) == (code, code, Reason.LAUNCH_FAILED)
    assert name.strip() in report.message
    assert pod.err.read_text().count("cannot run the script") == 1


def test_stdin_is_empty_and_the_session_its_own(pod: RunnerPod) -> None:
    _, report = pod.run("#!/bin/sh\nwc -c; cut -d ' ' -f 1,6 /proc/$$/stat; ls /proc/self/fd >fds; wc -l <fds\n")
    count, session, files = pod.out.read_text().splitlines()
    assert count == "0"
    assert session == f"{report.session_id} {report.session_id}"
    assert int(files) <= 4, "files of the runner are open in the script"


def test_limits_are_as_high_as_allowed(pod: RunnerPod) -> None:
    pod.run("#!/bin/sh\nulimit -S -s; ulimit -H -s\n")
    soft, hard = pod.out.read_text().split()
    assert soft == hard


@pytest.mark.parametrize("umask", [0o077, 0o022, 0o002])
def test_umask(pod: RunnerPod, umask: int) -> None:
    output = OutputFiles(stdout=str(pod.out), stderr=str(pod.err), umask=umask)
    pod.run("#!/bin/sh\ntouch made; umask\n", output=output)
    assert int(pod.out.read_text(), 8) == umask
    for name in ("out", "err", "made"):
        assert (pod.root / name).stat().st_mode & 0o777 == 0o666 & ~umask


def test_directory(pod: RunnerPod) -> None:
    odd = pod.root / "it's a\n$HOME"
    odd.mkdir()
    pod.run("#!/bin/sh\npwd\n", work_dir=str(odd))
    assert pod.out.read_text() == f"{odd}\n"


def test_directory_that_is_not_there(pod: RunnerPod) -> None:
    code, _ = pod.run("#!/bin/sh\npwd\n", work_dir="/no/such")
    assert (code, pod.out.read_text()) == (0, "/tmp\n")
    line = "slurmstepd: error: couldn't chdir to `/no/such': No such file or directory: going to /tmp instead\n"
    assert pod.err.read_text() == line


def test_directory_that_is_not_there_pbs(pod: RunnerPod) -> None:
    code, report = pod.run("#!/bin/sh\npwd\n", dialect=Dialect.PBS, work_dir="/no/such")
    assert (code, report.reason) == (1, Reason.LAUNCH_FAILED)
    assert report.message == "cannot change to directory /no/such: No such file or directory"
    assert pod.out.read_text() == ""


# Output files


def test_output_is_written_while_it_runs(pod: RunnerPod) -> None:
    pod.prepare("#!/bin/sh\necho first; until [ -e go ]; do sleep 0.05; done; echo second\n")
    process = pod.start()
    wait_for("the first line", lambda: pod.out.exists() and pod.out.read_text() == "first\n")
    assert process.poll() is None
    (pod.root / "go").touch()
    assert pod.finish(process)[0] == 0
    assert pod.out.read_text() == "first\nsecond\n"


@pytest.mark.parametrize("append", [False, True])
@pytest.mark.parametrize("joined", ["none", "same"])
def test_append_truncate_join(pod: RunnerPod, append: bool, joined: str) -> None:
    pod.out.write_text("before\n")
    output = OutputFiles(stdout=str(pod.out), stderr=None if joined == "none" else str(pod.out), append=append)
    pod.run("#!/bin/sh\necho 1; echo 2 >&2; echo 3\n", output=output)
    assert pod.out.read_text() == ("before\n" if append else "") + "1\n2\n3\n"
    assert not pod.err.exists()


@pytest.mark.parametrize(("dialect", "text"), [(Dialect.PBS, "before\n\n"), (Dialect.SLURM, "2\n")], ids=str)
def test_a_pod_that_volcano_has_made_anew(pod: RunnerPod, dialect: Dialect, text: str) -> None:
    pod.environment["HPCBATCH_JOB_VERSION"] = "2"
    pod.out.write_text("before\n")
    pod.run("#!/bin/sh\necho $SLURM_RESTART_COUNT\n", dialect=dialect)
    assert pod.out.read_text() == text


def running(pod: RunnerPod, place: Path | None = None) -> tuple[OutputFiles, Path, Path]:
    """Output that gets its own name at the end, and the files meanwhile."""
    output = OutputFiles(
        stdout=str(place or pod.out),
        stderr=str(pod.err),
        stdout_in_dir="12.s.OU",
        stdout_meanwhile="12.s.OU.running",
        stderr_meanwhile="12.s.ER.running",
    )
    return output, (place or pod.root) / "12.s.OU.running", pod.root / "12.s.ER.running"


def names(pod: RunnerPod) -> list[str]:
    return sorted(path.name for path in pod.root.iterdir() if path.name in {"out", "err"} or "12.s" in path.name)


def test_output_gets_its_own_name_at_the_end(pod: RunnerPod) -> None:
    output, _, _ = running(pod)
    pod.out.write_text("of another job")
    script = (
        "#!/bin/sh\necho one\necho two >&2\ncat 12.s.OU.running 12.s.ER.running >seen; cat out >old; ls err; exit 3\n"
    )
    code, report = pod.run(script, output=output, dialect=Dialect.PBS)
    assert (code, report.exit_code) == (3, 3)
    assert (pod.root / "seen").read_text() == "one\ntwo\n" and (pod.root / "old").read_text() == "of another job"
    assert pod.out.read_text() == "one\n" and pod.err.read_text().startswith("two\nls: ")
    assert names(pod) == ["err", "out"]


@pytest.mark.parametrize("how", ["walltime", "stopped", "launch"])
def test_output_of_jobs_that_are_ended(pod: RunnerPod, how: str) -> None:
    output, out, _ = running(pod)
    limit: dict[str, Any] = {"walltime_s": 1} if how == "walltime" else {}
    work_dir = "/nowhere" if how == "launch" else str(pod.root)
    pod.prepare("#!/bin/sh\necho begun\nsleep 60\n", output=output, dialect=Dialect.PBS, work_dir=work_dir, **limit)
    process = pod.start()
    if how == "stopped":
        wait_for("the script", lambda: out.exists() and out.read_text() == "begun\n")
        process.terminate()
    pod.finish(process)
    assert pod.out.read_text() == ("" if how == "launch" else "begun\n")
    words = {
        "walltime": "=>> PBS: job killed: walltime",
        "launch": "hpcbatch: cannot change to directory",
        "stopped": "",
    }
    assert pod.err.read_text().startswith(words[how])
    assert names(pod) == ["err", "out"]


@pytest.mark.parametrize("before", ["delivered", "killed"])
def test_output_of_a_job_that_runs_again(pod: RunnerPod, before: str) -> None:
    output, out, _ = running(pod)
    (pod.out if before == "delivered" else out).write_text("first\n")
    pod.environment["HPCBATCH_JOB_VERSION"] = "1"
    pod.run("#!/bin/sh\nls out 2>/dev/null; echo second\n", output=output, dialect=Dialect.PBS)
    assert pod.out.read_text() == "first\nsecond\n"
    assert names(pod) == ["err", "out"]


def test_output_that_is_no_file_of_its_own(pod: RunnerPod) -> None:
    """A link is written through, a pipe or device directly, a directory gets a file in it; -R takes the file away."""
    directory = pod.root / "directory"
    directory.mkdir()
    output, out, err = running(pod, directory)
    pod.err.symlink_to(pod.root / "linked")
    code, _ = pod.run("#!/bin/sh\nls directory; echo two >&2\n", output=output, dialect=Dialect.PBS)
    assert (code, (directory / "12.s.OU").read_text()) == (0, "12.s.OU.running\n")
    assert pod.err.is_symlink() and (pod.root / "linked").read_text() == "two\n"
    assert not out.exists() and not err.exists()


def test_output_of_a_runner_that_was_killed(pod: RunnerPod) -> None:
    output, out, err = running(pod)
    pod.prepare("#!/bin/sh\n", output=output, dialect=Dialect.PBS)
    for _ in range(2):  # doing it twice changes nothing more
        out.write_text("one\n")
        process = pod.start("deliver")
        assert (process.wait(60), names(pod)) == (0, ["out"])
    assert pod.out.read_text() == "one\n" and not err.exists()


def test_output_that_is_to_be_removed(pod: RunnerPod) -> None:
    output, _, _ = running(pod)
    assert pod.run("#!/bin/sh\necho one\n", output=output, dialect=Dialect.PBS, remove_output="oe")[0] == 0
    assert names(pod) == []


def test_file_in_a_directory(pod: RunnerPod) -> None:
    place = pod.root / "d"
    place.mkdir()
    output = OutputFiles(stdout=f"{place}/", stderr=str(place), stdout_in_dir="12.s.OU", stderr_in_dir="12.s.ER")
    pod.run("#!/bin/sh\necho 1; echo 2 >&2\n", output=output)
    assert {path.name: path.read_text() for path in place.iterdir()} == {"12.s.OU": "1\n", "12.s.ER": "2\n"}


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("/no/such/x.out", "No such file or directory"),
        ("{root}/taken", "Is a directory"),
        ("{root}/file/x.out", "Not a directory"),
        ("/dev/full/x", "Not a directory"),
        ("/proc/x", "*"),
    ],
)
def test_output_that_cannot_be_opened(pod: RunnerPod, path: str, why: str) -> None:
    (pod.root / "taken").mkdir()
    (pod.root / "file").touch()
    path = path.format(root=pod.root)
    code, report = pod.run("#!/bin/sh\ntouch ran\n", output=OutputFiles(stdout=path, stderr=None))
    assert (code, report.exit_code, report.reason) == (1, None, Reason.OUTPUT_FAILED)
    assert report.message.startswith(f"cannot open output file {path}: {'' if why == '*' else why}")
    assert not (pod.root / "ran").exists()


def test_stderr_that_cannot_be_opened(pod: RunnerPod) -> None:
    _, report = pod.run("#!/bin/sh\n", output=OutputFiles(stdout=str(pod.out), stderr="/no/such/x.err"))
    assert report.message == "cannot open output file /no/such/x.err: No such file or directory"


def test_output_on_a_full_disk_does_not_stop_the_report(pod: RunnerPod) -> None:
    _, report = pod.run("#!/bin/sh\necho lost || exit 4\n", output=OutputFiles(stdout="/dev/full", stderr="/dev/full"))
    assert report.exit_code == 4


# Ends and reports


@pytest.mark.parametrize("code", [0, 1, 3, 126, 127, 129, 137, 143, 255])
def test_exit_code(pod: RunnerPod, code: int) -> None:
    exit_code, report = pod.run(f"#!/bin/sh\nexit {code}\n")
    assert (exit_code, report.exit_code, report.signal) == (code, code, None)
    assert report.reason is (Reason.NON_ZERO_EXIT if code else Reason.NONE)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV, signal.SIGUSR1, signal.SIGINT])
def test_script_killed_by_a_signal(pod: RunnerPod, number: signal.Signals) -> None:
    if number == signal.SIGINT and "busybox" in pod.shell:
        pytest.skip("busybox's env cannot take back that its shell has background processes ignore SIGINT")
    exit_code, report = pod.run(f"#!/bin/sh\nulimit -c 0; kill -{number.value} $$; sleep 5\n")
    assert (exit_code, report.exit_code, report.signal) == (128 + number, None, number)
    assert report.reason is Reason.SIGNALLED


def test_child_killed_by_a_signal_is_an_exit_code(pod: RunnerPod) -> None:
    _, report = pod.run("#!/bin/sh\nsh -c 'kill -9 $$'\n")
    assert (report.exit_code, report.signal) == (137, None)


FORGERY = """#!/bin/sh
runner=$(ps -o ppid= -p $(ps -o ppid= -p $PPID 2>/dev/null) 2>/dev/null | tr -d ' ')
(setsid sh -c 'i=0; while [ $i -lt 300 ]; do i=$((i + 1)); echo 0 >run/job/status; sleep 0.01; done' &)
for file in clock usage figures; do echo 9999999 9999999 9999999 >run/job/$file; done
chmod 0400 termination-log
for child in $(ps -o pid= --ppid "$runner"); do
  ps -o pid= --ppid $child | grep -q -w $PPID || kill -9 $child
done
sleep 0.3
exit 7
"""


def test_a_script_that_forges_its_end(pod: RunnerPod) -> None:
    """It writes into the files through which the runner talked to itself, and kills what keeps its time."""
    code, report = pod.run(FORGERY)
    assert (code, report.exit_code, report.reason) == (7, 7, Reason.NON_ZERO_EXIT)
    assert report.walltime_s is not None and report.walltime_s < 60
    assert (report.cpu_s or 0) < 60 and (report.max_rss_bytes or 0) < 1 << 30


def test_times(pod: RunnerPod) -> None:
    burn = f"#!{sys.executable}\nimport time\nwhile time.process_time() < 1.5: pass\n"
    _, report = pod.run(burn)
    assert report.started is not None
    assert report.ended is not None
    assert report.walltime_s == report.ended - report.started
    assert report.cpu_s in {1, 2}


def test_walltime_pbs(pod: RunnerPod) -> None:
    script = "#!/bin/sh\ntrap 'echo tidied; exit 5' TERM\necho on; while :; do sleep 0.1; done\n"
    _, report = pod.run(script, dialect=Dialect.PBS, walltime_s=1)
    assert (report.reason, report.exit_code) == (Reason.TIME_LIMIT, 5)
    assert pod.out.read_text() == "on\ntidied\n"
    # the script's own shell may add that its sleep was terminated
    assert re.match(r"=>> PBS: job killed: walltime [1-9] exceeded limit 1\n", pod.err.read_text())


def test_walltime_slurm(pod: RunnerPod) -> None:
    code, report = pod.run("#!/bin/sh\nexec sleep 60\n", walltime_s=1)
    assert (code, report.reason, report.signal) == (143, Reason.TIME_LIMIT, 15)
    when = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d"
    line = rf"slurmstepd: error: \*\*\* JOB 12 ON \S+ CANCELLED AT {when} DUE TO TIME LIMIT \*\*\*\n"
    assert re.fullmatch(line, pod.err.read_text())


def test_script_that_ignores_term_is_killed_after_the_delay(pod: RunnerPod) -> None:
    script = "#!/bin/sh\ntrap '' TERM\nwhile :; do sleep 0.1; done\n"
    _, report = pod.run(script, walltime_s=1, site=SiteConfig(kill_delay_s=1))
    assert (report.reason, report.signal) == (Reason.TIME_LIMIT, 9)
    assert (report.walltime_s or 0) >= 2


STUBBORN = """#!/bin/sh
sh -c 'trap "sleep 0.3; echo late; exit" TERM; echo ready; while :; do sleep 0.05; done' &
wait
"""


@pytest.mark.parametrize("dialect", list(Dialect))
def test_stopped(pod: RunnerPod, dialect: Dialect) -> None:
    """As qdel does it: TERM to the runner. What the script has started gets its time to tidy up."""
    pod.prepare(STUBBORN, dialect=dialect)
    process = pod.start()
    wait_for("the script", lambda: pod.out.exists() and pod.out.read_text() == "ready\n")
    process.terminate()
    code, report = pod.finish(process)
    assert (code, report.signal, report.reason) == (143, 15, Reason.SIGNALLED)
    assert pod.out.read_text() == "ready\nlate\n"
    said = pod.err.read_text()
    if dialect is Dialect.PBS:
        assert "PBS" not in said
    else:
        assert re.search(r"slurmstepd: error: \*\*\* JOB 12 ON \S+ CANCELLED AT [-0-9T:]+ \*\*\*\n", said)


def test_stopped_with_a_clean_end_is_not_a_success(pod: RunnerPod) -> None:
    pod.prepare("#!/bin/sh\ntrap 'exit 0' TERM\necho ready; while :; do sleep 0.05; done\n")
    process = pod.start()
    wait_for("the script", lambda: pod.out.exists() and pod.out.read_text() == "ready\n")
    process.terminate()
    code, report = pod.finish(process)
    assert (code, report.exit_code) == (143, 0)


def test_stopped_at_once(pod: RunnerPod) -> None:
    """At any moment of the start: ends, soon, and without success."""
    pod.prepare("#!/bin/sh\nsleep 60\n")
    process = pod.start()
    wait_for("the run directory", (pod.root / "run/job").exists)
    process.terminate()
    assert process.wait(60) == 143


def test_nothing_is_left_running(pod: RunnerPod) -> None:
    pod.run("#!/bin/sh\nsleep 61.25 &\necho $! >pid\nexit 0\n", walltime_s=3600)
    pid = (pod.root / "pid").read_text().strip()
    wait_for("the background process to go", lambda: not Path(f"/proc/{pid}").exists() or is_zombie(pid))
    listed = processes()
    wait_for("the timer to go", lambda: "sleep 3600\n" not in listed or "sleep 3600\n" not in processes())


def processes() -> str:
    return "".join(f"{line}\n" for line in command_lines().values())


def is_zombie(pid: str) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def test_background_process_does_not_hold_the_job(pod: RunnerPod) -> None:
    code, report = pod.run("#!/bin/sh\nsleep 50 &\nexit 3\n", limit_s=30)
    assert (code, report.exit_code) == (3, 3)


def test_report_of_a_runner_that_was_killed(pod: RunnerPod) -> None:
    pod.prepare("#!/bin/sh\necho ready; exec sleep 30\n")
    process = pod.start(start_new_session=True)
    wait_for("the script", lambda: pod.out.exists() and pod.out.read_text() == "ready\n")
    session = int((pod.root / "run/job/session").read_text())
    os.killpg(process.pid, signal.SIGKILL)
    _, report = pod.finish(process)
    os.killpg(session, signal.SIGKILL)
    assert (report.exit_code, report.signal, report.reason) == (None, None, Reason.SIGNALLED)
    assert report.message == "the pod was killed before its runner could report"
    assert report.started


def test_report_that_cannot_be_written(pod: RunnerPod) -> None:
    pod.log.mkdir()
    pod.prepare("#!/bin/sh\nexit 3\n")
    assert pod.start().wait(60) == 3


def bar(pod: RunnerPod, pod_uid: str) -> None:
    for name, text in bar_rerun(pod_uid)["data"].items():
        (pod.root / "conf" / name).write_text(text)


def let_start(pod: RunnerPod) -> None:
    (pod.root / "requests").mkdir()
    (pod.root / "requests/lines").write_text("start\n")


def test_a_job_that_must_not_run_twice_waits_for_the_word(pod: RunnerPod) -> None:
    pod.prepare("#!/bin/sh\ntouch ran\n", rerunnable=False)
    process = pod.start()
    wait_for("the runner to wait", (pod.root / "run/job/submitted.sh").exists)
    assert not (pod.root / "ran").exists()
    bar(pod, POD_UID)
    let_start(pod)
    assert pod.finish(process)[0] == 0
    assert (pod.root / "ran").exists()


def test_a_job_that_must_not_run_twice_when_another_pod_was_first(pod: RunnerPod) -> None:
    pod.prepare("#!/bin/sh\ntouch ran\n", rerunnable=False)
    bar(pod, "the-pod-before")
    let_start(pod)
    code, report = pod.finish(pod.start())
    assert (code, report.exit_code, report.reason) == (1, None, Reason.LAUNCH_FAILED)
    assert report.message == "the job has been started before and is not rerunnable"
    assert not (pod.root / "ran").exists()
    assert not pod.out.exists(), "the output of the first run stays"


def test_another_pod_was_first_which_is_heard_late(pod: RunnerPod) -> None:
    pod.prepare("#!/bin/sh\ntouch ran\n", rerunnable=False)
    process = pod.start()
    wait_for("the runner to wait", (pod.root / "run/job/submitted.sh").exists)
    bar(pod, "the-pod-before")
    code, report = pod.finish(process)
    assert (code, report.reason) == (1, Reason.LAUNCH_FAILED)
    assert not (pod.root / "ran").exists()


def test_stopped_while_it_waits_for_the_word(pod: RunnerPod) -> None:
    pod.prepare("#!/bin/sh\ntouch ran\n", rerunnable=False)
    process = pod.start()
    wait_for("the runner to wait", (pod.root / "run/job/submitted.sh").exists)
    process.terminate()
    assert process.wait(60) == 143
    assert not pod.log.exists() and not (pod.root / "ran").exists()


def test_without_setsid(pod: RunnerPod, tmp_path: Path) -> None:
    """An image without util-linux: the exit code still arrives."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for (
        name
    ) in "cat chmod cp cut date env getent grep hostname id mkdir mv sed sleep tail tr wc sort head base64".split():
        if found := shutil.which(name):
            (tools / name).symlink_to(found)
    pod.environment["PATH"] = str(tools)
    code, report = pod.run("#!/bin/sh\nexit 3\n")
    assert (code, report.exit_code) == (3, 3)


def test_unknown_role(pod: RunnerPod) -> None:
    pod.prepare("")
    _, report = pod.finish(pod.start("wroker"))
    assert report.message == "the runner was started as 'wroker': expected master, worker or deliver"


def test_worker_without_sshd(pod: RunnerPod, tmp_path: Path) -> None:
    pod.prepare("")
    _, report = pod.finish(pod.start("worker"))
    assert report.reason is Reason.LAUNCH_FAILED
    assert report.message == f"the job's ssh keys are not in {tmp_path}/ssh"


@pytest.mark.parametrize(
    ("dialect", "words"),
    [
        (Dialect.PBS, "=>> PBS: job killed: mem 600000kb exceeded limit 100000kb\n"),
        (
            Dialect.SLURM,
            "slurmstepd: error: StepId=12.batch exceeded memory limit (614400000 > 102400000), being killed\n",
        ),
    ],
)
def test_killed_by_an_engine_without_control_groups(pod: RunnerPod, dialect: Dialect, words: str) -> None:
    events = pod.root / "events"
    events.write_text("oom_kill 0\n")
    pod.environment["HPCBATCH_MEMORY_EVENTS"] = str(events)
    told = "oom_kill 1\\nheld_bytes 614400000\\nlimit_bytes 102400000\\n"
    _, report = pod.run(f"#!/bin/sh\nprintf '{told}' >{events}\nkill -9 $$\n", dialect=dialect)
    assert (report.signal, report.reason) == (9, Reason.OUT_OF_MEMORY)
    assert pod.err.read_text() == words
