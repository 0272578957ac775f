"""What the checks look at: the API, and what several of them read, read once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property

from hpcbatch.admin.check import read_site
from hpcbatch.admin.check.finding import Finding
from hpcbatch.admin.check.read_site import ReadSite
from hpcbatch.api.client import HttpApi
from hpcbatch.api.names import SYSTEM_NAMESPACE
from hpcbatch.api.port import Object
from hpcbatch.api.resources import DEPLOYMENTS, NAMESPACES, NODES
from hpcbatch.errors import ApiError, NotFoundError
from hpcbatch.model.scheduler import Scheduler
from hpcbatch.site.identity import USER

CONTROLLER = "hpcbatch-controller"
"""The controller's Deployment, ServiceAccount and Lease."""


@dataclass(frozen=True, slots=True)
class Options:
    namespace: str = SYSTEM_NAMESPACE
    """Where hpcbatch is installed."""
    probes: bool = True
    """Whether pods may be started to try things."""
    users: tuple[str, ...] = ()
    """Only these; empty: all."""


class Cluster:
    """One cluster as one run of the checks sees it."""

    def __init__(self, api: HttpApi, options: Options) -> None:
        self.api, self.options = api, options

    @property
    def now(self) -> datetime:
        return datetime.now(UTC)

    @cached_property
    def version(self) -> Object:
        return self.api.version()

    @cached_property
    def is_embedded(self) -> bool:
        """Whether it is the engine that `hpcbatch up` starts."""
        return str(self.version.get("gitVersion", "")).endswith("-hpcbatch")

    @cached_property
    def nodes(self) -> tuple[Object, ...]:
        return self.api.list(NODES).items

    @cached_property
    def controller(self) -> Object | None:
        """The controller's Deployment."""
        try:
            return self.api.get(DEPLOYMENTS, CONTROLLER, self.options.namespace)
        except NotFoundError:
            return None

    @property
    def controller_image(self) -> str | None:
        """An image that is surely there and has Python."""
        if self.controller is None:
            return None
        return str(self.controller["spec"]["template"]["spec"]["containers"][0]["image"])

    @property
    def probe_image(self) -> str | None:
        """What jobs run in where they name nothing, else the controller's; None: there is neither."""
        config = self.site.config
        queue = config.queue(config.default_queue)
        return (config.image_of(queue) if queue else config.image) or self.controller_image

    @cached_property
    def site(self) -> ReadSite:
        return read_site.read(self.api, self.options.namespace, is_embedded=self.is_embedded)

    @cached_property
    def scheduler(self) -> Scheduler:
        """The site's; Volcano where its configuration may not be read, which is said elsewhere."""
        try:
            return self.site.config.scheduler
        except ApiError:
            return Scheduler.VOLCANO

    @cached_property
    def user_namespaces(self) -> tuple[Object, ...]:
        """Namespaces that say they are a user's, by label or by annotation; only those of `options.users`, if any."""
        return tuple(ns for ns in self.api.list(NAMESPACES).items if self._is_wanted(ns))

    def _is_wanted(self, namespace: Object) -> bool:
        meta = namespace["metadata"]
        names = {(meta.get(part) or {}).get(USER) for part in ("labels", "annotations")} - {None}
        return bool(names) and (not self.options.users or bool(names & set(self.options.users)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One subject. `name` is a heading of docs/check.md."""

    name: str
    look: Callable[[Cluster], Iterable[Finding]]
    needs: Sequence[str] = ()
    """Checks that must have found no error: without them this one can say nothing new."""
    of_volcano: bool | None = None
    """Whether it applies only where Volcano makes the pods, or only where it does not; None: to both."""
    not_embedded: str = ""
    """Why it does not apply to the embedded engine; empty: it does."""
    is_probe: bool = False
    """Starts pods."""
