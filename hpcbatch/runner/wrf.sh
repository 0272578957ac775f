# shellcheck shell=sh
# shellcheck disable=SC2154,SC3013 # variables of conf/job.sh, common.sh and processes.sh; -nt, which all three shells have
# Jobs that run WRF: whether it went well by its own log, which alone knows (wrf.awk). An exit code of 0 may hide a failure,
# since scripts go on after mpirun, and since WRF itself ends with 0 when it could not open its output.
#
# Of the directories where a process of the job was seen, or where the job began, those are looked at that hold an
# rsl.error.0000 of this run: newer than its start, with a host of this job as that of rank 0. So neither an old log
# counts, nor that of another job in the same directory.

wrf_log=rsl.error.0000

prepare_to_judge_wrf() {
  [ "$judges_wrf" = yes ] || return 0
  : >"$run/before_wrf"
  printf 'start %s\nstart %s\n' "$submit_dir" "$work_dir" >"$run/wrf_places"
  # its shell is worth a look, too: a run that fails at once may not be seen
  if [ "$kind" = script ] && grep -q 'wrf\.exe\|real\.exe' "$run/$script_name" 2>/dev/null; then
    : >"$run/names_wrf"
  fi
}

# see_wrf: after `look`: writes down where WRF's programs are, or what may start them in other pods: lines of WHAT DIRECTORY,
# WHAT being wrf, mpi, shell or start. Each process is looked at once, but the shell, which goes from place to place.
wrf_seen=' ' wrf_noted='
'
see_wrf() {
  [ "$judges_wrf" = yes ] || return 0
  for process in $wrf_pids; do
    see_place wrf "$process"
  done
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

# judge_wrf: of a script that has ended by itself. Sets $message if a run of WRF failed, the first one's, and tells of all in
# the job's stderr; $exit_code is then not 0.
judge_wrf() {
  [ "$judges_wrf" = yes ] || return 0
  wrf_judged=
  while read -r _ place; do
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
    why="$program in $place: $verdict"
    if [ -z "$message" ]; then
      ! is_told_not_to_judge || return 0
      message=$why
    fi
    printf 'hpcbatch: %s\n' "$why" >>"$error_file"
  done <"$run/wrf_places"
  [ -n "$message" ] || return 0
  if [ "$exit_code" = 0 ]; then
    echo 'hpcbatch: the script ended with 0, the job ends with 1 (HPCBATCH_JUDGE_WRF=no: it would end with 0)' >>"$error_file"
    exit_code=1
  fi
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
  read_log "$log"
  case $outcome:$program in ok:* | :* | *:other) return 1 ;; esac
  is_seen=
  ! grep -q -F -x -e "wrf $place" "$run/wrf_places" || is_seen=yes
  if [ "$rank_host" = - ]; then
    [ -n "$is_seen" ] || return 1
  else
    case " $hosts $host " in
      *" ${rank_host%%.*} "*) ;;
      *) return 1 ;;
    esac
  fi
  # something else may write logs of this name
  [ "$program" != none ] || [ "$outcome" = failed ] || [ -n "$is_seen" ] || return 1
  if [ "$outcome" = unclear ]; then
    set -- "$log"
    for file in "$place"/rsl.error.*; do
      rank=${file##*.}
      case $rank in *[!0-9]*) continue ;; esac
      [ "$file" != "$log" ] && is_of_this_run "$file" || continue
      [ "$ranks" != 0 ] && [ "$rank" -ge "$ranks" ] || set -- "$@" "$file"
    done
    [ $# = 1 ] || read_log "$@"
  fi
  case $program in
    none) program=WRF ;;
    *) program=$program.exe ;;
  esac
}

# read_log FILE...: sets $outcome, $program, $ranks, $rank_host and $verdict.
read_log() {
  outcome='' program=none ranks=0 rank_host=- verdict=''
  { read -r outcome && read -r program ranks && read -r rank_host && read -r verdict; } <<END
$(LC_ALL=C awk -v wants_history="$(wants_history "$place/namelist.input")" -f "$root/runner/wrf.awk" "$@" </dev/null 2>/dev/null)
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
