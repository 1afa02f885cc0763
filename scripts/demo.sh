#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Shows Canopy at work on what any user would do: scripts/demo.sh BUILD_DIR PREFIX JOBS.
set -eu
build=$1 prefix=$2 jobs=$3
started=$(date +%s)
scripts=$(cd "$(dirname "$0")" && pwd)
examples=$(cd "$scripts/../examples" && pwd)

heading() { printf '\n\033[1m--- %s\033[0m\n' "$*"; }
[ -t 1 ] || heading() { printf '\n--- %s\n' "$*"; }

heading "1. Build Canopy and lay out the prefix"
"$scripts/prefix.sh" "$build/release" "$prefix" "$jobs"
prefix=$(cd "$prefix" && pwd)
echo
"$prefix/bin/canopy" info

# A stranger has a folder of their own and nothing of ours but the prefix.
work=$(mktemp -d "${TMPDIR:-/tmp}/canopy-demo.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' HUP INT TERM # dash would leave without the trap above
cp -R "$examples" "$work/examples"
cd "$work"

# build_examples FOLDER SOURCES CMAKE_OPTION
build_examples() {
  echo "cmake -S $2 -B $1 $3 && cmake --build $1"
  cmake -S "$2" -B "$1" "$3" >"$1.log" 2>&1 && cmake --build "$1" --parallel "$jobs" >>"$1.log" 2>&1 || {
    cat "$1.log"
    echo "demo: building the examples failed"
    exit 1
  }
}

failed=
ran=0
# run NAME COMMAND...: runs it, notes a failure, goes on.
run() {
  name=$1
  shift
  ran=$((ran + 1))
  "$@" || failed="$failed  $name (exit code $?)\n"
}

heading "2. A stranger's programs, built outside this tree"
echo "Five small convolutions whose gradients a person can work out. In $work:"
build_examples by_path examples "-DASCEND_PATH=$prefix"
build_examples by_package examples/find_package "-DCMAKE_PREFIX_PATH=$prefix"
for way in by_path by_package; do
  for program in conv_1d conv_2d conv_3d conv_transposed conv_tbc; do
    printf '\n%s/%s\n' "$way" "$program"
    run "$way/$program" "./$way/$program"
  done
done

heading "3. Training on real data: handwritten digits"
echo "Two convolution layers, forward and backward through aclnn; a fifth of the digits is held out before training."
run train_digits ./by_path/train_digits examples/data/digits.csv

heading "4. Gradients against finite differences of the forward operator"
echo "Random problems in whole numbers, where the two must be equal to the last bit."
run gradient_check ./by_package/gradient_check

heading "Summary"
if [ -n "$failed" ]; then
  printf 'of %d programs, these failed:\n%b' "$ran" "$failed"
  exit 1
fi
echo "All $ran programs gave what they should, in $(($(date +%s) - started)) s."
echo "The prefix is $prefix; '. $prefix/set_env.sh' points programs at it."
echo "Next: README.md, 'Your own program'; 'bin/canopy --help' for the command line."
