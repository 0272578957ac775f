# shellcheck shell=sh
# shellcheck disable=SC2154 # variables of conf/job.sh and common.sh
# The output files. They are opened for appending even when they start empty: both streams, and the runner's own lines, may
# meet in one file.

# output_path PATH NAME-IN-DIRECTORY
output_path() {
  if [ -d "$1" ] && [ -n "$2" ]; then
    printf '%s/%s' "${1%/}" "$2"
  else
    printf '%s' "$1"
  fi
}

open_output() {
  # Restarts by Volcano make the pods anew, and conf/ does not know of them.
  if [ "$dialect" = pbs ] && [ "${HPCBATCH_JOB_VERSION:-0}" != 0 ]; then
    append=yes
  fi
  stdout=$(output_path "$stdout" "$stdout_in_dir")
  [ -z "$stderr" ] || stderr=$(output_path "$stderr" "$stderr_in_dir")
  open_file "$stdout"
  if [ -n "$stderr" ] && [ "$stderr" != "$stdout" ]; then
    open_file "$stderr"
  else
    stderr=$stdout
  fi
  error_file=$stderr
}

# open_file PATH: makes or empties the file, or ends the job with the reason.
open_file() {
  if [ "$append" = yes ]; then
    (: >>"$1") 2>/dev/null && return
  else
    (: >"$1") 2>/dev/null && return
  fi
  directory=${1%/*}
  why=$( (: >>"$1") 2>&1) || :
  why=${why##*: } # no space, a read-only file system ...
  if [ -d "$1" ]; then
    why="Is a directory"
  elif [ ! -e "${directory:-/}" ]; then
    why="No such file or directory"
  elif [ ! -d "${directory:-/}" ]; then
    why="Not a directory"
  elif [ "$why" != 'Read-only file system' ] &&
    { { [ -e "$1" ] && [ ! -w "$1" ]; } || { [ ! -e "$1" ] && [ ! -w "${directory:-/}" ]; }; }; then
    why="Permission denied"
  fi
  fail OutputFailed "cannot open output file $1: $why"
}

# output_problem: what may have kept the script from writing all of its output; nothing where there is room and a way.
output_problem() {
  checked=
  for file in "$stdout" "$stderr"; do
    if [ ! -f "$file" ] || [ "$file" = "$checked" ]; then
      continue # a device, removed by the script, or both streams in one
    fi
    checked=$file
    if (: >>"$file") 2>/dev/null; then
      why=$(no_room "$file")
    else
      why=$( (: >>"$file") 2>&1) || :
    fi
    if [ -n "$why" ]; then
      echo "output file $file may be incomplete: ${why##*: }"
      return
    fi
  done
}

# no_room FILE: why its directory takes no more. A quota shows itself only to who writes: it is tried where a write may have
# failed, which leaves a file that ends with a full block, or a script that did not end well.
no_room() {
  df -Pk "$1" 2>/dev/null | {
    read -r _
    read -r _ _ _ free _
    [ "$free" != 0 ] || echo 'No space left on device'
  }
  # shellcheck disable=SC2012 # wc may read it all
  size=$(ls -lnd "$1" | { read -r _ _ _ _ size _ && echo "$size"; })
  [ $((${size:-0} % 4096)) = 0 ] || [ "$exit_code" != 0 ] || return 0
  probe=${1%/*}/.hpcbatch-$job_id-$$
  # -C: not through a link that somebody else has laid there
  tried=$( (set -C && export LC_ALL=C && head -c 4096 /dev/zero >"$probe") 2>&1)
  rm -f "$probe"
  case $tried in *'quota exceeded'* | *'No space left'*) echo "$tried" ;; esac
}

# take_output_away: PBS's -R, for jobs that have ended with 0.
take_output_away() {
  case $remove_output in *o*) [ ! -f "$stdout" ] || rm -f "$stdout" ;; esac
  case $remove_output in *e*) [ ! -f "$stderr" ] || [ "$stderr" = "$stdout" ] || rm -f "$stderr" ;; esac
}
