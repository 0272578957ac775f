"""Containers as processes: what they see, how they end, what they leave.

Run by root and, from test_agent_as_user, by an ordinary user.
"""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.component.agent_rig import SLEEP, sleepers
from tests.component.podhost_rig import API_PORT, LIMIT_S, PodHostRig, volume
from tests.waiting import wait_for


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[PodHostRig]:
    rig = PodHostRig(tmp_path / "rig")
    if rig.mode.name == "plain":
        rig.stop()
        pytest.skip(rig.mode.why_plain)
    yield rig
    rig.stop()


@pytest.mark.parametrize(
    ("script", "code"),
    [
        pytest.param("exit 0", 0, id="good"),
        pytest.param("exit 3", 3, id="code"),
        pytest.param("kill -9 $$", 137, id="kill"),
        pytest.param("kill -TERM $$", 143, id="term"),
        pytest.param("kill -SEGV $$", 139, id="segv"),
        pytest.param("yes | head -1 >/dev/null", 0, id="sigpipe is not ignored"),
    ],
)
def test_exit_code(rig: PodHostRig, script: str, code: int) -> None:
    assert rig.run(script)[0] == code


def test_end_is_reported_with_usage_and_message(rig: PodHostRig) -> None:
    rig.pod("p")
    rig.start("p", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; printf 'a\\nb' >/dev/termination-log; exit 7")
    rig.hear("started", "p")
    end = rig.hear("exited", "p")
    assert (end["code"], end["reason"], end["message"]) == (7, "Error", "a\nb")
    assert 0.02 < end["cpu_s"] < 20
    assert end["max_rss_kib"] > 500


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["no-such-program"], 'exec: "no-such-program": executable file not found in $PATH'),
        (["/no/such"], 'exec: "/no/such": no such file or directory'),
        (["/etc/passwd"], 'exec: "/etc/passwd": permission denied'),
    ],
)
def test_program_that_cannot_start(rig: PodHostRig, argv: list[str], message: str) -> None:
    rig.pod("p")
    rig.start("p", "", argv=argv)
    end = rig.hear("exited", "p")
    assert (end["code"], end["reason"], end["message"]) == (128, "StartError", message)


def test_missing_interpreter_and_directory(rig: PodHostRig, tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("#!/no/such/shell\n")
    script.chmod(0o755)
    assert rig.run("", argv=[str(script)])[1].endswith("its interpreter does not exist")
    code, text = rig.run("true", uid="two", cwd="/no/such/directory")
    assert (code, text) == (128, 'chdir to cwd ("/no/such/directory") failed: No such file or directory')


@pytest.fixture
def ignored_signals() -> Iterator[None]:
    """As in an engine that was started under nohup, by `&` of a script, or by a program that ignores the terminal."""
    numbers = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP)
    before = {number: signal.signal(number, signal.SIG_IGN) for number in numbers}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("ignored_signals")
def test_a_script_can_trap_what_its_engine_ignores(rig: PodHostRig) -> None:
    script = 'for s in HUP INT QUIT TSTP; do trap "echo $s" $s; kill -s $s $$; done'
    assert rig.run(script) == (0, "HUP\nINT\nQUIT\nTSTP\n")


def test_runs_as_the_same_user_with_clean_signals_and_no_stray_descriptors(rig: PodHostRig) -> None:
    _, text = rig.run(
        "id -u; id -g; grep SigIgn /proc/self/status; ls /proc/self/fd; umask; pwd; echo $WORD", cwd="/usr"
    )
    uid, gid, ignored, *descriptors, umask, directory, word = text.split("\n")[:-1]
    assert (int(uid), int(gid)) == (os.getuid(), os.getgid())
    # 32 and 33 are the C library's own: it lets nobody change them, and what started the tests may ignore them
    assert int(ignored.split()[1], 16) & ~(3 << 31) == 0
    assert descriptors == ["0", "1", "2", "3"]  # 3 is the directory that ls reads
    assert (umask, directory, word) == ("0022", "/usr", "a b")


def test_has_its_own_processes_host_name_and_shared_memory(rig: PodHostRig) -> None:
    _, text = rig.run("hostname; ls -d /proc/[0-9]* | wc -l; ls -A /dev/shm | wc -l; echo x >/dev/shm/x")
    name, processes, shared = text.split()
    assert (name, shared) == ("one", "0")
    assert int(processes) < 8
    assert not Path("/dev/shm/x").exists()


