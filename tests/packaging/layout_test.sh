# SPDX-License-Identifier: Apache-2.0
# The prefix is laid out as a CANN installation, and its libraries are what clients take them for.
. "$(dirname "$0")/checks.sh" "$@"
lib=$prefix/lib64

links_to() { [ -L "$1" ] && [ "$(readlink "$1")" = "$2" ]; }
dynamic_has() { readelf -dW "$1" | grep -qF "$2"; }
dynamic_has_not() { ! readelf -dW "$1" | grep -qE "$2"; }
exports() { nm -D --defined-only "$1" | grep -qE " [TWVDBR] $2\$"; }
without_versions() { ! readelf -VW "$1" | grep -q 'Version definition section'; }
# Our own names in mangled C++ may cross from library to library; anything else exported must be the C interface.
exports_only_ours() {
  ! nm -D --defined-only "$1" | awk '$2 ~ /[TDBR]/ {print $3}' |
    grep -vE '^(acl|Acl|Canopy|_Z.*6canopy|(UnI|I)nitHugeMemThreadLocal$|ReleaseHugeMem$|_init$|_fini$)'
}

check "include is a link into the architecture's folder" links_to "$prefix/include" "$arch-linux/include"
check "lib64 is a link into the architecture's folder" links_to "$prefix/lib64" "$arch-linux/lib64"
check "compiler/ is a folder" test -d "$prefix/compiler"
check "opp/scene.info names the system" grep -qx 'os=linux' "$prefix/opp/scene.info"
check "opp/scene.info names the architecture" grep -qx "arch=$arch" "$prefix/opp/scene.info"
check "set_env.sh is there" test -f "$prefix/set_env.sh"
check "the licence is there" test -s "$prefix/LICENSE"
check "libacl_rt.so is libascendcl.so" links_to "$lib/libacl_rt.so" libascendcl.so
check "libopapi.so is libopapi_nn.so" links_to "$lib/libopapi.so" libopapi_nn.so
check "the command line runs in place" "$prefix/bin/canopy" --help
check "the CMake package is there" test -f "$lib/cmake/Canopy/CanopyConfig.cmake"
check "the CMake package has a version" test -f "$lib/cmake/Canopy/CanopyConfigVersion.cmake"
check "the pkg-config file is there" test -f "$lib/pkgconfig/canopy.pc"
check "nothing names the build folder" sh -c "! grep -rIlF '$(dirname "$prefix")' '$prefix' | grep -v set_env.sh"

for name in ascendcl nnopbase opapi_nn opapi_math; do
  file=$lib/lib$name.so
  check "lib$name.so is a regular file" sh -c "test -f $file && test ! -L $file"
  check "lib$name.so has an unversioned SONAME" dynamic_has "$file" "soname: [lib$name.so]"
  check "lib$name.so looks for its neighbours beside itself" dynamic_has "$file" 'runpath: [$ORIGIN]'
  check "lib$name.so has no RPATH and no text relocations" dynamic_has_not "$file" '\((RPATH|TEXTREL)\)'
  check "lib$name.so defines no symbol versions" without_versions "$file"
  check "lib$name.so exports only its interface" exports_only_ours "$file"
done
check "libopapi_nn.so needs libnnopbase.so" dynamic_has "$lib/libopapi_nn.so" 'Shared library: [libnnopbase.so]'
check "libopapi_math.so needs libnnopbase.so" dynamic_has "$lib/libopapi_math.so" 'Shared library: [libnnopbase.so]'
check "libnnopbase.so needs libascendcl.so" dynamic_has "$lib/libnnopbase.so" 'Shared library: [libascendcl.so]'
check "libnnopbase.so uses the shared libstdc++" dynamic_has "$lib/libnnopbase.so" 'Shared library: [libstdc++.so.6]'
check "libascendcl.so exports aclInit" exports "$lib/libascendcl.so" aclInit
check "libnnopbase.so exports aclCreateTensor" exports "$lib/libnnopbase.so" aclCreateTensor
for operator in ConvolutionBackward ConvTbcBackward Convolution ConvTbc ConvDepthwise2d DeformableConv2dBackward; do
  check "libopapi_nn.so exports aclnn$operator" exports "$lib/libopapi_nn.so" "aclnn$operator"
  check "libopapi_nn.so exports its first phase" exports "$lib/libopapi_nn.so" "aclnn${operator}GetWorkspaceSize"
done
for hook in InitHugeMemThreadLocal UnInitHugeMemThreadLocal ReleaseHugeMem; do
  check "$hook is exported" sh -c "nm -D --defined-only $lib/libnnopbase.so $lib/libopapi_nn.so | grep -q ' T $hook\$'"
done
check "no executor-cache hook is exported" sh -c \
  "! nm -D --defined-only $lib/*.so | grep -E 'PTA|AddTensorAddrToCachedList'"

for header in acl/acl.h acl/acl_base.h acl/acl_base_rt.h acl/acl_base_mdl.h acl/acl_rt.h acl/acl_op.h acl/acl_mdl.h \
  acl/error_codes/rt_error_codes.h acl/error_codes/ge_error_codes.h aclnn/acl_meta.h aclnn/aclnn_base.h \
  aclnnop/aclnn_util.h aclnnop/aclnn_convolution.h aclnnop/aclnn_convolution_backward.h aclnnop/level2/aclnn_util.h \
  aclnnop/level2/aclnn_convolution.h aclnnop/level2/aclnn_convolution_backward.h opdev/op_errno.h; do
  check "$header is installed" test -f "$prefix/include/$header"
done
check "only headers are in include/" sh -c "! find $prefix/include/ -type f ! -name '*.h' | grep ."
finish
