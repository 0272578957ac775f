# shellcheck shell=sh
# What all parts of the runner share. Sourced; expects $root.

# shellcheck disable=SC2034 # bin, host and the rest are used by the other files
run=$root/run/job
bin=$run/bin
tmp=$run/tmp # for the script
[ ! -L "$run" ] || tmp=$root/run/tmp
termination_log=${HPCBATCH_TERMINATION_LOG:-/dev/termination-log}
sh=${HPCBATCH_SH:-/bin/sh}
{ read -r host </proc/sys/kernel/hostname; } 2>/dev/null || host=$(hostname)
sshd=         # its process id, once it runs
error_file=   # the job's stderr file once it is open, so that errors are reported there too
final_stderr= # where that is delivered, once it is open

prepare_run_directory() {
  [ "$HPCBATCH_PREPARED" != yes ] || return 0 # the engine has (podhost/prepared.py): this, and what prepare_script makes
  (
    umask 077
    [ -d "$HPCBATCH_MEMORY_DIR" ] || exec mkdir -p "$bin" "$run/modules/init" "$run/tmp"
    # Files that are made and removed again in a moment cost a disk's file system more than all else here. What the script has in
    # its own directory for them may be large, and stays there.
    kept=$HPCBATCH_MEMORY_DIR/job
    mkdir -p "$kept/bin" "$kept/modules/init" "$root/run/tmp" && exec ln -s "$kept" "$run"
  ) || fail LaunchFailed "cannot make $run"
  [ ! -L "$run" ] || tmp=$root/run/tmp
  # what the pod was given, before any shell here adds to it
  cat "/proc/$$/environ" >"$run/pod.env" 2>/dev/null || env -0 >"$run/pod.env"
}

# write_report MESSAGE NAME VALUE...: the termination message, `name=value` lines. Values without content are left out.
write_report() {
  [ -w "$termination_log" ] || chmod u+w "$termination_log" 2>/dev/null # a script may have locked it
  {
    if [ -n "$1" ]; then
      one_line "$1"
      printf 'message=%s\n' "$line"
    fi
    shift
    while [ $# -gt 1 ]; do
      [ -z "$2" ] || printf '%s=%s\n' "$1" "$2"
      shift 2
    done
  } 2>/dev/null >"$termination_log" || :
}

# one_line TEXT: sets $line. The kubelet keeps 4096 bytes of all lines together.
one_line() {
  line=$1
  case $line in
    *[!\ -~]*) ;;
    *) [ ${#line} -gt 1000 ] || return 0 ;;
  esac
  line=$(printf '%s' "$1" | tr -d '\r' | tr '\n\t' '  ' | cut -c1-1000)
}

# fail REASON MESSAGE [EXIT_CODE]: the job cannot be started, or not to its end. Without a code the script never ran.
fail() {
  printf 'hpcbatch: %s\n' "$2" >&2
  [ -z "$error_file" ] || printf 'hpcbatch: %s\n' "$2" >>"$error_file"
  [ -z "$final_stderr" ] || deliver_output
  write_report "$2" reason "$1" exit_code "${3:-}"
  [ -z "$sshd" ] || kill "$sshd" 2>/dev/null
  exit "${3:-1}"
}

# filled TEXT NAME VALUE...: prints TEXT with each VALUE in the place of its {NAME}, once. A user's own text stands last.
filled() {
  text=$1
  shift
  while [ $# -gt 1 ]; do
    place="{$1}"
    case $text in
      *"$place"*) text=${text%%"$place"*}$2${text#*"$place"} ;;
    esac
    shift 2
  done
  printf '%s\n' "$text"
}

quote() {
  case $1 in
    *"'"*) printf %sx "$1" | LC_ALL=C sed "s/'/'\\\\''/g; 1s/^/'/; \$s/x\$/'/" ;;
    *) printf "'%s'" "$1" ;;
  esac
}

# set_quoted TEXT: sets $quoted, in most cases without another process.
set_quoted() {
  case $1 in
    *"'"*) quoted=$(quote "$1") ;;
    *) quoted="'$1'" ;;
  esac
}

# entries FILE [SED-COMMAND...]: turns NUL-separated NAME=VALUE, any bytes, into a `set -- "$@" 'NAME=VALUE'...` to be
# sourced. Where sed knows no NULs (busybox), lines are made of entries by putting a byte that occurs nowhere in the file in the
# place of newlines.
entries() {
  file=$1 spare=
  shift
  for command in "$@"; do
    shift
    set -- "$@" -e "$command"
  done
  set -- -e '/^[^=]\{1,\}=/!d' "$@" -e "s/'/'\\\\''/g" -e "s/^/ '/" -e "s/\$/'\\\\/"
  if LC_ALL=C sed -z "$@" <"$file" >"$run/entries.$$" 2>/dev/null; then
    printf 'set -- "$@"'
    LC_ALL=C tr '\000' '\012' <"$run/entries.$$"
    printf '\n\n'
    return
  fi
  # the first ones stand in no UTF-8 text
  for byte in 377 376 375 374 373 372 371 370 301 300 001 002 003 004 005 006 016 017 020 021 022 023 024 025 026 027; do
    # shellcheck disable=SC1003
    if [ "$(LC_ALL=C tr -dc "\\$byte" <"$file" | wc -c)" -eq 0 ]; then
      spare=$byte
      break
    fi
  done
  [ -n "$spare" ] || return 1
  printf 'set -- "$@"'
  LC_ALL=C tr "\\000\\012" "\\012\\$spare" <"$file" | LC_ALL=C sed "$@" | LC_ALL=C tr "\\$spare" '\012'
  printf '\n\n'
}

