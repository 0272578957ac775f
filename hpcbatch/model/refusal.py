"""Why the controller refuses to admit a job; each dialect has a text and an exit code for every member."""

from __future__ import annotations

from enum import StrEnum

BUSY = "Busy"
"""The code of a refusal that says nothing of the job: it may be submitted again. Commands say it as of a server that
does not answer.
"""


class RefusalCode(StrEnum):
    """Values are those of `status.refusal.code` of a BatchJob."""

    UNKNOWN_QUEUE = "UnknownQueue"  # the message is its name, `; there are: ` and the existing ones
    QUEUE_CLOSED = "QueueClosed"
    NO_SCRIPT = "NoScript"  # the Secret with script and environment is missing
    BAD_SPEC = "BadSpec"
    WALLTIME_LIMIT = "WalltimeLimit"  # more than the queue allows
    MIN_WALLTIME = "MinWalltime"  # the least walltime that the job can do with is more than it may have
    NODE_LIMIT = "NodeLimit"
    CPU_LIMIT = "CpuLimit"
    MEMORY_LIMIT = "MemoryLimit"
    IMAGE_NOT_ALLOWED = "ImageNotAllowed"
    UNKNOWN_RESOURCE = "UnknownResource"  # the message is its name
    UNKNOWN_PROPERTY = "UnknownProperty"  # no node property or feature of this name; the message is its name
    UNKNOWN_NODE = "UnknownNode"  # the message is its name
    UNKNOWN_LICENSE = "UnknownLicense"  # no licence of this name, or not so many; the message says which
    UNKNOWN_ACCOUNT = "UnknownAccount"  # account, project or QOS that the site does not take; the message says which
    UNKNOWN_QOS = "UnknownQos"
    ACCOUNT_POLICY = "AccountPolicy"  # over a limit of its account or QOS; the message is Slurm's reason
    JOBS_LIMIT = "JobsLimit"  # more jobs than a limit of PBS allows; the message is PBS's
    AMOUNT_LIMIT = "AmountLimit"  # more of a resource than a limit of PBS allows; the message is PBS's
    UNKNOWN_RESERVATION = "UnknownReservation"
    RESERVATION_ACCESS = "ReservationAccess"  # the reservation is for others
    IGNORED = "Ignored"  # not available here, where the job or the site wants that refused; the message lists all
    DEADLINE = "Deadline"  # the job cannot end by its deadline
    USER_DISABLED = "UserDisabled"
    QUEUE_ACCESS = "QueueAccess"  # the queue is not for this user
    FROM_ROUTE_ONLY = "FromRouteOnly"  # the queue takes jobs from routing queues alone
    NO_DESTINATION = "NoDestination"  # no queue to which a routing queue leads takes the job; the message says why
    GROUP_NOT_ALLOWED = "GroupNotAllowed"  # the queue is for members of other groups
    ARRAY_SIZE = "ArraySize"  # more members than the site allows
    BAD_DEPENDENCY = "BadDependency"
    CIRCULAR_DEPENDENCY = "CircularDependency"
    TEST_ONLY = "TestOnly"  # it would be admitted; the message is a model.foreseen.Foreseen
    # replies to requests
    STARTED = "Started"  # too late for this change; the message is the field of the BatchJob's spec
    NOT_RUNNING = "NotRunning"
    ENDING = "Ending"
    NOT_RERUNNABLE = "NotRerunnable"
    NOT_BATCH = "NotBatch"  # only a batch job can be queued again
