"""Whether the user may change other users' jobs."""

from __future__ import annotations

from hpcbatch.api.port import Api
from hpcbatch.api.resources import ACCESS_REVIEWS, BATCHJOBS
from hpcbatch.errors import ForbiddenError


def may_change_all(api: Api) -> bool:
    """Whether this user may change everybody's jobs: PBS's operator or manager, Slurm's administrator."""
    attributes = {"group": BATCHJOBS.group, "resource": BATCHJOBS.plural, "verb": "update"}
    review = {
        "apiVersion": ACCESS_REVIEWS.api_version,
        "kind": ACCESS_REVIEWS.kind,
        "metadata": {},
        "spec": {"resourceAttributes": attributes},
    }
    return bool(api.create(ACCESS_REVIEWS, review)["status"].get("allowed"))


def check_may_change_all(api: Api, what: str) -> None:
    """Raise ForbiddenError for users who may not change all jobs; `what` describes the attempt: `reruns one`."""
    if not may_change_all(api):
        raise not_permitted(what)


def not_permitted(what: str) -> ForbiddenError:
    return ForbiddenError(403, "Forbidden", f"only who may change all jobs {what}")
