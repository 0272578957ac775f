"""A private /etc/ssh for pods with a network of their own, so that a plain `/usr/sbin/sshd -D` works in them.

The host's configuration is made for the host: another port, other users, and host keys that only root may read.
"""

from __future__ import annotations

import logging
import os
import shutil
import subprocess
from pathlib import Path
from typing import Final

_LOG = logging.getLogger(__name__)
_HOST_KEY: Final = "ssh_host_ed25519_key"
# PATH: in an image every session finds MPI; here sessions get the PATH of the user who started the engine.
# SHLVL: keeps bash from reading ~/.bashrc, which an image does not have, and in which many sessions at once, all with
# the same home, may fail (pyenv, for one, takes a lock there).
_CONFIG: Final = """\
# Made by hpcbatch for the pods of its embedded engine.
Port 22
HostKey /etc/ssh/{key}
PidFile none
AuthorizedKeysFile .ssh/authorized_keys
StrictModes no
UsePAM {pam}
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
PrintMotd no
X11Forwarding no
AcceptEnv LANG LC_*
SetEnv "PATH={path}" SHLVL=1
MaxStartups 1000
MaxSessions 1000
Subsystem sftp internal-sftp
"""


def prepare_ssh_directory(directory: Path, path: str) -> str:
    """Fill `directory`; returns its path, or "" where OpenSSH is not installed: a pod then sees the host's /etc/ssh."""
    keygen = shutil.which("ssh-keygen") or shutil.which("ssh-keygen", path="/usr/bin:/bin")
    if keygen is None:
        return ""
    directory.mkdir(parents=True, exist_ok=True, mode=0o755)
    _copy_host_files(Path("/etc/ssh"), directory)
    key = directory / _HOST_KEY
    if not key.exists():
        for leftover in (key, key.with_suffix(".pub")):
            leftover.unlink(missing_ok=True)
        done = subprocess.run(
            [keygen, "-q", "-t", "ed25519", "-N", "", "-C", "hpcbatch", "-f", str(key)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        if done.returncode:
            _LOG.warning("no host key for sshd in pods: %s", done.stderr.strip())
            return ""
    pam = "yes" if _needs_pam() else "no"
    (directory / "sshd_config").write_text(_CONFIG.format(key=_HOST_KEY, pam=pam, path=_safe(path)))
    if os.getuid() == 0:
        _make_privilege_separation_directory()
    return str(directory)


def _safe(path: str) -> str:
    """sshd's configuration has no way to write a quotation mark, so directories with one are left out."""
    return ":".join(part for part in path.split(":") if '"' not in part and "\n" not in part)


def _copy_host_files(source: Path, target: Path) -> None:
    """Copy the files that ssh clients read; one that this user may not read is of no use to its pods either."""
    for name in ("moduli", "ssh_config", "ssh_config.d"):
        try:
            if (source / name).is_dir():
                shutil.copytree(source / name, target / name, dirs_exist_ok=True)
            elif (source / name).exists():
                shutil.copyfile(source / name, target / name)
        except (OSError, shutil.Error) as error:
            _LOG.info("%s is not copied for pods: %s", source / name, error)


def _needs_pam() -> bool:
    """Without PAM sshd treats an account whose password begins with `!` as locked; root's often does."""
    if os.getuid() != 0 or not Path("/etc/pam.d/sshd").exists():
        return False
    try:
        for line in Path("/etc/shadow").read_text().splitlines():
            name, password, *_ = line.split(":")
            if name == "root":
                return password.startswith("!")
    except (OSError, ValueError):
        pass
    return False


def _make_privilege_separation_directory() -> None:
    """Root's sshd does not start without it; the system makes it at each boot, but only for its own sshd."""
    try:
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    except OSError as error:
        _LOG.warning("/run/sshd, which sshd of root needs, cannot be made: %s", error)
