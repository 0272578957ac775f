"""What the tests of the readers share: texts in, what was found out."""

from __future__ import annotations

from collections.abc import Mapping

from hpcbatch.errors import HpcBatchError
from hpcbatch.model.site import SiteConfig
from hpcbatch.site.file import read_config
from hpcbatch.site.importing.found import Found, Place
from hpcbatch.site.importing.plan import Plan, plan
from hpcbatch.site.importing.recognise import in_order, read_file
from hpcbatch.site.importing.write import reasons, site_yaml


def found_in(*texts: str, included: Mapping[str, str] | None = None) -> Found:
    """The texts are files `a`, `b` …; `included` those that Include lines name."""

    def include(name: str, where: Place) -> list[tuple[str, str]]:
        if name not in (included or {}):
            raise HpcBatchError(f"{where}: Include {name}: no such file")
        return [(name, (included or {})[name])]

    found = Found()
    for name, text in in_order(list(zip("abcdefgh", texts, strict=False))):
        read_file(text, name, found, include)
    return found


def planned(*texts: str, included: Mapping[str, str] | None = None) -> Plan:
    found = found_in(*texts, included=included)
    assert [str(error) for error in found.errors] == []
    return plan(found)


def config(*texts: str, included: Mapping[str, str] | None = None) -> SiteConfig:
    """What the written file says."""
    found = found_in(*texts, included=included)
    assert [str(error) for error in found.errors] == []
    return read_config(site_yaml(plan(found), found, ["a"], "img:1"))


def left(*texts: str) -> list[str]:
    found = found_in(*texts)
    plan(found)
    return reasons(found.left)


def errors(*texts: str) -> list[str]:
    return [str(error) for error in found_in(*texts).errors]
