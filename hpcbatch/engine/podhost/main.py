"""The parent of all pods: one small single-threaded process that the agent talks to in JSON lines over a socket.

`python -m hpcbatch.engine.podhost.main FD WORK CALLERS PORT`: FD is the socket, WORK a private directory. It runs as
process 1 of a process id namespace (and, for an ordinary user, as root of a user namespace, so that it may make
networks and mounts).
When the engine ends, however it ends, the socket closes, this process ends, and the kernel takes away all pods with
their processes, mounts, networks and addresses: nothing outside this process's namespaces was ever touched.

Pods with a network of their own reach nothing outside but the API server, by the address that it has for everybody:
who connects to PORT on 127.0.0.1 in such a pod is handed over as a descriptor through the socket CALLERS. PORT 0: none.

Messages to it (`pod` is the pod's uid):
    {"op": "pod", "pod", "hostname", "namespace", "subdomain", "network": bool, "host_ip", "aliases", "sysctls",
     "volumes"}
    {"op": "volume", "pod", "volume"}       new content of a volume
    {"op": "start", "pod", "container", "argv", "env", "cwd", "mounts", "log", "termination", "user", ...}
    {"op": "stop", "pod", "container": name or "" for all, "grace_s"}
    {"op": "remove", "pod"}                 after its containers have ended
Messages from it:
    {"event": "ready", "mode": "root" | "user" | "plain", "why": why there are no namespaces,
     "memory": why limits are enforced by looking, "" where control groups do it}
    {"event": "sandbox", "pod", "ip": "" for the host's network} or {.., "error": message}
    {"event": "started", "pod", "container", "at"}
    {"event": "exited", "pod", "container", "code", "reason", "message", "at", "cpu_s", "max_rss_kib"}
"""

from __future__ import annotations

import contextlib
import gc
import heapq
import json
import os
import select
import signal
import socket
import sys
import time
import traceback
from dataclasses import dataclass, field
from typing import Any, Final, NoReturn

from hpcbatch.engine.podhost import container, control_groups, cpu_share, linux, memory, sampling
from hpcbatch.engine.podhost.network import Network
from hpcbatch.engine.podhost.root import mount_proc
from hpcbatch.engine.podhost.volume import write_volume

_TERMINATION_LIMIT: Final = 4096
_MEMORY_EVENTS: Final = "/dev/hpcbatch-memory-events"
"""In containers whose memory is looked at: the line of a control group's memory.events, and how much it was of what."""
_POD_NAMESPACES: Final = (("uts", linux.CLONE_NEWUTS), ("ipc", linux.CLONE_NEWIPC))

Message = dict[str, Any]


@dataclass(slots=True)
class Container:
    pid: int
    report: int
    termination: str
    group: str = ""
    """Its control group, if that limits its memory."""
    limit_bytes: int = 0
    """Of its memory, if that is looked at; 0: none."""
    memory_events: str = ""
    is_over: bool = False
    """It held more than its limit, and processes of it were killed."""
    text: bytes = b""
    """A line of its report that is not yet complete."""
    end: Message = field(default_factory=dict)
    """The last line of its report; empty if it was killed before."""


@dataclass(slots=True)
class Pod:
    uid: str
    directory: str
    hostname: str
    group: tuple[str, str] | None
    """Namespace and subdomain: the pods that know each other by name."""
    head: str
    """First part of its /etc/hosts."""
    ip: str = ""
    namespaces: list[tuple[int, int]] = field(default_factory=list)
    containers: dict[str, Container] = field(default_factory=dict)
    tmpfs: list[str] = field(default_factory=list)
    door: socket.socket | None = None
    """Listens in its network for callers of the API server."""


