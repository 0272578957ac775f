"""The init of one container: process 1 of its own process id namespace, which starts the container's main process.

It builds the container's root, copies the output to the log file in the format of the Container Runtime Interface and
to who is attached (`streams.py`), starts further processes, passes signals on (process 1 itself would ignore them),
reaps orphans, and ends when the main process has ended; the kernel then kills whatever that left running. It reports to
the pod host on a pipe, one JSON object a line, and gets from it on a socket, each with the descriptor of a client:
    {"op": "attach", "stdin": bool}                     to the main process
    {"op": "exec", "argv", "tty": bool, "stdin": bool}  a further process
    {"op": "connect", "port", "family": 4 or 6}         a connection to the pod's loopback address
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import resource
import select
import signal
import socket
import sys
import termios
import time
import traceback
from dataclasses import dataclass
from types import FrameType
from typing import Any, Final, NoReturn

from hpcbatch.engine.podhost import linux, prepared
from hpcbatch.engine.podhost.root import Mount, MountError, Root
from hpcbatch.engine.podhost.streams import MESSAGE_LIMIT, STATUS, Client, Session, Stdio, open_stdio

KILL_ALL: Final = signal.SIGUSR1
"""Sent to the init of a container without namespaces: kill every descendant and end."""
_PASSED_ON: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR2)
_LINE_LIMIT: Final = 16 * 1024  # containerd splits longer lines


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the pod host gives to a container it has just forked."""

    work: str
    namespaces: tuple[tuple[int, int], ...]
    """Descriptors of the pod's namespaces and their kinds, to be entered."""
    outside_user: tuple[int, int] | None
    """Real uid and gid where the pod host lives in a user namespace of its own, else None."""
    plain: bool
    """No namespaces at all: an ordinary process tree."""
    report: int
    door: socket.socket
    """Where clients come in."""
    group: str = ""
    """Control group that limits the memory of the main process and its descendants."""


class StartError(Exception):
    """The main process could not be started; `str()` is the message of the container's status."""


