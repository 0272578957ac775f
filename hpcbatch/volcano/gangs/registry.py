"""All schedulers for gangs, and the hand-over of a job to the one that the site has."""

from __future__ import annotations

from collections.abc import Mapping

from hpcbatch.errors import ApiError, HpcBatchError
from hpcbatch.model.scheduler import Scheduler
from hpcbatch.model.site import SiteConfig
from hpcbatch.typed import Final
from hpcbatch.volcano.admission import mutate_job, validate_job
from hpcbatch.volcano.gangs.chosen import SCHEDULER, scheduler_of
from hpcbatch.volcano.gangs.coscheduling import Coscheduling
from hpcbatch.volcano.gangs.facts import PLACE_TIMEOUT
from hpcbatch.volcano.gangs.koordinator import Koordinator
from hpcbatch.volcano.gangs.kueue import Kueue, check_roles
from hpcbatch.volcano.gangs.none import NoGang
from hpcbatch.volcano.gangs.port import Gang, Object
from hpcbatch.volcano.gangs.volcano import VolcanoGang
from hpcbatch.volcano.pinned import noted

_DENIED: Final = "denied the request: "

VOLCANO: Final = VolcanoGang()
GANGS: Final[Mapping[Scheduler, Gang]] = {
    Scheduler.VOLCANO: VOLCANO,
    Scheduler.COSCHEDULING: Coscheduling(),
    Scheduler.KOORDINATOR: Koordinator(),
    Scheduler.KUEUE: Kueue(),
    Scheduler.NONE: NoGang(),
}


def handed_over(volcano_job: Object, site: SiteConfig) -> Object:
    """The Volcano Job for the site's scheduler; for Volcano as it is. Without Volcano there is no webhook that fills in
    its defaults and refuses a bad one, either: HpcBatchError, as a template of the site's own may give it. Whether its
    queue is there and open has been looked at before.
    """
    if site.scheduler.makes_pods:
        return volcano_job
    spec = {**volcano_job["spec"], "schedulerName": site.scheduler_name}
    try:
        volcano_job = mutate_job({**volcano_job, "spec": spec})
        validate_job(volcano_job, find_queue=lambda _: {}, child_queues=lambda _: [])
    except ApiError as error:
        raise HpcBatchError(f"no valid Volcano Job: {error.message.partition(_DENIED)[2] or error.message}") from None
    if site.scheduler is Scheduler.KUEUE:
        check_roles(volcano_job)
    volcano_job = noted(volcano_job, PLACE_TIMEOUT, str(site.place_timeout_s))
    return noted(volcano_job, SCHEDULER, str(site.scheduler))


def gang_of(volcano_job: Object) -> Gang | None:
    """What hpcbatch's controller makes its pods for; None if Volcano makes them."""
    scheduler = scheduler_of(volcano_job)
    return None if scheduler.makes_pods else GANGS[scheduler]
