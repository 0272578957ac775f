"""Mail about jobs and reservations: the thread that sends it.

Which mails are due follows from the record alone, so a killed controller misses none. When the mail server has
accepted sender and recipients, the mail's id is added to `status.mailed`, right before the mail itself is sent: so
it is sent once, whichever controller acts. A kill at that moment loses the mail, but never sends it twice. If the
server rejects the mail after all, the id is removed, and the mail is retried later.
"""

from __future__ import annotations

import base64
import logging
import time
from collections.abc import Callable, Collection, Mapping
from datetime import UTC, datetime

from hpcbatch.api.informer import Workers, WorkQueue
from hpcbatch.api.names import SYSTEM_NAMESPACE
from hpcbatch.api.port import Api, Object
from hpcbatch.api.resources import SECRETS
from hpcbatch.controller.mail_limit import LimitError, MailCount
from hpcbatch.controller.mail_send import ClosedError, MailError, compose, send
from hpcbatch.controller.mail_topics import (
    KEPT,
    TOPICS,
    About,
    Key,
    about_job,
    about_reservation,
    job_key,
    reservation_key,
)
from hpcbatch.errors import ApiError, HpcBatchError, NotFoundError, UnreachableError
from hpcbatch.model.mail import Mail, MailConfig, is_address, recipients
from hpcbatch.model.record import JobRecord
from hpcbatch.record.reservation import ReservationRecord

_LOG = logging.getLogger(__name__)
_MARKS_KEPT = 1000  # the last ids of one job: more than its record can cause at once (past_runs.KEPT)
_STOP_S = 1.0
_FIRST_PAUSE_S = 2.0
_LONGEST_PAUSE_S = 300.0
_FIRST_TRY_AGAIN_S = 5.0


