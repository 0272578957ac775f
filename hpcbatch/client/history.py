"""Jobs that have ended and moved: what `hpcbatch.client.listing` asks of the history, where the site has one.

Shows what the caller may see: all namespaces, or where that is forbidden, one's own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar
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
from hpcbatch.record.rows import row_from_cells

if TYPE_CHECKING:
    from hpcbatch.api.client import Table, TableApi
    from hpcbatch.api.port import Api, Object
    from hpcbatch.model.row import JobRow

_T = TypeVar("_T")
_PAGE = "2000"
_ABSENT, _OWN_ONLY = "absent", "own"
_KNOWN: WeakKeyDictionary[Api, str] = WeakKeyDictionary()
"""What an API said in this process, so that it is not asked again: it has no history, or shows one's own only."""


def rows(api: TableApi, namespace: str, fields: str) -> list[JobRow]:
    """As `listing.list_rows`."""
    nothing: Table = ([], [])
    columns, found = _ask(api, namespace, nothing, lambda where: api.table(ENDED_JOBS, where, fields=fields))
    places = {name: index for index, name in enumerate(columns)}
    read = (row_from_cells(places, row.cells, row.namespace, row.name) for row in found)
    return [row for row in read if row is not None]


def objects(api: TableApi, namespace: str, fields: str) -> Iterator[Object]:
    """The BatchJobs as they were when they moved, in the order of their ends; never all of them in memory at once."""
    query = {"fieldSelector": fields, FORM_PARAMETER: PACKED_FORM, "limit": _PAGE}
    nothing: tuple[Object, str | None] = ({}, None)
    page, where = _ask(api, namespace, nothing, lambda where: (api.ask(ENDED_JOBS, where, query=query), where))
    while page:
        if page.get("kind") == PACKED_KIND:
            yield from map(unpacked, page["jobs"])
        else:  # a hpcbatch that does not pack
            yield from map(as_batchjob, page.get("items") or ())
        more = (page.get("metadata") or {}).get("continue")
        page = api.ask(ENDED_JOBS, where, query=query | {"continue": more}) if more else {}


def count(api: TableApi, namespace: str) -> int:
    """How many there are."""
    return _ask(api, namespace, 0, lambda where: api.count(ENDED_JOBS, where))


def usage(api: TableApi, namespace: str, fields: str) -> list[list[Any]]:
    """What a report needs of them, a row a job (`history.store.Usage`)."""
    query = {"fieldSelector": fields, FORM_PARAMETER: USAGE_FORM}
    nothing: list[list[Any]] = []
    return _ask(api, namespace, nothing, lambda where: _rows(api.ask(ENDED_JOBS, where, query=query)))


def _rows(answer: Object) -> list[list[Any]]:
    if answer.get("kind") != USAGE_KIND:
        raise HpcBatchError("the cluster's hpcbatch is older than this one: it cannot tell what jobs have used")
    rows: list[list[Any]] = printable_tree(answer["rows"])
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
    """Forget it; False if it was not there."""
    if _KNOWN.get(api) == _ABSENT:
        return False
    try:
        api.delete(ENDED_JOBS, name, namespace)
    except NotFoundError:
        return False
    return True


def _ask(api: Api, namespace: str, nothing: _T, ask: Callable[[str | None], _T]) -> _T:
    known = _KNOWN.get(api)
    if known == _ABSENT:
        return nothing
    try:
        if known != _OWN_ONLY:
            try:
                return ask(None)
            except ForbiddenError:
                _KNOWN[api] = _OWN_ONLY
        return ask(namespace)
    except (NotFoundError, ForbiddenError):  # Kubernetes says the second too where there is no such path
        _KNOWN[api] = _ABSENT
        return nothing
