"""-gpu: `num=2:mode=exclusive_process:gmodel=A100`, or `-` for one shared GPU."""

from __future__ import annotations

import re

from hpcbatch.model.outcome import Fate
from hpcbatch.typed import NamedTuple

_NUM = re.compile(r"([0-9]{1,6})(?:/(task|host))?", re.ASCII)
_IGNORED = {
    "mode": "a pod's GPUs are its own, or shared as the site's device plugin says",
    "mps": "the site's device plugin says whether GPUs have MPS",
    "j_exclusive": "a pod's GPUs are its own",
    "jx": "a pod's GPUs are its own",
    "aff": "pods do not bind processes to what is near a GPU",
    "nvlink": "which GPUs are linked is the node's",
    "glink": "which GPUs are linked is the node's",
    "block": "which GPUs a slot has is the program's to choose",
    "gpack": "the scheduler chooses the nodes",
    "dcgm": "GPUs are watched by the site",
    "gvendor": "which GPUs there are the site's resource says",
    "gtile": "a pod's GPUs are those of its node",
    "gmem": "a pod gets whole GPUs, with all of their memory",
    "mig": "slices of GPUs are resources of the site: rusage[name=n]",
}


class GpuRequest(NamedTuple):
    number: int = 1
    per_task: bool = False
    model: str = ""
    told: tuple[tuple[str, Fate, str], ...] = ()


def read_gpu(text: str) -> GpuRequest:
    """Raises ValueError with what was expected."""
    if text.strip() == "-":
        return GpuRequest(told=(("-", Fate.TRANSLATED, "one GPU of each host"),))
    count, per_task, model = 1, False, ""
    told: list[tuple[str, Fate, str]] = []
    for part in filter(None, (part.strip() for part in text.split(":"))):
        name, equals, value = (word.strip() for word in part.partition("="))
        match = _NUM.fullmatch(value)
        if name == "num" and match is not None and int(match[1]) > 0:
            count, per_task = int(match[1]), match[2] == "task"
            told.append((part, Fate.TRANSLATED, f"GPUs of each {'slot' if per_task else 'host'}"))
        elif name == "gmodel" and value:
            model = value
            told.append((part, Fate.TRANSLATED, "the model of the GPUs, for the site to know: gpu_model"))
        elif name in _IGNORED and equals:
            told.append((part, Fate.IGNORED, _IGNORED[name]))
        else:
            raise ValueError("num=number:mode=shared|exclusive_process:gmodel=name …, or -")
    return GpuRequest(count, per_task, model, tuple(told))
