// SPDX-License-Identifier: Apache-2.0
// What a fuzz target does when a promise is broken: say which one, and stop, so that libFuzzer keeps the input.
#ifndef CANOPY_FUZZ_FUZZ_H_
#define CANOPY_FUZZ_FUZZ_H_

#include <cstdio>
#include <cstdlib>
#include <string>

#define CANOPY_PROMISE(condition, text)                                                                     \
  do {                                                                                                      \
    if (!(condition)) {                                                                                     \
      std::fprintf(stderr, "%s:%d: %s\n  %s\n", __FILE__, __LINE__, #condition, std::string(text).c_str()); \
      std::abort();                                                                                         \
    }                                                                                                       \
  } while (false)

#endif  // CANOPY_FUZZ_FUZZ_H_
