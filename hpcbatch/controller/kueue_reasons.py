"""Why Kueue does not let a job in: its Workload says it."""

from __future__ import annotations

from hpcbatch.api.port import Api, Object
from hpcbatch.api.resources import KUEUE_WORKLOADS
from hpcbatch.errors import ApiError, NotFoundError
from hpcbatch.model.scheduler import Scheduler
from hpcbatch.model.state import KUEUE_SAYS, Reason
from hpcbatch.policy.observed import Waiting
from hpcbatch.volcano.gangs.chosen import scheduler_of
from hpcbatch.volcano.gangs.kueue import workload_name


def why_kueue_waits(api: Api, volcano_job: Object) -> Waiting | None:
    """None: the job is none of Kueue's, is let in, or nothing is said (yet). Its Workload has the group's name."""
    if scheduler_of(volcano_job) is not Scheduler.KUEUE:
        return None
    workload = _workload(api, workload_name(volcano_job), volcano_job["metadata"]["namespace"])
    for condition in (workload.get("status") or {}).get("conditions") or ():
        if (condition["type"], condition["status"]) == ("QuotaReserved", "False") and condition.get("message"):
            return Waiting(reason=Reason.RESOURCES, message=f"{KUEUE_SAYS}{condition['message']}")
    return None


def _workload(api: Api, name: str, namespace: str) -> Object:
    """Empty while there is none, or if it may not be read: then the nodes are the reason."""
    for resource in KUEUE_WORKLOADS:
        try:
            return api.get(resource, name, namespace)
        except NotFoundError:  # or Kueue has not this version
            continue
        except ApiError:
            break
    return {}