class LogWriter:
    """Copies what a container writes to its log file: `<time> stdout F <line>`, P for a part of a line."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o640)
        self._rest = {"stdout": b"", "stderr": b""}

    def feed(self, stream: str, data: bytes) -> None:
        stamp = _now()
        head = f"{stamp} {stream} ".encode()
        *lines, rest = (self._rest[stream] + data).split(b"\n")
        out = bytearray()
        for line in lines:
            cut = line
            while len(cut) > _LINE_LIMIT:
                out += head + b"P " + cut[:_LINE_LIMIT] + b"\n"
                cut = cut[_LINE_LIMIT:]
            out += head + b"F " + cut + b"\n"
        while len(rest) > _LINE_LIMIT:
            out += head + b"P " + rest[:_LINE_LIMIT] + b"\n"
            rest = rest[_LINE_LIMIT:]
        self._rest[stream] = rest
        self._write(out)

    def close(self) -> None:
        for stream, rest in self._rest.items():
            if rest:
                self._write(f"{_now()} {stream} P ".encode() + rest + b"\n")
        os.close(self._file)

    def _write(self, data: bytes | bytearray) -> None:
        view = memoryview(data)
        while view:
            try:
                view = view[os.write(self._file, view) :]
            except OSError as error:  # disk full: the job goes on, its pod log does not
                print(f"podhost: log not written: {error}", file=sys.stderr, flush=True)
                return


def _now() -> str:
    seconds, nanoseconds = divmod(time.time_ns(), 1_000_000_000)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{nanoseconds:09d}Z"


def run(spec: dict[str, Any], around: Surroundings) -> NoReturn:
    """Be the init of the container that `spec` describes (a `start` message); ends the process."""
    status = 1
    try:
        _Init(spec, around).run()
        status = 0
    except (StartError, MountError) as error:
        _report(around.report, {"error": "StartError", "message": str(error)})
    except BaseException:
        traceback.print_exc()
        _report(around.report, {"error": "StartError", "message": "the engine failed; its log has the traceback"})
    finally:
        sys.stderr.flush()
        os._exit(status)


def reset_signals() -> None:
    """An ignored signal stays so after exec, and a shell cannot trap it: Python ignores SIGPIPE, nohup SIGHUP."""
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        with contextlib.suppress(OSError, ValueError):
            signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])


def _report(report: int, message: dict[str, Any]) -> None:
    with contextlib.suppress(OSError):
        os.write(report, json.dumps(message).encode() + b"\n")


class _Init:
    def __init__(self, spec: dict[str, Any], around: Surroundings) -> None:
        self._spec, self._around = spec, around
        self._main = 0
        self._status: int | None = None
        self._early: list[int] = []
        self._sessions: list[Session] = []
        """The main process's, and those of further processes."""
        self._is_alone = False

    def run(self) -> None:
        self._take_signals()
        self._enter_namespaces()
        log = LogWriter(self._spec["log"])
        self._group = (
            os.open(f"{self._around.group}/cgroup.procs", os.O_WRONLY | os.O_CLOEXEC) if self._around.group else -1
        )
        if not self._around.plain:
            root = Root(self._around.work)
            root.build([Mount.from_json(data) for data in self._spec["mounts"]])
            root.enter()
        self._start(log)
        _report(self._around.report, {"started": time.time()})
        self._serve()
        log.close()
        if self._around.plain:
            _kill_descendants()
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert self._status is not None  # _serve ends with it only  # noqa: S101
        code = os.waitstatus_to_exitcode(self._status)
        # containerd gives 128 + signal, and no signal field
        end = {"code": 128 - code if code < 0 else code, "at": time.time(), "max_rss_kib": usage.ru_maxrss}
        _report(self._around.report, {**end, "cpu_s": round(usage.ru_utime + usage.ru_stime, 3)})

    def _take_signals(self) -> None:
        self._wake_read, wake_write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
        for number in (*_PASSED_ON, KILL_ALL):
            signal.signal(number, self._on_signal)
        signal.signal(signal.SIGCHLD, lambda *_: None)

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        if number == KILL_ALL:
            number = signal.SIGKILL
        if not self._main:
            self._early.append(number)
        elif self._status is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._main, number)

    def _enter_namespaces(self) -> None:
        if self._around.plain:
            linux.become_subreaper()
            linux.die_with_parent(KILL_ALL)
            return
        for descriptor, kind in self._around.namespaces:
            linux.setns(descriptor, kind)
        linux.unshare(linux.CLONE_NEWNS)

    def _start(self, log: LogWriter) -> None:
        spec = self._spec
        pid, stdio = self._spawn(spec["argv"], tty=spec["tty"], stdin=spec["stdin"])
        self._main = pid
        for number in self._early:
            self._on_signal(number, None)
        self._sessions.append(Session(pid, stdio, feed=log.feed, once=spec["stdin_once"]))

    def _spawn(self, argv: list[str], *, tty: bool, stdin: bool) -> tuple[int, Stdio]:
        """Fork and exec a process with streams of its own. Raises StartError."""
        user = self._spec["user"]
        try:
            stdio = open_stdio(tty=tty, stdin=stdin, owner=user["uid"] if user is not None else None)
        except OSError as error:
            raise StartError(f"no {'terminal' if tty else 'pipe'} can be had: {error.strerror}") from None
        failed = os.pipe2(os.O_CLOEXEC)
        pid = os.fork()
        if pid == 0:
            self._exec(argv, stdio, failed[1])
        stdio.close_child()
        os.close(failed[1])
        with os.fdopen(failed[0], "rb") as answer:
            message = answer.read()
        if message:
            os.waitpid(pid, 0)
            stdio.close()
            raise StartError(message.decode())
        return pid, stdio

    def _exec(self, argv: list[str], stdio: Stdio, failed: int) -> NoReturn:
        spec = self._spec
        try:
            os.setsid()
            if self._group >= 0:
                os.write(self._group, b"0")
            signal.set_wakeup_fd(-1)
            reset_signals()
            environment = spec["env"]
            if stdio.is_tty:
                fcntl.ioctl(stdio.child[0], termios.TIOCSCTTY, 0)
                environment = {"TERM": "xterm", **environment}
            for target, source in enumerate(stdio.child):
                os.dup2(source, target)
            os.umask(0o022)
            if self._around.plain:
                linux.die_with_parent(signal.SIGKILL)
            self._become_user()
            if spec.get("prepares") and not self._main:
                environment = prepared.prepare(environment, spec["prepares"])
            directory = spec["cwd"] or "/"
            try:
                os.chdir(directory)
            except OSError as error:
                raise StartError(f'chdir to cwd ("{directory}") failed: {error.strerror}') from None
            _exec_program(argv, environment)
        except BaseException as error:
            os.write(failed, str(error).encode() or repr(error).encode())
        finally:
            os._exit(128)

    def _become_user(self) -> None:
        user = self._spec["user"]
        if self._around.outside_user is not None:
            uid, gid = self._around.outside_user
            linux.unshare(linux.CLONE_NEWUSER)
            linux.map_user(0, 0, uid, gid)
        elif user is not None:
            if self._spec["drop_capabilities"]:
                linux.drop_capabilities()
            os.setgroups(user["groups"])
            os.setresgid(user["gid"], user["gid"], user["gid"])
            os.setresuid(user["uid"], user["uid"], user["uid"])
        if self._spec["no_new_privileges"]:
            linux.no_new_privileges()

    def _serve(self) -> None:
        """Copy between processes and clients until the main process has ended and what it wrote has been read."""
        door = self._around.door.fileno()
        while self._status is None:
            wanted = {self._wake_read: select.POLLIN} | ({} if self._is_alone else {door: select.POLLIN})
            for session in self._sessions:
                for descriptor, what in session.interests():
                    wanted[descriptor] = wanted.get(descriptor, 0) | what  # a terminal may be of interest both ways
            poll = select.poll()
            for descriptor, what in wanted.items():
                poll.register(descriptor, what)
            ready = dict(poll.poll())
            for session in self._sessions:
                session.on_ready(ready)
            if door in ready:
                self._let_in()
            if self._wake_read in ready:
                with contextlib.suppress(BlockingIOError):
                    os.read(self._wake_read, 4096)
                self._reap()
        self._sessions[0].finish({})

    def _let_in(self) -> None:
        data, descriptors, _, _ = socket.recv_fds(self._around.door, MESSAGE_LIMIT, 1, socket.MSG_CMSG_CLOEXEC)
        if not data:  # the pod host has ended
            self._is_alone = True
            self._on_signal(KILL_ALL, None)
            return
        request = json.loads(data)
        caller = socket.socket(fileno=descriptors[0])
        if request["op"] == "connect":
            with caller:
                _connect(caller, request["port"], request["family"])
            return
        client = Client(caller, takes_input=request["stdin"])
        if request["op"] == "attach":
            self._sessions[0].attach(client)
            return
        try:
            pid, stdio = self._spawn(request["argv"], tty=request["tty"], stdin=request["stdin"])
        except StartError as error:
            client.say(STATUS, json.dumps({"error": str(error)}).encode())
            client.leave()
            return
        session = Session(pid, stdio)
        session.attach(client)
        self._sessions.append(session)

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid == self._main:
                self._status = status
            for session in self._sessions[1:]:
                if session.pid == pid:
                    self._sessions.remove(session)
                    code = os.waitstatus_to_exitcode(status)
                    session.finish({"code": 128 - code if code < 0 else code})


