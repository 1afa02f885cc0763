#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds the bench and runs it: scripts/bench.sh BUILD_DIR JOBS, with the variables of bench/README.md in the environment.
set -eu
build=$1 jobs=$2
scripts=$(dirname "$0")
results=${OUT:-$build/results}

"$scripts/build.sh" "$build" "$jobs" -DCMAKE_BUILD_TYPE=Release -DCANOPY_DEVELOPER=OFF -DCANOPY_BENCH=ON
mkdir -p "$results"
# CASES is a list of files, perhaps with wildcards.
# shellcheck disable=SC2086
"$build/bin/canopy-bench" ${CASES:-bench/layers.txt} --out "$results/run.jsonl" --rounds "${ROUNDS:-3}" \
  --threads "${THREADS:-1,2}" --peers "${PEERS:-onednn,torch}" ${DTYPES:+--types "$DTYPES"} ${FILTER:+--filter "$FILTER"}

report() { /usr/bin/python3 bench/report.py "$results/run.jsonl" --sort "${SORT:-list}" "$@" >"$results/table.md"; }
if [ "${PEERS:-}" = none ]; then
  command -v /usr/bin/python3 >/dev/null || exit 0
  report --csv "$results/table.csv"
else
  report --csv "$results/table.csv" --picture "$results/ratios.png"
fi
cat "$results/table.md"
echo "bench: the table is in $results/table.md and table.csv, the picture in ratios.png, all times in run.jsonl"
