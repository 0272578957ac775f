# shellcheck shell=sh
# shellcheck disable=SC2154 # variables of conf/job.sh and common.sh
# What the launchers share: which hosts of the job get how many tasks, and how these are started. Sourced by a command that
# the script calls, so its environment is the script's.

tool=${0##*/}
tool=${tool%-own}

# die MESSAGE [CODE]
die() {
  printf '%s: error: %s\n' "$tool" "$1" >&2
  exit "${2:-1}"
}

# number OPTION VALUE: VALUE, a count of at least 1
number() {
  case $2 in
    '' | *[!0-9]* | 0*) die "Invalid numeric value \"$2\" for $1." ;;
  esac
}

# The hosts as `host:CPUs:ranks` words, in the job's order. A dedicated launcher's pod is none of them.
job_hosts() {
  # shellcheck disable=SC2086
  set -- $cpus
  all=
  for peer in $hosts; do
    ranks=$(sed -n "s/^$peer://p" "$root/job/conf/hydra")
    all="$all $peer:$1:${ranks:-0}"
    shift
  done
}

# of_host FIELD WORD
of_host() { printf '%s' "$2" | cut -d : -f "$1"; }

# lay_out N LIMIT WORD...: N tasks over hosts `host:free:ranks`, at least one each, in blocks of as many as are free, LIMIT at most
# (0: none). Sets $layout to `host:tasks` words; fails where there is no room.
lay_out() {
  left=$1 most=$2
  shift 2
  layout=
  [ "$left" -ge $# ] || return 1
  waiting=$(($# - 1)) # hosts after this one, each of which gets one
  for word in "$@"; do
    room=$(of_host 2 "$word")
    [ "$most" -eq 0 ] || [ "$room" -le "$most" ] || room=$most
    take=$((left - waiting))
    [ $take -le "$room" ] || take=$room
    [ "$take" -gt 0 ] || return 1
    layout="$layout ${word%%:*}:$take"
    left=$((left - take)) waiting=$((waiting - 1))
  done
  [ "$left" -eq 0 ]
}

# mpi_family: sets $family to openmpi, mpich or intel, by the mpirun on PATH, and $mpirun; empty where there is none.
mpi_family() {
  family='' mpirun=
  for name in mpirun mpiexec.hydra mpiexec; do
    # by its name: Open MPI that is started by a path looks for its daemon beside, where a link does not lead
    command -v $name >/dev/null && mpirun=$name && break
  done
  [ -n "$mpirun" ] || return 0
  version=$("$mpirun" --version 2>/dev/null </dev/null | head -n 2)
  case $version in
    *'Open MPI'* | *OpenRTE* | *PRRTE* | *prte*) family=openmpi ;;
    *'Intel(R) MPI'*) family=intel ;;
    *HYDRA* | *Hydra*) family=mpich ;;
    *) mpirun= ;;
  esac
}

# mpi_of PROGRAM: prints what it has to do with MPI: `mpi`, it is linked to an MPI library; `direct`, nothing: it is linked to
# none, and is no program that is there to start or load others; `world`, MPI may come from it.
mpi_of() {
  found=$(command -v "$1" 2>/dev/null) && is_program "$found" || { echo direct && return; }
  libraries=$(ldd "$found" 2>/dev/null) || libraries=unknown # a script, or linked statically
  case ${found##*/}:$libraries in
    *:*libmpi* | *:*libpmi*) echo mpi ;;
    *:unknown | *sh:* | busybox:* | python*:* | pypy*:* | perl*:* | ruby*:* | java:* | julia*:* | Rscript:* | lua*:* | node:* | octave*:* | \
      matlab*:* | env:* | nice:* | nohup:* | setsid:* | stdbuf:* | chrt:* | ionice:* | numactl:* | taskset:* | time:* | timeout:* | \
      prlimit:* | unshare:* | xargs:* | parallel:* | make:* | singularity:* | apptainer:* | gdb:* | strace:* | ltrace:* | perf:* | \
      valgrind*:*) echo world ;;
    *) echo direct ;;
  esac
}

