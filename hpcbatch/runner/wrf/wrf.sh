# shellcheck shell=sh
# shellcheck disable=SC2154,SC3013 # variables of conf/job.sh, common.sh and processes.sh; -nt, which all three shells have
# Jobs that run WRF: whether it went well by its own log, which alone knows (wrf.awk). An exit code of 0 may hide a failure,
# since scripts go on after mpirun, and since WRF itself ends with 0 when it could not open its output.
#
# Of the directories where a process of the job was seen, or where the job began, those are looked at that hold an
# rsl.error.0000 of this run: newer than its start, with a host of this job as that of rank 0. So neither an old log
# counts, nor that of another job in the same directory. rsl.out.0000 beside it is heard where that one shows no end: it
# may break off in a run that goes well.

wrf_log=rsl.error.0000

prepare_to_judge_wrf() {
  [ "$judges_wrf" = yes ] || return 0
  : >"$run/before_wrf"
  printf 'start %s\nstart %s\n' "$submit_dir" "$work_dir" >"$run/wrf_places"
  # its shell is worth a look, too: a run that fails at once may not be seen
  mentions=
  if [ "$kind" = script ] && ! { read -r mentions <"$run/mentions"; } 2>/dev/null; then
    ! grep -q 'wrf\.exe' "$run/$script_name" 2>/dev/null || mentions=wrf.exe
    ! grep -q 'real\.exe' "$run/$script_name" 2>/dev/null || mentions="$mentions real.exe"
  fi
  [ -z "$mentions" ] || : >"$run/names_wrf"
  case $mentions in *real.exe) : >"$run/names_real" ;; esac
  # what an earlier job has left in files that are appended to is not this one's
  for file in "$stdout" "$stderr"; do
    if [ -f "$file" ]; then wc -c <"$file"; else echo 0; fi
  done >"$run/output_begins"
}

# see_wrf: after `look`: writes down where WRF's programs are, or what may start them in other pods: lines of WHAT DIRECTORY,
# WHAT being wrf, mpi, shell or start. Each process is looked at once, but the shell, which goes from place to place.
wrf_seen=' ' wrf_noted='
'
see_wrf() {
  [ "$judges_wrf" = yes ] || return 0
  for process in $wrf_pids $real_pids; do
    see_place wrf "$process"
  done
  if [ -n "$real_pids" ]; then
    real_due=yes
  elif [ -n "$wrf_pids" ]; then
    real_due=
  fi
  for process in $launchers; do
    see_place mpi "$process"
  done
  [ ! -e "$run/names_wrf" ] || [ -z "$leader" ] || see_place shell "$leader"
}

see_place() {
  case $wrf_seen in *" $2 "*) return 0 ;; esac
  place=$(readlink "/proc/$2/cwd" 2>/dev/null) || return 0
  [ "$1" = shell ] || wrf_seen="$wrf_seen$2 "
  case $wrf_noted in
    *"
$1 $place
"*) return 0 ;;
  esac
  wrf_noted="$wrf_noted$1 $place
"
  printf '%s %s\n' "$1" "$place" >>"$run/wrf_places"
}

# keep_words: wrf.exe writes over the logs of real.exe before it, and scripts go on after a real.exe that failed: what this
# one said is kept as soon as it is there, in a file for each place: that place, the program and the message.
real_due=''
expect_real() { [ ! -e "$run/names_real" ] || real_due=yes; }

keep_words() {
  [ -n "$real_due" ] || return 0
  ! { read -r leader <"$run/session"; } 2>/dev/null || see_place shell "$leader"
  number=0
  while read -r _ place; do
    number=$((number + 1))
    is_of_this_run "$place/$wrf_log" || continue
    place=$(cd -P "$place" 2>/dev/null && pwd) && read_log 1 "$place/$wrf_log" && is_ours || continue
    case $outcome:$program in
      failed:real | failed:none) printf '%s\n%s\n%s\n' "$place" "$program" "$verdict" >"$run/words.$number" ;;
      ok:real) rm -f "$run/words.$number" ;;
    esac
  done <"$run/wrf_places"
}

# recall_words: sets $words to those of a program that failed in $place before the present one.
recall_words() {
  words=
  for file in "$run"/words.*; do
    [ -f "$file" ] && { read -r where && read -r earlier && read -r said; } <"$file" || continue
    [ "$where" != "$place" ] || [ "$earlier" = "$program" ] || words=$said
  done
}

