# shellcheck shell=sh
# shellcheck disable=SC2154 # variables of step.sh
# `scontrol show hostnames [LIST]`, `scontrol listpids` and `scontrol requeue` of the job itself, in one whose image has no scontrol of its own: pods do not talk to the API.

case "$1 $2" in
  'show hostname' | 'show hostnames') expand "${3:-$SLURM_JOB_NODELIST}" ;;
  listpids' '*)
    shift
    . "$root/runner/scontrol-listpids.sh"
    ;;
  requeue' '?*)
    . "$root/runner/own_job.sh"
    shift
    code=0
    for id in $(printf '%s\n' "$@" | tr , ' '); do
      if ! is_own "$id"; then
        tell_of_others "$id"
        code=1
      elif [ -n "$interactive" ]; then
        echo "Only batch jobs are accepted or processed for job $id" >&2
        code=1
      elif [ "$rerunnable" != yes ]; then
        echo "Requested operation is presently disabled for job $id" >&2
        code=1
      else
        end_own_run requeue
      fi
    done
    exit $code
    ;;
  *)
    echo "scontrol: error: in a job only \`scontrol show hostnames', \`listpids' and \`requeue' are there: the image has no hpcbatch, or the pod no kubeconfig" >&2
    exit 1
    ;;
esac
