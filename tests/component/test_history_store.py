"""The history's store, on SQLite and on a real PostgreSQL."""

import json
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from hpcbatch.api.history import packed, unpacked
from hpcbatch.api.port import Object
from hpcbatch.errors import GoneError
from hpcbatch.history.databases import Database, HistoryError, PostgresDatabase, SqliteDatabase
from hpcbatch.history.query import Query
from hpcbatch.history.store import HistoryStore
from hpcbatch.history.tables import columns
from hpcbatch.model.row import IN_ROW
from tests.postgres import Postgres, postgres, programs

START = datetime(2026, 11, 1, tzinfo=UTC)
Opener = Callable[[], Database]


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    if programs() is None:
        pytest.skip("PostgreSQL is not installed: its half of the history is NOT tested (apt-get install postgresql)")
    with postgres() as running:
        yield running


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
def opener(request: pytest.FixtureRequest, tmp_path: Path) -> Opener:
    """Opens one empty database, as often as it is called."""
    if request.param == "sqlite":
        return lambda: SqliteDatabase(tmp_path / "history.db")
    running: Postgres = request.getfixturevalue("server")
    import psycopg

    with psycopg.connect(running.dsn, autocommit=True) as connection:
        connection.execute("DROP SCHEMA public CASCADE")
        connection.execute("CREATE SCHEMA public")
    return lambda: PostgresDatabase(lambda: running.dsn)


@pytest.fixture
def store(opener: Opener) -> Iterator[HistoryStore]:
    opened = HistoryStore(opener())
    yield opened
    opened.close()


def job(
    number: int, *, minutes: int = 0, namespace: str = "alice", member_of: int | None = None, **given: Any
) -> Object:
    """Started at START and ended so many minutes later."""
    spec: Object = {"dialect": "pbs", "name": given.pop("name", f"job{number}")}
    if member_of is not None:
        spec["memberOf"] = {"arrayId": member_of, "arrayName": "a", "index": number}
    ended = (START + timedelta(minutes=minutes)).isoformat()
    status = {
        "jobId": str(number),
        "state": "Finished",
        "owner": namespace,
        "queue": "workq",
        "cleaned": True,
        "startTime": START.isoformat(),
        "endTime": ended,
    }
    metadata = {
        "name": f"pbs-{number}",
        "namespace": namespace,
        "uid": f"uid-{number}",
        "managedFields": [{}],
        "creationTimestamp": "2026-10-31T00:00:00Z",
    }
    return {
        "apiVersion": "hpcbatch.io/v1alpha1",
        "kind": "BatchJob",
        "metadata": metadata,
        "spec": spec,
        "status": status | given,
    }


def numbers(store: HistoryStore, **query: Any) -> list[int]:
    return [int(found["status"]["jobId"]) for found in store.page(Query(**query)).jobs]


def test_a_job_comes_back_whole(store: HistoryStore) -> None:
    given = job(1, message="café \u0000 \udc80 'quoted' %s ?")
    store.put([given])
    found = store.get("alice", "pbs-1")
    del given["metadata"]["managedFields"]
    assert found == given == store.by_number(1)
    assert store.get("bob", "pbs-1") is None
    assert store.by_number(2) is None


@pytest.mark.parametrize("name", ["\u0000", "a\udc80b", "%s", "?", "x" * 1024, "ж"])
def test_any_name(store: HistoryStore, name: str) -> None:
    store.put([job(1, name=name)])
    assert store.by_number(1)["spec"]["name"] == name  # type: ignore[index]


def test_putting_twice_is_putting_once(store: HistoryStore) -> None:
    store.put([job(1), job(2)])
    store.put([job(1, message="later"), job(3)])
    assert numbers(store) == [1, 2, 3]
    assert store.by_number(1)["status"]["message"] == "later"  # type: ignore[index]


