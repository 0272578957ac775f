"""The fields that sacctmgr lists, and those of each entity. Source: sacctmgr 22.05.8, common.c."""

from __future__ import annotations

import re

from hpcbatch.dialects.slurm.errors import SlurmUsageError
from hpcbatch.dialects.slurm.field_table import Heading
from hpcbatch.typed import NamedTuple

_TABLE = """
Account|10|Account:3 Acct:4
ActionRaw|10|ActionRaw:7
Action|20|Action:4
Actor|10|Actor:4
Admin|9|AdminLevel:2
% Allowed|10|Allowed:2
Assocs|10|Associations:2
TRES|20|TRES:2
Class|9|Classification:3
Cluster Nodes|20|ClusterNodes:8
Cluster|10|Clusters:2
Coord Accounts|20|Coordinators:2
ControlHost|15|ControlHost:8
ControlPort|12|ControlPort:8
Count|6|Count:3
# Allowed|10|CountAllowed:6
# Used|10|CountUsed:6
CPU Cnt|7|CPUCount:2
Def Acct|10|DefaultAccount:8
Def QOS|9|DefaultQOS:8
Def WCKey|10|DefaultWCKey:8
Descr|20|Description:3
Duration|13|Duration:2
EventRaw|8|EventRaw:6
Event|7|Event:2
Features|20|Features:3
Federation|10|Federation:3
FedState|12|FedState:4
FedStateRaw|11|FedStateRaw:9
Flags|20|Flags:2
GraceTime|10|GraceTime:3
GrpCPUs|8|GrpCPUs:6
GrpCPUMins|11|GrpCPUMins:7
GrpCPURunMins|13|GrpCPURunMins:7
GrpTRES|13|GrpTRES:7
GrpTRESMins|13|GrpTRESMins:7
GrpTRESRunMins|13|GrpTRESRunMins:7
GrpJobs|7|GrpJobs:4
GrpJobsAccrue|13|GrpJobsAccrue:8
GrpMem|7|GrpMemory:4
GrpNodes|8|GrpNodes:4
GrpSubmit|9|GrpSubmitJobs:4
GrpWall|11|GrpWall:4
ID|6|ID:2
Info|20|Info:2
LFT|6|LFT:1
ServerType|10|servertype:10
MaxCPUMins|11|MaxCPUMinsPerJob:7
MaxCPURunMinsPU|15|MaxCPURunMinsPerUser:7 MaxCPURunMinsPU:7
MaxCPUs|8|MaxCPUsPerJob:7
MaxCPUsPU|9|MaxCPUsPerUser:11 MaxCPUsPU:9
MaxTRES|13|MaxTRES:7 MaxTRESPerJob:11
MaxTRESPerNode|14|MaxTRESPerNode:11
MaxTRESMins|13|MaxTRESMinsPerJob:8
MaxTRESRunMinsPA|15|MaxTRESRunMinsPerAccount:18 MaxTRESRunMinsPerAcct:18 MaxTRESRunMinsPA:15
MaxTRESRunMinsPU|15|MaxTRESRunMinsPerUser:8 MaxTRESRunMinsPU:8
MaxTRESPA|13|MaxTRESPerAccount:11 MaxTRESPerAcct:11 MaxTRESPA:9
MaxTRESPU|13|MaxTRESPerUser:11 MaxTRESPU:9
MaxJobs|7|MaxJobs:4
MaxJobsAccrue|13|MaxJobsAccrue:4
MaxJobsAccruePA|15|MaxJobsAccruePerAccount:17 MaxJobsAccruePerAcct:17 MaxJobsAccruePA:15
MaxJobsAccruePU|15|MaxJobsAccruePerUser:17 MaxJobsAccruePU:15
MaxJobsPA|9|MaxJobsPerAccount:11 MaxJobsPerAcct:11 MaxJobsPA:9
MaxJobsPU|9|MaxJobsPerUser:11 MaxJobsPU:9
MaxNodes|8|MaxNodesPerJob:4
MaxNodesPU|10|MaxNodesPerUser:12 MaxNodesPU:10
MinPrioThres|12|MinPrioThreshold:4
MaxSubmit|9|MaxSubmitJobs:4
MaxSubmitPA|11|MaxSubmitJobsPerAccount:17 MaxSubmitJobsPerAcct:17 MaxSubmitJobsPA:15 MaxSubmitPA:11
MaxSubmitPU|11|MaxSubmitJobsPerUser:10 MaxSubmitJobsPU:10 MaxSubmitPU:6
MaxWall|11|MaxWallDurationPerJob:4
MinCPUs|8|MinCPUsPerJob:7
MinTRES|13|MinTRESPerJob:7
Name|10|Name:2
NodeCount|9|NodeCount:5
NodeInx|9|NodeInx:5
NodeName|-15|NodeNames:5
Org|20|Organization:1
ParentID|8|ParentID:7
ParentName|10|ParentName:7
Partition|10|Partition:4
PluginIDSelect|14|PluginIDSelect:2
PreemptMode|11|PreemptMode:8
Preempt|10|Preempt:7
PreemptExemptTime|19|PreemptExemptTime:8
Priority|10|Priority:3
Problem|40|Problem:1
QOS|20|QOSLevel:3
QOS_RAW|10|QOSRAWLevel:4
Reason|30|Reason:1
RGT|6|RGT:1
RPC|5|RPC:1
Server|10|Server:3
Share|9|Share:1 FairShare:2
StateRaw|8|StateRaw:6
State|6|State:1
Time|19|TimeStamp:2
TimeEligible|19|TimeEligible:6 Eligible:2
TimeEnd|19|TimeEnd:6 End:2
TimeStart|19|TimeStart:7 Start:3
TimeSubmit|19|TimeSubmit:6 Submit:2
TRES|20|TRES:2
Type|8|Type:2
UnusedWall|10|UnusedWall:2
UsageFactor|11|UsageFactor:6
UsageThres|10|UsageThreshold:6
LimitFactor|11|LimitFactor:6
% Allocated|11|Allocated:7
User|10|User:1
WCKeys|20|WCKeys:2
Where|20|Where:2
"""
"""Heading, width, and the names with the least number of letters that each may be cut down to. The first that fits
counts.
"""


