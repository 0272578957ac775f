"""`hpcbatch user` on an engine."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml

from hpcbatch.api.resources import CONFIGMAPS, NAMESPACES
from hpcbatch.errors import AlreadyExistsError
from hpcbatch.model.state import JobState
from tests.component import batchjobs
from tests.component.api_server import Cluster, cluster
from tests.component.batchjobs import put_job

# The embedded engine, by the command itself


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with cluster(tmp_path_factory.mktemp("engine")) as running:
        yield running


def run(engine: Cluster, *arguments: str) -> tuple[str, str, int]:
    done = subprocess.run(
        [str(Path(sys.executable).with_name("hpcbatch")), "user", *arguments],
        env={"PATH": os.environ["PATH"], "HOME": str(engine.directory), "KUBECONFIG": str(engine.kubeconfig)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.stdout, done.stderr, done.returncode


def test_the_engine_has_namespaces_and_says_that_it_has_no_more(
    engine: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    new = ("add", "carol", "--uid", "1500", "--gid", "1500", "--groups", "1500:carol,2000:wrf", "--home", "/data/carol")
    out, err, code = run(engine, *new, "--dry-run")
    assert (code, "the embedded engine has one user" in err) == (0, True)
    (shown,) = yaml.safe_load_all(out)
    assert shown["metadata"]["annotations"]["hpcbatch.io/groups"] == "1500:carol,2000:wrf"
    assert run(engine, "list")[0].splitlines()[1:] == []

    assert run(engine, *new)[0] == "Namespace hpcbatch-user-carol: created\n"
    assert run(engine, *new)[0] == "user carol is as wanted, in namespace hpcbatch-user-carol\n"
    made = engine.registry.get(NAMESPACES, "hpcbatch-user-carol")
    assert made["metadata"]["annotations"] == shown["metadata"]["annotations"]

    monkeypatch.setattr(batchjobs, "NS", "hpcbatch-user-carol")
    put_job(engine.registry, 1, JobState.RUNNING, start_time=datetime.now(UTC))
    put_job(engine.registry, 2, JobState.QUEUED)
    put_job(engine.registry, 3, JobState.FINISHED)
    heading, line = run(engine, "list")[0].splitlines()
    assert heading.split() == ["USER", "NAMESPACE", "UID", "GID", "GROUPS", "WAITING", "RUNNING", "STATE"]
    assert line.split() == [
        "carol",
        "hpcbatch-user-carol",
        "1500",
        "1500",
        "1500:carol,2000:wrf",
        "1",
        "1",
        "enabled",
    ]

    assert run(engine, "disable", "carol")[2] == 0
    assert run(engine, "list")[0].split()[-1] == "disabled"
    assert run(engine, "enable", "carol")[2] == 0
    assert run(engine, "list")[0].split()[-1] == "enabled"


def test_the_engine_signs_nothing(engine: Cluster) -> None:
    target = engine.directory / "dave"
    out, err, code = run(engine, "add", "dave", "--uid", "1600", "--gid", "1600", "--kubeconfig", str(target))
    assert (out, code) == ("", 1)
    assert err == "hpcbatch: the embedded engine signs no certificates: whoever uses it shares its own kubeconfig\n"
    assert not target.exists()
    assert "dave" not in run(engine, "list")[0]


def test_a_bad_site_configuration_stops_it(engine: Cluster) -> None:
    try:
        engine.registry.create(
            NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "hpcbatch-system"}}
        )
    except AlreadyExistsError:
        pass
    site = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "hpcbatch-site"}, "data": {"site.yaml": "x"}}
    engine.registry.create(CONFIGMAPS, site, "hpcbatch-system")
    out, err, code = run(engine, "add", "erin", "--uid", "1700", "--gid", "1700")
    engine.registry.delete(CONFIGMAPS, "hpcbatch-site", "hpcbatch-system")
    assert (out, code) == ("", 1)
    assert err.startswith("hpcbatch: the site configuration (hpcbatch-system/hpcbatch-site) is bad: site.yaml:1")


@pytest.mark.parametrize(
    ("option", "value", "text"),
    [
        ("--groups", "2000", "'2000' is no group: expected GID:NAME"),
        ("--groups", "x:wrf", "'x:wrf' is no group"),
        ("--quota-cpus", "many", "'many' is no number of CPUs"),
        ("--quota-cpus", "-1", "'-1' is no number of CPUs"),
        ("--quota-memory", "lots", "'lots' is no amount of memory"),
        ("--quota-pods", "1.5", "'1.5' is no number"),
        ("--pvc", "home", "'home': expected NAME=SIZE"),
        ("--pvc", "home=1G,klass=x", "expected NAME=SIZE"),
        ("--valid-for", "1m", "expected 10m to 30d"),
        ("--valid-for", "31d", "expected 10m to 30d"),
        ("--valid-for", "1y", "expected 10m to 30d"),
        ("--server", "http://x", "expected https://HOST:PORT"),
    ],
)
def test_bad_values(engine: Cluster, option: str, value: str, text: str) -> None:
    out, err, code = run(engine, "add", "zoe", "--uid", "1", "--gid", "1", f"{option}={value}")
    assert (out, code != 0) == ("", True)
    assert text in err