def test_all_or_none(store: HistoryStore) -> None:
    with pytest.raises(KeyError):
        store.put([job(1), {"metadata": {}, "status": {}}])
    assert numbers(store) == []


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({}, [1, 2, 3, 4]),
        ({"namespace": "alice"}, [1, 2, 4]),
        ({"names": ("pbs-3", "pbs-9")}, [3]),
        ({"numbers": (1, 4, 9)}, [1, 4]),
        ({"array_numbers": (7,)}, [4]),
        ({"no_members": True}, [1, 2, 3]),
        ({"owners": ("bob", "carol")}, [3]),
        ({"queues": ("workq",), "states": ("Failed",)}, [2]),
        ({"other_states": ("Failed", "Timeout")}, [1, 3, 4]),
        ({"job_names": ("job2",)}, [2]),
        ({"ended_after": START + timedelta(minutes=20)}, [2, 3, 4]),
        ({"ended_before": START + timedelta(minutes=20)}, [1]),
        ({"began_before": START + timedelta(minutes=1)}, [1, 2, 3]),
        ({"began_before": START + timedelta(minutes=41)}, [1, 2, 3, 4]),
    ],
)
def test_queries(store: HistoryStore, query: dict[str, Any], expected: list[int]) -> None:
    never_started = job(4, minutes=40, member_of=7)
    del never_started["status"]["startTime"]
    store.put(
        [job(1, minutes=10), job(2, minutes=20, state="Failed"), job(3, minutes=30, namespace="bob"), never_started]
    )
    assert numbers(store, **query) == expected
    assert store.count(Query(**query)) == len(expected)


def test_pages_hold_every_job_once(store: HistoryStore) -> None:
    store.put([job(number, minutes=number % 3) for number in range(1, 24)])
    seen: list[str] = []
    more = ""
    while more or not seen:
        found, more = store.page(Query(), limit=5, after=more)
        assert len(found) <= 5
        seen += [item["metadata"]["uid"] for item in found]
        store.put([job(100 + len(seen), minutes=9)])  # what comes meanwhile does not disturb
    assert len(set(seen)) == len(seen)
    assert {f"uid-{number}" for number in range(1, 24)} <= set(seen)


@pytest.mark.parametrize("token", ["x", "!!", "W10", "eyJhIjoxfQ", "bnVsbA"])
def test_a_made_up_token(store: HistoryStore, token: str) -> None:
    with pytest.raises(GoneError):
        store.page(Query(), after=token)


def test_a_listing_has_the_cells_of_todays_columns(store: HistoryStore) -> None:
    store.put([job(1), job(2)])
    fresh = store.listing(Query()).rows
    store._database.transaction(
        lambda cursor: cursor.execute("UPDATE hpcbatch_jobs SET cells = '[]', cells_of = 'older' WHERE number = 1")
    )
    assert store.listing(Query()).rows == fresh
    assert [row.name for row in fresh] == ["pbs-1", "pbs-2"]
    place = [column.name for column in columns()].index("Id")
    assert [json.loads(row.cells)[place] for row in fresh] == ["1", "2"]


def test_all_that_listings_show_is_kept_but_the_age() -> None:
    """Nobody asks for the age of what has ended, and here rows' metadata has the namespace."""
    crd = yaml.safe_load((Path(__file__).parents[2] / "deploy/crd/batchjobs.yaml").read_text())
    printed = {column["name"] for column in crd["spec"]["versions"][0]["additionalPrinterColumns"]}
    kept = (printed - {"Age", "Namespace", "Row"}) | {column.name for column in IN_ROW}
    assert sorted(column.name for column in columns()) == sorted({"Name", *kept})


def test_the_highest_number(store: HistoryStore) -> None:
    assert store.highest_number() == 0
    store.put([job(7), job(30), job(4)])
    assert store.highest_number() == 30


def test_removing(store: HistoryStore) -> None:
    store.put([job(1), job(2)])
    store.remove("alice", "pbs-1")
    store.remove("alice", "pbs-1")
    store.remove("bob", "pbs-2")
    assert numbers(store) == [2]


def test_old_ones_go(store: HistoryStore) -> None:
    store.put([job(number, minutes=number) for number in range(1, 1205)])
    assert store.remove_ended_before(START + timedelta(minutes=1204))
    assert not store.remove_ended_before(START + timedelta(minutes=1204))
    assert numbers(store) == [1204]


def test_it_is_there_after_a_restart(opener: Opener) -> None:
    first = HistoryStore(opener())
    first.put([job(1)])
    first.close()
    second = HistoryStore(opener())
    assert numbers(second) == [1]
    second.close()


