"""LSF's commands that are not here: what each says, and what there is instead."""

from __future__ import annotations

from collections.abc import Mapping

from hpcbatch.dialects.lsf.errors import LsfError
from hpcbatch.model.not_here import DAEMONS, PASSWORDS
from hpcbatch.typed import Final

_NOT_HERE: Final = "nothing here corresponds to it"

COMMANDS: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        ("badmin", "lsadmin", "lsfmon", "lsfrestart", "lsfshutdown", "lsfstartup"),
        DAEMONS,
    ),
    "bapp": "there are no application profiles; `bqueues -l` shows what a queue has set",
    **dict.fromkeys(
        ("bchkpnt", "bmig", "brestart"),
        "no checkpoints are written here; `brequeue` starts a job again",
    ),
    **dict.fromkeys(
        ("bclusters", "lsclusters"),
        "there is one cluster; `lsid` shows its name",
    ),
    "bconf": "settings are in the site's file (docs/site.md); `bparams` and `scontrol show config` show them",
    **dict.fromkeys(
        (
            "bctrld",
            "bdata",
            "bentags",
            "bgpinfo",
            "bimages",
            "bladmin",
            "blcollect",
            "blcstat",
            "blhosts",
            "blinfo",
            "blkill",
            "blparams",
            "blstat",
            "bltasks",
            "blusers",
            "bqc",
            "brlainfo",
            "bsla",
            "bslots",
            "bstage",
            "bsubmit",
            "taskman",
            "tspeek",
            "tssub",
        ),
        _NOT_HERE,
    ),
    **dict.fromkeys(
        ("bgadd", "bgdel", "bgmod", "bjgroup"),
        "there are no job groups; `bsub -J NAME` and `bjobs -J NAME` keep jobs together",
    ),
    "bhpart": "`sshare` shows shares",
    "bjdepinfo": "`bjobs -l` and `scontrol show job` show what a job waits for",
    **dict.fromkeys(
        ("blaunch", "jsrun"),
        "it starts programs on the hosts of the job, in a script; `bsub -Is` gives a shell in a job",
    ),
    **dict.fromkeys(
        ("blimits", "bresources"),
        "`sacctmgr show qos` and `qmgr -c 'list server'` show limits, `sinfo` resources",
    ),
    **dict.fromkeys(
        ("bmgroup", "bugroup"),
        "`sacctmgr show assoc` shows who is in which account, `bhosts` and `sinfo` show hosts",
    ),
    **dict.fromkeys(
        ("bpost", "bread", "bstatus"),
        "jobs carry no messages; `bsub -Jd` describes a job, and `bmod -Jd` changes that",
    ),
    "bresize": "a running job keeps its hosts until it ends",
    **dict.fromkeys(
        ("brsvadd", "brsvdel", "brsvjob", "brsvmod", "brsvsub"),
        "operators make reservations with `scontrol create reservation` or `pbs_rsub` (docs/reservations.md)",
    ),
    "brsvs": "`scontrol show reservation` and `pbs_rstat` show reservations",
    "brun": "operators have a job start first with `qrun`",
    "bwait": "`bsub -w` and `bsub -K` wait for jobs",
    **dict.fromkeys(
        ("lsacct", "lsacctmrg"),
        "`bacct` and `sacct` sum up jobs",
    ),
    **dict.fromkeys(
        (
            "lseligible",
            "lsinfo",
            "lsloadadj",
            "lslockhost",
            "lsltasks",
            "lsmon",
            "lsplace",
            "lsreghost",
            "lsrtasks",
            "lsunlockhost",
        ),
        "`lshosts`, `bhosts` and `lsload` show hosts; the scheduler chooses among them",
    ),
    **dict.fromkeys(
        ("lsgrun", "lslogin", "lsmake", "lsrcp", "lsrun", "lstcsh"),
        "nothing runs outside of jobs; in one of `bsub -Is bash`, `ssh` and `blaunch` reach its hosts",
    ),
    "lspasswd": PASSWORDS,
}
"""Name → what there is instead."""


def refusal(command: str) -> LsfError:
    return LsfError(f"Not supported here\nhpcbatch has no {command}: {COMMANDS[command]}")
