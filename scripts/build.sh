#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Configures and builds with a short progress: scripts/build.sh BUILD_DIR JOBS [CMAKE_OPTION...]. The compilers' whole
# output is in BUILD_DIR/build.log; its end is shown when something fails. Many files of the libraries are compiled
# together: from nothing that takes half the time of each alone.
set -eu
build=$1 jobs=$2
shift 2

mkdir -p "$build"
log=$build/build.log
fail() {
  tail -n 60 "$log"
  echo "build: $1 failed; the whole output is in $log"
  exit 1
}

echo "build: configuring $build"
cmake -S . -B "$build" -DCMAKE_UNITY_BUILD=ON "$@" >"$log" 2>&1 || fail "configuring"
echo "build: compiling with $jobs jobs"
started=$(date +%s)
rm -f "$build/build.failed"
{ cmake --build "$build" --parallel "$jobs" 2>&1 || touch "$build/build.failed"; } | tee -a "$log" |
  while IFS= read -r line; do
    case $line in '['*%']'*) ;; *) continue ;; esac
    percent=${line#[}
    percent=$((${percent%%%*}))
    [ "$((percent / 5))" = "${shown:-0}" ] && continue
    shown=$((percent / 5))
    printf 'build: %3d%%  %4d s\n' "$percent" $(($(date +%s) - started))
  done
[ ! -e "$build/build.failed" ] || fail "compiling"
echo "build: done in $(($(date +%s) - started)) s"