# linked_to PROGRAM: sets $libraries to the MPI libraries that it is linked to, as far as can be seen; fails where there are none.
linked_to() {
  libraries=
  found=$(command -v "$1" 2>/dev/null) && libraries=$(ldd "$found" 2>/dev/null | grep -o 'libmpi[a-z_]*\.so[.0-9]*' | tr '\n' ' ')
  [ -n "$libraries" ]
}

# tell_of_single_ranks PROGRAM TASKS REASON: each task of an MPI program that no mpirun starts is rank 0 of a world of its own.
# The job's record has it too (worlds.sh).
tell_of_single_ranks() {
  [ "$2" -gt 1 ] && linked_to "$1" || return 0
  apart="$1 is an MPI program: $tool starts $2 worlds of one rank, not one world of $2 ranks ($3)"
  echo "hpcbatch: warning: $apart" >&2
  grep -qs '^apart ' "$run/worlds" || echo "apart $apart" >>"$run/worlds"
}

# in_turn: the hosts of $layout, a line for each task in cyclic order; $plane tasks in each turn
in_turn() {
  # shellcheck disable=SC2086
  printf '%s\n' $layout | awk -F : -v plane="${plane:-1}" '
    { host[NR] = $1; tasks[NR] = $2; if ($2 > most) most = $2 }
    END {
      for (turn = 0; turn < most; turn += plane)
        for (i = 1; i <= NR; i++) for (one = turn; one < turn + plane && one < tasks[i]; one++) print host[i]
    }'
}

# tell_of_library PROGRAM: where $mpirun is of another family than the program, each rank may be a world of its own, too.
tell_of_library() {
  linked_to "$1" || return 0
  case $family:$libraries in
    openmpi:*libmpi.so.12* | openmpi:*libmpich.so* | openmpi:*libmpi_abi.so*) theirs='MPICH or Intel MPI' ours='Open MPI' ;;
    mpich:*libmpi.so.[2-9]* | intel:*libmpi.so.[2-9]*) theirs='Open MPI' ours='MPICH or Intel MPI' ;;
    *) return 0 ;;
  esac
  echo "$tool: hpcbatch: $1 is linked to $theirs, but $(command -v "$mpirun") is of $ours:" \
    "each rank may be a world of its own" >&2
}

# start_with_mpi LAYOUT-ORDER N PROGRAM...: becomes the launcher of one MPI world over $layout. LAYOUT-ORDER is block, cyclic, plane, of
# which Open MPI knows none, or arbitrary: as $by_task says.
start_with_mpi() {
  order=$1 total=$2
  shift 2
  if [ "$family:$order" = openmpi:plane ]; then
    echo "$tool: hpcbatch: ranks of Open MPI are laid out by block, not by plane" >&2
    order=block
  fi
  file=$(mktemp "$run/hosts.XXXXXX") || die "cannot write to $run"
  case $family:$order in
    # shellcheck disable=SC2086
    *:arbitrary) printf '%s\n' $by_task ;;
    openmpi:*) for word in $layout; do printf '%s slots=%s\n' "${word%:*}" "${word#*:}"; done ;;
    *:cyclic | *:plane) in_turn ;; # -ppn 1 would forget how many each may have
    *) for word in $layout; do printf '%s\n' "$word"; done ;;
  esac >"$file"
  case $family:$order in
    openmpi:arbitrary) set -- --hostfile "$file" --map-by seq -np "$total" "$@" ;;
    openmpi:block) set -- --hostfile "$file" --map-by slot -np "$total" "$@" ;;
    openmpi:*) set -- --hostfile "$file" --map-by node -np "$total" "$@" ;;
    mpich:*) set -- -f "$file" -n "$total" "$@" ;;
    intel:*) set -- -machinefile "$file" -n "$total" "$@" ;;
  esac
  # shellcheck disable=SC2086
  exec $defaults "$mpirun" "$@"
}

# default_signals: sets $defaults to words before a command that give it back the signals which a shell without job control takes
# from what it starts in the background.
defaults=
default_signals() {
  ! env --default-signal=INT,QUIT true 2>/dev/null || defaults='env --default-signal=INT,QUIT'
}

# copy_input PIPE...: becomes what copies its input into each of these, also when nobody reads one any more
copy_input() {
  trap '' PIPE
  exec tee "$@" >/dev/null 2>&1
}

