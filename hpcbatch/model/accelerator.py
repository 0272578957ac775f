"""The accelerators of a site: GPUs, NPUs and slices of them, as scripts name them and as Kubernetes has them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase

from hpcbatch.dataclass import dataclass, field
from hpcbatch.typed import Final

UNTYPED: Final = ("gpu", "ngpus")
"""The names of a GPU of any type: Slurm's and LSF's, PBS's."""
PREFIX: Final = "gpu:"
"""Begins the name of a GPU of a type: `gpu:a100`."""
MODEL_WORDS: Final = frozenset({"gpu_model", "gpu_type", "gputype", "accelerator_model"})
"""Resources with the type as their text: `ngpus=1:gpu_model=a100`, and what `-gpu gmodel=` becomes."""

_VISIBLE: Final = {
    "nvidia.com": "CUDA_VISIBLE_DEVICES",
    "amd.com": "ROCR_VISIBLE_DEVICES",
    "gpu.intel.com": "ZE_AFFINITY_MASK",
    "metax-tech.com": "MACA_VISIBLE_DEVICES",
    "huawei.com": "ASCEND_RT_VISIBLE_DEVICES",
}
"""Domain of a resource → the variable by which its programs are told which devices to use."""


DEVICES: Final = "devices.hpcbatch.io/"
"""Begins the name by which devices of a DeviceClass are counted like an extended resource. Kubernetes never sees it."""


def visible_variable(resource: str) -> str:
    """Of an extended resource, `CUDA_VISIBLE_DEVICES` of `nvidia.com/gpu`; "": none is known. Of devices likewise, by
    the class: `gpu.nvidia.com`, `mig.nvidia.com`.
    """
    if resource.startswith(DEVICES):
        of_class = f".{resource.removeprefix(DEVICES)}"
        return next((variable for domain, variable in _VISIBLE.items() if of_class.endswith(f".{domain}")), "")
    return _VISIBLE.get(resource.partition("/")[0], "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Accelerator:
    """One type of accelerator of a site."""

    name: str
    """The type as scripts write it: `a100` of `--gres=gpu:a100:2`."""
    resource: str
    """Kubernetes' extended resource: `nvidia.com/gpu`, `nvidia.com/mig-1g.5gb`; with a `device_class` what
    `devices_name` makes."""
    device_class: str = ""
    """Kubernetes' DeviceClass of which jobs claim devices (DRA); "": it is an extended resource."""
    selectors: tuple[str, ...] = ()
    """Which devices of the class, in CEL; see model.device_selector."""
    aliases: tuple[str, ...] = ()
    """Other names of the type, with `*` and `?`. Upper and lower case are alike."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Labels of the nodes that have it."""
    annotations: Mapping[str, str] = field(default_factory=dict)
    """Of the pods that ask for it."""
    queues: tuple[str, ...] = ()
    """In these queues, GPUs of no type are of this one."""
    visible: str | None = None
    """The variable that tells a program its devices; "": none. None: by the resource's domain."""

    @property
    def full_name(self) -> str:
        """Its name as a resource of a chunk: `gpu:a100`."""
        return PREFIX + self.name

    @property
    def variable(self) -> str:
        if self.visible is not None:
            return self.visible
        return visible_variable(DEVICES + self.device_class if self.device_class else self.resource)

    def is_called(self, name: str) -> bool:
        return any(fnmatchcase(name.lower(), each.lower()) for each in (self.name, *self.aliases))


def devices_name(device_class: str, name: str, selectors: tuple[str, ...]) -> str:
    """By which the devices of an accelerator `name` are counted: all of a class are alike."""
    return f"{DEVICES}{device_class}:{name}" if selectors else DEVICES + device_class


def called(accelerators: Iterable[Accelerator], name: str) -> Accelerator | None:
    """The one that scripts mean by the type `name`: one of that very name goes before others."""
    known = tuple(accelerators)
    exact = (each for each in known if each.name == name)
    return next(exact, None) or next((each for each in known if each.is_called(name)), None)


def is_gpu(resource: str) -> bool:
    """Whether a resource of a chunk is a GPU, of a type or of any."""
    return resource in UNTYPED or resource.startswith(PREFIX)


def without_type(resource: str) -> str:
    """The name of a resource with `gpu` for each type of GPU, PBS's name for them too."""
    return UNTYPED[0] if is_gpu(resource) else resource


def gpus_of(resources: Iterable[tuple[str, int]]) -> int:
    """How many GPUs there are among the resources of a chunk, of all types."""
    return sum(amount for name, amount in resources if is_gpu(name))
