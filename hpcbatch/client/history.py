"""Ended jobs that have moved: the requests of `hpcbatch.client.listing` to the history, if the site has one.

Shows what the caller may see: all namespaces, or if that is forbidden, only his own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from weakref import WeakKeyDictionary

from hpcbatch.api.history import (
    ENDED_JOBS,
    FORM_PARAMETER,
    PACKED_FORM,
    PACKED_KIND,
    USAGE_FORM,
    USAGE_KIND,
    as_batchjob,
    unpacked,
)
from hpcbatch.errors import ForbiddenError, HpcBatchError, NotFoundError
from hpcbatch.model.text import printable_tree
from hpcbatch.record.rows import rows_from_table
from hpcbatch.typed import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from hpcbatch.api.client import Table, TableApi
    from hpcbatch.api.port import Api, Object
    from hpcbatch.model.row import JobRow

_T = TypeVar("_T")
_PAGE = "2000"
_ABSENT, _OWN_ONLY = "absent", "own"
_KNOWN: WeakKeyDictionary[Api, str] = WeakKeyDictionary()
"""Which APIs of this process have no history, or allow only one's own namespace: saves repeated requests."""


def rows(api: TableApi, namespace: str, fields: str) -> list[JobRow]:
    """As `listing.list_rows`."""
    nothing: Table = ([], [])
    columns, found = _request(api, namespace, nothing, lambda where: api.table(ENDED_JOBS, where, fields=fields))
    return rows_from_table(columns, found)


def objects(api: TableApi, namespace: str, fields: str) -> Iterator[Object]:
    """The BatchJobs as they were when they moved, in the order of their ends; never all of them in memory at once."""
    query = {"fieldSelector": fields, FORM_PARAMETER: PACKED_FORM, "limit": _PAGE}
    nothing: tuple[Object, str | None] = ({}, None)
    page, where = _request(
        api, namespace, nothing, lambda where: (api.list_with(ENDED_JOBS, where, query=query), where)
    )
    while page:
        if page.get("kind") == PACKED_KIND:
            yield from map(unpacked, page["jobs"])
        else:  # an older hpcbatch, which does not pack
            yield from map(as_batchjob, page.get("items") or ())
        more = (page.get("metadata") or {}).get("continue")
        page = api.list_with(ENDED_JOBS, where, query=query | {"continue": more}) if more else {}


def count(api: TableApi, namespace: str) -> int:
    """The number of moved jobs."""
    return _request(api, namespace, 0, lambda where: api.count(ENDED_JOBS, where))


def usage(api: TableApi, namespace: str, fields: str) -> list[list[Any]]:
    """The usage of the jobs for reports, one row per job (`history.store.Usage`)."""
    query = {"fieldSelector": fields, FORM_PARAMETER: USAGE_FORM}
    nothing: list[list[Any]] = []
    return _request(api, namespace, nothing, lambda where: _rows(api.list_with(ENDED_JOBS, where, query=query)))


def _rows(table: Object) -> list[list[Any]]:
    if table.get("kind") != USAGE_KIND:
        raise HpcBatchError("the cluster's hpcbatch is older than this one: it cannot tell what jobs have used")
    rows: list[list[Any]] = printable_tree(table["rows"])
    return rows


def get(api: Api, name: str, namespace: str) -> Object | None:
    """The BatchJob of that name."""
    if _KNOWN.get(api) == _ABSENT:
        return None
    try:
        return as_batchjob(api.get(ENDED_JOBS, name, namespace))
    except (NotFoundError, ForbiddenError):
        return None


def remove(api: Api, name: str, namespace: str) -> bool:
    """Delete the job; False if it did not exist."""
    if _KNOWN.get(api) == _ABSENT:
        return False
    try:
        api.delete(ENDED_JOBS, name, namespace)
    except NotFoundError:
        return False
    return True


def _request(api: Api, namespace: str, nothing: _T, call: Callable[[str | None], _T]) -> _T:
    known = _KNOWN.get(api)
    if known == _ABSENT:
        return nothing
    try:
        if known != _OWN_ONLY:
            try:
                return call(None)
            except ForbiddenError:
                _KNOWN[api] = _OWN_ONLY
        return call(namespace)
    except (NotFoundError, ForbiddenError):  # Kubernetes also replies Forbidden for an unknown path
        _KNOWN[api] = _ABSENT
        return nothing