def test_tables_of_a_newer_version(opener: Opener) -> None:
    first = HistoryStore(opener())
    first.put([job(1)])
    first._database.transaction(lambda cursor: cursor.execute("UPDATE hpcbatch_schema SET version = 99"))
    first.close()
    second = HistoryStore(opener())
    with pytest.raises(HistoryError, match="version 99, made by a newer hpcbatch"):
        second.page(Query())
    second.close()


def test_many_threads(store: HistoryStore) -> None:
    failures: list[BaseException] = []

    def work(first: int) -> None:
        try:
            for number in range(first, first + 20):
                store.put([job(number)])
                assert store.by_number(number) is not None
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(100 * index,)) for index in range(1, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert store.count(Query()) == 160


def test_two_controllers_make_the_tables_at_once(server: Postgres, request: pytest.FixtureRequest) -> None:
    import psycopg

    with psycopg.connect(server.dsn, autocommit=True) as connection:
        connection.execute("DROP SCHEMA public CASCADE")
        connection.execute("CREATE SCHEMA public")
    stores = [HistoryStore(PostgresDatabase(lambda: server.dsn)) for _ in range(4)]
    failures: list[BaseException] = []

    def work(index: int) -> None:
        try:
            stores[index].put([job(index)])
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(index,)) for index in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert stores[0].count(Query()) == 4
    for each in stores:
        each.close()


def test_a_restarted_server_is_found_again(server: Postgres) -> None:
    store = HistoryStore(PostgresDatabase(lambda: server.dsn))
    store.put([job(1)])
    server.stop()
    with pytest.raises(HistoryError, match="the history database cannot be reached"):
        store.by_number(1)
    server.start()
    assert store.by_number(1) is not None
    server.stop()
    server.start()
    assert store.by_number(1) is not None  # its connection broke without anybody noticing
    store.close()


def test_an_address_that_is_none(tmp_path: Path) -> None:
    for dsn in ("host", "host=x password=sehr geheim", f"host={tmp_path} user=x dbname=y password=geheim"):
        store = HistoryStore(PostgresDatabase(partial(str, dsn)))
        with pytest.raises(HistoryError) as raised:
            store.by_number(1)
        assert "geheim" not in str(raised.value)
        assert "\n" not in str(raised.value)
    missing = HistoryStore(PostgresDatabase((tmp_path / "dsn").read_text))
    with pytest.raises(HistoryError, match="the address of the history database cannot be read"):
        missing.by_number(1)


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    path.write_text("no database, but long enough to be looked at")
    with pytest.raises(HistoryError, match="cannot be opened"):
        HistoryStore(SqliteDatabase(path)).by_number(1)


def test_the_file_is_its_owners_only(tmp_path: Path) -> None:
    HistoryStore(SqliteDatabase(tmp_path / "history.db")).put([job(1)])
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}


def test_what_reports_need(store: HistoryStore) -> None:
    never_ran = job(2, minutes=1, namespace="bob", state="Deleted")
    del never_ran["status"]["startTime"]
    whole = job(3)
    whole["spec"]["array"] = {"indices": "1-9"}
    used = job(
        1,
        minutes=9,
        cpuUsedSeconds=77,
        eligibleTime="2026-10-31T23:59:59Z",
        summary={"cpus": 8, "account": "proj\0ect"},
    )
    store.put([used, never_ran, whole])
    start = int(START.timestamp())
    assert sorted(store.usage(Query())) == [
        [1, "alice", "workq", "project", "Finished", 8, start - 1, start, start + 540, 77],
        [2, "bob", "workq", "", "Deleted", 0, None, None, start + 60, None],
    ]
    assert [row[0] for row in store.usage(Query(owners=("bob",)))] == [2]
    assert [row[0] for row in store.usage(Query(ended_after=START + timedelta(minutes=5)))] == [1]


def test_packed_jobs_are_the_same(store: HistoryStore) -> None:
    store.put([job(number, minutes=number) for number in range(1, 6)])
    first, more = store.packed(Query(), limit=2)
    rest, end = store.packed(Query(), after=more)
    assert (len(first), end) == (2, "")
    assert [unpacked(packed(body)) for body in (*first, *rest)] == store.page(Query()).jobs
