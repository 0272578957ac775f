# shellcheck shell=sh
# shellcheck disable=SC2154 # variables of conf/job.sh, common.sh and step.sh
# `sbcast [-f] [-p] [-v] [-j JOB] SOURCE DEST`: a copy of the file on each host of the job, whole or not at all. On the login node the
# command of the same name (cli/slurm/sbcast.py) calls this with SOURCE /dev/stdin, and says in $HPCBATCH_SBCAST what file that is: its
# mode, and its time of change.

usage() {
  echo "Usage: sbcast [-CfFjpvV] SOURCE DEST" >&2
  exit 1
}
. "$root/runner/options.sh"
takes_of() {
  case $1 in
    --) takes=end ;;
    -[fpvV] | --force | --preserve | --verbose | --version | --help | --usage) takes=flag ;;
    -[FjstZ] | --fanout | --jobid | --size | --timeout | --exclude) takes=value ;;
    -C | --compress | --send-libs) takes=maybe ;;
    *) takes= ;;
  esac
}
unknown() {
  case $1 in
    --*) echo "sbcast: unrecognized option '$1'" >&2 ;;
    *) echo "sbcast: invalid option -- '${2#-}'" >&2 ;;
  esac
  usage
}
valueless() {
  echo "sbcast: option requires an argument -- '${1#-}'" >&2
  usage
}
excess() {
  echo "sbcast: option '$1' doesn't allow an argument" >&2
  usage
}

force='' preserve='' verbose=''
while next_option "$@"; do
  shift "$taken"
  case $option in
    -f | --force) force=yes ;;
    -p | --preserve) preserve=yes ;;
    -v | --verbose) verbose=yes ;;
    -j | --jobid) [ "${value%%.*}" = "$job_id" ] || die "Job $value is not this job, $job_id" ;;
    -V | --version) echo "slurm 22.05.8" && exit ;;
    --help | --usage) usage 2>&1 ;;
    --send-libs) case $value in no | n | 0) ;; *) die "--send-libs is not supported: the hosts have the libraries of their image" ;; esac ;;
  esac
done
shift "$taken"
[ $# -eq 2 ] || { echo "Need two file names, have $# names" >&2 && usage; }
source=$1 target=$2
case $target in
  */) target=$target${source##*/} ;;
esac
case $target in /*) ;; *) target=$PWD/$target ;; esac

spool=
trap '[ -z "$spool" ] || rm -f "$spool"' EXIT
mode=${HPCBATCH_SBCAST%%:*} changed=
[ -z "$preserve" ] || changed=${HPCBATCH_SBCAST#*:}
if [ "$source" = /dev/stdin ]; then
  spool=$run/sbcast.$$
  (umask 077 && cat >"$spool") || die "Can't write \`$spool\`"
  source=$spool
else
  [ -e "$source" ] || die "Can't open \`$source\`: No such file or directory"
  [ -r "$source" ] || die "Can't open \`$source\`: Permission denied"
  [ -f "$source" ] || die "\`$source\` is not a regular file"
  mode=$(stat -c %a "$source") || die "Can't stat \`$source\`"
  [ -z "$preserve" ] || changed=$(stat -c %Y "$source")
fi
size=$(wc -c <"$source")

# what each host does: TARGET SIZE MODE TIME FORCE MADE; the file is on its input. MADE are the copies of hosts before it: with one of
# them it shares the directory. It prints which file it has made.
# shellcheck disable=SC2016
program='identity() { stat -c %d:%i:%Z "$1" 2>/dev/null; }
case " $6 " in *" $(identity "$1" || echo none) "*) exit 0 ;; esac
[ -z "$5" ] && { [ -e "$1" ] || [ -h "$1" ]; } && echo "File exists" >&2 && exit 1
[ ! -d "$1" ] || { echo "Is a directory" >&2; exit 1; }
new=$1.sbcast.$$
trap "rm -f \"\$new\"" EXIT
(umask 077; cat >"$new") && [ "$(wc -c <"$new")" -eq "$2" ] && chmod "$3" "$new" && { [ -z "$4" ] || touch -d "@$4" "$new"; } || exit
if [ -n "$5" ]; then mv -f "$new" "$1"; else ln "$new" "$1" && rm -f "$new"; fi && identity "$1"'
code=0 made=
for where in $hosts; do
  [ -z "$verbose" ] || echo "sbcast: $where: $target, $((size)) bytes" >&2
  said=$(start_on "$where" sh -c "$program" sbcast "$target" "$((size))" "$mode" "$changed" "$force" "$made" <"$source" 2>&1) || {
    code=1
    said=${said##*: }
    echo "$tool: error: REQUEST_FILE_BCAST($where): ${said:-the copy failed}" >&2
    continue
  }
  made="$made $said"
done
exit $code
