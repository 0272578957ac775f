"""Pod networks by rtnetlink: a bridge in a network namespace of its own, and a pair of veth from it into each pod.

Without the `ip` program, whose two calls a pod would cost more than all the rest of its start.
Source: rtnetlink(7), linux/if_link.h, linux/veth.h.
"""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Mapping
from typing import Final

from hpcbatch.engine.podhost import linux

_RTM_NEWLINK: Final = 16
_RTM_NEWADDR: Final = 20
_NLM_F_REQUEST: Final = 0x1
_NLM_F_ACK: Final = 0x4
_NLM_F_EXCL: Final = 0x200
_NLM_F_CREATE: Final = 0x400
_NLMSG_ERROR: Final = 2
_IFF_UP: Final = 1
_IFLA_IFNAME: Final = 3
_IFLA_MTU: Final = 4
_IFLA_MASTER: Final = 10
_IFLA_LINKINFO: Final = 18
_IFLA_NET_NS_FD: Final = 28
_IFLA_NUM_TX_QUEUES: Final = 31
_IFLA_NUM_RX_QUEUES: Final = 32
_IFLA_INFO_KIND: Final = 1
_IFLA_INFO_DATA: Final = 2
_VETH_INFO_PEER: Final = 1
_IFA_ADDRESS: Final = 1
_IFA_LOCAL: Final = 2
_IFA_BROADCAST: Final = 4

BRIDGE: Final = "br0"
PREFIX_LENGTH: Final = 16
MTU: Final = 65535
"""Bytes. As on the loopback device: what never leaves the machine need not be cut up."""


def _attribute(kind: int, payload: bytes) -> bytes:
    length = 4 + len(payload)
    return struct.pack("=HH", length, kind) + payload + b"\0" * (-length % 4)


def _link(index: int = 0, *, up: bool = False) -> bytes:
    flags = _IFF_UP if up else 0
    return struct.pack("=BxHiII", socket.AF_UNSPEC, 0, index, flags, flags)


def _named(name: str) -> bytes:
    # One queue is enough, and by default the kernel makes one for each processor.
    one = struct.pack("=I", 1)
    return (
        _attribute(_IFLA_IFNAME, name.encode() + b"\0")
        + _attribute(_IFLA_MTU, struct.pack("=I", MTU))
        + _attribute(_IFLA_NUM_TX_QUEUES, one)
        + _attribute(_IFLA_NUM_RX_QUEUES, one)
    )


class Netlink:
    """A route socket; it belongs to the network namespace in which it was made."""

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
        self._socket.bind((0, 0))
        self._socket.settimeout(10)
        self._sequence = 0

    def close(self) -> None:
        self._socket.close()

    def _request(self, kind: int, body: bytes, what: str, flags: int = 0) -> None:
        self._sequence += 1
        flags |= _NLM_F_REQUEST | _NLM_F_ACK
        self._socket.send(struct.pack("=IHHII", 16 + len(body), kind, flags, self._sequence, 0) + body)
        while True:
            answer = self._socket.recv(65536)
            _, kind, _, sequence, _ = struct.unpack_from("=IHHII", answer)
            if kind == _NLMSG_ERROR and sequence == self._sequence:
                (error,) = struct.unpack_from("=i", answer, 16)
                if error:
                    raise OSError(-error, f"{what}: {os.strerror(-error)}")
                return

    def up(self, name: str) -> None:
        self._request(_RTM_NEWLINK, _link(socket.if_nametoindex(name), up=True), f"set {name} up")

    def add_bridge(self, name: str) -> None:
        information = _attribute(_IFLA_LINKINFO, _attribute(_IFLA_INFO_KIND, b"bridge"))
        mtu = _attribute(_IFLA_MTU, struct.pack("=I", MTU))
        body = _link(up=True) + _attribute(_IFLA_IFNAME, name.encode() + b"\0") + mtu + information
        self._request(_RTM_NEWLINK, body, "make a network bridge", _NLM_F_CREATE | _NLM_F_EXCL)

    def add_veth(self, name: str, bridge_index: int, peer: str, peer_namespace: int) -> None:
        """`name` on the bridge here, up; `peer`, still down, in the other namespace (a descriptor)."""
        far = _link() + _named(peer) + _attribute(_IFLA_NET_NS_FD, struct.pack("=I", peer_namespace))
        information = _attribute(_IFLA_INFO_KIND, b"veth") + _attribute(
            _IFLA_INFO_DATA, _attribute(_VETH_INFO_PEER, far)
        )
        body = (
            _link(up=True)
            + _named(name)
            + _attribute(_IFLA_MASTER, struct.pack("=I", bridge_index))
            + _attribute(_IFLA_LINKINFO, information)
        )
        self._request(_RTM_NEWLINK, body, "make a veth pair", _NLM_F_CREATE | _NLM_F_EXCL)

    def add_address(self, name: str, address: str) -> None:
        packed = socket.inet_aton(address)
        broadcast = packed[: PREFIX_LENGTH // 8] + b"\xff" * (4 - PREFIX_LENGTH // 8)
        body = (
            struct.pack("=BBBBi", socket.AF_INET, PREFIX_LENGTH, 0, 0, socket.if_nametoindex(name))
            + _attribute(_IFA_LOCAL, packed)
            + _attribute(_IFA_ADDRESS, packed)
            + _attribute(_IFA_BROADCAST, broadcast)
        )
        self._request(_RTM_NEWADDR, body, f"give {name} the address {address}", _NLM_F_CREATE | _NLM_F_EXCL)


def make_switch() -> tuple[int, int]:
    """In a child process: a new network namespace with a bridge. Returns its descriptor and the bridge's index."""
    linux.unshare(linux.CLONE_NEWNET)
    netlink = Netlink()
    netlink.add_bridge(BRIDGE)
    # what pods send each other passes no firewall: there is none in here, and to look for one costs time
    for family in ("arptables", "ip6tables", "iptables"):
        _sysctl(f"net.bridge.bridge-nf-call-{family}", "0", required=False)
    netlink.up("lo")
    netlink.close()
    return os.open("/proc/self/ns/net", os.O_RDONLY), socket.if_nametoindex(BRIDGE)


def make_pod_network(switch: int, bridge_index: int, port: int, address: str, sysctls: Mapping[str, str]) -> int:
    """In a child process: a new network namespace joined to the switch as `address`. Returns its descriptor."""
    linux.setns(switch, linux.CLONE_NEWNET)
    outside = Netlink()
    linux.unshare(linux.CLONE_NEWNET)
    inside = Netlink()
    here = os.open("/proc/self/ns/net", os.O_RDONLY)
    _sysctl("net.ipv6.conf.default.disable_ipv6", "1", required=False)
    outside.add_veth(f"p{port}", bridge_index, "eth0", here)
    inside.up("lo")
    inside.add_address("eth0", address)
    inside.up("eth0")
    outside.close()
    inside.close()
    # sshd in the pod listens on port 22 also as an ordinary user
    for name, value in {"net.ipv4.ip_unprivileged_port_start": "0", **sysctls}.items():
        _sysctl(name, value, required=True)
    return here


def _sysctl(name: str, value: str, *, required: bool) -> None:
    try:
        with open("/proc/sys/" + name.replace(".", "/"), "w") as file:
            file.write(value)
    except OSError as error:
        if required:
            raise OSError(error.errno, f"sysctl {name}={value}: {error.strerror}") from None
