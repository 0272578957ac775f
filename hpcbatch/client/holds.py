"""Holds of users and of operators, on whole jobs and on individual members of arrays."""

from __future__ import annotations

from collections.abc import Mapping

from hpcbatch.api.port import Api, Object
from hpcbatch.client.changes import change_spec, check_unfinished
from hpcbatch.client.rights import check_may_change_all
from hpcbatch.model.indices import Indices
from hpcbatch.model.row import JobRow
from hpcbatch.typed import Any

_THESE = "sets and takes off these holds"


def hold(api: Api, row: JobRow, members: Indices | None = None, *, user: bool = True, admin: str = "") -> Object | None:
    """Keep a job, or members of an array, from starting: the user's hold, and in `admin` the letters `o` (operator) and
    `s` (system), which need the right to change all jobs (ForbiddenError) and apply to whole jobs only. None if nothing
    changed. Raises JobFinishedError if it has ended.
    """
    if members is not None:
        from hpcbatch.client.arrays import check_left, indices_in, request_of_members

        check_left(row, members)
        return request_of_members(api, row, lambda request, _: {"held": str(indices_in(request, "held") | members)})
    if admin:
        check_may_change_all(api, _THESE)

    check_unfinished(row)

    def change(obj: Object) -> Object:
        held: Object = {"adminHolds": "".join(sorted({*obj["spec"].get("adminHolds", ""), *admin}))} if admin else {}
        return held | ({"hold": True} if user else {})

    return change_spec(api, row, change)


def release(
    api: Api, row: JobRow, members: Indices | None = None, *, user: bool = True, admin: str = ""
) -> Object | None:
    """Remove holds in the same way. Releasing an array's user hold releases its individual members too; members can be
    released even if the whole array is held: the others stay held.
    """
    if members is not None:
        return _release_members(api, row, members)
    if admin:
        check_may_change_all(api, _THESE)

    check_unfinished(row)

    def change(obj: Object) -> Object:
        from hpcbatch.client.arrays import held_members

        left = "".join(sorted(set(obj["spec"].get("adminHolds", "")) - set(admin)))
        changed: Object = {"adminHolds": left or None} if admin else {}
        if user:
            changed["hold"] = False
            if held_members(obj):
                changed["arrayRequest"] = {"held": ""}
        return changed

    return change_spec(api, row, change)


def _release_members(api: Api, array: JobRow, members: Indices) -> Object:
    from hpcbatch.client.arrays import check_left, indices_in, request_of_members
    from hpcbatch.model.members import unended

    check_left(array, members)

    def change(request: Mapping[str, Any], spec: Mapping[str, Any]) -> dict[str, Any]:
        held = unended(array) if spec.get("hold") else indices_in(request, "held")
        return {"held": str(held - members)}

    return request_of_members(api, array, change, {"hold": False})
