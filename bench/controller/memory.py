"""What the controller's process takes with many records: as BatchJobs, while they move to PostgreSQL, and in there."""

from __future__ import annotations

import time

from bench.controller.rig import ControllerProcess, rig
from tests.postgres import postgres
from tests.waiting import wait_for

NODES, RECORDS, JOBS = 5000, 50_000, 300
_SITE = "historyMovedAfter: 0s\n"
_LIMIT_S = 1800


def main(nodes: int = NODES, records: int = RECORDS) -> None:
    print(f"{nodes} nodes, {records} records of ended jobs; memory in MiB, and the most that it has been", flush=True)
    with rig(nodes, more_of_site=_SITE) as running, postgres() as database:
        dsn = running.directory / "dsn"
        dsn.write_text(database.dsn)
        with_history = ("--history-dsn-file", str(dsn), "--history-port", "0")
        with running.controller() as controller:
            running.create(1)
            running.wait_cleaned(1)
            _tell("no records", controller)
        running.fill(records - 1)
        with running.controller() as controller:
            _tell("as BatchJobs, without a history", controller)
        with running.controller(*with_history) as controller:
            _tell("as BatchJobs, when the history begins", controller)
            began = time.perf_counter()
            wait_for("the last record to move", lambda: not running.records(), _LIMIT_S, every_s=0.2)
            _tell(f"moved to PostgreSQL in {time.perf_counter() - began:.0f} s", controller)
        with running.controller(*with_history) as controller:
            _tell("in PostgreSQL, after a new start", controller)
            before = controller.cpu_s
            running.create(JOBS)
            running.wait_ended(JOBS + 1)
            _tell(f"after {JOBS} jobs, {(controller.cpu_s - before) / JOBS * 1000:.1f} ms each", controller)


def _tell(what: str, controller: ControllerProcess) -> None:
    time.sleep(2)
    print(f"  {what:45} {controller.memory_mib():6.0f} {controller.memory_mib('VmHWM'):6.0f}", flush=True)
