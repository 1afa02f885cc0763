// SPDX-License-Identifier: Apache-2.0
// Handles and operators only; compiled and linked without a word of the runtime.
#include <stddef.h>

#include "aclnnop/aclnn_convolution_backward.h"

int main(void) {
  const int64_t value = 1;
  aclIntArray *array = aclCreateIntArray(&value, 1);
  if (array == NULL || aclDestroyIntArray(array) != OK) return 1;
  return aclnnConvolutionBackward(NULL, 0, NULL, NULL) == 161001 ? 0 : 1;
}