class PodHost:
    """`mode` is "root", "user" or "plain"; `outside_user` the real ids where there is a user namespace."""

    def __init__(
        self,
        *,
        control: socket.socket,
        work: str,
        mode: str,
        outside_user: tuple[int, int] | None,
        limits: memory.Hierarchy | None,
        callers: socket.socket,
        api_port: int,
    ) -> None:
        self._limits, self._callers = limits, callers
        self._control, self._work, self._mode, self._outside_user = control, work, mode, outside_user
        self._pods: dict[str, Pod] = {}
        self._reports: dict[int, tuple[str, str]] = {}
        self._timers: list[tuple[float, int, str, str]] = []
        """When, process id, pod, container: whom to kill if still there."""
        self._changed_groups: set[tuple[str, str]] = set()
        self._network = Network(api_port)
        self._sampler = sampling.Sampler()
        self._doors: dict[int, socket.socket] = {}
        self._input = bytearray()
        self._own_ids = os.open("/proc/self/ns/pid", os.O_RDONLY) if mode != "plain" else -1

    def run(self) -> None:
        """Serve until the agent closes its end."""
        wake_read, wake_write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        poll = self._poll = select.poll()
        poll.register(self._control, select.POLLIN)
        poll.register(wake_read, select.POLLIN)
        while True:
            ready = poll.poll(self._until_timer())
            for descriptor, _ in ready:
                if descriptor == self._control.fileno():
                    if not self._receive():
                        return
                elif descriptor == wake_read:
                    with contextlib.suppress(BlockingIOError):
                        os.read(wake_read, 4096)
                elif descriptor in self._reports:
                    self._read_report(descriptor)
                elif descriptor in self._doors:
                    self._hand_over(self._doors[descriptor])
            self._reap()
            self._fire_timers()
            self._watch_memory()
            self._write_hosts()

    def end(self) -> None:
        """Without namespaces nobody else ends the pods."""
        for pod in self._pods.values():
            for name in pod.containers:
                self._kill(pod, name)
        while self._mode == "plain":
            try:
                os.waitpid(-1, 0)
            except ChildProcessError:
                return

    def say(self, **message: Any) -> None:
        self._control.sendall(json.dumps(message).encode() + b"\n")

    def _receive(self) -> bool:
        try:
            data = self._control.recv(1 << 18)
        except ConnectionError:
            return False
        if not data:
            return False
        self._input += data
        if b"\n" in data:
            *lines, rest = bytes(self._input).split(b"\n")
            self._input = bytearray(rest)
            for line in lines:
                self._handle(json.loads(line))
        return True

    def _hand_over(self, door: socket.socket) -> None:
        """A caller that has gone again, or that the server has no time for, finds its connection closed."""
        with contextlib.suppress(OSError):
            caller, _ = door.accept()
            with caller:
                socket.send_fds(self._callers, [b"."], [caller.fileno()], socket.MSG_DONTWAIT)

    def _handle(self, message: Message) -> None:
        uid, name = message["pod"], message.get("container", "")
        try:
            match message["op"]:
                case "pod":
                    self.say(event="sandbox", pod=uid, ip=self._make_pod(message))
                case "volume":
                    if uid in self._pods:
                        self._write_volume(self._pods[uid], message["volume"])
                case "start":
                    if uid in self._pods:
                        self._start(self._pods[uid], name, message)
                case "stop":
                    self._stop(uid, name, message["grace_s"])
                case "remove":
                    self._remove(uid)
        except Exception as error:
            if not isinstance(error, OSError):
                traceback.print_exc()
                sys.stderr.flush()
            text = " ".join(str(error).split()) or repr(error)
            if message["op"] == "pod":
                self._remove(uid)
                self.say(event="sandbox", pod=uid, error=text)
            elif message["op"] == "start":
                self.say(
                    event="exited", pod=uid, container=name, code=128, reason="StartError", message=text,
                    at=time.time(), cpu_s=0, max_rss_kib=0,
                )  # fmt: skip
            else:
                print(f"podhost: {message['op']} of pod {uid}: {text}", file=sys.stderr, flush=True)

    def _make_pod(self, message: Message) -> str:
        uid, hostname = message["pod"], message["hostname"]
        group = (message["namespace"], message["subdomain"]) if message["network"] else None
        head = _hosts_head(message, alone=group is None)
        pod = self._pods[uid] = Pod(uid, f"{self._work}/pods/{uid}", hostname, group, head)
        os.makedirs(pod.directory, mode=0o755, exist_ok=True)
        if self._mode != "plain":
            # This process never uses its own host name or semaphores, so it may take on those of the next pod.
            linux.unshare(linux.CLONE_NEWUTS | linux.CLONE_NEWIPC)
            socket.sethostname(hostname)
            for name, kind in _POD_NAMESPACES:
                pod.namespaces.append((os.open(f"/proc/self/ns/{name}", os.O_RDONLY), kind))
            if group is not None:
                pod.ip, descriptor, pod.door = self._network.join(message["sysctls"])
                pod.namespaces.append((descriptor, linux.CLONE_NEWNET))
                if pod.door is not None:
                    self._doors[pod.door.fileno()] = pod.door
                    self._poll.register(pod.door, select.POLLIN)
                self._changed_groups.add(group)
            else:
                _write_in_place(f"{pod.directory}/hosts", pod.head.encode())
        for volume in message["volumes"]:
            self._write_volume(pod, volume)
        self._write_hosts()
        return pod.ip

    def _write_volume(self, pod: Pod, volume: Message) -> None:
        directory = f"{pod.directory}/volumes/{volume['name']}"
        if not volume["memory"]:
            write_volume(directory, volume["files"], volume["gid"])
            return
        os.makedirs(directory)
        if self._mode != "plain":
            size = f",size={volume['size']}" if volume["size"] else ""
            linux.mount("tmpfs", directory, "tmpfs", linux.MS_NOSUID | linux.MS_NODEV, f"mode=0777{size}")
            pod.tmpfs.append(directory)
        if volume["gid"] is not None:
            os.chown(directory, -1, volume["gid"])
            os.chmod(directory, 0o2777)  # noqa: S103 - as the kubelet does; only the pod gets there

    def _start(self, pod: Pod, name: str, message: Message) -> None:
        termination = f"{pod.directory}/termination-{name}"
        if message["termination"]:
            with open(termination, "wb") as file:
                os.fchmod(file.fileno(), 0o666)
        group, events = self._limit_memory(pod, name, message)
        if self._mode == "plain":
            _plain_paths(pod, name, message, termination)
        else:
            if message["termination"]:
                message["mounts"].append({"target": message["termination"], "source": termination})
            message["mounts"].append({"target": "/etc/hosts", "source": f"{pod.directory}/hosts"})
        read_end, write_end = os.pipe2(os.O_CLOEXEC)
        # Only a child forked after unshare is in the new namespace, as its process 1; then back for the next one.
        if self._mode != "plain":
            linux.unshare(linux.CLONE_NEWPID)
        try:
            pid = os.fork()
            if pid == 0:
                self._be_container(pod, message, write_end, group)
        finally:
            if self._mode != "plain":
                linux.setns(self._own_ids, linux.CLONE_NEWPID)
            os.close(write_end)
        os.set_blocking(read_end, False)
        pod.containers[name] = Container(
            pid, read_end, termination if message["termination"] else "", group,
            limit_bytes=message["memory_bytes"] if events else 0, memory_events=events,
        )  # fmt: skip
        self._reports[read_end] = (pod.uid, name)
        self._poll.register(read_end, select.POLLIN)

    def _limit_memory(self, pod: Pod, name: str, message: Message) -> tuple[str, str]:
        """The control group that does it, or the file that tells the container what looking led to."""
        limit = message["memory_bytes"]
        if not limit:
            return "", ""
        if self._limits is not None:
            return memory.make_group(self._limits, f"{pod.uid}-{name}", limit), ""
        events = f"{pod.directory}/memory-events-{name}"
        _write_in_place(events, b"oom_kill 0\n")
        message["mounts"].append({"target": _MEMORY_EVENTS, "source": events, "read_only": True})
        message["env"]["HPCBATCH_MEMORY_EVENTS"] = _MEMORY_EVENTS
        return "", events

    def _watch_memory(self) -> None:
        limited = [
            (pod, name, one)
            for pod in self._pods.values()
            for name, one in pod.containers.items()
            if one.limit_bytes and not one.end
        ]
        if not limited or not self._sampler.is_due():
            return
        self._sampler.look()
        for pod, name, one in limited:
            held = sampling.held_bytes(self._sampler.below(one.pid), one.limit_bytes)
            if held <= one.limit_bytes:
                continue
            apart = self._sampler.outside_main_session(one.pid)
            if not one.is_over:
                text = f"oom_kill 1\nheld_bytes {held}\nlimit_bytes {one.limit_bytes}\n"
                _write_in_place(one.memory_events, text.encode())
            one.is_over = True
            for process in apart:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process.pid, signal.SIGKILL)
            if not apart:
                self._kill(pod, name)

    def _be_container(self, pod: Pod, message: Message, report: int, group: str) -> NoReturn:
        try:
            keep = {0, 1, 2, report, *(descriptor for descriptor, _ in pod.namespaces)}
            signal.set_wakeup_fd(-1)
            for entry in os.listdir("/proc/self/fd"):
                if int(entry) not in keep:
                    with contextlib.suppress(OSError):
                        os.close(int(entry))
            around = container.Surroundings(
                work=self._work, namespaces=tuple(pod.namespaces), outside_user=self._outside_user,
                plain=self._mode == "plain", report=report, group=group,
            )  # fmt: skip
            container.run(message, around)
        finally:
            os._exit(1)

    def _read_report(self, descriptor: int) -> bool:
        """Tell of the start; keep the last word for when the container is gone. False at the end."""
        uid, name = self._reports[descriptor]
        one = self._pods[uid].containers[name]
        try:
            data = os.read(descriptor, 65536)
        except BlockingIOError:
            return False
        if not data:
            with contextlib.suppress(KeyError):
                self._poll.unregister(descriptor)
            return False
        *lines, one.text = (one.text + data).split(b"\n")
        for line in lines:
            message = json.loads(line)
            if "started" in message:
                self.say(event="started", pod=uid, container=name, at=message["started"])
            else:
                one.end = message
        return True

    def _reap(self) -> None:
        while True:
            try:
                pid, _ = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            for uid, pod in self._pods.items():
                for name, one in pod.containers.items():
                    if one.pid == pid:
                        self._ended(uid, name)
                        break
                else:
                    continue
                break

    def _ended(self, uid: str, name: str) -> None:
        pod = self._pods[uid]
        one = pod.containers[name]
        while self._read_report(one.report):
            pass
        del pod.containers[name]
        self._let_go(one)
        end = one.end or {"code": 137}
        code = end.get("code", 128)
        reason = end.get("error") or ("Completed" if code == 0 else "Error")
        if one.group:
            if code and memory.out_of_memory(one.group):
                reason = "OOMKilled"
            control_groups.remove(one.group)
        if code and one.is_over:
            reason = "OOMKilled"
        self.say(
            event="exited", pod=uid, container=name, code=code, reason=reason, at=end.get("at", time.time()),
            message=end.get("message") or _termination_message(one.termination),
            cpu_s=end.get("cpu_s", 0), max_rss_kib=end.get("max_rss_kib", 0),
        )  # fmt: skip

    def _let_go(self, one: Container) -> None:
        with contextlib.suppress(KeyError):
            self._poll.unregister(one.report)
        os.close(one.report)
        del self._reports[one.report]

    def _stop(self, uid: str, name: str, grace_s: float) -> None:
        pod = self._pods.get(uid)
        if pod is None:
            return
        for each, one in pod.containers.items():
            if name in {"", each}:
                if grace_s > 0:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(one.pid, signal.SIGTERM)
                    heapq.heappush(self._timers, (time.monotonic() + grace_s, one.pid, uid, each))
                else:
                    self._kill(pod, each)

    def _kill(self, pod: Pod, name: str) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pod.containers[name].pid, container.KILL_ALL if self._mode == "plain" else signal.SIGKILL)

    def _until_timer(self) -> float | None:
        due = [self._timers[0][0]] if self._timers else []
        if any(one.limit_bytes for pod in self._pods.values() for one in pod.containers.values()):
            due.append(self._sampler.next_look)
        return max(0.0, (min(due) - time.monotonic()) * 1000 + 1) if due else None

    def _fire_timers(self) -> None:
        while self._timers and self._timers[0][0] <= time.monotonic():
            _, pid, uid, name = heapq.heappop(self._timers)
            pod = self._pods.get(uid)
            if pod is not None and name in pod.containers and pod.containers[name].pid == pid:
                self._kill(pod, name)

    def _remove(self, uid: str) -> None:
        pod = self._pods.pop(uid, None)
        if pod is None:
            return
        for name, one in pod.containers.items():
            self._kill(pod, name)
            self._let_go(one)
        for descriptor, _ in pod.namespaces:
            os.close(descriptor)
        if pod.door is not None:
            self._poll.unregister(pod.door)
            del self._doors[pod.door.fileno()]
            pod.door.close()
        if pod.ip:
            self._network.leave(pod.ip)
        if pod.group is not None:
            self._changed_groups.add(pod.group)
        for directory in pod.tmpfs:
            linux.unmount(directory)
        _remove_tree(pod.directory)

    def _write_hosts(self) -> None:
        for group in self._changed_groups:
            namespace, subdomain = group
            members = [pod for pod in self._pods.values() if pod.group == group and pod.ip]
            lines = "".join(
                f"{pod.ip} {pod.hostname}.{subdomain} {pod.hostname} "
                f"{pod.hostname}.{subdomain}.{namespace}.svc.cluster.local\n"
                if subdomain
                else f"{pod.ip} {pod.hostname}\n"
                for pod in members
            )
            for pod in members:
                _write_in_place(f"{pod.directory}/hosts", (pod.head + lines).encode())
        self._changed_groups.clear()


