"""What a script asks for and does not get on a site: of its options, of the names in it, of limits, of modules."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase

from hpcbatch.errors import DirectiveError, HpcBatchError, ObstaclesError
from hpcbatch.model.outcome import Fate, Outcome
from hpcbatch.model.site import SiteConfig, Unsupported, Word
from hpcbatch.model.spec import JobSpec
from hpcbatch.policy.site_words import LIMIT, site_words
from hpcbatch.site.survey import IMAGE, MODULE, Gap
from hpcbatch.typed import Final

_OPTION: Final = re.compile(r"--[A-Za-z][\w-]*|-[lW]\s*[A-Za-z_]\w*|-\w")
_MODULE: Final = re.compile(
    rb"^[ \t]*(?:module|ml)[ \t]+(?:-\w+[ \t]+)*(?:load|add|swap|switch)[ \t]+([^\n#;&|<>]+)", re.MULTILINE
)
_PREFIX: Final = re.compile(r"[a-z]+: (?:error|fatal): ")
_NAME: Final = re.compile(r"[A-Za-z0-9_][-A-Za-z0-9_.+/]*")


def option_name(option: str) -> str:
    """Of an option as it was given, what stands before its value: `--time`, `-l walltime`."""
    match = _OPTION.match(option)
    return match[0] if match else option


def refused_gaps(error: HpcBatchError, outcomes: Sequence[Outcome]) -> Iterator[Gap]:
    """What keeps a script from being submitted at all. The option is named where `outcomes` tell it."""
    refused = [each for each in outcomes if each.fate is Fate.REFUSED]
    for problem in error.problems if isinstance(error, ObstaclesError) else (error,):
        line, column, message = None, None, str(problem)
        if isinstance(problem, DirectiveError):
            line, column, message = problem.line, problem.column, problem.message
        fits = [each for each in refused if line is not None and (each.line, each.column) == (line, column)]
        message = message.partition("\n")[0]
        if fits:
            yield Gap("option", option_name(fits[0].option), Fate.REFUSED, message, line=line)
        else:
            yield Gap("error", _PREFIX.sub("", message), Fate.REFUSED, message, line=line)


def ignored_gaps(spec: JobSpec, outcomes: Iterable[Outcome]) -> Iterator[Gap]:
    """The options that have no effect on any cluster of ours."""
    told = set()
    for each in outcomes:
        if each.fate is Fate.IGNORED:
            told.add(each.option)
            yield Gap("option", option_name(each.option), Fate.IGNORED, each.meaning, line=each.line)
    for text in spec.ignored:
        option, _, why = text.partition(": ")
        if option not in told:
            yield Gap("option", option_name(option), Fate.IGNORED, why, option)


def site_gaps(spec: JobSpec, site: SiteConfig) -> Iterator[Gap]:
    """The names that the site ignores or refuses; a resource's texts count as one, `filesystems=*`."""
    licenses, image = dict(spec.licenses), spec.image
    if image is not None and not any(site.allows_image(image, queue) for queue in site.queues):
        why = "no queue of the site allows it"
        yield Gap(IMAGE, image, Fate.REFUSED, why, image.removesuffix(":latest"))
    for each in site_words(spec, site):
        if each.source == LIMIT and image is not None and each.option.startswith("image "):
            yield Gap(IMAGE, image, each.fate, each.meaning, image.removesuffix(":latest"))
        elif each.source == Word.LICENSE and each.fate is Fate.REFUSED:
            count = licenses.get(each.option, 1)
            yield Gap(each.source, each.option, each.fate, each.meaning, each.option, amount=count)
        elif each.fate in {Fate.IGNORED, Fate.REFUSED}:
            name, equals, _ = each.option.partition("=") if each.source == Word.RESOURCE else (each.option, "", "")
            yield Gap(each.source, f"{name}=*" if equals else name, each.fate, each.meaning, name.partition(":")[0])


def unsupported_refused(gaps: Iterable[Gap], site: SiteConfig) -> Iterator[Gap]:
    """The gaps, where a site refuses what it would have to ignore."""
    refuses = site.unsupported is Unsupported.REFUSE
    return (gap._replace(fate=Fate.REFUSED) if refuses and gap.fate is Fate.IGNORED else gap for gap in gaps)


def module_gaps(script: bytes, site: SiteConfig) -> Iterator[Gap]:
    """Modules that the script loads and the site does not have; the image may have them."""
    for name in modules_of(script):
        if not any(fnmatchcase(name, each.name) or each.name.startswith(f"{name}/") for each in site.modules):
            yield Gap(MODULE, name, None)


def modules_of(script: bytes) -> list[str]:
    """The modules that a script loads by name, each once."""
    if b"load" not in script and b"module" not in script and b"ml " not in script:
        return []
    words = (word for match in _MODULE.finditer(script) for word in match[1].decode("utf-8", "replace").split())
    return list(dict.fromkeys(word for word in words if _NAME.fullmatch(word)))
