#!/bin/sh
# Becomes the script: the leader of the session, in its directory, with its limits and exactly its environment.
# Started by master.sh with the output files as 3 and 4, or with what somebody is attached to (`interactive`) as 0, 3 and 4; by
# terminal.sh where that is a terminal.

root=${HPCBATCH_ROOT:-/hpcbatch}
. "$root/runner/common.sh"
. "$root/runner/become.sh"
. "$root/runner/limits.sh"
. "$root/runner/devices.sh"
. "$root/job/conf/job.sh"
started=$HPCBATCH_STARTED
echo $$ >"$run/session"
exec >&3 2>&4 3>&- 4>&-
umask "$umask"
raise_limits

# refuse CODE MESSAGE: the script cannot be started
refuse() {
  echo "hpcbatch: $2" >&2
  printf '%s' "$2" >"$run/launch_failed"
  exit "$1"
}

stdin=${stdin:-/dev/null}
if [ -z "$interactive" ] && [ ! -r "$stdin" ]; then
  why="No such file or directory"
  [ ! -e "$stdin" ] || why="Permission denied"
  [ -n "$no_input_text" ] || refuse 1 "cannot open standard input $stdin: $why"
  filled "$no_input_text" why "$why" file "$stdin" >&2
  exit 1
fi
if [ -n "$private_dir" ]; then
  rm -rf "$private_dir" # of a run that was killed
  (umask 077 && mkdir -p "$private_dir") || refuse 1 "cannot make directory $private_dir"
  work_dir=$private_dir
fi
# not yet as the input: nothing here is to read it
if [ -n "$interactive" ]; then
  exec 3<&0 </dev/null
else
  exec 3<"$stdin"
fi

if ! cd "$work_dir" 2>/dev/null; then
  why="No such file or directory"
  [ ! -e "$work_dir" ] || why="Permission denied"
  [ ! -e "$work_dir" ] || [ -d "$work_dir" ] || why="Not a directory"
  [ -n "$fallback_dir" ] || refuse 1 "cannot change to directory $work_dir: $why"
  filled "$no_directory_text" why "$why" directory "$work_dir" >&2
  work_dir=$fallback_dir
  cd "$work_dir" || refuse 1 "cannot change to directory $work_dir"
fi

own_uid
set --
. "$run/submitted.sh"
login_shell "$uid" "$@"
[ -z "$interpreter" ] || shell=$interpreter
is_program "$shell" || refuse 127 "cannot run $shell: No such file or directory"

# The later one of two equal names counts.
set --
. "$run/pod.sh"
set -- "$@" "HOME=$home" "USER=$user" "LOGNAME=$user" "SHELL=$shell"
. "$root/runner/mpi_tuning.sh"
. "$run/submitted.sh"
. "$root/job/conf/environment"
devices_here
# shellcheck disable=SC2086
[ -z "$devices$visible" ] || { with_commas $devices && set -- "$@" "$visible=$list"; }
. "$root/runner/mpi.sh"
. "$root/runner/modules.sh"
if [ "$kind" = script ]; then
  chmod 700 "$bin"/* "$run/$script_name"
else
  chmod 700 "$bin"/*
fi
for entry in $start_variables; do
  value=
  case ${entry#*:} in
    nodefile) value=$root/job/conf/nodefile ;;
    gpufile) [ ! -s "$root/job/conf/gpufile" ] || value=$root/job/conf/gpufile ;;
    tmp) value=$tmp ;;
    shell) value=$shell ;;
    pid) value=$$ ;;
    started) value=$started ;;
    walltime_end) [ -z "$walltime_s" ] || value=$((started + walltime_s)) ;;
    restarts)
      restarts=$((restarts + ${HPCBATCH_JOB_VERSION:-0}))
      [ $restarts -eq 0 ] || value=$restarts
      ;;
  esac
  [ -z "$value" ] || set -- "$@" "${entry%%:*}=$value"
done
# Other shells would not understand these commands.
[ "$kind" != shell ] || [ "$interactive" = allocation ] || login=user
case $login:${shell##*/} in
  *:bash | *:dash | *:ash | *:sh | *:ksh | *:ksh93 | *:mksh | user:zsh) ;;
  *) login=no ;;
esac
# What the image has beyond the submitter's directories can be found, but hides nothing of theirs.
# directories NAME VARIABLE=VALUE...: sets $list to the last value of that name, the missing ones of the first behind it.
directories() {
  name=$1 list='' rest=''
  shift
  for entry in "$@"; do
    case $entry in
      "$name"=*)
        list=${entry#*=}
        rest=${rest:-$list:} # the pod's comes first
        ;;
    esac
  done
  while [ -n "$rest" ]; do
    entry=${rest%%:*}
    rest=${rest#*:}
    case :$list: in
      *:"$entry":*) ;;
      *) [ -z "$entry" ] || list=${list:+$list:}$entry ;; # an empty one would mean the working directory
    esac
  done
}
directories LD_LIBRARY_PATH "$@"
[ -z "$list" ] || set -- "$@" "LD_LIBRARY_PATH=$list"
directories PATH "$@"
path=${list:-/usr/local/bin:/usr/bin:/bin}
[ "$login" != no ] || path=$bin:$path
set -- "$@" "PATH=$path" "HOSTNAME=$host" "PWD=$work_dir"

hold "$@"
set --
case $login in
  user) set -- "$@" "$shell" -l "$root/runner/login.sh" "$login" "$bin" "$path" ;;
  system) set -- "$@" "$shell" "$root/runner/login.sh" "$login" "$bin" "$path" ;;
esac
if [ "$kind" = script ]; then
  script=$run/$script_name
  first=
  { read -r first <"$script"; } 2>/dev/null
  case $first in
    '#!'*)
      named=${first#??}
      named=${named#"${named%%[! 	]*}"}
      named=${named%%[ 	]*}
      if [ ! -x "$named" ] || [ -d "$named" ]; then
        refuse "$no_interpreter_code" "cannot run the script: its interpreter $named: No such file or directory"
      fi
      case $interpreter in
        '' | *sh) ;;
        *) set -- "$@" "$interpreter" ;; # no shell that could run the script so: it reads it itself
      esac
      ;;
    *) set -- "$@" "$shell" ;;
  esac
  set -- "$@" "$script"
elif [ "$interactive" = allocation ]; then
  set -- "$@" "$sh" "$root/runner/hold.sh"
elif [ "$kind" = shell ]; then
  set -- "$@" "$shell" # which reads its own files for terminals now
  [ "$login" != no ] || set -- "$@" -l
elif [ "$login" = no ]; then
  # env would take a command with = in it for a variable
  set -- "$@" /bin/sh -c 'exec "$@"' sh
fi
. "$root/job/conf/arguments"
exec <&3 3<&-
apply_limits
if [ -n "$untold" ]; then
  echo "hpcbatch: warning: $untold" >&2
  printf '%s' "$untold" >"$run/untold" # for the record
fi
# shellcheck disable=SC2086
become $nicely "$@"
