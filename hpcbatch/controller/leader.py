"""Leader election: one of several controllers acts, chosen by a Lease with the rules of client-go.

A leader may act until `renew_s` after it *sent* its last successful renewal; others take the Lease no sooner than
`lease_s` after they *saw* it. So the clocks of two machines are never compared, and `lease_s - renew_s` pass between
the last act of one leader and the first of the next. Source: k8s.io/client-go/tools/leaderelection v0.34.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from hpcbatch.api.port import Api, Object
from hpcbatch.api.resources import LEASES
from hpcbatch.errors import (
    AlreadyExistsError,
    ConflictError,
    HpcBatchError,
    NotFoundError,
    UnauthorizedError,
    UnreachableError,
    UsageError,
)

_LOG = logging.getLogger(__name__)
_COMPLAIN_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """Seconds. Raises UsageError unless `lease_s` > `renew_s` > `retry_s`."""

    lease_s: int = 15
    renew_s: float = 10.0
    retry_s: float = 2.0

    def __post_init__(self) -> None:
        if not self.lease_s > self.renew_s > self.retry_s:
            raise UsageError("a lease must last longer than its leader acts, and that longer than a look at it")


def boot_clock() -> float:
    """Seconds that keep counting while the machine is suspended, unlike time.monotonic()."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Candidate:
    """One controller that wants to lead. A leader that loses the Lease never leads again: end the process."""

    def __init__(
        self,
        connect: Callable[[], Api],
        *,
        namespace: str,
        name: str,
        identity: str,
        timing: Timing | None = None,
        clock: Callable[[], float] = boot_clock,
    ) -> None:
        self._connect, self._api = connect, connect()
        self._namespace, self._name, self.identity = namespace, name, identity
        self._timing, self._clock = timing or Timing(), clock
        self._held: Object | None = None  # the Lease as we last wrote it
        self._until = 0.0  # may act until then
        self._seen_version, self._seen_at, self._free_at = "", 0.0, 0.0
        self._complaint, self._complained_at = "", 0.0
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="leader", daemon=True)
        self.has_led = threading.Event()
        """Set from the first success on."""
        self.is_reached = threading.Event()
        """Set while the last access to the Lease succeeded."""

    def start(self) -> None:
        self._thread.start()

    @property
    def may_act(self) -> bool:
        """Whether it leads at this moment. True remains safe for at least `lease_s - renew_s` more."""
        return self.has_led.is_set() and self._clock() < self._until

    @property
    def has_lost(self) -> bool:
        return self.has_led.is_set() and not self.may_act

    @property
    def is_alive(self) -> bool:
        return self._thread.is_alive()

    def stop(self, *, gives_back: bool) -> None:
        """Stop renewing. `gives_back`: let another one take over at once; only after the last act."""
        self._stopping.set()
        self._thread.join(timeout=5)
        if not gives_back or self._held is None or not self.may_act:
            return
        self._until = 0.0
        self._reconnect()
        now = _micro_time()
        spec = {"holderIdentity": "", "leaseDurationSeconds": 1, "renewTime": now, "acquireTime": now}
        try:
            self._api.replace(LEASES, self._held | {"spec": self._held["spec"] | spec}, self._namespace)
        except HpcBatchError as error:
            _LOG.warning("the lease could not be given back: %s", error)
        else:
            _LOG.info("gave the lease back")

    def _run(self) -> None:
        while not self._stopping.is_set() and not self.has_lost:
            self.look()
            self._stopping.wait(self._timing.retry_s)

    def look(self) -> None:
        """Once: take the Lease, renew it, or see that another one holds it."""
        led = self.has_led.is_set()
        try:
            if self._held is None:
                self._acquire()
            else:
                self._renew(self._held)
            self._note_success()
        except HpcBatchError as error:
            self.is_reached.clear()
            self._complain(str(error))
            if isinstance(error, (UnreachableError, UnauthorizedError)):
                self._reconnect()
        if not led and self.has_led.is_set():
            _LOG.info("leading as %s", self.identity)

    def _note_success(self) -> None:
        self.is_reached.set()
        if self._complaint:
            _LOG.info("lease %s/%s: it works again", self._namespace, self._name)
        self._complaint = ""

    def _complain(self, text: str) -> None:
        """Log a problem, the same one once a minute: a server may be away for a night."""
        if text != self._complaint or self._clock() > self._complained_at + _COMPLAIN_S:
            _LOG.warning("lease %s/%s: %s", self._namespace, self._name, text)
            self._complaint, self._complained_at = text, self._clock()

    def _reconnect(self) -> None:
        """Read the credentials again: certificates and authorities are renewed in their files."""
        try:
            self._api = self._connect()
        except HpcBatchError as error:
            self._complain(str(error))

    def _acquire(self) -> None:
        began = self._clock()
        try:
            lease = self._api.get(LEASES, self._name, self._namespace)
        except NotFoundError:
            if self._seen_version:  # it was deleted: its holder may not have noticed yet
                self._seen_version, self._free_at = "", self._clock() + self._timing.lease_s
            if self._clock() < self._free_at:
                return
            fresh: Object = {
                "apiVersion": LEASES.api_version,
                "kind": LEASES.kind,
                "metadata": {"name": self._name},
                "spec": self._spec(transitions=0),
            }
            try:
                self._won(self._api.create(LEASES, fresh, self._namespace), began)
            except AlreadyExistsError:
                pass
            return
        if lease["metadata"]["resourceVersion"] != self._seen_version:
            self._seen_version, self._seen_at = lease["metadata"]["resourceVersion"], self._clock()
        spec = lease.get("spec") or {}
        holder = spec.get("holderIdentity") or ""
        if holder not in {"", self.identity} and self._clock() < self._seen_at + spec.get("leaseDurationSeconds", 0):
            return
        transitions = spec.get("leaseTransitions", 0) + (holder != self.identity)
        try:
            taken = lease | {"spec": self._spec(transitions=transitions)}
            self._won(self._api.replace(LEASES, taken, self._namespace), began)
        except ConflictError:
            pass  # somebody was quicker

    def _renew(self, held: Object) -> None:
        began = self._clock()
        renewed = held | {"spec": held["spec"] | {"renewTime": _micro_time()}}
        try:
            self._won(self._api.replace(LEASES, renewed, self._namespace), began)
        except (ConflictError, NotFoundError):
            # written by another one, or by us with the reply lost
            lease = self._api.get(LEASES, self._name, self._namespace)
            if (lease.get("spec") or {}).get("holderIdentity") != self.identity:
                self._until = 0.0
                return
            self._held = lease  # ours: the next round renews it

    def _won(self, lease: Object, began: float) -> None:
        # A renewal whose reply came too late does not restore a lost leadership.
        if self.has_led.is_set() and not self.may_act:
            return
        self._held, self._until = lease, began + self._timing.renew_s
        if self._clock() < self._until:
            self.has_led.set()

    def _spec(self, *, transitions: int) -> Object:
        now = _micro_time()
        return {
            "holderIdentity": self.identity,
            "leaseDurationSeconds": self._timing.lease_s,
            "acquireTime": now,
            "renewTime": now,
            "leaseTransitions": transitions,
        }


def _micro_time() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
