"""Mail about jobs: which mails are due, and the thread that sends them.

Which mails are due follows from the job's record alone, so a killed controller misses none. When the mail server has
accepted sender and recipients, the mail's id is added to `status.mailed`, right before the mail itself is sent: so
it is sent once, whichever controller acts. A kill at that moment loses the mail, but never sends it twice. If the
server rejects the mail after all, the id is removed, and the mail is retried later.
"""

from __future__ import annotations

import base64
import logging
import time
from collections.abc import Callable, Collection, Mapping
from datetime import UTC, datetime, timedelta

from hpcbatch.api.informer import Workers, WorkQueue, object_key
from hpcbatch.api.names import SYSTEM_NAMESPACE
from hpcbatch.api.port import Api, Object
from hpcbatch.api.resources import BATCHJOBS, SECRETS
from hpcbatch.controller.mail_limit import LimitError, MailCount
from hpcbatch.controller.mail_send import ClosedError, MailError, compose, send
from hpcbatch.dialects.registry import door
from hpcbatch.errors import HpcBatchError, NotFoundError, UnreachableError
from hpcbatch.model.mail import Mail, MailConfig, is_address, recipients
from hpcbatch.model.record import JobRecord
from hpcbatch.record.batchjob import record_from

_LOG = logging.getLogger(__name__)
KEPT = timedelta(hours=4)
"""After this time since its cause an unsent mail is given up; an older one is never started."""
_MARKS_KEPT = 1000  # the last ids of one job: more than its record can cause at once (past_runs.KEPT)
_STOP_S = 1.0
_FIRST_PAUSE_S = 2.0
_LONGEST_PAUSE_S = 300.0
_FIRST_TRY_AGAIN_S = 5.0

Key = tuple[str, str]


def due_mails(record: JobRecord, now: datetime) -> list[Mail]:
    """The unsent mails about this job, the oldest first."""
    if not record.spec.mail_points:
        return []
    found = door(record.spec.dialect).mails(record, now)
    return [mail for mail in found if mail.mail_id not in record.status.mailed and now - mail.when <= KEPT]


def next_look_s(record: JobRecord, now: datetime) -> float | None:
    """Seconds until time alone makes a mail due; None if it never will."""
    if not record.spec.mail_points:
        return None
    when = door(record.spec.dialect).next_mail(record, now)
    return None if when is None else (when - now).total_seconds()


