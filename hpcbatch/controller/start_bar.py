"""Which pod may start a job's script: kept in the job's ConfigMap, for pods that come later than expected."""

from __future__ import annotations

from hpcbatch.api.port import Api
from hpcbatch.api.resources import CONFIGMAPS, PODS
from hpcbatch.errors import NotFoundError
from hpcbatch.model.labels import JOB_ID_LABEL
from hpcbatch.model.record import JobRecord
from hpcbatch.policy.views import has_word
from hpcbatch.volcano import job_conf, job_names


class StartBar:
    """The first pod alone starts the script of a job that must not run twice, and only after that is in the API.

    Volcano may recreate a deleted pod before it ends the job. So the pod waits (runner/script/master.sh) until its own
    uid is in the ConfigMap and it is allowed to start; a later pod finds the other's uid there.
    """

    def __init__(self, api: Api) -> None:
        self._api = api
        self._first: dict[int, str] = {}  # by job, the uid of the pod that may start it

    def let_start(self, record: JobRecord, pod_uid: str) -> bool:
        """Bar all pods but this one of a job that must not run twice, unless another was first; whether this one may
        start. Of another job it may, unless that was withdrawn. Raises ConflictError.
        """
        if record.job_id in self._first:
            return self._first[record.job_id] == pod_uid
        name, namespace = job_names.conf_name(record.job_id), record.namespace
        try:
            conf = self._api.get(CONFIGMAPS, name, namespace)
        except NotFoundError:
            return False  # without the ConfigMap no pod starts
        first = job_conf.first_pod(conf)
        if record.spec.rerunnable:
            return first != job_conf.NO_POD
        if first is None:
            version = {"metadata": {"resourceVersion": conf["metadata"]["resourceVersion"]}}
            self._api.patch(CONFIGMAPS, name, {**version, **job_conf.bar_rerun(pod_uid)}, namespace)
            first = pod_uid
        self._first[record.job_id] = first
        return first == pod_uid

    def forget(self, job_id: int) -> None:
        """The job has ended, or starts again."""
        self._first.pop(job_id, None)

    def has_started(self, record: JobRecord) -> bool:
        """A pod was allowed to start a job that must not run twice; nothing else may be known of it."""
        if record.spec.rerunnable or record.status.start_time is not None:
            return False
        try:
            conf = self._api.get(CONFIGMAPS, job_names.conf_name(record.job_id), record.namespace)
        except NotFoundError:
            return False
        return job_conf.first_pod(conf) not in {None, job_conf.NO_POD}

    def withdraw(self, record: JobRecord, *, in_part: bool = False) -> bool:
        """Let no pod start the script any more; False if one may have, which the cache did not show yet: one that has a
        node, or if the job has some of its nodes `in_part`, one that has been let start.

        A pod that gets its node between the two requests, or after a kill between them, reports that it was withdrawn.
        """
        try:
            self._api.patch(CONFIGMAPS, job_names.conf_name(record.job_id), job_conf.WITHDRAWN, record.namespace)
        except NotFoundError:
            pass  # without the ConfigMap no pod starts
        listed = self._api.list(PODS, record.namespace, labels=f"{JOB_ID_LABEL}={record.job_id}")
        return not any(has_word(pod) if in_part else pod["spec"].get("nodeName") for pod in listed.items)
