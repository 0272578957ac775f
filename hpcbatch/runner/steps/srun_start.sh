# shellcheck shell=sh
# shellcheck disable=SC2034,SC2154 # variables of conf/job.sh, common.sh, step.sh and srun.sh
# The end of srun: it starts the tasks, in one of three ways.
#   mpi     A program that is linked to an MPI library: the image's own mpirun starts it, and its word is the step's.
#   world   A program from which MPI may come although it is not linked to it (a script, a shell, python, env …). Only mpirun can make
#           its tasks one MPI world, so it starts them too; but for each it starts task.sh, which says 0 however its task ends, so that
#           the others go on, and sends this host the real exit code.
#   direct  What can have nothing to do with MPI, --mpi=none, --multi-prog, and any program where there is no mpirun: by ssh.

. "$root/runner/await.sh"
[ -z "$label" ] || label=$ntasks
start="$root/runner/task.sh"
state=$(mktemp -d "$run/step.XXXXXX") || die "cannot write to $run"

[ "$distribution" = plane ] || plane=1
if [ "$distribution" = plane ]; then export SLURM_DIST_PLANESIZE="$plane"; else unset SLURM_DIST_PLANESIZE; fi
mpi_family
way=direct
if [ "$mpi" != none ] && [ -z "$multi_prog$pty" ]; then
  if [ -n "$family" ]; then
    way=$(mpi_of "$1")
  else
    tell_of_single_ranks "$1" "$ntasks" "there is no mpirun on PATH"
  fi
fi
. "$root/runner/srun_record.sh"
step_begins "$@"

# around CONTEXT PROGRAM WORD...: --prolog and --epilog, here, with the step's command line
around() {
  [ -n "$2" ] || return 0
  if [ ! -x "$2" ] || [ ! -r "$2" ]; then
    why='Permission denied'
    [ -e "$2" ] || why='No such file or directory'
    echo "srun: Access denied for $2: $why" >&2
    return 0
  fi
  (
    export SLURM_SCRIPT_CONTEXT="$1"
    shift
    exec "$@"
  ) </dev/null
}
# abort_step: it has not begun
abort_step() {
  rm -rf "$state" "$steps/$step_id.step" "$steps/$step_id.gpus" "$steps/$step_id.limit"
  step_ends 1
  exit 1
}
if [ -n "$bcast" ] && [ -z "$multi_prog" ]; then
  . "$root/runner/srun_bcast.sh"
  broadcast "$1" || abort_step
  shift
  set -- "$copied" "$@"
fi
around prolog_srun "$prolog" "$@" || {
  echo "srun: error: srun prolog failed rc = $?. Aborting step." >&2
  abort_step
}

# $numbers: `host:task` words
numbers=
case $distribution in
  arbitrary)
    task=0
    for name in $by_task; do
      numbers="$numbers $name:$task"
      task=$((task + 1))
    done
    ;;
  cyclic | plane)
    task=0 round=0
    while [ $task -lt "$ntasks" ]; do
      for word in $layout; do
        here=$((round * plane))
        while [ $here -lt $(((round + 1) * plane)) ] && [ $here -lt "${word#*:}" ]; do
          numbers="$numbers ${word%:*}:$task"
          task=$((task + 1)) here=$((here + 1))
        done
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

# tasks_of HOST: sets $tasks, with commas
tasks_of() {
  tasks=
  for entry in $numbers; do
    [ "${entry%:*}" != "$1" ] || tasks="$tasks${tasks:+,}${entry#*:}"
  done
}

# signal_step SIGNAL: to the tasks on all hosts
signal_step() {
  senders=
  for word in $layout; do
    start_on "${word%:*}" "$sh" "$start" "$root" signal "$step_id" "$1" </dev/null &
    senders="$senders $!"
  done
  # shellcheck disable=SC2086
  wait $senders # not for all: one that ends the tasks may wait for the end of this
}

# end_tasks SIGNAL
end_tasks() {
  if [ "$way" = direct ]; then
    signal_step "$1"
  else
    kill -s "$1" "$launcher"
  fi
}

# tell_of_stop: by whom? scancel, the step's time limit (step_limits.sh)?
tell_of_stop() {
  if { read -r by <"$steps/$step_id.cancelled"; } 2>/dev/null; then
    due=
    [ "$by" != timeout ] || due=' DUE TO TIME LIMIT'
    echo "slurmstepd-$host: error: *** STEP $job_id.$step_id ON $host CANCELLED AT $(date +%Y-%m-%dT%H:%M:%S)$due ***"
    echo "srun: Job step aborted: Waiting up to $((kill_delay_s + 2)) seconds for job step to finish."
  else
    echo "srun: error: StepId=$job_id.$step_id: Terminating"
  fi >&2
}

