"""How many jobs and processors Maui lets a user, a group or a class have at a time: as limits of PBS's server and
queues, which an operator gives to hpcbatch's qmgr. Source: Maui Administrator's Guide, 6.2.
"""

from __future__ import annotations

import re

from hpcbatch.site.importing.found import Found, Setting
from hpcbatch.site.importing.values import whole
from hpcbatch.typed import Final

_WORDS: Final = {"MAXJOB": "max_run", "MAXPROC": "max_run_res.ncpus", "MAXNODE": "max_run_res.nodect"}
_NAME: Final = re.compile(r"[\w.@-]+")
_EACH: Final = {"USERCFG": "u", "GROUPCFG": "g"}


def take(name: str, index: str, key: str, setting: Setting, found: Found) -> bool:
    """Whether it is such a limit: `USERCFG[ann] MAXPROC=8`, `CLASSCFG[short] MAXJOBPERUSER=2`."""
    word = key.partition("[")[0].removesuffix("PERUSER")
    if word not in _WORDS or (name not in _EACH and name != "CLASSCFG"):
        return False
    is_default = index.upper() == "DEFAULT"
    if name == "CLASSCFG":
        of, queue = ("u:PBS_GENERIC" if key.endswith("PERUSER") else "o:PBS_ALL"), "" if is_default else index
    else:
        of, queue = f"{_EACH[name]}:{'PBS_GENERIC' if is_default else index}", ""
    numbers = [whole(part.strip()) for part in setting.value.split(",")]
    amount = numbers[-1]
    if not _NAME.fullmatch(index):
        found.leave(setting, "its name has characters that no command line takes")
    elif "[" in key:
        found.leave(setting, "limits of one kind of job, such as a class's of one user, are not made")
    elif name == "CLASSCFG" and is_default:
        found.leave(setting, "it is of each queue: set it of each by qmgr")
    elif not amount or len(numbers) > 2:
        found.wrong(setting.place, f"{setting}: expected a whole number, or a soft and a hard one")
    else:
        typed = Setting(setting.place, _WORDS[word], f"[{of}={amount}]", "+=")
        found.typed.append((queue, typed))
        found.carried(setting)
        if len(numbers) == 2:
            found.leave(setting, "of a soft and a hard limit the hard one is made; qmgr's max_run_soft is the other")
    return True
