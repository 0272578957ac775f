"""What a site's file says of accounts and of who goes first."""

from __future__ import annotations

from collections.abc import Callable

import yaml

from hpcbatch.errors import HpcBatchError
from hpcbatch.model.formula import check_formula
from hpcbatch.model.priority import PriorityConfig, ShortJobs
from hpcbatch.model.site import Policy
from hpcbatch.site.yaml_fields import Fields, UnfitError, boolean, list_of, number, text
from hpcbatch.typed import Final

ENFORCEABLE: Final = ("associations", "limits", "qos")


def read_enforced(fields: Fields) -> frozenset[str]:
    """`accountingEnforce: [limits, qos]`, or the same as a text, with Slurm's words."""
    return fields.take("accountingEnforce", _enforced, frozenset())


def _enforced(node: yaml.Node) -> frozenset[str]:
    words = list_of(text)(node) if isinstance(node, yaml.SequenceNode) else tuple(text(node).split(","))
    found = {word.strip().lower() for word in words} - {"none"}
    for word in sorted(found - set(ENFORCEABLE)):
        raise UnfitError(f"expected some of {', '.join(ENFORCEABLE)}, found {word}")
    return frozenset(found | {"associations"}) if found else frozenset()


PRIORITY_KEYS: Final = (
    *("type", "weightAge", "weightAssoc", "weightFairshare", "weightJobSize", "weightPartition", "weightQOS"),
    *("weightTRES", "maxAge", "favorSmall", "sizeRelative", "decayHalfLife", "calcPeriod"),
    *("fairTree", "dampening", "partitionFactors", "formula"),
)
SHORT_FIRST_KEYS: Final = ("walltime", "delay")
_MOST = 10**9 - 1


def read_priority(fields: Fields, duration: Callable[[yaml.Node], int]) -> PriorityConfig | None:
    """Who goes first; None without that key."""
    node = fields.get("priority")
    if node is None:
        return None
    given = Fields(node, PRIORITY_KEYS, fields.problems, fields.file, fields.key("priority"))
    if not given.is_mapping:
        return None
    none = PriorityConfig()
    weight = number(0, _MOST)
    return PriorityConfig(
        is_multifactor=given.take("type", _type, False),
        weight_age=given.take("weightAge", weight, 0),
        weight_assoc=given.take("weightAssoc", weight, 0),
        weight_fair_share=given.take("weightFairshare", weight, 0),
        weight_job_size=given.take("weightJobSize", weight, 0),
        weight_partition=given.take("weightPartition", weight, 0),
        weight_qos=given.take("weightQOS", weight, 0),
        weight_tres={name: float(value) for name, value in _numbers(given, "weightTRES").items()},
        max_age_s=max(1, given.take("maxAge", duration, none.max_age_s)),
        favors_small=given.take("favorSmall", boolean, False),
        is_size_relative=given.take("sizeRelative", boolean, False),
        half_life_s=given.take("decayHalfLife", duration, none.half_life_s),
        calc_period_s=max(1, given.take("calcPeriod", duration, none.calc_period_s)),
        is_fair_tree=given.take("fairTree", boolean, True),
        damping=given.take("dampening", number(1, 65535), 1),
        partition_factors=_numbers(given, "partitionFactors"),
        formula=given.take("formula", _formula, ""),
    )


def read_short_first(fields: Fields, policy: Policy, duration: Callable[[yaml.Node], int]) -> ShortJobs | None:
    """`shortFirst: {walltime: 30s, delay: 30m}`; None without that key."""
    node = fields.get("shortFirst")
    if node is None:
        return None
    given = Fields(node, SHORT_FIRST_KEYS, fields.problems, fields.file, fields.key("shortFirst"))
    if not given.is_mapping:
        return None
    usual, problems = ShortJobs(), len(fields.problems)
    found = ShortJobs(
        walltime_s=given.take("walltime", duration, usual.walltime_s),
        delay_s=given.take("delay", duration, usual.delay_s),
    )
    if found.delay_s <= found.walltime_s and len(fields.problems) == problems:
        given.complain("", "expected a delay that is longer than the walltime")
    if policy is Policy.VOLCANO:
        fields.complain("shortFirst", "needs policy: backfill")
    return found


def _type(node: yaml.Node) -> bool:
    word = text(node).removeprefix("priority/")
    if word not in {"multifactor", "basic"}:
        raise UnfitError(f"expected multifactor or basic, found {word}")
    return word == "multifactor"


def _formula(node: yaml.Node) -> str:
    given = text(node)
    try:
        check_formula(given)
    except HpcBatchError as error:
        raise UnfitError(str(error)) from None
    return given


def _numbers(fields: Fields, key: str) -> dict[str, int]:
    found = {}
    for name, node in fields.entries(key) or ():
        try:
            found[name] = number(0, _MOST)(node)
        except UnfitError as unfit:
            fields.complain(key, f"{name}: {unfit}")
    return found
