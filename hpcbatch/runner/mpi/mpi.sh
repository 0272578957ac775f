# shellcheck shell=sh
# shellcheck disable=SC2154 # variables of conf/job.sh and common.sh
# `mpirun ./a.out` uses all ranks of all pods: sourced by start.sh, adds to the arguments what each family of MPI reads.
# Open MPI 5 ignores the names of 4 and the other way round. Whatever the PBS_ and SLURM_ variables make a launcher think, it
# starts its daemons by our ssh, which takes the environment along.
if [ -s "$root/job/conf/hostfile" ]; then
  # Open MPI 4 gives a host that a user's hostfile has once, as $PBS_NODEFILE does where it has one rank, a slot for each core
  # of its node: all ranks would be on the first host.
  fewest=
  while IFS= read -r line; do
    [ -n "$fewest" ] && [ "${line##*:}" -ge "$fewest" ] || fewest=${line##*:}
  done <"$root/job/conf/hydra"
  set -- "$@" "OMPI_MCA_orte_set_default_slots=$fewest"
  set -- "$@" "OMPI_MCA_orte_default_hostfile=$root/job/conf/hostfile" "PRTE_MCA_prte_default_hostfile=$root/job/conf/hostfile" \
    "HYDRA_HOST_FILE=$root/job/conf/hydra" "I_MPI_HYDRA_HOST_FILE=$root/job/conf/hydra"
fi
set -- "$@" OMPI_MCA_plm=rsh PRTE_MCA_plm=ssh HYDRA_LAUNCHER=ssh I_MPI_HYDRA_BOOTSTRAP=ssh PRTE_MCA_plm_ssh_disable_tmrsh=1
if [ -x "$bin/ssh" ]; then
  set -- "$@" "OMPI_MCA_plm_rsh_agent=$bin/ssh" "PRTE_MCA_plm_ssh_agent=$bin/ssh" \
    "HYDRA_LAUNCHER_EXEC=$bin/ssh" "I_MPI_HYDRA_BOOTSTRAP_EXEC=$bin/ssh"
fi
if [ "$uid" = 0 ]; then
  set -- "$@" OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi
