"""What all commands share: the user's surroundings, the way to the API, and how a command ends.

A command ends with a code and with lines that its user understands, never with a traceback.
"""

from __future__ import annotations

import errno
import gc
import os
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta, tzinfo
from functools import cached_property

from hpcbatch.errors import HpcBatchError, UnauthorizedError, UnreachableError
from hpcbatch.model.text import printable_lines
from hpcbatch.typed import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from hpcbatch.api.client import HttpApi
    from hpcbatch.api.kubeconfig import Connection

_OUTPUT_ERRORS = frozenset({errno.EPIPE, errno.ENOSPC, errno.EIO, errno.EFBIG, errno.EDQUOT})
"""What writing the output raises in the middle; the API's client turns its own into ours."""
NO_CONNECTION = (UnreachableError, UnauthorizedError)
"""What ends a command at once, however many jobs it was to look at."""
Describe = Callable[[Exception], tuple[str, int]]
_INTERNAL_ERROR = 70  # EX_SOFTWARE of sysexits.h
_INTERRUPTED = 130  # as a shell reports a command that SIGINT ended
_BROKEN_PIPE = 141  # the same for SIGPIPE


_IN_JOB = "/hpcbatch/run/job/bin"
_LEFT: list[object] = []


class EndedError(Exception):
    """The command is over: print `text` on standard error as it is, and exit with `code`."""

    def __init__(self, text: str, code: int) -> None:
        self.text, self.code = text, code
        super().__init__(text)


class Session:
    """The user's surroundings, each read when it is first requested."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self.environ = environ
        self.zone = LocalZone()
        self.now = datetime.now(UTC).astimezone(self.zone)

    @cached_property
    def connection(self) -> Connection:
        from hpcbatch.api import kubeconfig

        return kubeconfig.load(self.environ)

    @cached_property
    def api(self) -> HttpApi:
        from hpcbatch.api.client import HttpApi

        return HttpApi(self.connection)

    @property
    def namespace(self) -> str:
        return self.connection.namespace

    @cached_property
    def server(self) -> str:
        """What stands behind the dot of a PBS id: the cluster's name, or this host's where no cluster is configured."""
        try:
            return self.connection.cluster
        except HpcBatchError:
            return self.host.partition(".")[0]

    @property
    def host(self) -> str:
        return os.uname().nodename

    @property
    def user(self) -> str:
        import pwd

        try:
            return pwd.getpwuid(os.getuid()).pw_name
        except KeyError:
            return str(os.getuid())

    @property
    def home(self) -> str:
        import pwd

        try:
            return pwd.getpwuid(os.getuid()).pw_dir
        except KeyError:
            return self.environ.get("HOME", "/")

    @cached_property
    def cwd(self) -> str:
        """The current directory by the name that the user came by, as long as that still is the same directory."""
        named = self.environ.get("PWD", "")
        try:
            here = os.getcwd()
            if named.startswith("/") and os.path.exists(named) and os.path.samefile(here, named):
                return named
            return here
        except OSError as error:
            raise HpcBatchError(f"the current directory cannot be found: {error.strerror}") from None

    @property
    def umask(self) -> int:
        mask = os.umask(0o077)
        os.umask(mask)
        return mask

    def absolute(self, path: str) -> str:
        """`path` from the current directory on. `..` stays: after a symbolic link only the kernel knows what it is."""
        parts = (path if path.startswith("/") else f"{self.cwd}/{path}").split("/")
        return "/" + "/".join(part for part in parts if part not in {"", "."})


class LocalZone(tzinfo):
    """The time zone of this process (TZ, /etc/localtime), right for every date; zoneinfo would cost 4 ms to import."""

    def utcoffset(self, when: datetime | None) -> timedelta:
        return timedelta(seconds=self._at(when).tm_gmtoff)

    def dst(self, when: datetime | None) -> timedelta:
        return timedelta(hours=1) if self._at(when).tm_isdst > 0 else timedelta(0)

    def tzname(self, when: datetime | None) -> str:
        return self._at(when).tm_zone

    def fromutc(self, when: datetime) -> datetime:
        seconds = when.replace(tzinfo=UTC).timestamp()
        return datetime.fromtimestamp(seconds).replace(tzinfo=self)

    def _at(self, when: datetime | None) -> time.struct_time:
        # A naive datetime is one in local time, and its fold tells the hour that comes twice.
        return time.localtime(None if when is None else when.replace(tzinfo=None).timestamp())


def run(command: str, body: Callable[[Session], int], describe: Callable[[Session], Describe]) -> NoReturn:
    """Run a short command to its end and exit. `describe` gives the dialect's words and code for an error.

    The process ends without taking its objects apart, and without collecting garbage before: both together are a
    seventh of the time that a qstat takes.
    """
    gc.disable()
    os._exit(outcome(command, body, describe))


def leave(*values: object) -> None:
    """The process ends with these as they are: to take 10,000 jobs apart when a function returns costs a seventh of a
    `qstat -f`. For a command that ends next.
    """
    _LEFT.extend(values)


def outcome(command: str, body: Callable[[Session], int], describe: Callable[[Session], Describe]) -> int:
    """The exit code of a command, after everything it had to say is written."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None and hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # a name that the terminal cannot show is no reason to fail
    try:
        session = Session(os.environ)
        try:
            code = body(session)
        except EndedError as ended:
            complain(ended.text)
            code = ended.code
        except (HpcBatchError, OSError) as error:
            if isinstance(error, OSError) and error.filename is None and error.errno in _OUTPUT_ERRORS:
                raise
            if isinstance(error, UnreachableError):
                _hand_over(command)
            text, code = describe(session)(explained(session, error))
            complain(text)
        sys.stdout.flush()
    except BrokenPipeError:
        _forget_stdout()
        return _BROKEN_PIPE
    except KeyboardInterrupt:
        _forget_stdout()
        return _INTERRUPTED
    except OSError as error:  # standard output could not be written
        _forget_stdout()
        complain(f"{command}: cannot write: {error.strerror}")
        return 1
    except Exception as error:
        return _internal_error(command, error)
    return code


