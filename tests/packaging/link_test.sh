# SPDX-License-Identifier: Apache-2.0
# A stranger's program compiles, links and runs against the prefix, however it names the libraries.
. "$(dirname "$0")/checks.sh" "$@"
lib=$prefix/lib64
cd "$work" || exit 1
program=$source/examples/conv_2d.cc
compile="g++ -std=c++11 -Wall -Wextra -pedantic -Werror -I$prefix/include"

# One order of -l after another; then full paths.
for order in 'ascendcl nnopbase opapi' 'opapi nnopbase ascendcl' 'nnopbase opapi acl_rt' 'opapi_nn opapi_math nnopbase acl_rt' \
  'opapi_math opapi_nn ascendcl nnopbase' 'ascendcl nnopbase opapi_math opapi_nn' 'acl_rt nnopbase opapi'; do
  flags=
  for name in $order; do flags="$flags -l$name"; done
  check "links by name:$flags" $compile "$program" -o by_name -L"$lib" $flags
  check "and runs with LD_LIBRARY_PATH" env LD_LIBRARY_PATH="$lib" ./by_name
done
check "links by full paths" $compile "$program" -o by_path "$lib/libascendcl.so" "$lib/libnnopbase.so" \
  "$lib/libopapi_math.so" "$lib/libopapi_nn.so" -Wl,-rpath,"$lib"
check "and runs without LD_LIBRARY_PATH" ./by_path
check "links the operators alone" $compile "$program" -o by_path "$lib/libopapi.so" "$lib/libnnopbase.so" \
  "$lib/libascendcl.so" -Wl,-rpath,"$lib"
check "and runs" ./by_path

# pkg-config, through the link and through the real folder.
for folder in "$lib/pkgconfig" "$prefix/$arch-linux/lib64/pkgconfig"; do
  flags=$(PKG_CONFIG_PATH=$folder pkg-config --cflags --libs canopy)
  check "pkg-config knows canopy" test -n "$flags"
  check "links by pkg-config" g++ -std=c++11 "$program" -o by_pkg_config $flags
  check "and runs" env LD_LIBRARY_PATH="$lib" ./by_pkg_config
done

# The other include root, and the level2 copies.
cat >roots.cc <<'END'
#include "acl_meta.h"
#include "aclnn_base.h"
#include "acl/acl.h"
#include "aclnnop/level2/aclnn_convolution.h"
#include "aclnnop/level2/aclnn_convolution_backward.h"
int main() {
  const int64_t values[] = {1, 2};
  aclIntArray* array = aclCreateIntArray(values, 2);
  uint64_t size = 0;
  const bool right = aclGetIntArraySize(array, &size) == OK && size == 2;
  return right && aclDestroyIntArray(array) == OK ? 0 : 1;
}
END
check "compiles with include/aclnn as a root" $compile -I"$prefix/include/aclnn" roots.cc -o roots -L"$lib" \
  -lnnopbase
check "and runs, libascendcl.so found by its neighbour" env LD_LIBRARY_PATH="$lib" ./roots
check "and against the operators' library alone, its neighbours found beside it" $compile -I"$prefix/include/aclnn" \
  roots.cc -o roots "$lib/libopapi.so" "$lib/libnnopbase.so" -Wl,-rpath,"$lib"
check "and runs" ./roots

# Clients take even tensors' constructors from the operator library's handle.
cat >handle.cc <<'END'
#include <dlfcn.h>
#include <cstdio>
#include <initializer_list>
int main(int, char** argv) {
  void* handle = dlopen(argv[1], RTLD_LAZY);
  if (handle == nullptr) return std::puts(dlerror()), 1;
  for (const char* name : {"aclCreateTensor", "aclDestroyTensor", "aclCreateIntArray", "aclCreateBoolArray",
                           "aclnnConvolutionBackwardGetWorkspaceSize", "aclnnConvTbcBackward", "aclrtMalloc",
                           "InitHugeMemThreadLocal", "_ZdaPv"}) {
    if (dlsym(handle, name) == nullptr) return std::printf("%s is not found\n", name), 1;
  }
  for (const char* name : {"InitPTACacheThreadLocal", "PTAGetExecCache", "AddTensorAddrToCachedList"}) {
    if (dlsym(handle, name) != nullptr) return std::printf("%s should be absent\n", name), 1;
  }
  return 0;
}
END
check "a dlopen client compiles" g++ -std=c++11 handle.cc -o handle -ldl
check "dlopen of libopapi.so gives every door" ./handle "$lib/libopapi.so"

# A moved prefix still works.
cp -a "$prefix" "$work/moved"
cat >CMakeLists.txt <<END
cmake_minimum_required(VERSION 3.14)
project(stranger CXX)
find_package(Canopy 0.1 REQUIRED)
add_executable(stranger $program)
target_link_libraries(stranger PRIVATE CANN::opapi)
add_executable(base roots.cc)
target_link_libraries(base PRIVATE CANN::ascendcl CANN::nnopbase CANN::opapi)
END
check "find_package by CMAKE_PREFIX_PATH" cmake -S . -B prefix_path -DCMAKE_PREFIX_PATH="$work/moved"
check "builds" cmake --build prefix_path
check "and runs without LD_LIBRARY_PATH" ./prefix_path/stranger
check "with every target" ./prefix_path/base
check "it uses the moved prefix" sh -c "ldd prefix_path/stranger | grep -qF '$work/moved'"
for folder in lib64/cmake/Canopy "$arch-linux/lib64/cmake/Canopy"; do
  rm -rf by_dir
  check "find_package by Canopy_DIR=$folder" cmake -S . -B by_dir -DCanopy_DIR="$work/moved/$folder"
  check "builds" cmake --build by_dir
  check "and runs" ./by_dir/stranger
done
check "a newer version is refused" sh -c "sed 's/Canopy 0.1/Canopy 99/' CMakeLists.txt >newer && mkdir -p n && \
  mv newer n/CMakeLists.txt && ! cmake -S n -B n/build -DCMAKE_PREFIX_PATH='$work/moved'"
finish