class _Field(NamedTuple):
    heading: Heading
    names: tuple[tuple[str, int], ...]

    def fits(self, word: str) -> bool:
        return any(len(word) >= least and name.startswith(word) for name, least in self.names)


def _field(line: str) -> _Field:
    heading, width, names = line.split("|")
    pairs = (name.rpartition(":") for name in names.split())
    return _Field(Heading(heading, int(width)), tuple((name.lower(), int(least)) for name, _, least in pairs))


_FIELDS = tuple(_field(line) for line in _TABLE.split("\n") if line)
_LIMITS = "MaxJ,MaxN,MaxCPUs,MaxS,MaxW,MaxCPUMins,QOS,DefaultQOS"
FORMATS = {
    "account": "Acc,Des,O",
    "association": "Cluster,Account,User,Part,Share,Priority,GrpJ,GrpTRES,GrpS,GrpWall,GrpTRESMins,MaxJ,MaxTRES,"
    "MaxTRESPerN,MaxS,MaxW,MaxTRESMins,QOS,DefaultQOS,GrpTRESRunM",
    "cluster": "Cl,Controlh,Controlp,RPC,Fa,GrpJ,GrpTRES,GrpS,MaxJ,MaxTRES,MaxS,MaxW,QOS,DefaultQOS",
    "event": "Cluster,NodeName,Start,End,State,Reason,User",
    "federation": "Federation,Cluster,ID%2,Features,FedState",
    "qos": "Name,Prio,GraceT,Preempt,PreemptE,PreemptM,Flags%40,UsageThres,UsageFactor,GrpTRES,GrpTRESMins,"
    "GrpTRESRunM,GrpJ,GrpS,GrpW,MaxTRES,MaxTRESPerN,MaxTRESMins,MaxW,MaxTRESPerUser,MaxJobsPerUser,MaxSubmitJobsPU,"
    "MaxTRESPerAcct,MaxJobsPerAcct,MaxSubmitJobsPerAcct,MinTRES",
    "reservation": "Cluster,Name%15,TRES%30,TimeStart,TimeEnd,Unused",
    "resource": "Name,Server,Type,Count,Allocated,ServerType",
    "transaction": "Time,Action,Actor,Where,Info",
    "tres": "Type,Name%15,ID",
    "user": "U,DefaultA,Ad",
}
"""What is listed where no format is given."""
WITH_ASSOCIATIONS = {
    "account": f"Acc,Des,O,Cl,ParentN,U,Share,Priority,GrpJ,GrpN,GrpCPUs,GrpMEM,GrpS,GrpWall,GrpCPUMins,{_LIMITS}",
    "user": f"U,DefaultA,Ad,Cl,Acc,Part,Share,Priority,{_LIMITS}",
}


def headings(text: str) -> list[Heading]:
    """The columns of `name[%[-]width],…`. Raises SlurmUsageError for a name that there is not."""
    return [_heading(item) for item in text.split(",")]


def _heading(item: str) -> Heading:
    name, _, width = item.partition("%")
    field = next((field for field in _FIELDS if field.fits(name.lower())), None)
    if field is None:
        raise SlurmUsageError(f"Unknown field '{name}'")
    number = int(width) if re.fullmatch("-?[0-9]{1,4}", width) else 0
    return field.heading._replace(width=number) if number else field.heading
