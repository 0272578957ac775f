"""Objects with Kubernetes' rules, kind by kind: how each is read, made, changed and deleted over the store.

Everything that reads and then writes does so under the store's lock.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Callable, Mapping
from datetime import datetime
from itertools import islice
from typing import Any, NamedTuple

from hpcbatch.api.compact import compact, share_parts
from hpcbatch.api.port import Object, Propagation
from hpcbatch.api.resources import Resource
from hpcbatch.engine.registry import crds, metadata, statuses
from hpcbatch.engine.registry.collector import Collector, utc_now
from hpcbatch.engine.registry.core_fields import clean_core
from hpcbatch.engine.registry.defaults import CHECKS, DEFAULTS
from hpcbatch.engine.registry.kinds import BUILTIN, Kind, kind_of_crd
from hpcbatch.engine.registry.names import check_name, generate
from hpcbatch.engine.registry.ownership import Place
from hpcbatch.engine.registry.resizing import check_resize, resized
from hpcbatch.engine.registry.schema import CompiledSchema
from hpcbatch.engine.registry.selectors import named, selector
from hpcbatch.engine.registry.statuses import Cause
from hpcbatch.engine.registry.store import Change, Position, ResourceKey, Store, StoreEvent
from hpcbatch.engine.registry.values import check_size, is_small, same, share
from hpcbatch.engine.registry.writes import (
    Admission,
    Operation,
    WriteOptions,
    check_identity,
    count_generation,
    decode,
    namespace_of,
    report_unknown,
)
from hpcbatch.errors import ApiError
from hpcbatch.units import rfc3339

_NAME_TRIES = 8
_KEPT_NAMESPACES = frozenset({"default", "kube-system", "kube-public"})
_CRD_KEY = ("apiextensions.k8s.io", "customresourcedefinitions")
_POD_KEY = ("", "pods")
_MANY = frozenset({("hpcbatch.io", "batchjobs"), ("", "secrets")})
"""Those of which there are thousands, many of them alike."""
_NAMESPACE_KEY = ("", "namespaces")


class Selection(NamedTuple):
    """What was found of a list; `revision` is that of which it is true."""

    items: list[Object]
    revision: int
    has_more: bool
    remaining: int | None
    """How many more there are. None: no more, or, as in Kubernetes, some were left out by a selector."""


class Objects:
    """See the module. `now` is the clock that timestamps come from."""

    def __init__(self, store: Store, *, now: Callable[[], datetime] = utc_now) -> None:
        self.store = store
        self.lock = store.lock
        self.admission: dict[Resource, Admission] = defaultdict(Admission)
        self.now = now
        self._kinds: dict[ResourceKey, Kind] = {kind.key: kind for kind in BUILTIN}
        self._schemas: dict[ResourceKey, CompiledSchema] = {}
        self._generation = 0
        for crd in store.items(_CRD_KEY):
            self._serve(crd)
        store.observe(self._follow_definitions)
        store.check = _check_written
        self._collector = Collector(store, self._kinds.get, self._knows, now)

    # --- kinds ---

    def kinds(self) -> list[Kind]:
        """All kinds served, core first, custom ones in order of their names."""
        custom = [kind for kind in tuple(self._kinds.values()) if kind.custom]  # no lock: discovery waits for no write
        return [*BUILTIN, *sorted(custom, key=lambda kind: kind.key)]

    @property
    def kinds_generation(self) -> int:
        """Grows whenever the kinds change: what is made from them may be kept until then."""
        return self._generation

    def kind(self, resource: Resource) -> Kind:
        """The kind behind a resource. Raises NotFoundError."""
        return self.find_kind(resource.group, resource.version, resource.plural)

    def find_kind(self, group: str, version: str, plural: str) -> Kind:
        kind = self._kinds.get((group, plural))
        if kind is None or version not in kind.versions:
            raise statuses.no_such_resource()
        return kind

    def _knows(self, api_version: str, kind_name: str) -> bool:
        group = api_version.rpartition("/")[0]
        return any(kind.resource.kind == kind_name and kind.resource.group == group for kind in self._kinds.values())

    def _serve(self, crd: Object) -> None:
        kind = kind_of_crd(crd)
        self._kinds[kind.key] = kind
        self._schemas[kind.key] = CompiledSchema.of(kind.schema or {})
        self._generation += 1

    def _follow_definitions(self, event: StoreEvent) -> None:
        if event.key != _CRD_KEY:
            return
        if event.type != "DELETED":
            self._serve(event.object)
            return
        key = (event.object["spec"]["group"], event.object["spec"]["names"]["plural"])
        self._kinds.pop(key, None)
        self._schemas.pop(key, None)
        self._generation += 1
        self.store.end_subscriptions(key)

    # --- reading ---

    def read(self, kind: Kind, name: str, namespace: str) -> Object:
        """Raises NotFoundError."""
        obj = self.store.get(kind.key, namespace if kind.resource.namespaced else "", name)
        if obj is None:
            raise statuses.not_found(kind, name)
        return obj

    def select(
        self,
        kind: Kind,
        namespace: str | None,
        *,
        labels: str = "",
        fields: str = "",
        after: Position | None = None,
        limit: int = 0,
    ) -> Selection:
        """The objects that match, sorted by namespace and name: those after a position, and of them at most `limit`;
        0: all.
        """
        matches = selector(kind, labels, fields)
        if not kind.resource.namespaced:
            namespace = ""
        name = named(fields) if fields else ""
        with self.lock:
            revision = self.store.revision
            if name and namespace is not None:
                obj = self.store.get(kind.key, namespace, name)
                objects = iter([obj] if obj is not None and (after is None or after < (namespace, name)) else [])
                number = 1
            else:
                number, objects = self.store.after(kind.key, namespace, after)
        found = filter(matches, objects) if matches else objects
        items = list(islice(found, limit or None))
        has_more = bool(limit) and next(found, None) is not None
        return Selection(items, revision, has_more, number - len(items) if has_more and matches is None else None)

    @staticmethod
    def present(obj: Object, resource: Resource) -> Object:
        """The object in the version requested; versions differ in nothing else."""
        if obj.get("apiVersion") == resource.api_version:
            return obj
        return {**obj, "apiVersion": resource.api_version}

    # --- writing ---

    def create_object(
        self, kind: Kind, given: Mapping[str, Any], namespace: str, options: WriteOptions | None = None
    ) -> Object:
        options = options or WriteOptions()
        unknown: list[str] = []
        obj = decode(kind, given)
        meta = metadata.read(kind, obj, unknown)
        if meta.get("resourceVersion"):
            raise ApiError(500, "", "resourceVersion should not be set on objects to be created")
        space = namespace_of(kind, meta, namespace)
        generated = not meta.get("name") and bool(meta.get("generateName"))
        fresh = metadata.for_create(
            meta, namespace=space, uid=str(uuid.uuid4()), now=rfc3339(self.now()), generation=kind.has_generation
        )
        if options.managed_fields:
            fresh["managedFields"] = options.managed_fields
        obj["metadata"] = fresh
        if kind.has_status and (kind.custom or kind.key == _POD_KEY):
            obj.pop("status", None)
        if generated:
            fresh["name"] = generate(meta["generateName"])
        obj = self._clean(kind, obj, unknown, options)
        if kind.key != _POD_KEY:  # of which few wait, and none stays for long
            obj = compact(obj)
        with self.lock:
            self._require_namespace(kind, space, fresh.get("name", ""))
            obj = self._admit(kind, "CREATE", obj, None)
            self._check(kind, obj, None, "")
            for _ in range(_NAME_TRIES if generated else 1):
                name = obj["metadata"]["name"]
                if self.store.get(kind.key, space, name) is None:
                    break
                if generated:
                    obj["metadata"]["name"] = generate(meta["generateName"])
            else:
                raise statuses.already_exists(kind, name)
            if options.dry_run:
                return obj
            stored = self._put(kind, space, name, obj)
            self._created(kind, name)
            if "ownerReferences" in stored["metadata"]:
                self._collector.check_owners(Place(kind.key, space, name))
            return stored

    def create_complete(self, kind: Kind, obj: Object, namespace: str) -> Object:
        """Store a new object that the engine has made itself: it is complete, and nobody else has a say in it."""
        with self.lock:
            self._require_namespace(kind, namespace, obj["metadata"]["name"])
            if self.store.get(kind.key, namespace, obj["metadata"]["name"]) is not None:
                raise statuses.already_exists(kind, obj["metadata"]["name"])
            return self._put(kind, namespace, obj["metadata"]["name"], obj)

    def put_complete_status(
        self, kind: Kind, name: str, namespace: str, change: Callable[[Object], Object | None]
    ) -> Object:
        """Store the status that `change` makes of the present object, and that the engine has made itself: it is
        complete. None leaves the object as it is. `change` runs under the lock and may share parts of the object.
        """
        with self.lock:
            old = self.read(kind, name, namespace)
            status = change(old)
            if status is None:
                return old
            obj = {**old, "status": status}
            share(obj, old)
            if same(obj, old):
                return old
            count_generation(kind, obj, old)
            return self._settle(kind, namespace, name, obj, old)

    def replace_object(
        self,
        kind: Kind,
        name: str,
        namespace: str,
        given: Mapping[str, Any],
        *,
        subresource: str = "",
        options: WriteOptions | None = None,
    ) -> Object:
        def change(_old: Object) -> Mapping[str, Any]:
            meta = given.get("metadata") if isinstance(given, Mapping) else None
            if kind.custom and isinstance(meta, Mapping) and not meta.get("resourceVersion"):
                message = "Invalid value: 0: must be specified for an update"
                cause = Cause(statuses.INVALID, "metadata.resourceVersion", message)
                raise statuses.invalid(kind, name, [cause])
            return given

        return self.modify(kind, name, namespace, change, subresource=subresource, options=options)

    def modify(
        self,
        kind: Kind,
        name: str,
        namespace: str,
        change: Callable[[Object], Mapping[str, Any]],
        *,
        subresource: str = "",
        options: WriteOptions | None = None,
    ) -> Object:
        """Write what `change` makes of the present object; it runs under the lock and may share parts of it."""
        options = options or WriteOptions()
        is_resize = subresource == "resize" and kind.key == _POD_KEY
        if subresource and not (subresource == "status" and kind.has_status) and not is_resize:
            raise statuses.not_found(kind, name)
        space = namespace if kind.resource.namespaced else ""
        with self.lock:
            old = self.read(kind, name, space)
            unknown: list[str] = []
            obj = decode(kind, change(old))
            meta = metadata.read(kind, obj, unknown)
            check_identity(kind, old, meta)
            if subresource == "status":
                obj = {**old, "status": obj.get("status") or {}}
            elif is_resize:
                obj = resized(obj, old)
            else:
                obj["metadata"] = metadata.for_update(meta, old["metadata"])
                if kind.has_status:
                    obj.pop("status", None)
                    if "status" in old:
                        obj["status"] = old["status"]
            obj = self._clean(kind, obj, unknown, options, old)
            share(obj, old)
            if not subresource:
                obj = self._admit(kind, "UPDATE", obj, old)
                share(obj, old)
            self._check(kind, obj, old, subresource)
            count_generation(kind, obj, old)
            if same(obj, old):
                return old
            if options.dry_run:
                return obj
            return self._settle(kind, space, name, obj, old)

    def _settle(self, kind: Kind, space: str, name: str, obj: Object, old: Object) -> Object:
        """Store a changed object, or let it go if that was all that its deletion waited for."""
        place = Place(kind.key, space, name)
        meta = obj["metadata"]
        if not meta.get("deletionTimestamp"):
            stored = self._put(kind, space, name, obj, old)
            # an owner that goes takes along those that name it
            if "ownerReferences" in meta and meta["ownerReferences"] is not old["metadata"].get("ownerReferences"):
                self._collector.check_owners(place)
            return stored
        held = meta.get("finalizers") or meta.get("deletionGracePeriodSeconds")
        if held or kind.key in {_NAMESPACE_KEY, _CRD_KEY}:
            stored = self._put(kind, space, name, obj)
            self._collector.settle(place)
            return stored
        return self._collector.removed(place, obj)

    def delete_object(
        self,
        kind: Kind,
        name: str,
        namespace: str,
        *,
        grace_s: int | None = None,
        propagation: Propagation | None = None,
        uid: str | None = None,
        resource_version: str | None = None,
        dry_run: bool = False,
    ) -> tuple[Object, bool]:
        """Delete one object: (its last or present state, whether it is gone)."""
        space = namespace if kind.resource.namespaced else ""
        with self.lock:
            old = self.read(kind, name, space)
            meta = old["metadata"]
            if uid and uid != meta["uid"]:
                raise statuses.precondition(kind, name, "UID", uid, meta["uid"])
            if resource_version and resource_version != meta["resourceVersion"]:
                raise statuses.precondition(kind, name, "ResourceVersion", resource_version, meta["resourceVersion"])
            if kind.key == _NAMESPACE_KEY and name in _KEPT_NAMESPACES:
                raise statuses.forbidden(kind, name, "this namespace may not be deleted")
            for validate in self._admission(kind).validators:
                validate("DELETE", old, old)
            if dry_run:
                return old, True
            return self._collector.delete(Place(kind.key, space, name), grace_s=grace_s, propagation=propagation)

    def _created(self, kind: Kind, name: str) -> None:
        """Called under the lock when a new object is stored."""

    def _put(self, kind: Kind, space: str, name: str, obj: Object, old: Object | None = None) -> Object:
        if kind.key in _MANY:
            for field, value in obj.items():
                before = None if old is None else old.get(field)
                if type(value) is dict and before is not value:
                    share_parts(value, before if type(before) is dict else {})
        return self.store.write([Change(kind.key, space, name, obj)])[0]

    # --- the steps of a write ---

    def _clean(
        self, kind: Kind, obj: Object, unknown: list[str], options: WriteOptions, old: Object | None = None
    ) -> Object:
        """The object with known fields only and with defaults; parts that `old` has as well stay shared with it."""
        schema = self._schemas.get(kind.key)
        if schema is not None:
            fields = {key: value for key, value in obj.items() if old is None or old.get(key) is not value}
            if not schema.is_tidy(fields):
                pruned, more = schema.prune(fields)
                unknown.extend(more)
                kept = {key: value for key, value in obj.items() if key not in fields}
                obj = schema.default({**kept, **pruned}, done=kept)
        else:
            obj, more = clean_core(kind, obj, old)
            unknown.extend(more)
            if kind.key == _CRD_KEY:
                crds.fill_in(obj, old, rfc3339(self.now()))
                if any(crds.unevaluated_rules(version.get("schema")) for version in obj["spec"].get("versions") or ()):
                    options.warnings.append("x-kubernetes-validations are not evaluated by this server")
            fill = DEFAULTS.get(kind.key)
            if fill is not None:
                fill(obj)
        report_unknown(kind, obj, unknown, options)
        return obj

    def _admission(self, kind: Kind) -> Admission:
        return self.admission.get(kind.resource) or Admission()

    def _admit(self, kind: Kind, operation: Operation, obj: Object, old: Object | None) -> Object:
        """Mutating admission, and the schema's defaults for what it added."""
        admission = self._admission(kind)
        if not admission.mutators:
            return obj
        for mutate in admission.mutators:
            obj = mutate(operation, obj, old)
        schema = self._schemas.get(kind.key)
        return obj if schema is None or schema.is_tidy(obj) else schema.default(schema.prune(obj)[0])

    def _check(self, kind: Kind, obj: Object, old: Object | None, subresource: str) -> None:
        """Names, schema and rules, then validating admission. Raises the ApiError that names all faults."""
        meta = obj["metadata"]
        causes = check_name(kind.key, meta.get("name", "")) if old is None else []
        causes += metadata.check(meta, old["metadata"] if old is not None else None)
        schema = self._schemas.get(kind.key)
        if schema is not None:
            causes += schema.check(obj, old)
        elif kind.key == _CRD_KEY:
            causes += crds.check(obj)
        elif subresource == "resize" and old is not None:
            causes += CHECKS[kind.key](obj, None) + check_resize(obj, old)
        elif kind.key in CHECKS:
            causes += CHECKS[kind.key](obj, old)
        if causes:
            raise statuses.invalid(kind, meta.get("name", ""), causes)
        if old is None and kind.key == _POD_KEY:
            self._admit_pod(kind, obj)
        if not subresource:
            for validate in self._admission(kind).validators:
                validate("CREATE" if old is None else "UPDATE", obj, old)

    def _admit_pod(self, kind: Kind, pod: Object) -> None:
        """What the real server's own admission does for pods: service account and priority."""
        spec, meta = pod["spec"], pod["metadata"]
        account, namespace = spec["serviceAccountName"], meta["namespace"]
        # `default` is always there on a real cluster: it is made anew when somebody deletes it
        if account != "default" and self.store.get(("", "serviceaccounts"), namespace, account) is None:
            why = f'error looking up service account {namespace}/{account}: serviceaccount "{account}" not found'
            raise statuses.forbidden(kind, meta.get("name", ""), why)
        name = spec.get("priorityClassName")
        if name:
            found = self.store.get(("scheduling.k8s.io", "priorityclasses"), "", name)
            if found is None:
                raise statuses.forbidden(kind, meta.get("name", ""), f"no PriorityClass with name {name} was found")
            spec["priority"] = found["value"]
            spec["preemptionPolicy"] = found["preemptionPolicy"]

    def _require_namespace(self, kind: Kind, namespace: str, name: str) -> None:
        if not kind.resource.namespaced:
            return
        found = self.store.get(_NAMESPACE_KEY, "", namespace)
        if found is None:
            raise statuses.not_found(self._kinds[_NAMESPACE_KEY], namespace)
        if found["metadata"].get("deletionTimestamp"):
            why = f"unable to create new content in namespace {namespace} because it is being terminated"
            cause = Cause("NamespaceTerminating", "metadata.namespace", f"namespace {namespace} is being terminated")
            raise statuses.forbidden(kind, name, why, [cause])


def _check_written(obj: Object, text: str) -> None:
    """What has grown too large can still be deleted."""
    if not is_small(text) and not obj["metadata"].get("deletionTimestamp"):
        check_size(obj)
