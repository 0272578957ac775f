# shellcheck shell=sh
# shellcheck disable=SC2154 # variables of conf/job.sh, common.sh and processes.sh
# MPI launches that go wrong without a word: all ranks on one of several hosts, or each rank a world of its own since the
# program's library and the launcher do not speak to each other. Seen from outside: a launcher gives its ranks in their
# environment how many they are in all and on their host, and /proc knows which library a rank has loaded. Each launch is looked
# at until both are known. What is seen stands in $run/worlds, a line each:
#   one SIZE PID...   a world on this host alone, and its launcher's processes
#   spread            a world on more hosts, or programs that the script has started on them by itself
#   apart TEXT        worlds of one rank

judged=' ' tries=0 clients_before=' ' is_spread=

# look_at_worlds: at the launchers that the last `look` saw.
look_at_worlds() {
  look_elsewhere
  for launcher in $launchers; do
    find_parent "$launcher"
    case "$judged|$launchers " in
      *" $launcher "*'|'* | *'|'*" $parent "*) ;; # it is known, or a part of another
      *) look_at_launch "$launcher" ;;
    esac
  done
}

# find_parent PID: sets $parent; empty for what is not the job's.
find_parent() {
  parent=
  for pair in $kin; do
    case $pair in "$1<"*) parent=${pair#*<} && return ;; esac
  done
}

# look_elsewhere: an ssh that no MPI launcher has started and that lasts: what the script does itself on other hosts.
look_elsewhere() {
  [ -z "$is_spread" ] || return 0
  lasting=' '
  for client in $clients; do
    is_launched "$client" || lasting="$lasting$client "
  done
  for client in $lasting; do
    case $clients_before in *" $client "*) note_spread ;; esac
  done
  clients_before=$lasting
}

is_launched() {
  above=$1
  while :; do
    case "$launchers " in *" $above "*) return 0 ;; esac
    find_parent "$above"
    [ -n "$parent" ] || return 1
    above=$parent
  done
}

note_spread() {
  is_spread=yes
  keep_world spread
}

# keep_world LINE: once each
keep_world() { grep -qsxF "$1" "$run/worlds" || echo "$1" >>"$run/worlds"; }

# look_at_launch PID: at what a launcher has started. It is $judged when there is nothing more to learn of it.
look_at_launch() {
  with_descendants "$1"
  ranks='' starters=
  for member in $members; do
    case "$launchers |$clients " in
      *" $member "*'|'*) starters="$starters $member" ;;
      *'|'*" $member "*) ;;
      *) ranks="$ranks $member" ;;
    esac
  done
  [ -n "$ranks" ] || return 0
  # shellcheck disable=SC2086
  read_sizes $ranks
  if [ -z "$size" ]; then # not started yet, or by a launcher that gives its ranks otherwise
    ! is_worth_another_look || return 0
  elif [ "$size" -gt 1 ]; then
    if [ "$here" = "$size" ]; then
      keep_world "one $size$starters"
    else
      note_spread
    fi
    # shellcheck disable=SC2086
    read_library $ranks
    if [ -z "$library" ]; then # not loaded yet, or no MPI program
      ! is_worth_another_look || return 0
    fi
    case $launched_by:$library in
      pmix:mpich) tell_apart 'MPICH or Intel MPI' "Open MPI's" ;;
      pmi:openmpi) tell_apart 'Open MPI' "MPICH's or Intel MPI's" ;;
    esac
  fi
  tries=0 judged="$judged$1 "
}

is_worth_another_look() {
  tries=$((tries + 1))
  [ $tries -lt 60 ]
}

# with_descendants PID: sets $members to it and all that comes from it, the youngest generation last.
with_descendants() {
  members=" $1" young=" $1 "
  while [ "$young" != ' ' ]; do
    parents=$young young=' '
    for pair in $kin; do
      case $parents in *" ${pair#*<} "*) young="$young${pair%<*} " ;; esac
    done
    members="$members ${young# }"
    members=${members% }
  done
}

# read_sizes PID...: sets $size (empty: none of them is a rank yet), $here (ranks on this host) and $launched_by: pmix or pmi;
# anything else: who knows.
read_sizes() {
  size='' here='' launched_by=
  [ $# -le 8 ] || set -- "$1" "$2" "$3" "$4" "$5" "$6" "$7" "$8"
  for rank in "$@"; do
    while IFS='=' read -r name value; do
      case $value in '' | *[!0-9]*) continue ;; esac
      case $name in
        OMPI_COMM_WORLD_SIZE) size=$value launched_by=pmix$launched_by ;;
        PMI_SIZE) size=${size:-$value} launched_by=pmi$launched_by ;;
        *) here=$value ;;
      esac
    done <<VARIABLES
