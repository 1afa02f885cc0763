#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Sees that this machine has the Debian packages that a target needs: scripts/setup.sh build|demo|test|bench.
# Installs what is missing where it may; where it may not, says what is missing and stops.
set -eu

# What each target runs or includes. g++ brings the C compiler, binutils and the sanitizers.
build_packages="make cmake g++ libhwy-dev libcli11-dev nlohmann-json3-dev"
case ${1:-} in
  build | demo) packages=$build_packages ;;
  test) packages="$build_packages libgtest-dev pkg-config python3" ;;
  bench) packages="$build_packages libdnnl-dev python3-torch libopenblas0-openmp python3-matplotlib" ;;
  *) echo "usage: scripts/setup.sh build|demo|test|bench" >&2; exit 2 ;;
esac

say() { echo "set-up: $*"; }

refuse() {
  say "cannot install them: $1"
  say "have them installed (apt-get install $missing), then run this again"
  exit 1
}

list_missing() {
  missing=
  for package in $packages; do
    status=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null) || status=absent
    [ "$status" = installed ] || missing="$missing $package"
  done
  missing=${missing# }
}

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
  say "not a Debian machine, so nothing is installed; needed is what Debian calls: $packages"
  exit 0
fi
list_missing
if [ -z "$missing" ]; then
  say "every package that '$1' needs is installed"
  exit 0
fi
say "missing packages: $missing"

as_root=
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || refuse "not root, and there is no sudo"
  if sudo -n true 2>/dev/null; then
    as_root="sudo -n"
  elif [ -t 0 ]; then
    say "installing needs root; sudo may ask for your password"
    sudo true || refuse "sudo did not allow it"
    as_root=sudo
  else
    refuse "not root, and sudo asks for a password"
  fi
fi
apt() { $as_root env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 "$@" 2>&1; }

# Between apt's own lines, which go to the log, stand its status lines, kind:package:percent:text; one in every
# twenty per cent is shown.
show_progress() {
  shown=
  while IFS= read -r line; do
    case $line in
      dlstatus:* | pmstatus:*) ;;
      *) echo "$line" >>"$log"; continue ;;
    esac
    rest=${line#*:*:}
    percent=${rest%%.*}
    case $percent in '' | *[!0-9]*) continue ;; esac
    step=${line%%:*}$((percent / 20))
    [ "$step" = "$shown" ] || say "  $(printf '%3d' "$percent")% ${rest#*:}"
    shown=$step
  done
}

log=$(mktemp)
trap 'rm -f "$log"' EXIT
trap 'exit 130' HUP INT TERM # dash would leave without the trap above
say "fetching the package lists"
apt update >"$log" || say "apt-get update failed; going on with the lists at hand"
say "installing with apt-get"
apt install -y --no-install-recommends -o APT::Status-Fd=1 $missing | show_progress
list_missing
if [ -n "$missing" ]; then
  tail -n 15 "$log"
  refuse "apt-get failed (its last lines are above)"
fi
say "installed"
