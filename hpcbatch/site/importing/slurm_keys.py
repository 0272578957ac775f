"""The keys of slurm.conf beside those of rows: what holds here anyway, what cannot be kept, what only Slurm needs."""

from __future__ import annotations

from collections.abc import Mapping

from hpcbatch.typed import Final

_NONE = frozenset({"", "none", "(null)", "no", "0", "off", "-1", "infinite", "unlimited"})
_SCRIPTS = "no script of the site runs before or after jobs: put it into the image, or use a policy of Kubernetes"
_ORDER = "who goes first is set by the keys priority and backfillDepth, and by sacctmgr: see docs/accounts.md"
_MEMORY = "limits of memory are of a node: set maxMemoryPerNode and defaultMemoryPerNode by hand"
_POWER = "nodes are stopped and started by the cluster's own autoscaler: set autoscaling: true if there is one"
_PLUGIN = "plugins of slurmctld and sbatch are not run: what they change can be a translation"

LEFT: Final[Mapping[str, tuple[frozenset[str], str]]] = {
    **dict.fromkeys(
        (
            "prolog",
            "epilog",
            "prologslurmctld",
            "epilogslurmctld",
            "taskprolog",
            "taskepilog",
            "srunprolog",
            "srunepilog",
            "resvprolog",
            "resvepilog",
        ),
        (_NONE, _SCRIPTS),
    ),
    **dict.fromkeys(("jobsubmitplugins", "clifilterplugins", "nodefeaturesplugins"), (_NONE, _PLUGIN)),
    **dict.fromkeys(
        (
            "priorityparameters",
            "prioritysitefactorplugin",
            "priorityusageresetperiod",
            "schedulerparameters",
        ),
        (_NONE, _ORDER),
    ),
    "maxjobcount": (_NONE, "the number of jobs is limited by a user's quota: hpcbatch user add --quota-jobs"),
    "defmempercpu": (_NONE, _MEMORY),
    "maxmempercpu": (_NONE, _MEMORY),
    "defmempergpu": (_NONE, _MEMORY),
    "defcpupergpu": (_NONE, "CPUs for each GPU are as a job asks for them"),
    "jobdefaults": (_NONE, "CPUs and memory for each GPU are as a job asks for them"),
    "overtimelimit": (_NONE, "a job ends when its walltime is over"),
    "enforcepartlimits": (frozenset({"all", "yes"}), "a request beyond a queue's limit is refused at submission"),
    "selecttype": (
        frozenset({"select/cons_tres", "select/cons_res", "cons_tres", "cons_res", "select/cray_aries"}),
        "whole nodes are given only to jobs that ask for --exclusive",
    ),
    "suspendprogram": (_NONE, _POWER),
    "resumeprogram": (_NONE, _POWER),
    "suspendtime": (_NONE, _POWER),
    "topologyplugin": (_NONE | {"topology/none", "topology/default", "topology/flat"}, "see Volcano's HyperNodes"),
    "burstbuffertype": (_NONE, "there are no burst buffers"),
    "jobrequeue": (frozenset({"1"}), "a job is started again unless it says --no-requeue"),
    "mailprog": (
        _NONE | {"/bin/mail", "/usr/bin/mail"},
        "mail is sent by the controller: see docs/mail.md for the key mail",
    ),
    "privatedata": (_NONE, "every user may see the jobs of all"),
    "inactivelimit": (_NONE, "a job without activity stays"),
    "minjobage": (_NONE | {"300"}, "ended jobs are shown as long as historyKept says"),
    "vsizefactor": (_NONE, "limits of virtual memory are those of the nodes"),
    "disablerootjobs": (_NONE | {"yes"}, "root may submit jobs that run as an ordinary user"),
    "allowspecresourcesusage": (_NONE, "CPUs for the system are the kubelet's"),
    "schedulertimeslice": (_NONE | {"30"}, "jobs do not take turns on CPUs"),
    "federationparameters": (_NONE, "there is one cluster"),
    "x11parameters": (_NONE, "there is no X11 forwarding"),
    "mcsplugin": (_NONE | {"mcs/none"}, "nodes are shared by jobs of all users; a job may ask for --exclusive"),
}
"""Key → the values that hold here anyway, and what is to be said of all others."""

