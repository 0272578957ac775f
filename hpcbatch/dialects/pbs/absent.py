"""PBS's commands that are not here: what each says, and what there is instead."""

from __future__ import annotations

from collections.abc import Mapping

from hpcbatch.dialects.pbs.errors import PbsError
from hpcbatch.model.not_here import DAEMONS, PASSWORDS
from hpcbatch.typed import NamedTuple

_REFUSED = "Unauthorized Request "
_OUTSIDE = "not executing under PBS"
_NOT_HERE = "not supported here"


class Absent(NamedTuple):
    error: str
    """As PBS says it where it can not."""
    instead: str
    code: int = 1


_ON_MPI = "mpirun and mpiexec of Open MPI, MPICH and Intel MPI know a job's hosts by themselves (docs/mpi.md)"
COMMANDS: Mapping[str, Absent] = {
    "nqs2pbs": Absent(
        _NOT_HERE, "`qsub` reads NQSV's options as they are; `hpcbatch explain` shows what becomes of them"
    ),
    "pbs_attach": Absent(_OUTSIDE, "all that a job starts belongs to it without being attached"),
    **dict.fromkeys(
        (
            "pbs_comm",
            "pbs_dataservice",
            "pbs_ds_password",
            "pbs_idled",
            "pbs_iff",
            "pbs_mom",
            "pbs_sched",
            "pbs_server",
        ),
        Absent(_NOT_HERE, DAEMONS),
    ),
    "pbs_hostn": Absent(_NOT_HERE, "`getent hosts NAME` shows what a host's name means"),
    "pbs_mkdirs": Absent(_NOT_HERE, "there are no spool directories to make: Kubernetes keeps jobs"),
    "pbs_mpihp": Absent(_NOT_HERE, _ON_MPI),
    "pbs_mpilam": Absent(_NOT_HERE, _ON_MPI),
    "pbs_mpirun": Absent(_NOT_HERE, _ON_MPI),
    "pbs_lamboot": Absent(_NOT_HERE, _ON_MPI),
    "pbs_password": Absent(_NOT_HERE, PASSWORDS),
    "pbs_probe": Absent(_NOT_HERE, "`hpcbatch check` shows what is wrong with a cluster"),
    "pbs_python": Absent(_NOT_HERE, "python3 runs scripts; there are no hooks and there is no module `pbs`"),
    "pbs_release_nodes": Absent(_REFUSED, "a job keeps its hosts until it ends: Kubernetes holds them together", 159),
    "pbs_remsh": Absent(_OUTSIDE, "in a script `ssh HOST` and `pbsdsh` reach the hosts of the job"),
    "pbs_snapshot": Absent(_NOT_HERE, "`hpcbatch check` and `kubectl cluster-info dump` show a cluster's state"),
    "pbs_tclsh": Absent(_NOT_HERE, "`qstat -f -F json`, `pbsnodes -F json` and `qmgr` serve programs"),
    "pbs_tmrsh": Absent(_OUTSIDE, "in a script it reaches the hosts of the job; from outside nobody reaches them", 255),
    "pbs_wish": Absent(_NOT_HERE, "`qstat -f -F json`, `pbsnodes -F json` and `qmgr` serve programs"),
    "pbs_topologyinfo": Absent(_NOT_HERE, "`pbsnodes -a` and `lshosts` show the CPUs of hosts"),
    "pbs_upgrade_job": Absent(_NOT_HERE, DAEMONS),
    "pbsdsh": Absent(
        _OUTSIDE, "in a script it starts programs on the hosts of the job; `srun` does so from a login, too"
    ),
    "pbsrun": Absent(_NOT_HERE, _ON_MPI),
    "pbsrun_unwrap": Absent(_NOT_HERE, _ON_MPI),
    "pbsrun_wrap": Absent(_NOT_HERE, _ON_MPI),
    "printjob": Absent(_NOT_HERE, "`qstat -fx`, `tracejob` and `kubectl get batchjob -o yaml` show all of a job"),
    "qterm": Absent(_REFUSED, DAEMONS, 159),
}


def refusal(command: str) -> PbsError:
    absent = COMMANDS[command]
    return PbsError(f"{absent.error}\nhpcbatch has no {command} here: {absent.instead}", absent.code)
