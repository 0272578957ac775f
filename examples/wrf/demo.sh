#!/bin/sh
# demo.sh pbs|slurm MAPS: a forecast from met_em files to maps, as three jobs that wait for each other, on an engine of
# three nodes, with the stand-in for WRF. Copies the maps to the directory MAPS.
# Ends non-zero if anything of that fails, and leaves nothing running.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
dialect=$1
mkdir -p "$2"
maps=$(cd "$2" && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/hpcbatch-wrf.XXXXXX")
. "$here/../mpi/demo_start.sh"

export WRF="$work/standin" # what /opt/WRF is where there is a real one
mkdir -p "$work/run" "$WRF/run"
make -s -C "$here/standin" OUT="$WRF/run" MPICC="$(command -v mpicc)"
cd "$work/run"
cp "$here/namelist.input" "$here/namelist.wps" "$here/$dialect"/* .
case $dialect in
    pbs) queue="qstat" ended="qstat -x" ;;
    slurm) queue="squeue" ended="sacct -X" ;;
esac

echo "This is the stand-in for WRF: the weather is invented, what it computes is no forecast."
run "$WRF/run/mkmet"
run hpcbatch wrf maps --pack wrfmaps.pyz
run hpcbatch wrf check . --ranks 6 --program real
run hpcbatch up --nodes 3 --cpus 2
say sh chain.sh real wrf post; sh chain.sh real wrf post >chain.log; cat chain.log
id() { sed -n "s/^$1: //p" chain.log; }
run $queue
run hpcbatch wrf progress "$(id real)"
run $ended
for name in slp 500hPa ground; do
    [ "$(ls maps/${name}_d01_*.png | wc -l)" = 9 ] || { echo "expected nine maps $name" >&2; exit 1; }
done
[ -s maps/forecast.html ] || { echo "expected the page forecast.html" >&2; exit 1; }
cp maps/* "$maps/"
run hpcbatch down
printf '\nThe maps are in %s: forecast.html shows all of them, slp_d01.gif and others are animations.\n' "$maps"
