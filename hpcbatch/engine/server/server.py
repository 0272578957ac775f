"""The embedded engine's API server: HTTPS on loopback, in a thread of its own."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import json
import logging
import socket
import ssl
import threading
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import parse_qsl, unquote

import yaml
from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from hpcbatch.api.port import Object
from hpcbatch.engine.registry import statuses
from hpcbatch.engine.registry.registry import Registry
from hpcbatch.engine.registry.values import MAX_BYTES, too_large
from hpcbatch.engine.server import discovery, openapi, podlogs, portforward, streaming
from hpcbatch.engine.server.bodies import read_body
from hpcbatch.engine.server.door import REQUEST_LIMIT_S, Door, Peer, peer
from hpcbatch.engine.server.request import Accepted, negotiate, parse_path
from hpcbatch.engine.server.reviews import review
from hpcbatch.engine.server.verbs import Answer, LogAnswer, Request, StreamAnswer, Verbs, WatchAnswer
from hpcbatch.engine.server.watch import EventStream, line
from hpcbatch.errors import ApiError, GoneError, HpcBatchError, NotFoundError
from hpcbatch.history import serving
from hpcbatch.history.store import HistoryStore

_LOG = logging.getLogger(__name__)
T = TypeVar("T")
LogSource = Callable[[Object, str], Path | None]

_START_LIMIT_S = 30.0
_STOP_LIMIT_S = 5.0
_FOLLOW_S = 0.1
_REQUEST_LINE = 256 * 1024
"""The commands of pods/exec stand in it."""
_WORKERS = 16
_LISTS_AT_ONCE, _LISTS_IN_LINE = 2, 48
"""So many lists are made at a time, and wait for that; whoever comes then is told to try again. All threads share one
lock: with a dozen lists at work each other request, such as a submission, would wait for seconds.
"""
_WARNINGS = 4096
"""Characters of all warnings together, as the real server's: clients refuse longer headers."""
_WARNING_LINES = 50
_AGGREGATED = "application/json;g=apidiscovery.k8s.io;v={};as=APIGroupDiscoveryList"


class ServerError(HpcBatchError):
    """The API server cannot listen."""


