"""Our documentation's Markdown as man(7): headings, paragraphs, lists, tables of a term and what it means, blocks."""

from __future__ import annotations

import re

from hpcbatch.cli.manual import roff

_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")


def plain(text: str) -> str:
    """A line without its marks; of a link its text."""
    return _LINK.sub(r"\1", text).replace("**", "").replace("`", "").replace("\\|", "|").strip()


def page(text: str) -> str:
    """All of a document below its title, the second headings as sections."""
    found: list[str] = []
    for block in _blocks(text):
        if block.startswith("```"):
            found.append(f".PP\n.RS 4\n{roff.verbatim(block.splitlines()[1:])}.RE\n")
        elif block.startswith("    "):
            found.append(f".PP\n.RS 4\n{roff.verbatim(line[4:] for line in block.splitlines())}.RE\n")
        elif block.startswith("## "):
            found.append(roff.part(plain(block[3:]), "\\&\n").removesuffix("\\&\n"))
        elif block.startswith("### "):
            found.append(roff.below(plain(block[4:]), ""))
        elif block.startswith("|"):
            found.append(_table(block))
        elif block.startswith("- "):
            items = re.split(r"^- ", block, flags=re.MULTILINE)[1:]
            found += [f".IP \\(bu 3\n{roff.escaped(plain(' '.join(item.split())))}\n" for item in items]
        elif not block.startswith(("# ", "<!--")):
            found.append(f".PP\n{roff.escaped(plain(' '.join(block.split())))}\n")
    return re.sub(r"(\.S[HS] .*\n)\.PP\n", r"\1", "".join(found))


def _blocks(text: str) -> list[str]:
    """Fences whole, whatever is in them; else what empty lines part, with headings by themselves."""
    blocks: list[str] = []
    for index, piece in enumerate(re.split(r"^(```.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)):
        if index % 2:
            blocks.append(piece)
            continue
        for block in re.split(r"\n\s*\n", re.sub(r"^(#+ .*)$", r"\n\1\n", piece, flags=re.MULTILINE)):
            blocks += [block.strip("\n")] if block.strip() else []
    return blocks


def _table(block: str) -> str:
    """Each row a term and what it means; a column between them that says a default is told behind."""
    heading, _, *rows = [[plain(cell) for cell in re.split(r"(?<!\\)\|", row.strip("|"))] for row in block.splitlines()]
    found = []
    for row in rows:
        term, *between, text = row
        default = next((cell for cell, name in zip(between, heading[1:], strict=False) if name == "Default"), "")
        text = "; ".join(filter(None, (text, f"default: {default}" if default else "")))
        found.append(roff.tagged(roff.bold(term), text))
    return "".join(found)
