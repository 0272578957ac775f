"""Follows a WRF run by its log, in a directory or of a job, and says how it ended."""

from __future__ import annotations

import gc
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path

from hpcbatch.cli.common import Session, complain
from hpcbatch.cli.live import can_draw
from hpcbatch.cli.wrf.judge import judge
from hpcbatch.cli.wrf.log_file import LogFile, directories, log_of, progress_of, settings_of
from hpcbatch.cli.wrf.views import JsonView, LinesView, State, View
from hpcbatch.errors import ForbiddenError, HpcBatchError, UnauthorizedError, UnknownJobError
from hpcbatch.typed import TYPE_CHECKING
from hpcbatch.wrf.log import MAIN_LOG, Log, Progress
from hpcbatch.wrf.settings import Settings
from hpcbatch.wrf.verdict import Verdict, with_output

if TYPE_CHECKING:
    from hpcbatch.model.record import JobRecord

_POLL_S = 0.5
_JOB_POLL_S = 2.0
_SEARCH_S = 5.0  # how often the directories below are looked through for the log
_APART_S = 3600.0  # so much older than rank 0's last line, another rank's log is of an earlier run
_EARLY_S = 60.0  # the same for a run that ended before it knew its process grid
_RANK_LOG = re.compile(r"rsl\.error\.([0-9]+)")


def follow(session: Session, job_or_dir: str, run_dir: Path | None, *, is_once: bool, is_json: bool) -> int:
    """The exit code. After a job that ended well comes what waits for it: the next of a chain. Raises HpcBatchError
    where there is nothing to follow.
    """
    gc.enable()  # this command lives long
    job = None
    if run_dir is None and Path(job_or_dir).is_dir():
        run_dir = Path(job_or_dir)
    else:
        job = _Job(session, job_or_dir)
    view = _view(session, is_once=is_once, is_json=is_json)
    waiting = [_Watcher(job, run_dir)]
    seen = {job.number} if job is not None else set()
    try:
        while waiting:
            watcher = waiting.pop(0)
            state = _to_the_end(watcher, view, is_once=is_once)
            view.end(state)
            if state.verdict is None or not state.verdict.is_success:
                return 0 if state.verdict is None else 1
            for later in watcher.dependents() if not is_once else ():
                if later.number not in seen:
                    seen.add(later.number)
                    waiting.append(_Watcher(later, run_dir, is_of_chain=True))
    finally:
        view.close()
    return 0


def _view(session: Session, *, is_once: bool, is_json: bool) -> View:
    if is_json:
        return JsonView()
    if is_once or not can_draw(session):
        return LinesView(session)
    from hpcbatch.cli.wrf.bar import BarView

    return BarView()


def _to_the_end(watcher: _Watcher, view: View, *, is_once: bool) -> State:
    while True:
        state = watcher.look()
        view.show(state)
        if is_once or state.verdict is not None:
            return state
        time.sleep(_POLL_S)


class _Job:
    """The record of the job, looked at every two seconds."""

    def __init__(self, session: Session, text: str) -> None:
        from hpcbatch.cli.job_number import job_number
        from hpcbatch.client import listing

        if not text[:1].isdigit():
            raise HpcBatchError(f"{text}: neither a directory nor a job id")
        self._session, self.text = session, text
        self._row = listing.find(session.api, session.namespace, job_number(session, text))
        if self._row.array_indices:
            raise HpcBatchError(f"{text} is an array: name one of its members, such as {self._row.job_id}[1]")
        self.record = listing.get_record(session.api, self._row)
        self._looked_at = time.monotonic()
        self._is_away = False

    def look(self) -> JobRecord:
        from hpcbatch.client import listing

        if not self.is_over and time.monotonic() - self._looked_at >= _JOB_POLL_S:
            try:
                self.record = listing.get_record(self._session.api, self._row)
                self._is_away = False
            except (UnauthorizedError, ForbiddenError, UnknownJobError):
                raise
            except HpcBatchError as error:  # an outage of the API ends no run
                if not self._is_away:
                    complain(f"hpcbatch: {error}; going by the log alone")
                self._is_away = True
            self._looked_at = time.monotonic()
        return self.record

    @property
    def number(self) -> int:
        return self.record.job_id

    def dependents(self) -> list[_Job]:
        """The user's jobs that wait for this one, or waited until it ended well; in order of their numbers."""
        from hpcbatch.cli.wrf.chain import dependents
        from hpcbatch.client import listing

        objects = listing.list_objects(self._session.api, self._row.namespace)
        return [_Job(self._session, str(number)) for number in dependents(objects, self.record)]

    @property
    def is_over(self) -> bool:
        return self.record.status.state.is_final

    def directories(self) -> list[Path]:
        return directories(self.record)


