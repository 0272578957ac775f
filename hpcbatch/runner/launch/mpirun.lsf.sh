# shellcheck shell=sh
# `mpirun.lsf [-np TASKS] PROGRAM`, which starts a program on all slots of the job, by the image's own mpirun.

. "$root/runner/options.sh"
takes_of() {
  case $1 in
    --) takes=end ;;
    -np | -n) takes=value ;;
    *) takes= ;;
  esac
}
# shellcheck disable=SC2317 # next_option calls them
unknown() { die "unknown option $1: expected -np"; }
# shellcheck disable=SC2317
valueless() { die "option $1 requires a value"; }

ntasks=
while next_option "$@"; do
  shift "$taken"
  # shellcheck disable=SC2154
  number "$option" "$value" && ntasks=$value
done
shift "$taken"
launch_world "$ntasks" 0 "$@"
