# shellcheck shell=sh
# shellcheck disable=SC2154 # variables of step.sh
# `scontrol show hostnames [LIST]` and `scontrol listpids` in a job whose image has no scontrol of its own: pods do not talk to the API.

case "$1 $2" in
  'show hostname' | 'show hostnames') expand "${3:-$SLURM_JOB_NODELIST}" ;;
  listpids' '*)
    shift
    . "$root/runner/scontrol-listpids.sh"
    ;;
  *)
    echo "scontrol: error: in a job only \`scontrol show hostnames' and \`listpids' are there: the image has no hpcbatch, or the pod no kubeconfig" >&2
    exit 1
    ;;
esac
