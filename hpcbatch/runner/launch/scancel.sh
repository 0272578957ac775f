# shellcheck shell=sh
# shellcheck disable=SC2154 # variables of conf/job.sh, common.sh and step.sh
# `scancel [-b | -f] [-s SIGNAL] [-Q | -v] JOB[.STEP]...` in a job whose image has no scancel of its own: of this job.

. "$root/runner/own_job.sh"
misused() {
  printf 'scancel: %s\nTry "scancel --help" for more information\n' "$1" >&2
  exit 1
}
. "$root/runner/options.sh"
takes_of() {
  case $1 in
    --) takes=end ;;
    -[bfQvVH] | --batch | --full | --quiet | --verbose | --version | --hurry | --ctld | --help | --usage) takes=flag ;;
    -s | --signal) takes=value ;;
    -[AinMpqRtuw] | --account | --interactive | --name | --clusters | --partition | --qos | --reservation | --state | --user | --nodelist | --me | --wckey | --sibling)
      die "hpcbatch: ${1} is not known in a job: jobs are named by their numbers there" ;;
    *) takes= ;;
  esac
}
unknown() { case $1 in --*) misused "unrecognized option '$1'" ;; *) misused "invalid option -- '${2#-}'" ;; esac; }
valueless() { misused "option requires an argument -- '${1#-}'"; }
excess() { misused "option '$1' doesn't allow an argument"; }

# number_of SIGNAL: sets $number
number_of() {
  case $1 in
    *[!0-9]* | '') ;;
    *)
      number=$1
      [ "$number" -ge 1 ] && [ "$number" -le 64 ] && return
      ;;
  esac
  number=0
  word=$(printf %s "$1" | tr '[:lower:]' '[:upper:]')
  for name in HUP INT QUIT ILL TRAP ABRT BUS FPE KILL USR1 SEGV USR2 PIPE ALRM TERM STKFLT CHLD CONT STOP TSTP TTIN TTOU URG XCPU XFSZ; do
    number=$((number + 1))
    [ "${word#SIG}" != "$name" ] || return 0
  done
  die "Unknown job signal: $1"
}

scope=steps number='' verbose='' quiet=''
while next_option "$@"; do
  shift "$taken"
  case $option in
    -b | --batch) scope=script ;;
    -f | --full) scope=all ;;
    -s | --signal) number_of "$value" ;;
    -v | --verbose) verbose=yes ;;
    -Q | --quiet) quiet=yes ;;
    -V | --version) echo "$version_text" && exit ;;
    --help | --usage) echo "Usage: scancel [-b] [-f] [-s signal] [-Q] [-v] job[.step]..." && exit ;;
  esac
done
shift "$taken"
[ $# -gt 0 ] || die "No job identification provided"

. "$root/runner/processes.sh"
. "$root/runner/watch.sh"
. "$root/runner/step_limits.sh"
code=0
for id in "$@"; do
  case $id in
    [!0-9]*) die "Invalid job id $id" ;;
  esac
  step=
  case $id in *.*) step=${id##*.} ;; esac
  if ! is_own "${id%".$step"}"; then
    [ -n "$quiet" ] || tell_of_others "$id"
    code=1
    continue
  fi
  if [ -n "$verbose" ]; then
    if [ -n "$number" ]; then echo "scancel: Signal $number to job $id"; else echo "scancel: Terminating job $id"; fi >&2
  fi
  case $number:$step in
    : | :batch) end_own_run cancel ;;
    :*) end_step "$step" cancel ;;
    *:) deliver "$number" "$scope" ;;
    *:batch) deliver "$number" script ;;
    *) deliver "$number" "step.$step" ;;
  esac
done
exit $code
