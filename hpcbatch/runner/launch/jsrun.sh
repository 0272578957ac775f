# shellcheck shell=sh
# shellcheck disable=SC2154 # variables of step.sh
# `jsrun -n SETS [-a TASKS] [-c CPUS] [-g GPUS] [-r SETS-PER-HOST] ... PROGRAM`, of IBM's JSM, by the image's own mpirun: a resource set is so
# many tasks on one host.

unapplied() { echo "jsrun: hpcbatch: $1 is not applied: a pod does not bind tasks, and a launch has what its job has" >&2; }
. "$root/runner/options.sh"
takes_of() {
  case $1 in
    --) takes=end ;;
    --nrs | --tasks_per_rs | --cpu_per_rs | --gpu_per_rs | --rs_per_host | --np | --bind | --launch_distribution | --latency_priority | --chdir | \
      --env | --exit_on_error | --smpiargs | --stdio_mode | --stdio_stdout | --stdio_stderr | --stdio_input | --memory_per_rs | --launch_node_task | \
      --kill_on_error | --appfile | --erf_input | --save_resources | --use_resources | --use_reservation | --progress) takes=value ;;
    --immediate | --env_no_propagate | --smpi_off | --debug) takes=alone ;;
    -[nacgrpbdlhEFXMKkotemLfUJSZ]) takes=value ;;
    -[iVD]) takes=flag ;;
    *) takes= ;;
  esac
}
unknown() { die "unknown option $1: expected -n, -a, -c, -g, -r, -p, -b, -d and the others of jsrun"; }
valueless() { die "option $1 requires a value"; }

sets='' per_set=1 cpus_of_set='' per_host='' tasks='' out=''
while next_option "$@"; do
  shift "$taken"
  case $option in
    -n | --nrs)
      case $value in ALL_HOSTS | all_hosts) value=$(printf '%s\n' "$hosts" | wc -w) per_host=1 ;; esac
      number -n "$value" && sets=$value
      ;;
    -a | --tasks_per_rs) number -a "$value" && per_set=$value ;;
    -c | --cpu_per_rs)
      case $value in
        ALL_CPUS | all_cpus) per_host=1 ;;
        *) number -c "$value" && cpus_of_set=$value ;;
      esac
      ;;
    -r | --rs_per_host) number -r "$value" && per_host=$value ;;
    -p | --np) number -p "$value" && tasks=$value ;;
    -g | --gpu_per_rs) ;; # the GPUs of the pods are those of the job
    -h | --chdir) cd "$value" 2>/dev/null || die "cannot change to directory $value" ;;
    -E | --env)
      case ${value%%=*} in
        '' | [!A-Za-z_]* | *[!A-Za-z0-9_]*) die "-E $value: expected NAME or NAME=value" ;;
      esac
      case $value in *=*) export "${value?}" ;; esac
      ;;
    -o | --stdio_stdout) out=$value ;;
    -i | --immediate | -X | --exit_on_error | -D | --smpiargs | -M) ;;
    -U | -J | -S | --appfile | --erf_input | --use_resources | --save_resources | --use_reservation | -f)
      die "$option is not supported here: sets are -n, -a, -c, -g and -r" ;;
    *) unapplied "$option" ;;
  esac
done
shift "$taken"
[ $# -gt 0 ] || die "no program to run"
if [ -z "$tasks" ]; then
  # shellcheck disable=SC2086
  [ -n "$sets" ] || sets=$((${per_host:-1} * $(set -- $hosts && echo $#)))
  tasks=$((sets * per_set))
fi
limit=0
if [ -n "$per_host" ]; then
  limit=$((per_host * per_set))
elif [ "$exclusive" = yes ]; then # whole nodes (-nnodes): slots do not count
  # shellcheck disable=SC2086
  hosts_of_job=$(set -- $hosts && echo $#)
  limit=$(((tasks + hosts_of_job - 1) / hosts_of_job))
fi
if [ $per_set -gt 0 ] && [ -n "$cpus_of_set" ]; then
  threads=$((cpus_of_set / per_set))
  [ $threads -lt 1 ] || export OMP_NUM_THREADS="${OMP_NUM_THREADS:-$threads}"
fi
[ -z "$out" ] || exec >"$out" || exit 1
launch_world "$tasks" "$limit" "$@"