def explained(session: Session, error: Exception) -> Exception:
    """A server that does not take the login says no more than `Unauthorized`; the kubeconfig tells more."""
    from hpcbatch.errors import ForbiddenError, UnauthorizedError

    is_anonymous = isinstance(error, ForbiddenError) and '"system:anonymous"' in error.message
    if not (is_anonymous or isinstance(error, UnauthorizedError)):
        return error
    from hpcbatch.api.credentials import explain_unauthorized

    return UnauthorizedError(401, "Unauthorized", explain_unauthorized(session.connection))


def write_now(text: str, descriptor: int = 2) -> None:
    """For the handler of a signal, which may have come in the middle of a print: past Python's buffers."""
    with suppress(OSError):
        os.write(descriptor, text.encode(errors="backslashreplace"))


def complain(text: str) -> None:
    """Print on standard error, after what standard output already got. A closed standard error is nobody's loss.
    What errors quote steers no terminal.
    """
    try:
        sys.stdout.flush()
    except OSError:
        pass  # said again, and dealt with, when the command ends
    try:
        if text:
            print(printable_lines(text), file=sys.stderr, flush=True)
    except OSError:
        pass


def _hand_over(command: str) -> None:
    """In a job, whose pods mostly have no way to the API: to what its runner has under that name for the job itself
    (runner/launch/tools.sh). Returns where there is none.
    """
    if os.access(own := f"{_IN_JOB}/{command}-own", os.X_OK):
        sys.stdout.flush()
        os.execv(own, [own, *sys.argv[1:]])  # noqa: S606


def _internal_error(command: str, error: Exception) -> int:
    if os.environ.get("HPCBATCH_DEBUG") == "1":
        import traceback

        traceback.print_exception(error)
    what = " ".join(f"{type(error).__name__}: {error}".split())
    complain(f"{command}: internal error: {what}; please report it with HPCBATCH_DEBUG=1 output")
    return _INTERNAL_ERROR


def _forget_stdout() -> None:
    """Keep the interpreter from complaining that it cannot write what is left in the buffer."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
    except (OSError, ValueError):
        pass
