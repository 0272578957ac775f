"""Plugin ssh: one key pair for all pods of a job, in a Secret that is mounted where ssh reads it.

Files at the default path have mode 0600, elsewhere 0644, as recorded of Volcano 1.14.1: uid 0 owns them, and OpenSSH
checks a key's mode only for its owner, so at another path every uid but root's can use them directly.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from typing import ClassVar

from hpcbatch.volcano.plugins.base import JobPlugin, KeyMaker, Object, ObjectRef, add_volume, beside, hosts, read_flags

_DEFAULT_PATH = "/root/.ssh"
_FILES = ("id_rsa", "id_rsa.pub", "authorized_keys", "config")


class SshPlugin(JobPlugin):
    name: ClassVar[str] = "ssh"

    def __init__(self, arguments: Sequence[str], make_key: KeyMaker) -> None:
        flags = read_flags(arguments, {"ssh-key-file-path": _DEFAULT_PATH, "ssh-private-key": "", "ssh-public-key": ""})
        self.path: str = flags["ssh-key-file-path"]
        self._given: tuple[str, str] = flags["ssh-private-key"], flags["ssh-public-key"]
        self._make_key = make_key

    def on_pod_create(self, pod: Object, job: Object) -> Object:
        name = secret_name(job)
        volume = {
            "name": name,
            "secret": {
                "secretName": name,
                "items": [{"key": key, "path": f".ssh/{key}"} for key in _FILES],
                "defaultMode": 0o600 if self.path == _DEFAULT_PATH else 0o644,
            },
        }
        add_volume(pod, volume, {"name": name, "mountPath": self.path, "subPath": ".ssh"})
        return pod

    def on_job_add(self, job: Object) -> list[Object]:
        private, public = self._given if all(self._given) else self._make_key()
        texts = dict(zip(_FILES, (private, public, public, ssh_config(job)), strict=True))
        data = {key: b64encode(text.encode()).decode() for key, text in texts.items()}
        return [beside(job, "v1", "Secret", secret_name(job), type="Opaque", data=data)]

    def on_job_update(self, job: Object) -> list[Object]:  # noqa: ARG002
        return []  # a running pod keeps its first keys and config: subPath mounts are not updated

    def on_job_delete(self, job: Object) -> list[ObjectRef]:
        return [ObjectRef("Secret", secret_name(job))]


def secret_name(job: Object) -> str:
    return f"{job['metadata']['name']}-ssh"


def ssh_config(job: Object) -> str:
    """Two lines per host of the job, in the order of its tasks."""
    lines = ["StrictHostKeyChecking no", "UserKnownHostsFile /dev/null"]
    for task in job["spec"]["tasks"]:
        for name, subdomain in hosts(job, task):
            lines += [f"Host {name}", f"  HostName {name}.{subdomain}"]
    return "\n".join(lines) + "\n"
