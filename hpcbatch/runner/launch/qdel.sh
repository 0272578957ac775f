# shellcheck shell=sh
# shellcheck disable=SC2154 # variables of conf/job.sh, common.sh and step.sh
# `qdel [-x] [-W force] JOB...` in a job whose image has no qdel of its own: of this job.

. "$root/runner/own_job.sh"
usage() {
  printf 'usage:\n\tqdel [-W force|suppress_email=X] [-x] job_identifier...\n\tqdel --version\n' >&2
  exit 2
}
while :; do
  case ${1-} in
    -x) shift ;;
    -W) [ $# -gt 1 ] || usage && shift 2 ;;
    -W?*) shift ;;
    --version) echo "$version_text" && exit ;;
    --) shift && break ;;
    -*) usage ;;
    *) break ;;
  esac
done
[ $# -gt 0 ] || usage
code=0
for id in "$@"; do
  if is_own "$id"; then
    end_own_run cancel
  else
    tell_of_others "$id"
    code=1
  fi
done
exit $code
