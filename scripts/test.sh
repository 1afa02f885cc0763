#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds the tests and runs them: scripts/test.sh BUILD_DIR JOBS [all|sanitize].
#   (nothing)  all but those labelled large
#   all        the large ones too; programs see CANOPY_TEST_ALL=1
#   sanitize   under the address and undefined-behaviour sanitizers, without those labelled large or heavy, and with
#              fewer random problems
set -eu
build=$1 jobs=$2 which=${3:-}
scripts=$(dirname "$0")

case $which in
  '')
    "$scripts/build.sh" "$build" "$jobs" -DCMAKE_BUILD_TYPE=Release -DCANOPY_DEVELOPER=ON
    set -- -LE '^large$'
    ;;
  all)
    "$scripts/build.sh" "$build" "$jobs" -DCMAKE_BUILD_TYPE=Release -DCANOPY_DEVELOPER=ON
    export CANOPY_TEST_ALL=1
    set --
    ;;
  sanitize)
    "$scripts/build.sh" "$build" "$jobs" -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE='-O1 -g1' \
      -DCMAKE_C_FLAGS_RELEASE='-O1 -g1' -DCANOPY_DEVELOPER=ON -DCANOPY_SANITIZE=address,undefined
    export ASAN_OPTIONS="${ASAN_OPTIONS:-detect_stack_use_after_return=1}"
    export UBSAN_OPTIONS="${UBSAN_OPTIONS:-print_stacktrace=1}"
    export CANOPY_SWEEP_COUNT="${CANOPY_SWEEP_COUNT:-100}"
    set -- -LE '^(large|heavy)$'
    ;;
  *) echo "usage: scripts/test.sh BUILD_DIR JOBS [all|sanitize]" >&2; exit 2 ;;
esac
exec ctest --test-dir "$build" --parallel "$jobs" --output-on-failure --no-tests=error "$@"
