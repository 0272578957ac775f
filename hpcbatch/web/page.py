"""A page and its parts, and how they become HTML."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime, tzinfo
from hashlib import blake2s
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

import jinja2
from markupsafe import Markup, escape

from hpcbatch.errors import HpcBatchError
from hpcbatch.model.text import printable, printable_lines
from hpcbatch.units import hms

Values = Mapping[str, Any]


class Part(NamedTuple):
    """A piece of a page that is made anew while the page is open. `every_s` 0: it stays as it is."""

    template: str
    make: Callable[[], Values]
    every_s: int = 0


class Page(NamedTuple):
    template: str
    title: str
    values: Values
    parts: Mapping[str, Part] = {}
    status: int = 200


class Request(NamedTuple):
    """What a page may know of a request."""

    path: str
    """Within the page: `jobs/12`."""
    query: Mapping[str, str]
    form_token: str
    """For the forms of this browser."""


class Renderer:
    """Texts of jobs are escaped, and characters that cannot be printed, or turn the direction of text, are shown as
    such, wherever a template puts a value.
    """

    def __init__(self, prefix: str, zone: tzinfo, version: str, common: Values) -> None:
        self._prefix, self._zone, self._version = prefix, zone, version
        self._env = jinja2.Environment(
            loader=jinja2.PackageLoader("hpcbatch.web", "pages"),
            autoescape=True,
            undefined=jinja2.StrictUndefined,
            finalize=_shown,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._env.globals.update(common, url=self.url, version=version)
        self._env.filters.update(
            moment=self.moment,
            hms=lambda seconds: "" if seconds is None else hms(seconds),
            size=size,
            lines=lines,
            slug=slug,
        )

    def url(self, path: str = "", **query: object) -> str:
        """The address of a page of ours. What is None or empty is left out of the query."""
        kept = {name: value for name, value in query.items() if value not in {None, ""}}
        return f"{self._prefix}{quote(path)}{f'?{urlencode(kept)}' if kept else ''}"

    def moment(self, when: datetime | None, empty: str = "") -> Markup | str:
        """A time of a job, in the user's time zone."""
        if when is None:
            return empty
        local = when.astimezone(self._zone)
        return Markup('<time datetime="{}" title="{}">{}</time>').format(
            when.isoformat(timespec="seconds"), f"{local:%Y-%m-%d %H:%M:%S %Z}", f"{local:%b %d %H:%M:%S}"
        )

    def page(self, page: Page, request: Request, fault: Callable[[HpcBatchError], Exception]) -> str:
        """A whole page. A part that cannot be made says why in its place."""
        parts = {name: self._part(name, part, request, fault)[0] for name, part in page.parts.items()}
        values = {**page.values, "title": page.title, "path": request.path, "form_token": request.form_token}
        return self._env.get_template(page.template).render(values, parts=parts)

    def simple(self, template: str, **values: object) -> str:
        """A page that knows nothing of jobs."""
        return self._env.get_template(template).render(values)

    def part(self, page: Page, name: str, request: Request, fault: Callable[[HpcBatchError], Exception]) -> str | None:
        """One part; None where it is as the browser says that it has it. KeyError for one that there is not."""
        text, digest = self._part(name, page.parts[name], request, fault)
        return None if digest == request.query.get("seen") else text

    def _part(
        self, name: str, part: Part, request: Request, fault: Callable[[HpcBatchError], Exception]
    ) -> tuple[Markup, str]:
        try:
            values = part.make()
            inner = self._env.get_template(part.template).render(
                values, path=request.path, form_token=request.form_token
            )
        except HpcBatchError as error:
            inner = self._fault(fault(error))
        return self._wrapped(name, inner, part.every_s, request)

    def faulty_part(self, name: str, error: Exception, request: Request, *, every_s: int) -> str:
        """In the place of a part whose page cannot be made."""
        return self._wrapped(name, self._fault(error), every_s, request)[0]

    def _fault(self, error: Exception) -> str:
        return self._env.get_template("fault.html").render(error=str(error))

    def _wrapped(self, name: str, inner: str, every_s: int, request: Request) -> tuple[Markup, str]:
        """The part in an element that asks for it anew, and says what it has already."""
        digest = blake2s(f"{every_s} {inner}".encode(), digest_size=8).hexdigest()
        kept = {key: value for key, value in request.query.items() if key not in {"part", "seen", "done"}}
        again = self.url(request.path, **{**kept, "part": name, "seen": digest})
        attributes = Markup(' hx-get="{}" hx-trigger="every {}s" hx-swap="outerHTML"').format(again, every_s)
        wrapped = Markup('<div id="part-{}"{}>{}</div>').format(
            name,
            attributes if every_s else "",
            Markup(inner),  # noqa: S704 - made by an escaping template
        )
        return wrapped, digest


def _shown(value: Any) -> Any:
    """For each value that a template puts: Markup is ours already."""
    if isinstance(value, Markup):
        return value
    return printable(value) if isinstance(value, str) else value


def slug(title: str) -> str:
    """A heading of ours as part of an id. What has the focus must have an id: parts that are made anew give it back."""
    return "-".join(re.findall(r"[a-z0-9]+", title.lower()))


def lines(text: str) -> Markup:
    """A text with its own lines."""
    return escape(printable_lines(text))


def size(count: int | None) -> str:
    """Bytes for people: `1.5 GiB`."""
    if count is None:
        return ""
    amount, unit = float(count), "B"
    for larger in ("KiB", "MiB", "GiB", "TiB", "PiB"):
        if amount < 1024:
            break
        amount, unit = amount / 1024, larger
    return f"{amount:.0f} {unit}" if unit == "B" or amount >= 100 else f"{amount:.3g} {unit}"