$( (tr '\000' '\012' <"/proc/$rank/environ" | grep -E '^(OMPI_COMM_WORLD_(LOCAL_)?SIZE|PMI_SIZE|MPI_LOCALNRANKS)=') 2>/dev/null)
VARIABLES
    [ -n "$size" ] || continue
    case $launched_by in
      pmi | pmix) ;;
      *) here= ;; # one of them is of where the job was submitted
    esac
    return 0
  done
}

# read_library PID...: sets $library to openmpi, mpich (Intel MPI is one, too) or other: one that speaks with any launcher, or is not
# known; and $program to the name of the process that has loaded it. Empty: none has.
read_library() {
  library=
  while [ $# -gt 8 ]; do shift; done # a wrapper's program comes after it
  for rank in "$@"; do
    loaded=$(grep -oE '/lib(open-pal|open-rte|mpi|mpich|mpifort|mpi_abi|pmix)\.so[.0-9]*' "/proc/$rank/maps" 2>/dev/null)
    case $loaded in
      *libmpi* | *libopen-*) ;;
      *) continue ;;
    esac
    { read -r program <"/proc/$rank/comm"; } 2>/dev/null || program='the program'
    case $loaded in
      *libopen-*) library=openmpi ;;
      *libpmix*) library=other ;;
      *libmpi.so.12* | *libmpich.* | *libmpifort.* | *libmpi_abi.*) library=mpich ;;
      *) library=other ;;
    esac
    return 0
  done
}

# tell_apart LIBRARY LAUNCHER: at once where that can be, since such a run is worth nothing. Of a job's first one only.
tell_apart() {
  ! grep -qs '^apart ' "$run/worlds" || return 0
  apart="the $size ranks of $program are $size MPI worlds of one rank: it is linked to $1, the mpirun that started them is $2"
  keep_world "apart $apart"
  [ -z "$error_file" ] || echo "hpcbatch: warning: $apart" >>"$error_file"
}

# tell_of_worlds: at the end of the job: sets $warning to what its record says. A dedicated launcher has no ranks beside it: those
# of its hosts are looked at on the first.
tell_of_worlds() {
  warning='' where=$host
  case " $hosts " in
    *" $host "*) ;;
    *)
      if [ -s "$run/launches" ] && [ ! -s "$run/worlds" ] && [ "$event" != deleted ]; then
        where=${hosts%% *}
        # shellcheck disable=SC2094 # the other host's
        HPCBATCH_PLAIN=1 "$bin/ssh" -n -o ConnectTimeout=5 -o ConnectionAttempts=1 "$where" "cat $(quote "$run/worlds")" \
          >"$run/worlds" 2>/dev/null
      fi
      ;;
  esac
  read_worlds
  untold=
  [ "$where" = "$host" ] || untold=$warning
  # shellcheck disable=SC2086
  set -- $hosts
  if [ "$most" -gt 0 ] && [ $# -gt 1 ] && [ -z "$spread" ] && [ -z "$(unknown_launches)" ]; then
    alone="MPI ran on $where alone ($most ranks), though the job has $# hosts"
    warning="$alone${warning:+; $warning}" untold="$alone${untold:+; $untold}"
  fi
  [ -z "$untold" ] || echo "hpcbatch: warning: $untold" >>"$error_file"
}

# read_worlds: sets $warning, $spread, $known (launchers of worlds on one host), $count of these and $most ranks of one.
read_worlds() {
  spread='' known=' ' count=0 most=0
  { while read -r what rest; do
    case $what in
      apart) warning=${warning:-$rest} ;;
      spread) spread=yes ;;
      one)
        known="$known${rest#* } " count=$((count + 1))
        [ "${rest%% *}" -le "$most" ] || most=${rest%% *}
        ;;
    esac
  done <"$run/worlds"; } 2>/dev/null
}

# unknown_launches: launchers that have started daemons on other hosts (ssh.sh) and were too quick to be looked at. From a host of
# their own all start daemons.
unknown_launches() {
  [ -s "$run/launches" ] || return 0
  others=0
  sort -u "$run/launches" >"$run/launchers"
  while read -r launcher; do
    case $known in
      *" $launcher "*) ;;
      *) others=$((others + 1)) ;;
    esac
  done <"$run/launchers"
  [ "$where" = "$host" ] || others=$((others - count))
  [ $others -le 0 ] || echo $others
}
