"""The variables that travel with a job: `-v`, `-V` and PBS_O_*."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

from hpcbatch.errors import HpcBatchError
from hpcbatch.model.text import HIDDEN

_ORIGINAL = {
    "PBS_O_HOME": "HOME",
    "PBS_O_LANG": "LANG",
    "PBS_O_LOGNAME": "LOGNAME",
    "PBS_O_PATH": "PATH",
    "PBS_O_MAIL": "MAIL",
    "PBS_O_SHELL": "SHELL",
    "PBS_O_TZ": "TZ",
}
_PREFIX = "PBS_O_"  # only qsub itself sets these
_SECRET = frozenset({"PBS_JOBCOOKIE", "PBS_INTERACTIVE_COOKIE"})
_INTERACTIVE = ("PBS_O_INTERACTIVE_AUTH_METHOD", "PBS_O_INTERACTIVE_ENCRYPT_METHOD")  # shown, not set
_FIRST = (*_ORIGINAL, *_INTERACTIVE, "PBS_O_WORKDIR", "PBS_O_SYSTEM")
_LAST = ("PBS_O_QUEUE", "PBS_O_HOST")
_ESCAPED = str.maketrans({char: f"\\{char}" for char in "\"',\\"})


def job_variables(
    environ: Mapping[str, str], *, listed: Mapping[str, str], export_all: bool, cwd: str, user: str
) -> dict[str, str]:
    """The Variable_List of a job submitted in `environ`, in PBS's order, without queue and host.

    `listed` are those of `-v`, which go before those of `-V`. Source: OpenPBS, job_env_basic() and set_job_env().
    """
    variables = {name: environ[source] for name, source in _ORIGINAL.items() if source in environ}
    variables.setdefault("PBS_O_HOME", "/")
    variables.setdefault("PBS_O_LOGNAME", user)
    variables |= {"PBS_O_WORKDIR": cwd, "PBS_O_SYSTEM": "Linux"}
    variables = {name: variables[name] for name in _FIRST if name in variables}
    variables |= {name: value for name, value in listed.items() if not name.startswith(_PREFIX)}
    if export_all:
        for name, value in environ.items():
            if name and not name.startswith(_PREFIX) and name not in _SECRET:
                variables.setdefault(name, value)
    return variables


def ordered(variables: Mapping[str, str]) -> dict[str, str]:
    """`variables` in the order of a Variable_List, for display."""
    middle = [name for name in variables if name not in _FIRST and name not in _LAST]
    return {name: variables[name] for name in (*_FIRST, *middle, *_LAST) if name in variables}


def parse_variable_list(text: str, environ: Mapping[str, str]) -> dict[str, str]:
    """Read `name[=value],…` of `-v`; a name alone takes its value from `environ`.

    Quotes group and are removed, a backslash keeps a comma. Raises HpcBatchError for a variable that is not set,
    an empty name and an open quote. Source: OpenPBS, expand_varlist() and copy_env_value().
    """
    variables: dict[str, str] = {}
    for item in _items(text):
        name, equals, value = item.partition("=")
        if not name:
            raise HpcBatchError("a variable has no name")
        if name.startswith(_PREFIX) or (name in _SECRET and not equals):
            continue
        if equals:
            variables[name] = _unquote(value)
        elif name in environ:
            variables[name] = environ[name]
        else:
            raise HpcBatchError(f"{name} is not set")
    return variables


def names_only(text: str) -> str:
    """A list of `-v` without the values that it gives."""
    items = (item.partition("=") for item in _items(text))
    return ",".join(f"{name}{equals}{HIDDEN if equals else ''}" for name, equals, _ in items)


def _items(text: str) -> Iterator[str]:
    """The parts of `text` between commas that neither stand in quotes nor follow a backslash."""
    start, position, quote = 0, 0, ""
    while position < len(text):
        char = text[position]
        if char == "\\":
            position += 1
        elif quote:
            quote = "" if char == quote else quote
        elif char in "\"'":
            quote = char
        elif char == ",":
            yield text[start:position]
            start = position + 1
        position += 1
    if start < len(text):
        yield text[start:]


def _unquote(value: str) -> str:
    result: list[str] = []
    quote = ""
    position = 0
    while position < len(value):
        char = value[position]
        if char == "\\" and value[position + 1 : position + 2] == ",":
            result.append(",")
            position += 1
        elif quote and char == quote:
            quote = ""
        elif not quote and char in "\"'":
            quote = char
        else:
            result.append(char)
        position += 1
    if quote:
        raise HpcBatchError("a quote is not closed")
    return "".join(result)


def format_variable_list(variables: Mapping[str, str]) -> str:
    """The list as `qstat -f` shows it: quotes, commas and backslashes in a value get a backslash."""
    return _listed(tuple(variables.items()))


@lru_cache(maxsize=1000)
def _listed(variables: tuple[tuple[str, str], ...]) -> str:
    """Most jobs of a user have the same."""
    return ",".join([f"{name}={value.translate(_ESCAPED)}" for name, value in variables])
