"""The port over HTTP, to any Kubernetes API server. Every command imports this, so it imports little."""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from threading import local

from hpcbatch import __version__, errors
from hpcbatch.api.http import Response
from hpcbatch.api.kubeconfig import Connection
from hpcbatch.api.port import Api, Object, ObjectList, Propagation, WatchEvent
from hpcbatch.api.resources import PODS, Resource
from hpcbatch.api.transport import Transport, Wire
from hpcbatch.api.url import query_string
from hpcbatch.errors import ApiError, GoneError, UnreachableError
from hpcbatch.model.labels import NAMESPACE_COLUMN
from hpcbatch.typed import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from socket import socket

_JSON = "application/json"
_TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
_MERGE_PATCH = "application/merge-patch+json"
_PAGE, _LARGE_PAGE = 500, 5000
_HISTORY = "/apis/history.hpcbatch.io/"
_PATIENCE_S = 10.0
"""How long a request waits altogether for a server that is busy."""
_TRY_AGAIN = "the API server takes no more requests now, try again: "
_LOG_LINES = 10
_AT_ONCE = 2
"""How often a server is asked again that requests no pause."""

_BY_CODE: dict[int, type[ApiError]] = {
    401: errors.UnauthorizedError,
    403: errors.ForbiddenError,
    404: errors.NotFoundError,
    409: errors.ConflictError,
    410: errors.GoneError,
    422: errors.InvalidError,
    429: errors.BusyError,
    503: errors.BusyError,
}


class TableRow(NamedTuple):
    cells: list[Any]
    namespace: str
    name: str


Table = tuple[list[str], list[TableRow]]
"""Names of the columns, and the rows."""
_Names = list[str]
_Pages = list[Object]  # inside HttpApi the name `list` is a method
_Keep = Callable[[Resource, Object], Object]


class TableApi(Api, Protocol):
    """An API that also returns server-side tables, which hold no more than a listing shows."""

    def table(self, resource: Resource, namespace: str | None = None, *, labels: str = "", fields: str = "") -> Table:
        """The columns that a listing shows of each object; `namespace` None is all namespaces."""

    def count(self, resource: Resource, namespace: str | None = None, *, fields: str = "") -> int:
        """The number of objects, without reading them."""

    def list_with(self, resource: Resource, namespace: str | None = None, *, query: Mapping[str, str]) -> Object:
        """A list with further query parameters."""

    def get_many(
        self, resource: Resource, names: Sequence[str], namespace: str | None = None
    ) -> Iterator[Object | None]:
        """As `get` of each, in this order, in far less time; None for one that does not exist."""


def status_error(code: int, body: bytes | Mapping[str, Any]) -> ApiError:
    """The error for a Status object; any other text, as of a proxy or a broken server, is quoted."""
    status: Mapping[str, Any] | None = body if isinstance(body, Mapping) else None
    if isinstance(body, bytes):
        try:
            parsed = json.loads(body)
        except ValueError:
            parsed = None
        status = parsed if isinstance(parsed, dict) and parsed.get("kind") == "Status" else None
    if status is None:
        text = body.decode("utf-8", "replace").strip() if isinstance(body, bytes) else ""
        said = f"the server answered {code}: {' '.join(text.split())[:200]}"
        kind = _BY_CODE.get(code, ApiError)
        return kind(code, "", f"{_TRY_AGAIN}{said}" if kind is errors.BusyError else said)
    code, reason = int(status.get("code") or code), str(status.get("reason") or "")
    kind = _BY_CODE.get(code, ApiError)
    if code == 409 and reason == "AlreadyExists":
        kind = errors.AlreadyExistsError
    message = str(status.get("message") or reason)
    if kind is errors.BusyError:
        message = f"{_TRY_AGAIN}{message}"
    return kind(code, reason, message, dict(status.get("details") or {}))


