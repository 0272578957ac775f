# shellcheck shell=sh
# shellcheck disable=SC2154 # variables of step.sh
# `ibrun [-n TASKS] [-o OFFSET] PROGRAM`, of TACC, by the image's own mpirun. OFFSET is the first slot of the job to use.

. "$root/runner/options.sh"
takes_of() {
  case $1 in
    -n | -np | -o) takes=next ;;
    *) takes= ;;
  esac
}
unknown() { die "unknown option $1: expected -n or -o"; }
valueless() { case $1 in -o) die "option -o requires a value" ;; esac; }

ntasks='' offset=0
while next_option "$@"; do
  shift "$taken"
  case $option in
    -n | -np) number -n "$value" && ntasks=$value ;;
    -o) offset=$value ;;
  esac
done
case $offset in '' | *[!0-9]*) die "Invalid numeric value \"$offset\" for -o." ;; esac
skip_slots=$offset
launch_world "$ntasks" 0 "$@"
