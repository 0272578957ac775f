#!/bin/sh
# From nothing to an MPI job's output: starts an engine of three nodes, submits the same ring twice, shows both.
# Ends non-zero if anything of that fails, and leaves nothing running.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/hpcbatch-demo.XXXXXX")
. "$here/demo_start.sh"

cd "$work"
cp "$here/ring.c" "$here/ring.pbs" "$here/ring.slurm" .
run hpcbatch up --nodes 3 --cpus 2
run mpicc -o ring ring.c
say qsub ring.pbs; pbs=$(qsub ring.pbs); echo "$pbs"
say sbatch ring.slurm; slurm=$(sbatch ring.slurm); echo "$slurm"; slurm=${slurm##* }
run qstat -ans
run squeue
run hpcbatch watch "$pbs" "$slurm"
run qstat -x
run cat "ring.o${pbs%%.*}"
run cat "ring.$slurm.out"
for file in "ring.o${pbs%%.*}" "ring.$slurm.out"; do
    hosts=$(sed -n 's/^rank [0-9]* of 6 on //p' "$file" | sort | uniq -c | awk '$1 == 2' | wc -l)
    [ "$hosts" = 3 ] || { echo "$file: expected 6 ranks, two on each of three pods" >&2; exit 1; }
    grep -q '^the token is back after 6 ranks$' "$file" || { echo "$file: the ring did not close" >&2; exit 1; }
done
run hpcbatch down
printf '\nBoth jobs ran over three pods. Next: README.md, "A first job".\n'