class HttpApi:
    """Implements TableApi. Each thread keeps one connection alive; a watch has its own."""

    def __init__(
        self,
        connection: Connection,
        *,
        connect_timeout_s: float = 5.0,
        response_timeout_s: float = 15.0,
        keep: _Keep = lambda _, obj: obj,
    ) -> None:
        """`keep`: what `list` and `watch` return of an object, which it may change."""
        self.connection, self._keep = connection, keep
        self._transport = Transport(connection, connect_timeout_s=connect_timeout_s)
        self._response_timeout_s = response_timeout_s
        self._kept = local()

    def get(self, resource: Resource, name: str, namespace: str | None = None) -> Object:
        return self._call("GET", resource.path(namespace, name))

    def get_many(
        self, resource: Resource, names: Sequence[str], namespace: str | None = None
    ) -> Iterator[Object | None]:
        """As `get` of each, in this order, in far less time; None for one that does not exist."""
        from hpcbatch.api.many import get_many

        prefix = self._transport.prefix
        return get_many(
            [prefix + resource.path(namespace, name) for name in names],
            self._open,
            lambda: {"Accept": _JSON, **self._common_headers()},
            lambda path: self._call("GET", path.removeprefix(prefix)),
        )

    def list(
        self, resource: Resource, namespace: str | None = None, *, labels: str = "", fields: str = ""
    ) -> ObjectList:
        def kept(item: Object) -> Object:
            item.setdefault("apiVersion", resource.api_version)  # lists of core kinds omit these two
            item.setdefault("kind", resource.kind)
            return self._keep(resource, item)

        pages = self._pages(resource.path(namespace), _selectors(labels, fields), _JSON, kept)
        items = tuple(item for page in pages for item in page["items"])
        return ObjectList(items, str(pages[0].get("metadata", {}).get("resourceVersion", "")))

    def table(self, resource: Resource, namespace: str | None = None, *, labels: str = "", fields: str = "") -> Table:
        path, selectors = resource.path(namespace), _selectors(labels, fields)
        if namespace is not None or not path.startswith(_HISTORY):
            # metadata can be larger than the cells, of which the first is the name
            columns, found = self._table(path, selectors | {"includeObject": "None"})
            if namespace is not None:
                return columns, [TableRow(row["cells"], namespace, row["cells"][0]) for row in found]
            if NAMESPACE_COLUMN in columns:
                place = columns.index(NAMESPACE_COLUMN)
                return columns, [TableRow(row["cells"], row["cells"][place], row["cells"][0]) for row in found]
        columns, found = self._table(path, selectors | {"includeObject": "Metadata"})  # or an older definition
        rows = []
        for row in found:
            meta = row["object"]["metadata"]
            rows.append(TableRow(row["cells"], meta.get("namespace", ""), meta["name"]))
        return columns, rows

    def _table(self, path: str, query: Mapping[str, str]) -> tuple[_Names, Iterable[Object]]:
        pages = self._pages(path, query, _TABLE)
        columns = [str(column["name"]) for column in pages[0].get("columnDefinitions") or []]
        return columns, (row for page in pages for row in page.get("rows") or [])

    def count(self, resource: Resource, namespace: str | None = None, *, fields: str = "") -> int:
        """The number of objects; Kubernetes itself counts only without `fields`."""
        page = self._call("GET", resource.path(namespace), _selectors("", fields) | {"limit": "1"})
        return len(page.get("items") or []) + int(page.get("metadata", {}).get("remainingItemCount") or 0)

    def list_with(self, resource: Resource, namespace: str | None = None, *, query: Mapping[str, str]) -> Object:
        """A list with further query parameters."""
        return self._call("GET", resource.path(namespace), query)

    def log_end(self, pod: Object) -> str:
        """The last lines in the log of a pod's container `main`."""
        meta = pod["metadata"]
        path = PODS.path(meta["namespace"], meta["name"], "log")
        query = {"container": "main", "tailLines": str(_LOG_LINES)}
        return self._send("GET", path, query, None, {"Accept": _JSON}).decode(errors="replace")

    def version(self) -> Object:
        """The server's version: `{"gitVersion": "v1.34.1", "major": "1", "minor": "34", …}`."""
        return self._call("GET", "/version")

    def create(
        self, resource: Resource, obj: Mapping[str, Any], namespace: str | None = None, *, dry_run: bool = False
    ) -> Object:
        """`dry_run`: the server admits and validates as usual, but stores nothing."""
        query = {"dryRun": "All"} if dry_run else None
        return self._call("POST", resource.path(namespace), query, body=obj)

    def replace(
        self, resource: Resource, obj: Mapping[str, Any], namespace: str | None = None, *, subresource: str = ""
    ) -> Object:
        return self._call("PUT", resource.path(namespace, obj["metadata"]["name"], subresource), body=obj)

    def patch(
        self,
        resource: Resource,
        name: str,
        patch: Mapping[str, Any],
        namespace: str | None = None,
        *,
        subresource: str = "",
    ) -> Object:
        return self._call("PATCH", resource.path(namespace, name, subresource), body=patch, content_type=_MERGE_PATCH)

    def delete(
        self,
        resource: Resource,
        name: str,
        namespace: str | None = None,
        *,
        grace_period_s: int | None = None,
        propagation: Propagation = "Background",
        uid: str | None = None,
        resource_version: str | None = None,
    ) -> None:
        options: Object = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": propagation}
        if grace_period_s is not None:
            options["gracePeriodSeconds"] = grace_period_s
        if uid is not None:
            options["preconditions"] = {"uid": uid}
        if resource_version is not None:
            options["preconditions"] = {**options.get("preconditions", {}), "resourceVersion": resource_version}
        self._call("DELETE", resource.path(namespace, name), body=options)

    def upgrade(self, target: str) -> tuple[socket, str, dict[str, str]]:
        """For a WebSocket: a connection of its own, the URL, and the headers. Raises UnreachableError."""
        transport = self._transport
        return transport.open().detach(), f"{transport.websocket_url}{target}", self._common_headers()

    def lost(self, error: BaseException) -> UnreachableError:
        """What it means for a user that a connection broke so."""
        return self._transport.lost(error)

    def watch(
        self,
        resource: Resource,
        namespace: str | None = None,
        *,
        resource_version: str = "",
        labels: str = "",
        fields: str = "",
        timeout_s: float | None = None,
    ) -> HttpWatch:
        query = _selectors(labels, fields) | {"watch": "true", "allowWatchBookmarks": "true"}
        if resource_version:
            query["resourceVersion"] = resource_version
        if timeout_s is not None:
            query["timeoutSeconds"] = str(max(1, math.ceil(timeout_s)))
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        try:
            wire, response = self._exchange("GET", resource.path(namespace), query, None, {"Accept": _JSON})
            content = b"" if response.status == 200 else response.read()
        except OSError as error:
            self.close()
            raise self._transport.lost(error, self._response_timeout_s) from None
        if response.status != 200:
            raise status_error(response.status, content)
        self._kept.wire = None  # from here on the watch owns it
        return HttpWatch(self._transport, wire, response, deadline, lambda obj: self._keep(resource, obj))

    def close(self) -> None:
        """Close this thread's connection; the next call opens another."""
        if (wire := getattr(self._kept, "wire", None)) is not None:
            wire.close()
            self._kept.wire = None

    def _pages(
        self,
        path: str,
        query: Mapping[str, str],
        accept: str,
        kept: Callable[[Object], Object] | None = None,
    ) -> _Pages:
        """`kept`: what to keep of each item, called page by page: the items of a long list are never all there as they
        came.
        """
        # the history's rows come ready-made from a database: there only the requests cost
        page_size = _LARGE_PAGE if path.startswith(_HISTORY) else _PAGE
        pages: _Pages = []
        more = ""
        while more or not pages:
            limits = ({"limit": str(page_size)} if page_size else {}) | ({"continue": more} if more else {})
            try:
                page = self._call("GET", path, {**query, **limits}, accept=accept)
            except GoneError:
                if not more:
                    raise
                # The state of these pages is gone: list again, in larger ones, which takes less time, or all at once.
                page_size = _LARGE_PAGE if page_size < _LARGE_PAGE else 0
                pages, more = [], ""
                continue
            if kept is not None:
                page["items"] = [kept(item) for item in page.get("items") or []]
            pages.append(page)
            more = str(page.get("metadata", {}).get("continue") or "")
        return pages

    def _call(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None = None,
        *,
        body: Mapping[str, Any] | None = None,
        content_type: str = _JSON,
        accept: str = _JSON,
    ) -> Object:
        data = None if body is None else json.dumps(body, separators=(",", ":")).encode()
        headers = {"Accept": accept} | ({"Content-Type": content_type} if data is not None else {})
        return _parse(self._send(method, path, query or {}, data, headers))

    def _send(
        self, method: str, path: str, query: Mapping[str, str], data: bytes | None, headers: Mapping[str, str]
    ) -> bytes:
        """One request and its response. GETs are retried once when the connection breaks; anything else may have been
        done already, and only the caller knows how to find out. A busy server is asked again for a while."""
        give_up = time.monotonic() + _PATIENCE_S
        is_first, tries = True, 0
        while True:
            try:
                _, response = self._exchange(method, path, query, data, headers)
                content = response.read()
            except OSError as error:
                self.close()
                if method == "GET" and is_first and not isinstance(error, TimeoutError):
                    is_first = False
                    continue
                raise self._transport.lost(error, self._response_timeout_s) from None
            if response.status < 300:
                return content
            is_first = False
            pause_s = _pause(response, tries) if response.status == 429 or method == "GET" else None
            if pause_s is None or time.monotonic() + pause_s > give_up:
                raise status_error(response.status, content)
            time.sleep(pause_s)
            tries += 1

    def _exchange(
        self, method: str, path: str, query: Mapping[str, str], data: bytes | None, headers: Mapping[str, str]
    ) -> tuple[Wire, Response]:
        """Send one request on this thread's connection and read the head of the response."""
        wire: Wire | None = getattr(self._kept, "wire", None)
        if wire is not None and wire.is_stale():
            self.close()  # and dropped: a new one may fail to open
            wire = None
        if wire is None:
            wire = self._open()
            self._kept.wire = wire
        wire.settimeout(self._response_timeout_s)
        url = self._transport.prefix + path + (f"?{query_string(query)}" if query else "")
        return wire, wire.request(method, url, {**headers, **self._common_headers()}, data)

    def _open(self) -> Wire:
        wire = self._transport.open()
        wire.settimeout(self._response_timeout_s)
        return wire

    def _common_headers(self) -> dict[str, str]:
        credentials = self._transport.authorization()
        return {"User-Agent": f"hpcbatch/{__version__}"} | ({"Authorization": credentials} if credentials else {})


