"""Turns an admitted job into the objects of its next run. The controller, the dry run and the check of an installation
all use it, so that they make the same objects.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hpcbatch.dialects.registry import door
from hpcbatch.model.array import Array
from hpcbatch.model.chunk import Chunk
from hpcbatch.model.placed import PlacedJob
from hpcbatch.model.site import QueueConfig, SiteConfig
from hpcbatch.model.spec import JobSpec
from hpcbatch.site.identity import Identity
from hpcbatch.typed import TYPE_CHECKING, Any
from hpcbatch.volcano import job_names, translate
from hpcbatch.volcano.gangs.registry import handed_over

if TYPE_CHECKING:
    from jinja2 import BaseLoader

Object = dict[str, Any]


def place(
    job_id: int,
    spec: JobSpec,
    layout: Sequence[Chunk],
    *,
    queue: QueueConfig,
    site: SiteConfig,
    owner: Identity,
    run_count: int = 1,
    array: Array | None = None,
) -> PlacedJob:
    """The job with its pods. `spec` has the granted walltime; `array` is a member's."""
    return PlacedJob(
        job_id=job_id,
        spec=spec,
        queue=queue.name,
        pods=job_names.pods(job_id, layout, site.launcher),
        launcher=site.launcher,
        owner=owner.user,
        uid=owner.uid,
        gid=owner.gid,
        home=owner.home,
        groups=owner.groups,
        cluster=site.server_name,
        image=spec.image or site.image_of(queue),
        volcano_queue=queue.volcano_queue,
        run_count=run_count,
        array=array,
    )


def objects(
    job: PlacedJob,
    site: SiteConfig,
    *,
    submission_secret: str,
    namespace: str,
    owner: Mapping[str, Any] | None = None,
    export_none: bool = False,
    loader: BaseLoader | None = None,
) -> list[Object]:
    """The ConfigMap, templates of claims to devices, and the Volcano Job of the run, in this order, with the variables,
    hosts and output of the job's dialect, for the site's scheduler. `owner` is an ownerReference. Raises HpcBatchError,
    see `volcano.translate.manifests`.
    """
    *others, volcano_job = translate.manifests(
        job,
        door(job.spec.dialect).run_setup(job),
        site,
        submission_secret=submission_secret,
        namespace=namespace,
        owner=owner,
        export_none=export_none,
        loader=loader,
    )
    return [*others, handed_over(volcano_job, site)]
