"""Options of plugins (SPANK) that public scripts have: a site without the plugin refuses them, with it takes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase

from hpcbatch.dialects.slurm.getopt import Option, Takes
from hpcbatch.dialects.slurm.later_options import LATER
from hpcbatch.dialects.slurm.options import SbatchOption, Support

_NO_MPS = "the site sets up how processes share a GPU"
_NO_COUNTERS = "who may read the counters of the hardware is the site's to say"
KNOWN: tuple[tuple[str, Takes, Support, str], ...] = (
    ("image", Takes.VALUE, Support.TRANSLATED, "the container image, as with the plugin shifter"),
    ("volume", Takes.VALUE, Support.IGNORED, "the site says which directories are mounted"),
    ("module", Takes.VALUE, Support.IGNORED, "there are no modules of shifter here"),
    ("no-container-entrypoint", Takes.NOTHING, Support.HONOURED, "the script is started, not the image's entry point"),
    ("no-container-remap-root", Takes.NOTHING, Support.HONOURED, "the job runs as its user, as with the plugin pyxis"),
    ("no-container-mount-home", Takes.NOTHING, Support.IGNORED, "the site says which directories are mounted"),
    ("environment", Takes.VALUE, Support.IGNORED, "there are no environments of images here; see --container-image"),
    ("singularity-*", Takes.VALUE, Support.IGNORED, "there is no singularity here; --container-image names an image"),
    ("uenv", Takes.VALUE, Support.IGNORED, "there are no user environments (uenv) here; the software is the image's"),
    ("view", Takes.VALUE, Support.IGNORED, "there are no user environments (uenv) here; the software is the image's"),
    ("nvmps", Takes.OPTIONAL, Support.IGNORED, _NO_MPS),
    ("gpu-mps", Takes.OPTIONAL, Support.IGNORED, _NO_MPS),
    ("cuda-mps", Takes.OPTIONAL, Support.IGNORED, _NO_MPS),
    ("gpu_cmode", Takes.VALUE, Support.IGNORED, "the mode of the GPUs is the node's"),
    ("perf", Takes.VALUE, Support.IGNORED, _NO_COUNTERS),
    ("hwctr", Takes.VALUE, Support.IGNORED, _NO_COUNTERS),
    ("monitoring", Takes.VALUE, Support.IGNORED, "the site sets up what is monitored"),
    ("disable-perfparanoid", Takes.OPTIONAL, Support.IGNORED, _NO_COUNTERS),
    ("disable-dcgm", Takes.OPTIONAL, Support.IGNORED, "the site sets up what is monitored"),
    ("disable-turbomode", Takes.OPTIONAL, Support.IGNORED, "the clock of the CPUs is the node's"),
    ("enable-turbo", Takes.OPTIONAL, Support.IGNORED, "the clock of the CPUs is the node's"),
    ("beeond", Takes.OPTIONAL, Support.IGNORED, "the site mounts what file systems there are; none is made for a job"),
    ("auks", Takes.VALUE, Support.IGNORED, "there are no Kerberos tickets here"),
    ("quotatype", Takes.VALUE, Support.IGNORED, "there are no kinds of quota here"),
    ("ear*", Takes.OPTIONAL, Support.IGNORED, "there is no energy management (EAR) here"),
    ("mpi", Takes.VALUE, Support.IGNORED, "it is an option of srun, where the tasks start"),
    ("cpu-bind", Takes.VALUE, Support.IGNORED, "it is an option of srun, where the tasks start"),
    ("cpu_bind", Takes.VALUE, Support.IGNORED, "it is an option of srun, where the tasks start"),
    ("x11", Takes.OPTIONAL, Support.IGNORED, "no X server is forwarded to a batch job"),
)


def plugin_option(name: str, of_site: Callable[[], Mapping[str, str]] | None) -> Option | None:
    """The plugin's option of this long name, the site's before those known; None: there is none."""
    for pattern, reason in (of_site() if of_site else {}).items():
        if fnmatchcase(f"--{name}", pattern) or fnmatchcase(name, pattern):
            known = next((takes for known, takes, _, _ in KNOWN if fnmatchcase(name, known)), Takes.OPTIONAL)
            return SbatchOption(name=name, takes=known, support=Support.IGNORED, meaning=reason)
    for known_name, takes, support, meaning in KNOWN:
        if fnmatchcase(name, known_name):
            return SbatchOption(name=name, takes=takes, support=support, meaning=meaning)
    return LATER.get(name)