class _Watcher:
    def __init__(self, job: _Job | None, run_dir: Path | None, *, is_of_chain: bool = False) -> None:
        """`is_of_chain`: the job comes after another one and need not run WRF."""
        self._job, self._run_dir = job, run_dir
        self._is_of_chain = is_of_chain
        self._file: LogFile | None = None
        self._settings: Settings | None = None
        self._progress: Progress | None = None
        self._searched_at = float("-inf")
        if job is None and run_dir is not None and not (run_dir / MAIN_LOG).is_file():
            raise HpcBatchError(f"{run_dir / MAIN_LOG}: no such file: neither real.exe nor wrf.exe was started there")
        if (
            job is not None
            and not is_of_chain
            and run_dir is None
            and not any(place.is_dir() for place in job.directories())
        ):
            place = job.directories()[0]
            raise HpcBatchError(
                f"job {job.text} runs in {place}, which is not on this machine; --dir names another place"
            )

    def look(self) -> State:
        record = self._job.look() if self._job is not None else None
        is_over = record is not None and record.status.state.is_final
        file = self._log_file(record)
        if file is None:
            return State(job=_job_text(record), progress=None, quiet_s=0.0, verdict=self._without_log(record))
        is_new = file.read()
        if is_new or self._settings is None:
            self._settings = settings_of(file.path.parent)
        verdict = None
        if is_over or (self._job is None and file.log.is_over):
            file.finish()
            verdict = _verdict_of(record, self._judge(file))
        return State(
            job=_job_text(record),
            progress=progress_of(file.log, self._settings),
            quiet_s=file.quiet_s,
            verdict=verdict,
        )

    def dependents(self) -> list[_Job]:
        return self._job.dependents() if self._job is not None else []

    def _log_file(self, record: JobRecord | None) -> LogFile | None:
        """The log of this run; one from before the job started is another's."""
        places = [self._run_dir] if self._run_dir is not None else self._job.directories() if self._job else []
        since = record.status.start_time.timestamp() - 1 if record is not None and record.status.start_time else None
        if record is not None and since is None:
            return None
        if self._file is None:
            for place in places:
                file = LogFile(place / MAIN_LOG)
                if file.is_newer(since) and (self._run_dir is not None or not _is_of_another_job(file, record)):
                    self._file = file
                    break
        if self._file is None and record is not None and self._run_dir is None:
            now = time.monotonic()
            if now - self._searched_at >= _SEARCH_S or record.status.state.is_final:
                self._searched_at = now
                self._file = log_of(record)
        return self._file

    def _without_log(self, record: JobRecord | None) -> Verdict | None:
        from hpcbatch.model.state import JobState

        if record is None or not record.status.state.is_final:
            return None
        if self._is_of_chain and record.status.state is JobState.FINISHED:
            return Verdict(True, f"job {record.job_id} ({record.spec.name}) ended with 0")
        where = self._run_dir or directories(record)[0]
        missing = Verdict(False, f"neither real.exe nor wrf.exe has written a {MAIN_LOG} in {where} or near it")
        return _verdict_of(record, missing)

    def _judge(self, file: LogFile) -> Verdict:
        folder = file.path.parent
        others = [] if file.log.is_end_logged else list(_other_logs(folder, file.log, file.modified))
        settings = self._settings
        wants_history = settings is None or any(
            settings.history_interval_s(domain) for domain in range(1, settings.domains + 1)
        )
        return with_output(
            judge(folder, file.files, others, wants_history=wants_history),
            file.log.program,
            file.log.written,
            exists=lambda name: "\0" not in name and (folder / name).exists(),
        )


def _is_of_another_job(file: LogFile, record: JobRecord | None) -> bool:
    number = file.job_number()
    return record is not None and number is not None and number != record.job_id


def _other_logs(folder: Path, log: Log, modified: float) -> Iterator[str]:
    """The names of the other compute ranks' logs of the same run."""
    ranks = log.grid[0] * log.grid[1] if log.grid else None
    for path in sorted(folder.glob("rsl.error.*")):
        match = _RANK_LOG.fullmatch(path.name)
        if match is None or path.name == MAIN_LOG or (ranks is not None and int(match[1]) >= ranks):
            continue
        try:
            is_of_this_run = path.stat().st_mtime >= modified - (_EARLY_S if ranks is None else _APART_S)
        except OSError:
            continue
        if is_of_this_run and os.access(path, os.R_OK):
            yield path.name


def _job_text(record: JobRecord | None) -> str:
    if record is None:
        return ""
    status = record.status
    reason = f" ({status.message})" if status.message and not status.state.is_final else ""
    return f"job {record.job_id} {status.state.value.lower()}{reason}"


def _verdict_of(record: JobRecord | None, verdict: Verdict) -> Verdict:
    """Of an ended job: well only where both the job and its log say so."""
    from hpcbatch.model.state import JobState, Reason

    if record is None:
        return verdict
    status = record.status
    what = f"job {record.job_id}"
    if status.state is JobState.FINISHED:
        return verdict if verdict.is_success else Verdict(False, f"{what} ended with 0, but: {verdict.message}")
    if status.exit_code:
        end = f"exit code {status.exit_code}"
    elif status.exit_signal:
        end = f"signal {status.exit_signal}"
    else:
        end = status.message or status.reason.value
    # the runner knows more: other runs of the job, the launcher's words
    message = status.message if status.reason is Reason.PROGRAM_FAILED else verdict.message
    return Verdict(False, f"{what} {status.state.value.lower()} ({end}): {message}")
