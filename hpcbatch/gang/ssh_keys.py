"""Key pairs for the ssh plugin, made ahead in the background: a 2048-bit RSA key takes about a tenth of a second."""

from __future__ import annotations

import io
import threading
from queue import Empty, Queue


def make_key() -> tuple[str, str]:
    """RSA 2048: the private key as PKCS#1 PEM, the public one as an OpenSSH line without comment."""
    import paramiko

    key = paramiko.RSAKey.generate(2048)
    private = io.StringIO()
    key.write_private_key(private)
    return private.getvalue(), f"{key.get_name()} {key.get_base64()}\n"


class KeyPool:
    """Holds a few fresh key pairs; each is given away once."""

    def __init__(self, size: int = 2) -> None:
        self._ready: Queue[tuple[str, str]] = Queue(maxsize=size)
        self._wanted = threading.Semaphore(size)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="ssh-keys", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._wanted.release()

    @property
    def ready(self) -> int:
        """How many are made ahead now."""
        return self._ready.qsize()

    def take(self) -> tuple[str, str]:
        """A key pair that nobody else gets; made here and now if none is ready."""
        try:
            pair = self._ready.get_nowait()
        except Empty:
            return make_key()
        self._wanted.release()
        return pair

    def _run(self) -> None:
        while self._wanted.acquire() and not self._stopping.is_set():
            self._ready.put(make_key())