class ApiServer:
    """Serves a Registry. `port` 0 takes any free one. `log_source` finds the log file of a pod's container, `let_in`
    connects to it; `history` holds the jobs that have left the Registry; `who` says whose a new connection is, which
    has `request_limit_s` to show the token.
    """

    def __init__(
        self,
        registry: Registry,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        cert_file: Path,
        key_file: Path,
        token: str,
        log_source: LogSource | None = None,
        let_in: streaming.LetIn | None = None,
        history: HistoryStore | None = None,
        who: Peer = peer,
        request_limit_s: float = REQUEST_LIMIT_S,
    ) -> None:
        self._registry, self._host, self._port, self._token = registry, host, port, token.encode()
        self._log_source: LogSource = log_source or (lambda _pod, _container: None)
        self._let_in: streaming.LetIn = let_in or _nobody
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(cert_file, key_file)
        self._context.minimum_version = ssl.TLSVersion.TLSv1_2
        self._verbs = Verbs(registry, registry.now)
        self._workers = ThreadPoolExecutor(_WORKERS, thread_name_prefix="api-request")
        self._listers = ThreadPoolExecutor(_LISTS_AT_ONCE, thread_name_prefix="api-list")
        self._lists = 0
        """At work and in line."""
        self._history, self._who, self._request_limit_s = history, who, request_limit_s
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._stopping: asyncio.Event | None = None
        self._door: Door | None = None
        self._streams: set[EventStream] = set()
        self._documents: tuple[int, dict[str, Any]] = (-1, {})

    # --- life ---

    def start(self) -> int:
        """Listen; returns the port. Raises ServerError if that port cannot be had."""
        started = threading.Event()
        failure: list[Exception] = []

        def run() -> None:
            try:
                asyncio.run(self._serve(started))
            except Exception as error:
                failure.append(error)
                if started.is_set():
                    _LOG.exception("the API server has failed")
            finally:
                started.set()

        self._thread = threading.Thread(target=run, name="api-server", daemon=True)
        self._thread.start()
        if not started.wait(_START_LIMIT_S):
            raise ServerError("the API server does not start")
        if failure:
            error = failure[0]
            if isinstance(error, OSError):
                why = error.strerror or str(error)
                raise ServerError(f"the API server cannot listen on {self._host}:{self._port}: {why}") from error
            raise error
        return self._port

    def stop(self) -> None:
        """End all connections and the thread; safe more than once."""
        if self._loop is not None and self._stopping is not None:
            with contextlib.suppress(RuntimeError):  # the loop is closed already
                self._loop.call_soon_threadsafe(self._stopping.set)
        if self._thread is not None:
            self._thread.join(_STOP_LIMIT_S * 2)

    def take(self, connection: socket.socket) -> None:
        """Serve a connection that was accepted elsewhere. From any thread, after the start."""
        if self._loop is None or self._door is None:
            connection.close()
            return
        connection.setblocking(False)
        try:
            self._loop.call_soon_threadsafe(self._door.take, connection)
        except RuntimeError:  # the loop is closed already
            connection.close()

    async def _serve(self, started: threading.Event) -> None:
        self._loop, self._stopping = asyncio.get_running_loop(), asyncio.Event()
        server = web.Server(self._handle, handler_cancellation=True, access_log=None, max_line_size=_REQUEST_LINE)
        runner = web.ServerRunner(server, shutdown_timeout=0.5)
        await runner.setup()
        door = Door(server, self._context, who=self._who, request_limit_s=self._request_limit_s)
        try:
            self._port = door.open(self._host, self._port)
            self._door = door
            started.set()
            await self._stopping.wait()
        finally:
            door.close()
            for stream in list(self._streams):
                stream.stop()
            await runner.cleanup()
            self._workers.shutdown(wait=False)
            self._listers.shutdown(wait=False)

    # --- one request ---

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        try:
            return await self._answer(request)
        except ApiError as error:
            return self._refusal(error)
        except asyncio.CancelledError:
            raise
        except ConnectionError:
            raise
        except Exception as error:
            _LOG.exception("%s %s", request.method, request.path_qs)
            return self._refusal(
                ApiError(500, "InternalError", f"Internal error occurred: {type(error).__name__}: {error}")
            )

    def _refusal(self, error: ApiError) -> web.Response:
        headers = {"Retry-After": "1"} if "retryAfterSeconds" in error.details else None
        if isinstance(error, _UnknownPathError):
            return web.Response(status=404, text="404 page not found\n")
        return _json_response(statuses.status_object(error), error.code, headers=headers)

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        path = request.rel_url.raw_path
        if not self._authorised(request):
            raise ApiError(401, "Unauthorized", "Unauthorized")
        if self._door is not None:
            self._door.vouch(request.protocol)
        query = dict(reversed(parse_qsl(request.rel_url.raw_query_string, keep_blank_values=True)))
        if path == "/openapi/v2" and request.method in {"GET", "HEAD"}:
            return web.Response(body=openapi.EMPTY_V2, headers={"Content-Type": openapi.PROTOBUF_V2})
        accept = ", ".join(request.headers.getall("Accept", []))
        if self._history is not None and f"{path}/".startswith(f"{serving.PREFIX}/"):
            return await self._answer_history(self._history, request, query, accept)
        accepted = negotiate(accept)
        resource_path = parse_path(path)
        if resource_path is None:
            return self._discover(request.method, unquote(path), accepted, request)
        content = await _read_content(request) if request.can_read_body else b""
        content_type = request.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        if any(item.plural == resource_path.plural and item.group == resource_path.group for item in discovery.REVIEWS):
            if request.method != "POST" or resource_path.name or resource_path.version != "v1":
                raise statuses.method_not_allowed()
            body = read_body(content, content_type, "Review")
            return _json_response(review(resource_path.plural, body.value), 201)
        if resource_path.group and not self._serves(resource_path.group, resource_path.version):
            raise _UnknownPathError
        asked = Request(request.method, resource_path, query, accepted, content_type, content)
        if asked.is_list:
            return await self._list(asked)
        # in another thread: a request that takes long does not stop the others
        answer = await self._aside(self._settled, asked)
        if isinstance(answer, WatchAnswer):
            return await self._watch(request, answer)
        if isinstance(answer, LogAnswer):
            return await self._log(request, answer)
        if isinstance(answer, StreamAnswer) and answer.verb == "portforward":
            return await portforward.serve(request, answer.pod, self._let_in)
        if isinstance(answer, StreamAnswer):
            words = [word for name, word in parse_qsl(request.rel_url.raw_query_string) if name == "command"]
            wanted = streaming.streaming(answer.verb, answer.pod, answer.query, words)
            return await streaming.serve(request, wanted, self._let_in)
        return await self._aside(_respond, answer, accepted)

    async def _list(self, asked: Request) -> web.Response:
        if self._lists >= _LISTS_AT_ONCE + _LISTS_IN_LINE:
            raise statuses.too_many_requests()
        self._lists += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._listers, self._listed, asked)
        finally:
            self._lists -= 1

    def _listed(self, asked: Request) -> web.Response:
        answer = self._settled(asked)
        assert isinstance(answer, Answer)  # noqa: S101 - that is what a list is
        return _respond(answer, asked.accepted)

    def _settled(self, asked: Request) -> Answer | WatchAnswer | LogAnswer | StreamAnswer:
        """The answer, when all that it tells is on disk: a killed engine must not have said what it forgets."""
        with self._registry.store.disk.at_once():
            return self._verbs.handle(asked)

    async def _aside(self, work: Callable[..., T], *arguments: Any) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._workers, work, *arguments)

    async def _answer_history(
        self, history: HistoryStore, request: web.BaseRequest, query: Mapping[str, str], accept: str
    ) -> web.Response:
        method, path = request.method, request.rel_url.raw_path
        wanted = serving.requested_resource(method, path)
        if wanted is None:
            reply = serving.discovery(path, accept)
        else:
            body = await _read_content(request) if request.can_read_body else b""
            # in another thread: the disk may take its time
            reply = await self._aside(serving.respond, history, wanted, query, accept, body)
        return web.Response(body=reply.body, status=reply.code, headers={"Content-Type": reply.content_type})

    def _authorised(self, request: web.BaseRequest) -> bool:
        scheme, _, given = request.headers.get("Authorization", "").partition(" ")
        return scheme.lower() == "bearer" and hmac.compare_digest(
            given.strip().encode("utf-8", "surrogateescape"), self._token
        )

    def _serves(self, group: str, version: str) -> bool:
        return (group, version) in self._document("versions", self._group_versions)

    def _group_versions(self) -> set[tuple[str, str]]:
        return set(discovery.group_versions(self._registry.kinds()))

    # --- discovery ---

    def _document(self, name: str, make: Callable[[], Any]) -> Any:
        """What is made from the kinds, kept until they change."""
        generation = self._registry.kinds_generation
        if self._documents[0] != generation:
            self._documents = (generation, {})
        kept = self._documents[1]
        if name not in kept:
            kept[name] = make()
        return kept[name]

    def _discover(self, method: str, path: str, accepted: Accepted, request: web.BaseRequest) -> web.StreamResponse:
        if method not in {"GET", "HEAD"}:
            raise statuses.method_not_allowed()
        parts = [part for part in path.split("/") if part]
        kinds = self._registry.kinds()
        match parts:
            case ["healthz" | "livez" | "readyz", *_]:
                return web.Response(text="ok")
            case ["version"]:
                return _json_response(discovery.version())
            case ["api" | "apis"] if accepted.aggregated:
                form, core = accepted.aggregated, parts == ["api"]
                groups = () if core or self._history is None else (serving.aggregated_group(),)
                value = self._document(
                    f"{path} {form}", lambda: discovery.aggregated(kinds, form, core=core, others=groups)
                )
                return _json_response(value, content_type=_AGGREGATED.format(form), headers={"Vary": "Accept"})
            case ["api"]:
                return _json_response(discovery.api_versions(request.host))
            case ["apis"]:
                others = () if self._history is None else (serving.group(),)
                return _json_response(discovery.api_group_list(kinds, others))
            case ["apis", group]:
                return _json_response(_found(discovery.api_group(kinds, group)))
            case ["api", version]:
                return _json_response(_found(discovery.resource_list(kinds, "", version)))
            case ["apis", group, version]:
                return _json_response(_found(discovery.resource_list(kinds, group, version)))
            case ["openapi", "v3"]:
                return _json_response(self._document("openapi", lambda: openapi.index(kinds)))
            case ["openapi", "v3", "api", version]:
                return self._openapi("", version)
            case ["openapi", "v3", "apis", group, version]:
                return self._openapi(group, version)
            case []:
                paths = ["/api", "/api/v1", "/apis", "/healthz", "/openapi/v2", "/openapi/v3", "/version"]
                return _json_response({"paths": paths})
        if parts[0] == "api":
            raise statuses.no_such_resource()
        raise _UnknownPathError

    def _openapi(self, group: str, version: str) -> web.Response:
        kinds = self._registry.kinds()
        value = self._document(f"openapi {group}/{version}", lambda: openapi.document(kinds, group, version))
        return _json_response(_found(value))

    # --- watches ---

    async def _watch(self, request: web.BaseRequest, answer: WatchAnswer) -> web.StreamResponse:
        stream = EventStream(self._registry, answer, asyncio.get_running_loop())
        response = web.StreamResponse(
            headers={"Content-Type": "application/json", "Cache-Control": "no-cache, private"}
        )
        response.enable_chunked_encoding()
        try:
            try:
                await self._aside(stream.subscribe)
            except GoneError as error:  # said in the stream, not by the HTTP code
                await response.prepare(request)
                await response.write(line("ERROR", statuses.status_object(error)))
                await response.write_eof()
                return response
            await response.prepare(request)
            self._streams.add(stream)
            await stream.run(response.write)
            await response.write_eof()
        except ConnectionError:
            pass  # the client has gone
        finally:
            self._streams.discard(stream)
            stream.close()
        return response

    # --- logs ---

    async def _log(self, request: web.BaseRequest, answer: LogAnswer) -> web.StreamResponse:
        pod = answer.pod
        options = podlogs.log_options(pod, answer.query, self._registry.now())
        name, container = pod["metadata"]["name"], options.container
        if not pod["spec"].get("nodeName"):
            return web.Response(status=204)
        if options.previous:
            raise statuses.bad_request(f'previous terminated container "{container}" in pod "{name}" not found')
        podlogs.check_started(pod, container)
        path = self._log_source(pod, container)
        response = web.StreamResponse(headers={"Content-Type": "text/plain"})
        response.enable_chunked_encoding()
        try:
            reader = podlogs.LogReader(path, options) if path is not None else None
        except FileNotFoundError:
            reader = None
        except OSError as error:
            raise ApiError(500, "InternalError", f"Internal error occurred: {error.strerror}: {path}") from error
        await response.prepare(request)
        try:
            if reader is not None:
                await self._copy_log(reader, options, pod, response.write)
            await response.write_eof()
        except ConnectionError:
            pass  # the client has gone
        finally:
            if reader is not None:
                reader.close()
        return response

    async def _copy_log(
        self,
        reader: podlogs.LogReader,
        options: podlogs.LogOptions,
        pod: Object,
        write: Callable[[bytes], Coroutine[Any, Any, None]],
    ) -> None:
        while True:
            # Asked before reading: what is written between the two is still read.
            ended = not options.follow or await self._aside(self._has_ended, pod, options.container)
            while text := reader.read():
                await write(text)
            if ended or reader.exhausted:
                return
            assert self._stopping is not None  # noqa: S101 - set before the first request
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), _FOLLOW_S)
                return

    def _has_ended(self, pod: Object, container: str) -> bool:
        meta = pod["metadata"]
        now = self._registry.store.get(("", "pods"), meta["namespace"], meta["name"])
        return now is None or now["metadata"]["uid"] != meta["uid"] or podlogs.has_ended(now, container)


