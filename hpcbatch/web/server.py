"""The HTTP server of the page: on loopback, or on a Unix socket behind a site's proxy."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import signal
import socket
import sys
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from importlib.resources import files as package_files
from pathlib import Path
from typing import Any, Final, TypeVar

from aiohttp import web

from hpcbatch.errors import (
    ApiError,
    ForbiddenError,
    HpcBatchError,
    JobFinishedError,
    UnauthorizedError,
    UnknownJobError,
    UnreachableError,
)
from hpcbatch.maps.names import PAGE
from hpcbatch.record.rows import row_of
from hpcbatch.web import changes, files
from hpcbatch.web.cluster import nodes_page, queues_page
from hpcbatch.web.door import COOKIE, ENTRY, HEADERS, JOBS_PAGE_POLICY, USER_HEADER, Door, RefusedRequestError
from hpcbatch.web.facts import Facts
from hpcbatch.web.job import drawn_path, job_page
from hpcbatch.web.jobs import jobs_page
from hpcbatch.web.page import Page, Renderer, Request
from hpcbatch.web.past import history_page

_T = TypeVar("_T")
_THREADS = 4
_LARGEST_FORM = 1 << 17  # bytes
_STATIC: Mapping[str, str] = {
    "style.css": "text/css",
    "live.js": "text/javascript",
    "htmx.min.js": "text/javascript",
    "icon.svg": "image/svg+xml",
}
_JOB = re.compile(r"jobs/([0-9]{1,18})", re.ASCII)
_PICTURE = re.compile(r"jobs/([0-9]{1,18})/pictures/([0-9a-f]{20})", re.ASCII)
_OUTPUT = re.compile(r"jobs/([0-9]{1,18})/output/([01])", re.ASCII)
_NAME = re.compile(r"[a-z]{1,20}", re.ASCII)
_AGAIN_S = 5
"""So often a page whose API does not answer asks again."""
_STATUS: Mapping[type[HpcBatchError], int] = {
    UnknownJobError: 404,
    files.NoFileError: 404,
    JobFinishedError: 409,
    UnauthorizedError: 502,
    ForbiddenError: 403,
    UnreachableError: 502,
}
LISTENING_BACKLOG: Final = 64
Tell = Callable[[str], None]


def listen(port: int) -> socket.socket:
    """Of this machine only. Raises HpcBatchError if the port is taken."""
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        if port:
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(("127.0.0.1", port))
        found.listen(LISTENING_BACKLOG)
    except OSError as error:
        found.close()
        raise HpcBatchError(f"port {port} of this machine cannot be had: {error.strerror}") from None
    return found


def listen_at(path: Path) -> socket.socket:
    """A Unix socket that its directory guards: who may enter that may connect. Raises HpcBatchError."""
    found = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with suppress(FileNotFoundError):
            if path.is_socket():
                path.unlink()  # of a process before this one
        found.bind(str(path))
        path.chmod(0o660)
        found.listen(LISTENING_BACKLOG)
    except OSError as error:
        found.close()
        raise HpcBatchError(f"{path}: no socket can be made there: {error.strerror or error}") from None
    return found


class Server:
    """Answers requests. Whatever asks the API or reads files runs in threads."""

    def __init__(self, door: Door, facts: Facts, *, version: str, tell: Tell, entered: Callable[[], None]) -> None:
        self._door, self._facts, self._tell, self._entered = door, facts, tell, entered
        common = {"user": facts.user, "server": facts.server, "namespace": facts.namespace}
        self._renderer = Renderer(door.prefix, facts.zone, version, common)
        self._threads = ThreadPoolExecutor(_THREADS, "page")
        self._static = {
            name: (package_files("hpcbatch.web").joinpath("static", name).read_bytes(), kind)
            for name, kind in _STATIC.items()
        }

    def application(self) -> web.Application:
        made = web.Application(client_max_size=_LARGEST_FORM)
        made.router.add_route("*", "/{path:.*}", self._answer)
        return made

    async def run(self, listening: socket.socket) -> None:
        """Until SIGINT, SIGTERM or SIGHUP."""
        log = logging.getLogger("aiohttp")
        log.addHandler(logging.NullHandler())  # requests are nobody's to read, links least of all
        log.propagate = False
        runner = web.AppRunner(self.application(), access_log=None, shutdown_timeout=1.0)
        await runner.setup()
        await web.SockSite(runner, listening).start()
        stopped = asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            asyncio.get_running_loop().add_signal_handler(number, stopped.set)
        await stopped.wait()
        await runner.cleanup()
        self._threads.shutdown(wait=False, cancel_futures=True)

    # Requests

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        try:
            response = await self._guarded(request)
        except RefusedRequestError as error:
            response = await self._refusal(error)
        except HpcBatchError as error:
            response = await self._fault(request, error)
        except web.HTTPException as error:  # a form that is too large
            response = web.Response(status=error.status, text=f"{error.reason}\n")
        except (asyncio.CancelledError, ConnectionError):
            raise
        except Exception as error:  # nobody is shown a traceback
            response = await self._internal(error)
        for name, value in {**HEADERS, "Cache-Control": "no-store"}.items():
            response.headers.setdefault(name, value)
        return response

    async def _guarded(self, request: web.Request) -> web.StreamResponse:
        door = self._door
        door.check_host(request.headers.get("Host", ""))
        door.check_proxied_user(request.headers.get(USER_HEADER, ""))
        if not request.path.startswith(door.prefix):
            if door.is_proxied and f"{request.path}/" == door.prefix:
                return _redirect(door.prefix)
            raise RefusedRequestError(404, "There is no such page. `hpcbatch web` has printed the link to this one.")
        path = request.path.removeprefix(door.prefix)
        if request.method not in {"GET", "HEAD", "POST"}:
            raise RefusedRequestError(405, "This page takes GET and POST.")
        if path.startswith("static/") and request.method != "POST":
            return self._file(path.removeprefix("static/"))
        if path == ENTRY and request.method == "GET":  # HEAD, by which links are looked at, uses up none
            return self._enter(request)
        cookie, is_new = request.cookies.get(COOKIE, ""), False
        if not door.knows(cookie):
            if not door.is_proxied:
                raise RefusedRequestError(
                    403, "This browser has not been let in. Open the link that `hpcbatch web` printed last."
                )
            cookie, is_new = door.new_cookie(), True
        token = door.form_token(cookie)
        query = {name: request.query[name] for name in request.query}
        response = await self._let_in(request, Request(path, query, token), cookie)
        if is_new:
            self._set_cookie(response, cookie)
        return response

    def _enter(self, request: web.Request) -> web.StreamResponse:
        """A page that leads on, and no redirection: browsers would not send the new cookie after one that began at
        somebody else's link, which SameSite forbids.
        """
        cookie = self._door.enter(request.query.get("token", ""))
        response = _html(self._renderer.simple("entered.html"))
        self._set_cookie(response, cookie)
        self._entered()
        return response

    def _set_cookie(self, response: web.StreamResponse, cookie: str) -> None:
        response.set_cookie(
            COOKIE, cookie, path=self._door.prefix, httponly=True, samesite="Strict", secure=self._door.is_secure
        )

    async def _let_in(self, request: web.Request, asked: Request, cookie: str) -> web.StreamResponse:
        if request.method == "POST":
            return await self._post(request, asked, cookie)
        if match := _PICTURE.fullmatch(asked.path):
            return await self._in_thread(self._picture, int(match[1]), match[2])
        if match := _OUTPUT.fullmatch(asked.path):
            return await self._in_thread(self._whole_output, int(match[1]), int(match[2]))
        if asked.path == "":
            return _redirect(self._renderer.url("jobs"))
        return await self._in_thread(self._page, asked)

    def _make(self, asked: Request) -> Page:
        facts, path = self._facts, asked.path
        if match := _JOB.fullmatch(path):
            return job_page(facts, int(match[1]))
        match path:
            case "jobs":
                return jobs_page(facts, asked)
            case "nodes":
                return nodes_page(facts, asked, self._renderer.url)
            case "queues":
                return queues_page(facts, asked)
            case "history":
                return history_page(facts, asked)
            case _:
                raise RefusedRequestError(404, "There is no such page.")

    def _page(self, asked: Request) -> web.Response:
        """In a thread: a page, or the part of one that its script asks for."""
        part = asked.query.get("part")
        if part is None:  # who loads a page is to see what they have just submitted
            self._facts.forget_rows(quick_ones=True)
        page = self._make(asked)
        if part is None:
            done = changes.DONE.get(asked.query.get("done", ""), "")
            shown = page._replace(values={**page.values, "done": done})
            return _html(self._renderer.page(shown, asked, self._facts.failed), page.status)
        if part not in page.parts:  # a job that has ended has fewer
            return web.Response(status=204)
        text = self._renderer.part(page, part, asked, self._facts.failed)
        return web.Response(status=204) if text is None else _html(text)

    def _picture(self, number: int, key: str) -> web.Response:
        path = drawn_path(self._facts, number, key)
        if path.name == PAGE:
            response = _html(files.read_page(path).decode(errors="replace"))
            response.headers["Content-Security-Policy"] = JOBS_PAGE_POLICY
            return response
        content = files.read_picture(path)
        return web.Response(body=content, content_type="image/png", headers={"Cache-Control": "private, max-age=3600"})

    def _whole_output(self, number: int, place: int) -> web.Response:
        record = self._facts.record(number)
        streams = files.streams(record) if self._facts.is_own(row_of(record)) else []
        if place >= len(streams):
            raise UnknownJobError(f"job {number} has no such output for you")
        return web.Response(body=files.whole(streams[place]), content_type="text/plain", charset="utf-8")

    def _file(self, name: str) -> web.Response:
        if name not in self._static:
            raise RefusedRequestError(404, "There is no such page.")
        content, kind = self._static[name]
        headers = {"Cache-Control": "private, max-age=86400"}
        return web.Response(body=content, content_type=kind, charset="utf-8", headers=headers)

    async def _post(self, request: web.Request, asked: Request, cookie: str) -> web.StreamResponse:
        fields = await request.post()
        texts = {name: value for name, value in fields.items() if isinstance(value, str)}
        self._door.check_form(cookie, texts.get("token", ""), request.headers)
        if asked.path != "change":
            raise RefusedRequestError(404, "There is no such page.")
        jobs = [value for value in fields.getall("job", []) if isinstance(value, str)]
        return await self._in_thread(self._change, asked, texts, jobs)

    def _change(self, asked: Request, texts: Mapping[str, str], jobs: list[str]) -> web.Response:
        change = changes.read_change(texts, jobs)
        if change.action == "delete" and not change.is_sure:
            page = changes.confirmation(self._facts, change)
            return _html(self._renderer.page(page, asked, self._facts.failed))
        outcome = changes.carry_out(self._facts, change)
        if not outcome.problems:
            return _redirect(self._renderer.url(change.back, done=change.done), 303)
        values = {"outcome": outcome, "change": change, "back": self._renderer.url(change.back)}
        return _html(self._renderer.page(Page("problems.html", "Not done", values), asked, self._facts.failed), 409)

    # Errors

    async def _refusal(self, error: RefusedRequestError) -> web.Response:
        """Says nothing of jobs: whoever sent this may be anybody."""
        return _html(self._renderer.simple("refused.html", text=str(error)), error.status)

    async def _fault(self, request: web.Request, error: HpcBatchError) -> web.Response:
        shown = await self._in_thread(self._facts.failed, error)
        status = next((code for kind, code in _STATUS.items() if isinstance(error, kind)), None)
        if status is None:
            status = 502 if isinstance(error, ApiError) else 400
        part = request.query.get("part", "")
        if _NAME.fullmatch(part):
            query = {name: request.query[name] for name in request.query}
            asked = Request(request.path.removeprefix(self._door.prefix), query, "")
            is_over = isinstance(error, UnknownJobError)
            return _html(self._renderer.faulty_part(part, shown, asked, every_s=0 if is_over else _AGAIN_S))
        return _html(self._renderer.simple("error.html", text=str(shown)), status)

    async def _internal(self, error: Exception) -> web.Response:
        if os.environ.get("HPCBATCH_DEBUG") == "1":
            import traceback

            traceback.print_exception(error, file=sys.stderr)
        what = " ".join(f"{type(error).__name__}: {error}".split())
        self._tell(f"hpcbatch: internal error: {what}; please report it with HPCBATCH_DEBUG=1 output")
        return _html(self._renderer.simple("error.html", text="This page has an error; the terminal says more."), 500)

    async def _in_thread(self, call: Callable[..., _T], *arguments: Any) -> _T:
        awaited: Awaitable[_T] = asyncio.get_running_loop().run_in_executor(self._threads, partial(call, *arguments))
        return await awaited


def _html(text: str, status: int = 200) -> web.Response:
    return web.Response(text=text, status=status, content_type="text/html", charset="utf-8")


def _redirect(where: str, status: int = 302) -> web.Response:
    return web.Response(status=status, headers={"Location": where})
