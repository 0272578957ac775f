"""Job plugins: Volcano's additions to a job's pods, and objects beside them. One file and one line in BUILTIN each."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hpcbatch.volcano.plugins.base import JobPlugin, KeyMaker, ObjectRef, PluginError, plugin_names
from hpcbatch.volcano.plugins.env import EnvPlugin
from hpcbatch.volcano.plugins.hcclrank import HcclrankPlugin
from hpcbatch.volcano.plugins.mpi import MpiPlugin
from hpcbatch.volcano.plugins.pytorch import PytorchPlugin
from hpcbatch.volcano.plugins.ray import RayPlugin
from hpcbatch.volcano.plugins.ssh import SshPlugin
from hpcbatch.volcano.plugins.svc import SvcPlugin
from hpcbatch.volcano.plugins.tensorflow import TensorflowPlugin

__all__ = [
    "BUILTIN",
    "JobPlugin",
    "KeyMaker",
    "ObjectRef",
    "PluginBuilder",
    "PluginError",
    "job_plugins",
    "plugin_names",
]

PluginBuilder = Callable[[Sequence[str], KeyMaker], JobPlugin]
"""Makes a plugin from its arguments and the maker of key pairs."""

BUILTIN: dict[str, PluginBuilder] = {
    "env": lambda _arguments, _make_key: EnvPlugin(),
    "mpi": lambda arguments, _make_key: MpiPlugin(arguments),
    "pytorch": lambda arguments, _make_key: PytorchPlugin(arguments),
    "hcclrank": lambda arguments, _make_key: HcclrankPlugin(arguments),  # after pytorch, whose RANK it takes over
    "ray": lambda arguments, _make_key: RayPlugin(arguments),
    "ssh": SshPlugin,
    "svc": lambda arguments, _make_key: SvcPlugin(arguments),
    "tensorflow": lambda arguments, _make_key: TensorflowPlugin(arguments),
}


def job_plugins(job: dict[str, object], make_key: KeyMaker) -> list[JobPlugin]:
    """The plugins named in `job`, in the order of BUILTIN; Volcano's own order differs from pod to pod.
    Unknown names are refused at admission and ignored here.
    """
    named = plugin_names(job)
    return [build(named[name], make_key) for name, build in BUILTIN.items() if name in named]
