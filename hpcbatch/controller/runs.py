"""Makes the objects of a job's run: its ConfigMap, its Volcano Job, and what these need in the cluster."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from hpcbatch.api.port import Api, Object
from hpcbatch.api.resources import CLAIM_TEMPLATES, CONFIGMAPS, PRIORITY_CLASSES, VOLCANO_JOBS, Resource
from hpcbatch.controller.arrays import Arrays
from hpcbatch.controller.intake import Intake
from hpcbatch.controller.let_in import LetIn
from hpcbatch.controller.license_gate import LicenseGate
from hpcbatch.controller.plan_gate import PlanGate
from hpcbatch.controller.records import Admitted, digest_of, owner_reference, record_of, write_status
from hpcbatch.controller.site_source import SiteSource
from hpcbatch.controller.start_bar import StartBar
from hpcbatch.controller.volcano_jobs import VolcanoJobs
from hpcbatch.dataclass import replace
from hpcbatch.errors import AlreadyExistsError, ApiError, HpcBatchError, NotFoundError
from hpcbatch.model.labels import MADE_FROM_ANNOTATION
from hpcbatch.model.record import JobRecord
from hpcbatch.model.site import QueueConfig
from hpcbatch.model.state import Reason
from hpcbatch.policy.admission import closed_because
from hpcbatch.policy.observed import Waiting
from hpcbatch.policy.place import objects, place
from hpcbatch.policy.routing import waits_in
from hpcbatch.policy.stops import stopped_because
from hpcbatch.site.file import Site
from hpcbatch.site.identity import Identity
from hpcbatch.volcano import translate
from hpcbatch.volcano.delivery import delivery

_DENIED = frozenset({400, 403, 422})  # a webhook, a quota or a policy refuses it
_RESOURCE: Final[Mapping[str, Resource]] = {each.kind: each for each in (CONFIGMAPS, CLAIM_TEMPLATES, VOLCANO_JOBS)}


class Runs:
    def __init__(
        self,
        api: Api,
        sites: SiteSource,
        *,
        intake: Intake,
        arrays: Arrays,
        volcano_jobs: VolcanoJobs,
        start_bar: StartBar,
        licenses: LicenseGate,
        plan: PlanGate,
        let_in: LetIn | None,
        wrote: Callable[[Object], None],
    ) -> None:
        self._api, self._sites, self._intake, self._arrays = api, sites, intake, arrays
        self._volcano_jobs, self._start_bar, self._licenses, self._plan = volcano_jobs, start_bar, licenses, plan
        self._let_in, self._wrote = let_in, wrote
        self._runner_in: set[str] = set()
        self._priorities: set[int] = set()
        self._confs: dict[int, str] = {}  # the last content of an altered job's ConfigMap

    def create(self, job: Admitted) -> tuple[Admitted, Waiting | None]:
        """Make the Volcano Job, or return what prevents that; and the job as it is then."""
        if (obstacle := self._take(job)) is None:
            job = self._with_walltime(job)
            obstacle = self._make(job)
        return job, obstacle

    def _take(self, job: Admitted) -> Waiting | None:
        """Have the job's licences and its place in the plan, or return what prevents that."""
        record, site = job.record, self._sites.in_force
        queue = site.config.queue(record.queue)
        if queue is None:
            text = f"queue {record.queue} is no longer in the site's configuration"
            return self._kept_out(record, Waiting(reason=Reason.QUEUE_UNAVAILABLE, message=text))
        if queue.destinations is not None:
            return self._kept_out(record, Waiting(reason=Reason.QUEUE_UNAVAILABLE, message=waits_in(queue)))
        if why := closed_because(queue, self._intake.volcano_state(queue.volcano_queue)):
            return self._kept_out(record, Waiting(reason=Reason.QUEUE_UNAVAILABLE, message=why))
        if (stopped := stopped_because(queue, self._intake.switches(queue.volcano_queue))) is not None:
            return self._kept_out(record, stopped)
        if (obstacle := self._licenses.take(record, site.config)) is not None:
            return self._kept_out(record, obstacle)
        if (behind := self._plan.take(record)) is not None:
            self._licenses.give_back(record.job_id)
            return behind
        return None

    def _with_walltime(self, job: Admitted) -> Admitted:
        """The job with the walltime that the plan has given it. It is written before anything is made, so that the run
        and its record have the same one whenever the controller dies.
        """
        released = self._plan.released(job.record)
        if released.status == job.record.status:
            return job
        written = write_status(self._api, job.obj, released, job.volcano_job)
        self._wrote(written)
        return Admitted(written, record_of(written))

    def _make(self, job: Admitted) -> Waiting | None:
        record, site = job.record, self._sites.in_force
        queue = site.config.queue(record.queue)
        if queue is None:
            text = f"queue {record.queue} is no longer in the site's configuration"
            return self._kept_out(record, Waiting(reason=Reason.QUEUE_UNAVAILABLE, message=text))
        try:
            *others, volcano_job = self._manifests(job, queue, site)
        except HpcBatchError as error:  # the site has changed since the job was admitted
            return self._kept_out(record, Waiting(reason=Reason.NEVER_FITS, message=str(error)))
        self._ensure_runner(record.namespace)
        self._ensure_priority(translate.weight_in(queue, record.spec))
        for obj in (*others, self._plan.placed(record, volcano_job)):
            try:
                made = self._api.create(_RESOURCE[obj["kind"]], obj, record.namespace)
                if obj["kind"] == VOLCANO_JOBS.kind:
                    self._volcano_jobs.was_made(made)
                    if self._let_in is not None:
                        self._let_in.was_made(made)
            except AlreadyExistsError:  # made before a kill, or for the run before this one
                if obj["kind"] == CONFIGMAPS.kind:
                    self._start_bar.forget(record.job_id)
                    self._api.replace(CONFIGMAPS, obj, record.namespace)
                elif obj["kind"] == CLAIM_TEMPLATES.kind:  # its name says what it claims, not whose it is
                    owned = {"metadata": {"ownerReferences": obj["metadata"]["ownerReferences"]}}
                    self._api.patch(CLAIM_TEMPLATES, obj["metadata"]["name"], owned, record.namespace)
            except NotFoundError as error:
                if obj["kind"] != CLAIM_TEMPLATES.kind:
                    raise
                text = f"this cluster does not serve resource.k8s.io/v1, by which devices are claimed: {error}"
                return self._kept_out(record, Waiting(reason=Reason.RESOURCES, message=text), was_denied=True)
            except ApiError as error:
                if error.code not in _DENIED:
                    raise
                return self._kept_out(record, Waiting(reason=Reason.RESOURCES, message=str(error)), was_denied=True)
        return None

    def _kept_out(self, record: JobRecord, why: Waiting, *, was_denied: bool = False) -> Waiting:
        """`why`, once the job holds neither licences nor a place in the plan."""
        self._licenses.give_back(record.job_id)
        self._plan.give_back(record, was_denied=was_denied)
        return why

    def refresh(self, job: Admitted) -> bool:
        """Update what an altered job's runner reads, so that the job keeps its place; False if its Volcano Job changes
        too and has to be made again.
        """
        record, site = job.record, self._sites.in_force
        made, queue = self._volcano_jobs.of(job), site.config.queue(record.queue)
        if made is None or queue is None:
            return made is None
        try:
            conf, *_, volcano_job = self._manifests(job, queue, site)
        except HpcBatchError:  # the site has changed; `create` reports the error
            return False
        found = made["metadata"].get("annotations") or {}
        if found.get(MADE_FROM_ANNOTATION) != volcano_job["metadata"]["annotations"][MADE_FROM_ANNOTATION]:
            return False
        digest = digest_of(conf)
        if self._confs.get(record.job_id) != digest:
            self._api.replace(CONFIGMAPS, conf, record.namespace)
            self._confs[record.job_id] = digest
        return True

    def is_made(self, job: Admitted) -> bool:
        """Whether the job has a Volcano Job."""
        return self._volcano_jobs.of(job) is not None

    def withdraw(self, job: Admitted) -> bool:
        """Let no pod start the job as it was; False if one may have, see StartBar.withdraw."""
        self.forget_conf(job.record.job_id)
        return self._start_bar.withdraw(job.record)

    def forget_conf(self, job_id: int) -> None:
        """The job's ConfigMap is no longer as `refresh` made it."""
        self._confs.pop(job_id, None)

    def delivery(self, job: Admitted, queue: QueueConfig, site: Site) -> Object:
        """The Volcano Job that delivers the output of an ended job."""
        self._ensure_priority(translate.weight_in(queue, job.record.spec))  # altered since the run was made
        return delivery(self._manifests(job, queue, site)[-1], site.config)

    def _manifests(self, job: Admitted, queue: QueueConfig, site: Site) -> list[Object]:
        record, config, status = job.record, site.config, job.record.status
        placed = place(
            record.job_id,
            replace(record.spec, walltime_s=record.walltime_s),
            status.layout,
            queue=queue,
            site=config,
            owner=Identity(user=status.owner, uid=status.uid, gid=status.gid, home=status.home, groups=status.groups),
            run_count=status.run_count + 1,
            array=self._arrays.array_of(record),
        )
        *others, volcano_job = objects(
            placed,
            config,
            submission_secret=job.obj["spec"]["submissionSecret"],
            namespace=record.namespace,
            owner=owner_reference(job.obj),
            export_none=bool(job.obj["spec"].get("exportNone")),
            loader=site.loader,
        )
        notes = volcano_job["metadata"].setdefault("annotations", {})
        notes[MADE_FROM_ANNOTATION] = digest_of(volcano_job)
        return [*others, volcano_job]

    def _ensure_runner(self, namespace: str) -> None:
        if namespace in self._runner_in:
            return
        try:
            self._api.create(CONFIGMAPS, translate.runner_configmap(namespace), namespace)
        except AlreadyExistsError:
            pass
        self._runner_in.add(namespace)

    def _ensure_priority(self, priority: int) -> None:
        if priority == 0 or priority in self._priorities:
            return
        try:
            self._api.create(PRIORITY_CLASSES, translate.priority_class(priority))
        except AlreadyExistsError:
            pass
        self._priorities.add(priority)
