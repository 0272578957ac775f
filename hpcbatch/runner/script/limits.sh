# shellcheck shell=sh
# shellcheck disable=SC2154 # variables of conf/job.sh and common.sh
# The limits that the job has asked for each of its processes, and their nice: `apply_limits` in a shell that is about to become
# the script, or what another pod has sent. What cannot be applied is told in one line, and stands in the job's record.

# apply_limits: sets $nicely to words before a command, too. The last thing that a shell does: it may not be able to start more.
apply_limits() {
  untold='' last='' nicely=
  if [ "$process_nice" -lt 0 ]; then
    is_untold "nice $process_nice counts as 0: nobody's processes are put before those of others"
  elif [ "$process_nice" -gt 0 ]; then
    nicely=$(command -v nice) && nicely="$nicely -n $process_nice" ||
      is_untold "nice $process_nice is not applied: this image has no nice"
  fi
  has_prlimit=
  ! command -v prlimit >/dev/null 2>&1 || has_prlimit=yes
  for entry in $process_limits; do
    case $entry in
      as:* | data:* | nproc:* | nofile:*) last="$last $entry" ;; # prlimit may not run under these
      *) set_limit "${entry%%:*}" "${entry#*:}" ;;
    esac
  done
  for entry in $last; do
    set_limit "${entry%%:*}" "${entry#*:}"
  done
}

is_untold() { untold="$untold${untold:+; }$1"; }

# set_limit NAME VALUE: soft and hard, as PBS sets them, rounded up to what the shell can say unless there is prlimit.
set_limit() {
  unit=1
  case $1 in
    core) letters=c unit=512 title='core file size' ;;
    data) letters=d unit=1024 title='data size' ;;
    fsize) letters=f unit=512 title='file size' ;;
    stack) letters=s unit=1024 title='stack size' ;;
    as) letters=v unit=1024 title='address space' ;;
    rss) letters=m unit=1024 title='resident set' ;;
    memlock) letters=l unit=1024 title='locked memory' ;;
    cpu) letters=t title='cpu time' ;;
    nofile) letters=n title='open files' ;;
    nproc) letters='u p' title='processes' ;; # bash has the one, dash and busybox the other
    locks) letters='' title='file locks' ;;
    sigpending) letters='' title='pending signals' ;;
    msgqueue) letters='' title='msgqueue size' ;;
    nice) letters='' title='nice priority' ;;
    rtprio) letters='' title='realtime priority' ;;
    rttime) letters='' title='realtime timeout' ;;
    *)
      is_untold "the limit $1=$2 is not applied: there is none of that name"
      return
      ;;
  esac
  is_set=
  for letter in $letters; do
    ulimit "-$letter" $((($2 + unit - 1) / unit)) 2>/dev/null && is_set=yes && break
  done
  read_limit "$title"
  if ! is_in_force "$2" && [ -n "$has_prlimit" ]; then
    prlimit --pid $$ "--$1=$2" 2>/dev/null && is_set=yes
    read_limit "$title"
  fi
  if is_in_force "$2"; then
    [ "$1" != rss ] || is_untold "the limit rss=$2 has no effect: Linux limits no resident memory of a process"
  elif [ -n "$hard" ] && [ "$hard" != unlimited ] && [ "$hard" -lt "$2" ]; then
    for letter in $letters; do
      # shellcheck disable=SC3045
      ulimit -S "-$letter" $((hard / unit)) 2>/dev/null && break
    done
    is_untold "the limit $1=$2 is $hard: no more is allowed on $host"
  else
    is_untold "the limit $1=$2 is not applied: this image has no prlimit, and its shell does not know it"
  fi
}

# read_limit TITLE: sets $soft and $hard of this shell; nothing where there is no /proc
read_limit() {
  soft='' hard=''
  { while read -r line; do
    case $line in
      "Max $1 "*)
        # shellcheck disable=SC2086
        set -- ${line#"Max $1"}
        soft=$1 hard=$2
        return
        ;;
    esac
  done <"/proc/$$/limits"; } 2>/dev/null
}

# is_in_force VALUE: up to what it was rounded to
is_in_force() {
  case $soft in
    '') [ -n "$is_set" ] ;;
    unlimited) return 1 ;;
    *) [ "$soft" -ge "$1" ] && [ "$soft" -lt $(($1 + unit)) ] ;;
  esac
}
