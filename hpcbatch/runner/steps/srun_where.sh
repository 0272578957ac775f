# shellcheck shell=sh
# shellcheck disable=SC2034,SC2154 # variables of conf/job.sh, common.sh, step.sh, and srun_options.sh
# On which hosts of the job a step runs, and how many of its tasks on each. Sourced by srun.sh: functions, and the locks.

planned='' trial=''

listed() { printf ' %s ' "$(expand "$2" | tr '\n' ' ')" | grep -q " $1 "; }

# read_groups LIST: sets $groups, the components of a heterogeneous job that the step runs in
read_groups() {
  groups=
  case $1 in '' | *[!0-9,-]*) die "Invalid --het-group specification: '$1'" ;; esac
  # shellcheck disable=SC2086
  last_group=$(set -- 0 $components && shift $(($# - 1)) && echo "$1")
  for group in $(expand "[$1]"); do
    [ "$group" -le "$last_group" ] ||
      die "Attempt to run a job step with het group value of $group, but the job allocation has maximum value of $last_group"
    groups="$groups $group"
  done
  [ -n "$groups" ] || die "Invalid --het-group specification: '$1'"
}

# component_hosts NUMBER: sets $all to the words of job_hosts of one component; of all where the job has no components.
component_hosts() {
  job_hosts
  [ -n "$components" ] || return 0
  rest=$components of_job=$all all=
  for word in $of_job; do
    [ "${rest%% *}" != "$1" ] || all="$all $word"
    rest=${rest#* }
  done
}

# may_run_on COMPONENT: sets $chosen, $ntasks, $cpus_per_task and the like from the options
may_run_on() {
  component_hosts "$1"
  chosen='' skipped=0
  for word in $all; do
    name=${word%%:*}
    [ -z "$nodelist" ] || listed "$name" "$nodelist" || continue
    [ -z "$exclude" ] || ! listed "$name" "$exclude" || continue
    skipped=$((skipped + 1))
    [ $skipped -gt "$relative" ] || continue
    chosen="$chosen $word"
  done
  if [ -n "$nodelist" ]; then
    for name in $(expand "$nodelist"); do
      case " $all" in
        *" $name:"*) ;;
        *) die "Unable to create step for job $job_id: Requested node configuration is not available" ;;
      esac
    done
  fi
  [ -n "$chosen" ] || die "Unable to create step for job $job_id: Requested node configuration is not available"
  available=$(count_hosts)
  if [ -n "$nodes" ] && [ "$nodes" -gt "$available" ]; then
    [ "$relative" = 0 ] ||
      die "--relative and --nodes option incompatible with count of allocated nodes ($relative+$nodes>$skipped)"
    [ -z "$nodelist$exclude" ] || die "Unable to create step for job $job_id: Requested node configuration is not available"
    die "Only allocated $available nodes asked for $nodes"
  fi
  [ "$distribution" != arbitrary ] || read_hostfile
  wanted_nodes=${max_nodes:-${nodes:-$available}}
  [ "$wanted_nodes" -le "$available" ] || wanted_nodes=$available
  if [ -z "$ntasks" ]; then
    if [ -n "$per_node" ]; then
      ntasks=$((wanted_nodes * per_node))
    elif [ "$1" != 0 ]; then
      eval "ntasks=\$SLURM_NTASKS_HET_GROUP_$1 each=\$SLURM_NTASKS_PER_NODE_HET_GROUP_$1"
      ntasks=${ntasks:-$((wanted_nodes * ${each:-1}))}
    elif [ -n "$SLURM_NTASKS" ]; then
      ntasks=$SLURM_NTASKS
    else
      ntasks=$((wanted_nodes * ${SLURM_NTASKS_PER_NODE:-1}))
    fi
  fi
  [ "$wanted_nodes" -le "$ntasks" ] || wanted_nodes=$ntasks
  cpus_per_task=${cpus_per_task:-1}
}

# shellcheck disable=SC2086
count_hosts() { set -- $chosen && echo $#; }

# read_hostfile: sets $by_task to the host of each task: as -w names them, else as $SLURM_HOSTFILE does, a line for each
read_hostfile() {
  by_task='' listed=0
  [ -n "$nodelist" ] || [ -z "${SLURM_HOSTFILE:-}" ] || set -- "$(cat "$SLURM_HOSTFILE")"
  for name in $([ -z "$nodelist$*" ] || expand "${nodelist:-$1}"); do
    [ "$listed" -lt "${ntasks:-$((listed + 1))}" ] || break
    by_task="$by_task $name" listed=$((listed + 1))
    case " $chosen" in
      *" $name:"*) ;;
      *) die "Unable to create step for job $job_id: Requested node configuration is not available" ;;
    esac
  done
  ntasks=${ntasks:-$listed}
  [ "$listed" -gt 0 ] && [ "$listed" -ge "$ntasks" ] || die "You asked for $ntasks tasks but hostlist specified $listed nodes"
}

