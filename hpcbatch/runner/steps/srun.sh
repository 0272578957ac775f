# shellcheck shell=sh
# shellcheck disable=SC2154 # variables of conf/job.sh, common.sh and step.sh
# `srun` in a job: a step of some tasks on some of the job's hosts, which find what Slurm sets for a task (srun_start.sh starts
# them). A step gets CPUs of its own: while others have them, it waits. `srun … : …`, in a heterogeneous job, is one step too: the
# options of the first part say where output goes and the like.

. "$root/runner/srun_where.sh"
steps=$run/steps
mkdir -p "$steps" || die "cannot write to $run"

# The parts, each with the options of its own

parts=1
case " $* " in
  *' : '* | *' --het'* | *' --pack'*)
    split "$@"
    eval "set -- $part_0"
    ;;
esac
typed=$*
case " $typed " in
  *' --job'*)
    words=
    for word in "$@"; do words="$words $(quote "$word")"; done
    . "$root/runner/srun_other.sh"
    ;;
esac
[ "$parts" = 1 ] || read_groups 0-$((parts - 1)) # are there as many?
. "$root/runner/srun_options.sh"
is_het=
case $parts:$groups in
  1:*' '*' '*) is_het=yes ;;
  1:*) may_run_on "${groups# }" ;;
  *) is_het=yes ;;
esac

# Would it fit if nothing else ran?
trial=yes taken_gpus=
plan || {
  asked_gpus=$has_gpus has_gpus=
  [ -z "$asked_gpus" ] || ! plan || too_many_gpus
  die "Unable to create step for job $job_id: More processors requested than permitted"
}
trial=
if [ -n "$multi_prog" ]; then
  . "$root/runner/multi_prog.sh"
  check_multi_prog "$1"
fi

told=
[ -z "$immediate_s" ] || began_s=$(date +%s)
while :; do
  lock
  if plan; then
    step_id=0
    [ "$interactive" != terminal ] || step_id=1 # step 0 is what runs on the terminal
    { read -r step_id <"$steps/next"; } 2>/dev/null
    echo $((step_id + 1)) >"$steps/next"
    beside=
    for word in $layout; do
      case " $used " in *" ${word%:*}:"*) beside=yes ;; esac
    done
    echo "$$$taken" >"$steps/$step_id.step"
    [ -z "$taken_gpus" ] || [ -n "$overlap" ] || echo "$$$taken_gpus" >"$steps/$step_id.gpus"
    unlock
    break
  fi
  unlock
  if [ -n "$immediate_s" ] && { [ "$immediate_s" = 1 ] || [ "$(date +%s)" -ge $((began_s + immediate_s)) ]; }; then
    die "Unable to create step for job $job_id: Requested nodes are busy"
  fi
  [ -n "$told$quiet" ] || echo "srun: Job $job_id step creation temporarily disabled, retrying (Requested nodes are busy)" >&2
  told=yes
  nap 0.5