class Mailer:
    """Sends due mails in its own thread. `config` is called each time; if it returns None, no mail is sent."""

    def __init__(self, api: Api, config: Callable[[], MailConfig | None]) -> None:
        self._api, self._config = api, config
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
        now = datetime.now(UTC)
        if self._config() is None:
            return
        if due_mails(record, now):
            self._queue.add(object_key(obj))
        elif (later_s := next_look_s(record, now)) is not None:
            self._queue.add_after(object_key(obj), later_s)

    def owes(self, record: JobRecord) -> bool:
        """Whether a mail about this job is unsent: its record must stay until then."""
        return self._config() is not None and bool(due_mails(record, datetime.now(UTC)))

    @property
    def waiting(self) -> int:
        """Number of jobs with a mail that could not be sent yet."""
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
            obj = self._api.get(BATCHJOBS, key[1], key[0])
            for _, mail_id in [entry for entry in self._to_unmark if entry[0] == key]:
                obj = self._unmark(key, mail_id)
        except NotFoundError:
            self._forget(key)
            return
        record = record_from(obj)
        mails = due_mails(record, now)
        self._give_up_old(key, mails)
        for mail in mails:
            try:
                obj = self._send(key, obj, record, mail, config)
            except ClosedError as error:
                self._close(key, mail, error)
                return
            except LimitError as error:
                self._wait(key, mail, error.wait_s, config)
                return
            except MailError as error:
                obj = self._not_sent(key, mail, error)
        if (later_s := next_look_s(record, now)) is not None:
            self._queue.add_after(key, later_s)

    def _send(self, key: Key, obj: Object, record: JobRecord, mail: Mail, config: MailConfig) -> Object:
        """Send one mail; returns the updated BatchJob. Raises LimitError while its user has reached the limit."""
        to, bad = recipients(mail.to, config, f"{record.status.owner}@{record.spec.submit_host}")
        if (wait_s := self._count.wait_s(key[0], len(to), config.max_per_hour)) > 0:
            raise LimitError(wait_s)
        for why in bad:
            _LOG.warning("mail %s about job %s/%s: %s", mail.mail_id, *key, why)
        if not to:
            self.failed += 1
            return self._mark(obj, add=mail.mail_id)
        message_id = f"{mail.mail_id}.{record.job_id}.{obj['metadata']['uid']}@{record.spec.server}"
        message = compose(mail, to, config, message_id if is_address(message_id) else message_id.partition("@")[0])
        taken = obj

        def commit() -> None:
            nonlocal taken
            try:
                taken = self._mark(obj, add=mail.mail_id)
            except UnreachableError:
                self._to_unmark.add((key, mail.mail_id))
                raise

        for refusal in send(message, to, config, self._login(config), commit):
            _LOG.warning("mail %s about job %s/%s: %s", mail.mail_id, *key, refusal)
        self.sent += 1
        self._count.add(key[0], len(to))
        self._closed_until, self._pause_s = 0.0, _FIRST_PAUSE_S
        self._tries.pop((key, mail.mail_id), None)
        _LOG.info("mail %s about job %s/%s sent to %s", mail.mail_id, *key, ", ".join(to))
        return taken

    def _mark(self, obj: Object, *, add: str = "", remove: str = "") -> Object:
        """Add or remove a mail's id. Raises ConflictError if the BatchJob has changed."""
        mailed = [entry for entry in obj["status"].get("mailed", ()) if entry != remove]
        if add:
            mailed = [*mailed, add][-_MARKS_KEPT:]
        metadata = obj["metadata"]
        patch = {"metadata": {"resourceVersion": metadata["resourceVersion"]}, "status": {"mailed": mailed}}
        return self._api.patch(BATCHJOBS, metadata["name"], patch, metadata["namespace"], subresource="status")

    def _unmark(self, key: Key, mail_id: str) -> Object:
        """Remove the id of a mail that was certainly not sent."""
        self._to_unmark.add((key, mail_id))  # in case that this fails
        obj = self._api.get(BATCHJOBS, key[1], key[0])
        if mail_id in obj["status"].get("mailed", ()):
            obj = self._mark(obj, remove=mail_id)
        self._to_unmark.discard((key, mail_id))
        return obj

    def _not_sent(self, key: Key, mail: Mail, error: MailError) -> Object:
        """Retry a mail that the server rejected, unless that is useless or might send it twice."""
        tried = (key, mail.mail_id)
        if error.is_permanent or error.is_unsure:
            _LOG.error("mail %s about job %s/%s given up: %s", mail.mail_id, *key, error)
            self.failed += 1
            self._tries.pop(tried, None)
            obj = self._api.get(BATCHJOBS, key[1], key[0])
            return obj if mail.mail_id in obj["status"].get("mailed", ()) else self._mark(obj, add=mail.mail_id)
        tries = self._tries.get(tried, 0)
        pause_s = min(_FIRST_TRY_AGAIN_S * 2.0 ** min(tries, 16), _LONGEST_PAUSE_S)
        _LOG.warning("mail %s about job %s/%s: %s; next try in %.0f s", mail.mail_id, *key, error, pause_s)
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
            text = "mail %s about job %s/%s waits: %s of this user's were sent within an hour"
            _LOG.warning(text, mail.mail_id, *key, config.max_per_hour)
        self._tries.setdefault((key, mail.mail_id), 0)
        self._queue.add_after(key, wait_s)

    def _give_up_old(self, key: Key, mails: Collection[Mail]) -> None:
        """Give up the mails that were retried until they were too old."""
        wanted = {mail.mail_id for mail in mails}
        for tried in [entry for entry in self._tries if entry[0] == key and entry[1] not in wanted]:
            _LOG.error("mail %s about job %s/%s given up after %s", tried[1], *key, KEPT)
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
