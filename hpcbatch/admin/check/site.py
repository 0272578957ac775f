"""The site configuration: valid, in force, and naming images."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from hpcbatch.admin.check.cluster import Cluster
from hpcbatch.admin.check.finding import Finding, Reporter, one_line
from hpcbatch.admin.check.read_site import ReadSite
from hpcbatch.api.names import SITE_CONFIGMAP
from hpcbatch.model.site import SiteConfig

_SAY = Reporter("site-configuration")


def site(cluster: Cluster) -> Iterable[Finding]:
    return judge_site(cluster.site, f"{cluster.options.namespace}/{SITE_CONFIGMAP}", cluster.is_embedded)


def judge_site(found: ReadSite, where: str, is_embedded: bool) -> Iterator[Finding]:
    """`where` is namespace and name of the ConfigMap."""
    namespace, _, name = where.partition("/")
    edit = f"kubectl -n {namespace} edit configmap {name}"
    if not found.is_there:
        if is_embedded:
            yield _SAY.ok("site configuration", f"no ConfigMap {where}: the engine's defaults are in force")
            return
        create = f"kubectl -n {namespace} create configmap {name} --from-file=site.yaml"
        yield _SAY.error("site configuration", f"there is no ConfigMap {where}", f"write one (docs/site.md); {create}")
        return
    if found.problems:
        for problem in found.problems:
            yield _SAY.error(f"ConfigMap {where}", problem, f"{edit}; `hpcbatch site check FILE` reads one beforehand")
        return
    if found.said:
        yield _SAY.warning(
            f"ConfigMap {where}",
            f"the controller refuses it ({one_line(found.said)}), although this hpcbatch finds it good",
            "look at the versions: `hpcbatch-controller` in this report",
        )
        return
    config = found.config
    queues = ", ".join(queue.name for queue in config.queues) or "all of Volcano's"
    volumes = ", ".join(volume.mount_path for volume in config.volumes) or "none"
    yield _SAY.ok(f"ConfigMap {where}", f"good; queues {queues}; volumes {volumes}")
    if not is_embedded:
        yield from judge_images(config, edit)


def judge_images(config: SiteConfig, edit: str) -> Iterator[Finding]:
    without = [queue.name for queue in config.queues if not config.image_of(queue)]
    if without or not (config.queues or config.image):
        whose = f"queues {', '.join(without)}" if without else "the site"
        yield _SAY.error("images", f"{whose}: none is named, so no job can start", f"{edit}: set `image`")
        return
    named = {config.image_of(queue) for queue in config.queues} or {config.image}
    floating = sorted(image for image in named if _floats(image))
    if floating:
        yield _SAY.warning(
            "images",
            f"{', '.join(floating)}: without a fixed tag, nodes that pulled at different times run different images",
            f"{edit}: name a tag or a digest",
        )
    else:
        yield _SAY.ok("images", ", ".join(sorted(named)))


def _floats(image: str) -> bool:
    """Whether the name leaves open which image is meant: no tag and no digest, or `latest`."""
    if "@" in image:
        return False
    tag = image.rpartition("/")[2].partition(":")[2]
    return tag in {"", "latest"}
