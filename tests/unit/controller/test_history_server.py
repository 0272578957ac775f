"""Who requests the history, and whether they may."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from email.message import Message
from typing import Any

import pytest

from hpcbatch.api.port import Object
from hpcbatch.api.resources import Resource
from hpcbatch.controller.history_server import FrontProxy, Permissions, User, front_proxy, user_of
from hpcbatch.controller.serving_certificate import shared_certificate
from hpcbatch.errors import ConflictError, ForbiddenError, HpcBatchError, UnauthorizedError
from hpcbatch.history.serving import ResourceRequest

PROXY = FrontProxy("pem", frozenset({"front"}), ("X-Remote-User",), ("X-Remote-Group",), ("X-Remote-Extra-",))
LISTS = ResourceRequest("list", "a", "")


def headers(*given: tuple[str, str]) -> Any:
    message = Message()
    for name, value in given:
        message[name] = value
    return message


def test_what_kubernetes_publishes() -> None:
    data = {
        "requestheader-client-ca-file": "pem",
        "requestheader-allowed-names": '["front"]',
        "requestheader-username-headers": '["X-Remote-User"]',
        "requestheader-group-headers": '["X-Remote-Group"]',
        "requestheader-extra-headers-prefix": '["X-Remote-Extra-"]',
    }
    assert front_proxy({"data": data}) == PROXY


@pytest.mark.parametrize("data", [{}, {"requestheader-client-ca-file": "pem", "requestheader-allowed-names": "["}])
def test_a_cluster_without_aggregation(data: dict[str, str]) -> None:
    with pytest.raises(HpcBatchError, match="extension-apiserver-authentication"):
        front_proxy({"data": data})


def test_who_asks() -> None:
    given = headers(
        ("x-remote-user", "alice"),
        ("X-Remote-Group", "a"),
        ("X-Remote-Group", "b"),
        ("X-Remote-Extra-Scopes%2Fx", "1"),
        ("X-Remote-Extra-Scopes%2Fx", "2"),
        ("X-Other", "y"),
    )
    assert user_of(given, PROXY) == User("alice", ("a", "b"), (("scopes/x", ("1", "2")),))


def test_nobody_asks() -> None:
    with pytest.raises(UnauthorizedError):
        user_of(headers(("X-Remote-Group", "system:masters")), PROXY)


class Reviews:
    """Kubernetes' word on who may do what."""

    def __init__(self, *allowed: str) -> None:
        self.allowed, self.asked = allowed, 0

    def create(self, resource: Resource, obj: Mapping[str, Any], namespace: str | None = None) -> Object:
        self.asked += 1
        return {"status": {"allowed": obj["spec"]["user"] in self.allowed, "reason": "by RBAC"}}


def test_permissions_are_asked_for_and_hold_for_a_while() -> None:
    api: Any = Reviews("alice")
    permissions = Permissions(api)
    for _ in range(3):
        permissions.check(User("alice", (), ()), LISTS)
    assert api.asked == 1
    permissions.check(User("alice", (), ()), ResourceRequest("get", "a", "x"))
    assert api.asked == 2


def test_a_refusal_is_asked_for_again() -> None:
    api: Any = Reviews()
    permissions = Permissions(api)
    for _ in range(2):
        with pytest.raises(
            ForbiddenError, match=r'User "bob" cannot list resource "batchjobs" .* in the namespace "a"'
        ):
            permissions.check(User("bob", (), ()), LISTS)
    assert api.asked == 2


class OneSecret:
    """A Secret that another controller writes first, as often as `quicker` says."""

    def __init__(self, quicker: int = 0) -> None:
        self.data: dict[str, str] = {}
        self.writes, self._quicker = 0, quicker

    def get(self, resource: Resource, name: str, namespace: str | None = None) -> Object:
        return {"metadata": {"name": name}, "data": dict(self.data)}

    def replace(self, resource: Resource, obj: Mapping[str, Any], namespace: str | None = None) -> Object:
        self.data, self.writes = dict(obj["data"]), self.writes + 1
        if self.writes <= self._quicker:
            raise ConflictError(409, "Conflict", "changed")
        return dict(obj)


def test_all_controllers_share_one_certificate() -> None:
    api: Any = OneSecret(quicker=1)
    first = shared_certificate(api, "tls", "ns", "history.ns.svc")
    assert base64.b64decode(api.data["tls.crt"]) == first.certificate
    assert shared_certificate(api, "tls", "ns", "history.ns.svc") == first
    assert api.writes == 1
    assert "PRIVATE" not in repr(first)


@pytest.mark.parametrize("key", ["tls.crt", "tls.key", "ca.crt"])
def test_a_certificate_that_is_none_is_made_anew(key: str) -> None:
    api: Any = OneSecret()
    first = shared_certificate(api, "tls", "ns", "history.ns.svc")
    other: Any = OneSecret()
    shared_certificate(other, "tls", "ns", "history.ns.svc")
    for broken in ("", "!", other.data[key]):
        api.data[key] = broken
        again = shared_certificate(api, "tls", "ns", "history.ns.svc")
        assert again != first
        assert shared_certificate(api, "tls", "ns", "history.ns.svc") == again


def test_a_certificate_for_another_name() -> None:
    api: Any = OneSecret()
    first = shared_certificate(api, "tls", "ns", "history.ns.svc")
    assert shared_certificate(api, "tls", "ns", "other.ns.svc") != first
