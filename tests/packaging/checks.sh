# SPDX-License-Identifier: Apache-2.0
# Sourced by the scripts beside it: $prefix, $source, $work (a folder that goes away), and check.
set -u
# What a developer's shell may hold must not help the stranger.
unset LD_LIBRARY_PATH CMAKE_PREFIX_PATH PKG_CONFIG_PATH ASCEND_HOME_PATH ASCEND_PATH CANOPY_PREFIX DESTDIR
prefix=$1 source=$2
arch=$(uname -m)
[ -f "$prefix/set_env.sh" ] || { echo "nothing is installed in $prefix"; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' HUP INT TERM # dash would leave without the trap above
checks=0 failures=0

# check "A SENTENCE" COMMAND...: the command must succeed; its output is shown when it does not.
check() {
  sentence=$1
  shift
  checks=$((checks + 1))
  if "$@" >"$work/output" 2>&1; then
    echo "ok    $sentence"
  else
    failures=$((failures + 1))
    echo "WRONG $sentence"
    echo "      $*"
    sed 's/^/      /' "$work/output"
  fi
}

finish() {
  echo "$checks checks, $failures wrong"
  [ "$failures" -eq 0 ] && [ "$checks" -gt 0 ]
  exit
}
