"""`hpcbatch web` as a process, and a browser without a window, scripts or mercy."""

from __future__ import annotations

import http.client
import re
import signal
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from html import unescape
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode, urlsplit

from tests.waiting import wait_for

_LINK = re.compile(r"http://127\.0\.0\.1:([0-9]+)(/\S*/enter\?token=\S+)")
_TOKEN = re.compile(r'name="token" value="([0-9a-f]{64})"')


class Answer(NamedTuple):
    status: int
    headers: Mapping[str, str]
    """Names in lower case."""
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()

    @property
    def form_token(self) -> str:
        found = _TOKEN.search(self.text)
        assert found, self.text
        return found[1]

    @property
    def words(self) -> str:
        """What somebody reads: without tags."""
        return " ".join(unescape(re.sub(r"<[^>]*>", " ", self.text)).split())


class WebPage:
    """The process, and one browser that it has let in, once `enter` was called."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.printed: list[str] = []
        self.complaints: list[str] = []
        self.cookie = ""
        self._readers = [
            threading.Thread(target=self._read, args=(stream, lines), daemon=True)
            for stream, lines in ((process.stdout, self.printed), (process.stderr, self.complaints))
        ]
        for reader in self._readers:
            reader.start()

    @staticmethod
    def _read(stream: Iterator[str] | None, lines: list[str]) -> None:
        for line in stream or ():
            lines.append(line)

    @property
    def links(self) -> list[str]:
        """Paths and queries, the newest last."""
        return [found[2] for found in map(_LINK.search, self.printed) if found]

    @property
    def port(self) -> int:
        return next(int(found[1]) for found in map(_LINK.search, self.printed) if found)

    @property
    def prefix(self) -> str:
        return self.links[0].partition("enter?")[0]

    def request(
        self, method: str, path: str, body: str | None = None, headers: Mapping[str, str] | None = None
    ) -> Answer:
        """`path` as it stands in the request."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request(method, path, body, dict(headers or {}))
            response = connection.getresponse()
            found = {name.lower(): value for name, value in response.getheaders()}
            return Answer(response.status, found, response.read())
        finally:
            connection.close()

    def enter(self) -> Answer:
        """As a browser opens the link."""
        before = len(self.links)
        answer = self.request("GET", self.links[-1])
        assert answer.status == 200, answer
        self.cookie = answer.headers["set-cookie"].partition(";")[0]
        wait_for("the next link", lambda: len(self.links) > before)
        return answer

    def get(self, path: str, **query: str) -> Answer:
        """A page, by its path within ours."""
        where = f"{self.prefix}{path}{f'?{urlencode(query)}' if query else ''}"
        return self.request("GET", where, headers={"Cookie": self.cookie})

    def post(self, fields: Sequence[tuple[str, str]], headers: Mapping[str, str] | None = None) -> Answer:
        """A form for a change."""
        sent = {"Cookie": self.cookie, "Content-Type": "application/x-www-form-urlencoded", **(headers or {})}
        return self.request("POST", f"{self.prefix}change", urlencode(fields), sent)

    def change(self, action: str, *jobs: object, sure: bool = True) -> Answer:
        """As the forms of the list do it."""
        token = self.get("jobs").form_token
        fields = [("token", token), ("action", action), *(("job", str(job)) for job in jobs)]
        return self.post([*fields, ("sure", "yes")] if sure else fields)

    def follow(self, answer: Answer) -> Answer:
        assert answer.status in {302, 303}, answer
        where = urlsplit(answer.headers["location"])
        assert not where.netloc
        return self.request("GET", answer.headers["location"], headers={"Cookie": self.cookie})

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(20)
        for reader in self._readers:
            reader.join(10)
        return code


@contextmanager
def web_page(
    command: Sequence[str], env: Mapping[str, str], directory: Path, *, is_entered: bool = True
) -> Iterator[WebPage]:
    """The page that a command starts, until the end; it must end well and have complained of nothing."""
    process = subprocess.Popen(
        command, env=dict(env), cwd=directory, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    page = WebPage(process)
    try:
        wait_for("the link", lambda: page.links or process.poll() is not None)
        assert process.poll() is None, page.complaints
        if is_entered:
            page.enter()
        yield page
    finally:
        code = page.stop()
    assert (code, page.complaints) == (0, [])
