"""The API path of the history, `/apis/history.hpcbatch.io/v1alpha1`: turns a request's values into a reply's values.

Used by the embedded engine's server and, on a cluster, by the controller. They check the user's permissions.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple
from urllib.parse import unquote

from hpcbatch.api.history import ENDED_JOBS, FORM_PARAMETER, PACKED_FORM, PACKED_KIND, USAGE_FORM, USAGE_KIND, packed
from hpcbatch.api.port import Object
from hpcbatch.errors import ApiError, ConflictError, ForbiddenError, InvalidError, NotFoundError
from hpcbatch.history.databases import HistoryError
from hpcbatch.history.query import read_query
from hpcbatch.history.store import HistoryStore, Listed, Listing, Page
from hpcbatch.history.tables import cells_of, definitions

GROUP, VERSION, PLURAL = ENDED_JOBS.group, ENDED_JOBS.version, ENDED_JOBS.plural
PREFIX = f"/apis/{GROUP}"
_GROUP_VERSION = ENDED_JOBS.api_version
_VERBS = ("get", "list")
"""The verbs in discovery. `delete` is served as well; if it were listed, Kubernetes would empty the history of a
deleted namespace, and wait for that."""
_AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
_MOST = 10_000  # jobs in one reply
_COUNTED = 1
"""Up to this limit a reply has the number of remaining jobs: requests for one job are used to count."""


class Reply(NamedTuple):
    code: int
    value: Object | bytes
    """Bytes are JSON already."""
    content_type: str = "application/json"

    @property
    def body(self) -> bytes:
        value = self.value
        return value if isinstance(value, bytes) else json.dumps(value, separators=(",", ":")).encode()


class ResourceRequest(NamedTuple):
    """A request about jobs, in terms of RBAC. `namespace` None: all; `name` "": a list."""

    verb: str
    namespace: str | None
    name: str


def requested_resource(method: str, path: str) -> ResourceRequest | None:
    """The request about jobs; None for discovery, which anybody may read. Raises NotFoundError for a foreign path, and
    ApiError 405.
    """
    parts = [unquote(part) for part in path.strip("/").split("/")]
    namespace: str | None = None
    match parts:
        case ["apis"] | ["apis", _] | ["apis", _, _]:
            if parts[1:] != [GROUP, VERSION][: len(parts) - 1]:
                raise _unknown()
            if method not in {"GET", "HEAD"}:
                raise _not_allowed()
            return None
        case ["apis", group, version, "namespaces", namespace, plural, *rest] if namespace:
            pass
        case ["apis", group, version, plural]:
            rest = []
        case _:
            raise _unknown()
    if (group, version, plural) != (GROUP, VERSION, PLURAL) or len(rest) > 1:
        raise _unknown()
    name = rest[0] if rest else ""
    verb = {"GET": "get" if name else "list", "DELETE": "delete" if name else ""}.get(method, "")
    if not verb:
        raise _not_allowed()
    return ResourceRequest(verb, namespace, name)


def respond(
    store: HistoryStore, request: ResourceRequest, query: Mapping[str, str], accept: str, body: bytes = b""
) -> Reply:
    """Raises ApiError."""
    try:
        match request.verb:
            case "list":
                return _list(store, request, query, accept)
            case "delete":
                return _delete(store, request, query, body)
        return _get(store, request, query, accept)
    except HistoryError as error:
        raise ApiError(503, "ServiceUnavailable", str(error)) from error


def _list(store: HistoryStore, request: ResourceRequest, query: Mapping[str, str], accept: str) -> Reply:
    if query.get("watch", "").lower() in {"1", "t", "true"}:
        raise ApiError(405, "MethodNotAllowed", "the history cannot be watched: what stands in it does not change")
    if query.get("labelSelector"):
        raise InvalidError(400, "BadRequest", "the history can be asked by fieldSelector only, not by labels")
    limit = _limit(query.get("limit", ""))
    wanted = read_query(request.namespace, query.get("fieldSelector", ""))
    form, after = query.get(FORM_PARAMETER), query.get("continue", "")
    if form == USAGE_FORM:
        rows = [] if wanted is None else store.usage(wanted)
        return Reply(200, {"kind": USAGE_KIND, "apiVersion": _GROUP_VERSION, "rows": rows})
    if form == PACKED_FORM:
        bodies, more = ([], "") if wanted is None else store.packed(wanted, limit=limit, after=after)
        head = {"kind": PACKED_KIND, "apiVersion": _GROUP_VERSION, "metadata": _list_metadata(more)}
        return Reply(200, head | {"jobs": [packed(body) for body in bodies]})
    if _wants_table(accept):
        listed, more = Listing([], "") if wanted is None else store.listing(wanted, limit=limit, after=after)
        return Reply(200, _table(listed, _list_metadata(more), _include(query)))
    jobs, more = Page([], "") if wanted is None else store.page(wanted, limit=limit, after=after)
    metadata = _list_metadata(more)
    if wanted is not None and more and limit <= _COUNTED:
        metadata["remainingItemCount"] = store.count(wanted) - len(jobs)
    kind, items = f"{ENDED_JOBS.kind}List", [_as_ours(job) for job in jobs]
    return Reply(200, {"kind": kind, "apiVersion": _GROUP_VERSION, "metadata": metadata, "items": items})


def _list_metadata(more: str) -> Object:
    return {"resourceVersion": "0", "continue": more}


def _include(query: Mapping[str, str]) -> str:
    include = query.get("includeObject") or "Metadata"
    if include not in {"None", "Metadata"}:
        raise InvalidError(400, "BadRequest", f"includeObject: expected None or Metadata, found {include!r}")
    return include


def _table(rows: Sequence[Listed], metadata: Object, include: str) -> bytes:
    """The Table, assembled from cells that the store has ready."""
    head = {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": metadata,
        "columnDefinitions": definitions(),
        "rows": [],
    }
    shown = ",".join(f'{{"cells":{row.cells},"object":{_beside(row, include)}}}' for row in rows)
    return f"{json.dumps(head).removesuffix(']}')}{shown}]}}".encode()


def _beside(row: Listed, include: str) -> str:
    if include == "None":
        return "null"
    # uids and names of objects need no quoting in JSON
    metadata = f'{{"name":"{row.name}","namespace":"{row.namespace}","uid":"{row.uid}"}}'
    return f'{{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{metadata}}}'


def _get(store: HistoryStore, request: ResourceRequest, query: Mapping[str, str], accept: str) -> Reply:
    job = _found(store, request)
    if _wants_table(accept):
        metadata = job["metadata"]
        row = Listed(metadata["uid"], metadata["namespace"], metadata["name"], cells_of(job))
        return Reply(200, _table([row], _list_metadata(""), _include(query)))
    return Reply(200, _as_ours(job))


def _delete(store: HistoryStore, request: ResourceRequest, query: Mapping[str, str], body: bytes) -> Reply:
    try:
        options = json.loads(body) if body.strip() else {}
        uid = (options.get("preconditions") or {}).get("uid")
        is_dry = bool(options.get("dryRun") or query.get("dryRun"))
    except (ValueError, AttributeError):
        raise InvalidError(400, "BadRequest", "the body of a DELETE must be DeleteOptions as JSON") from None
    found = _found(store, request)["metadata"]["uid"]
    if uid not in (None, found):
        message = f"the UID in the precondition ({uid}) does not match the UID in record ({found})"
        raise ConflictError(409, "Conflict", message)
    if not is_dry:
        store.remove(request.namespace or "", request.name)
    details = _about(request) | {"uid": found}
    return Reply(200, {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details})


def _found(store: HistoryStore, request: ResourceRequest) -> Object:
    found = store.get(request.namespace or "", request.name)
    if found is None:
        raise NotFoundError(404, "NotFound", f'{PLURAL}.{GROUP} "{request.name}" not found', _about(request))
    return found


def _about(request: ResourceRequest) -> dict[str, object]:
    return {"name": request.name, "group": GROUP, "kind": PLURAL}


def _as_ours(job: Object) -> Object:
    return job | {"apiVersion": _GROUP_VERSION, "kind": ENDED_JOBS.kind}


def _limit(text: str) -> int:
    if not text:
        return _MOST
    if not (text.isascii() and text.isdigit()):
        raise InvalidError(400, "BadRequest", f"limit: expected a number, found {text!r}")
    return min(int(text) or _MOST, _MOST)


def _wants_table(accept: str) -> bool:
    """Whether a Table is the first requested form that we support."""
    for entry in accept.split(","):
        media, *words = (word.strip() for word in entry.split(";"))
        if media in {"application/json", "application/*", "*/*"}:
            shapes = [word.partition("=")[2] for word in words if word.startswith("as=")]
            if not shapes or shapes == ["Table"]:
                return bool(shapes)
    return False


def status_of(error: ApiError) -> Object:
    """The Status object of an error."""
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": error.message,
        "reason": error.reason,
        "details": error.details,
        "code": error.code,
    }


def forbidden(user: str, request: ResourceRequest, reason: str) -> ForbiddenError:
    """With the text of Kubernetes."""
    where = "at the cluster scope" if request.namespace is None else f'in the namespace "{request.namespace}"'
    about = f'{PLURAL}.{GROUP} "{request.name}"' if request.name else f"{PLURAL}.{GROUP}"
    message = (
        f'{about} is forbidden: User "{user}" cannot {request.verb} resource "{PLURAL}" in API group "{GROUP}" {where}'
    )
    return ForbiddenError(403, "Forbidden", f"{message}: {reason}" if reason else message, _about(request))


def _unknown() -> NotFoundError:
    return NotFoundError(404, "NotFound", "the server could not find the requested resource")


def _not_allowed() -> ApiError:
    return ApiError(405, "MethodNotAllowed", "the server does not allow this method on the requested resource")


# Discovery


def discovery(path: str, accept: str) -> Reply:
    """The reply for paths for which `requested_resource` returns None."""
    match [part for part in path.split("/") if part]:
        case ["apis"]:
            if "as=APIGroupDiscoveryList" in accept and "v=v2" in accept.replace("v=v2beta1", ""):
                kind = {"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}}
                return Reply(200, kind | {"items": [aggregated_group()]}, _AGGREGATED)
            return Reply(200, {"kind": "APIGroupList", "apiVersion": "v1", "groups": [group()]})
        case ["apis", _]:
            return Reply(200, {"kind": "APIGroup", "apiVersion": "v1", **group()})
        case _:
            return Reply(200, resource_list())


def group() -> Object:
    version = {"groupVersion": _GROUP_VERSION, "version": VERSION}
    return {"name": GROUP, "versions": [version], "preferredVersion": version}


def resource_list() -> Object:
    """For `kubectl get batchjobs.history.hpcbatch.io`; plain `batchjobs` is hpcbatch.io's, whose group comes first."""
    entry = {
        "name": PLURAL,
        "singularName": "batchjob",
        "namespaced": True,
        "kind": ENDED_JOBS.kind,
        "verbs": list(_VERBS),
        "shortNames": ["endedjobs"],
    }
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": _GROUP_VERSION, "resources": [entry]}


def aggregated_group() -> Object:
    """The same as APIGroupDiscovery."""
    entry = {
        "resource": PLURAL,
        "responseKind": {"group": GROUP, "version": VERSION, "kind": ENDED_JOBS.kind},
        "scope": "Namespaced",
        "singularResource": "batchjob",
        "verbs": list(_VERBS),
        "shortNames": ["endedjobs"],
    }
    return {
        "metadata": {"name": GROUP},
        "versions": [{"version": VERSION, "freshness": "Current", "resources": [entry]}],
    }
