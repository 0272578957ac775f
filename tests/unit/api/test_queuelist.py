"""The list of queues that users read."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from hpcbatch.api.queuelist import (
    licenses_from_json,
    mail_from_json,
    options_from_json,
    queues_from_json,
    queues_to_json,
    settings_from_json,
)
from hpcbatch.errors import HpcBatchError
from hpcbatch.model.mail import MailConfig
from hpcbatch.model.queue_switches import Switches
from hpcbatch.model.row import QueueRow
from hpcbatch.model.site import QueueConfig, SiteConfig, Translation, Word

LIMITS: dict[str, Any] = {
    "max_walltime_s": 7200,
    "default_walltime_s": 600,
    "max_nodes": 4,
    "max_cpus": 12,
    "max_mem_per_node_bytes": 1 << 33,
    "default_mem_per_node_bytes": 1 << 30,
}
FULL = QueueConfig(
    name="workq",
    volcano_queue="batch",
    is_default=True,
    image="not/for-users:1",
    allowed_images=("not/either",),
    **LIMITS,
    node_selector={"pool": "gpu", "a": "b"},
    aliases=("normal", "debug*"),
)


def test_there_and_back() -> None:
    site = SiteConfig(default_queue="workq", queues=(QueueConfig(name="z", volcano_queue="gone"), FULL))
    text = queues_to_json(site)
    assert "not/" not in text
    assert queues_from_json(text, {"batch": Switches(), "unused": Switches()}) == [
        QueueRow(name="z", is_default=False, is_open=False, is_started=False, volcano_queue="gone"),
        QueueRow(
            name="workq",
            is_default=True,
            is_open=True,
            **LIMITS,
            node_selector=(("a", "b"), ("pool", "gpu")),
            aliases=("normal", "debug*"),
            volcano_queue=FULL.volcano_queue,
        ),
    ]


def test_settings() -> None:
    text = queues_to_json(SiteConfig(kill_delay_s=7, max_array_size=100))
    assert settings_from_json(text) == {"killDelaySeconds": 7, "maxArraySize": 100}
    assert settings_from_json("{}") == {}
    with pytest.raises(HpcBatchError, match="cannot be read"):
        settings_from_json('{"settings": {"a": "many"}}')


def test_licences() -> None:
    assert licenses_from_json(queues_to_json(SiteConfig(licenses={"matlab": 2, "a": 1}))) == {"matlab": 2, "a": 1}
    assert licenses_from_json(queues_to_json(SiteConfig())) == {}
    with pytest.raises(HpcBatchError, match="cannot be read"):
        licenses_from_json('{"licenses": {"a": "many"}}')


def test_ignored_options_of_plugins_are_published_in_order() -> None:
    options = [("--ear*", "no EAR"), ("--e*", "nothing"), ("--ear*", "never counts")]
    translations = tuple(Translation(word=Word.OPTION, pattern=pattern, ignored=why) for pattern, why in options)
    site = SiteConfig(translations=(Translation(word=Word.ACCOUNT, pattern="*", refused="none"), *translations))
    assert list(options_from_json(queues_to_json(site)).items()) == options[:2]
    assert options_from_json(queues_to_json(SiteConfig())) == {}
    with pytest.raises(HpcBatchError, match="cannot be read"):
        options_from_json('{"options": 3}')


def test_a_site_that_names_no_queues() -> None:
    text = queues_to_json(SiteConfig())
    assert queues_from_json(text, {"b": Switches(is_open=False), "default": Switches(), "a": Switches()}) == [
        QueueRow(name="default", is_default=True, is_open=True, volcano_queue="default"),
        QueueRow(name="a", is_default=False, is_open=True, volcano_queue="a"),
        QueueRow(name="b", is_default=False, is_open=False, is_started=False, volcano_queue="b"),
    ]


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", "null", '{"default": 1, "queues": [1]}', '{"default": "a", "queues": [{}]}']
)
def test_a_text_that_no_controller_wrote(text: str) -> None:
    with pytest.raises(HpcBatchError, match="list of queues cannot be read"):
        queues_from_json(text, {})


def test_whom_the_site_writes_to() -> None:
    assert mail_from_json(queues_to_json(SiteConfig())) is None
    config = MailConfig(smtp_host="mail.site", secret="not-for-users", domain="site.org", max_recipients=3)
    text = queues_to_json(SiteConfig(mail=config))
    assert mail_from_json(text) == MailConfig(domain="site.org", max_recipients=3)
    assert "mail.site" not in text
    assert "not-for-users" not in text
    allowed = replace(config, allowed_domains=("lab.org",))
    assert mail_from_json(queues_to_json(SiteConfig(mail=allowed))) == MailConfig(
        domain="site.org", max_recipients=3, allowed_domains=("lab.org",)
    )
    for wrong in ("[]", '{"mail": 1}', '{"mail": {}, "x": '):
        with pytest.raises(HpcBatchError):
            mail_from_json(wrong)
