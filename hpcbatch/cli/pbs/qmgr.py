"""`qmgr`: lists and changes the server, queues and nodes, request after request."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from functools import partial

from hpcbatch.cli.common import NO_CONNECTION, EndedError, Session, complain, run
from hpcbatch.cli.pbs.common import answered, check_server, describe
from hpcbatch.dialects.pbs.qmgr_attributes import Kind
from hpcbatch.dialects.pbs.qmgr_change import QmgrError
from hpcbatch.dialects.pbs.qmgr_parse import BadRequestError, Name, Request, Verb, parse_request, requests_in
from hpcbatch.errors import HpcBatchError
from hpcbatch.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from hpcbatch.dialects.pbs.qmgr_parse import QmgrOptions

_NO_SERVER, _PARSE, _EXECUTE = 3, 1, 2
"""Exit codes: a server that is another one, and with -a the first error."""
_MOST_SERVERS = 49
_PROMPT = "Qmgr: "


def main() -> None:
    run("qmgr", _body, partial(describe, "qmgr"))


def _body(session: Session) -> int:
    if answered(sys.argv[1:]):
        return 0
    from hpcbatch.client.queues import list_queues
    from hpcbatch.dialects.pbs.qmgr_parse import parse_qmgr

    options = parse_qmgr(sys.argv[1:])
    check_server(session, "qmgr")
    qmgr = _Qmgr(session, options)
    for server in options.servers:
        qmgr.check_server(server)
    if not options.parse_only:
        list_queues(session.api)  # as the real one connects before it reads anything
    if options.command is not None:
        return qmgr.handle(options.command)
    print(f"Max open servers: {_MOST_SERVERS}")
    code = 0
    for text in requests_in(_lines()):
        code = qmgr.handle(text)
        if qmgr.is_over:
            break
    return code


def _lines() -> Iterator[str]:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        yield from sys.stdin
        return
    while True:
        try:
            yield input(_PROMPT)
        except EOFError:
            return


class _Qmgr:
    """What lasts from one request to the next: the active objects."""

    def __init__(self, session: Session, options: QmgrOptions) -> None:
        self._session, self._options = session, options
        self._active: dict[Kind, tuple[Name, ...]] = {}
        self.is_over = False

    def check_server(self, name: str) -> None:
        try:
            check_server(self._session, "qmgr", name)
        except EndedError:
            raise EndedError(f"qmgr: cannot connect to server {name}", _NO_SERVER) from None

    def handle(self, text: str) -> int:
        """The exit code if this request is the last one."""
        if self._options.echo:
            print(text)
        try:
            request = parse_request(text)
        except BadRequestError as error:
            return self._failed(error.text, error.code, with_a=_PARSE)
        if request is None:
            return 0
        if request.verb in {Verb.QUIT, Verb.EXIT}:
            self.is_over = True
        elif request.verb in {Verb.HELP, Verb.QUESTION}:
            from hpcbatch.dialects.pbs.qmgr_help import help_on

            sys.stdout.write(help_on(request.topic))
        elif request.verb is not Verb.HISTORY and not self._options.parse_only:
            return self._execute(request)
        return 0

    def _failed(self, text: str, code: int, *, with_a: int) -> int:
        if not self._options.quiet:
            complain(text)
        if self._options.abort:
            self.is_over = True
            return with_a
        return code

    def _execute(self, request: Request) -> int:
        if request.verb is Verb.ACTIVE:
            return self._activate(request)
        names = request.names if request.names is not None else self._active_names(request.kind)
        code = 0
        for name in names:
            if name.server:
                self.check_server(name.server)
            try:
                self._act(request, name)
            except NO_CONNECTION:
                raise
            except HpcBatchError as error:
                code = self._report(request, name, error)
                if self.is_over:
                    break
        return code

    def _active_names(self, kind: Kind) -> Sequence[Name]:
        if kind not in {Kind.QUEUE, Kind.NODE}:
            return (Name(""),)
        if kind not in self._active and not self._options.quiet:
            complain(f"No Active {kind.capitalize()}s, nothing done.")
        return self._active.get(kind, ())

    def _activate(self, request: Request) -> int:
        kind = request.kind
        if request.names is None:
            what = "schedulers" if kind is Kind.SCHED else f"{kind}s"
            print(f"Active {what}:")
            for name in self._active.get(kind, () if kind in {Kind.QUEUE, Kind.NODE} else (Name(""),)):
                print(self._server(name) if kind is Kind.SERVER else f"{name.object}@{self._server(name)}")
            return 0
        from hpcbatch.cli.pbs.qmgr_objects import names_of

        for name in request.names:
            if name.server:
                self.check_server(name.server)
            if kind in {Kind.QUEUE, Kind.NODE} and name.object and name.object not in names_of(self._session, kind):
                return self._failed(f"{kind.capitalize()} does not exist: {name.object}.", 1, with_a=_EXECUTE)
        self._active[kind] = request.names
        return 0

    def _server(self, name: Name) -> str:
        return name.server or (self._options.servers[0] if self._options.servers else "default")

    def _act(self, request: Request, name: Name) -> None:
        from hpcbatch.cli.pbs import qmgr_objects

        if request.verb in {Verb.LIST, Verb.PRINT}:
            sys.stdout.write(qmgr_objects.shown(self._session, request, name.object))
        else:
            qmgr_objects.change(self._session, request, name.object)

    def _report(self, request: Request, name: Name, error: HpcBatchError) -> int:
        from hpcbatch.cli.pbs.qmgr_objects import as_answer
        from hpcbatch.dialects.pbs.errors import PBSE_ATTRRO

        answer: QmgrError = as_answer(error)
        is_listing = request.verb in {Verb.LIST, Verb.PRINT}
        code = 1 if is_listing else answer.number & 0xFF
        if (request.verb, request.kind, answer.number) == (Verb.SET, Kind.NODE, PBSE_ATTRRO) and not sys.stdin.isatty():
            # so that what `print node` shows can be read again
            return self._failed("", code, with_a=_EXECUTE)
        lines = [f"qmgr obj={name.object} svr={self._server(name)}: {answer.text}"]
        lines.append(f"qmgr: Error ({answer.number}) returned from server")
        if answer.note:
            lines.append(f"qmgr: hpcbatch: {answer.note}")
        return self._failed("\n".join(lines), code, with_a=_EXECUTE)
