"""Options of plugins (SPANK) that public scripts have: a site without the plugin refuses them, with it takes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase

from hpcbatch.dialects.slurm.getopt import Option, Takes
from hpcbatch.dialects.slurm.later_options import LATER
from hpcbatch.dialects.slurm.options import SbatchOption, Support

KNOWN: tuple[tuple[str, Takes, Support, str], ...] = (
    ("image", Takes.VALUE, Support.TRANSLATED, "the container image, as with the plugin shifter"),
    ("volume", Takes.VALUE, Support.IGNORED, "the site says which directories are mounted"),
    ("module", Takes.VALUE, Support.IGNORED, "there are no modules of shifter here"),
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
