// SPDX-License-Identifier: Apache-2.0
// How much is swept: a few hundred problems in an ordinary test run, more by the environment.
#ifndef CANOPY_TESTS_SWEEP_OPTIONS_H_
#define CANOPY_TESTS_SWEEP_OPTIONS_H_

#include <cstdint>
#include <cstdlib>

namespace canopy::sweep {

inline int64_t FromEnvironment(const char* name, int64_t fallback) {
  const char* text = std::getenv(name);
  return text == nullptr || *text == '\0' ? fallback : std::atoll(text);
}

// CANOPY_SWEEP_COUNT: problems of each test. CANOPY_TEST_ALL (make test-all) takes ten times as many.
inline int64_t Count(int64_t ordinary) {
  const int64_t all = FromEnvironment("CANOPY_TEST_ALL", 0) != 0 ? 10 : 1;
  return FromEnvironment("CANOPY_SWEEP_COUNT", ordinary * all);
}

// CANOPY_SWEEP_SEED: where the problems start. One problem alone is its seed with CANOPY_SWEEP_COUNT=1.
inline uint64_t Seed() { return static_cast<uint64_t>(FromEnvironment("CANOPY_SWEEP_SEED", 1)); }

}  // namespace canopy::sweep

#endif  // CANOPY_TESTS_SWEEP_OPTIONS_H_