# lay_out_by_task: sets $layout from $by_task; fails where a host has no room for its tasks
lay_out_by_task() {
  layout=
  for word in $free; do
    name=${word%%:*} here=0
    for host_of_task in $by_task; do
      [ "$host_of_task" != "$name" ] || here=$((here + 1))
    done
    [ $here -le "$(of_host 2 "$word")" ] || return 1
    [ $here = 0 ] || layout="$layout $name:$here"
  done
}

# CPUs: what other steps of the job have is written down in $run/steps, by the process that started each.

# lock: until `unlock` or this process has gone, however that is. Without flock the one who finds that its owner has gone
# takes the lock away; its content is there at the moment it is.
lock() {
  if command -v flock >/dev/null 2>&1; then
    exec 9>"$steps/lock" && flock 9
    return
  fi
  echo $$ >"$steps/me.$$"
  until ln "$steps/me.$$" "$steps/locked" 2>/dev/null; do
    owner=
    { read -r owner <"$steps/locked"; } 2>/dev/null
    if [ -n "$owner" ] && ! kill -0 "$owner" 2>/dev/null; then
      rm -f "$steps/locked" "$steps/me.$owner"
    else
      nap
    fi
  done
}

unlock() {
  exec 9>&-
  rm -f "$steps/me.$$"
  [ ! -e "$steps/locked" ] || rm -f "$steps/locked"
}

