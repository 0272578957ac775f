"""The states of a job and their reasons, neutral between dialects; each dialect maps every member to its own codes."""

from __future__ import annotations

from enum import StrEnum


class JobState(StrEnum):
    """The state of a job. Values are those of `status.state` of a BatchJob."""

    QUEUED = "Queued"
    HELD = "Held"
    WAITING = "Waiting"  # for its begin time
    RUNNING = "Running"
    SUSPENDED = "Suspended"  # its processes are stopped
    EXITING = "Exiting"
    FINISHED = "Finished"  # the script ended with 0
    FAILED = "Failed"  # with anything else, or it could not be started
    TIMEOUT = "Timeout"  # ended at its walltime, or when its CPU time was used up
    DELETED = "Deleted"  # by qdel or scancel, before or while it ran
    REFUSED = "Refused"  # never admitted; has no number

    @property
    def is_final(self) -> bool:
        return self in _FINAL


WAITING = frozenset({JobState.QUEUED, JobState.HELD, JobState.WAITING})
"""States of jobs that have not started."""
_FINAL = frozenset({JobState.FINISHED, JobState.FAILED, JobState.TIMEOUT, JobState.DELETED, JobState.REFUSED})


class Reason(StrEnum):
    """Why a job waits, or ended in its state. Values are those of `status.reason`."""

    NONE = "None"
    RESOURCES = "Resources"  # waits: not enough is free now
    NEVER_FITS = "NeverFits"  # waits: more than the cluster, or any one node, has
    PRIORITY = "Priority"  # waits: others go first
    HELD_BY_USER = "HeldByUser"
    HELD_BY_ADMIN = "HeldByAdmin"
    SPECIAL_EXIT = "SpecialExit"  # held, and marked when it was queued again (scontrol requeuehold State=SpecialExit)
    DEPENDENCY = "Dependency"  # waits for other jobs
    DEPENDENCY_NEVER = "DependencyNeverSatisfied"
    ARRAY_LIMIT = "ArrayLimit"  # waits: the limit of its array's running members is reached
    LIMIT = "Limit"  # waits: as much runs as a limit allows, which the message names
    RESERVATION = "Reservation"  # waits: its reservation has not begun, is full, or not for it
    RESERVATION_GONE = "ReservationGone"  # waits: its reservation was removed, or has ended
    RESERVED = "Reserved"  # waits: its nodes are reserved for others
    MAINTENANCE = "Maintenance"  # waits: its nodes are reserved for maintenance
    LICENSES = "Licenses"  # waits: other jobs hold the licences
    BEGIN_TIME = "BeginTime"
    QUEUE_UNAVAILABLE = "QueueUnavailable"  # waits: its queue is closed, or was removed
    QUEUE_STOPPED = "QueueStopped"  # waits: an operator keeps the queue, which takes jobs, from starting any
    STARTING = "Starting"  # has its nodes; its pods are being started
    NON_ZERO_EXIT = "NonZeroExit"
    PROGRAM_FAILED = "ProgramFailed"  # according to its own log, whatever the script's result (runner/wrf/wrf.sh)
    SIGNALLED = "Signalled"  # the script was killed by a signal
    TIME_LIMIT = "TimeLimit"
    RESERVATION_ENDED = "ReservationEnded"  # with the job in it
    DEADLINE = "Deadline"  # its deadline has passed, or can no longer be kept
    CPU_TIME_LIMIT = "CpuTimeLimit"  # all its processes together used more CPU time than it may
    IDLE_LIMIT = "IdleLimit"  # an interactive job in which nothing was done for as long as the site allows
    OUT_OF_MEMORY = "OutOfMemory"
    LAUNCH_FAILED = "LaunchFailed"  # a pod, sshd, mount or the interpreter could not be started
    OUTPUT_FAILED = "OutputFailed"  # an output file cannot be opened, or its disk was full in the end
    NODE_LOST = "NodeLost"  # a pod was evicted or its node was lost
    PREEMPTED = "Preempted"  # by the scheduler, for a job of higher priority
    WITHDRAWN = "Withdrawn"  # its first pod came too late: the start had been cancelled; it is requeued
    DELETED_BY_USER = "DeletedByUser"
    BROKEN = "Broken"  # its record cannot be read or handled; the message says why


KUEUE_SAYS = "Kueue: "
"""So begins the message of a job that waits for Kueue's quota; Kueue's own words follow."""
KOORDINATOR_SAYS = "Koordinator: "
"""The same of Koordinator's."""
