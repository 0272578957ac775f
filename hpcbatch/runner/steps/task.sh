#!/bin/sh
# The tasks of a step on one host.
# `task.sh ROOT mpi LABEL OUT ERR PROGRAM...` becomes one task that an MPI launcher has started.
# `task.sh ROOT world LABEL OUT ERR STATE INPUT KILL PROGRAM...` starts one and ends with 0 for the launcher: `failed` tells srun of
# its exit code. KILL=1: it ends with that.
# `task.sh ROOT direct LABEL OUT ERR STEP NODE TASKS MULTI-PROG KILL INPUT PROGRAM...` starts TASKS (their numbers, with commas) and ends
# with the highest of their exit codes, KILL=1: as soon as one is not 0.
# `task.sh ROOT feed STEP INPUT TASKS` leads what it reads to those that `world` has started.
# `task.sh ROOT failed STATE TASK CODE`, on srun's host, writes that down.
# `task.sh ROOT gone STATE TASK`, there, that it has ended, for --wait.
# `task.sh ROOT signal STEP SIGNAL` sends a step's tasks on this host a signal.
# LABEL is the number of tasks if each line is to have its task's number in front. INPUT is all, none, or the task that reads srun's
# input. LABEL, OUT and ERR are - for none: a launcher may lose empty arguments.

# shellcheck disable=SC2154 # variables of conf/job.sh and common.sh

root=$1 mode=$2
shift 2
. "$root/runner/common.sh"
. "$root/job/conf/job.sh"
. "$root/runner/step.sh"
{ read -r own_session <"$run/own_session"; } 2>/dev/null || own_session=

# signal_tasks STEP SIGNAL: to those that have started; the others do not start any more
signal_tasks() {
  : >"$run/ended.$1"
  for file in "$run/tasks.$1".*; do
    { read -r task_pid <"$file"; } 2>/dev/null || continue
    kill -s "$2" -- "-$task_pid" 2>/dev/null || kill -s "$2" "$task_pid" 2>/dev/null
  done
}

# end_tasks_here: TERM, and KILL to what is left of them after the delay
end_tasks_here() {
  signal_tasks "$step" TERM
  (
    until=$(($(date +%s) + kill_delay_s))
    while set -- "$run/tasks.$step".* && [ -e "$1" ]; do
      [ "$(date +%s)" -lt "$until" ] || { signal_tasks "$step" KILL && break; }
      nap 0.2
    done
  ) </dev/null >/dev/null 2>&1 3<&- 5>&- 6>&- &
}

# find_readers STEP INPUT TASKS: sets $readers to those of the tasks that read srun's input, each through a pipe of its own
find_readers() {
  readers=
  for task in $(printf %s "$3" | tr , ' '); do
    case $2 in "$task" | all) readers="$readers $task" ;; esac
  done
}
make_pipes() { for task in $readers; do mkfifo -m 600 "$run/in.$1.$task" || exit 1; done; }
# fill_pipes STEP: becomes what fills them
fill_pipes() {
  for task in $readers; do
    set -- "$@" "$run/in.$1.$task"
  done
  shift
  copy_input "$@"
}
# open_pipe STEP TASK: as this shell's input
open_pipe() {
  tries=0
  until [ -p "$run/in.$1.$2" ]; do
    [ $tries -lt 600 ] || exit 1
    tries=$((tries + 1))
    nap
  done
  exec <"$run/in.$1.$2"
  rm -f "$run/in.$1.$2"
}

case $mode in
  signal)
    signal_tasks "$@"
    exit 0
    ;;
  failed)
    echo "$3" >"$1/code.$2"
    exit
    ;;
  gone)
    : >"$1/gone.$2"
    exit
    ;;
  feed)
    step=$1
    find_readers "$@"
    [ -n "$readers" ] || exit 0
    echo $$ >"$run/tasks.$step.feed"
    make_pipes "$step"
    fill_pipes "$step"
    ;;
esac

