# shellcheck shell=sh
# shellcheck disable=SC2154 # variables of conf/job.sh and common.sh
# `bind.sh ROOT NTH TASKS PROGRAM...`: becomes PROGRAM, the task with that number among the TASKS of its step on this host, on the CPUs
# that $SRUN_BIND asks for: `kind=cores threads=1 …` words (srun_options.sh). Only where the pod's CPUs are its own: two jobs that
# bind to the same CPU would each get half of it while another one idles.

root=$1 nth=$2 tasks=$3
shift 3
. "$root/runner/common.sh"
. "$root/job/conf/job.sh"
kind='' units='' list='' threads='' width=1 per_core='' per_socket='' order=cyclic verbose='' quiet='' beside=
for word in $SRUN_BIND; do
  case $word in
    kind=*) kind=${word#*=} ;;
    list=*) list=${word#*=} ;;
    threads=*) threads=${word#*=} ;;
    width=*) width=${word#*=} ;;
    per_core=*) per_core=${word#*=} ;;
    per_socket=*) per_socket=${word#*=} ;;
    order=*) order=${word#*=} ;;
    verbose | quiet | beside) eval "$word=yes" ;;
  esac
done
unset SRUN_BIND

allowed=
while read -r name value; do
  [ "$name" != Cpus_allowed_list: ] || allowed=$value
done </proc/self/status

# numbers LIST: of `0-2,5`, one a line
numbers() { printf '%s\n' "$1" | tr , '\n' | awk -F - '{ for (i = $1; i <= ($2 == "" ? $1 : $2); i++) print i }'; }

# own_cpus: why the pod's CPUs are not its own; nothing where they are
own_cpus() {
  # shellcheck disable=SC2086
  count=$(numbers "$allowed" | wc -l)
  asked=0
  # shellcheck disable=SC2086
  set -- $cpus
  for peer in $hosts; do
    [ "$peer" != "$host" ] || asked=$1
    shift
  done
  if tr '\000' '\n' <"$run/pod.env" | grep -q '^OMPI_MCA_mpi_yield_when_idle=1$'; then
    echo "its node has more CPUs than there are" # an engine's (engine/agent/oversubscribed.py)
  elif [ "$count" -gt "$asked" ] && [ "$exclusive" != yes ]; then
    echo "the pod shares its CPUs with others"
  fi
}

# topology: of all allowed CPUs, in order: `CPU SOCKET CORE`, where CORE is the first of its threads. By grep, since the kernel gives
# nothing of these lists to who reads them byte by byte, as a shell does.
topology() {
  {
    numbers "$allowed" | sed 's/^/allowed /'
    cd /sys/devices/system/cpu && grep . cpu[0-9]*/topology/physical_package_id cpu[0-9]*/topology/thread_siblings_list
  } 2>/dev/null | awk '
    $1 == "allowed" { cpu[n++] = $2; next }
    {
      split($0, part, "[:/]")
      sub(/^cpu/, "", part[1]); sub(/[-,].*/, "", part[4])
      if (part[3] == "physical_package_id") socket[part[1]] = part[4]; else core[part[1]] = part[4]
    }
    END { for (i = 0; i < n; i++) { c = cpu[i]; print c, (c in socket) ? socket[c] : 0, (c in core) ? core[c] : c } }'
}

# mask_of_task KIND: prints the mask of this task; 0 where there are not enough CPUs for all
mask_of_task() {
  topology | awk -v kind="$1" -v threads="${threads:-0}" -v width="$width" -v per_core="${per_core:-1}" \
    -v per_socket="${per_socket:-0}" -v order="$order" -v nth="$nth" -v tasks="$tasks" -f "$root/runner/bind.awk" | mask_of
}

# mask_of: prints the hexadecimal mask of the CPUs that it reads, one a line
mask_of() {
  awk '{ digit = int($1 / 4); bit[$1]++; if (bit[$1] == 1) value[digit] += 2 ^ ($1 % 4); if (digit > most) most = digit }
    END { for (d = most + 0; d >= 0; d--) printf "%x", value[d]; print "" }'
}

# item LIST: the one of `a,b*2` for this task; the list begins anew when it is over
item() {
  printf '%s\n' "$1" | tr , '\n' | awk -F '*' -v nth="$nth" '
    { times = $2 == "" ? 1 : $2; for (i = 0; i < times; i++) all[n++] = $1 } END { print all[nth % n] }'
}

name=MASK mask='' why='' action='' status=
case $kind in
  cores | threads | sockets) units=-$kind ;;
esac
case $kind in
  none) name=NONE ;;
  map_cpu) name='MAP ' ;;
  rank) name=RANK ;;
esac
if [ "$kind" = '' ]; then
  name=NULL
elif [ "$kind" != none ]; then
  why=$(own_cpus)
  [ -z "$beside" ] || why="other steps of the job run beside this one"
  command -v taskset >/dev/null 2>&1 || why="this image has no taskset"
  if [ -z "$why" ]; then
    case $kind in
      map_cpu) mask=$(printf '%d\n' "$(item "$list")" | mask_of) ;;
      mask_cpu) mask=$(item "$list") && mask=${mask#0[xX]} ;;
      rank) mask=$(numbers "$allowed" | sed -n "$((nth + 1))p" | mask_of) ;;
      auto)
        mask=$(mask_of_task cores)
        [ "$mask" != 0 ] || mask=$(mask_of_task threads)
        ;;
      *) mask=$(mask_of_task "$kind") ;;
    esac
    case $mask in
      '' | 0 | *[!0-9a-fA-F]*) why="there are not enough CPUs for each task to have its own" ;;
      *)
        action=' set'
        taskset -p "0x$mask" $$ >/dev/null 2>&1 || status=' FAILED'
        SLURM_CPU_BIND_TYPE=mask_cpu: SLURM_CPU_BIND_LIST=0x$mask SLURM_CPU_BIND_VERBOSE=${verbose:+verbose}
        SLURM_CPU_BIND_VERBOSE=${SLURM_CPU_BIND_VERBOSE:-quiet}
        SLURM_CPU_BIND=$SLURM_CPU_BIND_VERBOSE,mask_cpu:0x$mask
        export SLURM_CPU_BIND SLURM_CPU_BIND_TYPE SLURM_CPU_BIND_LIST SLURM_CPU_BIND_VERBOSE
        ;;
    esac
  fi
  if [ -n "$why" ]; then
    name=NULL units=
    [ "$SLURM_PROCID" != 0 ] || [ -n "$quiet" ] || echo "srun: hpcbatch: tasks are not bound to CPUs: $why" >&2
  fi
fi
if [ -n "$verbose" ]; then
  [ -n "$action" ] || mask=$(numbers "$allowed" | mask_of)
  printf 'cpu-bind%s=%s - %s, task %2u %2u [%u]: mask 0x%s%s%s\n' "$units" "$name" "$host" "$SLURM_PROCID" "$nth" $$ "$mask" \
    "$action" "$status" >&2
fi
exec "$@"
