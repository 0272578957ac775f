"""Whether the user may do more than work with jobs of his own."""

from __future__ import annotations

from hpcbatch.api.port import Api
from hpcbatch.api.resources import ACCESS_REVIEWS, BATCHJOBS
from hpcbatch.errors import ForbiddenError


def may_change_all(api: Api) -> bool:
    """Whether this user may change everybody's jobs: what PBS calls an operator or manager, Slurm an administrator."""
    asked = {"group": BATCHJOBS.group, "resource": BATCHJOBS.plural, "verb": "update"}
    review = {
        "apiVersion": ACCESS_REVIEWS.api_version,
        "kind": ACCESS_REVIEWS.kind,
        "metadata": {},
        "spec": {"resourceAttributes": asked},
    }
    return bool(api.create(ACCESS_REVIEWS, review)["status"].get("allowed"))


def check_may_change_all(api: Api, what: str) -> None:
    """Raise ForbiddenError for users who may not change all jobs; `what` says what they tried: `reruns one`."""
    if not may_change_all(api):
        raise not_permitted(what)


def not_permitted(what: str) -> ForbiddenError:
    return ForbiddenError(403, "Forbidden", f"only who may change all jobs {what}")