. "$root/runner/step_files.sh"
. "$root/runner/devices.sh"
kept=$SRUN_KEPT open_mode=$SRUN_OPEN_MODE input_pattern=$SRUN_INPUT wait_dir=$SRUN_WAIT pty=$SRUN_PTY
task_prolog=$SRUN_TASK_PROLOG task_epilog=$SRUN_TASK_EPILOG session=
unset SRUN_KEPT SRUN_OPEN_MODE SRUN_INPUT SRUN_WAIT SRUN_PTY SRUN_TASK_PROLOG SRUN_TASK_EPILOG
if [ -n "$task_prolog$task_epilog" ]; then
  . "$root/runner/await.sh"
  . "$root/runner/task_around.sh"
else
  after_task() { :; }
fi
label=${1#-} out=${2#-} err=${3#-}
shift 3

# labelled TASK: copies its input with the number in front
labelled() {
  last=$((label - 1))
  prefix=$(printf "%${#last}d: " "$1")
  sed -u "s/^/$prefix/" 2>/dev/null || sed "s/^/$prefix/"
}

# run_labelled TASK ...: what run_task does of that, with the number in front of each line
run_labelled() {
  codes=$run/code.$step.$1
  { { { (run_task "$@") 2>&4; echo $? >"$codes"; } 4>&1 >&3 | labelled "$1" >&2; } 3>&1 | labelled "$1"; }
  { read -r code <"$codes"; } 2>/dev/null || code=143
  rm -f "$codes"
  return "$code"
}

# tasks_here: how many tasks of the step are on this host: of `2(x3),1`, for SLURM_NODEID
tasks_here() {
  printf '%s\n' "$SLURM_STEP_TASKS_PER_NODE" | tr , '\n' | sed 's/(x/ /; s/)//' |
    awk -v node="$SLURM_NODEID" '{ last += $2 == "" ? 1 : $2; if (node < last) { print $1; exit } }'
}

# mark_task: for signals (processes.sh)
mark_task() {
  SLURM_HPCBATCH_STEP="$job_id.$SLURM_STEP_ID task $SLURM_PROCID"
  export SLURM_HPCBATCH_STEP
}

# check_program PROGRAM: ends this shell with errno, as slurmstepd does, where it cannot be run.
check_program() {
  why=
  case $1 in
    */*)
      [ -e "$1" ] || why='No such file or directory' errno=2
      [ -n "$why" ] || is_program "$1" || why='Permission denied' errno=13
      ;;
    *) command -v "$1" >/dev/null 2>&1 || why='No such file or directory' errno=2 ;;
  esac
  if [ -n "$why" ]; then
    echo "slurmstepd-$host: error: execve(): $1: $why" >&2
    exit "$errno"
  fi
}

# keep_spent: the CPU time of the tasks that have ended, for step_usage.sh
keep_spent() {
  times >"$run/times.$$"
  child_ticks "$run/times.$$"
  rm -f "$run/times.$$"
  echo "$spent_ticks" >"$run/spending.$step.$$" && mv "$run/spending.$step.$$" "$run/spent.$step.$$"
}

# tell_of_end TASK: to srun
tell_of_end() {
  [ -z "$wait_dir" ] || start_on "$SLURM_LAUNCH_NODE_IPADDR" "$sh" "$root/runner/task.sh" "$root" gone "$wait_dir" "$1" </dev/null 2>/dev/null
}

# tell TASK CODE: as srun does, on fd 5
tell() {
  case $2 in
    0) return ;;
    129) what='Hangup' ;;
    130) what='Interrupt' ;;
    131) what='Quit' ;;
    132) what='Illegal instruction' ;;
    134) what='Aborted' ;;
    135) what='Bus error' ;;
    136) what='Floating point exception' ;;
    137) what='Killed' ;;
    138) what='User defined signal 1' ;;
    139) what='Segmentation fault' ;;
    140) what='User defined signal 2' ;;
    142) what='Alarm clock' ;;
    143) what='Terminated' ;;
    *) what="Exited with exit code $2" ;;
  esac
  echo "srun: error: $host: task $1: $what" >&5
}

if [ "$mode" = mpi ] || [ "$mode" = world ]; then
  case $PMI_FD in
    # MPICH's connection to its launcher: this shell uses these itself
    [3-8]) exec 9<&"$PMI_FD" && PMI_FD=9 ;;
  esac
  task=${OMPI_COMM_WORLD_RANK:-${PMIX_RANK:-${PMI_RANK:-0}}}
  nth=${OMPI_COMM_WORLD_LOCAL_RANK:-${MPI_LOCALRANKID:-0}}
  SLURM_PROCID=$task SLURM_LOCALID=$nth SLURM_TASK_PID=$$
  SLURM_NODEID=$(printf '%s' "$SLURM_STEP_NODELIST" | tr , '\n' | grep -n -x "$host" | cut -d : -f 1)
  SLURM_NODEID=$((${SLURM_NODEID:-1} - 1))
  export SLURM_PROCID SLURM_LOCALID SLURM_TASK_PID SLURM_NODEID
  step=$SLURM_STEP_ID
  run_task() {
    shift
    mark_task
    [ -z "$task_prolog" ] || task_prolog_says
    check_program "$1"
    own_devices "$nth"
    [ -z "$kept" ] || set -- "$sh" "$root/runner/kept.sh" "$kept$visible," "$@"
    [ -z "$SRUN_BIND" ] || set -- "$sh" "$root/runner/bind.sh" "$root" "$nth" "$(tasks_here)" "$@"
    [ "$mode" != mpi ] || echo "$SLURM_TASK_PID" >"$run/ranks.$step.$task" # for step_usage.sh
    exec "$@"
  }
fi
[ "$mode" = direct ] || [ "${nth:-0}" != 0 ] || begin_files node "$task" "$SLURM_NODEID"
if [ "$mode" = mpi ]; then
  [ -z "$input_pattern" ] || own_input "$task" "$SLURM_NODEID"
  redirect "$task" "$SLURM_NODEID"
  [ -n "$label$task_epilog" ] || run_task "$task" "$@"
  if [ -z "$task_epilog" ]; then
    run_labelled "$task" "$@"
    exit
  fi
  exec 5>&2
  trap : TERM INT HUP QUIT USR1 USR2 ALRM # what the launcher passes on is for the task
  if [ -n "$label" ]; then run_labelled "$task" "$@"; else (run_task "$task" "$@") 5>&-; fi
  code=$?
  (after_task "$task" "$nth")
  exit "$code"
fi
if [ "$mode" = world ]; then
  state=$1 input=$2 kill_on_bad_exit=$3
  shift 3
  trap : TERM INT HUP QUIT USR1 USR2 ALRM # what the launcher passes on is for the task, whose end is reported here
  find_readers "$step" "$input" "$task"
  if [ -n "$readers" ]; then open_pipe "$step" "$task"; else own_input "$task" "$SLURM_NODEID"; fi
  exec 5>&2
  echo $$ >"$run/ranks.$step.$task" # for step_usage.sh
  redirect "$task" "$SLURM_NODEID"
  exec 6>&2 2>/dev/null # a shell reports killed children in its own form
  if [ -n "$label" ]; then
    run_labelled "$task" "$@" 2>&6
  else
    (run_task "$task" "$@") 2>&6 5>&- 6>&-
  fi
  code=$?
  (after_task "$task" "$nth")
  keep_spent
  rm -f "$run/ranks.$step.$task"
  tell_of_end "$task"
  [ $code -ne 0 ] || exit 0
  tell "$task" "$code"
  [ "$kill_on_bad_exit" = 0 ] &&
    start_on "$SLURM_LAUNCH_NODE_IPADDR" "$sh" "$root/runner/task.sh" "$root" failed "$state" "$task" "$code" </dev/null 2>&6 && exit 0
  exit "$code" # also where srun could not be reached
fi

step=$1 node=$2 tasks=$3 multi_prog=$4 kill_on_bad_exit=$5 input=$6
shift 6
if [ -n "$own_session" ] && [ -z "$pty" ] && setsid true 2>/dev/null; then
  session=setsid
fi

run_task() { # TASK LOCAL PROGRAM...
  SLURM_PROCID=$1 SLURM_LOCALID=$2 SLURM_NODEID=$node SLURM_GTIDS=$tasks
  export SLURM_PROCID SLURM_LOCALID SLURM_NODEID SLURM_GTIDS
  shift 2
  redirect "$SLURM_PROCID" "$node"
  mark_task
  [ -z "$task_prolog" ] || task_prolog_says
  check_program "$1"
  own_devices "$SLURM_LOCALID"
  [ -z "$kept" ] || set -- "$sh" "$root/runner/kept.sh" "$kept$visible," "$@"
  [ -z "$SRUN_BIND" ] || set -- "$sh" "$root/runner/bind.sh" "$root" "$SLURM_LOCALID" "$(tasks_here)" "$@"
  # shellcheck disable=SC2086,SC2016
  exec $defaults $session "$sh" -c 'echo $$ >"$1"; [ ! -e "$2" ] || exit 143; shift 2; SLURM_TASK_PID=$$; export SLURM_TASK_PID; exec "$@"' \
    sh "$run/tasks.$step.$SLURM_PROCID" "$run/ended.$step" "$@"
}

exec 3<&0 5>&2
trap : TERM INT HUP # srun says what is to be done
default_signals
feeder=
find_readers "$step" "$input" "$tasks"
case $readers in
  *' '*' '*)
    make_pipes "$step"
    (exec <&3 && fill_pipes "$step") &
    feeder=$!
    ;;
esac
begin_files node '' "$node"
# one_task TASK LOCAL PROGRAM...: of a shell of its own
one_task() {
  task=$1 nth=$2
  shift 2
  if [ -p "$run/in.$step.$task" ]; then
    open_pipe "$step" "$task"
  elif [ "$readers" = " $task" ]; then
    exec <&3
  else
    own_input "$task" "$node"
  fi
  exec 3<&-
  if [ "$multi_prog" = yes ]; then
    . "$root/runner/multi_prog.sh"
    line=$(of_multi_prog "$1" "$task") || { echo "srun: error: no line of $1 is for task $task" >&2; exit 1; }
    set -f
    IFS='
'
    # xargs knows quotes, and nothing else of a shell
    # shellcheck disable=SC2046
    set -- $(printf '%s\n' "$line" | xargs printf '%s\n')
    unset IFS
  fi
  exec 6>&2 2>/dev/null # a shell reports killed children in its own form
  if [ -n "$label" ]; then
    run_labelled "$task" "$nth" "$@" 2>&6
  else
    (run_task "$task" "$nth" "$@") 2>&6 6>&-
  fi
  code=$?
  (after_task "$task" "$nth")
  echo "$code" >"$run/done.$step.$task"
  rm -f "$run/tasks.$step.$task"
  tell "$task" "$code"
  tell_of_end "$task"
  [ "$code" = 0 ] || [ "$kill_on_bad_exit" = 0 ] || end_tasks_here
  exit "$code"
}
children='' nth=0 front=
for task in $(printf %s "$tasks" | tr , ' '); do
  if [ "$pty:$task" = yes:0 ]; then
    front=$nth
  else
    (one_task "$task" "$nth" "$@") &
    children="$children $!"
  fi
  nth=$((nth + 1))
done
# on the terminal, so not in the background, where shells ignore INT
[ -z "$front" ] || (trap : INT QUIT TERM HUP && one_task 0 "$front" "$@")
exec 3<&- 2>/dev/null
highest=0
for child in $children; do
  while kill -0 "$child" 2>/dev/null; do
    wait "$child"
  done
done
for task in $(printf %s "$tasks" | tr , ' '); do
  { read -r code <"$run/done.$step.$task"; } 2>/dev/null || code=143 # with all its group
  [ "$code" -le "$highest" ] || highest=$code
  rm -f "$run/done.$step.$task"
done
keep_spent
[ -z "$feeder" ] || kill "$feeder" 2>/dev/null
exit "$highest"
