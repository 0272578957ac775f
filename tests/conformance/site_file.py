"""The site's configuration, which a case may change that runs alone, and changes back."""

from __future__ import annotations

import json

from tests.conformance.site import Site

SYSTEM = ("-n", "hpcbatch-system")
HEAD = "apiVersion: hpcbatch.io/v1alpha1\nkind: SiteConfiguration\n"


def configured(admin: Site) -> str | None:
    """Its text, if there is one."""
    found = admin.kubectl(*SYSTEM, "get", "configmap", "hpcbatch-site", "-o", "json", check=False)
    return None if found.returncode else str(json.loads(found.stdout)["data"]["site.yaml"])


def configure(admin: Site, text: str | None) -> None:
    """`admin`: its `work` gets a file."""
    admin.kubectl(*SYSTEM, "delete", "configmap", "hpcbatch-site", "--ignore-not-found")
    if text is not None:
        (admin.work / "site.yaml").write_text(text)
        admin.kubectl(*SYSTEM, "create", "configmap", "hpcbatch-site", f"--from-file={admin.work}/site.yaml")


def set_line(admin: Site, line: str) -> None:
    """`key: value` in place of the line of that key."""
    key = line.partition(":")[0]
    kept = [each for each in (configured(admin) or HEAD).splitlines() if not each.startswith(f"{key}:")]
    configure(admin, "\n".join([*kept, line, ""]))


def published(admin: Site) -> dict[str, object]:
    """What the controller has read, as users may know it."""
    found = admin.kubectl(*SYSTEM, "get", "configmap", "hpcbatch-queues", "-o", "json", check=False)
    return {} if found.returncode else dict(json.loads(json.loads(found.stdout)["data"]["queues.json"]))
