# shellcheck shell=sh
# shellcheck disable=SC2154 # variables of conf/job.sh, common.sh and step.sh
# `srun` in a job: a step of some tasks on some of the job's hosts, which find what Slurm sets for a task (srun_start.sh starts
# them). A step gets CPUs of its own: while others have them, it waits.

. "$root/runner/srun_options.sh"

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
wanted_nodes=${max_nodes:-${nodes:-$available}}
[ "$wanted_nodes" -le "$available" ] || wanted_nodes=$available
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

# lock: until `unlock` or this process has gone, however that is. Without flock the one who finds that its owner has gone
# takes the lock away; its content is there at the moment it is.
lock() {
  if command -v flock >/dev/null 2>&1; then
    exec 9>"$steps/lock" && flock 9
    return
  fi
  echo $$ >"$steps/me.$$"
  until ln "$steps/me.$$" "$steps/locked" 2>/dev/null; do
    owner=
    { read -r owner <"$steps/locked"; } 2>/dev/null
    if [ -n "$owner" ] && ! kill -0 "$owner" 2>/dev/null; then
      rm -f "$steps/locked" "$steps/me.$owner"
    else
      nap
    fi
  done
}

unlock() {
  exec 9>&-
  rm -f "$steps/me.$$"
  [ ! -e "$steps/locked" ] || rm -f "$steps/locked"
}

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

# choose: sets $layout from $free: as the job's own tasks lie if all are requested, else on the first hosts with room.
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
    [ $number_of -ge "${nodes:-1}" ] || return 1
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

# fill_in: what the environment has lost of the job's own variables: a program that starts steps (Snakemake) may leave SLURM_JOB_ID
# alone, and mpirun then finds half a job. Not those that ask srun for something.
fill_in() {
  uid=$(id -u)
  set --
  . "$root/runner/mpi_tuning.sh"
  . "$root/conf/environment"
  . "$root/runner/mpi.sh"
  for entry in "$@"; do
    case ${entry%%=*} in
      SLURM_NTASKS | SLURM_NPROCS | SLURM_NTASKS_PER_NODE | SLURM_CPUS_PER_TASK | SLURM_EXPORT_ENV | SLURM_OPEN_MODE) ;;
      SLURM_* | OMPI_* | PRTE_* | HYDRA_* | I_MPI_* | MV2_*) eval "[ -n \"\${${entry%%=*}+set}\" ]" || export "${entry?}" ;;
    esac
  done
}
[ -n "${SLURM_JOB_NODELIST+set}${SLURM_NODELIST+set}${SLURM_TASKS_PER_NODE+set}" ] || fill_in
job_nodes=$SLURM_NNODES job_ntasks=$SLURM_NTASKS
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
SLURM_HPCBATCH_STEP="$job_id.$step_id launch" # for signals (processes.sh)
export SLURM_STEP_ID SLURM_STEPID SLURM_STEP_NODELIST SLURM_STEP_NUM_NODES SLURM_STEP_NUM_TASKS SLURM_NTASKS SLURM_NPROCS \
  SLURM_STEP_TASKS_PER_NODE SLURM_NNODES SLURM_DISTRIBUTION SLURM_LAUNCH_NODE_IPADDR SLURM_UMASK SLURM_HPCBATCH_STEP
if [ -n "$preserve_env" ]; then
  [ -z "$job_nodes" ] || SLURM_NNODES=$job_nodes
  [ -z "$job_ntasks" ] || SLURM_NTASKS=$job_ntasks SLURM_NPROCS=$job_ntasks
fi
[ -z "$step_name" ] || export SLURM_JOB_NAME="$step_name"
[ -z "$export_given" ] || given_variables set_variable
[ -z "$kept" ] || export SRUN_KEPT="$kept" # for task.sh
if [ -n "$chdir" ]; then
  cd "$chdir" 2>/dev/null || {
    echo "slurmstepd: error: couldn't chdir to \`$chdir': No such file or directory: going to /tmp instead" >&2
    cd /tmp || exit 1
  }
fi
[ "$out" != none ] || out=/dev/null
[ "$err" != none ] || err=/dev/null
case $input in
  '' | all) input=all ;;
  none) exec </dev/null ;;
  *[!0-9]*) exec <"$input" && input=all || exit 1 ;;
esac
case $(readlink "/proc/$$/fd/0") in
  '' | /dev/null) input=none ;; # no input, so nothing to lead to the tasks
esac
. "$root/runner/srun_start.sh"
