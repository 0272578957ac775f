"""The parts of the site file that say who decides which waiting job starts next, and where its script runs."""

from __future__ import annotations

from hpcbatch.model.site import Launcher, Policy
from hpcbatch.site.yaml_fields import Fields, UnfitError, text
from hpcbatch.typed import TYPE_CHECKING

if TYPE_CHECKING:
    import yaml


def read_policy(fields: Fields, default: Policy, *, autoscaling: bool) -> Policy:
    def read(node: yaml.Node) -> Policy:
        value = text(node)
        if value not in set(Policy):
            raise UnfitError(f"expected {' or '.join(Policy)}, found {value!r}")
        if autoscaling and value == Policy.BACKFILL:
            raise UnfitError("with autoscaling: true only volcano: no node is added for a job that is kept back")
        return Policy(value)

    return fields.take("policy", read, Policy.VOLCANO if autoscaling else default)


def read_launcher(node: yaml.Node) -> Launcher:
    value = text(node)
    if value not in set(Launcher):
        raise UnfitError(f"expected {' or '.join(Launcher)}, found {value!r}")
    return Launcher(value)
