#!/bin/sh
# Submits the steps of a forecast, each to start when the one before has ended with 0: sh chain.sh [STEP...]
set -e
for step in ${*:-wps real wrf post}; do
    last=$(qsub ${last:+-W depend=afterok:$last} $step.pbs)
    echo "$step: $last"
done
