"""`scontrol show config`: every parameter of Slurm 22.05, in its order, with what is so here.

What hpcbatch does not have is `(null)`; where Slurm writes a number it has the value that means none.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime, tzinfo

from hpcbatch.dialects.slurm.clock import full, stamp
from hpcbatch.dialects.slurm.errors import SLURM_VERSION
from hpcbatch.dialects.slurm.preemption import config_values
from hpcbatch.dialects.slurm.scontrol_show import format_ping
from hpcbatch.dialects.slurm.squeue import MIN_JOB_AGE
from hpcbatch.model.preemption import PreemptionConfig
from hpcbatch.model.priority import PriorityConfig
from hpcbatch.typed import NamedTuple

_ORDER = """
AccountingStorageBackupHost AccountingStorageEnforce AccountingStorageHost AccountingStorageExternalHost
AccountingStorageParameters AccountingStoragePort AccountingStorageTRES AccountingStorageType AccountingStorageUser
AccountingStoreFlags AcctGatherEnergyType AcctGatherFilesystemType AcctGatherInterconnectType AcctGatherNodeFreq
AcctGatherProfileType AllowSpecResourcesUsage AuthAltTypes AuthAltParameters AuthInfo AuthType BatchStartTimeout
BcastExclude BcastParameters BOOT_TIME BurstBufferType CliFilterPlugins ClusterName CommunicationParameters
CompleteWait CoreSpecPlugin CpuFreqDef CpuFreqGovernors CredType DebugFlags DefMemPerNode DependencyParameters
DisableRootJobs EioTimeout EnforcePartLimits Epilog EpilogMsgTime EpilogSlurmctld ExtSensorsType ExtSensorsFreq
FederationParameters FirstJobId GetEnvTimeout GresTypes GpuFreqDef GroupUpdateForce GroupUpdateTime HASH_VAL
HealthCheckInterval HealthCheckNodeState HealthCheckProgram InactiveLimit InteractiveStepOptions
JobAcctGatherFrequency JobAcctGatherType JobAcctGatherParams JobCompHost JobCompLoc JobCompPort JobCompType
JobCompUser JobContainerType JobCredentialPrivateKey JobCredentialPublicCertificate JobDefaults JobFileAppend
JobRequeue JobSubmitPlugins KillOnBadExit KillWait LaunchParameters LaunchType Licenses LogTimeFormat MailDomain
MailProg MaxArraySize MaxDBDMsgs MaxJobCount MaxJobId MaxMemPerNode MaxNodeCount MaxStepCount MaxTasksPerNode
MCSPlugin MCSParameters MessageTimeout MinJobAge MpiDefault MpiParams MULTIPLE_SLURMD NEXT_JOB_ID
NodeFeaturesPlugins OverTimeLimit PluginDir PlugStackConfig PowerParameters PowerPlugin PreemptMode PreemptType
PreemptExemptTime PrEpParameters PrEpPlugins PriorityParameters PrioritySiteFactorParameters
PrioritySiteFactorPlugin PriorityType PrivateData ProctrackType Prolog PrologEpilogTimeout PrologSlurmctld
PrologFlags PropagatePrioProcess PropagateResourceLimits PropagateResourceLimitsExcept RebootProgram ReconfigFlags
RequeueExit RequeueExitHold ResumeFailProgram ResumeProgram ResumeRate ResumeTimeout ResvEpilog ResvOverRun
ResvProlog ReturnToService RoutePlugin SchedulerParameters SchedulerTimeSlice SchedulerType ScronParameters
SelectType SelectTypeParameters SlurmUser SlurmctldAddr SlurmctldDebug SlurmctldHost[0] SlurmctldLogFile
SlurmctldPort SlurmctldSyslogDebug SlurmctldPrimaryOffProg SlurmctldPrimaryOnProg SlurmctldTimeout
SlurmctldParameters SlurmdDebug SlurmdLogFile SlurmdParameters SlurmdPidFile SlurmdPort SlurmdSpoolDir
SlurmdSyslogDebug SlurmdTimeout SlurmdUser SlurmSchedLogFile SlurmSchedLogLevel SlurmctldPidFile SlurmctldPlugstack
SLURM_CONF SLURM_VERSION SrunEpilog SrunPortRange SrunProlog StateSaveLocation SuspendExcNodes SuspendExcParts
SuspendProgram SuspendRate SuspendTime SuspendTimeout SwitchParameters SwitchType TaskEpilog TaskPlugin
TaskPluginParam TaskProlog TCPTimeout TmpFS TopologyParam TopologyPlugin TrackWCKey TreeWidth UsePam
UnkillableStepProgram UnkillableStepTimeout VSizeFactor WaitTime X11Parameters
"""
_FIXED = {
    "AccountingStorageEnforce": "none",
    "AccountingStorageTRES": "cpu,mem,energy,node,billing",
    "AccountingStorageType": "accounting_storage/slurmdbd",
    "AccountingStorageUser": "N/A",
    "AccountingStoreFlags": "job_comment",
    "AcctGatherEnergyType": "acct_gather_energy/none",
    "AcctGatherFilesystemType": "acct_gather_filesystem/none",
    "AcctGatherInterconnectType": "acct_gather_interconnect/none",
    "AcctGatherNodeFreq": "0 sec",
    "AcctGatherProfileType": "acct_gather_profile/none",
    "AllowSpecResourcesUsage": "No",
    "AuthType": "auth/kubernetes",
    "BatchStartTimeout": "10 sec",
    "BOOT_TIME": "N/A",
    "CompleteWait": "0 sec",
    "CoreSpecPlugin": "core_spec/none",
    "CpuFreqDef": "Unknown",
    "CredType": "cred/none",
    "DefMemPerNode": "UNLIMITED",
    "DisableRootJobs": "No",
    "EioTimeout": "60",
    "EpilogMsgTime": "2000 usec",
    "ExtSensorsType": "ext_sensors/none",
    "ExtSensorsFreq": "0 sec",
    "FirstJobId": "1",
    "GetEnvTimeout": "2 sec",
    "GroupUpdateForce": "1",
    "GroupUpdateTime": "600 sec",
    "HASH_VAL": "Match",
    "HealthCheckInterval": "0 sec",
    "HealthCheckNodeState": "ANY",
    "InactiveLimit": "0 sec",
    "JobAcctGatherFrequency": "0",
    "JobAcctGatherType": "jobacct_gather/cgroup",
    "JobCompPort": "0",
    "JobCompType": "jobcomp/none",
    "JobContainerType": "job_container/kubernetes",
    "JobFileAppend": "0",
    "JobRequeue": "1",
    "KillOnBadExit": "0",
    "LaunchType": "launch/hpcbatch",
    "LogTimeFormat": "iso8601",
    "MaxDBDMsgs": "0",
    "MaxJobCount": "4294967294",
    "MaxJobId": "4294967294",
    "MaxMemPerNode": "UNLIMITED",
    "MaxStepCount": "4294967294",
    "MaxTasksPerNode": "512",
    "MCSPlugin": "mcs/none",
    "MessageTimeout": "10 sec",
    "MpiDefault": "none",
    "MULTIPLE_SLURMD": "No",
    "NEXT_JOB_ID": "N/A",
    "OverTimeLimit": "0 min",
    "PowerPlugin": "",
    "PriorityType": "priority/basic",
    "PrivateData": "none",
    "ProctrackType": "proctrack/linuxproc",  # a signal to a step reaches all that its tasks started
    "PrologEpilogTimeout": "65534",
    "PropagatePrioProcess": "0",
    "PropagateResourceLimits": "ALL",
    "ResumeRate": "300 nodes/min",
    "ResumeTimeout": "60 sec",
    "ResvOverRun": "0 min",
    "ReturnToService": "2",
    "RoutePlugin": "route/default",
    "SchedulerTimeSlice": "30 sec",
    "SchedulerType": "sched/volcano",
    "SelectType": "select/cons_tres",
    "SelectTypeParameters": "CR_CPU_MEMORY",
    "SlurmctldDebug": "info",
    "SlurmctldTimeout": "120 sec",
    "SlurmdDebug": "info",
    "SlurmdPort": "0",
    "SlurmdTimeout": "300 sec",
    "SlurmSchedLogLevel": "0",
    "SrunPortRange": "0-0",
    "SuspendRate": "60 nodes/min",
    "SuspendTime": "INFINITE",
    "SuspendTimeout": "30 sec",
    "SwitchType": "switch/none",
    "TaskPlugin": "task/none",
    "TaskPluginParam": "(null type)",
    "TCPTimeout": "2 sec",
    "TmpFS": "/tmp",  # noqa: S108
    "TopologyPlugin": "topology/none",
    "TrackWCKey": "No",
    "TreeWidth": "0",
    "UsePam": "No",
    "UnkillableStepTimeout": "60 sec",
    "VSizeFactor": "0 percent",
    "WaitTime": "0 sec",
}


_PRIORITY = """
PriorityDecayHalfLife PriorityCalcPeriod PriorityFavorSmall PriorityFlags PriorityMaxAge PriorityUsageResetPeriod
PriorityType PriorityWeightAge PriorityWeightAssoc PriorityWeightFairShare PriorityWeightJobSize PriorityWeightPartition
PriorityWeightQOS PriorityWeightTRES
"""
"""With priority/multifactor."""


def _priority(config: PriorityConfig) -> dict[str, str]:
    flags = [] if config.is_fair_tree else ["NO_FAIR_TREE"]
    flags += ["SMALL_RELATIVE_TO_TIME"] if config.is_size_relative else []
    return {
        "PriorityDecayHalfLife": full(config.half_life_s),
        "PriorityCalcPeriod": full(config.calc_period_s),
        "PriorityFavorSmall": "Yes" if config.favors_small else "No",
        "PriorityFlags": ",".join(flags),
        "PriorityMaxAge": full(config.max_age_s),
        "PriorityUsageResetPeriod": "NONE",
        "PriorityType": "priority/multifactor",
        "PriorityWeightAge": str(config.weight_age),
        "PriorityWeightAssoc": str(config.weight_assoc),
        "PriorityWeightFairShare": str(config.weight_fair_share),
        "PriorityWeightJobSize": str(config.weight_job_size),
        "PriorityWeightPartition": str(config.weight_partition),
        "PriorityWeightQOS": str(config.weight_qos),
        "PriorityWeightTRES": ",".join(f"{name}={weight:g}" for name, weight in config.weight_tres.items()) or "(null)",
    }


class Cluster(NamedTuple):
    """What is known of the cluster."""

    name: str
    host: str
    """Of its API."""
    port: int
    nodes: int
    licenses: Mapping[str, int]
    kill_delay_s: int | None
    max_array_size: int | None
    """None: its controller does not tell, as older ones do not."""
    refuses_oversize: bool = False
    enforced: tuple[str, ...] = ()
    priority: PriorityConfig = PriorityConfig()
    preemption: PreemptionConfig = PreemptionConfig()


def format_config(cluster: Cluster, now: datetime, tz: tzinfo, time_format: str = "") -> str:
    licenses = ",".join(f"{name}:{count}" for name, count in cluster.licenses.items())
    values = _FIXED | {
        "AccountingStorageHost": cluster.host,
        "AccountingStoragePort": str(cluster.port),
        "ClusterName": cluster.name,
        "KillWait": "N/A" if cluster.kill_delay_s is None else f"{cluster.kill_delay_s} sec",
        "Licenses": licenses or "(null)",
        "EnforcePartLimits": "ANY" if cluster.refuses_oversize else "NO",
        "MaxArraySize": "N/A" if cluster.max_array_size is None else str(cluster.max_array_size + 1),
        "MaxNodeCount": str(cluster.nodes),
        "MinJobAge": f"{int(MIN_JOB_AGE.total_seconds())} sec",
        "SlurmctldHost[0]": cluster.host,
        "SlurmctldPort": str(cluster.port),
        "SLURM_VERSION": SLURM_VERSION,
    }
    values["AccountingStorageEnforce"] = ",".join(cluster.enforced) or "none"
    values |= config_values(cluster.preemption)
    names = _ORDER.split()
    if cluster.priority.is_multifactor:
        at = names.index("PriorityType")
        names[at : at + 1] = _PRIORITY.split()
        values |= _priority(cluster.priority)
    lines = [f"Configuration data as of {stamp(now, tz, time_format)}"]
    lines += [f"{name:<23} = {values.get(name, '(null)')}" for name in names]
    return "\n".join(lines) + "\n\n" + format_ping(cluster.name, up=True)


_UNIT = re.compile(r"(\d+) (?:sec|usec|min|days?)")


def as_file(shown: str) -> str:
    """What `show config` prints as slurm.conf has it: what has no value is commented out."""
    heading, *lines = shown.partition("\n\n")[0].splitlines()
    text = [f"# {heading}"]
    for line in lines:
        name, _, value = line.partition("=")
        name, value = name.strip().partition("[")[0], value.strip()
        match = _UNIT.fullmatch(value)
        has_value = value not in {"(null)", "N/A", "none", ""}
        text.append(f"{'' if has_value else '#'}{name}={match[1] if match else value}")
    return "\n".join(text) + "\n"
