# shellcheck shell=sh
# shellcheck disable=SC2154 # variables of step.sh
# `mpiexec_mpt [-n TASKS] [-ppn N] PROGRAM`, of HPE's MPT, by the image's own mpirun.

. "$root/runner/options.sh"
takes_of() {
  case $placer:$1 in
    ?*:-nt | ?*:-c | ?*:-s | ?*:-x | ?*:-b | ?*:-bs | ?*:-ht | ?*:-tm) takes=next ;;
    ?*:*) takes=alone ;;
    :-n | :-np | :-ppn | :-perhost) takes=next ;;
    :-v | :-verbose | :-stats) takes=alone ;;
    *) takes= ;;
  esac
}
unknown() { die "unknown option $1: expected -n or -ppn"; }
valueless() { [ -z "$placer" ] || die "option $1 requires a value"; }
unapplied() { echo "mpiexec_mpt: hpcbatch: $1 is not applied: $2" >&2; }

ntasks='' per_host=0 placer=
while :; do
  if next_option "$@"; then
    shift "$taken"
    case $placer:$option in
      :-n | :-np) number -n "$value" && ntasks=$value ;;
      :-ppn | :-perhost) number "$option" "$value" && per_host=$value ;;
      :*) unapplied "$option" "it is the image's own mpirun that starts the program" ;;
    esac
    continue
  fi
  case ${1-} in
    dplace | omplace) # its own options follow
      unapplied "$1" "a pod does not bind tasks"
      placer=$1
      shift
      ;;
    *) break ;;
  esac
done
launch_world "$ntasks" "$per_host" "$@"
