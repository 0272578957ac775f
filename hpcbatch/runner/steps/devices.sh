# shellcheck shell=sh
# shellcheck disable=SC2034,SC2154 # variables of conf/job.sh and common.sh
# The accelerators of a host of the job, and those of one task. `$accelerators` of conf/job.sh has a word for each of `$hosts`:
# `2:CUDA_VISIBLE_DEVICES`, how many there are and by which variable programs are told which of them are theirs; `0:` where there
# are none. Empty: no host has any.

# accelerators_of HOST: sets $visible to the variable, and $number
accelerators_of() {
  visible='' number=0 asked_host=$1
  [ -n "$accelerators" ] || return 0
  # shellcheck disable=SC2086
  set -- $accelerators
  for peer in $hosts; do
    [ "$peer" != "$asked_host" ] || { number=${1%%:*} visible=${1#*:} && return; }
    shift
  done
}

# devices_here: sets $visible and $devices, the names of this pod's devices for its programs: what the device plugin has put into the
# variable itself; slices of GPUs go by their ids, which it has put into NVIDIA_VISIBLE_DEVICES; all others are counted from 0.
devices_here() {
  accelerators_of "$host"
  devices=
  [ "$number" -gt 0 ] || return 0
  of_plugin=$(tr '\000' '\n' <"$run/pod.env" | sed -n "s/^$visible=//p")
  [ -n "$of_plugin" ] || of_plugin=$(tr '\000' '\n' <"$run/pod.env" | sed -n 's/^NVIDIA_VISIBLE_DEVICES=\(MIG-\)/\1/p')
  device_nth=0
  for device in $(printf %s "$of_plugin" | tr , ' '); do
    devices="$devices $device" device_nth=$((device_nth + 1))
  done
  [ $device_nth != "$number" ] || return 0
  devices='' device_nth=0
  while [ $device_nth -lt "$number" ]; do
    devices="$devices $device_nth" device_nth=$((device_nth + 1))
  done
}

# with_commas WORD...: sets $list
with_commas() {
  list=
  for device in "$@"; do list=$list${list:+,}$device; done
}

# item_of LIST NTH: prints the one of `a,b*2` with that number; the list begins anew when it is over
item_of() {
  printf '%s\n' "$1" | tr , '\n' | awk -F '*' -v nth="$2" '
    { times = $2 == "" ? 1 : $2; for (i = 0; i < times; i++) all[n++] = $1 } END { if (n) print all[nth % n] }'
}

# positions_of MASK: prints the numbers of the bits of a hexadecimal mask
positions_of() {
  printf '%s\n' "${1#0[xX]}" | awk '{
    for (i = length($0); i > 0; i--) {
      digit = index("0123456789abcdef", tolower(substr($0, i, 1))) - 1
      for (bit = 0; bit < 4; bit++) { if (digit % 2) print 4 * (length($0) - i) + bit; digit = int(digit / 2) }
    } }'
}

# bound_to NTH BIND COUNT: prints which of COUNT devices are those of the task with that number on its host, by srun's --gpu-bind;
# nothing where it names none of them
bound_to() {
  case $2 in
    per_task:*) awk -v nth="$1" -v each="${2#*:}" -v count="$3" 'BEGIN {
      for (i = nth * each; i < (nth + 1) * each && i - nth * each < count; i++) print i % count }' ;;
    single:*) [ "$3" -eq 0 ] || echo $(($1 / ${2#*:} % $3)) ;;
    map_gpu:*) item_of "${2#*:}" "$1" ;;
    mask_gpu:*) positions_of "$(item_of "${2#*:}" "$1")" ;;
    *) awk -v count="$3" 'BEGIN { for (i = 0; i < count; i++) print i }' ;;
  esac | awk -v count="$3" '$1 < count'
}

# own_devices NTH: of a task of a step: exports the variable with its devices. $SRUN_GPUS, which srun sets, has how tasks are bound,
# and what the step has of a host where that is not all: `per_task:1 HOST=0,1 …`.
own_devices() {
  own_nth=$1
  devices_here
  if [ "$number" -gt 0 ]; then
    bind=${SRUN_GPUS%% *} step_share=
    case " $SRUN_GPUS " in
      *" $host="*)
        step_share=${SRUN_GPUS#*" $host="}
        step_share=${step_share%% *}
        [ -n "$step_share" ] || step_share=none
        ;;
    esac
    # shellcheck disable=SC2086
    set -- $devices
    of_step=
    case $step_share in
      none) ;;
      '') of_step=$devices ;;
      *) for at in $(printf %s "$step_share" | tr , ' '); do eval "of_step=\"\$of_step \${$((at + 1))}\""; done ;;
    esac
    # shellcheck disable=SC2086
    set -- $of_step
    if [ $# -gt 0 ]; then SLURM_GPUS_ON_NODE=$#; else unset SLURM_GPUS_ON_NODE; fi
    [ $# -eq 0 ] || export SLURM_GPUS_ON_NODE
    # shellcheck disable=SC2086
    case $step_share in
      none) unset SLURM_STEP_GPUS ;;
      '') with_commas $(bound_to 0 all $#) && export SLURM_STEP_GPUS="$list" ;;
      *) export SLURM_STEP_GPUS="$step_share" ;;
    esac
    chosen=
    for at in $(bound_to "$own_nth" "$bind" $#); do eval "chosen=\"\$chosen \${$((at + 1))}\""; done
    if [ -z "$chosen" ] && [ $# -gt 0 ]; then
      echo "srun: hpcbatch: --gpu-bind=$bind names no GPU that task $SLURM_PROCID has on $host: it sees all of the step's" >&2
      chosen=$of_step
    fi
    # shellcheck disable=SC2086
    with_commas $chosen
    [ -z "$visible" ] || export "$visible=$list"
  fi
  unset SRUN_GPUS
}
