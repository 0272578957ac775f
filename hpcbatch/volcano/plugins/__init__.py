"""Job plugins: what Volcano adds to a job's pods and puts beside them. One file a plugin, one line in BUILTIN."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hpcbatch.volcano.plugins.base import JobPlugin, KeyMaker, ObjectRef, plugin_names
from hpcbatch.volcano.plugins.env import EnvPlugin
from hpcbatch.volcano.plugins.mpi import MpiPlugin
from hpcbatch.volcano.plugins.ssh import SshPlugin
from hpcbatch.volcano.plugins.svc import SvcPlugin

__all__ = ["BUILTIN", "JobPlugin", "KeyMaker", "ObjectRef", "PluginBuilder", "job_plugins", "plugin_names"]

PluginBuilder = Callable[[Sequence[str], KeyMaker], JobPlugin]
"""From a plugin's arguments and the maker of key pairs."""

BUILTIN: dict[str, PluginBuilder] = {
    "env": lambda _arguments, _make_key: EnvPlugin(),
    "mpi": lambda arguments, _make_key: MpiPlugin(arguments),
    "ssh": SshPlugin,
    "svc": lambda arguments, _make_key: SvcPlugin(arguments),
}


def job_plugins(job: dict[str, object], make_key: KeyMaker) -> list[JobPlugin]:
    """The plugins that `job` names, in the order of BUILTIN; Volcano's own order differs from pod to pod.
    Unknown names are refused at admission and left out here.
    """
    named = plugin_names(job)
    return [build(named[name], make_key) for name, build in BUILTIN.items() if name in named]
