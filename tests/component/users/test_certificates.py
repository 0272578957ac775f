"""The certificates of users, and their renewal."""

from __future__ import annotations

import json
import os
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization

from hpcbatch.admin import certificates, renewal, user_kubeconfig, users
from hpcbatch.admin.users import Wish
from hpcbatch.api.kubeconfig import Connection, read
from hpcbatch.api.resources import CSRS
from hpcbatch.errors import HpcBatchError
from tests.component.users.parts import ALICE, NS, add, text

# Certificates and kubeconfigs

LIFE = timedelta(days=30)


def issue(api: Any) -> certificates.Issued:
    return certificates.issue(api, "hpcbatch:alice", "hpcbatch:users", NS, LIFE)


def test_a_certificate_for_a_key_that_never_leaves(api: Any) -> None:
    issued = issue(api)
    certificate = x509.load_pem_x509_certificate(issued.certificate)
    assert certificate.subject.rfc4514_string() == "CN=hpcbatch:alice,O=hpcbatch:users"
    key = serialization.load_pem_private_key(issued.key, password=None)
    assert certificate.public_key() == key.public_key()
    assert abs(issued.not_after - datetime.now(UTC) - LIFE) < timedelta(minutes=1)
    assert [line.split()[0] for line in api.writes] == ["create", "approve", "delete"]
    assert "PRIVATE" not in repr(issued)


def test_a_certificate_that_is_refused(api: Any) -> None:
    api.denial = "not here"
    with pytest.raises(HpcBatchError, match="the certificate was refused: not here"):
        issue(api)
    assert api.writes[-1].startswith("delete CertificateSigningRequest")


def test_nobody_signs(api: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    api._signs = False
    monkeypatch.setattr(certificates, "_SIGNED_WITHIN_S", 0.1)
    with pytest.raises(HpcBatchError, match="not signed within 0 seconds"):
        issue(api)
    assert api.writes[-1].startswith("delete CertificateSigningRequest")


def test_a_cluster_without_certificates(api: Any) -> None:
    api._missing = (CSRS,)
    with pytest.raises(HpcBatchError, match="this cluster has no certificatesigningrequests"):
        issue(api)


def test_the_kubeconfig_is_one_that_the_commands_read(api: Any, tmp_path: Path) -> None:
    issued = issue(api)
    admin = Connection(server="https://a:1", cluster="x", ca_pem="CA\n", tls_server_name="t", token="secret")
    (tmp_path / "config").write_text(text(admin, issued))
    assert read([tmp_path / "config"]) == Connection(
        server="https://a:1",
        cluster="pbs1",
        namespace=NS,
        ca_pem="CA\n",
        tls_server_name="t",
        client_cert_pem=issued.certificate,
        client_key_pem=issued.key,
    )
    assert "secret" not in text(admin, issued)
    assert json.loads(text(admin, issued, "https://b:2"))["clusters"][0]["cluster"]["server"] == "https://b:2"


def renewed(api: Any, tmp_path: Path, *names: str, days_later: int = 0) -> renewal.Renewals:
    return renewal.renew(
        api,
        names,
        f"{tmp_path}/{{user}}",
        life=timedelta(days=7),
        before=timedelta(days=4),
        now=datetime.now(UTC) + timedelta(days=days_later),
    )


def test_certificates_are_renewed_in_good_time(api: Any, tmp_path: Path) -> None:
    add(api, ALICE)
    add(api, Wish(user="bob", uid=os.getuid() + 1, gid=1))
    file = tmp_path / "alice"
    admin = Connection(server="https://a:1", cluster="x", ca_pem="CA\n")
    first = certificates.issue(api, "hpcbatch:alice", "hpcbatch:users", NS, timedelta(days=7))
    file.write_text(text(admin, first, "https://users:2"))
    assert renewed(api, tmp_path) == renewal.Renewals()  # a week is left; bob has no kubeconfig
    done = renewed(api, tmp_path, days_later=4)
    assert (len(done.renewed), done.faults) == (1, [])
    assert done.renewed[0].startswith(f"{file}: certificate of hpcbatch:alice renewed, valid until ")
    now = read([file])
    assert (now.server, now.ca_pem, now.namespace) == ("https://users:2", "CA\n", NS)
    assert now.client_cert_pem not in {None, first.certificate}
    assert now.client_key_pem not in {None, first.key}
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_who_is_disabled_gets_no_new_certificate(api: Any, tmp_path: Path) -> None:
    add(api, ALICE)
    file = tmp_path / "alice"
    file.write_text(text(Connection(server="https://a:1", cluster="x"), issue(api)))
    users.disable(api, "alice")
    before = file.read_text()
    assert renewed(api, tmp_path, days_later=29) == renewal.Renewals()
    assert renewed(api, tmp_path, "alice", days_later=29).faults == ["user alice is disabled"]
    assert file.read_text() == before
    with pytest.raises(HpcBatchError, match="there is no user carol"):
        renewed(api, tmp_path, "carol")


DEEP = "[" * 100_000


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{}",
        '{"users": [{"name": "hpcbatch:bob", "user": {}}]}',
        '{"users": []}',
        "\xff",
        DEEP,
    ],
    ids=["empty", "nothing", "another's", "nobody's", "no-utf-8", "deep"],
)
def test_one_that_cannot_be_renewed_does_not_stop_the_others(api: Any, tmp_path: Path, content: str) -> None:
    add(api, ALICE)
    add(api, Wish(user="aaron", uid=1001, gid=1))
    (tmp_path / "aaron").write_text(content, encoding="latin-1")
    (tmp_path / "alice").write_text(text(Connection(server="https://a:1", cluster="x"), issue(api)))
    done = renewed(api, tmp_path, days_later=29)
    assert [len(done.renewed), len(done.faults)] == [1, 1]
    assert str(tmp_path / "aaron") in done.faults[0]
    assert (tmp_path / "aaron").read_text(encoding="latin-1") == content


def test_a_link_in_the_users_directory_is_not_followed(api: Any, tmp_path: Path) -> None:
    add(api, ALICE)
    (tmp_path / "there").write_text(text(Connection(server="https://a:1", cluster="x"), issue(api)))
    (tmp_path / "alice").symlink_to("there")
    done = renewed(api, tmp_path, days_later=29)
    assert (done.renewed, len(done.faults)) == ([], 1)
    assert "is not a kubeconfig" in done.faults[0]


def test_a_pipe_does_not_hold_up_the_timer(api: Any, tmp_path: Path) -> None:
    add(api, ALICE)
    os.mkfifo(tmp_path / "alice")
    assert "is not a kubeconfig" in renewed(api, tmp_path).faults[0]


def test_an_unverified_connection_is_not_handed_on() -> None:
    with pytest.raises(HpcBatchError, match="insecure-skip-tls-verify"):
        user_kubeconfig.check_connection(Connection(server="https://a:1", verify=False))