_DAEMONS = """
accountingstoragebackuphost accountingstorageexternalhost accountingstoragehost accountingstorageloc
accountingstorageparameters accountingstoragepass accountingstorageport accountingstoragetres
accountingstoragetype accountingstorageuser accountingstoreflags accountingstorejobcomment acctgatherenergytype
acctgatherfilesystemtype acctgatherinfinibandtype acctgatherinterconnecttype acctgathernodefreq
acctgatherprofiletype authaltparameters authalttypes authinfo authtype backupaddr backupcontroller
batchstarttimeout bcastexclude bcastparameters cachegroups certgentype certmgrtype checkpointtype clusternodes
communicationparameters completewait controladdr controlmachine corespecplugin cpufreqdef cpufreqgovernors
credtype cryptotype debugflags defaultstoragehost defaultstorageloc defaultstoragepass defaultstorageport
defaultstoragetype defaultstorageuser dependencyparameters downnodes dynallocport eiotimeout epilogmsgtime
epilogtimeout extsensorsfreq extsensorstype fastschedule firstjobid frontendname
getenvtimeout gresplugins groupupdateforce groupupdatetime hashplugin healthcheckinterval healthchecknodestate
healthcheckprogram httpparsertype interactivestepoptions jobacctgatherfrequency jobacctgatherparams
jobacctgathertype jobcheckpointdir jobcompenvs jobcomphost jobcomploc jobcompparams jobcomppass jobcompport
jobcomptype jobcompuser jobcontainerplugin jobcontainertype jobcredentialprivatekey
jobcredentialpubliccertificate jobfileappend killonbadexit launchparameters launchtype loglevel logtimeformat
maildomain maxbatchrequeue maxdbdmsgs maxnodecount maxstepcount maxtaskspernode mcsparameters memlimitenforce
messagetimeout metricstype mpidefault mpiparams msgaggregationparams namespaceplugin namespacetype parameters
plugindir plugstackconfig powerparameters powerplugin prepparameters prepplugins
prioritycalcperiod prioritysitefactorparameters proctracktype
prologepilogtimeout prologflags prologtimeout propagateprioprocess propagateresourcelimits
propagateresourcelimitsexcept rebootprogram reconfigflags requeueexit requeueexithold resumefailprogram
resumerate resumetimeout resvoverrun returntoservice routeplugin salloccommand sallocdefaultcommand
sbcastparameters schedulerauth schedulerport schedulerrootfilter schedulertype scronparameters
selecttypeparameters slurmgroup slurmeventhandler
slurmctldaddr slurmctlddebug slurmctldhost slurmctldlogfile slurmctldparameters
slurmctldpidfile slurmctldplugstack slurmctldport slurmctldprimaryoffprog slurmctldprimaryonprog
slurmctldsyslogdebug slurmctldtimeout slurmddebug slurmdlogfile slurmdparameters slurmdpidfile slurmdport
slurmdspooldir slurmdsyslogdebug slurmdtimeout slurmduser slurmschedlogfile slurmschedloglevel slurmuser
srunportrange statesavelocation suspendexcnodes suspendexcparts suspendexcstates suspendrate suspendtimeout
switchname switchparameters switchtype taskplugin taskpluginparam tcptimeout tlsparameters tlstype tmpfs
topologyparam tracknodes trackwckey treewidth unkillablestepprogram unkillablesteptimeout urlparsertype usepam
usespecresources waittime
"""
OWN: Final = frozenset(_DAEMONS.split())
"""Addresses, files, logs, time limits and plugins of Slurm's own daemons."""
