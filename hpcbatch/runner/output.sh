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
  if [ -d "$1" ]; then
    why="Is a directory"
  elif [ ! -e "${directory:-/}" ]; then
    why="No such file or directory"
  elif [ ! -d "${directory:-/}" ]; then
    why="Not a directory"
  elif { [ -e "$1" ] && [ ! -w "$1" ]; } || { [ ! -e "$1" ] && [ ! -w "${directory:-/}" ]; }; then
    why="Permission denied"
  else
    why=$( (: >>"$1") 2>&1) || : # no space, a read-only file system ...
    why=${why##*: }
  fi
  fail OutputFailed "cannot open output file $1: $why"
}
