# SPDX-License-Identifier: Apache-2.0
# set_env.sh may be sourced from any common shell, from any folder, any number of times, under strict settings.
. "$(dirname "$0")/checks.sh" "$@"
cd "$work" || exit 1
root=$(cd "$prefix" && pwd -P)
cp -a "$prefix" "$work/moved place"
moved=$(cd "$work/moved place" && pwd -P)

# in_shell SHELL COMMANDS: starts bare, so that only set_env.sh speaks.
in_shell() { env -i PATH="$PATH" HOME="$work" "$1" -c "$2"; }
# shows SHELL COMMANDS VARIABLE VALUE
shows() {
  value=$(in_shell "$1" "$2 && printf %s \"\$$3\"")
  echo "$3 is '$value', wanted '$4'"
  [ "$value" = "$4" ]
}

for shell in sh dash bash zsh; do
  command -v "$shell" >/dev/null || { echo "skip  $shell is not here"; continue; }
  source=". '$prefix/set_env.sh'"
  check "$shell: ASCEND_HOME_PATH" shows "$shell" "$source" ASCEND_HOME_PATH "$root"
  check "$shell: ASCEND_OPP_PATH" shows "$shell" "$source" ASCEND_OPP_PATH "$root/opp"
  check "$shell: LD_LIBRARY_PATH" shows "$shell" "$source" LD_LIBRARY_PATH "$root/lib64"
  check "$shell: PYTHONPATH" shows "$shell" "$source" PYTHONPATH "$root/python/site-packages"
  check "$shell: PATH" shows "$shell" "PATH=/usr/bin:/bin; $source" PATH "$root/bin:/usr/bin:/bin"
  check "$shell: twice is as once" shows "$shell" "PATH=/usr/bin:/bin; $source; $source" PATH "$root/bin:/usr/bin:/bin"
  check "$shell: what was there stays, behind" shows "$shell" "LD_LIBRARY_PATH=/a:/b; $source; $source" \
    LD_LIBRARY_PATH "$root/lib64:/a:/b"
  check "$shell: an older place moves to the front" shows "$shell" "LD_LIBRARY_PATH=/a:$root/lib64:/b; $source" \
    LD_LIBRARY_PATH "$root/lib64:/a:/b"
  check "$shell: under set -eu" shows "$shell" "set -eu; $source" ASCEND_HOME_PATH "$root"
  check "$shell: by a relative path" shows "$shell" "cd '$prefix/bin' && . ../set_env.sh" ASCEND_HOME_PATH "$root"
  check "$shell: leaves nothing of its own behind" shows "$shell" "$source; x=\$(set | grep -c '^_canopy' || :)" x 0
  check "$shell: the command line is found" in_shell "$shell" "$source && canopy --help"
  case $shell in
    bash | zsh) moved_source=". '$moved/set_env.sh'" ;;
    *) moved_source="CANOPY_PREFIX='$moved'; . '$moved/set_env.sh'" ;;
  esac
  check "$shell: a moved prefix, with a space" shows "$shell" "$moved_source" ASCEND_HOME_PATH "$moved"
done
check "a wrong CANOPY_PREFIX is said so" sh -c "CANOPY_PREFIX=/nowhere; . '$prefix/set_env.sh' 2>&1 | grep -q 'no Canopy'"
finish
