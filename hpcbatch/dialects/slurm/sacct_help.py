"""What --help and --usage of sacct print, in the layout of Slurm's own."""

from __future__ import annotations

SACCT_USAGE = "Usage: sacct [options]\n\tUse --help for help"

SACCT_HELP = """\
sacct [<OPTION>]
    Valid <OPTION> values are:
     -a, --allusers:
         jobs of all users, as root sees them by default
     -A, --accounts:
         LIST: jobs of these accounts
     -B, --batch-script:
         the scripts of the jobs of -j, as long as they have not ended
     -b, --brief:
         the same as --format=jobid,state,exitcode
     -C, --constraints:
         LIST: jobs with these constraints
     -c, --completion:
         refused: there are no files of completed jobs
     -D, --duplicates:
         also the runs after which a job was queued again
     --delimiter:
         TEXT: between the fields of -p and -P; default |
     -e, --helpformat:
         the fields that --format knows
     --env-vars:
         the variables of the jobs of -j
     -E, --endtime:
         TIME: jobs eligible before this time, or with -s in that state before it
     -f, --file:
         FILE: refused, as -c
     -F, --flags:
         LIST: changes nothing
     --federation, --local:
         change nothing: there is one cluster
     -g, --gid, --group:
         LIST: jobs of these groups
     -h, --help:
         this text
     -i, --nnodes:
         MIN[-MAX]: jobs of so many nodes
     -I, --ncpus:
         MIN[-MAX]: jobs of so many CPUs
     -j, --jobs:
         LIST: these jobs, members of arrays or steps: 12, 12_7, 12_[1-3], 12.batch
     --json, --yaml:
         as JSON or YAML
     -k, --timelimit-min:
         TIME: jobs with this time limit, or one up to -K
     -K, --timelimit-max:
         TIME: see -k
     -l, --long:
         many fields
     -L, --allclusters:
         the same as -M all
     -M, --clusters:
         LIST: jobs of these clusters, or all
     -n, --noheader:
         no heading
     -N, --nodelist:
         HOSTS: jobs that ran on any of these nodes
     --name:
         LIST: jobs of these names
     --noconvert:
         sizes in their own unit: 2048M stays 2048M
     -o, --format:
         LIST: fields, each with %WIDTH if wanted (negative: to the left)
     -p, --parsable:
         fields with | between them and at the end
     -P, --parsable2:
         fields with | between them
     -q, --qos:
         LIST: jobs of these qualities of service
     -r, --partition:
         LIST: jobs of these partitions
     -R, --reason:
         LIST: jobs that waited for this reason
     -s, --state:
         LIST: jobs in these states within the requested time
     -S, --starttime:
         TIME: jobs eligible after this time; default: 00:00 of today; with -s: now; with -j: any
     -T, --truncate:
         start and end are cut to the requested time
     -u, --uid, --user:
         LIST: jobs of these users; default: one's own
     --units:
         [KMGTP]: sizes in this unit
     --use-local-uid:
         users by the numbers of this host
     -U, --usage:
         brief help
     -v, --verbose:
         say more
     -V, --version:
         print version
     -W, --wckeys:
         LIST: jobs of these keys
     --whole-hetjob:
         heterogeneous jobs with all their components
     -x, --associations:
         LIST: jobs of these associations
     -X, --allocations:
         jobs without their steps

     valid start/end time formats are...
         HH:MM[:SS] [AM|PM], MMDD[YY] or MM/DD[/YY] or MM.DD[.YY], MM/DD[/YY]-HH:MM[:SS],
         YYYY-MM-DD[THH:MM[:SS]], now[{+|-}count[seconds(default)|minutes|hours|days|weeks]], today
"""
