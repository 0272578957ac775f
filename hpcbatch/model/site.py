"""What a site decides: which image, which queues, which volumes. The embedded engine is a site with all defaults."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteConfig:
    cluster_name: str = "hpcbatch"
    """Slurm's ClusterName."""
    default_queue: str = "default"
    """A Volcano Queue; PBS's default_queue and Slurm's default partition."""
    image: str = "hpcbatch.io/host"
    """The embedded engine ignores it: its image is the host's file system."""
    kill_delay_s: int = 10
    """Between SIGTERM and SIGKILL at a job's end by force. PBS kill_delay 10, Slurm KillWait 30."""
    start_timeout_s: int = 120
    """How long the first pod waits for every other host of the job to answer ssh."""
    ssh_port: int = 22
    """Where sshd listens in the pods; above 1023 where the sysctl net.ipv4.ip_unprivileged_port_start is forbidden."""
    login_shell: bool = True
    """Whether a job that brings no environment along starts by a login shell, as PBS starts it: one that reads the
    user's own profile too. False: only /etc/profile, where sites have their `module` command, since some people's
    profile takes longer than a short job, and waits for locks when a hundred jobs start at once."""