def _nobody(_pod: Object, _message: Mapping[str, Any]) -> socket.socket:
    raise ConnectionRefusedError("this server runs no containers")


class _UnknownPathError(NotFoundError):
    """Nothing is served there: answered as text, as the real server does."""

    def __init__(self) -> None:
        super().__init__(404, "NotFound", "404 page not found")


def _found(value: Any) -> Any:
    if value is None:
        raise _UnknownPathError
    return value


async def _read_content(request: web.BaseRequest) -> bytes:
    content = bytearray()
    try:
        async for chunk in request.content.iter_any():
            content += chunk
            if len(content) > MAX_BYTES:
                raise too_large()
    except (web.RequestPayloadError, HttpProcessingError) as error:
        raise statuses.bad_request(f"the body cannot be read: {' '.join(str(error).split())}") from None
    return bytes(content)


def _json_response(
    value: Any, code: int = 200, *, content_type: str = "application/json", headers: Mapping[str, str] | None = None
) -> web.Response:
    body = json.dumps(value, separators=(",", ":")).encode()
    return web.Response(body=body, status=code, headers={"Content-Type": content_type, **(headers or {})})


def _respond(answer: Answer, accepted: Accepted) -> web.Response:
    if accepted.form == "yaml":
        text = yaml.safe_dump(answer.value, sort_keys=False, allow_unicode=True)
        response = web.Response(
            body=text.encode(errors="replace"), status=answer.code, headers={"Content-Type": "application/yaml"}
        )
    else:
        response = _json_response(answer.value, answer.code)
    room = _WARNINGS
    for warning in answer.warnings[:_WARNING_LINES]:
        shown = "".join(letter if letter.isprintable() else " " for letter in warning[:room])
        room -= len(shown)
        quoted = shown.replace("\\", "\\\\").replace('"', '\\"')
        response.headers.add("Warning", f'299 - "{quoted}"')
        if not room:
            break
    return response
