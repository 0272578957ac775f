"""Whatever a record holds that its definition allows: no view fails, and each still shows the jobs of others."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from datetime import UTC, datetime
from importlib import import_module
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hpcbatch.api.port import Object
from hpcbatch.api.resources import BATCHJOBS
from hpcbatch.cli import module_of
from hpcbatch.cli.common import Session
from hpcbatch.cli.report import accounting, report
from hpcbatch.dialects.slurm.sacct_fields import FIELDS
from hpcbatch.dialects.slurm.squeue_format import LETTERS, NAMES, WRF_NAMES
from hpcbatch.engine.registry.registry import Registry
from hpcbatch.engine.registry.schema import CompiledSchema
from hpcbatch.engine.registry.store import Store
from hpcbatch.engine.server.certificates import ensure_certificate
from hpcbatch.engine.server.kubeconfig import write_kubeconfig
from hpcbatch.engine.server.server import ApiServer
from hpcbatch.errors import ApiError, HpcBatchError
from hpcbatch.history.databases import SqliteDatabase
from hpcbatch.history.store import HistoryStore
from hpcbatch.model.state import JobState
from tests.component.batchjobs import NS, put_job
from tests.schema_values import schema_of, values
from tests.thoroughness import examples, in_turn

GOOD = 1
SPECS = values(schema_of("spec"))
STATUSES = values(schema_of("status"))
STATES = [state.value for state in JobState if state is not JobState.REFUSED]
OWN = {"owner": "alice", "queue": "default", "workDir": "/d", "state": "Queued"}
SINCE = "1971-01-01"
VIEWS: dict[str, list[list[str]]] = {
    "qstat": [
        [],
        ["-a"],
        ["-n", "-1"],
        ["-s"],
        ["-i"],
        ["-r"],
        ["-x"],
        ["-H"],
        ["-t"],
        ["-xt"],
        ["-f"],
        ["-xf"],
        ["-ft"],
        ["-f", "-F", "json"],
        ["-xf", "-F", "json"],
        ["-f", "-F", "dsv"],
        ["-Q"],
        ["-q"],
        ["-B"],
        ["-Bf"],
        ["-T"],
    ],
    "squeue": [
        [],
        ["-l"],
        ["-r"],
        ["-t", "all"],
        ["-o", " ".join(f"%{letter}" for letter in LETTERS)],
        ["-t", "all", "-r", "-O", ",".join(f"{name}:20" for name in NAMES if name not in WRF_NAMES)],
        ["--start"],
        ["-S", "V,p,-S"],
        ["-s"],
        ["--json"],
        ["--yaml"],
    ],
    "scontrol": [["show", "job"], ["-o", "show", "job"], ["show", "step"], ["show", "assoc_mgr"]],
    "sacctmgr": [["show", "assoc"], ["-s", "show", "user"]],
    "sdiag": [["--sort-by-id"]],
    "sstat": [["-a", "-j", str(GOOD)]],
    "seff": [[str(GOOD)]],
    "sacct": [
        ["-a", "-S", SINCE],
        ["-a", "-X", "-P", "-S", SINCE, "-o", ",".join(FIELDS)],
        ["-a", "--json", "-S", SINCE],
        ["-a", "--yaml", "-S", SINCE],
        ["-j", str(GOOD)],
    ],
    "tracejob": [["-n", "9999", str(GOOD)]],
    "qselect": [["-x"], ["-l", "ncpus.gt.0"], ["-T"], ["-P", "x"], ["-x", "-te.gt.197101010000"]],
}
SHOW_NO_JOBS = {
    "assoc",
    "assoc_mgr",
    "user",
    "--sort-by-id",
    "-Q",
    "-q",
    "-B",
    "-Bf",
    "-i",
    "-H",
    "--start",
    "-P",
    "-l",
    "-te.gt.197101010000",
}


class Rig:
    """The commands, in this process, against an API server with a history and no controller."""

    def __init__(self, directory: Path) -> None:
        self.registry = Registry(Store(":memory:"))
        self.registry.install_builtin()
        self.history = HistoryStore(SqliteDatabase(directory / "history.db"))
        tls = ensure_certificate(directory)
        self.server = ApiServer(
            self.registry, port=0, cert_file=tls.cert_file, key_file=tls.key_file, token="t", history=self.history
        )
        url = f"https://127.0.0.1:{self.server.start()}"
        kubeconfig = directory / "kubeconfig"
        write_kubeconfig(kubeconfig, server=url, cluster="pbs1", ca_file=tls.cert_file, token="t")
        self.environ = {"HPCBATCH_KUBECONFIG": str(kubeconfig), "USER": "alice"}
        begun = datetime.now(UTC).replace(microsecond=0)
        put_job(self.registry, GOOD, JobState.RUNNING, start_time=begun, eligible_time=begun)

    def put(self, number: int, spec: Object, status: Object) -> bool:
        """A record with this; False where its definition does not allow it."""
        body = {"apiVersion": BATCHJOBS.api_version, "kind": BATCHJOBS.kind, "metadata": {"name": f"any-{number}"}}
        try:
            obj = self.registry.create(BATCHJOBS, body | {"spec": spec}, NS)
            obj = obj | {"status": {**OWN, **status, "jobId": str(number)}}
            self.registry.replace(BATCHJOBS, obj, NS, subresource="status")
        except ApiError:
            return False
        return True

    def move(self, number: int) -> None:
        """To the history, as the controller does; what that cannot take stays."""
        obj = self.registry.get(BATCHJOBS, f"any-{number}", NS)
        try:
            self.history.put([obj])
        except HpcBatchError:
            return
        self.registry.delete(BATCHJOBS, f"any-{number}", NS)

    def clear(self) -> None:
        for obj in self.registry.list(BATCHJOBS, NS).items:
            if obj["metadata"]["name"].startswith("any-"):
                self.registry.delete(BATCHJOBS, obj["metadata"]["name"], NS)
        for number in range(GOOD + 1, GOOD + 20):
            self.history.remove(NS, f"any-{number}")

    def show(self, command: str, argv: list[str]) -> str:
        out = StringIO()
        session = Session(self.environ)
        before, sys.argv = sys.argv, [command, *argv]
        try:
            with redirect_stdout(out), redirect_stderr(StringIO()):
                import_module(module_of(command))._body(session)
        finally:
            sys.argv = before
        return out.getvalue()

    def check(self, numbers: list[int]) -> None:
        """That all views show the good job, whatever else there is."""
        for command, forms in VIEWS.items():
            for argv in forms:
                shown = self.show(command, argv)
                if not SHOW_NO_JOBS & {*argv}:
                    assert str(GOOD) in shown, (command, argv)
        for number in numbers:
            for command, argv in (
                ("qstat", ["-xf", f"{number}"]),
                ("qstat", ["-xft", f"{number}[]"]),
                ("squeue", ["-j", f"{number},1"]),
                ("tracejob", ["-n", "9999", f"{number}"]),
                ("sacct", ["-j", f"{number}"]),
            ):
                self.show(command, argv)
        for arguments, program in (
            (["--since", SINCE, "--by", "user,queue,account,state,month,day"], report),
            (["--since", SINCE, "--json"], report),
            (["--since", SINCE, "--csv"], report),
            (["--since", SINCE], accounting),
        ):
            result = CliRunner().invoke(program, arguments, obj=Session(self.environ), catch_exceptions=False)
            assert result.exit_code == 0, result.output
            assert "alice" in result.output


@pytest.fixture(scope="module")
def rig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    rig = Rig(tmp_path_factory.mktemp("views"))
    yield rig
    rig.server.stop()


@pytest.mark.timeout(900)  # a busy machine, and shrinking, take their time
@settings(max_examples=examples(6), deadline=None, suppress_health_check=[*HealthCheck])
@given(st.lists(st.tuples(SPECS, STATUSES, st.sampled_from(STATES), st.booleans()), min_size=6, max_size=6))
def test_any_record_the_definition_allows(rig: Rig, records: list[tuple[Object, Object, str, bool]]) -> None:
    rig.clear()
    there = []
    for number, (spec, status, state, moves) in enumerate(records, GOOD + 1):
        if rig.put(number, spec, status | {"state": state}):
            there.append(number)
            if moves and JobState(state).is_final:
                rig.move(number)
    rig.check(there)


@pytest.mark.parametrize(
    ("command", "argv"),
    [
        ("qstat", ["-s"]),
        ("qstat", ["-n"]),
        ("squeue", ["-o", "%i %j %u %T %C %D %m %l %Z %V"]),
        ("bjobs", ["-u", "all", "-o", "jobid job_name user stat slots sub_cwd"]),
    ],
)
def test_listings_of_records_that_an_older_controller_has_written(rig: Rig, command: str, argv: list[str]) -> None:
    rig.clear()
    name = put_job(rig.registry, GOOD + 1, JobState.QUEUED).object_name
    before = rig.show(command, argv)
    rig.registry.patch(BATCHJOBS, name, {"status": {"row": None, "rowMark": None}}, NS, subresource="status")
    assert rig.show(command, argv) == before
    rig.registry.delete(BATCHJOBS, name, NS)


NAMED: list[Any] = [
    {"beginTime": "0001-01-01T00:00:00Z"},
    {"beginTime": "0001-01-01T00:00:00+14:00"},
    {"beginTime": "9999-12-31T23:59:59Z", "walltimeSeconds": 86400},
    {"walltimeSeconds": 2**53},
    {"attributes": {"ntasks_per_node": "many", "cpus_per_task": "9" * 6000, "mem_per_cpu_mb": "", "export": ""}},
    {"attributes": {"Resource_List.mem": "x", "Resource_List.ncpus": "x" * 6000, "umask": "z"}},
    {"arrayRequest": {"held": "0-30000000:3,1-30000000"}, "array": {"indices": "1-9"}},
    {"array": {"indices": "0-30000000:3,1-30000000"}},
    {"dependency": {"clauses": [{"kind": "after", "jobs": ["9" * 39], "delaySeconds": 2**53}]}},
    {"memberOf": {"arrayId": 2**60, "arrayName": "x", "index": 2**60}},
    {"priority": 2**60, "nice": 2**60, "umask": 2**60},
    {"dialect": "lsf"},
    {"chunks": []},
]


@pytest.mark.parametrize("spec", in_turn(NAMED), ids=lambda spec: str(spec)[:50])
def test_records_of_an_older_definition(rig: Rig, monkeypatch: pytest.MonkeyPatch, spec: Object) -> None:
    rig.clear()
    monkeypatch.setattr(CompiledSchema, "check", lambda *_: [])
    base = {"dialect": "slurm", "name": "poison", "chunks": [{"count": 1, "cpus": 1, "ranks": 1}]}
    now = "2026-11-21T10:00:00Z"
    array = {"array": {"pending": spec["array"]["indices"]}} if "array" in spec else {}
    for number, more in (
        (2, {"state": "Waiting"}),
        (3, {"state": "Running", "startTime": now}),
        (4, {"state": "Failed", "startTime": now, "endTime": now}),
        (5, {"state": "Held"}),
    ):
        summary = {"name": "poison", **({"beginTime": spec["beginTime"]} if "beginTime" in spec else {})}
        walltime = {"walltimeSeconds": spec["walltimeSeconds"]} if "walltimeSeconds" in spec else {}
        assert rig.put(number, base | spec, {"summary": summary, **more, **array, **walltime})
    rig.check([2, 3, 4, 5])
    if "beginTime" in spec:
        assert "its record cannot be read" in rig.show("qstat", ["-s", "5"]), "also of a held job"
    rig.move(4)
    rig.check([4])