# stop SIGNAL: the first one counts; KILL follows. Where the runner ends the whole job, it sees to all hosts itself.
stop() {
  [ ! -e "$run/ending" ] && mkdir "$state/stopped" 2>/dev/null || return 0
  (
    trap '' INT TERM HUP # which may have come to all that srun has started
    end_tasks "$1"
    until=$(($(date +%s) + kill_delay_s))
    while [ -d "$state" ] && [ "$(date +%s)" -lt "$until" ]; do nap; done
    [ ! -d "$state" ] || end_tasks KILL
  ) >/dev/null 2>&1 &
}

# names TASK...: sets $named to `task 1`, `tasks 0-2,5`
names() {
  named=$(printf '%s\n' "$@" | sort -n | awk '
    NR > 1 && $1 == last + 1 { last = $1; next }
    NR > 1 { text = text (first == last ? first : first "-" last) "," }
    { first = last = $1 }
    END { print text (first == last ? first : first "-" last) }')
  if [ $# = 1 ]; then named="task $named"; else named="tasks $named"; fi
}

if [ -n "$verbose" ]; then
  for word in $layout; do
    tasks_of "${word%:*}"
    # shellcheck disable=SC2046
    names $(printf %s "$tasks" | tr , ' ')
    case $named in
      'tasks '*) named="[${named#tasks }]" ;;
      *) named=${named#task } ;;
    esac
    echo "srun: launching StepId=$job_id.$step_id on host ${word%:*}, ${word#*:} tasks: $named" >&2
  done
fi

# end_with_first: --wait: when a task has ended, the others may go on for so long
end_with_first() {
  trap '' INT TERM HUP
  until set -- "$state"/gone.* && [ -e "$1" ]; do
    [ -d "$state" ] || return 0
    nap 0.2
  done
  until=$(($(date +%s) + wait_s))
  while [ -d "$state" ] && [ "$(date +%s)" -lt "$until" ]; do nap 0.2; done
  gone='' left='' task=0
  while [ $task -lt "$ntasks" ]; do
    if [ -e "$state/gone.$task" ]; then gone="$gone $task"; else left="$left $task"; fi
    task=$((task + 1))
  done
  [ -d "$state" ] && [ -n "$left" ] || return 0
  {
    echo "srun: First task exited ${wait_s}s ago"
    # shellcheck disable=SC2086
    names $left && echo "srun: StepId=$job_id.$step_id $named: running"
    # shellcheck disable=SC2086
    names $gone && echo "srun: StepId=$job_id.$step_id $named: exited"
    echo "srun: launch/slurm: _step_signal: Terminating StepId=$job_id.$step_id"
  } >&2
  if [ "$way" = direct ]; then stop KILL; else stop TERM; fi
}

trap 'echo "srun: error: StepId=$job_id.$step_id: Terminating" >&2; stop INT' INT
trap 'tell_of_stop; stop TERM' TERM HUP
# Others are for the tasks. Those that come from outside the job are sent to these alone (processes.sh).
for signal in USR1 USR2 ALRM; do
  # shellcheck disable=SC2064
  trap "end_tasks $signal >/dev/null 2>&1 &" $signal
done

# lead_input: what srun is given goes to several hosts: each reads a pipe of its own. Sets $feeder.
feeder=
exec 3<&0
lead_input() {
  [ "$input" = all ] && [ "$step_nodes" -gt 1 ] && [ "$way" != mpi ] || return 0
  nth=0
  pipes=
  while [ $nth -lt "$step_nodes" ]; do
    mkfifo -m 600 "$state/in.$nth" || exit 1
    pipes="$pipes $nth"
    nth=$((nth + 1))
  done
  (
    exec <&3
    set --
    for nth in $pipes; do set -- "$@" "$state/in.$nth"; done
    copy_input "$@"
  ) &
  feeder=$!
}

# read_input NODE: of this shell: from srun's input, as far as a task of that host reads it
read_input() {
  if [ -p "$state/in.$1" ]; then
    exec <"$state/in.$1"
  elif [ "$input" = all ]; then
    exec <&3
  else
    case ,$tasks, in
      *,"$input",*) exec <&3 ;;
      *) exec </dev/null ;;
    esac
  fi
  exec 3<&-
}
lead_input
[ "$wait_s" = 0 ] || export SRUN_WAIT="$state" # for task.sh
children='' node=0 highest=0 launcher=
if [ "$way" != direct ]; then
  tell_of_library "$1"
  (
    case $way:$input in
      mpi:all | mpi:0) exec <&3 3<&- ;;
      *) exec 3<&- </dev/null ;;
    esac
    default_signals
    # Open MPI would take the hosts of the first component, which $SLURM_JOB_NODELIST has, for the whole allocation
    [ -z "$SLURM_HET_SIZE" ] || export OMPI_MCA_ras='^slurm' PRTE_MCA_ras='^slurm'
    [ "$way" = mpi ] || set -- "$state" "$input" "$kill_on_bad_exit" "$@"
    start_with_mpi "$distribution" "$ntasks" "$sh" "$start" "$root" "$way" "${label:--}" "${out:--}" "${err:--}" "$@"
  ) &
  launcher=$!
  children=$launcher
  [ ! -d "$state/stopped" ] || kill "$launcher"
