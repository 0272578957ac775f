"""Tests the site's own Volcano Job template before it takes effect: on a job of one pod and on one of three."""

from __future__ import annotations

from hpcbatch.errors import HpcBatchError
from hpcbatch.model.chunk import Chunk
from hpcbatch.model.dialect import Dialect
from hpcbatch.model.labels import JOB_ID_LABEL
from hpcbatch.model.placed import OutputFiles, PlacedJob, RunSetup
from hpcbatch.model.site import SiteConfig
from hpcbatch.model.spec import JobSpec
from hpcbatch.typed import TYPE_CHECKING, Any
from hpcbatch.volcano import job_names, translate
from hpcbatch.volcano.admission import mutate_job, validate_job

if TYPE_CHECKING:
    from jinja2 import BaseLoader

_NAMESPACE = "sample"
_SAMPLES = {"a job of one pod": 1, "a job of three pods": 3}


def try_template(site: SiteConfig, template: str | None) -> tuple[BaseLoader | None, list[str]]:
    """The loader for the template `template` (None: the one of hpcbatch), and the errors of the objects that it makes
    of sample jobs under `site`."""
    from jinja2 import DictLoader

    loader = None if template is None else DictLoader({translate.TEMPLATE: template})
    problems: list[str] = []
    for what, count in _SAMPLES.items():
        fault = _fault(_sample(site, count), site, loader)
        if fault and fault not in problems:
            problems.append(fault if problems or template is None else f"for {what}: {fault}")
    return loader, problems


def _sample(site: SiteConfig, pods: int) -> PlacedJob:
    spec = JobSpec(dialect=Dialect.PBS, name="sample", chunks=(Chunk(count=pods),), submit_dir="/home/sample")
    queue = site.queue(site.default_queue)
    if queue is None:
        raise AssertionError("a site's default queue is one of its queues")
    return PlacedJob(
        job_id=1,
        spec=spec,
        queue=queue.name,
        pods=job_names.pods(1, spec.chunks, site.launcher),
        owner="sample",
        uid=1000,
        gid=1000,
        home="/home/sample",
        groups=((2000, "samples"),),
        cluster=site.server_name,
        image=site.image_of(queue),
        volcano_queue=queue.volcano_queue,
        launcher=site.launcher,
    )


def _fault(job: PlacedJob, site: SiteConfig, loader: BaseLoader | None) -> str:
    setup = RunSetup(output=OutputFiles(stdout="/home/sample/out", stderr=None))
    try:
        objects = translate.manifests(
            job,
            setup,
            site,
            submission_secret="sample",  # noqa: S106  a name, not a secret
            namespace=_NAMESPACE,
            owner=None,
            loader=loader,
        )
    except HpcBatchError as error:
        return str(error)
    except Exception as error:  # any error of the template's own expressions
        return f"template {translate.TEMPLATE}: {type(error).__name__}: {error}"
    return _misses(job, objects[-1]) or _refused(objects[-1])


def _misses(job: PlacedJob, made: dict[str, Any]) -> str:
    """What is missing that the controller relies on: a site may change everything else."""
    metadata = made.get("metadata") or {}
    name = job_names.job_name(job.job_id)
    if (made.get("apiVersion"), made.get("kind")) != ("batch.volcano.sh/v1alpha1", "Job"):
        return "expected a Job of batch.volcano.sh/v1alpha1"
    if (metadata.get("name"), metadata.get("namespace")) != (name, _NAMESPACE):
        return "metadata: expected `name: {{ name | tojson }}` and `namespace: {{ namespace | tojson }}`"
    number = {JOB_ID_LABEL: str(job.job_id)}
    tasks = (made.get("spec") or {}).get("tasks") or []
    labelled = [metadata, *((task.get("template") or {}).get("metadata") or {} for task in tasks)]
    if any(not number.items() <= (part.get("labels") or {}).items() for part in labelled):
        return "labels: expected `labels` on the job and `pod_labels` on each task's template"
    made_pods = [f"{name}-{t.get('name')}-{i}" for t in tasks for i in range(int(t.get("replicas") or 0))]
    if made_pods != list(job_names.pod_names(job.job_id, job.spec.chunks, job.launcher)):
        return "spec.tasks: expected a task for each of `tasks`, in this order, with its name and replicas"
    return ""


def _refused(made: dict[str, Any]) -> str:
    """Volcano's refusal, except for the queue, which may be made later."""
    queue = {"metadata": {"name": "any"}, "status": {"state": "Open"}}
    try:
        validate_job(mutate_job(made), find_queue=lambda _: queue, child_queues=lambda _: ())
    except HpcBatchError as error:
        return f"Volcano would refuse it: {error}"
    return ""