def _connect(caller: socket.socket, port: int, version: int) -> None:
    """The connection may still be in the making; what hinders it is said in words."""
    family, address = (socket.AF_INET6, "::1") if version == 6 else (socket.AF_INET, "127.0.0.1")
    with contextlib.suppress(OSError):  # a caller that has gone
        try:
            with socket.socket(family, socket.SOCK_STREAM | socket.SOCK_NONBLOCK) as connection:
                code = connection.connect_ex((address, port))
                if code not in {0, errno.EINPROGRESS}:
                    raise OSError(code, os.strerror(code))
                socket.send_fds(caller, [b"."], [connection.fileno()])
        except OSError as error:
            caller.send((error.strerror or str(error)).encode(), socket.MSG_NOSIGNAL)


def _exec_program(argv: list[str], environment: dict[str, str]) -> NoReturn:
    program = argv[0]
    try:
        os.execvpe(program, argv, environment)  # noqa: S606 - that is what containers are for
    except FileNotFoundError:
        where = "no such file or directory" if "/" in program else "executable file not found in $PATH"
        if "/" in program and os.path.exists(program):
            where = "its interpreter does not exist"
        raise StartError(f'exec: "{program}": {where}') from None
    except OSError as error:
        raise StartError(f'exec: "{program}": {(error.strerror or str(error)).lower()}') from None


def _kill_descendants() -> None:
    """Kill every process below this one, which as subreaper inherits the orphans, until none is left."""
    while True:
        for pid in _children():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def _children() -> list[int]:
    own, found = os.getpid(), []
    for name in os.listdir("/proc"):
        if name.isdecimal():
            with contextlib.suppress(OSError), open(f"/proc/{name}/stat") as file:
                # the name of the command, in parentheses, may hold anything
                if int(file.read().rpartition(")")[2].split()[1]) == own:
                    found.append(int(name))
    return found
