# SPDX-License-Identifier: Apache-2.0
# What the documents say of the libraries is so.
. "$(dirname "$0")/checks.sh" "$@"
lib=$prefix/lib64
page=$source/docs/compatibility.md

# Plain C names only: operators' internals cross from library to library under mangled names.
nm -D --defined-only "$lib"/lib*.so | awk '$2 == "T" {print $3}' | grep -E '^(acl|Acl|InitHuge|UnInitHuge|ReleaseHuge)' |
  sort -u >"$work/exported"
names() { sed -n "$1" "$2" | grep -oE '`[A-Za-z0-9]+`' | tr -d '`' | sort -u; }
names '/^## What is there/,/^## What is absent/p' "$page" >"$work/there"
names '/^## What is absent/,$p' "$page" >"$work/absent"
names '/^## 已有的/,/^## 没有的/p' "$source/docs/compatibility.zh.md" >"$work/there.zh"
names '/^## 没有的/,$p' "$source/docs/compatibility.zh.md" >"$work/absent.zh"
grep -hoE '\b(acl|Acl)[A-Za-z0-9]+\(' -r "$prefix/include/" --include='*.h' | tr -d '(' | sort -u >"$work/headers"

# only_in FILE OTHER: what FILE has and OTHER lacks is shown, and wrong.
none_only_in() { ! comm -23 "$work/$1" "$work/$2" | grep .; }
grep -E '^(acl|Acl|InitHuge|UnInitHuge|ReleaseHuge)' "$work/there" >"$work/listed"
grep -vE 'HugeMem|aclnnReselectStaticKernel' "$work/listed" >"$work/declared"

check "the libraries export functions" test -s "$work/exported"
check "every function of the compatibility page is exported" none_only_in listed exported
check "every exported function is on the compatibility page" none_only_in exported listed
check "every function of the page is declared" none_only_in declared headers
check "the Chinese page lists the same names as there" cmp "$work/there" "$work/there.zh"
check "the Chinese page lists the same names as absent" cmp "$work/absent" "$work/absent.zh"
for name in $(cat "$work/absent"); do
  check "$name is absent, as the page says" sh -c "! grep -qx $name '$work/exported'"
done

# The README's start, as a reader would take it.
cd "$work" || exit 1
start() { sed -n '/^```cpp/,/^```/p' "$source/$1" | sed '1d;/^```/,$d'; }
start README.md >start.cc
start README.zh.md | sed 's,  //.*,,' >start.zh
check "both READMEs show one program" sh -c "sed 's,  //.*,,' start.cc | cmp - start.zh"
check "the README's program compiles" g++ -std=c++11 -I"$source/examples" start.cc -o start \
  $(PKG_CONFIG_PATH=$lib/pkgconfig pkg-config --cflags --libs canopy)
check "and prints what it says" sh -c "LD_LIBRARY_PATH=$lib ./start | grep -qx '12 16 24 28 '"
check "every variable of the README is one the libraries read" sh -c '
  for name in $(grep -oE "^\| \`(CANOPY|ASCEND)_[A-Z_]+" "$1/README.md" | tr -d "|\` "); do
    strings "$2"/lib*.so | grep -qx "$name" || { echo "$name"; exit 1; }
  done' sh "$source" "$lib"
check "every variable the libraries read is in the README" sh -c '
  for name in $(strings "$2"/lib*.so | grep -xE "CANOPY_[A-Z_]+" | sort -u); do
    grep -qF "\`$name\`" "$1/README.md" || { echo "$name"; exit 1; }
  done' sh "$source" "$lib"
finish
