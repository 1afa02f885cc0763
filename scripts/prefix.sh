#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds the libraries and the command line, and installs them: scripts/prefix.sh BUILD_DIR PREFIX JOBS.
set -eu
build=$1 prefix=$2 jobs=$3

"$(dirname "$0")/build.sh" "$build" "$jobs" -DCMAKE_BUILD_TYPE=Release -DCANOPY_DEVELOPER=OFF
mkdir -p "$prefix"
prefix=$(cd "$prefix" && pwd)
cmake --install "$build" --prefix "$prefix" >"$build/install.log" 2>&1 || { cat "$build/install.log"; exit 1; }
echo "prefix: installed in $prefix"
echo "prefix: '. $prefix/set_env.sh' points programs at it"