done
[ -z "$told" ] || [ -n "$quiet" ] || echo "srun: Step created for StepId=$job_id.$step_id" >&2
[ -n "$quiet" ] || printf %s "$notes" >&2
recorded_name=${step_name:-${1##*/}}
if [ "$parts" -gt 1 ]; then
  set_programs
  set -- "$sh" -c "$program"
fi

# The tasks

# fill_in: what the environment has lost of the job's own variables: a program that starts steps (Snakemake) may leave SLURM_JOB_ID
# alone, and mpirun then finds half a job. Not those that ask srun for something.
fill_in() {
  uid=$(id -u)
  set --
  . "$root/runner/mpi_tuning.sh"
  . "$root/job/conf/environment"
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
shown=$distribution
if [ -z "$distribution" ]; then
  distribution=block shown=block
  [ "$ntasks" -gt "$step_nodes" ] || shown=cyclic
fi
SLURM_STEP_ID=$step_id SLURM_STEPID=$step_id SLURM_STEP_NODELIST=$step_hosts SLURM_STEP_NUM_NODES=$step_nodes
SLURM_STEP_NUM_TASKS=$ntasks SLURM_NTASKS=$ntasks SLURM_NPROCS=$ntasks SLURM_STEP_TASKS_PER_NODE=$per_host SLURM_NNODES=$step_nodes
SLURM_DISTRIBUTION=$shown SLURM_LAUNCH_NODE_IPADDR=$host SLURM_UMASK=$(umask)
SLURM_HPCBATCH_STEP="$job_id.$step_id launch" # for signals (processes.sh)
export SLURM_STEP_ID SLURM_STEPID SLURM_STEP_NODELIST SLURM_STEP_NUM_NODES SLURM_STEP_NUM_TASKS SLURM_NTASKS SLURM_NPROCS \
  SLURM_STEP_TASKS_PER_NODE SLURM_NNODES SLURM_DISTRIBUTION SLURM_LAUNCH_NODE_IPADDR SLURM_UMASK SLURM_HPCBATCH_STEP
[ -z "$cpus_given" ] || export SLURM_CPUS_PER_TASK="$cpus_given"
if [ -n "$preserve_env" ]; then
  [ -z "$job_nodes" ] || SLURM_NNODES=$job_nodes
  [ -z "$job_ntasks" ] || SLURM_NTASKS=$job_ntasks SLURM_NPROCS=$job_ntasks
fi
[ -z "$step_name" ] || export SLURM_JOB_NAME="$step_name"
[ -z "$export_given" ] || given_variables set_variable
[ -z "$kept" ] || export SRUN_KEPT="$kept" # for task.sh
[ -z "$gpu_bind$taken_gpus" ] || export SRUN_GPUS="${gpu_bind:-none}$taken_gpus" # for devices.sh
if [ -n "$bind$bind_verbose" ]; then
  SRUN_BIND="kind=$bind list=$bind_list threads=$threads width=${cpus_per_task:-1} per_core=$per_core per_socket=$per_socket"
  SRUN_BIND="$SRUN_BIND order=${order:-cyclic}${bind_verbose:+ verbose}${quiet:+ quiet}${beside:+ beside}"
  export SRUN_BIND # for bind.sh
fi
# path_of PROGRAM: prints where it is, from the working directory on, then on PATH; fails where it is nowhere
path_of() {
  case $1 in
    /*) found=$1 ;;
    */*) found=$PWD/$1 ;;
    *) [ -x "$PWD/$1" ] && [ ! -d "$PWD/$1" ] && found=$PWD/$1 || found=$(command -v "$1") || return 1 ;;
  esac
  [ -x "$found" ] && [ ! -d "$found" ] && printf '%s\n' "$found"
}
if [ -n "$chdir" ]; then
  cd "$chdir" 2>/dev/null || {
    echo "slurmstepd: error: couldn't chdir to \`$chdir': No such file or directory: going to /tmp instead" >&2
    cd /tmp || exit 1
  }
fi
[ "$out" != none ] || out=/dev/null
[ "$err" != none ] || err=/dev/null
. "$root/runner/step_files.sh"
begin_files step '' ''
[ -z "$open_mode" ] || export SRUN_OPEN_MODE="$open_mode" # for task.sh
[ -z "$pty" ] || export SRUN_PTY=yes
[ -z "$task_prolog" ] || export SRUN_TASK_PROLOG="$(path_of "$task_prolog" || echo "$task_prolog")"
[ -z "$task_epilog" ] || export SRUN_TASK_EPILOG="$(path_of "$task_epilog" || echo "$task_epilog")"
case $input in
  '' | all) input=all ;;
  none) exec </dev/null ;;
  *[!0-9]*)
    kind_of "$input"
    if [ "$kind" = step ]; then
      exec <"$(pattern "$input" '' '')" && input=all || exit 1
    else
      export SRUN_INPUT="$input" # for task.sh
      exec </dev/null
    fi
    ;;
esac
case $(readlink "/proc/$$/fd/0") in
  '' | /dev/null) input=none ;; # no input, so nothing to lead to the tasks
esac
. "$root/runner/srun_start.sh"