def test_log_is_in_container_runtime_format(rig: PodHostRig) -> None:
    rig.run("echo out; echo err >&2; head -c 40000 /dev/zero | tr '\\0' x; echo; printf rest")
    raw = rig.log_file("one").read_text().splitlines()
    stamp = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z"
    assert all(re.fullmatch(rf"{stamp} (stdout|stderr) [FP] .*", line) for line in raw)
    assert rig.log("one", stream="stderr") == "err\n"
    assert rig.log("one", stream="stdout") == "out\n" + "x" * 40000 + "\nrest"


def test_term_reaches_the_main_process_and_grace_is_kept(rig: PodHostRig) -> None:
    rig.pod("p")
    rig.start("p", "trap 'echo bye; exit 5' TERM; echo ready; while :; do sleep 0.01; done")
    rig.hear("started", "p")
    wait_for("ready", lambda: "ready" in rig.log("p"))
    rig.say("stop", "p", container="", grace_s=30)
    assert rig.hear("exited", "p")["code"] == 5
    assert rig.log("p") == "ready\nbye\n"


def test_kill_after_the_grace(rig: PodHostRig) -> None:
    rig.pod("p")
    rig.start("p", "trap '' TERM; echo ready; while :; do sleep 0.01; done")
    rig.hear("started", "p")
    wait_for("ready", lambda: "ready" in rig.log("p"))
    rig.say("stop", "p", container="", grace_s=0.3)
    end = rig.hear("exited", "p")
    assert (end["code"], end["reason"]) == (137, "Error")


def test_an_init_that_somebody_else_kills(rig: PodHostRig) -> None:
    """Nobody knows how its container ended: not as a program that SIGKILL ended."""
    rig.pod("p")
    rig.start("p", "sleep 600")
    rig.hear("started", "p")
    [inner] = children(rig.client.pid)
    [init] = children(inner)
    os.kill(init, signal.SIGKILL)
    end = rig.hear("exited", "p")
    assert (end["code"], end["reason"]) == (137, "ContainerStatusUnknown")


