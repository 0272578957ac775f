# shellcheck shell=sh
# shellcheck disable=SC2154 # $run of common.sh
# Settings that a container wants, unless the submitter's environment says otherwise: sourced, adds to the arguments.
# No binding: the CPUs that a pod may use are not the first ones that its node shows, and several pods of a job may stand on
# one node. No cross-memory copies: they need ptrace, which containers forbid. Open MPI 5's daemons name their files after
# their process id alone, which those of other pods may have as well: not in a /tmp that pods share. They start processes
# without threads of their own for that: with them the end of a program that is over at once (`mpirun hostname`) goes unseen
# now and then, and mpirun waits for ever.
set -- "$@" \
  OMPI_MCA_hwloc_base_binding_policy=none PRTE_MCA_hwloc_default_binding_policy=none I_MPI_PIN=0 MV2_ENABLE_AFFINITY=0 \
  "PRTE_MCA_prte_tmpdir_base=$tmp" PRTE_MCA_odls_base_max_threads=0 \
  OMPI_MCA_btl_vader_single_copy_mechanism=none OMPI_MCA_smsc=^cma,xpmem MV2_SMP_USE_CMA=0
[ ! -x "$run/prterun" ] || set -- "$@" "OMPI_PRTERUN=$run/prterun"
