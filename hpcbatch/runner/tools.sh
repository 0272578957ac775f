# shellcheck shell=sh
# shellcheck disable=SC2154 # variables of conf/job.sh and common.sh
# The launchers of batch systems that scripts call, first on the script's PATH: they start programs on the hosts of the job.

write_tools() {
  case $dialect in
    slurm) tools='srun' ;;
    pbs) tools='pbsdsh pbs_tmrsh' ;;
  esac
  for tool in $tools; do
    write_tool "$tool"
  done
  [ "$dialect" = slurm ] && tools=scontrol || tools=
  for tool in $tools aprun ibrun mpiexec_mpt; do
    command -v "$tool" >/dev/null 2>&1 || write_tool "$tool"
  done
}

write_tool() {
  {
    printf '#!%s\nroot=%s\n' "$sh" "$(quote "$root")"
    # shellcheck disable=SC2016
    printf '. "$root/runner/common.sh"\n. "$root/conf/job.sh"\n. "$root/runner/step.sh"\n. "$root/runner/%s.sh"\n' "$1"
  } >"$bin/$1" && chmod 700 "$bin/$1"
}
