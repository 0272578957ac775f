"""What the site's file says of names in scripts: aliases of queues, licences, translations, what is unsupported."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import yaml

from hpcbatch.model.site import QueueConfig, Translation, Unsupported, Word
from hpcbatch.site.labels import is_label_key, label_value
from hpcbatch.site.yaml_fields import Fields, UnfitError, number, text
from hpcbatch.typed import Final

EFFECTS: Final = ("labels", "as", "ignored", "refused")
TRANSLATION_KEYS: Final = (*Word, "value", *EFFECTS)
FEATURE_PREFIX: Final = "feature "
"""Of what a resource can become: a feature of the name that follows."""

_WITH_LABELS = frozenset(Word) - {Word.LICENSE, Word.NODE, Word.OPTION}
_ALIAS = re.compile(r"[-A-Za-z0-9_.:@+*?\[\]!]{1,63}")
_PATTERN = re.compile(r"[!-~]{1,253}")
_LICENSE = re.compile(r"[A-Za-z0-9_][-A-Za-z0-9_.:@]{0,62}")
_MAX_LICENSES = 10**6


def unsupported(node: yaml.Node) -> Unsupported:
    value = text(node)
    if value not in set(Unsupported):
        raise UnfitError(f"expected {' or '.join(Unsupported)}, found {value!r}")
    return Unsupported(value)


def queue_alias(node: yaml.Node) -> str:
    value = text(node)
    if not _ALIAS.fullmatch(value):
        raise UnfitError(f"expected a queue's name, with `*` and `?` where anything may stand, found {value!r}")
    return value


def check_aliases(items: Sequence[Fields], queues: Sequence[QueueConfig]) -> None:
    """Complain about aliases that could never count."""
    names = {queue.name for queue in queues}
    taken: dict[str, str] = {}
    for item, queue in zip(items, queues, strict=True):
        for alias in queue.aliases:
            if alias in names and alias != queue.name:
                item.complain("aliases", f"{alias!r} is the name of another queue")
            elif alias in taken:
                item.complain("aliases", f"{alias!r} is an alias of queue {taken[alias]} already")
            taken.setdefault(alias, queue.name)


def read_unknown_queues(fields: Fields, queues: Sequence[QueueConfig]) -> str:
    name = fields.take("unknownQueues", text, "")
    known = [queue.name for queue in queues]
    if name and known and name not in known:
        fields.complain("unknownQueues", f"no queue {name!r}: expected one of {', '.join(known)}")
    return name


def read_licenses(fields: Fields) -> Mapping[str, int]:
    found: dict[str, int] = {}
    for name, node in fields.entries("licenses") or ():
        if not _LICENSE.fullmatch(name):
            fields.complain("licenses", f"{name!r} cannot be a licence: expected letters, digits, '_', '-', '.' or '@'")
            continue
        try:
            found[name] = number(0, _MAX_LICENSES)(node)
        except UnfitError as unfit:
            fields.complain("licenses", f"{name}: {unfit}")
    return found


def read_translations(fields: Fields) -> tuple[Translation, ...]:
    read = (_translation(item) for item in fields.each("translations", TRANSLATION_KEYS))
    return tuple(translation for translation in read if translation is not None)


def _translation(item: Fields) -> Translation | None:
    if not item.is_mapping:
        return None
    words = [word for word in Word if word in item]
    if len(words) != 1:
        many = f"{' and '.join(words)} together" if words else "no kind of name"
        item.complain(words[1] if words else "", f"{many}: expected one of {', '.join(Word)}")
        return None
    word = words[0]
    effects = [effect for effect in EFFECTS if effect in item]
    if not effects:
        item.complain("", f"nothing becomes of it: expected one of {', '.join(EFFECTS)}")
    elif len(effects) > 1 and effects != ["labels", "as"]:
        item.complain(effects[1], f"{' and '.join(effects)} together: expected one, or labels and as")
    if word is not Word.RESOURCE and "value" in item:
        item.complain("value", f"a {word} has no value: expected it with a resource")
    if "labels" in item and word not in _WITH_LABELS:
        item.complain("labels", f"not of a {word}")
    if word is Word.OPTION and ("as" in item or "refused" in item):
        item.complain("as" if "as" in item else "refused", "not of an option: expected ignored, with the reason")
    return Translation(
        word=word,
        pattern=item.take(word, _pattern, "*"),
        value=item.take("value", _pattern, "*"),
        labels=_labels(item, word),
        renamed=item.take("as", _renamed, ""),
        ignored=item.take("ignored", _reason, ""),
        refused=item.take("refused", _reason, ""),
    )


def _labels(item: Fields, word: Word) -> dict[str, str]:
    found: dict[str, str] = {}
    entries = item.entries("labels")
    for key, node in entries or ():
        if not is_label_key(key):
            item.complain("labels", f"{key!r} is no label key: expected [domain/]name")
            continue
        has_value = word is Word.RESOURCE and isinstance(node, yaml.ScalarNode) and "{value}" in node.value
        try:
            found[key] = _with_value(node) if has_value else label_value(node)
        except UnfitError as unfit:
            item.complain("labels", f"{key}: {unfit}")
    if entries == [] and isinstance(item.get("labels"), yaml.MappingNode):
        item.complain("labels", "expected one label at least, as `label: value`")
    return found


def _with_value(node: yaml.Node) -> str:
    value = str(node.value)
    if not re.fullmatch(r"[-A-Za-z0-9_.]*", value.replace("{value}", "")):
        raise UnfitError("expected a label's value: letters, digits, '-', '_' or '.', and {value}")
    return value


def _pattern(node: yaml.Node) -> str:
    value = text(node)
    if not _PATTERN.fullmatch(value):
        raise UnfitError(f"expected a name without blanks, with `*` and `?` where anything may stand, found {value!r}")
    return value


def _renamed(node: yaml.Node) -> str:
    value = text(node)
    if not _PATTERN.fullmatch(value.removeprefix(FEATURE_PREFIX)):
        raise UnfitError(f"expected a name, or `feature NAME`, found {value!r}")
    return value


def _reason(node: yaml.Node) -> str:
    value = text(node)
    if not value.isprintable():
        raise UnfitError("expected a reason of one line")
    return value
