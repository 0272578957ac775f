# shellcheck shell=sh
# shellcheck disable=SC2034,SC2154 # variables of conf/job.sh, common.sh, step.sh, srun_options.sh and srun_where.sh
# The GPUs of a step: how many each of its tasks or hosts has, and which. A step that asks for some has them for itself: another that
# asks waits while there are not enough left. One that asks for none sees all that the job has. Sourced by srun_options.sh.

# Of the command line, each a number or empty. The job's own --gpus-per-task and --gpu-bind are in the environment.
gpus_task='' gpus_node='' gpus_step='' gpu_bind=''

# read_gpus OPTION TEXT: sets $count to that of `[type:]number[,…]`
read_gpus() {
  count=0
  for item in $(printf %s "$2" | tr , ' '); do
    case ${item##*:} in
      *[!0-9]*)
        case $item in *:* | [0-9]*) die "Invalid $1 specification" ;; esac
        count=$((count + 1))
        ;;
      *) count=$((count + ${item##*:})) ;;
    esac
  done
}

# read_gres TEXT: of `gpu[:type][:number],…`, or none
read_gres() {
  case $1 in none | NONE) gpus_node=0 && return ;; esac
  wanted=
  for item in $(printf %s "$1" | tr , ' '); do
    item=${item#gres[:/]}
    case $item in
      gpu) wanted=$wanted,1 ;;
      gpu[:=]*) wanted=$wanted,${item#gpu[:=]} ;;
      *) unapplied "--gres=$item" "a step has what its job has" ;;
    esac
  done
  [ -z "$wanted" ] || { read_gpus --gres "$wanted" && gpus_node=$count; }
}

# read_gpu_bind OPTION TEXT
read_gpu_bind() {
  text=${2#gres/gpu:}
  case $text in verbose,*) unapplied --gpu-bind=verbose "there is no more to tell" && text=${text#verbose,} ;; esac
  case $text in
    per_task:[1-9]* | single:[1-9]*) case ${text#*:} in *[!0-9]*) text= ;; esac ;;
    map_gpu:*) case ${text#*:} in '' | *[!0-9,*]*) text= ;; esac ;;
    mask_gpu:*) case ${text#*:} in '' | *[!0-9a-fA-FxX,*]*) text= ;; esac ;;
    n*) text=none ;;
    c*) unapplied "--gpu-bind=closest" "what is near a GPU is not known here; tasks see all of the step's" && text=none ;;
    *) text= ;;
  esac
  [ -n "$text" ] || die "Invalid $1 argument: gpu:$2" 255
  gpu_bind=$text
}

# settle_gpus: what follows from what was given
settle_gpus() {
  has_gpus=$gpus_task$gpus_node$gpus_step
  [ -n "$gpus_task" ] || [ -n "$gpus_node$gpus_step" ] || inherited_gpus=${SLURM_GPUS_PER_TASK:-}
  [ -n "$gpu_bind" ] || [ -z "${SLURM_GPU_BIND:-}" ] || read_gpu_bind SLURM_GPU_BIND "$SLURM_GPU_BIND"
  if [ -z "$gpu_bind" ]; then
    if [ -n "$gpus_task" ]; then
      [ "$gpus_task" = 0 ] || gpu_bind=per_task:$gpus_task
    elif [ -n "$inherited_gpus" ]; then
      read_gpus SLURM_GPUS_PER_TASK "$inherited_gpus" && [ "$count" = 0 ] || gpu_bind=per_task:$count
    elif [ -n "${tasks_per_gpu:-${SLURM_NTASKS_PER_GPU:-}}" ]; then
      gpu_bind=single:${tasks_per_gpu:-$SLURM_NTASKS_PER_GPU}
    fi
  fi
}
inherited_gpus='' tasks_per_gpu=''

# of_host_gpus TASKS: sets $need, what a host with so many tasks of the step needs
of_host_gpus() {
  need=0
  if [ -n "$gpus_node" ]; then
    need=$gpus_node
  elif [ -n "$gpus_task" ]; then
    need=$((gpus_task * $1))
  elif [ -n "$gpus_step" ]; then
    need=$((gpus_step / wanted_nodes))
  fi
}

# free_gpus HOST: sets $free_here to the positions of the GPUs there that no other step has, between blanks
free_gpus() {
  accelerators_of "$1"
  busy=' ' free_here=' ' position=0
  if [ -z "$trial$overlap" ]; then
    for file in "$steps"/*.gpus; do
      { read -r owner words <"$file"; } 2>/dev/null || continue
      if kill -0 "$owner" 2>/dev/null; then
        for one in $words; do
          [ "${one%%=*}" != "$1" ] || busy="$busy$(printf %s "${one#*=}" | tr , ' ') "
        done
      else
        rm -f "$file"
      fi
    done
  fi
  while [ $position -lt "$number" ]; do
    case $busy in *" $position "*) ;; *) free_here="$free_here$position " ;; esac
    position=$((position + 1))
  done
}

# gpu_room HOST TASKS: sets $room to how many of so many tasks find their GPUs there
gpu_room() {
  room=$2
  [ -n "$has_gpus" ] || return 0
  free_gpus "$1"
  # shellcheck disable=SC2086
  set -- "$2" $free_here
  of_host_gpus 1
  [ "$need" -gt 0 ] || return 0
  if [ -n "$gpus_task" ] && [ -z "$gpus_node" ]; then
    [ $((($# - 1) / gpus_task)) -ge "$room" ] || room=$((($# - 1) / gpus_task))
  elif [ $(($# - 1)) -lt "$need" ]; then
    room=0
  fi
}

# take_gpus: sets $taken_gpus to `host=0,1 …` for $layout; fails where there are not enough
take_gpus() {
  taken_gpus=
  [ -n "$has_gpus" ] || return 0
  left=${gpus_step:-0} hosts_left=0
  for word in $layout; do hosts_left=$((hosts_left + 1)); done
  for word in $layout; do
    of_host_gpus "${word#*:}"
    [ "$left" = 0 ] || [ -n "$gpus_node$gpus_task" ] || need=$(((left + hosts_left - 1) / hosts_left))
    free_gpus "${word%:*}"
    some='' got=0
    for position in $free_here; do
      [ "$got" -lt "$need" ] || break
      some=$some${some:+,}$position got=$((got + 1))
    done
    [ "$got" = "$need" ] || return 1
    left=$((left - got)) hosts_left=$((hosts_left - 1))
    taken_gpus="$taken_gpus ${word%:*}=$some"
  done
}

# too_many_gpus: no host of the job has what the step asks for, whatever else runs
too_many_gpus() { die "Unable to create step for job $job_id: Invalid generic resource (gres) specification"; }
