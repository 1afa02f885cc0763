// SPDX-License-Identifier: Apache-2.0
#include "base/system_memory.h"

#include <gtest/gtest.h>

#include <vector>

namespace canopy::base {
namespace {

TEST(SystemMemory, IsPlausible) {
  const SystemMemory memory = ReadSystemMemory();
  EXPECT_GT(memory.total_bytes, uint64_t{16} << 20);
  EXPECT_GT(memory.available_bytes, 0U);
  EXPECT_LE(memory.available_bytes, memory.total_bytes);
  EXPECT_GT(memory.resident_bytes, 0U);
  EXPECT_LT(memory.resident_bytes, memory.total_bytes);
}

TEST(SystemMemory, SeesWhatTheProcessTouches) {
  constexpr size_t kBytes = size_t{64} << 20;
  const uint64_t before = ReadSystemMemory().resident_bytes;
  const std::vector<char> touched(kBytes, 1);
  EXPECT_GE(ReadSystemMemory().resident_bytes, before + kBytes / 2) << touched.size();
}

}  // namespace
}  // namespace canopy::base
