# shellcheck shell=sh
# shellcheck disable=SC2154 # variables of conf/job.sh and common.sh
# The output files. They are opened for appending even when they start empty: both streams, and the runner's own lines, may
# meet in one file.

# output_path PATH NAME-IN-DIRECTORY: sets $path
output_path() {
  path=$1
  [ ! -d "$1" ] || [ -z "$2" ] || path=${1%/}/$2
}

# meanwhile PATH NAME: sets $path to where the stream is written until the job's end: under NAME in the same directory. In its final file if
# nothing can be renamed to that, or no file made beside it.
meanwhile() {
  path=$1 beside=${1%/*}/$2
  if [ -z "$2" ] || { [ -e "$1" ] && { [ ! -f "$1" ] || [ ! -w "$1" ]; }; } || ! can_write "$beside"; then
    return
  fi
  # a run before this one has delivered already
  if [ "$append" = yes ] && [ ! -s "$beside" ] && [ -f "$1" ] && [ ! -L "$1" ]; then
    mv -f "$1" "$beside" 2>/dev/null || :
  fi
  path=$beside
}

# can_write FILE: makes it where it is not there. `true`, since a shell may end when a redirection of `:` fails.
can_write() { { true >>"$1"; } 2>/dev/null; }

open_output() {
  if [ -n "$interactive" ]; then
    stdout=/dev/null stderr=/dev/null final_stdout=/dev/null final_stderr=/dev/null
    return
  fi
  # Restarts by Volcano make the pods anew, and conf/ does not know of them.
  if [ "$appends_after_restart" = yes ] && [ "${HPCBATCH_JOB_VERSION:-0}" != 0 ]; then
    append=yes
  fi
  output_path "$stdout" "$stdout_in_dir"
  out=$path err=
  if [ -n "$stderr" ]; then
    output_path "$stderr" "$stderr_in_dir"
    err=$path
  fi
  meanwhile "$out" "$stdout_meanwhile"
  stdout=$path
  if [ -n "$err" ] && [ "$err" != "$out" ]; then
    meanwhile "$err" "$stderr_meanwhile"
    stderr=$path
  else
    stderr=$stdout err=$out
  fi
  final_stdout=$out final_stderr=$err
  open_file "$stdout"
  [ "$stderr" = "$stdout" ] || open_file "$stderr"
  error_file=$stderr
}

# deliver_output: gives the files their own names. A job that runs again takes them back.
deliver_output() {
  [ -n "$final_stderr" ] || return 0 # not yet open
  give_name "$stdout" "$final_stdout" && stdout=$final_stdout
  give_name "$stderr" "$final_stderr" && stderr=$final_stderr
  error_file=${error_file:+$stderr}
}

# give_name FROM TO: TO may be a link, or in a directory where no more files can be made by now.
give_name() {
  if [ "$1" = "$2" ] || [ ! -e "$1" ]; then
    return 0
  fi
  if [ ! -L "$2" ] && [ ! -d "$2" ] && mv -f "$1" "$2" 2>/dev/null; then
    return 0
  fi
  (cat "$1" >"$2") 2>/dev/null && rm -f "$1"
}

# deliver_what_is_left: of a run whose runner was killed.
deliver_what_is_left() {
  output_path "$stdout" "$stdout_in_dir"
  out=$path
  output_path "$stderr" "$stderr_in_dir"
  for stream in "$stdout_meanwhile|$out" "$stderr_meanwhile|$path"; do
    name=${stream%%|*} path=${stream#*|}
    if [ -n "$name" ] && ! give_name "${path%/*}/$name" "$path"; then
      fail OutputFailed "output stays in ${path%/*}/$name: it cannot become $path"
    fi
  done
}

# open_file PATH: makes or empties the file, or ends the job with the reason.
open_file() {
  if [ "$append" = yes ]; then
    can_write "$1" && return
  else
    { true >"$1"; } 2>/dev/null && return
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

# output_problem: sets $lost to what may have kept the script from writing all of its output; nothing where there is room and a way.
output_problem() {
  lost='' checked=
  if [ "$stdout:$stderr" != "$final_stdout:$final_stderr" ]; then
    lost="output stays in $stdout: it cannot become $final_stdout"
    return
  fi
  for file in "$stdout" "$stderr"; do
    if [ ! -f "$file" ] || [ "$file" = "$checked" ]; then
      continue # a device, removed by the script, or both streams in one
    fi
    checked=$file
    if can_write "$file"; then
      no_room "$file"
    else
      why=$( (: >>"$file") 2>&1) || :
    fi
    if [ -n "$why" ]; then
      lost="output file $file may be incomplete: ${why##*: }"
      return
    fi
  done
}

# no_room FILE: sets $why to why its directory takes no more; empty where it does. A quota shows itself only to who writes: it is tried
# where a write may have failed, which leaves a file that ends with a full block, or a script that did not end well.
no_room() {
  why='' file=$1 size=0
  # shellcheck disable=SC2046
  set -- $(LC_ALL=C df -Pk "$file" 2>/dev/null) # seven words of a headline, then device, size, used and free
  if [ "${11:-}" = 0 ]; then
    why='No space left on device'
    return
  fi
  if [ -s "$file" ]; then
    # shellcheck disable=SC2012,SC2046 # wc may read it all
    set -- $(ls -lnd "$file")
    size=${5:-0}
  fi
  [ $((size % 4096)) = 0 ] || [ "$exit_code" != 0 ] || return 0
  probe=${file%/*}/.hpcbatch-$job_id-$$
  # -C: not through a link that somebody else has laid there
  tried=$( (set -C && export LC_ALL=C && exec head -c 4096 /dev/zero >"$probe") 2>&1)
  rm -f "$probe"
  case $tried in *'quota exceeded'* | *'No space left'*) why=$tried ;; esac
}

# take_output_away: PBS's -R, for jobs that have ended with 0.
take_output_away() {
  case $remove_output in *o*) [ ! -f "$stdout" ] || rm -f "$stdout" ;; esac
  case $remove_output in *e*) [ ! -f "$stderr" ] || [ "$stderr" = "$stdout" ] || rm -f "$stderr" ;; esac
}
