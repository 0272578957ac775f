# shellcheck shell=sh
# shellcheck disable=SC2154 # variables of common.sh
# The processes of the job in this pod. A pod's process ids are its own: all that runs in it is the job's, however it left
# the script's session, except what is in the runner's own session, and sshd, whose processes for each connection have sessions
# of their own. Where ids are shared with others (an engine without namespaces, a test) the job's processes are those of the
# script's session. What comes into the pod from outside (kubectl exec) is not the job's: its first process has no parent here. But
# steps that come in by enter.sh are.

# know_own_session: writes the runner's session for the programs that sshd starts; empty where process ids are shared.
know_own_session() {
  session=
  [ -n "$HPCBATCH_ROOT" ] || [ "${HPCBATCH_TERMINAL_PARENT:-$PPID}" -gt 1 ] || session_of $$
  own_session=$session
  echo "$own_session" >"$run/own_session"
  [ -z "$HPCBATCH_TERMINAL" ] || echo "$HPCBATCH_TERMINAL" >"$run/terminal" # no part of the job, but leads its session
}

# session_of PID: sets $session
session_of() {
  session=
  { read -r line <"/proc/$1/stat"; } 2>/dev/null || return 0
  # pid (command) state parent group session: the command may hold anything
  # shellcheck disable=SC2086
  set -- ${line##*) }
  session=$4
}

# look: one walk through /proc, since not every image has ps. Sets
#   $leader      the script's process id, which leads its session; empty before it has started
#   $in_session  those in its session             $of_job  all of the job in this pod
#   $ticks       hundredths of a second of CPU that everything in this pod has used, with what has ended and was waited for;
#            where ids are shared, what the script's session has used
#   $pages       memory pages that the job's hold now
#   $count       how many processes were looked at
#   $kin         `PID<PARENT` of the job's; $launchers, $clients: those named as MPI's launchers and daemons, and `ssh`
#   $table   `PID PARENT SESSION TICKS PAGES VIRTUAL READ WRITTEN` lines of the job's, the last three in bytes, while tasks of steps run
#            here ($with_table, step_usage.sh)
#   $wrf_pids    those of the job that are wrf.exe; $real_pids: real.exe
look() {
  leader='' own_session='' terminal='' outsiders=' '
  [ ! -e "$run/terminal" ] || read -r terminal <"$run/terminal"
  { read -r leader <"$run/session"; } 2>/dev/null
  { read -r own_session <"$run/own_session"; } 2>/dev/null
  set -- "$run"/tasks.*.* "$run"/ranks.*.*
  with_table=
  if [ -e "$1" ] || { [ $# -gt 1 ] && [ -e "$2" ]; }; then with_table=yes; fi
  walk
  [ "$outsiders" = ' ' ] || walk # now that their sessions are known
}

walk() {
  in_session='' of_job='' ticks=0 pages=0 count=0 kin='' launchers='' clients='' wrf_pids='' real_pids='' table=''
  for file in /proc/[0-9]*/stat; do
    { read -r line <"$file"; } 2>/dev/null || continue
    # shellcheck disable=SC2086
    set -- "${line%% *}" ${line##*) }
    count=$((count + 1))
    [ -z "$own_session" ] || ticks=$((ticks + ${13} + ${14} + ${15} + ${16}))
    [ "$2" != Z ] || continue
    [ "$1" != "$terminal" ] || continue
    if [ "$5" = "$leader" ] || [ "$1" = "$leader" ] || [ "$5" = "$terminal" ]; then
      in_session="$in_session $1"
      [ -n "$own_session" ] || ticks=$((ticks + ${13} + ${14} + ${15} + ${16}))
    elif [ -z "$own_session" ] || [ "$5" = "$own_session" ] || [ "$5" = 0 ] || [ "$5" = "${my_session:-}" ]; then
      continue
    else
      [ "$3" != 0 ] || [ "$1" = 1 ] || [ -e "$run/entered/$1" ] || outsiders="$outsiders$5 "
      case "$outsiders/$line" in
        *" $5 "*/* | *' (sshd'*) continue ;;
      esac
    fi
    of_job="$of_job $1"
    pages=$((pages + ${23}))
    kin="$kin $1<$3"
    if [ -n "$with_table" ]; then
      in_bytes=0 out_bytes=0
      { read -r _ in_bytes && read -r _ out_bytes; } 2>/dev/null <"/proc/$1/io"
      table="$table$1 $3 $5 $((${13} + ${14} + ${15} + ${16})) ${23} ${22} ${in_bytes:-0} ${out_bytes:-0}
"
    fi
    case $line in
      *' (mpirun'* | *' (mpiexec'* | *' (orte'* | *' (prte'* | *' (hydra_'*) launchers="$launchers $1" ;;
      *' (ssh) '*) clients="$clients $1" ;;
      *' (wrf.exe) '*) wrf_pids="$wrf_pids $1" ;;
      *' (real.exe) '*) real_pids="$real_pids $1" ;;
    esac
  done
}

# part_of PID: sets $part to what a process that `look` saw is of a launch: `task` (of srun, or a rank of an MPI launcher), `launch`
# (srun itself, mpirun, ssh and the like) or nothing. Each one's environment shows it, which stays with what a task starts, also
# when that leaves its session. $part_step is srun's number of it, if it has one.
part_of() {
  part=launch part_step=
  case " $launchers $clients " in *" $1 "*) return ;; esac
  marks=$( (tr '\000' '\012' <"/proc/$1/environ" | grep -E '^(SLURM_HPCBATCH_STEP|OMPI_COMM_WORLD_RANK|PMI_RANK)=') 2>/dev/null | tr '\012' ' ')
  case " $marks" in
    *" SLURM_HPCBATCH_STEP=$job_id."*)
      part_step=${marks##*"SLURM_HPCBATCH_STEP=$job_id."}
      part_step=${part_step%% *}
      ;;
  esac
  case " $marks" in
    *" SLURM_HPCBATCH_STEP=$job_id."*' task '*) part=task ;;
    *" SLURM_HPCBATCH_STEP=$job_id."*) ;;
    *_RANK=*) part=task ;;
    *) tr '\000' '\012' 2>/dev/null <"/proc/$1/cmdline" | grep -qxF "$bin/srun" || part= ;;
  esac
}

# signal_here NUMBER SCOPE: SCOPE is script (its shell alone), session, steps (the tasks of steps and the ranks of MPI), step.N (the
# tasks of that one), full (the script, all that it has started, and these, but not what launches them: that takes signals for orders to itself) or all.
signal_here() {
  number=$1 scope=$2
  look
  case $scope in
    script) targets=$leader ;;
    session) targets=$in_session ;;
    steps | step.* | full)
      targets=
      for target in $of_job; do
        part_of "$target"
        case $scope:$part in
          steps:task) [ "$target" = "$leader" ] || targets="$targets $target" ;;
          step.*:task) [ "$scope" != "step.$part_step" ] || targets="$targets $target" ;;
          full:task | full:) targets="$targets $target" ;;
        esac
      done
      ;;
    *) targets=$of_job ;;
  esac
  for target in $targets; do
    kill "-$number" "$target" 2>/dev/null || :
  done
}

# kill_all: until nothing is left, also of what forks faster than one walk sees.
kill_all() {
  walks=0
  while signal_here 9 all && [ -n "$of_job" ] && [ $walks -lt 20 ]; do
    walks=$((walks + 1))
  done
}

# stop_all, continue_all: suspend what the job runs in this pod, and let it go on.
stop_all() {
  signal_here 19 all
  signal_here 19 all # what was forked meanwhile
}

continue_all() { signal_here 18 all; }
