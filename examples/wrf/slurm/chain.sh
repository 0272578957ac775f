#!/bin/sh
# Submits the steps of a forecast, each to start when the one before has ended with 0: sh chain.sh [STEP...]
set -e
for step in ${*:-wps real wrf post}; do
    last=$(sbatch --parsable ${last:+--dependency=afterok:$last} $step.slurm)
    echo "$step: $last"
done
