"""Schedulers for gangs other than Volcano, as processes beside the API server: for the tests that want them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import yaml

from tests.cluster import daemons
from tests.cluster.binaries import Module, build, module_source
from tests.cluster.kueue import kueue
from tests.cluster.state import ADMIN_CONF, STATE, kubectl

COSCHEDULING = Module("coscheduling", {"gang-scheduler": "sigs.k8s.io/scheduler-plugins/cmd/scheduler"})
_KOORDINATOR_SOURCE = "github.com/koordinator-sh/koordinator"
KOORDINATOR = Module("koordinator", {"koord-scheduler": f"{_KOORDINATOR_SOURCE}/cmd/koord-scheduler"})


def _configured(name: str, profile: Mapping[str, Any]) -> str:
    """The path of a scheduler's configuration with that profile alone."""
    path = STATE / f"{name}.yaml"
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": {"leaderElect": False},
        "clientConnection": {"kubeconfig": str(ADMIN_CONF)},
        "profiles": [profile],
    }
    path.write_text(yaml.safe_dump(config))
    return str(path)


@contextmanager
def _running(name: str, program: Path, definitions: Path, profile: Mapping[str, Any], *more: str) -> Iterator[str]:
    """Beside the default scheduler; with the CRDs of that file or folder."""
    kubectl("apply", "--server-side", "-f", definitions)
    who = ("--authentication-kubeconfig", ADMIN_CONF, "--authorization-kubeconfig", ADMIN_CONF)
    daemons.start(name, program, "--config", _configured(name, profile), "--secure-port", "10269", *who, *more)
    try:
        yield name
    finally:
        daemons.stop(name)
        kubectl("delete", "-f", definitions)


@contextmanager
def coscheduling() -> Iterator[str]:
    """scheduler-plugins, with the plugin as its own manifests configure it."""
    folder = build(COSCHEDULING)
    source = module_source(COSCHEDULING, "sigs.k8s.io/scheduler-plugins")
    plugins = {
        "multiPoint": {"enabled": [{"name": "Coscheduling"}]},
        "queueSort": {"enabled": [{"name": "Coscheduling"}], "disabled": [{"name": "*"}]},
    }
    profile = {"schedulerName": "scheduler-plugins-scheduler", "plugins": plugins}
    name = "gang-scheduler"
    with _running(name, folder / name, source / "manifests/coscheduling/crd.yaml", profile) as process:
        yield process


@contextmanager
def koordinator() -> Iterator[str]:
    """koord-scheduler, with all of its plugins as its own manifests configure them."""
    folder = build(KOORDINATOR)
    config = module_source(KOORDINATOR, _KOORDINATOR_SOURCE) / "config"
    manifest = yaml.safe_load((config / "manager/scheduler-config.yaml").read_text())
    profile = yaml.safe_load(manifest["data"]["koord-scheduler-config"])["profiles"][0]
    name = "koord-scheduler"
    insecure = ("--port", "10271", "--v=4")  # its own services; the default scheduler has the usual one
    kubectl("create", "namespace", "koordinator-system")  # where it keeps its quotas
    try:
        with _running(name, folder / name, config / "crd/bases", profile, *insecure) as process:
            yield process
    finally:
        kubectl("delete", "namespace", "koordinator-system")


STARTED: Mapping[str, Callable[[], AbstractContextManager[str]]] = {
    "coscheduling": coscheduling,
    "koordinator": koordinator,
    "kueue": kueue,
}
"""By `scheduler` of the site's file; it is the name of the process that gives pods their nodes."""
