"""What qmgr has set of the server and the scheduler, over the site's file."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from hpcbatch.model.custom_resource import TRUE, CustomResource, ResourceType, resources_of_site
from hpcbatch.model.server_settings import ServerSettings
from hpcbatch.model.site import SiteConfig, Translation, Word

_NO_AMOUNT = "nobody has set how many there are: qmgr -c 'set server resources_available.{} = N'"
_DESCRIBES = "it has no flags, so it only describes the job"


def with_settings(site: SiteConfig, settings: ServerSettings) -> SiteConfig:
    priority = site.priority
    if settings.formula is not None:
        priority = replace(priority, formula=settings.formula)
    if settings.counts_eligible is not None:
        priority = replace(priority, counts_eligible=settings.counts_eligible)
    if settings.resources:
        site = _with_resources(site, settings.resources)
    depth = site.backfill_depth if settings.backfill_depth is None else settings.backfill_depth
    preemption = settings.over(site.preemption)
    is_as_before = priority is site.priority and depth == site.backfill_depth and preemption == site.preemption
    return site if is_as_before else replace(site, priority=priority, backfill_depth=depth, preemption=preemption)


def _with_resources(site: SiteConfig, made: Iterable[CustomResource]) -> SiteConfig:
    """The file's own names go first."""
    of_file = {each.name for each in resources_of_site(site)}
    made = [each for each in made if each.name not in of_file]
    licenses, properties, translations = dict(site.licenses), dict(site.node_properties), list(site.translations)
    for each in made:
        if each.is_counted and each.amount is not None:
            licenses[each.name] = each.amount
        elif each.is_of_nodes and each.type is ResourceType.BOOLEAN:
            properties[each.name] = {each.label: TRUE}
        else:
            translations += _translations(each)
    return replace(
        site,
        licenses=licenses,
        node_properties=properties,
        translations=tuple(translations),
        made_resources=frozenset(each.name for each in made),
    )


def _translations(one: CustomResource) -> list[Translation]:
    if one.is_counted:
        return [Translation(word=Word.RESOURCE, pattern=one.name, refused=_NO_AMOUNT.format(one.name))]
    if one.is_of_nodes:
        return [Translation(word=Word.RESOURCE, pattern=one.name, labels={one.label: "{value}"})]
    # `name=True` is a property of nodes
    return [Translation(word=word, pattern=one.name, ignored=_DESCRIBES) for word in (Word.RESOURCE, Word.FEATURE)]