# own_uid: sets $uid.
own_uid() {
  uid=
  { while read -r line; do
    case $line in
      Uid:*)
        # shellcheck disable=SC2086
        set -- $line
        uid=$3
        break
        ;;
    esac
  done </proc/self/status; } 2>/dev/null
  [ -n "$uid" ] || uid=$(id -u)
}

# login_shell UID VARIABLE=VALUE...: sets $shell to that user's as /etc/passwd knows it; where that is ours and knows it not,
# to the one that the submitter has, by these variables, or bash. Where the image has it not, to /bin/sh.
login_shell() {
  shell=
  if [ "$knows_shell" = yes ]; then
    if [ -n "$HPCBATCH_LOGIN_SHELL" ]; then
      shell=$HPCBATCH_LOGIN_SHELL # the engine has looked
    elif command -v getent >/dev/null 2>&1; then
      shell=$(getent passwd "$1")
    else
      shell=$(grep "^[^:]*:[^:]*:$1:" /etc/passwd)
    fi
    shell=${shell##*:}
  else
    shift
    for entry in "$@"; do
      case $entry in
        "$shell_variable"=/*) shell=${entry#*=} ;;
      esac
    done
    is_program "$shell" || shell=/bin/bash
  fi
  is_program "$shell" || shell=/bin/sh
}

is_program() { [ -x "$1" ] && [ ! -d "$1" ]; }

# The soft limits of a login shell (8 MB of stack, little locked memory) break real programs; sites raise them.
raise_limits() {
  for limit in s l; do
    # shellcheck disable=SC3045 # all three shells have them
    ulimit "-$limit" unlimited 2>/dev/null || ulimit -S "-$limit" "$(ulimit -H "-$limit" 2>/dev/null)" 2>/dev/null || :
  done
}

# child_ticks FILE: sets $spent_ticks to hundredths of a second of user and system time of all children; line 2 of what `times`
# writes has them as `0m1.20s 0m0.30s`.
child_ticks() {
  in_user=0m0.0s in_system=0m0.0s spent_ticks=0
  { read -r _ && read -r in_user in_system; } <"$1" || :
  for spent in "${in_user%s}" "${in_system%s}"; do
    seconds=${spent#*m} fraction=${spent#*.}00
    spent_ticks=$((spent_ticks + (${spent%%m*} * 60 + ${seconds%%.*}) * 100 + 1${fraction%"${fraction#??}"} - 100))
  done
}

# uptime: sets $now to hundredths of a second since the machine was started, which no clock change moves.
uptime() {
  read -r up _ </proc/uptime
  now=$((${up%.*} * 100 + 1${up#*.} - 100))
}

# time_of_day: sets $now as uptime does, and $today to the seconds since 1970.
time_of_day() {
  uptime
  if [ -n "$HPCBATCH_CLOCK" ] && [ "$now" -lt "${HPCBATCH_CLOCK#* }" ]; then
    today=$(((now + ${HPCBATCH_CLOCK% *}) / 100))
  else
    today=$(date +%s)
  fi
}

# nap [SECONDS]: a fraction of a second where sleep knows fractions.
nap() { sleep "${1:-0.1}" 2>/dev/null || sleep 1; }

# runner_lives: for loops in the background, which a TERM may not end: one that comes before their trap is set is lost. A runner
# that has ended but was not yet waited for (Z) still has a process id, so `kill -0` alone does not tell.
runner_lives() {
  kill -0 $$ 2>/dev/null || return 1
  line= # without /proc it counts as alive: its walltime is kept
  { read -r line <"/proc/$$/stat"; } 2>/dev/null
  case ${line##*) } in
    Z* | X*) return 1 ;;
  esac
}

# end_at_term, rest SECONDS: for loops in the background: TERM ends them, and at once although they sleep.
end_at_term() {
  sleeper= # not $!, which the shell that started the loop has left
  trap '[ -z "$sleeper" ] || kill "$sleeper" 2>/dev/null; exit 0' TERM
}

rest() {
  sleep "$1" 2>/dev/null &
  sleeper=$!
  wait "$sleeper" && return
  sleep 1 & # it knows no fractions
  sleeper=$!
  wait "$sleeper"
}
