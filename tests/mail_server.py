"""A mail server on this machine that keeps what it is given, and refuses what a test tells it to."""

from __future__ import annotations

import base64
import socketserver
import ssl
import threading
from collections import defaultdict, deque
from collections.abc import Mapping
from email import message_from_bytes, policy
from email.message import EmailMessage
from typing import NamedTuple

DROP = "drop"
"""For an answer: hang up instead."""


class Received(NamedTuple):
    sender: str
    to: tuple[str, ...]
    message: EmailMessage

    @property
    def subject(self) -> str:
        return str(self.message["Subject"])

    @property
    def body(self) -> str:
        return str(self.message.get_content()).replace("\r\n", "\n")


class MailServer:
    """`refusals` holds answers to the next commands of a kind (MAIL, RCPT, DATA; `.` is the end of a mail) in place
    of the good one. With `tls` it offers STARTTLS, and with `users` takes nothing without a login."""

    def __init__(
        self,
        host: str = "127.0.0.1",
        port: int = 0,
        *,
        tls: ssl.SSLContext | None = None,
        users: Mapping[str, str] | None = None,
    ) -> None:
        self.mails: list[Received] = []
        self.refusals: defaultdict[str, deque[str]] = defaultdict(deque)
        self.tls, self.users = tls, users or {}
        self.connections = 0
        site = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                site.connections += 1
                _Conversation(site, self).run()

        class Server(socketserver.ThreadingTCPServer):
            allow_reuse_address = True
            daemon_threads = True

        self._server = Server((host, port), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    def __enter__(self) -> MailServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(10)

    def about(self, text: str) -> list[Received]:
        """The mails with `text` in their subjects."""
        return [mail for mail in self.mails if text in mail.subject]


class _Conversation:
    def __init__(self, site: MailServer, handler: socketserver.StreamRequestHandler) -> None:
        self._site, self._handler = site, handler
        self._sender, self._to = "", list[str]()
        self._is_encrypted = self._is_known = False

    def run(self) -> None:
        try:
            self._say("220 here")
            while line := self._handler.rfile.readline():
                if not self._obey(line.decode().rstrip("\r\n")):
                    return
        except OSError:
            return

    def _say(self, text: str) -> bool:
        if text == DROP:
            return False
        self._handler.wfile.write(f"{text}\r\n".encode())
        self._handler.wfile.flush()
        return True

    def _obey(self, line: str) -> bool:
        word = line.split(" ", maxsplit=1)[0].upper()
        refusals = self._site.refusals[word]
        if refusals:
            return self._say(refusals.popleft())
        if word in {"EHLO", "HELO"}:
            offers = ["here", "SIZE 1000000"]
            if self._site.tls is not None and not self._is_encrypted:
                offers.append("STARTTLS")
            if self._site.users:
                offers.append("AUTH PLAIN")
            return self._say("\r\n".join([*(f"250-{offer}" for offer in offers[:-1]), f"250 {offers[-1]}"]))
        if word == "STARTTLS" and self._site.tls is not None:
            self._say("220 go on")
            self._encrypt(self._site.tls)
            return True
        if word == "AUTH":
            _, user, password = base64.b64decode(line.split(" ")[2]).decode().split("\0")
            self._is_known = self._site.users.get(user) == password
            return self._say("235 welcome" if self._is_known else "535 who are you")
        if word == "QUIT":
            self._say("221 bye")
            return False
        if self._site.users and not self._is_known:
            return self._say("530 log in first")
        return self._take(word, line)

    def _take(self, word: str, line: str) -> bool:
        if word == "MAIL":
            self._sender, self._to = line.partition("<")[2].partition(">")[0], []
            return self._say("250 ok")
        if word == "RCPT":
            self._to.append(line.partition("<")[2].partition(">")[0])
            return self._say("250 ok")
        if word == "DATA":
            self._say("354 go on")
            return self._say(self._receive_mail())
        return self._say("250 ok" if word in {"RSET", "NOOP"} else "502 what?")

    def _receive_mail(self) -> str:
        lines = []
        while (line := self._handler.rfile.readline()) != b".\r\n":
            if not line:
                return DROP
            lines.append(line.removeprefix(b".") if line.startswith(b"..") else line)
        refusals = self._site.refusals["."]
        if refusals:
            return refusals.popleft()
        message = message_from_bytes(b"".join(lines), policy=policy.default)
        assert isinstance(message, EmailMessage)
        self._site.mails.append(Received(self._sender, tuple(self._to), message))
        return "250 taken"

    def _encrypt(self, context: ssl.SSLContext) -> None:
        handler = self._handler
        handler.connection = context.wrap_socket(handler.connection, server_side=True)
        handler.rfile, handler.wfile = handler.connection.makefile("rb"), handler.connection.makefile("wb")
        self._is_encrypted = True