class Mailer:
    """Sends due mails in its own thread. `config` is called each time; if it returns None, no mail is sent."""

    def __init__(
        self, api: Api, config: Callable[[], MailConfig | None], *, settle: Callable[[], None] = lambda: None
    ) -> None:
        """`settle` is that of the Controller."""
        self._api, self._config, self._settle = api, config, settle
        self._queue: WorkQueue[Key] = WorkQueue()
        self._workers = Workers(self._queue, self._send_mails, name="mail")
        self._tries: dict[tuple[Key, str], int] = {}
        self._to_unmark: set[tuple[Key, str]] = set()  # perhaps marked, certainly not sent
        self._closed_until, self._pause_s = 0.0, _FIRST_PAUSE_S
        self._count = MailCount()
        self.sent = self.failed = 0
        """Mails that the mail server accepted, and mails given up, since the start."""

    def start(self) -> None:
        self._workers.start()

    @property
    def dead(self) -> list[str]:
        return self._workers.dead

    def stop(self) -> None:
        """A slow server is not waited for long."""
        self._workers.stop(_STOP_S)

    def look(self, obj: Object, record: JobRecord) -> None:
        """Queue the mails about this job, including those that time alone makes due."""
        if self._config() is None:
            return
        about = about_job(record, datetime.now(UTC))
        if about.due:
            self._queue.add(job_key(obj))
        elif about.next_look_s is not None:
            self._queue.add_after(job_key(obj), about.next_look_s)

    def look_at_reservation(self, obj: Object, record: ReservationRecord) -> None:
        """Queue the mails about this reservation. Mails that time makes due need another look then."""
        if self.owes_reservation(record):
            self._queue.add(reservation_key(obj))

    def owes(self, record: JobRecord) -> bool:
        """Whether a mail about this job is unsent: its record must stay until then."""
        return self._config() is not None and bool(about_job(record, datetime.now(UTC)).due)

    def owes_reservation(self, record: ReservationRecord) -> bool:
        return self._config() is not None and bool(about_reservation(record, datetime.now(UTC)).due)

    @property
    def waiting(self) -> int:
        """Number of jobs and reservations with a mail that could not be sent yet."""
        return len({key for key, _ in self._tries.copy()})

    # The thread

    def _send_mails(self, key: Key) -> None:
        config, now = self._config(), datetime.now(UTC)
        if config is None:
            return
        if (pause_s := self._closed_until - time.monotonic()) > 0:
            self._queue.add_after(key, pause_s)
            return
        try:
            obj = self._get(key)
            for _, mail_id in [entry for entry in self._to_unmark if entry[0] == key]:
                obj = self._unmark(key, mail_id)
        except NotFoundError:
            self._forget(key)
            return
        about = TOPICS[key.plural].read(obj, now)
        self._give_up_old(key, about.due)
        for mail in about.due:
            try:
                obj = self._send(key, obj, about, mail, config)
            except ClosedError as error:
                self._close(key, mail, error)
                return
            except LimitError as error:
                self._wait(key, mail, error.wait_s, config)
                return
            except MailError as error:
                obj = self._not_sent(key, mail, error)
        if about.next_look_s is not None:
            self._queue.add_after(key, about.next_look_s)

    def _get(self, key: Key) -> Object:
        return self._api.get(TOPICS[key.plural].resource, key.name, key.namespace)

    def _send(self, key: Key, obj: Object, about: About, mail: Mail, config: MailConfig) -> Object:
        """Send one mail; returns the updated object. Raises LimitError while its user has reached the limit."""
        to, bad = recipients(mail.to, config, about.owner)
        if (wait_s := self._count.wait_s(key.namespace, len(to), config.max_per_hour)) > 0:
            raise LimitError(wait_s)
        for why in bad:
            _LOG.warning("mail %s about %s: %s", mail.mail_id, key, why)
        if not to:
            self.failed += 1
            return self._mark(key, obj, add=mail.mail_id)
        message_id = f"{mail.mail_id}.{about.shown_id}.{obj['metadata']['uid']}@{about.server}"
        message = compose(mail, to, config, message_id if is_address(message_id) else message_id.partition("@")[0])
        taken = obj

        def commit() -> None:
            nonlocal taken
            try:
                taken = self._mark(key, obj, add=mail.mail_id)
            except UnreachableError:
                self._to_unmark.add((key, mail.mail_id))
                raise
            try:
                self._settle()
            except ApiError:
                self._to_unmark.add((key, mail.mail_id))
                raise

        for refusal in send(message, to, config, self._login(config), commit):
            _LOG.warning("mail %s about %s: %s", mail.mail_id, key, refusal)
        self.sent += 1
        self._count.add(key.namespace, len(to))
        self._closed_until, self._pause_s = 0.0, _FIRST_PAUSE_S
        self._tries.pop((key, mail.mail_id), None)
        _LOG.info("mail %s about %s sent to %s", mail.mail_id, key, ", ".join(to))
        return taken

    def _mark(self, key: Key, obj: Object, *, add: str = "", remove: str = "") -> Object:
        """Add or remove a mail's id. Raises ConflictError if the object has changed."""
        mailed = [entry for entry in obj["status"].get("mailed", ()) if entry != remove]
        if add:
            mailed = [*mailed, add][-_MARKS_KEPT:]
        metadata = obj["metadata"]
        patch = {"metadata": {"resourceVersion": metadata["resourceVersion"]}, "status": {"mailed": mailed}}
        return self._api.patch(TOPICS[key.plural].resource, key.name, patch, key.namespace, subresource="status")

    def _unmark(self, key: Key, mail_id: str) -> Object:
        """Remove the id of a mail that was certainly not sent."""
        self._to_unmark.add((key, mail_id))  # in case that this fails
        obj = self._get(key)
        if mail_id in obj["status"].get("mailed", ()):
            obj = self._mark(key, obj, remove=mail_id)
        self._to_unmark.discard((key, mail_id))
        return obj

    def _not_sent(self, key: Key, mail: Mail, error: MailError) -> Object:
        """Retry a mail that the server rejected, unless that is useless or might send it twice."""
        tried = (key, mail.mail_id)
        if error.is_permanent or error.is_unsure:
            _LOG.error("mail %s about %s given up: %s", mail.mail_id, key, error)
            self.failed += 1
            self._tries.pop(tried, None)
            obj = self._get(key)
            return obj if mail.mail_id in obj["status"].get("mailed", ()) else self._mark(key, obj, add=mail.mail_id)
        tries = self._tries.get(tried, 0)
        pause_s = min(_FIRST_TRY_AGAIN_S * 2.0 ** min(tries, 16), _LONGEST_PAUSE_S)
        _LOG.warning("mail %s about %s: %s; next try in %.0f s", mail.mail_id, key, error, pause_s)
        self._tries[tried] = tries + 1
        self._queue.add_after(key, pause_s)
        return self._unmark(key, mail.mail_id)

    def _close(self, key: Key, mail: Mail, error: ClosedError) -> None:
        """No mail can be sent now: all wait, and one of them is retried."""
        _LOG.warning("mail waits: %s; next try in %.0f s", error, self._pause_s)
        self._tries[key, mail.mail_id] = self._tries.get((key, mail.mail_id), 0) + 1
        self._closed_until = time.monotonic() + self._pause_s
        self._queue.add_after(key, self._pause_s)
        self._pause_s = min(2 * self._pause_s, _LONGEST_PAUSE_S)
        self._unmark(key, mail.mail_id)  # its id was added before the program failed to start

    def _wait(self, key: Key, mail: Mail, wait_s: float, config: MailConfig) -> None:
        """This user's mails wait; the mails of other users go on."""
        if (key, mail.mail_id) not in self._tries:
            text = "mail %s about %s waits: %s of this user's were sent within an hour"
            _LOG.warning(text, mail.mail_id, key, config.max_per_hour)
        self._tries.setdefault((key, mail.mail_id), 0)
        self._queue.add_after(key, wait_s)

    def _give_up_old(self, key: Key, mails: Collection[Mail]) -> None:
        """Give up the mails that were retried until they were too old."""
        wanted = {mail.mail_id for mail in mails}
        for tried in [entry for entry in self._tries if entry[0] == key and entry[1] not in wanted]:
            _LOG.error("mail %s about %s given up after %s", tried[1], key, KEPT)
            self.failed += 1
            del self._tries[tried]

    def _forget(self, key: Key) -> None:
        for tried in [entry for entry in self._tries if entry[0] == key]:
            del self._tries[tried]
        self._to_unmark = {entry for entry in self._to_unmark if entry[0] != key}

    def _login(self, config: MailConfig) -> Mapping[str, str]:
        if not config.secret:
            return {}
        try:
            data = self._api.get(SECRETS, config.secret, SYSTEM_NAMESPACE).get("data") or {}
            return {name: base64.b64decode(data[name]).decode() for name in ("username", "password")}
        except NotFoundError:
            raise ClosedError(f"no Secret {config.secret} in namespace {SYSTEM_NAMESPACE}") from None
        except (KeyError, ValueError):
            raise ClosedError(
                f"Secret {config.secret} in namespace {SYSTEM_NAMESPACE} has no username and password"
            ) from None
        except HpcBatchError as error:
            raise ClosedError(f"Secret {config.secret}: {error}") from None
