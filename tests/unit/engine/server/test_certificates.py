import json
import stat
from pathlib import Path

import pytest
from cryptography import x509

from hpcbatch.engine.server.certificates import ensure_certificate
from hpcbatch.engine.server.kubeconfig import write_kubeconfig


def test_kept_and_renewed(tmp_path: Path) -> None:
    first = ensure_certificate(tmp_path)
    content = first.cert_file.read_bytes()
    assert ensure_certificate(tmp_path).cert_file.read_bytes() == content
    other = tmp_path / "other"
    other.mkdir()
    first.key_file.write_bytes(ensure_certificate(other).key_file.read_bytes())
    assert ensure_certificate(tmp_path).cert_file.read_bytes() != content
    first.cert_file.write_text("garbage")
    ensure_certificate(tmp_path)
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o600 for path in tmp_path.glob("*.*"))


def test_it_is_for_this_machine_only(tmp_path: Path) -> None:
    certificate = x509.load_pem_x509_certificate(ensure_certificate(tmp_path).cert_file.read_bytes())
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["localhost"]
    assert [str(address) for address in names.get_values_for_type(x509.IPAddress)] == ["127.0.0.1"]


def test_kubeconfig(tmp_path: Path) -> None:
    certificate = ensure_certificate(tmp_path)
    path = tmp_path / "kubeconfig"
    for source in (certificate.cert_file, certificate.ca_file):
        write_kubeconfig(path, server="https://127.0.0.1:1", cluster="c", ca_file=source, token="t")
        found = json.loads(path.read_text())
        assert found["contexts"][0]["context"] == {"cluster": "c", "user": "hpcbatch", "namespace": "default"}
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    empty = tmp_path / "empty"
    empty.write_text("")
    with pytest.raises(ValueError, match="holds no certificate"):
        write_kubeconfig(path, server="https://x", cluster="c", ca_file=empty, token="t")
    assert list(tmp_path.glob(".*")) == []
