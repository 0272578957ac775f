"""A template and checked values → the text of a job script."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Mapping
from functools import partial
from typing import NoReturn

from jinja2 import (
    BaseLoader,
    Environment,
    StrictUndefined,
    TemplateNotFound,
    TemplateSyntaxError,
)
from jinja2.sandbox import ImmutableSandboxedEnvironment

from hpcbatch.errors import HpcBatchError, place
from hpcbatch.new.definition import MissingFileError
from hpcbatch.new.parameters import Value
from hpcbatch.new.quoting import directive_word, mebibytes, shellquote
from hpcbatch.units import hm, hms

ReadFile = Callable[[str], tuple[str, str]]
"""Path and text of a template's file."""


def render(name: str, values: Mapping[str, Value], dialect: str, read: ReadFile) -> str:
    """The script of the template `NAME.sh.j2`.

    Raises HpcBatchError, one line with the template's file, its line, and the variable or what else was wrong.
    """
    loader = _Files(read)
    environment = ImmutableSandboxedEnvironment(
        loader=loader,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,  # of what is included
        comment_start_string="{##",
        comment_end_string="##}",  # `${#name}` is the shell's
    )
    # What is written is shell, where HTML's escapes would be wrong; the filters quote.
    environment.filters |= {
        "shellquote": shellquote,
        "directive": partial(directive_word, dialect=dialect),
        "hms": hms,
        "hm": hm,
        "mebibytes": mebibytes,
        "dirname": posixpath.dirname,
        "basename": posixpath.basename,
    }
    file = f"{name}.sh.j2"
    try:
        text = environment.get_template(file).render({**values, "dialect": dialect, "template": name})
        return text.rstrip() + "\n"
    except TemplateSyntaxError as error:
        path = loader.paths.get(error.name or file, error.name or file)
        raise HpcBatchError(f"template {place(path, error.lineno)}: {error.message}") from None
    except TemplateNotFound as error:
        _fail(loader, error, f"there is no {error.name} to include")
    except HpcBatchError as error:
        if loader.failed is not None:
            raise HpcBatchError(str(loader.failed)) from None
        _fail(loader, error, str(error))
    except Exception as error:  # whatever the template's own expressions raised
        _fail(loader, error, str(getattr(error, "message", None) or f"{type(error).__name__}: {error}"))


class _Files(BaseLoader):
    """Remembers where the texts came from, for messages."""

    def __init__(self, read: ReadFile) -> None:
        self._read = read
        self.paths: dict[str, str] = {}
        self.failed: HpcBatchError | None = None
        """The error of a file that could not be read."""

    def get_source(self, environment: Environment, template: str) -> tuple[str, str, Callable[[], bool]]:  # noqa: ARG002
        try:
            path, text = self._read(template)
        except MissingFileError:
            raise TemplateNotFound(template) from None
        except HpcBatchError as error:
            self.failed = error
            raise
        self.paths[template] = path
        return text, path, lambda: True


def _fail(loader: _Files, error: Exception, message: str) -> NoReturn:
    """Jinja gives each line of a template a frame of the traceback, with the template's file and line."""
    where = ""
    paths = set(loader.paths.values())
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename in paths:
            where = f"template {place(trace.tb_frame.f_code.co_filename, trace.tb_lineno)}: "
        trace = trace.tb_next
    raise HpcBatchError(" ".join(f"{where or 'template: '}{message}".split())) from None
