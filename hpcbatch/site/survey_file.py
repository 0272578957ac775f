"""The site.yaml that a survey suggests: an entry for everything that is missing. An admin decides the rest."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping

import yaml

from hpcbatch.model.site import Word
from hpcbatch.site.survey import IMAGE, MODULE, Missing, Survey
from hpcbatch.typed import Any, Final

API_VERSION: Final = "hpcbatch.io/v1alpha1"
KIND: Final = "SiteConfiguration"
_ANY_IMAGE: Final = "registry.example.org/hpc/base:1"
_NAME = re.compile(r"[!-~]{1,253}")
_ALIAS = re.compile(r"[-A-Za-z0-9_.:@+]{1,63}")
_LICENSE = re.compile(r"[A-Za-z0-9_][-A-Za-z0-9_.:@]{0,62}")
_TRANSLATED: Final = (Word.RESOURCE, Word.FEATURE, Word.ACCOUNT, Word.PROJECT, Word.QOS, Word.RESERVATION, Word.CLUSTER)
_MOST = 50  # names in a comment
_WHY: Final = {
    Word.RESOURCE: "this site does not count it",
    Word.FEATURE: "the nodes of this site are not told apart by it",
}


def remedy(missing: Missing, default_queue: str) -> str:
    """The lines of site.yaml that settle it, as one line; "" if the site file cannot."""
    match missing.kind:
        case "queue":
            return f"unknownQueues: {default_queue}"
        case "license" if _LICENSE.fullmatch(missing.name):
            return f"licenses: {{{_text(missing.name)}: {missing.amount}}}"
        case "image":
            return f"allowedImages: [{_text(missing.name)}]"
        case "module":
            return f"modules: [{{name: {_text(missing.name)}}}]"
        case kind if kind in _TRANSLATED and missing.refused:
            return f"translations: [{{{', '.join(_entry(missing))}}}]"
        case _:
            return ""


def site_yaml(survey: Survey, given: Mapping[str, Any], default_queue: str, heading: str) -> str:
    """A whole file: what `given` (the present file, read) has, and what settles what is missing."""
    missing = survey.ranked()
    refused = [each for each in missing if each.refused]
    queues = [each for each in refused if each.kind == "queue"]
    added: dict[str, list[str]] = {
        "unknownQueues": _unknown_queues(queues, default_queue),
        "translations": _translations(given, [each for each in refused if each.kind in _TRANSLATED]),
        "licenses": _licenses(given, [each for each in refused if each.kind == Word.LICENSE]),
    }
    lines = [f"# {line}" for line in heading.splitlines()]
    body = {"apiVersion": API_VERSION, "kind": KIND, **given}
    if not given:
        body["image"] = _ANY_IMAGE
        lines.append(f"# to decide: the image of the jobs, here {_ANY_IMAGE}")
    if "queues" not in body:
        body["queues"] = [{"name": default_queue, "default": True}]
        lines.append("# to decide: the queues, with their limits (docs/site.md)")
    body["queues"] = [_with_aliases(queue, queues, default_queue) for queue in body["queues"]]
    for key, value in body.items():
        if not added.get(key):
            lines += yaml.safe_dump({key: value}, sort_keys=False, allow_unicode=True).splitlines()
    for key in ("unknownQueues", "licenses", "translations"):
        lines += added[key]
    lines += _images([each for each in missing if each.kind == IMAGE])
    lines += _modules(given, [each for each in missing if each.kind == MODULE])
    lines += _undecided(each for each in missing if not remedy(each, default_queue))
    return "".join(f"{line}\n" for line in lines)


def _unknown_queues(missing: list[Missing], default_queue: str) -> list[str]:
    if not missing:
        return []
    return [
        f"# to decide: {_scripts(missing)} name queues that there are not. The most frequent names are aliases of",
        f"# {default_queue} above, which may fit another queue better; all others go there with a note:",
        *_comment(missing),
        f"unknownQueues: {_text(default_queue)}",
    ]


def _with_aliases(queue: Mapping[str, Any], missing: list[Missing], default_queue: str) -> Mapping[str, Any]:
    names = [each.name for each in missing if _ALIAS.fullmatch(each.name)][:_MOST]
    if queue.get("name") != default_queue or not names:
        return queue
    return {**queue, "aliases": [*(queue.get("aliases") or ()), *names]}


def _translations(given: Mapping[str, Any], missing: list[Missing]) -> list[str]:
    """Those of the file stay first. Types of GPU become GPUs of any type; all else is ignored."""
    if not missing:
        return []
    lines = ["translations:"]
    for entry in given.get("translations") or ():
        first, *rest = yaml.safe_dump(entry, sort_keys=False, allow_unicode=True).splitlines()
        lines += [f"- {first}", *(f"  {line}" for line in rest)]
    seen = set()
    for each in missing:
        entry = _entry(each)
        if entry[0] in seen or not _NAME.fullmatch(each.name.partition("=")[0]):
            continue
        seen.add(entry[0])
        lines.append(f"# to decide: {_scripts([each])}, as in {_plain(each.example)}{_other_way(each)}")
        lines += [f"- {entry[0]}", *(f"  {line}" for line in entry[1:])]
    return lines


def _entry(missing: Missing) -> list[str]:
    name, _, value = missing.name.partition("=")
    if missing.kind == Word.RESOURCE and name.startswith("gpu:"):
        return ['resource: "gpu:*"', "as: gpu"]
    if missing.kind == Word.RESOURCE and value:
        return [f"resource: {_text(name)}", f"ignored: {_WHY[Word.RESOURCE]}"]
    reason = _WHY.get(Word(missing.kind), f"this site has no such {missing.kind}")
    return [f"{missing.kind}: {_text(name)}", f"ignored: {reason}"]


def _other_way(missing: Missing) -> str:
    name = missing.name.partition("=")[0]
    match missing.kind:
        case Word.FEATURE:
            return "; nodes with it have labels: nodeProperties"
        case Word.RESOURCE if "=" in missing.name:
            return "; nodes with it have labels: `labels: {label: value}` instead"
        case Word.RESOURCE:
            return f"; devices that can be counted: resources: {{{_text(name)}: example.org/device}}"
        case _:
            return ""


def _licenses(given: Mapping[str, Any], missing: list[Missing]) -> list[str]:
    fit = [each for each in missing if _LICENSE.fullmatch(each.name)]
    if not fit:
        return []
    kept: Mapping[Any, Any] = given.get("licenses") or {}
    names = {each.name for each in fit}
    lines = ["licenses:", *(f"  {_text(str(name))}: {count}" for name, count in kept.items() if name not in names)]
    return [*lines, *(f"  {_text(each.name)}: {each.amount} # to decide: how many; {_scripts([each])}" for each in fit)]


def _images(missing: list[Missing]) -> list[str]:
    """Only as a comment: who may run which image is no matter of counting."""
    if not missing:
        return []
    return ["# to decide: images that no queue allows, for `allowedImages: [pattern]`:", *_comment(missing)]


def _modules(given: Mapping[str, Any], missing: list[Missing]) -> list[str]:
    if not missing:
        return []
    where = "added to `modules` above" if given.get("modules") else "as `modules: [{name: …}]`"
    return [f"# to decide: modules that no image may have, {where}:", *_comment(missing)]


def _undecided(missing: Iterable[Missing]) -> Iterator[str]:
    rest = list(missing)
    if rest:
        yield "# What no site file settles:"
        yield from _comment(rest)


def _comment(missing: list[Missing]) -> Iterator[str]:
    for each in missing[:_MOST]:
        yield f"#   {_plain(each.name)} ({_scripts([each])}, as in {_plain(each.example)})"
    if len(missing) > _MOST:
        yield f"#   and {len(missing) - _MOST} more"


def _scripts(missing: list[Missing]) -> str:
    number = sum(each.scripts for each in missing)
    return "1 script" if number == 1 else f"{number} scripts"


def _plain(text: str) -> str:
    """For a comment: nothing that ends the line or that YAML forbids."""
    return "".join(char if char.isprintable() else "?" for char in text)


def _text(text: str) -> str:
    return text if re.fullmatch(r"[A-Za-z_][-A-Za-z0-9_.]*", text) and not _is_word(text) else json.dumps(text)


def _is_word(text: str) -> bool:
    return text.lower() in {"true", "false", "yes", "no", "on", "off", "null", "y", "n"}
