"""qmgr's command line and its requests: `operation object [name,…] [attribute[.resource] OP value,…]`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum

from hpcbatch.dialects.pbs import options, usage
from hpcbatch.dialects.pbs.errors import PbsUsageError
from hpcbatch.dialects.pbs.qmgr_attributes import Kind, canonical, is_attribute
from hpcbatch.typed import NamedTuple


class Verb(StrEnum):
    """In the order in which qmgr takes a word, however short, for one. Source: parse() of qmgr.c."""

    CREATE = "create"
    DELETE = "delete"
    SET = "set"
    UNSET = "unset"
    LIST = "list"
    PRINT = "print"
    ACTIVE = "active"
    IMPORT = "import"
    EXPORT = "export"
    HELP = "help"
    QUESTION = "?"
    QUIT = "quit"
    EXIT = "exit"
    HISTORY = "history"


WITHOUT_OBJECT = frozenset({Verb.HELP, Verb.QUESTION, Verb.QUIT, Verb.EXIT, Verb.HISTORY})


class QmgrOptions(NamedTuple):
    servers: tuple[str, ...]
    command: str | None = None
    abort: bool = False
    """-a: the first error ends it."""
    echo: bool = False
    parse_only: bool = False
    """-n."""
    quiet: bool = False
    """-z: no errors are printed."""


class Name(NamedTuple):
    """`queue@server`: "" as an object stands for all, None as a server for those that are active."""

    object: str
    server: str | None = None


class Setting(NamedTuple):
    name: str
    resource: str = ""
    op: str = "="
    value: str = ""

    def __str__(self) -> str:
        return f"{self.name}.{self.resource}" if self.resource else self.name


class Request(NamedTuple):
    verb: Verb
    kind: Kind = Kind.SERVER
    names: tuple[Name, ...] | None = None
    """None: the active ones."""
    settings: tuple[Setting, ...] = ()
    topic: str = ""
    """Of help."""


class BadRequestError(Exception):
    """A request that qmgr does not understand; `code` is its exit code, `text` all that it prints."""

    def __init__(self, text: str, code: int) -> None:
        super().__init__(text)
        self.text, self.code = text, code


def parse_qmgr(argv: Sequence[str]) -> QmgrOptions:
    """PbsUsageError (exit 1) for what is no option."""
    parsed = options.getopt(options.words(argv), options.QMGR)
    if parsed.errors:
        raise PbsUsageError("\n".join(parsed.errors), usage.QMGR, code=1)
    values = {option.name: option.value for option in parsed.options}
    return QmgrOptions(
        servers=tuple(word.text for word in parsed.operands),
        command=values.get("c"),
        abort="a" in values,
        echo="e" in values,
        parse_only="n" in values,
        quiet="z" in values,
    )


def requests_in(lines: Iterable[str]) -> Iterator[str]:
    """The requests of an input. `;` and a line's end separate them, unless the line ends with a backslash; `#` begins a
    comment.
    """
    held = ""
    for line in lines:
        text = line.removesuffix("\n")
        if not text.strip() or text.lstrip().startswith("#"):
            continue
        if text.endswith("\\"):
            held += text[:-1] + " "
            continue
        yield from _split(held + text)
        held = ""


def _split(line: str) -> Iterator[str]:
    start, quote = 0, ""
    for index, char in enumerate(line):
        if quote:
            quote = "" if char == quote else quote
        elif char in "\"'":
            quote = char
        elif char == ";":
            yield line[start:index]
            start = index + 1
        elif char == "#" and (index == start or line[index - 1].isspace()):
            yield line[start:index]
            return
    yield line[start:]


def parse_request(text: str) -> Request | None:
    """None for an empty one. Raises BadRequestError."""
    text = text.lstrip()
    if not text:
        return None
    words, end = _words(text)
    verb = next((verb for verb in Verb if verb.startswith(words[0])), None) if words[0] else None
    if verb is None:
        message = f"qmgr: Illegal operation: {words[0]}\nTry 'help' if you are having trouble."
        raise BadRequestError(message, 1)
    if verb in WITHOUT_OBJECT:
        return Request(verb, topic=words[1])
    if not words[1]:
        raise BadRequestError("qmgr: No object type given", 2)
    kind = next((kind for kind in Kind if kind.startswith(words[1])), None)
    kind = kind or {"queues": Kind.QUEUE, "nodes": Kind.NODE}.get(words[1])
    if kind is None:
        raise BadRequestError(f"qmgr: Illegal object type: {words[1]}.", 2)
    names: tuple[Name, ...] | None = None
    if words[2]:
        if kind is not Kind.RESOURCE and is_attribute(kind, words[2].partition(".")[0]):
            end -= len(words[2])
        else:
            if wrong := _wrong_at(words[2], kind):
                raise _syntax_error(text, end - len(words[2]) + wrong - 1, 3)
            names = tuple(_names(words[2], kind))
    settings, wrong_at = _settings(text[end:], verb)
    needs = verb in {Verb.SET, Verb.UNSET}
    if wrong_at is not None or (needs and not settings) or (verb is Verb.ACTIVE and settings):
        raise _syntax_error(text, end + (wrong_at or 0), 4)
    return Request(verb, kind, names, tuple(one._replace(name=canonical(kind, one.name)) for one in settings))


def _syntax_error(text: str, at: int, code: int) -> BadRequestError:
    return BadRequestError(f"qmgr: Syntax error\n{text}\n{' ' * at}^", code)


def _is_operator(text: str, at: int) -> bool:
    return text[at] == "=" or text[at : at + 2] in {"+=", "-="}


def _words(text: str) -> tuple[list[str], int]:
    """The first three words, "" for those that are missing, and where the last of them ends."""
    found: list[str] = []
    at = 0
    while at < len(text) and len(found) < 3:
        while at < len(text) and text[at].isspace():
            at += 1
        start = at
        while at < len(text) and not text[at].isspace() and not _is_operator(text, at):
            at += 1
        found.append(text[start:at])
    return [*found, "", "", ""][:3], at


def _wrong_at(names: str, kind: Kind) -> int:
    """Where a list of names is wrong, from 1 on; 0 if it is not."""
    at = 0
    for part in names.split(","):
        name, is_at, server = part.partition("@")
        good = (name[:1].isalnum() if kind is Kind.NODE else name[:1].isalpha()) or (not name and bool(is_at))
        if not good:
            return at or 1
        if is_at and (not server or "@" in server):
            return at + len(name) + 1
        at += len(part) + 1
    return 0


def _names(text: str, kind: Kind) -> Iterator[Name]:
    for part in text.split(","):
        name, is_at, server = part.partition("@")
        if is_at:
            is_default = "default".startswith(server)
            yield Name(name, "" if is_default else None if "active".startswith(server) else server)
        elif kind is Kind.SERVER:
            yield Name("", "" if name == "default" else name)
        else:
            yield Name(name)


def _settings(text: str, verb: Verb) -> tuple[tuple[Setting, ...], int | None]:
    """The attributes, and where they go wrong; None if they do not. Source: attributes() of qmgr.c."""
    found: list[Setting] = []
    at, length = 0, len(text)

    def skip() -> None:
        nonlocal at
        while at < length and text[at].isspace():
            at += 1

    def word(stops: str) -> str:
        nonlocal at
        start = at
        while at < length and text[at] not in stops and not text[at].isspace() and not _is_operator(text, at):
            at += 1
        return text[start:at]

    skip()
    while at < length:
        name = word(".,")
        if not name:
            return (), max(at, 1)
        resource = ""
        if at < length and text[at] == ".":
            at += 1
            resource = word("," if verb in {Verb.UNSET, Verb.LIST, Verb.PRINT} else "")
            if not resource:
                return (), at
        skip()
        if at < length and text[at] != ",":
            if not _is_operator(text, at) or verb is Verb.UNSET:
                return (), at
            op = text[at : at + (1 if text[at] == "=" else 2)]
            at += len(op)
            skip()
            start = at
            value, at = _value(text, at)
            if value is None or start == length:
                return (), start
            found.append(Setting(name, resource, op, value))
        elif at == length and verb in {Verb.CREATE, Verb.SET}:
            return (), at
        else:
            found.append(Setting(name, resource))
        skip()
        if at == length:
            break
        if text[at] != ",":
            return (), at
        at += 1
        skip()
        if at == length:
            return (), at
    return tuple(found), None


def _value(text: str, at: int) -> tuple[str | None, int]:
    """Quotes keep commas and white space together. None: a quote is not closed."""
    value, quote = "", ""
    while at < len(text):
        char = text[at]
        if quote:
            if char == quote:
                quote = ""
            else:
                value += char
        elif char in "\"'":
            quote = char
        elif char == "," or char.isspace():
            break
        else:
            value += char
        at += 1
    return (None if quote else value), at
