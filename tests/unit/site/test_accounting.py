"""What a site's file says of accounts and of who goes first."""

from __future__ import annotations

import pytest

from hpcbatch.model.site import SiteConfig
from hpcbatch.site.file import SiteFileError, read_config

HEAD = "apiVersion: hpcbatch.io/v1alpha1\nkind: SiteConfiguration\n"


def read(text: str) -> SiteConfig:
    return read_config(HEAD + text, defaults=SiteConfig())


@pytest.mark.parametrize(
    ("text", "enforced"),
    [
        ("", set()),
        ("accountingEnforce: none", set()),
        ("accountingEnforce: associations", {"associations"}),
        ("accountingEnforce: [limits, QOS]", {"associations", "limits", "qos"}),
        ("accountingEnforce: limits,qos", {"associations", "limits", "qos"}),
    ],
)
def test_what_is_enforced(text: str, enforced: set[str]) -> None:
    assert read(text).accounting_enforce == enforced


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("accountingEnforce: [limit]", "expected some of associations, limits, qos, found limit"),
        ("priority: {type: x}", "expected multifactor or basic, found x"),
        ("priority: {weightAge: -1}", "expected a whole number"),
        ("priority: {weightTRES: {cpu: x}}", "cpu: expected a whole number"),
        ("priority: {formula: ncpu*2}", "formula, column 1: there is no 'ncpu'"),
        ("priority: {nosuch: 1}", "nosuch"),
    ],
)
def test_what_is_wrong(text: str, why: str) -> None:
    with pytest.raises(SiteFileError) as error:
        read(text)
    assert why in str(error.value)
