# shellcheck shell=sh
# shellcheck disable=SC2154 # variables of conf/job.sh, common.sh and task.sh
# `srun --task-prolog` and `--task-epilog`: a program before and after each task, in its environment. Sourced by task.sh.

# task_prolog_says: of the task's shell: the prolog's lines `export NAME=value`, `unset NAME` and `print TEXT` are for the task. One that
# fails ends the task with its exit code.
task_prolog_says() {
  SLURM_SCRIPT_CONTEXT=prolog_task
  export SLURM_SCRIPT_CONTEXT
  [ -n "$SLURM_TASK_PID" ] || SLURM_TASK_PID=$(exec "$sh" -c 'echo $PPID') && export SLURM_TASK_PID
  status=1
  if [ -x "$task_prolog" ] && [ ! -d "$task_prolog" ]; then
    set -- "$task_prolog"
    [ -z "$kept" ] || set -- "$sh" "$root/runner/kept.sh" "$kept" "$@"
    said=$("$@" 2>&1 </dev/null) && status=0 || status=$?
    while IFS= read -r line; do
      words=${line#* }
      words=${words#"${words%%[! ]*}"}
      name=${words%%=*}
      name=${name%"${name##*[! ]}"}
      case $line in
        'print '*) printf '%s\n' "$words" ;;
        'export '*=*)
          is_name "$name" || continue
          export "$name=${words#*=}"
          [ -z "$kept" ] || kept=$kept$name,
          ;;
        'unset '*) ! is_name "$name" || unset "$name" ;;
      esac
    done <<SAID
$said
SAID
  else
    echo "slurmstepd-$host: error: run_command: user task_prolog can not be executed ($task_prolog)" >&2
  fi
  [ $status = 0 ] || {
    echo "slurmstepd-$host: error: --task-prolog failed status=$status" >&2
    exit $status
  }
}
is_name() { case $1 in '' | [!A-Za-z_]* | *[!A-Za-z0-9_]*) return 1 ;; esac; }

# after_task TASK LOCAL: the epilog, which has five seconds, as in Slurm
after_task() {
  [ -n "$task_epilog" ] || return 0
  if [ ! -x "$task_epilog" ] || [ -d "$task_epilog" ]; then
    echo "slurmstepd-$host: error: Could not run user task_epilog [$task_epilog]: access denied" >&5
    echo "slurmstepd-$host: error: TaskEpilog failed status=-1" >&5
    return 0
  fi
  (
    SLURM_SCRIPT_CONTEXT=epilog_task SLURM_PROCID=$1 SLURM_LOCALID=$2 SLURM_NODEID=${node:-$SLURM_NODEID}
    export SLURM_SCRIPT_CONTEXT SLURM_PROCID SLURM_LOCALID SLURM_NODEID
    mark_task
    # shellcheck disable=SC2086
    exec $session "$task_epilog"
  ) </dev/null >/dev/null 2>&1 3<&- 5>&- 6>&- &
  epilog=$!
  tries=0
  while kill -0 "$epilog" 2>/dev/null; do
    [ $tries -lt 50 ] || { kill -s KILL -- "-$epilog" || kill -s KILL "$epilog"; } 2>/dev/null
    tries=$((tries + 1))
    nap
  done
  await_child "$epilog"
  [ "$code" = 0 ] || echo "slurmstepd-$host: error: TaskEpilog failed status=$code" >&5
}
