"""Schedulers for gangs other than Volcano, as processes beside the API server: for the tests that want them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import yaml

from tests.cluster import daemons
from tests.cluster.binaries import Module, build, module_source
from tests.cluster.state import ADMIN_CONF, STATE, kubectl

COSCHEDULING = Module("coscheduling", {"gang-scheduler": "sigs.k8s.io/scheduler-plugins/cmd/scheduler"})


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
def coscheduling() -> Iterator[str]:
    """scheduler-plugins, with the plugin as its own manifests configure it, beside the default scheduler."""
    folder = build(COSCHEDULING)
    source = module_source(COSCHEDULING, "sigs.k8s.io/scheduler-plugins")
    definition = source / "manifests/coscheduling/crd.yaml"
    kubectl("apply", "--server-side", "-f", definition)
    plugins = {
        "multiPoint": {"enabled": [{"name": "Coscheduling"}]},
        "queueSort": {"enabled": [{"name": "Coscheduling"}], "disabled": [{"name": "*"}]},
    }
    profile = {"schedulerName": "scheduler-plugins-scheduler", "plugins": plugins}
    name = "gang-scheduler"
    who = ("--authentication-kubeconfig", ADMIN_CONF, "--authorization-kubeconfig", ADMIN_CONF)
    daemons.start(name, folder / name, "--config", _configured(name, profile), "--secure-port", "10269", *who)
    try:
        yield name
    finally:
        daemons.stop(name)
        kubectl("delete", "-f", definition)


STARTED: Mapping[str, Callable[[], AbstractContextManager[str]]] = {"coscheduling": coscheduling}
"""By `scheduler` of the site's file; it is the name of the process that gives pods their nodes."""