# free_hosts: sets $free to `host:tasks that fit:ranks` words of $chosen.
free_hosts() {
  used=$planned
  for file in "$steps"/*.step; do
    [ -z "$trial" ] || break
    { read -r owner one <"$file"; } 2>/dev/null || continue
    if kill -0 "$owner" 2>/dev/null; then
      used="$used $one"
    else
      rm -f "$file"
    fi
  done
  free=
  for word in $chosen; do
    name=${word%%:*}
    cores=$(of_host 2 "$word")
    if [ -n "$overcommit" ]; then
      cores=1000000
    elif [ -z "$overlap" ]; then
      for one in $used; do
        [ "${one%:*}" != "$name" ] || cores=$((cores - ${one#*:}))
      done
    fi
    gpu_room "$name" $((cores / cpus_per_task))
    free="$free $name:$room:$(of_host 3 "$word")"
  done
}

# choose: sets $layout from $free: as the job's own tasks lie if all are requested, else on the first hosts with room.
choose() {
  if [ "$distribution" = arbitrary ]; then
    lay_out_by_task
    return
  fi
  if [ -z "$nodelist$exclude$per_node" ] && [ "$relative" = 0 ] && [ "$wanted_nodes" = "$available" ]; then
    total=0 fits=yes layout=
    for word in $free; do
      ranks=$(of_host 3 "$word")
      total=$((total + ranks))
      [ "$ranks" -gt 0 ] && [ "$ranks" -le "$(of_host 2 "$word")" ] || fits=
      layout="$layout ${word%%:*}:$ranks"
    done
    [ "$total" != "$ntasks" ] || [ -z "$fits" ] || return 0
  fi
  some='' number_of=0
  for word in $free; do
    [ "$(of_host 2 "$word")" -gt 0 ] || continue
    [ $number_of -lt "$wanted_nodes" ] || break
    some="$some $word" number_of=$((number_of + 1))
  done
  if [ $number_of -lt "$wanted_nodes" ]; then
    # fewer hosts than the job has may do
    [ $number_of -ge "${nodes:-1}" ] || return 1
  fi
  # shellcheck disable=SC2086
  if [ -n "$packs" ]; then lay_out "$ntasks" "${per_node:-0}" $some; else spread "$ntasks" "${per_node:-0}" $some; fi
}

# spread N LIMIT WORD...: as lay_out, but one task after the other goes to the next host with room; only their numbers follow
# the distribution. Source: _task_layout_block() and _task_layout_cyclic(), 22.05.
spread() {
  left=$1 most=$2
  shift 2
  layout=$(printf '%s\n' "$@" | awk -F : -v left="$left" -v most="$most" '
    { name[NR] = $1; room[NR] = most > 0 && most < $2 + 0 ? most : $2 + 0 }
    END {
      for (round = 0; left > 0; round++) {
        before = left
        for (i = 1; i <= NR && left > 0; i++) if (round < room[i]) { has[i]++; left-- }
        if (left == before) exit 1
      }
      for (i = 1; i <= NR; i++) if (has[i]) printf " %s:%d", name[i], has[i]
    }') || return 1
}

# plan: sets $layout, `host:tasks` words of all parts of the step, and $taken, the CPUs that they take; fails where there is no room.
plan() {
  layout='' taken=''
  if [ -z "$is_het" ]; then
    free_hosts
    choose && take_gpus && take_cpus
    return
  fi
  ntasks=0 ends='' nth=0 planned=
  while [ $nth -lt "$parts" ]; do
    eval "part=\$part_$nth"
    found=$(eval "plan_part $nth $part") || {
      [ $? = 75 ] || exit 1 # plan_part has said why
      return 1
    }
    while read -r total each words; do
      for word in $words; do
        add_to_layout "${word%:*}" "${word#*:}"
        planned="$planned ${word%:*}:$((${word#*:} * each))"
      done
      ntasks=$((ntasks + total))
    done <<PARTS
$found
PARTS
    ends="$ends $ntasks"
    nth=$((nth + 1))
  done
  [ -n "$overlap" ] || taken=$planned
}

# add_to_layout HOST TASKS: parts of one component share its hosts
add_to_layout() {
  case $layout in
    *" $1:"*' '*) die "parts of a step that run on one host must follow each other, as they do not on $1" ;;
    *" $1:"*) layout="${layout%:*}:$((${layout##*:} + $2))" ;;
    *) layout="$layout $1:$2" ;;
  esac
}

# plan_part NUMBER WORD...: what lies after one `:` of the command line: prints its tasks, the CPUs of each and its layout, a line for
# each component; 75: there is no room now. A subshell, since it reads options of its own.
plan_part() (
  default_group=$1
  shift
  . "$root/runner/srun_options.sh"
  [ -n "$quiet$trial" ] || [ "$default_group" = 0 ] || printf %s "$notes" >&2
  asked=$ntasks
  for group in $groups; do
    ntasks=$asked
    may_run_on "$group"
    free_hosts
    choose || exit 75
    echo "$ntasks $cpus_per_task$layout"
    take_cpus
    planned="$planned $taken"
  done
)

take_cpus() {
  taken=
  if [ -z "$overlap" ]; then
    for word in $layout; do
      taken="$taken ${word%:*}:$((${word#*:} * cpus_per_task))"
    done
  fi
}

# split WORD...: sets $parts, how many lie between `:` words, and $part_0, $part_1 … to their quoted words
split() {
  parts=0 part=
  for word in "$@" :; do
    if [ "$word" = : ]; then
      [ -n "$part" ] || die "No command given to execute."
      eval "part_$parts=\$part"
      parts=$((parts + 1)) part=
    else
      part="$part $(quote "$word")"
    fi
  done
}

# set_programs: sets $program to a command of a shell that becomes the program of its task's part
set_programs() {
  program='' nth=0
  for end in $ends; do
    eval "part=\$part_$nth"
    program="$program[ \"\$SLURM_PROCID\" -ge $end ] || exec$(eval "words_of $part")
"
    nth=$((nth + 1))
  done
}

# words_of WORD...: prints the quoted words of a part's program
words_of() {
  . "$root/runner/srun_options.sh"
  for word in "$@"; do printf ' %s' "$(quote "$word")"; done
}
