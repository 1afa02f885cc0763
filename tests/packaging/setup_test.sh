# SPDX-License-Identifier: Apache-2.0
# Set-up names what is missing where it may not install it, and leaves nothing behind when it is interrupted.
. "$(dirname "$0")/checks.sh" "$@"
cd "$work" || exit 1
mkdir bin tmp

# stands_in COMMAND SCRIPT: what set-up finds instead of the machine's own.
stands_in() {
  printf '#!/bin/sh\n%s\n' "$2" >"bin/$1"
  chmod +x "bin/$1"
}
setup() { TMPDIR="$work/tmp" PATH="$work/bin:$PATH" sh "$source/scripts/setup.sh" "$@" </dev/null; }
# refuses WORDS: set-up fails and says the words.
refuses() { ! setup build >said && grep -q "$1" said; }
leaves_nothing() { setup build; [ -z "$(ls tmp)" ]; }

stands_in dpkg-query 'case "$*" in *libhwy-dev) exit 1 ;; esac; echo installed'
stands_in id 'echo 1000'
stands_in sudo 'exit 1'
stands_in apt-get 'exit 1'
check "without root the missing package is named" refuses "apt-get install libhwy-dev"
stands_in id 'echo 0'
check "where apt-get fails, too" refuses "apt-get install libhwy-dev"
check "and nothing is left behind" leaves_nothing
stands_in apt-get 'kill -TERM $PPID'
check "nor after an interruption" leaves_nothing
stands_in dpkg-query 'echo installed'
check "where nothing is missing, nothing is installed" setup test
finish
