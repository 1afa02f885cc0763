// SPDX-License-Identifier: Apache-2.0
// In C an error code is a variable, so the values are compared while running.
#include <stdio.h>

#include "acl/acl.h"
#include "aclnn/aclnn_base.h"
#include "opdev/op_errno.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

struct Value {
  const char* name;
  long long is;
  long long should_be;
};

int main(void) {
  const struct Value values[] = {
#define CANOPY_VALUE(name, value) {#name, (long long)(name), (long long)(value)},
#include "tests/api/acl_error.inc"
#include "tests/api/acl_error_ge.inc"
#include "tests/api/acl_error_rt.inc"
#include "tests/api/aclnn_status.inc"
#include "tests/api/types.inc"
#undef CANOPY_VALUE
  };
  const size_t count = sizeof(values) / sizeof(values[0]);
  size_t wrong = 0;
  for (size_t i = 0; i < count; ++i) {
    if (values[i].is == values[i].should_be) continue;
    printf("%s is %lld, should be %lld\n", values[i].name, values[i].is, values[i].should_be);
    ++wrong;
  }
  printf("%zu values, %zu wrong\n", count, wrong);
  return wrong == 0 ? 0 : 1;
}
