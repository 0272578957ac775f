"""Addresses and network namespaces of the pods that have a name: one switch for all, and a free range of 10.0.0.0/8."""

from __future__ import annotations

import json
import os
import socket
import struct
import traceback
from collections.abc import Callable, Mapping
from typing import Final

from hpcbatch.engine.podhost import netlink

_MOST_DESCRIPTORS: Final = 2
_DOOR_BACKLOG: Final = 128
_LAST_HOST: Final = (1 << (32 - netlink.PREFIX_LENGTH)) - 2


class NetworkError(OSError):
    """A pod cannot have a network of its own; one line why."""


class Network:
    """Made at the first need. Everything that enters a network namespace does so in a short-lived child:
    an ordinary user could not come back from there to the host's network, which other pods use.
    """

    def __init__(self, door_port: int) -> None:
        self._door_port = door_port
        self._switch = -1
        self._bridge_index = 0
        self._base = ""
        self._next = 1
        self._port = 0
        self._used: set[str] = set()

    def join(self, sysctls: Mapping[str, str]) -> tuple[str, int, socket.socket | None]:
        """A new network namespace on the switch: its address, its descriptor and, unless `door_port` is 0, what listens
        there on 127.0.0.1 in it.
        """
        if self._switch < 0:
            self._base = free_range(_routes())
            (self._switch,), self._bridge_index = _in_child(_switch)
        address = self._take()
        self._port += 1
        port = self._port

        def make() -> tuple[list[int], int]:
            network = netlink.make_pod_network(self._switch, self._bridge_index, port, address, sysctls)
            return [network, _open_door(self._door_port)] if self._door_port else [network], 0

        try:
            (descriptor, *doors), _ = _in_child(make)
        except BaseException:
            self.leave(address)
            raise
        return address, descriptor, socket.socket(fileno=doors[0]) if doors else None

    def leave(self, address: str) -> None:
        self._used.discard(address)

    def _take(self) -> str:
        """The next address, in turn, so that one that was just given back is not used again soon."""
        base = struct.unpack("!I", socket.inet_aton(self._base))[0]
        for _ in range(_LAST_HOST):
            self._next = self._next % _LAST_HOST + 1
            address = socket.inet_ntoa(struct.pack("!I", base + self._next))
            if address not in self._used:
                self._used.add(address)
                return address
        raise NetworkError("no free pod address is left")


def _switch() -> tuple[list[int], int]:
    descriptor, bridge_index = netlink.make_switch()
    return [descriptor], bridge_index


def _open_door(port: int) -> int:
    """In a child process: what listens on 127.0.0.1 of the network that it is in. Returns its descriptor."""
    door = socket.create_server(("127.0.0.1", port), backlog=_DOOR_BACKLOG)
    door.setblocking(False)
    return door.detach()


def _in_child(work: Callable[[], tuple[list[int], int]]) -> tuple[list[int], int]:
    """Call `work` in a forked child; returns the descriptors, passed over a socket, and the number that it gave."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        pid = os.fork()
        if pid == 0:
            try:
                descriptors, number = work()
                socket.send_fds(theirs, [json.dumps({"number": number}).encode()], descriptors)
            except OSError as error:
                theirs.send(json.dumps({"error": str(error)}).encode())
            except BaseException as error:
                traceback.print_exc()
                theirs.send(json.dumps({"error": repr(error)}).encode())
            finally:
                os._exit(0)
        theirs.close()
        data, descriptors, _, _ = socket.recv_fds(ours, 4096, _MOST_DESCRIPTORS, socket.MSG_CMSG_CLOEXEC)
        os.waitpid(pid, 0)
    answer = json.loads(data) if data else {"error": "the child ended without a word"}
    if "error" in answer:
        raise NetworkError(f"pod network: {answer['error']}")
    return descriptors, int(answer["number"])


def _routes() -> str:
    try:
        with open("/proc/net/route") as file:
            return file.read()
    except OSError:
        return ""


def free_range(routes: str) -> str:
    """The first address of a /16 in 10.0.0.0/8 that no route of the host touches. `routes` is /proc/net/route."""
    taken = []
    for line in routes.splitlines()[1:]:
        _, destination, _, _, _, _, _, mask, *_ = line.split()
        if int(mask, 16):
            taken.append((_host_order(destination), _host_order(mask)))
    own_mask = 0xFFFFFFFF << (32 - netlink.PREFIX_LENGTH) & 0xFFFFFFFF
    for second in (244, *range(243, 0, -1)):
        base = 10 << 24 | second << 16
        if all((base ^ other) & mask & own_mask for other, mask in taken):
            return f"10.{second}.0.0"
    raise NetworkError("every range of 10.0.0.0/8 is in use on this machine")


def _host_order(text: str) -> int:
    """The kernel writes addresses as the hexadecimal number that they are in memory."""
    return int(struct.unpack("!I", struct.pack("=I", int(text, 16)))[0])
