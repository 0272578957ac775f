# shellcheck shell=sh
# shellcheck disable=SC2154 # variables of conf/job.sh, common.sh and step.sh
# `srun` in a job: a step of some tasks on some of the job's hosts. MPI programs are started by the image's own mpirun as one
# world, others directly; both find what Slurm sets for a task. A step gets CPUs of its own: while others have them, it waits.

ntasks='' nodes='' cpus_per_task=${SRUN_CPUS_PER_TASK:-} per_node='' nodelist='' exclude='' relative=0 label='' out='' err='' input=''
kill_on_bad_exit=${SLURM_KILL_BAD_EXIT:-0} chdir='' distribution=${SLURM_DISTRIBUTION:-block} mpi=${SLURM_MPI_TYPE:-} multi_prog=''
overlap='' overcommit='' quiet='' export=${SLURM_EXPORT_ENV:-ALL} step_name=''

# unapplied OPTION REASON
unapplied() { notes="$notes$tool: hpcbatch: $1 is not applied: $2
"; }
notes=

# Options with a value, and those without; what Slurm has beyond these is refused.
take_option() { # NAME VALUE
  case $1 in
    n | ntasks) number --ntasks "$2" && ntasks=$2 ;;
    N | nodes) nodes=${2%%-*} && number --nodes "$nodes" ;;
    c | cpus-per-task) number --cpus-per-task "$2" && cpus_per_task=$2 ;;
    ntasks-per-node | tasks-per-node) number --ntasks-per-node "$2" && per_node=$2 ;;
    w | nodelist) nodelist=$2 ;;
    x | exclude) exclude=$2 ;;
    r | relative)
      case $2 in '' | *[!0-9]*) die "Invalid numeric value \"$2\" for --relative." ;; esac
      relative=$2
      ;;
    o | output) out=$2 ;;
    e | error) err=$2 ;;
    i | input) input=$2 ;;
    D | chdir) chdir=$2 ;;
    m | distribution)
      case $2 in
        block* | cyclic*) distribution=$2 ;;
        *) die "Invalid --distribution specification: '$2': expected block or cyclic" ;;
      esac
      ;;
    mpi)
      case $2 in
        none | pmi2 | pmix* | openmpi | cray_shasta) mpi=$2 ;;
        list) echo 'MPI plugin types are...
	none
	pmi2
	pmix' >&2 && exit 0 ;;
        *) die "MPI plugin \"$2\" is not there: expected none, pmi2 or pmix" ;;
      esac
      ;;
    export) export=$2 ;;
    J | job-name) step_name=$2 ;;
    kill-on-bad-exit) kill_on_bad_exit=$2 ;;
    het-group | pack-group) [ "$2" = 0 ] || die "a job here has one component: --het-group=$2 does not exist" ;;
    jobid) [ "$2" = "$job_id" ] || die "srun starts steps of its own job only, not of job $2" ;;
    t | time | cpu-bind | cpu_bind | mem-bind | mem_bind | hint | threads-per-core | cores-per-socket | ntasks-per-core | ntasks-per-socket | cpu-freq | \
      gpu-bind | gpus-per-task | G | gpus | gres | gpus-per-node | mem | mem-per-cpu | mem-per-gpu | A | account | p | partition | q | qos | \
      propagate | network | resv-ports | immediate | I | W | wait | C | constraint | open-mode | prolog | epilog | task-prolog | \
      task-epilog | B | extra-node-info | comment | licenses | L | S | core-spec | switches | acctg-freq | bcast | slurmd-debug | \
      cpus-per-gpu | ntasks-per-gpu | tres-per-task | tres-bind | treewidth | uid | gid | mail-type | mail-user | reservation | \
      profile | container | wckey | begin | deadline | dependency | d | mcs-label | msg-timeout | thread-spec | tmp | mincpus | \
      interactive | compress)
      case $1 in
        t | time) unapplied --time "the step ends with the job" ;;
        cpu-bind | cpu_bind | mem-bind | mem_bind | hint | gpu-bind | tres-bind | threads-per-core | cores-per-socket | ntasks-per-core | ntasks-per-socket | B | extra-node-info)
          unapplied "--$1" "a pod does not bind tasks" ;;
        prolog | epilog | task-prolog | task-epilog | bcast | container) die "--$1 is not supported" ;;
        *) unapplied "--$1" "a step has what its job has" ;;
      esac
      ;;
    *) return 1 ;;
  esac
}

