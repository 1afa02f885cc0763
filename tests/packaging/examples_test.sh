# SPDX-License-Identifier: Apache-2.0
# The examples build outside the tree in both documented ways, warn of nothing, and give what they should.
. "$(dirname "$0")/checks.sh" "$@"
cp -R "$source/examples" "$work/examples"
cd "$work" || exit 1

check "configures by full paths" env ASCEND_HOME_PATH="$prefix" cmake -S examples -B by_path -DCMAKE_CXX_FLAGS=-Werror
check "builds by full paths" cmake --build by_path --parallel 2
check "configures by find_package" cmake -S examples/find_package -B by_package -DCMAKE_PREFIX_PATH="$prefix" \
  -DCMAKE_CXX_FLAGS=-Werror
check "builds by find_package" cmake --build by_package --parallel 2
for way in by_path by_package; do
  for program in conv_1d conv_2d conv_3d conv_transposed conv_tbc; do
    check "$way/$program gives the gradients worked out by hand" "./$way/$program"
  done
done
check "gradients equal finite differences" ./by_path/gradient_check
check "and with other random problems" ./by_path/gradient_check 2
check "train_digits recognises the held-out digits" ./by_package/train_digits examples/data/digits.csv
check "train_digits refuses a file that is none" sh -c '! ./by_package/train_digits examples/CMakeLists.txt'
check "a prefix without CANN is refused in words" sh -c \
  "! cmake -S examples -B none -DASCEND_PATH=/nowhere >none.log 2>&1 && grep -q ASCEND_PATH none.log"
finish
