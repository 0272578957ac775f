"""The Reservation (custom resource): JSON both ways, and its definition, which `make crd` writes to deploy/crd."""

from __future__ import annotations

from collections.abc import Mapping

from hpcbatch.errors import HpcBatchError
from hpcbatch.model.labels import MANAGED_BY
from hpcbatch.model.reservation import Phase, ReservationSpec, ReservationStatus, Reserved
from hpcbatch.model.stored import Json, attributes_from_json, stored_fields, struct_schema, struct_to_json
from hpcbatch.record import GROUP, VERSION
from hpcbatch.record.rows import UNREADABLE
from hpcbatch.typed import Any, Final, NamedTuple

KIND: Final = "Reservation"
_COLUMNS = (("Id", ".status.id"), ("Phase", ".status.phase"), ("Start", ".status.start"), ("End", ".status.end"))


class ReservationRecord(NamedTuple):
    """A Reservation, whole."""

    namespace: str
    object_name: str
    generation: int
    created: str
    spec: ReservationSpec
    status: ReservationStatus

    @property
    def is_gone(self) -> bool:
        """Whether it is none any more, or never was one: it is not shown."""
        return bool(self.spec.removed_by) or self.status.phase in {Phase.DENIED, Phase.OVER}

    @property
    def reserved(self) -> Reserved | None:
        """What is in force of it."""
        found = self.status
        if self.is_gone or found.granted is None or found.start is None or found.end is None:
            return None
        return Reserved(
            id=found.id,
            spec=found.granted,
            owner=found.owner,
            nodes=found.nodes,
            start=found.start,
            end=found.end,
        )


def reservation_from(obj: Mapping[str, Any]) -> ReservationRecord:
    """Raises HpcBatchError for one that cannot be read."""
    metadata = obj["metadata"]
    try:
        return ReservationRecord(
            metadata["namespace"],
            metadata["name"],
            int(metadata.get("generation", 1)),
            str(metadata.get("creationTimestamp", "")),
            ReservationSpec(**attributes_from_json(obj["spec"], stored_fields(ReservationSpec))),
            ReservationStatus(**attributes_from_json(obj.get("status") or {}, stored_fields(ReservationStatus))),
        )
    except UNREADABLE as error:
        raise HpcBatchError(f"not a reservation: {error}") from None


def reservation_manifest(spec: ReservationSpec, name: str) -> Json:
    return {
        "apiVersion": f"{GROUP}/{VERSION}",
        "kind": KIND,
        "metadata": {"name": name, "labels": dict(MANAGED_BY)},
        "spec": struct_to_json(spec, stored_fields(ReservationSpec)),
    }


def spec_to_json(spec: ReservationSpec) -> Json:
    return struct_to_json(spec, stored_fields(ReservationSpec))


def status_to_json(status: ReservationStatus) -> Json:
    return struct_to_json(status, stored_fields(ReservationStatus))


def definition() -> Json:
    schema = {
        "description": "Nodes kept for some people for some time, once or again and again.",
        "type": "object",
        "required": ["spec"],
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object"},
            "spec": struct_schema(stored_fields(ReservationSpec)),
            "status": struct_schema(stored_fields(ReservationStatus)),
        },
    }
    columns = [{"name": name, "type": "string", "jsonPath": path} for name, path in _COLUMNS]
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"reservations.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {
                "kind": KIND,
                "listKind": f"{KIND}List",
                "plural": "reservations",
                "singular": "reservation",
                "shortNames": ["resv"],
                "categories": ["hpc"],
            },
            "versions": [
                {
                    "name": VERSION,
                    "served": True,
                    "storage": True,
                    "subresources": {"status": {}},
                    "additionalPrinterColumns": columns,
                    "schema": {"openAPIV3Schema": schema},
                }
            ],
        },
    }
