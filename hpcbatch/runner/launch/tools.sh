# shellcheck shell=sh
# shellcheck disable=SC2154 # variables of conf/job.sh and common.sh
# The launchers of batch systems that scripts call, first on the script's PATH: they start programs on the hosts of the job. start.sh
# makes them executable. Those that are there only if the image has none are found as `scancel-own` by hpcbatch's commands that know no
# cluster (cli/common.py): a directory that the login nodes share may have brought these onto the PATH.

write_tools() {
  tools=$own_tools
  for tool in $spare_tools aprun ibrun mpiexec_mpt; do
    command -v "$tool" >/dev/null 2>&1 || tools="$tools $tool"
  done
  for tool in $spare_tools; do tools="$tools $tool-own"; done
  set_quoted "$root"
  for tool in $tools; do
    # shellcheck disable=SC2016
    printf '#!%s\nroot=%s\n. "$root/runner/common.sh"\n. "$root/job/conf/job.sh"\n. "$root/runner/step.sh"\n. "$root/runner/%s.sh"\n' \
      "$sh" "$quoted" "${tool%-own}" >"$bin/$tool"
  done
}
