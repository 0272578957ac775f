"""Clients that are Python libraries: each submits, watches, cancels, and sees a failing job."""

from __future__ import annotations

import pytest

from tests.clients.conftest import Program


def test_submitit(program: Program) -> None:
    found = program("submitit", "use_submitit.py")
    assert found["result"] == 49
    assert "on purpose" in found["error"]
    assert (found["array"], found["ids"]) == ([1, 4, 27], ["0", "1", "2"])
    assert found["states"] == ["COMPLETED", "FAILED", "CANCELLED"]


@pytest.mark.parametrize("system", ["slurm", "pbs", "lsf"])
def test_dask_jobqueue(program: Program, system: str) -> None:
    found = program("dask-jobqueue", "use_dask_jobqueue.py", system)
    assert found["total"] == 285
    assert found["listed"] >= 2


@pytest.mark.parametrize("system", ["slurm", "pbs", "lsf"])
def test_psij(program: Program, system: str) -> None:
    found = program("psij-python", "use_psij.py", system)
    assert found["good"][0] == "COMPLETED"
    assert found["bad"][0] == "FAILED"
    # Of PBS only 265 counts as cancelled; a job that SIGTERM ends has 271, as with OpenPBS.
    # Of LSF it knows no reason of an end: it stumbles over each job that has one, as all have that bkill ends.
    cancelled = {"slurm": "CANCELED", "pbs": "FAILED", "lsf": None}[system]
    assert (found["long"] or [None])[0] == cancelled
    assert found["ids"] == [True, True, True]


@pytest.mark.parametrize("system", ["slurm", "pbs", "lsf"])
def test_parsl(program: Program, system: str) -> None:
    found = program("parsl", "use_parsl.py", system, "127.0.0.1")
    assert found["results"] == [0, 2, 4, 6]
    assert "on purpose" in found["error"]
    assert found["states"] == ["RUNNING"]


@pytest.mark.parametrize("plugin", ["core.slurm", "core.pbspro"])
def test_aiida(program: Program, plugin: str) -> None:
    found = program("aiida-core", "use_aiida.py", plugin)
    assert found["said"] == "hello"
    assert (found["running"], found["killed"]) == ("running", True)
    assert found["listed"] >= 1


@pytest.mark.parametrize("system", ["slurm", "pbs"])
def test_batchspawner(program: Program, system: str) -> None:
    found = program("jupyterhub", "use_batchspawner.py", system)
    assert found["id"]
    assert found["host"].startswith("node-")
    assert "RUNNING" in found["seen"]


@pytest.mark.parametrize("system", ["slurm", "pbspro"])
def test_radical_saga(program: Program, system: str) -> None:
    found = program("radical.saga", "use_saga.py", system)
    assert found["states"] == ["Done", "Failed", "Canceled"]
    assert found["said"] == "hello"


def test_executorlib(program: Program) -> None:
    found = program("executorlib", "use_executorlib.py")
    assert found["results"] == [0, 2, 4]
    assert "on purpose" in found["error"]