class HttpWatch:
    """A running watch over HTTP: one JSON object per line, until the time limit, the server's end, or `close()`."""

    def __init__(
        self,
        transport: Transport,
        wire: Wire,
        response: Response,
        deadline: float | None,
        keep: Callable[[Object], Object],
    ) -> None:
        self._transport, self._wire, self._response, self._deadline = transport, wire, response, deadline
        self._keep, self._closed = keep, False

    def __iter__(self) -> Iterator[WatchEvent]:
        rest = b""
        try:
            while some := self._some():
                *lines, rest = (rest + some).split(b"\n")
                for line in filter(None, lines):
                    event = _parse(line)
                    if event["type"] == "ERROR":
                        raise status_error(500, event["object"])
                    yield WatchEvent(str(event["type"]), self._keep(event["object"]))
        finally:
            self._wire.close()

    def close(self) -> None:
        self._closed = True
        self._wire.cut()

    def _some(self) -> bytes:
        """The next bytes, as soon as there are any; b"" at the end."""
        if self._closed:
            return b""
        self._wire.settimeout(self._remaining_s())
        try:
            return self._response.read_some()
        except TimeoutError:
            return b""  # only the deadline can time out
        except OSError as error:
            if self._closed:
                return b""
            raise self._transport.lost(error) from None

    def _remaining_s(self) -> float | None:
        return None if self._deadline is None else max(0.001, self._deadline - time.monotonic())


def _selectors(labels: str, fields: str) -> dict[str, str]:
    return ({"labelSelector": labels} if labels else {}) | ({"fieldSelector": fields} if fields else {})


def _parse(content: bytes) -> Object:
    try:
        value = json.loads(content)
    except ValueError:
        raise UnreachableError("what answered is no Kubernetes API server: its answer is not JSON") from None
    if not isinstance(value, dict):
        raise UnreachableError("what answered is no Kubernetes API server: its answer is not an object")
    return value


def _pause(response: Response, tries: int) -> float | None:
    """Seconds to wait until a busy server is asked again: as long as it requests (Retry-After), longer each time, and
    not all clients at the same time. None: it will not help.
    """
    text = response.headers.get("retry-after", "")
    is_told = text.isascii() and text.isdigit()
    if response.status != 429 and not (is_told and response.status in {500, 502, 503, 504}):
        return None
    asked_s = float(text) if is_told else 0.5
    if not asked_s:
        return 0.0 if tries < _AT_ONCE else None
    return asked_s * 1.5**tries * (1 + os.urandom(1)[0] / 512)
