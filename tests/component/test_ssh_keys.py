from __future__ import annotations

import io
import subprocess
from pathlib import Path

from hpcbatch.gang.ssh_keys import KeyPool, make_key
from tests.waiting import wait_for


def test_key_pair_is_what_volcano_makes(tmp_path: Path) -> None:
    import paramiko

    private, public = make_key()
    assert private.startswith("-----BEGIN RSA PRIVATE KEY-----\n")
    assert private.endswith("-----END RSA PRIVATE KEY-----\n")
    assert (len(public), public[:8], public[-1]) == (381, "ssh-rsa ", "\n")
    assert paramiko.RSAKey.from_private_key(io.StringIO(private)).get_bits() == 2048
    path = tmp_path / "id_rsa"
    path.write_text(private)
    path.chmod(0o600)
    shown = subprocess.run(["ssh-keygen", "-y", "-f", str(path)], capture_output=True, text=True, check=True)
    assert shown.stdout.split()[:2] == public.split()


def test_each_pair_is_given_once() -> None:
    pool = KeyPool(size=2)
    pool.start()
    try:
        wait_for("keys made ahead", lambda: pool.ready == 2)
        pairs = [pool.take() for _ in range(4)]
        assert len(set(pairs)) == 4
        wait_for("the pool to be full again", lambda: pool.ready == 2)
    finally:
        pool.stop()