def test_nothing_survives_the_main_process(rig: PodHostRig, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    mark.touch(mode=0o666)
    keep = f"setsid sh -c 'setsid sleep {SLEEP} & echo $! >{mark}; sleep {SLEEP}' &"
    rig.run(f"{keep} while [ ! -s {mark} ]; do sleep 0.01; done")
    assert not sleepers()


def names(directory: str | Path) -> list[str]:
    return sorted(path.name for path in Path(directory).iterdir())


def test_orphans_are_reaped(rig: PodHostRig) -> None:
    script = (
        "for i in 1 2 3 4 5; do sh -c 'true & true'; done; i=0\n"
        "while found=$(grep -ls '^State:.Z' /proc/[0-9]*/status) && [ $i -lt 300 ]; do i=$((i + 1)); sleep 0.1; done\n"
        "echo $found"
    )
    assert rig.run(script) == (0, "\n")


# --- mounts ---


def test_mount_points_that_the_host_lacks(rig: PodHostRig, tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "f").write_text("content")
    places = ["/etc/volcano", "/hpcbatch/a/b", "/usr/share/hpcbatch-x/y", "/no-such-dir", "/run/hpcbatch-test/x"]
    before = names("/"), names("/etc"), names("/usr/share"), names("/run")
    code, text = rig.run(
        f"cat {' '.join(place + '/f' for place in places)} && ls /etc/passwd /usr/share/doc >/dev/null && "
        f"echo also >{places[0]}/new",
        mounts=[{"target": place, "source": str(data)} for place in places],
    )
    assert (code, text) == (0, "content" * 5)
    assert (data / "new").read_text() == "also\n"
    assert before == (names("/"), names("/etc"), names("/usr/share"), names("/run"))


def test_files_beside_missing_mount_points_are_not_lost_in_silence(rig: PodHostRig, tmp_path: Path) -> None:
    code, text = rig.run("touch /etc/lost", mounts=[{"target": "/etc/volcano", "source": str(tmp_path)}])
    assert code == 1
    assert "Read-only file system" in text


def test_missing_mount_point_in_a_directory_of_the_user_leaves_the_directory_writable(
    rig: PodHostRig, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    keys = tmp_path / "keys"
    keys.mkdir()
    (keys / "id").write_text("key")
    code, text = rig.run(
        f"cat {home}/.ssh/id; echo result >{home}/result", mounts=[{"target": f"{home}/.ssh", "source": str(keys)}]
    )
    assert (code, text) == (0, "key")
    assert (home / "result").read_text() == "result\n"
    assert (home / ".ssh").stat().st_mode & 0o777 == 0o700
    assert not names(home / ".ssh")


def test_single_files_over_and_beside_the_hosts(rig: PodHostRig, tmp_path: Path) -> None:
    passwd = tmp_path / "passwd"
    passwd.write_text("somebody:x:0:0::/:/bin/sh\n")
    code, text = rig.run(
        "cat /etc/passwd /etc/hpcbatch.test",
        mounts=[
            {"target": "/etc/passwd", "source": str(passwd)},
            {"target": "/etc/hpcbatch.test", "source": str(passwd)},
        ],
    )
    assert (code, text) == (0, passwd.read_text() * 2)


def test_nested_mounts_and_tmpfs(rig: PodHostRig, tmp_path: Path) -> None:
    outer, inner = tmp_path / "outer", tmp_path / "inner"
    outer.mkdir()
    inner.mkdir()
    (inner / "f").write_text("inner")
    code, text = rig.run(
        "cat /data/deep/in/f; df --output=fstype /mem | tail -1",
        mounts=[
            {"target": "/data/deep/in", "source": str(inner)},
            {"target": "/data", "source": str(outer)},
            {"target": "/mem", "size_bytes": 1 << 20},
        ],
    )
    assert (code, text) == (0, "innertmpfs\n")


def test_read_only_mount(rig: PodHostRig, tmp_path: Path) -> None:
    code, text = rig.run("touch /data/x", mounts=[{"target": "/data", "source": str(tmp_path), "read_only": True}])
    assert code == 1
    assert "Read-only file system" in text


@pytest.mark.parametrize(
    ("mount", "message"),
    [
        ({"target": "/data", "source": "/no/such"}, "/no/such, to be mounted at /data, does not exist"),
        ({"target": "/", "source": "/tmp"}, "/ cannot be a mount point"),
        ({"target": "/proc/x", "source": "/tmp"}, "/proc/x cannot be a mount point"),
        (
            {"target": "/etc/group", "source": "/tmp"},
            "/etc/group is a file of the host, so no directory can be mounted on it",
        ),
        (
            {"target": "/etc", "source": "/etc/group"},
            "/etc is a directory of the host, so no file can be mounted on it",
        ),
        ({"target": "/d", "source": "/tmp/..", "beneath": "/tmp"}, "the subPath mounted at /d leads out of its volume"),
    ],
)
def test_mounts_that_are_refused(rig: PodHostRig, mount: dict[str, str], message: str) -> None:
    assert rig.run("true", mounts=[mount]) == (128, message)


def test_volume_files_and_their_update(rig: PodHostRig) -> None:
    rig.pod("p", volumes={"v": {".ssh/id": "key", "plain": "1"}})
    mounts: list[dict[str, object]] = [
        {"target": "/v", "source": rig.volume_path("p", "v"), "read_only": True},
        {"target": "/s", "source": rig.volume_path("p", "v") + "/.ssh"},
    ]
    script = (
        "stat -c '%a %F' /s /s/id; cat /s/id /v/.ssh/id /v/plain; readlink /v/plain; "
        "while [ ! -e /v/new ]; do sleep 0.01; done; cat /v/new; ls /v"
    )
    rig.start("p", script, mounts=mounts)
    rig.hear("started", "p")
    wait_for("the first files", lambda: "..data/plain" in rig.log("p"))
    rig.say("volume", "p", volume=volume("v", {"new": "2"}))
    assert rig.hear("exited", "p")["code"] == 0
    assert rig.log("p") == "755 directory\n600 regular file\nkeykey1..data/plain\n2new\n"


def test_secrets_are_on_no_disk(rig: PodHostRig) -> None:
    rig.pod("p", volumes={"v": {"secret": "xyzzy"}})
    assert not names(rig.work)  # what the pod host has there lies in a tmpfs of its own


def test_other_pods_secrets_are_not_seen(rig: PodHostRig) -> None:
    rig.pod("p", volumes={"v": {"secret": "xyzzy"}})
    assert rig.run(f"ls {rig.work}", uid="q") == (0, "")


def test_devices(rig: PodHostRig) -> None:
    script = (
        "echo x >/dev/null; head -c 3 /dev/zero | wc -c; echo y >/dev/stderr; "
        "test -c /dev/urandom && test -c /dev/ptmx && ls -d /dev/pts /dev/fd >/dev/null"
    )
    assert rig.run(script) == (0, "3\ny\n")
    assert rig.run("script -qc tty /dev/null", uid="two") == (0, "/dev/pts/0\n")


# --- processors ---


AUTOGROUP = Path("/proc/sys/kernel/sched_autogroup_enabled")


@pytest.mark.skipif(
    os.getuid() != 0
    or not Path("/sys/fs/cgroup/cpu/cgroup.procs").exists()
    or not AUTOGROUP.exists()
    or AUTOGROUP.read_text() == "0\n",
    reason="needs root, control groups of version 1 and the scheduler's autogroup",
)
def test_pods_share_the_processors_as_one(rig: PodHostRig) -> None:
    """Not as sessions, each of which has a share: `python -m bench.engine halo`."""
    groups = {rig.run("grep ':cpu[:,]' /proc/self/cgroup | cut -d : -f 3", uid=uid)[1] for uid in ("one", "two")}
    assert len(groups) == 1
    assert re.search(r"/hpcbatch-\d+\n$", groups.pop())


# --- networks ---


def test_pods_of_a_subdomain_know_and_reach_each_other(rig: PodHostRig) -> None:
    first = rig.pod("a", subdomain="job")
    second = rig.pod("b", subdomain="job")
    rig.pod("c", subdomain="other")
    serve = (
        "python3 -c 'import socket; s = socket.create_server((\"\", 22)); c, p = s.accept(); c.sendall(p[0].encode())'"
    )
    rig.start("a", f"cat /etc/hosts; exec {serve}")
    rig.hear("started", "a")
    ask = (
        "import socket, time\n"
        "for name in ('a', 'a.job', 'a.job.ns.svc.cluster.local'): print(socket.gethostbyname(name))\n"
        "for _ in range(500):\n"
        "    try: print(socket.create_connection(('a.job', 22)).recv(99).decode()); break\n"
        "    except ConnectionRefusedError: time.sleep(0.01)\n"
    )
    rig.start("b", "", argv=["python3", "-c", ask])
    rig.hear("started", "b")
    ends = {event["pod"]: event["code"] for event in (rig.hear("exited"), rig.hear("exited"))}
    assert ends == {"a": 0, "b": 0}, rig.log("b")
    assert rig.log("b").split() == [first, first, first, second]
    assert rig.log("a").splitlines() == [
        "127.0.0.1 localhost",
        f"{first} a.job a a.job.ns.svc.cluster.local",
        f"{second} b.job b b.job.ns.svc.cluster.local",
    ]


def test_messages_between_pods_are_not_cut_up(rig: PodHostRig) -> None:
    """As little as those by 127.0.0.1: MPI programs are slower otherwise (`python -m bench.engine halo`)."""
    rig.pod("a", subdomain="job")
    ask = (
        "import fcntl, socket, struct\n"
        "request = struct.pack('16si', b'eth0', 0)\n"
        "print(struct.unpack('16xi', fcntl.ioctl(socket.socket(), 0x8921, request))[0])\n"  # SIOCGIFMTU
    )
    rig.start("a", "", argv=["python3", "-c", ask])
    rig.hear("started", "a")
    assert rig.hear("exited", "a")["code"] == 0
    assert rig.log("a") == "65535\n"


def test_callers_of_the_api_server_are_handed_over(rig: PodHostRig) -> None:
    there = "/dev/tcp/127.0.0.1"
    for uid in ("one", "two"):
        rig.pod(uid, subdomain="job")
        ask = f"exec 3<>{there}/{API_PORT} && echo {uid} >&3 && cat <&3; : 2>/dev/null >{there}/1"
        rig.start(uid, "", argv=["bash", "-c", ask])
        rig.hear("started", uid)
        with rig.callers.get(timeout=LIMIT_S) as caller:
            assert caller.recv(100) == f"{uid}\n".encode()
            caller.sendall(b"answered\n")
        assert rig.end(uid)["code"] == 1, "nothing else is to be reached"
        assert rig.log(uid, stream="stdout") == "answered\n"


def test_hosts_file_follows_in_place(rig: PodHostRig) -> None:
    rig.pod("a", subdomain="job")
    # by descriptor: the file itself is followed, not its name
    rig.start("a", "exec 3</etc/hosts; echo up; until grep -q ' b.job ' /dev/fd/3; do sleep 0.01; done; cat /etc/hosts")
    rig.hear("started", "a")
    wait_for("up", lambda: "up" in rig.log("a"))
    rig.pod("b", subdomain="job")
    rig.hear("exited", "a")
    assert " b.job " in rig.log("a")


def test_a_pod_that_left_is_forgotten(rig: PodHostRig) -> None:
    rig.pod("a", subdomain="job")
    rig.pod("b", subdomain="job")
    rig.say("remove", "b")
    rig.start("a", "cat /etc/hosts")
    rig.end("a")
    assert " b.job " not in rig.log("a")


def test_addresses_do_not_collide_and_are_not_reused_at_once(rig: PodHostRig) -> None:
    seen = set()
    for index in range(20):
        seen.add(rig.pod(f"p{index}", subdomain="job"))
        rig.say("remove", f"p{index}")
    assert len(seen) == 20


def test_others_share_the_hosts_network_and_know_their_own_name(rig: PodHostRig) -> None:
    interfaces = sorted(names("/sys/class/net"))
    ask = (
        "import socket\n"
        "print(socket.gethostbyname(socket.gethostname()))\n"
        "print(sorted(name for _, name in socket.if_nameindex()))\n"
    )
    _, text = rig.run("", argv=["python3", "-c", ask])
    assert text == f"127.0.0.1\n{interfaces}\n"


# --- several containers, the end of everything ---


def test_containers_of_a_pod_share_name_and_network_but_not_processes(rig: PodHostRig) -> None:
    rig.pod("p", subdomain="job")
    rig.start("p", f"hostname; readlink /proc/self/ns/net /proc/self/ns/ipc; sleep {SLEEP}", container="one")
    rig.hear("started", "p")
    rig.start("p", "hostname; readlink /proc/self/ns/net /proc/self/ns/ipc; pgrep -x sleep", container="two")
    rig.hear("started", "p")
    wait_for("the first", lambda: "ipc" in rig.log("p", "one"))
    end = rig.hear("exited", "p")
    assert (end["container"], end["code"]) == ("two", 1)  # pgrep found nothing
    assert rig.log("p", "one") == rig.log("p", "two")
    rig.say("stop", "p", container="one", grace_s=0)
    assert rig.hear("exited", "p")["code"] == 137


def test_descriptors_do_not_pile_up(rig: PodHostRig) -> None:
    inner = wait_for("the inner process", lambda: children(rig.client.pid))[0]

    def descriptors() -> int:
        return len(names(f"/proc/{inner}/fd"))

    rig.run("true", uid="first", subdomain="job")
    rig.run("true", uid="again", subdomain="job")
    before = descriptors()
    for index in range(30):
        rig.run("true", uid=f"p{index}", subdomain="job")
    rig.pod("last")
    assert descriptors() <= before + 3


def children(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@pytest.mark.parametrize("which", ["socket", "outer", "inner"])
def test_everything_ends_with_the_pod_host(rig: PodHostRig, which: str) -> None:
    rig.pod("p", subdomain="job")
    rig.start("p", f"setsid setsid sleep {SLEEP} & sleep {SLEEP}")
    rig.hear("started", "p")
    wait_for("both", lambda: len(sleepers()) == 2)
    inner = children(rig.client.pid)[0]
    if which == "socket":
        rig.stop()
    else:
        os.kill(rig.client.pid if which == "outer" else inner, signal.SIGKILL)
        assert rig.hear("lost")
    wait_for("all gone", lambda: not sleepers())
    assert "podhost" not in Path("/proc/self/mounts").read_text()