fi
if [ "$wait_s" -gt 0 ]; then
  end_with_first 3<&- &
fi

# tasks_on PROGRAM...: `direct` on host $name, the step's $node, in a shell of its own
tasks_on() {
  trap : USR1 USR2 ALRM
  read_input "$node"
  start_on "$name" "$sh" "$start" "$root" direct "${label:--}" "${out:--}" "${err:--}" "$step_id" "$node" "$tasks" \
    "${multi_prog:-no}" "$kill_on_bad_exit" "$input" "$@"
  code=$?
  [ $code -ne 255 ] || echo "srun: error: $name: lost connection to its tasks" >&2
  echo $code >"$state/code.$node"
  if [ $code -ne 0 ] && [ "$kill_on_bad_exit" != 0 ] && [ ! -d "$state/stopped" ]; then
    echo "srun: launch/slurm: _step_signal: Terminating StepId=$job_id.$step_id" >&2
    stop TERM
  fi
}

# on_terminal PROGRAM...: the same of the host of task 0 with --pty: not in the background, where shells ignore INT. What is sent to
# srun meanwhile would wait for the end, so another shell looks whether somebody ends the step.
on_terminal() {
  (
    trap '' INT QUIT TERM HUP
    while [ -d "$state" ] && [ ! -e "$steps/$step_id.cancelled" ]; do nap 1; done
    [ ! -d "$state" ] || { tell_of_stop && stop TERM; }
  ) 3<&- </dev/null >/dev/null &
  trap : INT QUIT
  (trap : INT QUIT && name=$front node=$front_node tasks=$front_tasks is_on_terminal=yes && tasks_on "$@")
}
feeders='' front=
for word in $layout; do
  name=${word%:*}
  [ "$way" != mpi ] || break
  tasks_of "$name"
  if [ "$way" = world ]; then
    [ "$input" != none ] || break
    (
      read_input "$node"
      start_on "$name" "$sh" "$start" "$root" feed "$step_id" "$input" "$tasks"
    ) &
    feeders="$feeders $!"
  else
    case $pty:,$tasks, in
      yes:*,0,*)
        front=$name front_node=$node front_tasks=$tasks
        node=$((node + 1))
        continue
        ;;
    esac
    (tasks_on "$@") &
    children="$children $!"
  fi
  node=$((node + 1))
done
[ -z "$front" ] || on_terminal "$@"
exec 3<&-

for child in $children; do await_child "$child"; done
if [ "$way" != direct ]; then
  highest=$code
  [ -z "$feeders" ] || [ "$code" = 0 ] || signal_step KILL # of what leads the input to tasks that never started
else
  while [ $node -gt 0 ]; do
    node=$((node - 1))
    [ -s "$state/code.$node" ] || echo 143 >"$state/code.$node" # ended by a signal, with all its group
  done
fi
for file in "$state"/code.*; do
  { read -r code <"$file"; } 2>/dev/null || continue
  [ "$code" -le "$highest" ] || highest=$code
done
for process in $feeder $feeders; do
  kill "$process" 2>/dev/null
done
around epilog_srun "$epilog" "$@" || echo "srun: error: srun epilog failed status=$?" >&2
rm -rf "$state" "$steps/$step_id.step" "$steps/$step_id.gpus" "$steps/$step_id.cancelled" "$steps/$step_id.limit"
step_ends "$highest"
exit "$highest"