def _hosts_head(message: Message, *, alone: bool) -> str:
    own = "".join(f"{alias['ip']} {' '.join(alias['hostnames'])}\n" for alias in message["aliases"])
    if not alone:
        return "127.0.0.1 localhost\n" + own
    # On the host's network the host's own names hold too.
    try:
        with open("/etc/hosts", encoding="utf-8", errors="replace") as file:
            host = file.read()
    except OSError:
        host = "127.0.0.1 localhost\n"
    return f"{host.rstrip()}\n{message['host_ip']} {message['hostname']}\n{own}"


def _write_in_place(path: str, data: bytes) -> None:
    """Keep the inode, which is bound into pods; lines are only added or taken away, so a reader sees whole ones."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        os.pwrite(descriptor, data, 0)
        os.ftruncate(descriptor, len(data))
    finally:
        os.close(descriptor)


def _termination_message(path: str) -> str:
    if not path:
        return ""
    try:
        with open(path, "rb") as file:
            return file.read(_TERMINATION_LIMIT).decode(errors="replace")
    except OSError:
        return ""


def _plain_paths(pod: Pod, name: str, message: Message, termination: str) -> None:
    """Without mounts: lay the volumes out under a private directory, and point the command and variables there."""
    base = f"{pod.directory}/root-{name}"
    mounts = [*message["mounts"]]
    if message["termination"]:
        mounts.append({"target": message["termination"], "source": termination})
    for mount in sorted(mounts, key=lambda mount: str(mount["target"]).count("/")):
        place = base + mount["target"]
        os.makedirs(os.path.dirname(place), exist_ok=True)
        if mount.get("source"):
            if mount.get("make_source"):
                os.makedirs(mount["source"], exist_ok=True)
            with contextlib.suppress(FileExistsError):
                os.symlink(mount["source"], place)
        else:
            os.makedirs(place, exist_ok=True)

    def moved(text: str) -> str:
        inside = any(text == mount["target"] or text.startswith(mount["target"] + "/") for mount in mounts)
        return base + text if inside else text

    message["argv"] = [moved(word) for word in message["argv"]]
    message["env"] = {
        **{key: moved(value) for key, value in message["env"].items()},
        "HPCBATCH_MOUNTS": base,
        "HPCBATCH_ROOT": f"{base}/hpcbatch",  # where the runner looks for its files
        "HPCBATCH_TERMINATION_LOG": termination,
    }
    message["cwd"] = moved(message["cwd"])


def _remove_tree(path: str) -> None:
    for directory, folders, files in os.walk(path, topdown=False):
        for name in files:
            with contextlib.suppress(OSError):
                os.unlink(f"{directory}/{name}")
        for name in folders:
            with contextlib.suppress(OSError):
                full = f"{directory}/{name}"
                os.unlink(full) if os.path.islink(full) else os.rmdir(full)
    with contextlib.suppress(OSError):
        os.rmdir(path)


def _probe() -> tuple[str, str]:
    """Try in a child what pods need. Returns the mode, and for "plain" the reason in one line."""
    reason = ""
    for mode in ("root", "user") if os.getuid() == 0 else ("user",):
        read_end, write_end = os.pipe2(os.O_CLOEXEC)
        pid = os.fork()
        if pid == 0:
            try:
                _enter(mode)
                linux.mount("tmpfs", "/proc", "tmpfs")
            except OSError as error:
                os.write(write_end, str(error).encode())
            finally:
                os._exit(0)
        os.close(write_end)
        with os.fdopen(read_end, "rb") as answer:
            failure = answer.read().decode()
        os.waitpid(pid, 0)
        if not failure:
            return mode, ""
        reason = failure
    return "plain", f"pods need Linux namespaces, which this machine does not allow: {reason}{_hint()}"


def _hint() -> str:
    for path, bad, advice in (
        ("/proc/sys/kernel/unprivileged_userns_clone", "0", "sysctl kernel.unprivileged_userns_clone=1"),
        ("/proc/sys/user/max_user_namespaces", "0", "sysctl user.max_user_namespaces=10000"),
        (
            "/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1",
            "sysctl kernel.apparmor_restrict_unprivileged_userns=0",
        ),
    ):  # fmt: skip
        with contextlib.suppress(OSError), open(path) as file:
            if file.read().strip() == bad:
                return f" (root may allow them: {advice})"
    return ""


def _enter(mode: str) -> None:
    uid, gid = os.getuid(), os.getgid()
    if mode == "user":
        linux.unshare(linux.CLONE_NEWUSER | linux.CLONE_NEWNS | linux.CLONE_NEWPID)
        linux.map_user(uid, gid, 0, 0)
    else:
        linux.unshare(linux.CLONE_NEWNS | linux.CLONE_NEWPID)
    # What the host mounts later is seen here; what is mounted here is not seen there.
    linux.mount("none", "/", flags=linux.MS_REC | linux.MS_SLAVE)


def main() -> None:
    """See the module's text."""
    control, callers = socket.socket(fileno=int(sys.argv[1])), socket.socket(fileno=int(sys.argv[3]))
    control.set_inheritable(False)
    callers.set_inheritable(False)
    work, api_port = os.path.realpath(sys.argv[2]), int(sys.argv[4])
    mode, why = _probe()
    outside_user = (os.getuid(), os.getgid()) if mode == "user" else None
    os.umask(0o022)
    limits, no_groups = memory.open_hierarchy(os.getpid())
    share = cpu_share.join(os.getpid())
    if mode != "plain":
        _enter(mode)
        pid = os.fork()
        if pid:
            control.close()
            callers.close()
            # A signal from the terminal is the engine's business; this process lives as long as its child.
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                signal.signal(number, signal.SIG_IGN)
            _, status = os.waitpid(pid, 0)
            memory.close_hierarchy(limits)
            cpu_share.leave(share)
            os._exit(min(abs(os.waitstatus_to_exitcode(status)), 255))
        linux.die_with_parent(signal.SIGKILL)
        mount_proc("/proc")
        linux.mount("tmpfs", work, "tmpfs", linux.MS_NOSUID | linux.MS_NODEV, "mode=0700")
    for name in ("root", "stage", "pods"):
        os.makedirs(f"{work}/{name}", exist_ok=True)
    host = PodHost(
        control=control, work=work, mode=mode, outside_user=outside_user, limits=limits,
        callers=callers, api_port=api_port,
    )  # fmt: skip
    host.say(event="ready", mode=mode, why=why, memory=no_groups)
    gc.collect()
    gc.freeze()  # so that a collection in a child does not copy the parent's pages
    try:
        host.run()
    except ConnectionError:
        pass
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        host.end()
        if mode == "plain":
            memory.close_hierarchy(limits)
            cpu_share.leave(share)
        os._exit(0)


if __name__ == "__main__":
    main()