# start_on HOST COMMAND...: by ssh, or here. $is_on_terminal: the command has this terminal.
start_on() {
  where=$1
  shift
  if [ "$where" = "$host" ] || [ "$has_peers" = no ]; then
    "$@"
    return
  fi
  line=
  for word in "$@"; do
    line="$line $(quote "$word")"
  done
  line="cd $(quote "$PWD") 2>/dev/null; exec$line"
  if [ -p /proc/self/fd/1 ] || [ -p /proc/self/fd/2 ]; then
    # ssh makes a pipe that it writes to non-blocking, which fails others that write to it: it gets pipes of its own
    { code=$({ { { "$bin/ssh" "$where" "$line" 2>&7; echo $? >&5; } 7>&1 >&8 | cat >&2; } 8>&1 | cat >&6; } 5>&1); } 6>&1
    return "${code:-143}" # ended by a signal, with all its group
  fi
  "$bin/ssh" ${is_on_terminal:+-tt} "$where" "$line"
}

# launch_world TASKS PER-HOST PROGRAM...: as one MPI world on the slots of the job, of which the first $skip_slots stay free; TASKS
# empty: on all of them, PER-HOST 0: as many as each has.
launch_world() {
  asked=$1 limit=$2
  shift 2
  [ $# -gt 0 ] || die "no program to run"
  for word in "$@"; do
    [ "$word" != : ] || die "several programs in one launch ($tool a : b) are not supported"
  done
  mpi_family
  [ -n "$family" ] || die "there is no mpirun on PATH: it starts MPI programs with the image's own (Open MPI, MPICH or Intel MPI)" 127
  job_hosts
  layout='' total=0 skip=${skip_slots:-0}
  for word in $all; do
    room=$(of_host 3 "$word")
    [ "$limit" -eq 0 ] || room=$limit
    gone=$skip
    [ "$gone" -le "$room" ] || gone=$room
    skip=$((skip - gone)) room=$((room - gone))
    if [ -n "$asked" ] && [ $((total + room)) -gt "$asked" ]; then
      room=$((asked - total))
    fi
    [ $room -gt 0 ] || continue
    layout="$layout ${word%%:*}:$room" total=$((total + room))
  done
  [ $total -ge "${asked:-1}" ] || die "${asked:-1} tasks asked for, the job's hosts have room for $total"
  tell_of_library "$1"
  start_with_mpi block $total "$@"
}

# expand LIST: host names, one a line, of `a,b[1-3,07],c`; of several brackets the last runs fastest, of those before it the first
expand() {
  printf '%s\n' "$1" | awk '{
    n = length($0); depth = 0; word = ""
    for (i = 1; i <= n + 1; i++) {
      c = i > n ? "," : substr($0, i, 1)
      if (c == "[") depth++
      if (c == "]") depth--
      if (c == "," && depth == 0) { spread(word); word = "" } else word = word c
    }
  }
  function spread(word,   a, b, total, tail, is_last, count, m, k, made, fresh) {
    a = index(word, "[")
    if (a == 0) { if (word != "") print word; return }
    made[1] = substr(word, 1, a - 1); count = 1
    while (!is_last && (b = index(word, "]")) > a) {
      total = numbers(substr(word, a + 1, b - a - 1))
      word = substr(word, b + 1)
      a = index(word, "["); is_last = a == 0
      tail = is_last ? word : substr(word, 1, a - 1)
      if (is_last)
        for (m = 1; m <= count; m++) for (k = 1; k <= total; k++) print made[m] number[k] tail
      else
        for (k = 1; k <= total; k++) for (m = 1; m <= count; m++) fresh[(k - 1) * count + m] = made[m] number[k] tail
      count *= total
      for (m = 1; m <= count && !is_last; m++) made[m] = fresh[m]
    }
  }
  function numbers(text,   parts, k, m, ends, from, to, at, found) {
    k = split(text, parts, ",")
    for (m = 1; m <= k; m++) {
      split(parts[m], ends, "-")
      from = ends[1]; to = ends[2] == "" ? ends[1] : ends[2]
      for (at = from + 0; at <= to + 0; at++) number[++found] = sprintf("%0" length(from) "d", at)
    }
    return found + 0
  }'
}