take_flag() { # NAME
  case $1 in
    l | label) label=yes ;;
    K | kill-on-bad-exit) kill_on_bad_exit=1 ;;
    overlap | s | oversubscribe) overlap=yes ;;
    O | overcommit) overcommit=yes ;;
    Q | quiet) quiet=yes ;;
    multi-prog) multi_prog=yes ;;
    exclusive | exact | u | unbuffered | v | verbose | vv | H | hold | X | disable-status | Z | no-allocate | E | preserve-env | whole | j | \
      spread-job | use-min-nodes | T | threads | contiguous | nice | no-kill | k | no-bell | quit-on-interrupt | accel-bind) ;;
    V | version)
      printf 'slurm-wlm 22.05.8\n'
      exit 0
      ;;
    pty) die "--pty is not supported: a job's pods have no terminal" ;;
    test-only) exit 0 ;;
    help | h | usage)
      echo "Usage: srun [OPTIONS(0)... [executable(0) [args(0)...]]]"
      exit 0
      ;;
    *) return 1 ;;
  esac
}

unknown() {
  printf "srun: unrecognized option '%s'\nTry \"srun --help\" for more information\n" "$1" >&2
  exit 1
}

while [ $# -gt 0 ]; do
  case $1 in
    --)
      shift
      break
      ;;
    --exclusive=* | --nice=* | --accel-bind=*) ;;
    --*=*)
      name=${1%%=*}
      take_option "${name#--}" "${1#*=}" || unknown "$1"
      ;;
    --*)
      if ! take_flag "${1#--}"; then
        [ $# -gt 1 ] || unknown "$1"
        take_option "${1#--}" "$2" || unknown "$1"
        shift
      fi
      ;;
    -?*)
      rest=${1#-}
      while [ -n "$rest" ]; do
        letter=${rest%"${rest#?}"}
        rest=${rest#?}
        if [ "$letter" = K ] && [ -n "$rest" ]; then
          kill_on_bad_exit=$rest rest=
        elif ! take_flag "$letter"; then
          if [ -z "$rest" ]; then
            [ $# -gt 1 ] || die "option requires an argument -- '$letter'"
            rest=$2
            shift
          fi
          take_option "$letter" "${rest#=}" || {
            printf "srun: invalid option -- '%s'\nTry \"srun --help\" for more information\n" "$letter" >&2
            exit 1
          }
          rest=
        fi
      done
      ;;
    *) break ;;
  esac
  shift
done
[ $# -gt 0 ] || die "No command given to execute."
for word in "$@"; do
  [ "$word" != : ] || die "steps of several components (srun a : b) are not supported"
done

# Where

listed() { printf ' %s ' "$(expand "$2" | tr '\n' ' ')" | grep -q " $1 "; }

job_hosts
chosen='' skipped=0
for word in $all; do
  name=${word%%:*}
  [ -z "$nodelist" ] || listed "$name" "$nodelist" || continue
  [ -z "$exclude" ] || ! listed "$name" "$exclude" || continue
  skipped=$((skipped + 1))
  [ $skipped -gt "$relative" ] || continue
  chosen="$chosen $word"
done
if [ -n "$nodelist" ]; then
  for name in $(expand "$nodelist"); do
    case " $all" in
      *" $name:"*) ;;
      *) die "Unable to create step for job $job_id: Requested node configuration is not available" ;;
    esac
  done
fi
[ -n "$chosen" ] || die "Unable to create step for job $job_id: Requested node configuration is not available"

# shellcheck disable=SC2086
count_hosts() { set -- $chosen && echo $#; }
available=$(count_hosts)
[ -z "$nodes" ] || [ "$nodes" -le "$available" ] ||
  die "Unable to create step for job $job_id: More processors requested than permitted"
wanted_nodes=${nodes:-$available}
if [ -z "$ntasks" ]; then
  if [ -n "$per_node" ]; then
    ntasks=$((wanted_nodes * per_node))
  elif [ -n "$SLURM_NTASKS" ]; then
    ntasks=$SLURM_NTASKS
  else
    ntasks=$((wanted_nodes * ${SLURM_NTASKS_PER_NODE:-1}))
  fi
fi
[ "$wanted_nodes" -le "$ntasks" ] || wanted_nodes=$ntasks
cpus_per_task=${cpus_per_task:-1}

# CPUs: what other steps of the job have is written down in $run/steps, by the process that started each.

steps=$run/steps
mkdir -p "$steps" || die "cannot write to $run"

lock() {
  until mkdir "$steps/lock" 2>/dev/null; do
    owner=
    { read -r owner <"$steps/lock/pid"; } 2>/dev/null
    if [ -n "$owner" ] && ! kill -0 "$owner" 2>/dev/null; then
      rm -rf "$steps/lock" # it was killed
    else
      nap
    fi
  done
  echo $$ >"$steps/lock/pid"
}

unlock() { rm -rf "$steps/lock"; }

# free_hosts: sets $free to `host:tasks that fit:ranks` words of $chosen.
free_hosts() {
  used=
  for file in "$steps"/*.step; do
    { read -r owner taken <"$file"; } 2>/dev/null || continue
    if kill -0 "$owner" 2>/dev/null; then
      used="$used $taken"
    else
      rm -f "$file"
    fi
  done
  free=
  for word in $chosen; do
    name=${word%%:*}
    cores=$(of_host 2 "$word")
    if [ -n "$overcommit" ]; then
      cores=1000000
    elif [ -z "$overlap" ]; then
      for taken in $used; do
        [ "${taken%:*}" != "$name" ] || cores=$((cores - ${taken#*:}))
      done
    fi
    free="$free $name:$((cores / cpus_per_task)):$(of_host 3 "$word")"
  done
}

# choose: sets $layout from $free: as the job's own tasks lie if all are asked for, else on the first hosts with room.
choose() {
  if [ -z "$nodelist$exclude$per_node" ] && [ "$relative" = 0 ] && [ "$wanted_nodes" = "$available" ]; then
    total=0 fits=yes layout=
    for word in $free; do
      ranks=$(of_host 3 "$word")
      total=$((total + ranks))
      [ "$ranks" -gt 0 ] && [ "$ranks" -le "$(of_host 2 "$word")" ] || fits=
      layout="$layout ${word%%:*}:$ranks"
    done
    [ "$total" != "$ntasks" ] || [ -z "$fits" ] || return 0
  fi
  some='' number_of=0
  for word in $free; do
    [ "$(of_host 2 "$word")" -gt 0 ] || continue
    [ $number_of -lt "$wanted_nodes" ] || break
    some="$some $word" number_of=$((number_of + 1))
  done
  if [ $number_of -lt "$wanted_nodes" ]; then
    # fewer hosts than the job has may do
    [ -z "$nodes" ] && [ $number_of -gt 0 ] || return 1
  fi
  # shellcheck disable=SC2086
  lay_out "$ntasks" "${per_node:-0}" $some
}

# Would it fit if nothing else ran?
kept_overlap=$overlap overlap=yes
free_hosts
choose || die "Unable to create step for job $job_id: More processors requested than permitted"
overlap=$kept_overlap

told=
while :; do
  lock
  free_hosts
  if choose; then
    step_id=0
    { read -r step_id <"$steps/next"; } 2>/dev/null
    echo $((step_id + 1)) >"$steps/next"
    taken=
    if [ -z "$overlap" ]; then
      for word in $layout; do
        taken="$taken ${word%:*}:$((${word#*:} * cpus_per_task))"
      done
    fi
    echo "$$$taken" >"$steps/$step_id.step"
    unlock
    break
  fi
  unlock
  [ -n "$told$quiet" ] || echo "srun: Job $job_id step creation temporarily disabled, retrying (Requested nodes are busy)" >&2
  told=yes
  nap 0.5
done
[ -z "$told" ] || [ -n "$quiet" ] || echo "srun: Step created for StepId=$job_id.$step_id" >&2
[ -n "$quiet" ] || printf %s "$notes" >&2

# The tasks

step_hosts='' per_host='' step_nodes=0 same='' times=0
# end_run: of hosts with as many tasks each: `2(x3)`
end_run() {
  [ $times -eq 0 ] || per_host="$per_host${per_host:+,}$same"
  [ $times -le 1 ] || per_host="$per_host(x$times)"
}
for word in $layout; do
  step_hosts="$step_hosts${step_hosts:+,}${word%:*}"
  if [ "${word#*:}" = "$same" ]; then
    times=$((times + 1))
  else
    end_run
    same=${word#*:} times=1
  fi
  step_nodes=$((step_nodes + 1))
done
end_run
SLURM_STEP_ID=$step_id SLURM_STEPID=$step_id SLURM_STEP_NODELIST=$step_hosts SLURM_STEP_NUM_NODES=$step_nodes
SLURM_STEP_NUM_TASKS=$ntasks SLURM_NTASKS=$ntasks SLURM_NPROCS=$ntasks SLURM_STEP_TASKS_PER_NODE=$per_host SLURM_NNODES=$step_nodes
SLURM_DISTRIBUTION=$distribution SLURM_LAUNCH_NODE_IPADDR=$host SLURM_UMASK=$(umask)
export SLURM_STEP_ID SLURM_STEPID SLURM_STEP_NODELIST SLURM_STEP_NUM_NODES SLURM_STEP_NUM_TASKS SLURM_NTASKS SLURM_NPROCS \
  SLURM_STEP_TASKS_PER_NODE SLURM_NNODES SLURM_DISTRIBUTION SLURM_LAUNCH_NODE_IPADDR SLURM_UMASK
[ -z "$step_name" ] || export SLURM_JOB_NAME="$step_name"
case $export in
  ALL) ;;
  NONE) die "--export=NONE is not supported: a task has the script's environment" ;;
  ALL,*=* | *=*)
    rest=${export#ALL,}
    while [ -n "$rest" ]; do
      word=${rest%%,*}
      case $word in *=*) export "${word?}" ;; esac
      case $rest in *,*) rest=${rest#*,} ;; *) rest= ;; esac
    done
    ;;
esac
if [ -n "$chdir" ]; then
  cd "$chdir" 2>/dev/null || {
    echo "slurmstepd: error: couldn't chdir to \`$chdir': No such file or directory: going to /tmp instead" >&2
    cd /tmp || exit 1
  }
fi
[ "$out" != none ] || out=/dev/null
[ "$err" != none ] || err=/dev/null
case $input in
  '' | all) ;;
  none) exec </dev/null ;;
  *) exec <"$input" || exit 1 ;;
esac
[ -z "$label" ] || label=$ntasks
start="$root/runner/task.sh"

mpi_family
if [ "$mpi" != none ] && [ -z "$family$multi_prog" ]; then
  tell_of_single_ranks "$1" "$ntasks" "there is no mpirun on PATH"
fi
if [ -n "$family" ] && [ "$mpi" != none ] && [ -z "$multi_prog" ] && wants_mpi "$1"; then
  tell_of_library "$1"
  start_with_mpi "${distribution%%[:,]*}" "$ntasks" "$sh" "$start" "$root" mpi "${label:--}" "${out:--}" "${err:--}" "$@"
fi

# directly: task numbers of each host
numbers=
case $distribution in
  cyclic*)
    task=0 round=0
    while [ $task -lt "$ntasks" ]; do
      for word in $layout; do
        [ $round -lt "${word#*:}" ] || continue
        numbers="$numbers ${word%:*}:$task"
        task=$((task + 1))
      done
      round=$((round + 1))
    done
    ;;
  *)
    task=0
    for word in $layout; do
      last=$((task + ${word#*:}))
      while [ $task -lt $last ]; do
        numbers="$numbers ${word%:*}:$task"
        task=$((task + 1))
      done
    done
    ;;
esac
# end_step SIGNAL: what the step runs on all its hosts
end_step() {
  for word in $layout; do
    start_on "${word%:*}" "$sh" "$start" "$root" signal "$step_id" "$1" </dev/null &
  done
  wait
}
# stop SIGNAL: the first one counts; KILL follows
ended=
stop() {
  [ -z "$ended" ] || return 0
  ended=yes
  (
    trap '' INT TERM HUP # which may have come to all that srun has started
    end_step "$1"
    sleep "$kill_delay_s"
    [ ! -d "$state" ] || end_step KILL
  ) >/dev/null 2>&1 &
}
trap 'echo "srun: error: StepId=$job_id.$step_id: Terminating" >&2; stop INT' INT
trap 'echo "srun: error: StepId=$job_id.$step_id: Terminating" >&2; stop TERM' TERM HUP
trap '[ -n "$ended" ] || echo "srun: Terminating StepId=$job_id.$step_id" >&2; stop KILL' USR1

exec 3<&0
state=$(mktemp -d "$run/step.XXXXXX") || die "cannot write to $run"
children='' node=0
for word in $layout; do
  name=${word%:*} tasks=
  for entry in $numbers; do
    [ "${entry%:*}" != "$name" ] || tasks="$tasks${tasks:+,}${entry#*:}"
  done
  (
    # the first task reads what srun is given
    case ,$tasks, in
      *,0,*) exec <&3 ;;
      *) exec </dev/null ;;
    esac
    exec 3<&-
    start_on "$name" "$sh" "$start" "$root" direct "${label:--}" "${out:--}" "${err:--}" "$step_id" "$node" "$tasks" "${multi_prog:-no}" "$kill_on_bad_exit" "$@"
    code=$?
    [ $code -ne 255 ] || echo "srun: error: $name: lost connection to its tasks" >&2
    echo $code >"$state/$node"
    [ $code -eq 0 ] || [ "$kill_on_bad_exit" = 0 ] || kill -s USR1 $$ 2>/dev/null
  ) &
  children="$children $!"
  node=$((node + 1))
done
exec 3<&-

highest=0
for child in $children; do
  while kill -0 "$child" 2>/dev/null; do
    wait "$child" 2>/dev/null
  done
done
while [ $node -gt 0 ]; do
  node=$((node - 1))
  { read -r code <"$state/$node"; } 2>/dev/null || code=143 # ended by a signal, with all its group
  [ "$code" -le "$highest" ] || highest=$code
done
rm -rf "$state" "$steps/$step_id.step"
exit "$highest"
