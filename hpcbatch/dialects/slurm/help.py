"""What --help and --usage of our Slurm commands print: what they can, in Slurm's layout, not what the originals can."""

from __future__ import annotations

SBATCH_USAGE = """\
Usage: sbatch [OPTIONS...] script [args...]
       sbatch [OPTIONS...] --wrap=command
       sbatch [OPTIONS...] < script"""

SBATCH_HELP = f"""\
{SBATCH_USAGE}

Parallel run options:
  -A, --account=name          charge job to specified account
  -a, --array=indexes         job array index values
  -b, --begin=time            defer job until HH:MM MM/DD/YY
      --comment=name          arbitrary comment
      --container-image=image container image: [registry/]name[:tag]
      --container-workdir=dir the same as --chdir
      --cpus-per-gpu=ncpus    cpus of each GPU
  -c, --cpus-per-task=ncpus   number of cpus required per task
  -D, --chdir=directory       set working directory for batch script
  -d, --dependency=type:jobid[:time] defer job until condition on jobid is satisfied
      --deadline=time         remove the job if it cannot end by then
      --dry-run               print the Kubernetes manifests, submit nothing
  -e, --error=err             file for batch script's standard error
      --explain               say what becomes of each option, submit nothing
      --export=names          environment variables to export: ALL, NONE, NIL or a list
      --export-file=file      environment variables of the job, each followed by a NUL byte
      --get-user-env          start the script by a login shell of the user
  -G, --gpus=n                GPUs of the whole job, [type:]n
      --gpus-per-node=n       GPUs of each node, [type:]n
      --gpus-per-socket=n     GPUs of each socket, [type:]n; needs --sockets-per-node
      --gpus-per-task=n       GPUs of each task, [type:]n
      --gres=list             generic resources of each node, name[[:type]:n]
  -H, --hold                  submit job in held state
      --ignore-pbs            pass over #PBS and #BSUB lines in the batch script
  -i, --input=in              file for batch script's standard input
  -J, --job-name=jobname      name of job
      --kill-on-invalid-dep=yes|no terminate job if dependency can never be met
  -m, --distribution=type     how tasks are dealt out to CPUs
      --mail-type=type        notify on state change: BEGIN, END, FAIL, ALL and others
      --mail-user=user        who to send email notification for job state changes
  -n, --ntasks=ntasks         number of tasks to run
  -N, --nodes=N               number of nodes on which to run (N = min[-max])
      --nice[=value]          decrease scheduling priority by value
      --no-requeue            do not permit the job to be requeued
      --ntasks-per-gpu=n      number of tasks for each GPU
      --ntasks-per-node=n     number of tasks to invoke on each node
      --ntasks-per-tres=n     the same as --ntasks-per-gpu
  -O, --overcommit            overcommit resources
  -o, --output=out            file for batch script's standard output
      --open-mode=mode        append or truncate the output files
  -p, --partition=partition   partition requested; of several the first with room
      --parsable              print the job id only
      --priority=value        set the priority of the job
      --propagate[=rlimits]   propagate all [or specific list of] rlimits
  -Q, --quiet                 suppress informational messages
      --requeue               permit the job to be requeued
      --signal=[[R][B]:]num[@time] send signal when time limit within time seconds
      --strict                refuse the job if any option has no effect here
  -t, --time=minutes          time limit
      --time-min=minutes      least time limit, down to which it may be lowered
      --test-only             say when it would start, submit nothing
  -v, --verbose               verbose mode
  -W, --wait                  wait for completion of submitted job
      --wrap=command          submit a sh script that runs this command

Constraint options:
  -B, --extra-node-info=S[:C[:T]] sockets, cores and threads of a node to bind tasks to
  -C, --constraint=list       features that nodes must have, joined by & and |
      --cores-per-socket=n    cores of a socket, for the number of tasks
      --exclusive[=user|mcs]  allocate whole nodes
  -F, --nodefile=filename     request a specific list of hosts
      --gpu-bind=type         GPUs of each task: per_task:n, single:n, map_gpu:list, mask_gpu:list, none
      --hint=type             how tasks are bound: compute_bound, memory_bound, [no]multithread
  -L, --licenses=names        required licenses, comma separated
      --mem=MB                memory per node; 0: all of it
      --mem-per-cpu=MB        memory per allocated cpu
      --mem-per-gpu=MB        memory per allocated GPU
      --mincpus=n             minimum number of cpus per node
      --ntasks-per-core=n     number of tasks to bind to each core
      --ntasks-per-socket=n   number of tasks to bind to each socket
      --sockets-per-node=S    sockets of a node, for --gpus-per-socket
      --switches=n[@time]     nodes of so many leaf switches, for which the job waits so long
      --threads-per-core=T    threads of a core to bind tasks to
      --tmp=MB                disk for temporary files per node
  -w, --nodelist=hosts        request a specific list of hosts
  -x, --exclude=hosts         exclude a specific list of hosts

Help options:
  -h, --help                  show this help message
      --usage                 display brief usage message
  -V, --version               output version information and exit

Other options of Slurm's sbatch are kept with the job or have no effect, which is told at submission; the manual page
has them all."""