# judge_wrf: of a script that has ended by itself. Sets $message if a run of WRF failed, the first one's, real.exe's before
# others, and reports all in the job's stderr; $exit_code is then not 0.
judge_wrf() {
  [ "$judges_wrf" = yes ] || return 0
  wrf_judged='' real_failed='' wrf_failed=''
  while read -r _ place; do
    is_of_this_run "$place/$wrf_log" || continue
    # the same directory under another name
    case $place in
      /*) place=$(cd -P "$place" 2>/dev/null && pwd) || continue ;;
      *) continue ;; # part of a name with a newline in it
    esac
    case "
$wrf_judged" in
      *"
$place
"*) continue ;;
    esac
    wrf_judged="$wrf_judged$place
"
    judge_place || continue
    recall_words
    [ -z "$words" ] || real_failed="${real_failed}real.exe in $place: $words
"
    why="$(shown_program) in $place: $verdict"
    if [ "$program" = real ]; then
      real_failed="$real_failed$why
"
    else
      wrf_failed="$wrf_failed$why
"
    fi
  done <"$run/wrf_places"
  whys=$real_failed$wrf_failed
  [ -n "$whys" ] && ! is_told_not_to_judge || return 0
  message=${whys%%
*}
  printf '%s' "$whys" | sed 's/^/hpcbatch: /' >>"$error_file"
  if [ "$exit_code" = 0 ]; then
    echo 'hpcbatch: the script ended with 0, the job ends with 1 (HPCBATCH_JUDGE_WRF=no: it would end with 0)' >>"$error_file"
    exit_code=1
  fi
}

shown_program() {
  case $program in
    none) echo WRF ;;
    *) echo "$program.exe" ;;
  esac
}

is_of_this_run() { [ -f "$1" ] && [ -r "$1" ] && ! [ "$run/before_wrf" -nt "$1" ]; }

# judge_place: whether a run of WRF failed in $place; sets $program and $verdict then.
judge_place() {
  log=$place/$wrf_log
  is_of_this_run "$log" || return 1
  if ! command -v awk >/dev/null 2>&1; then
    echo "hpcbatch: $log is not judged: the image has no awk" >>"$error_file"
    return 1
  fi
  out=$place/rsl.out.0000
  logs=1
  read_log 1 "$log"
  if [ "$outcome" = unclear ] && is_of_this_run "$out" && ! [ "$log" -nt "$out" ]; then
    logs=2
    read_log 2 "$log" "$out"
  fi
  case $outcome:$program in ok:* | :* | *:other) return 1 ;; esac
  is_ours || return 1
  # something else may write logs of this name
  [ "$program" != none ] || [ "$outcome" = failed ] || [ -n "$is_seen" ] || return 1
  if [ "$outcome" = unclear ]; then
    set -- "$log"
    [ $logs = 1 ] || set -- "$log" "$out"
    for file in "$place"/rsl.error.*; do
      rank=${file##*.}
      case $rank in *[!0-9]*) continue ;; esac
      [ "$file" != "$place/$wrf_log" ] && is_of_this_run "$file" || continue
      [ "$ranks" != 0 ] && [ "$rank" -ge "$ranks" ] || set -- "$@" "$file"
    done
    launchers_words >"$run/launcher"
    launcher_words=$run/launcher
    read_log $logs "$@"
    launcher_words=
  fi
}

# is_ours: whether rank 0 of the log that was read ran in this job.
is_ours() {
  is_seen=
  ! grep -q -F -x -e "wrf $place" "$run/wrf_places" || is_seen=yes
  case "$rank_host: $hosts $host " in
    -:*) [ -n "$is_seen" ] ;;
    *" ${rank_host%%.*} "*) ;;
    *) return 1 ;;
  esac
}

# launchers_words: the end of what the job has written, and its exit code, which launchers have from the first rank that fails.
launchers_words() {
  [ "$exit_code" -le 128 ] || echo "exited on signal $((exit_code - 128))"
  for file in "$stdout" "$stderr"; do
    [ -f "$file" ] || continue
    read -r begins || begins=0
    tail -c "+$((begins + 1))" "$file" | tail -c 65536
  done <"$run/output_begins"
}

# read_log LOGS FILE...: sets $outcome, $program, $ranks, $rank_host and $verdict. The first LOGS files, one or two, are of rank 0.
read_log() {
  of_rank_0=$1
  shift
  outcome='' program=none ranks=0 rank_host=- verdict=''
  { read -r outcome && read -r program ranks && read -r rank_host && read -r verdict; } <<END
$(LC_ALL=C wrf_lines=$root/runner/wrf_lines.txt launcher_words=${launcher_words-} \
  awk -v wants_history="$(wants_history "$place/namelist.input")" -v logs="$of_rank_0" -f "$root/runner/wrf.awk" "$@" </dev/null 2>/dev/null)
END
}

# wants_history NAMELIST: 1 if wrf.exe is sure to write history; 0 where that is not known.
wants_history() {
  awk '
    { sub(/!.*/, ""); text = text " " tolower($0) }
    END {
      while (match(text, /history_interval(_[dhms])?[ \t]*=[ \t]*[0-9]+/)) {
        found = substr(text, RSTART, RLENGTH)
        if ((RSTART == 1 || substr(text, RSTART - 1, 1) !~ /[a-z0-9_]/) && found ~ /[1-9]/) wanted = 1
        text = substr(text, RSTART + RLENGTH)
      }
      print (wanted && text !~ /history_begin/) + 0
    }' "$1" 2>/dev/null || echo 0
}

# is_told_not_to_judge: by HPCBATCH_JUDGE_WRF=no in the environment that the job was submitted with.
is_told_not_to_judge() (
  set --
  . "$run/submitted.sh"
  for entry in "$@"; do
    [ "$entry" != HPCBATCH_JUDGE_WRF=no ] || exit 0
  done
  exit 1
)
