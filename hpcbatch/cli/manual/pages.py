"""All manual pages, by the names of their files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from hpcbatch import cli
from hpcbatch.cli.manual import markdown, roff
from hpcbatch.cli.own_lines import Known, known_commands
from hpcbatch.dialects.registry import DIALECTS
from hpcbatch.model.command_line import CommandLine, Flag, value_of

_SITE_PAGE = "hpcbatch-site.yaml"


def pages(*, site_document: str, day: str, version: str) -> dict[str, str]:
    """`man1/qsub.1` and so on. `site_document` is docs/site.md, `day` what stands at the foot of each page."""
    found = {}
    for name, known in known_commands().items():
        for path, body in _pages_of(name, known):
            found[f"man1/{path}.1"] = roff.heading(path, 1, day=day, version=version) + body
    about = roff.part("Name", f"{roff.escaped(_SITE_PAGE)} \\- the configuration of a site\n")
    see = roff.part("See also", ".BR hpcbatch\\-site (1)\n")
    site = markdown.page(site_document)
    site = site if site.startswith(".SH") else roff.part("Description", site.removeprefix(".PP\n"))
    heading = roff.heading(_SITE_PAGE, 5, day=day, version=version)
    found[f"man5/{_SITE_PAGE}.5"] = "".join([heading, about, site, see])
    return found


def _pages_of(name: str, known: Known) -> Iterator[tuple[str, str]]:
    line = known.line
    if known.dialect:
        others = [each for each in cli.PACKAGES[known.dialect] if each != name]
        yield name, _page(line, name, _tables(name, known.dialect), ["hpcbatch", *others])
        return
    below = [f"{name}-{within.name}" for within in line.commands]
    yield name, _page(line._replace(commands=()), name, _groups(line), [*below, _SITE_PAGE])
    for within in line.commands:
        yield f"{name}-{within.name}", _page(within, f"{name} {within.name}", "", [name])


def _page(line: CommandLine, command: str, more: str, see: Sequence[str]) -> str:
    title = command.replace(" ", "-")
    about = line.about[:1].lower() + line.about[1:] if line.about[1:2].islower() else line.about
    usage = line.usage.strip().removeprefix("Usage:").removeprefix("usage:").removeprefix("USAGE:").strip()
    references = [f"{roff.bold(name)}({5 if name == _SITE_PAGE else 1})" for name in see]
    return "".join(
        [
            roff.part("Name", f"{roff.escaped(title)} \\- {roff.escaped(about)}\n"),
            roff.part("Synopsis", roff.verbatim(text.strip() for text in usage.splitlines())),
            roff.part("Description", roff.paragraphs(line.text) if line.text else ""),
            roff.part("Options", _flags(line.flags)),
            roff.part("Commands", "".join(_within(command, each) for each in line.commands)),
            more,
            roff.part("Environment", "".join(roff.tagged(roff.bold(name), text) for name, text in line.variables)),
            roff.part("See also", ",\n".join(references) + "\n"),
        ]
    )


def _flags(flags: Sequence[Flag]) -> str:
    return "".join(roff.tagged(_names(flag), flag.about) for flag in flags)


def _names(flag: Flag) -> str:
    names = ", ".join(roff.bold(name) for name in flag.names)
    value = value_of(flag)
    return names + (f" {roff.italic(value[1:])}" if value.startswith(" ") else roff.italic(value))


def _within(command: str, line: CommandLine) -> str:
    """A command within another, with those within it."""
    path = f"{command} {line.name}"
    if not line.usage:
        words = [within.name for within in line.commands] or list(line.choices)
        operands = [str(word).upper() for word in line.operands if not words]
        text = "|".join(words) if words else " ".join(operands)
        return roff.tagged(f"{roff.bold(path)} {roff.italic(text)}", line.about)
    body = roff.verbatim([line.usage.removeprefix("Usage: ")]) + f".PP\n{roff.escaped(line.about)}.\n"
    if line.text:
        body += f".PP\n{roff.paragraphs(line.text)}"
    return roff.below(path, body + _flags(line.flags)) + "".join(_within(path, each) for each in line.commands)


def _groups(line: CommandLine) -> str:
    """hpcbatch's own commands as its help has them."""
    groups: dict[str, list[CommandLine]] = {}
    for within in line.commands:
        groups.setdefault(within.group, []).append(within)
    body = "".join(
        roff.below(title, "".join(roff.tagged(roff.bold(each.name), each.about) for each in commands))
        for title, commands in groups.items()
    )
    return roff.part("Commands", body)


def _tables(command: str, dialect: str) -> str:
    """What becomes of what stands in options, such as the resources of `-l`."""
    tables: Mapping[str, Sequence[Sequence[str]]] = DIALECTS[dialect].option_tables()
    found = []
    for name, (_, *rows) in tables.items():
        title, _, of = name.rpartition(" of ")
        if of != command or title == "options":
            continue
        terms = [
            roff.tagged(roff.bold(markdown.plain(term)), ": ".join(filter(None, (fate, markdown.plain(meaning)))))
            for term, _, fate, meaning in rows
        ]
        found.append(roff.part(title, "".join(terms)))
    return "".join(found)