def sbatch_usage() -> str:
    """--usage: every option of the help page in brackets, as short as it can be written, and what stands behind."""
    import re
    import textwrap

    options = re.findall(r"^  (?:(-\w), |    )(--[\w-]+)(\S*)", SBATCH_HELP, re.M)
    words = []
    for short, name, value in options:
        behind = "\0" + value[1:] if short and value[:1] == "=" else value  # as with the real one: no `=` there
        words.append(f"[{short or name}{behind}]")
    text = textwrap.fill(
        " ".join([*words, "executable\0[args...]"]),
        88,
        initial_indent="Usage: sbatch ",
        subsequent_indent=" " * 14,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return text.replace("\0", " ")


SQUEUE_USAGE = """\
Usage: squeue [-A accounts] [-j jobids] [-n names] [-o format] [-O format] [-p partitions]
              [-q qos] [-S fields] [-s steps] [-i seconds] [-M clusters] [--start] [-t states] [-u users]
              [-w nodes] [--me] [--json | --yaml] [-ahlrv] [--help] [--usage] [--version]"""

SQUEUE_HELP = """\
Usage: squeue [OPTIONS]

  -A, --account=account(s)        jobs of these accounts
  -a, --all                       hidden partitions, too
  -r, --array                     a line for each member of an array
      --array-unique              a line for each array
  -h, --noheader                  no headers on output
  -i, --iterate=seconds           print again after so many seconds
  -j, --jobs=job(s)               these jobs
  -l, --long                      long report
  -L, --licenses=license_name(s)  jobs with these licences
      --hide                      no jobs in hidden partitions
      --federation, --local, --sibling  change nothing: there is one cluster
      --json, --yaml              print all that is known of all jobs
  -M, --clusters=name             this cluster, or all
      --me                        jobs of the current user
  -n, --name=job_name(s)          jobs of these names
      --noconvert                 don't convert memory to the greatest unit
  -o, --format=format             %[[.]size]type fields
  -O, --Format=format             comma separated field names, each with :[.]size
  -p, --partition=partition(s)    jobs in these partitions
  -P, --priority                  a line for each partition of a job
  -q, --qos=qos(s)                jobs of these qualities of service
  -R, --reservation=name          jobs of this reservation
  -s, --steps[=step(s)]           steps of jobs that run
  -S, --sort=fields               fields to sort on
      --start                     expected start times of pending jobs
  -t, --states=states             jobs in these states, or all
  -u, --user=user_name(s)         jobs of these users
  -v, --verbose                   verbosity level
  -w, --nodelist=hostlist         jobs on these nodes

Help options:
      --help                      show this help message
      --usage                     display a brief summary of squeue options
  -V, --version                   output version information and exit"""

SCANCEL_USAGE = """\
Usage: scancel [-A account] [--me] [-n job_name] [-p partition] [-Q] [-t PENDING | RUNNING | SUSPENDED]
               [-u user_name] [-w hosts...] [-v] [--help] [--usage] [--version] [job_id ...]"""

SCANCEL_HELP = """\
Usage: scancel [OPTIONS]

  -A, --account=account           act only on jobs charging this account
  -b, --batch                     signal the script alone
      --ctld                      changes nothing: requests always go to the controller
  -f, --full                      signal the script and all its children
  -H, --hurry                     changes nothing: there is no burst buffer
  -i, --interactive               ask about each job
  -M, --clusters=name             this cluster
      --me                        act only on jobs of the current user
  -n, --name=job_name             act only on jobs with this name
  -p, --partition=partition       act only on jobs in this partition
  -q, --qos=qos                   act only on jobs of this quality of service
  -Q, --quiet                     disable warnings
  -R, --reservation=name          act only on jobs of this reservation
  -s, --signal=name               send this signal
      --sibling=name              changes nothing: there is one cluster
  -t, --state=state               act only on jobs in this state
  -u, --user=user_name            act only on jobs of this user
  -v, --verbose                   verbosity level
      --wckey=name                act only on jobs of this key
  -w, --nodelist                  act only on jobs on these nodes

Help options:
      --help                      show this help message
      --usage                     display brief usage message
  -V, --version                   output version information and exit"""

SCONTROL_USAGE = """\
Usage: scontrol [-o] [-Q] [-v] [COMMAND]

  -a, --all                   show hidden partitions, too
  -d, --details               show more of jobs
  -F, --future                show future nodes, of which there are none
      --federation, --local, --sibling  change nothing: there is one cluster
  -h, --help, --usage         show this text
      --hide                  leave out hidden partitions
  -M, --clusters=NAME         this cluster
  -o, --oneliner              print a line for each object
  -Q, --quiet                 say less
  -u, --uid=USER              refused here
  -v, --verbose               say more
  -V, --version               output version information and exit

Without COMMAND, scontrol reads requests from standard input, one a line; !! repeats the last, exit and quit end it.
Valid <COMMAND> values are:

  show <ENTITY> [<ID>]        all of a kind, or one of them:
  show job [ID]               one job, or all
  show node [NAME]            one node, or all
  show partition [NAME]       one partition, or all
  show licenses [NAME]        one licence, or all
  show steps [ID[.STEP]]      the steps of a job, or all
  show assoc_mgr [users=LIST] [accounts=LIST] [qos=LIST] [flags=users,assoc,qos]
                              accounts, users, qualities of service and their limits
  show cache                  the same as show assoc_mgr
  show config                 Slurm's parameters, as they are in force here
  show reservation [NAME]     one reservation, or all
  show topology [NAME]        groups of nodes that are near each other, as switches
  show daemons                the daemons of Slurm on this host
  show slurmd                 the state of slurmd on this host
  show aliases [NODES]        the host names of nodes
  show frontend               front ends, of which there are none
  show federations, show burstbuffer, show bbstat, show dwstat: likewise
  show hostnames [LIST]       the names in a host list, default $SLURM_JOB_NODELIST
  show hostlist NAMES         the host list of these names, show hostlistsorted NAMES: sorted
  hold ID...                  keep pending jobs from starting
  uhold ID...                 the same, and their user may release them
  release ID...               let held jobs start
  requeue ID...               end running jobs and queue them again
  requeuehold ID...           end running jobs, queue them again and hold them
  suspend ID...               stop running jobs
  resume ID...                continue suspended jobs
  top ID                      put a job before the other pending jobs of its user
  update JobId=ID KEY=VALUE...  change a job
  update NodeName=NAME KEY=VALUE...          State, Reason, AvailableFeatures, ActiveFeatures (operators)
  update PartitionName=NAME KEY=VALUE...     change a partition; create and delete also (operators)
  update ReservationName=NAME KEY=VALUE...   change a reservation; create and delete also (operators)
  create ReservationName=NAME KEY=VALUE...   make a reservation or a partition (operators)
  delete ReservationName=NAME                remove a reservation or a partition (operators)
  ping                        say whether the controller answers
  write batch_script ID [FILE]  write the script of a job into a file (slurm-ID.sh); - prints it
  wait_job ID                 say whether the nodes of a running job are ready
  completing                  show jobs that are ending
  listpids [ID]               show processes of jobs on this host
  pidinfo PID                 within a job: show a process's job, and when its time limit ends
  reconfigure                 say whether the present site.yaml is in force; it is read without this request
  version                     output version information"""

SINFO_USAGE = """\
Usage: sinfo [-hlNRsv] [-n nodes] [-o format] [-O format] [-p partitions] [-t states]
             [--help] [--usage] [--version]"""

SINFO_HELP = """\
Usage: sinfo [OPTIONS]

  -a, --all                  show hidden partitions, too
  -d, --dead                 show only nodes that do not answer
  -e, --exact                put only equal nodes into one line
      --federation, --local  change nothing: there is one cluster
  -h, --noheader             no headers on output
      --hide                 leave out hidden partitions
  -i, --iterate=seconds      print again after so many seconds
      --json, --yaml         print all that is known of all nodes
  -l, --long                 long output
  -M, --clusters=name        this cluster, or all
  -n, --nodes=NODES          report on specific node(s)
  -N, --Node                 node-centric format
      --noconvert            don't convert memory to the greatest unit
  -o, --format=format        %[[.]size]type fields
  -O, --Format=format        comma separated field names, each with :[.]size
  -p, --partition=PARTITION  report on specific partition(s)
  -r, --responding           show only nodes that answer
  -R, --list-reasons         show why nodes are out of use
  -s, --summarize            report state summary only
  -S, --sort=fields          fields to sort on, letters of --format
  -t, --states=node_state    the states of nodes to view
  -T, --reservation          show reservations instead of nodes
  -v, --verbose              verbosity level

Help options:
      --help                 show this help message
      --usage                display brief usage message
  -V, --version              output version information and exit"""


SACCTMGR_USAGE = "Usage: sacctmgr [-hinopPQrsvV] [show | list] ENTITY [NAME ...] [CONDITION=LIST ...] [format=FIELDS]"

SACCTMGR_HELP = f"""\
{SACCTMGR_USAGE}

  -i, --immediate            commit changes without a question
  -h, --help                 show this help message
  -n, --noheader             no header
  -o, --oneliner             changes nothing
  -p, --parsable             fields with | between them and at the end
  -P, --parsable2            fields with | between them
  -Q, --quiet                say less
  -r, --readonly             changes are refused
  -s, --associations         users and accounts with their associations
      --usage                a brief message
  -v, --verbose              say more
  -V, --version              output version information and exit

  show user, show account    those that are set up or that jobs name; withassoc: a line for each association
  show association           accounts with their users; tree: as a tree
  show qos                   those that are set up or that jobs name
  show cluster               this cluster
  show tres                  resources that are accounted for
  show configuration         the configuration of the accounting
  show event, federation, reservation, resource, transaction: none are kept
  add, modify, delete        account, user, qos, coordinator (operators)
  Without a command, sacctmgr reads requests from standard input until exit, quit or its end."""


SSHARE_HELP = """\
Usage: sshare [-aehlmnpPUvV] [-A accounts] [-M cluster] [-o format] [-u users]

  -a, --all               all users
  -A, --accounts=LIST     these accounts
  -e, --helpformat        the fields that --format knows
      --help              show this help message
  -l, --long              many fields
  -m, --partition         the partition of each association
  -M, --cluster=NAME      this cluster
  -n, --noheader          no header
  -o, --format=LIST       fields, each with %WIDTH if wanted
  -p, --parsable          fields with | between them and at the end
  -P, --parsable2         fields with | between them
  -u, --users=LIST        these users; default: oneself
  -U, --Users             users alone, without their accounts
      --usage             a brief message
  -v, --verbose           say more
  -V, --version           output version information and exit"""

SPRIO_USAGE = """\
Usage: sprio [-j jid[s]] [-u user_name[s]] [-o format] [-p partitions]
   [--federation] [--local] [--sibling] [--usage] [-hlnvVw]"""

SPRIO_HELP = f"""\
{SPRIO_USAGE}

      --help, --usage     this text, or a brief one
  -j, --jobs=LIST         these jobs
  -u, --users=LIST        jobs of these users
  -p, --partition=LIST    jobs in these partitions
  -l, --long              all factors
  -n, --norm              factors from 0 to 1, without their weights
  -w, --weights           the weights
  -o, --format=FORMAT     %[[.]width]letter: i r u o y Y S a A b B f F j J p P q Q N t T c
  -S, --sort=LIST         letters of --format, - before one reverses it
  -h, --noheader          no heading
  -M, --clusters=NAME     this cluster
  -v, --verbose           say more
      --federation, --local, --sibling   change nothing: there is one cluster
  -V, --version           output version information and exit"""

STRIGGER_USAGE = "Usage: strigger [--set | --get | --clear | --version] [-aAbBcCdDefFgGhHiIjnNopQrtuv]"

STRIGGER_HELP = f"""\
{STRIGGER_USAGE}

      --get                   the triggers that are set: none
      --set, --clear          refused: nothing starts programs here
      all other options       which triggers, and what they start: nothing does"""


SSTAT_USAGE = "Usage: sstat [options] -j <job(.stepid)>\n\tUse --help for help"

SSTAT_HELP = """\
sstat [<OPTION>] -j <job(.stepid)>
    Valid <OPTION> values are:
     -a, --allsteps      all steps of a job that is named without a step: batch and extern
     -e, --helpformat    the fields that --format knows
     -h, --help          this text
     -i, --pidformat     the same as --format=jobid,nodelist,pids; pids are not known
     -j, --jobs=LIST     jobs or steps; of a job without a step: batch
     -n, --noheader      no heading
         --noconvert     sizes in their own unit
     -o, --format=LIST   fields, each with %WIDTH if wanted
     -p, --parsable      fields with | between them and at the end
     -P, --parsable2     fields with | between them
         --usage         brief help
     -v, --verbose       changes nothing
     -V, --version       print version"""


SDIAG_USAGE = "Usage: sdiag [-M cluster] [-aritT]"

SDIAG_HELP = f"""\
{SDIAG_USAGE}

  -M, --cluster=name  this cluster
  -r, --reset         refused: the numbers are always those of the day
  -a, --all, -i, --sort-by-id, -t, --sort-by-time, -T, --sort-by-time2  change nothing: calls are not counted
      --help, --usage  this text, or a brief one
  -V, --version       output version information and exit"""


SREPORT_HELP = """\
sreport [-nPpv] [-t Second|Minute|Hour|Percent|SecPer|MinPer|HourPer] TYPE REPORT [CONDITION ...]

  cluster Utilization                 how much of the nodes' time jobs held; today's nodes count
  cluster AccountUtilizationByUser    accounts and their users
  cluster UserUtilizationByAccount    users and their accounts, the largest use first
  user TopUsage                       the ten users with the largest use, or topcount=N
  job SizesByAccount                  use by the CPUs of jobs: grouping=N,N,..., printjobcount
  reservation Utilization             empty: the use of reservations is not recorded

  start=TIME, end=TIME                full hours; without them yesterday
  users=LIST, accounts=LIST           only these
  format=LIST                         fields, each with %WIDTH if wanted

  -a, --all_clusters, --federation, --local   change nothing: there is one cluster
  -h, --help, --usage                 this text
  -M, --cluster=NAME                  this cluster
  -n, --noheader                      no headings
  -p, --parsable                      fields with | between them and at the end
  -P, --parsable2                     fields with | between them
  -Q, --quiet                         say less
  -s, --sort=cputime|name             the order of users
  -t, --time=UNIT                     the unit of times
  -T, --tres=LIST                     only cpu is accounted for
  -v, --verbose                       say more
  -V, --version                       output version information and exit

  Without a report, sreport reads requests from standard input until exit, quit or its end."""
