"""The verbs on resources: from a request's values to the value of its answer. No sockets here."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from hpcbatch.api.port import Object
from hpcbatch.api.resources import Resource
from hpcbatch.engine.registry import patches, statuses
from hpcbatch.engine.registry.apply import apply_object
from hpcbatch.engine.registry.core_fields import read_typed
from hpcbatch.engine.registry.kinds import Kind
from hpcbatch.engine.registry.registry import Registry
from hpcbatch.engine.registry.selectors import Predicate, selector
from hpcbatch.engine.registry.values import as_dict
from hpcbatch.engine.registry.writes import WriteOptions
from hpcbatch.engine.server import pages
from hpcbatch.engine.server.bodies import Body, read_body, unsupported
from hpcbatch.engine.server.request import (
    Accepted,
    ResourcePath,
    WatchOptions,
    check_list,
    flag,
    integer,
    revision,
    watch_options,
    write_options,
)
from hpcbatch.engine.server.tables import include_policy, partial, table
from hpcbatch.errors import ApiError, ForbiddenError, GoneError

_CORE_PATCHES = (patches.JSON_PATCH, patches.MERGE_PATCH, patches.STRATEGIC_PATCH, patches.APPLY_PATCH)
_CUSTOM_PATCHES = (patches.JSON_PATCH, patches.MERGE_PATCH, patches.APPLY_PATCH)


@dataclass(frozen=True, slots=True)
class Request:
    method: str
    path: ResourcePath
    query: Mapping[str, str]
    accepted: Accepted
    content_type: str = ""
    content: bytes = b""

    @property
    def is_list(self) -> bool:
        return self.method == "GET" and not (self.path.name or self.path.subresource or "watch" in self.query)


@dataclass(frozen=True, slots=True)
class Answer:
    """A JSON value; with `text` instead, that is sent as it is."""

    value: Any = None
    code: int = 200
    warnings: list[str] = field(default_factory=list)
    text: str | None = None


@dataclass(frozen=True, slots=True)
class WatchAnswer:
    """A stream of events; `render` makes the JSON value of one object."""

    kind: Kind
    namespace: str | None
    matches: Predicate | None
    options: WatchOptions
    render: Callable[[Object, bool], Any]
    """(object, whether it is the stream's first)."""
    bookmark: Callable[[str, bool], Any]
    """(revision, whether it ends the initial events)."""


@dataclass(frozen=True, slots=True)
class LogAnswer:
    """What a container wrote; the server finds and streams it."""

    pod: Object
    query: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class StreamAnswer:
    """A connection to a container of the pod; the server makes it."""

    verb: str
    pod: Object
    query: Mapping[str, str]


class Verbs:
    def __init__(self, registry: Registry, now: Callable[[], datetime]) -> None:
        self._registry, self._now = registry, now

    def handle(self, request: Request) -> Answer | WatchAnswer | LogAnswer | StreamAnswer:
        """Raises ApiError."""
        path = request.path
        kind = self._registry.find_kind(path.group, path.version, path.plural)
        if kind.resource.namespaced and path.namespace is None and (path.name or request.method == "POST"):
            if path.name:
                raise statuses.no_such_resource()
            raise statuses.method_not_allowed()
        if path.namespace is not None and not kind.resource.namespaced:
            raise statuses.no_such_resource()
        resource = Resource(
            path.group, path.version, path.plural, kind.resource.kind, namespaced=kind.resource.namespaced
        )
        # before anything is written: an answer that cannot be given must not be one to a request that was carried out
        include = include_policy(request.query.get("includeObject", "")) if request.accepted.form == "table" else ""
        call = _Call(self._registry, kind, resource, request, self._now(), include)
        if path.subresource:
            return call.on_subresource()
        return call.on_object() if path.name else call.on_collection()


@dataclass(frozen=True, slots=True)
class _Call:
    registry: Registry
    kind: Kind
    resource: Resource
    request: Request
    now: datetime
    include: str
    """What rows of a table hold of their objects."""

    # --- which verb ---

    def on_collection(self) -> Answer | WatchAnswer:
        match self.request.method:
            case "GET":
                return self._watch() if flag(self.request.query, "watch") else self._list()
            case "POST":
                return self._create()
            case "DELETE":
                return self._delete_collection()
        raise statuses.method_not_allowed()

    def on_object(self) -> Answer | WatchAnswer:
        match self.request.method:
            case "GET":
                return self._answer(self.registry.read(self.kind, self._name, self._space))
            case "PUT":
                return self._replace("")
            case "PATCH":
                return self._patch("")
            case "DELETE":
                return self._delete()
        raise statuses.method_not_allowed()

    def on_subresource(self) -> Answer | LogAnswer | StreamAnswer:
        name, method = self.request.path.subresource, self.request.method
        known = next((sub for sub in self.kind.subresources if sub.name == name), None)
        if known is None:
            if self.kind.key == ("", "pods") and name == "ephemeralcontainers":
                raise ApiError(501, "NotImplemented", f"pods/{name} is not supported by the embedded engine")
            raise statuses.not_found(self.kind, self._name)
        match name, method:
            case "status" | "resize", "GET":
                return self._answer(self.registry.read(self.kind, self._name, self._space))
            case "status" | "resize", "PUT":
                return self._replace(name)
            case "status" | "resize", "PATCH":
                return self._patch(name)
            case "log", "GET":
                return LogAnswer(self.registry.read(self.kind, self._name, self._space), self.request.query)
            case "exec" | "attach" | "portforward", "GET" | "POST":
                return StreamAnswer(name, self.registry.read(self.kind, self._name, self._space), self.request.query)
            case "binding", "POST":
                return self._bind()
            case "eviction", "POST":
                return self._evict()
        raise statuses.method_not_allowed()

    # --- answers ---

    @property
    def _name(self) -> str:
        return self.request.path.name

    @property
    def _space(self) -> str:
        return self.request.path.namespace or ""

    def _answer(self, obj: Object, code: int = 200, options: WriteOptions | None = None) -> Answer:
        warnings = options.warnings if options else []
        obj = self.registry.present(obj, self.resource)
        match self.request.accepted.form:
            case "table":
                meta = {"resourceVersion": obj["metadata"].get("resourceVersion", "")}
                value = table(self.kind, [obj], self.now, metadata=meta, include=self.include)
                value["apiVersion"] = f"meta.k8s.io/{self.request.accepted.table_version}"
                return Answer(value, code, warnings)
            case "partial":
                return Answer(partial(obj), code, warnings)
        return Answer(obj, code, warnings)

    def _list_answer(self, items: list[Object], meta: Mapping[str, Any]) -> Answer:
        items = [self.registry.present(item, self.resource) for item in items]
        form = self.request.accepted.form
        if form == "table":
            value = table(self.kind, items, self.now, metadata=meta, include=self.include)
            value["apiVersion"] = f"meta.k8s.io/{self.request.accepted.table_version}"
            return Answer(value)
        if form == "partial":
            return Answer(
                {
                    "kind": "PartialObjectMetadataList",
                    "apiVersion": "meta.k8s.io/v1",
                    "metadata": meta,
                    "items": [partial(item) for item in items],
                }
            )
        if not self.kind.custom:  # items of core kinds come without kind and apiVersion
            items = [{key: value for key, value in item.items() if key not in {"kind", "apiVersion"}} for item in items]
        return Answer(
            {
                "kind": self.kind.list_kind,
                "apiVersion": self.resource.api_version,
                "metadata": meta,
                "items": items,
            }
        )

    # --- reading ---

    def _list(self) -> Answer:
        query = self.request.query
        check_list(query)
        limit = max(integer(query, "limit") or 0, 0)
        labels, fields = query.get("labelSelector", ""), query.get("fieldSelector", "")
        if query.get("resourceVersion") == "0":
            limit = 0  # as the real server's cache does
        wanted = revision(query.get("resourceVersion", ""))
        token = query.get("continue", "")
        after, at = pages.read_token(token) if token else (None, None)
        found = self.registry.select(
            self.kind, self.request.path.namespace, labels=labels, fields=fields, after=after, limit=limit
        )
        current = found.revision
        if wanted is not None and wanted > current:
            raise _future(wanted, current)
        if query.get("resourceVersionMatch") == "Exact" and wanted != current:
            raise GoneError(410, "Expired", "The resourceVersion for the provided list is too old.")
        if at is not None:
            if not self.registry.store.remembers(at):
                raise GoneError(
                    410,
                    "Expired",
                    "The provided continue parameter is too old to display a consistent list result. You can start a "
                    "new list without the continue parameter.",
                )
            current = at
        meta: dict[str, Any] = {"continue": "", "resourceVersion": str(current)}
        if found.has_more:
            meta["continue"] = pages.make_token(pages.position(found.items[-1]), current)
            if found.remaining is not None:
                meta["remainingItemCount"] = found.remaining
        return self._list_answer(found.items, meta)

    def _watch(self) -> WatchAnswer:
        query = self.request.query
        options = watch_options(query)
        matches = selector(self.kind, query.get("labelSelector", ""), query.get("fieldSelector", ""))
        form = self.request.accepted.form
        kind, resource, include = self.kind, self.resource, self.include

        def as_table(objects: list[Object], version: str, first: bool) -> Any:
            meta = {"resourceVersion": version}
            return table(kind, objects, self._clock(), metadata=meta, include=include, with_columns=first)

        def render(obj: Object, first: bool) -> Any:
            obj = self.registry.present(obj, resource)
            if form == "table":
                return as_table([obj], obj["metadata"]["resourceVersion"], first)
            return partial(obj) if form == "partial" else obj

        def bookmark(version: str, initial: bool) -> Any:
            meta: dict[str, Any] = {"resourceVersion": version}
            if not kind.custom:
                meta["creationTimestamp"] = None
            if initial:
                meta["annotations"] = {"k8s.io/initial-events-end": "true"}
            obj: Object = {"kind": resource.kind, "apiVersion": resource.api_version, "metadata": meta}
            if form == "table":
                empty = table(kind, [], self._clock(), metadata={"resourceVersion": version}, with_columns=False)
                cells = [""] * len(table(kind, [], self.now, metadata={})["columnDefinitions"])
                empty["rows"] = [{"cells": cells, "object": {**partial(obj)}}]
                return empty
            if kind.key == ("", "pods"):  # Python's client checks that a pod has containers
                obj |= {"spec": {"containers": []}, "status": {}}
            return partial(obj) if form == "partial" else obj

        namespace = self.request.path.namespace if kind.resource.namespaced else ""
        return WatchAnswer(kind, namespace, matches, options, render, bookmark)

    def _clock(self) -> datetime:
        return self.registry.now()

    # --- writing ---

    def _body(self) -> Body:
        return read_body(self.request.content, self.request.content_type, self.resource.kind)

    def _create(self) -> Answer:
        options = write_options(self.request.query, "CreateOptions")
        body = self._body()
        options.decoding_errors = body.duplicates
        obj = self.registry.create_object(self.kind, body.value, self._space, options)
        return self._answer(obj, 201, options)

    def _replace(self, subresource: str) -> Answer:
        options = write_options(self.request.query, "UpdateOptions")
        body = self._body()
        options.decoding_errors = body.duplicates
        obj = self.registry.replace_object(
            self.kind, self._name, self._space, body.value, subresource=subresource, options=options
        )
        return self._answer(obj, 200, options)

    def _patch(self, subresource: str) -> Answer:
        form = self.request.content_type
        allowed = _CUSTOM_PATCHES if self.kind.custom else _CORE_PATCHES
        if form not in allowed:
            raise unsupported(", ".join(allowed))
        options = write_options(self.request.query, "PatchOptions")
        if form == patches.APPLY_PATCH:
            # JSON is YAML too, and quicker to read
            is_json = self.request.content.lstrip()[:1] == b"{"
            body = read_body(self.request.content, "" if is_json else "application/yaml", self.resource.kind)
            options.verb, options.decoding_errors = "apply", body.duplicates
            obj, created = apply_object(
                self.registry,
                self.kind,
                self._name,
                self._space,
                body.value,
                manager=self.request.query.get("fieldManager", ""),
                force=flag(self.request.query, "force"),
                subresource=subresource,
                options=options,
            )
            return self._answer(obj, 201 if created else 200, options)
        patch = read_body(self.request.content, "", self.resource.kind)
        options.verb, options.decoding_errors = "patch", patch.duplicates
        how: Callable[[Mapping[str, Any], Any], Object] = {
            patches.JSON_PATCH: patches.json_patch,
            patches.MERGE_PATCH: patches.merge_patch,
            patches.STRATEGIC_PATCH: patches.strategic_patch,
        }[form]
        obj = self.registry.modify(
            self.kind,
            self._name,
            self._space,
            lambda old: how(old, patch.value),
            subresource=subresource,
            options=options,
        )
        return self._answer(obj, 200, options)

    # --- deleting ---

    def _delete_options(self) -> Mapping[str, Any]:
        """From the body and the query; the body counts more."""
        given: dict[str, Any] = {}
        query = self.request.query
        if "gracePeriodSeconds" in query:
            given["gracePeriodSeconds"] = integer(query, "gracePeriodSeconds")
        if query.get("propagationPolicy"):
            given["propagationPolicy"] = query["propagationPolicy"]
        if query.get("orphanDependents"):
            given["orphanDependents"] = flag(query, "orphanDependents")
        if query.get("dryRun"):
            given["dryRun"] = [query["dryRun"]]
        if self.request.content.strip():
            body = read_body(self.request.content, self.request.content_type, "DeleteOptions").value
            given |= read_typed(body if body is not None else {}, "DeleteOptions")
        return _checked_delete_options(given)

    def _delete(self) -> Answer:
        options = self._delete_options()
        dry_run = bool(options.get("dryRun"))
        obj, gone = self.registry.delete_object(
            self.kind, self._name, self._space, dry_run=dry_run, **_delete_arguments(options)
        )
        if not gone or self.kind.key == ("", "pods"):
            return self._answer(obj)
        details = {
            "name": self._name,
            "group": self.resource.group,
            "kind": self.resource.plural,
            "uid": obj["metadata"]["uid"],
        }
        return Answer(
            {
                "kind": "Status",
                "apiVersion": "v1",
                "metadata": {},
                "status": "Success",
                "details": {key: value for key, value in details.items() if value},
            }
        )

    def _delete_collection(self) -> Answer:
        query = self.request.query
        options = self._delete_options()
        arguments = _delete_arguments({**options, "preconditions": None})
        found = self.registry.select(
            self.kind,
            self.request.path.namespace,
            labels=query.get("labelSelector", ""),
            fields=query.get("fieldSelector", ""),
            limit=max(integer(query, "limit") or 0, 0),
        )
        deleted: list[Object] = []
        for item in found.items:
            meta = item["metadata"]
            try:
                obj, _ = self.registry.delete_object(
                    self.kind, meta["name"], meta.get("namespace", ""), dry_run=bool(options.get("dryRun")), **arguments
                )
            except ForbiddenError:
                continue  # a namespace that is never deleted does not keep the others
            except ApiError as error:
                if error.code != 404:  # gone with an owner meanwhile
                    raise
                continue
            deleted.append(obj)
        return self._list_answer(deleted, {"resourceVersion": str(found.revision)})

    # --- pods ---

    def _bind(self) -> Answer:
        body = read_typed(self._body().value, "Binding")
        if as_dict(body.get("metadata")).get("name") != self._name:
            raise statuses.bad_request("name in URL does not match name in Binding object")
        node = body.get("target", {}).get("name")
        if not node:
            cause = statuses.Cause(statuses.REQUIRED, "target.name", "Required value")
            raise statuses.invalid(self.kind, self._name, [cause])
        self.registry.bind(self._space, self._name, node)
        return _success(201)

    def _evict(self) -> Answer:
        body = read_typed(self._body().value, "Eviction")
        arguments = _delete_arguments(_checked_delete_options(body.get("deleteOptions", {})))
        self.registry.evict(self._space, self._name, grace_s=arguments["grace_s"], uid=arguments["uid"])
        return _success(201)


def _success(code: int) -> Answer:
    status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": code}
    return Answer(status, code)


def _checked_delete_options(options: Mapping[str, Any]) -> Mapping[str, Any]:
    policy = options.get("propagationPolicy")
    if policy is not None and policy not in {"Background", "Foreground", "Orphan"}:
        message = f'Unsupported value: "{policy}": supported values: "Background", "Foreground", "Orphan"'
        cause = statuses.Cause(statuses.NOT_SUPPORTED, "propagationPolicy", message)
        raise statuses.invalid_options("DeleteOptions", [cause])
    if policy is not None and options.get("orphanDependents") is not None:
        message = 'Invalid value: "..": orphanDependents and deletionPropagation cannot be both set'
        cause = statuses.Cause(statuses.INVALID, "propagationPolicy", message)
        raise statuses.invalid_options("DeleteOptions", [cause])
    if options.get("dryRun") not in (None, [], ["All"]):
        message = f'Unsupported value: {json.dumps(options["dryRun"])}: supported values: "All"'
        cause = statuses.Cause(statuses.NOT_SUPPORTED, "dryRun", message)
        raise statuses.invalid_options("DeleteOptions", [cause])
    return options


def _delete_arguments(options: Mapping[str, Any]) -> dict[str, Any]:
    preconditions = options.get("preconditions") or {}
    policy: Literal["Background", "Foreground", "Orphan"] | None = options.get("propagationPolicy")
    if policy is None and options.get("orphanDependents"):
        policy = "Orphan"
    return {
        "grace_s": options.get("gracePeriodSeconds"),
        "propagation": policy,
        "uid": preconditions.get("uid"),
        "resource_version": preconditions.get("resourceVersion"),
    }


def _future(wanted: int, current: int) -> ApiError:
    details: dict[str, object] = {
        "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
        "retryAfterSeconds": 1,
    }
    message = f"Timeout: Too large resource version: {wanted}, current: {current}"
    return ApiError(504, "Timeout", message, details)
