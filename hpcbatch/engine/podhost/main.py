"""The parent of all pods: one small single-threaded process that the agent talks to in JSON lines over a socket.

`python -m hpcbatch.engine.podhost.main FD WORK PASSED PORT`: FD is the socket, WORK a private directory. It runs as
process 1 of a process id namespace (and, for an ordinary user, as root of a user namespace, so that it may make
networks and mounts).
When the engine ends, however it ends, the socket closes, this process ends, and the kernel takes away all pods with
their processes, mounts, networks and addresses: nothing outside this process's namespaces was ever touched.

Pods with a network of their own reach nothing outside but the API server, by the address that it has for everybody:
who connects to PORT on 127.0.0.1 in such a pod is handed over as a descriptor through the socket PASSED. PORT 0: none.
The other way come those who are to be attached to a container, each a message with a descriptor (`container.py` has
the messages; here they have "pod" and "container", too).

Messages to it (`pod` is the pod's uid):
    {"op": "pod", "pod", "hostname", "namespace", "subdomain", "network": bool, "host_ip", "aliases", "sysctls",
     "volumes"}
    {"op": "volume", "pod", "volume"}       new content of a volume
    {"op": "share", "key", "files", "gid"}  WORK/shared/KEY, for all pods that come
    {"op": "start", "pod", "container", "argv", "env", "cwd", "mounts", "log", "termination", "user", ...}
    {"op": "stop", "pod", "container": name or "" for all, "grace_s"}
    {"op": "remove", "pod"}                 after its containers have ended
Messages from it:
    {"event": "ready", "mode": "root" | "user" | "plain", "why": why there are no namespaces,
     "memory": why limits are enforced by looking, "" where control groups do it}
    {"event": "sandbox", "pod", "ip": "" for the host's network} or {.., "error": message}
    {"event": "started", "pod", "container", "at"}
    {"event": "unshared", "key"}            it could not be written
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
from typing import Any, Final, NoReturn

from hpcbatch.engine.podhost import container, control_groups, cpu_share, linux, memory, sampling
from hpcbatch.engine.podhost.namespaces import enter, probe
from hpcbatch.engine.podhost.network import Network
from hpcbatch.engine.podhost.pod_files import (
    hosts_head,
    plain_paths,
    remove_tree,
    show_memory_events,
    termination_message,
    write_hosts,
    write_in_place,
)
from hpcbatch.engine.podhost.pods import KILLED, LOST_REASON, Container, Message, Pod
from hpcbatch.engine.podhost.root import mount_proc
from hpcbatch.engine.podhost.streams import MESSAGE_LIMIT
from hpcbatch.engine.podhost.volume import lay_out, write_volume

_POD_NAMESPACES: Final = (("uts", linux.CLONE_NEWUTS), ("ipc", linux.CLONE_NEWIPC))


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
        passed: socket.socket,
        api_port: int,
    ) -> None:
        self._limits, self._passed = limits, passed
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
        poll.register(self._passed, select.POLLIN)
        while True:
            ready = poll.poll(self._until_timer())
            for descriptor, _ in ready:
                if descriptor == self._control.fileno():
                    if not self._receive():
                        return
                elif descriptor == wake_read:
                    with contextlib.suppress(BlockingIOError):
                        os.read(wake_read, 4096)
                elif descriptor == self._passed.fileno():
                    self._let_in()
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
                socket.send_fds(self._passed, [b"."], [caller.fileno()], socket.MSG_DONTWAIT)

    def _let_in(self) -> None:
        """Hand a client over to the container that it wants; if that has gone, it finds its connection closed."""
        data, descriptors, _, _ = socket.recv_fds(self._passed, MESSAGE_LIMIT, 1, socket.MSG_CMSG_CLOEXEC)
        if not data:  # the agent closes this one first
            self._poll.unregister(self._passed)
            return
        message = json.loads(data)
        try:
            one = self._pods[message["pod"]].containers[message["container"]]
            socket.send_fds(one.door, [data], descriptors, socket.MSG_DONTWAIT)
        except (KeyError, OSError):
            pass
        finally:
            for descriptor in descriptors:
                os.close(descriptor)

    def _handle(self, message: Message) -> None:
        uid, name = message["pod"], message.get("container", "")
        try:
            match message["op"]:
                case "pod":
                    self.say(event="sandbox", pod=uid, ip=self._make_pod(message))
                case "volume":
                    if uid in self._pods:
                        lay_out(self._pods[uid], message["volume"], has_mounts=self._mode != "plain")
                case "share":
                    write_volume(f"{self._work}/shared/{message['key']}", message["files"], message["gid"])
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
            elif message["op"] == "share":
                remove_tree(f"{self._work}/shared/{message['key']}")
                self.say(event="unshared", key=message["key"])
            elif message["op"] == "start":
                self._say_exited(uid, name, 128, "StartError", {"message": text})
            else:
                print(f"podhost: {message['op']} of pod {uid}: {text}", file=sys.stderr, flush=True)

    def _make_pod(self, message: Message) -> str:
        uid, hostname = message["pod"], message["hostname"]
        group = (message["namespace"], message["subdomain"]) if message["network"] else None
        head = hosts_head(message, alone=group is None)
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
                write_in_place(f"{pod.directory}/hosts", pod.head.encode())
        for volume in message["volumes"]:
            lay_out(pod, volume, has_mounts=self._mode != "plain")
        self._write_hosts()
        return pod.ip

    def _start(self, pod: Pod, name: str, message: Message) -> None:
        termination = f"{pod.directory}/termination-{name}"
        if message["termination"]:
            with open(termination, "wb") as file:
                os.fchmod(file.fileno(), 0o666)
        group, events = self._limit_memory(pod, name, message)
        if self._mode == "plain":
            plain_paths(pod, name, message, termination)
        else:
            if message["termination"]:
                message["mounts"].append({"target": message["termination"], "source": termination})
            message["mounts"].append({"target": "/etc/hosts", "source": f"{pod.directory}/hosts"})
        read_end, write_end = os.pipe2(os.O_CLOEXEC)
        door, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        # Only a child forked after unshare is in the new namespace, as its process 1; then back for the next one.
        if self._mode != "plain":
            linux.unshare(linux.CLONE_NEWPID)
        try:
            pid = os.fork()
            if pid == 0:
                self._be_container(pod, message, write_end, theirs, group)
        finally:
            if self._mode != "plain":
                linux.setns(self._own_ids, linux.CLONE_NEWPID)
            os.close(write_end)
            theirs.close()
        os.set_blocking(read_end, False)
        pod.containers[name] = Container(
            pid,
            read_end,
            door,
            termination if message["termination"] else "",
            group,
            limit_bytes=message["memory_bytes"] if events else 0,
            memory_events=events,
        )
        self._reports[read_end] = (pod.uid, name)
        self._poll.register(read_end, select.POLLIN)

    def _limit_memory(self, pod: Pod, name: str, message: Message) -> tuple[str, str]:
        """The control group that does it, or the file that tells the container what looking led to."""
        limit = message["memory_bytes"]
        if not limit:
            return "", ""
        if self._limits is not None:
            return memory.make_group(self._limits, f"{pod.uid}-{name}", limit), ""
        return "", show_memory_events(pod, name, message)

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
                write_in_place(one.memory_events, text.encode())
            one.is_over = True
            for process in apart:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process.pid, signal.SIGKILL)
            if not apart:
                self._kill(pod, name)

    def _be_container(self, pod: Pod, message: Message, report: int, door: socket.socket, group: str) -> NoReturn:
        try:
            keep = {0, 1, 2, report, door.fileno(), *(descriptor for descriptor, _ in pod.namespaces)}
            signal.set_wakeup_fd(-1)
            for entry in os.listdir("/proc/self/fd"):
                if int(entry) not in keep:
                    with contextlib.suppress(OSError):
                        os.close(int(entry))
            around = container.Surroundings(
                work=self._work,
                namespaces=tuple(pod.namespaces),
                outside_user=self._outside_user,
                plain=self._mode == "plain",
                report=report,
                door=door,
                group=group,
            )
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
            containers = [(uid, name, one) for uid, pod in self._pods.items() for name, one in pod.containers.items()]
            for uid, name, one in containers:
                if one.pid == pid:
                    self._ended(uid, name)

    def _ended(self, uid: str, name: str) -> None:
        pod = self._pods[uid]
        one = pod.containers[name]
        while self._read_report(one.report):
            pass
        del pod.containers[name]
        self._let_go(one)
        end = one.end or {"code": KILLED, "error": "" if one.is_killed else LOST_REASON}
        code = end.get("code", 128)
        reason = end.get("error") or ("Completed" if code == 0 else "Error")
        if one.group:
            if code and memory.out_of_memory(one.group):
                reason = "OOMKilled"
            control_groups.remove(one.group)
        if code and one.is_over:
            reason = "OOMKilled"
        message = end.get("message") or termination_message(one.termination)
        self._say_exited(uid, name, code, reason, {**end, "message": message})

    def _say_exited(self, uid: str, name: str, code: int, reason: str, end: Message) -> None:
        used = {"at": end.get("at", time.time()), **{key: end.get(key, 0) for key in ("cpu_s", "max_rss_kib")}}
        self.say(event="exited", pod=uid, container=name, code=code, reason=reason, message=end["message"], **used)

    def _let_go(self, one: Container) -> None:
        with contextlib.suppress(KeyError):
            self._poll.unregister(one.report)
        os.close(one.report)
        one.door.close()
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

    def _write_hosts(self) -> None:
        for group in self._changed_groups:
            write_hosts(group, self._pods.values())
        self._changed_groups.clear()

    def _kill(self, pod: Pod, name: str) -> None:
        one = pod.containers[name]
        one.is_killed = True
        with contextlib.suppress(ProcessLookupError):
            os.kill(one.pid, container.KILL_ALL if self._mode == "plain" else signal.SIGKILL)

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
        remove_tree(pod.directory)


def main() -> None:
    """See the module's text."""
    control, passed = socket.socket(fileno=int(sys.argv[1])), socket.socket(fileno=int(sys.argv[3]))
    control.set_inheritable(False)
    passed.set_inheritable(False)
    work, api_port = os.path.realpath(sys.argv[2]), int(sys.argv[4])
    mode, why = probe()
    outside_user = (os.getuid(), os.getgid()) if mode == "user" else None
    os.umask(0o022)
    limits, no_groups = memory.open_hierarchy(os.getpid())
    share = cpu_share.join(os.getpid())
    if mode != "plain":
        enter(mode)
        pid = os.fork()
        if pid:
            control.close()
            passed.close()
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
        control=control,
        work=work,
        mode=mode,
        outside_user=outside_user,
        limits=limits,
        passed=passed,
        api_port=api_port,
    )
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
