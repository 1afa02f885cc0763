// SPDX-License-Identifier: Apache-2.0
#include "conv/packing/common_numbers.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace canopy::conv::packing {
namespace {

constexpr int64_t kParts = 6, kPartFloats = 5;

// Runs one job on each of the four threads and returns how often a part was made; every job must see all numbers.
int64_t MakeAndRead(double share) {
  plan::WorkspaceLedger ledger;
  const CommonNumbers plan("numbers", kParts, kParts * kPartFloats, share, &ledger);
  std::vector<char> workspace(static_cast<size_t>(ledger.total_bytes()), 77);
  std::atomic<int64_t> made{0}, met{0}, wrong{0};
  const auto make = [&](int64_t part, int, float* numbers) {
    made++;
    for (int64_t i = 0; i < kPartFloats; ++i) numbers[part * kPartFloats + i] = static_cast<float>(part * 100 + i);
  };
  for (int run = 0; run < 2; ++run) {  // the second must not believe what the first left in the workspace
    met = 0;
    const CommonNumbers::Run numbers(plan, ledger, workspace.data(), make);
    numbers.Begin(false);
    exec::ParallelFor(4, false, [&](int64_t, int worker) {
      const float* all = numbers.Of(worker);
      for (int64_t i = 0; i < kParts * kPartFloats; ++i) {
        if (all[i] != static_cast<float>(i / kPartFloats * 100 + i % kPartFloats)) wrong++;
      }
      met++;
      while (met < 4) std::this_thread::yield();  // so that each thread has one
    });
  }
  EXPECT_EQ(wrong, 0);
  return made;
}

TEST(CommonNumbersTest, LittleWorkIsDoneByEachThread) {
  ASSERT_EQ(exec::ThreadCount(), 4);
  EXPECT_EQ(MakeAndRead(0.01), 2 * 4 * kParts);
}

TEST(CommonNumbersTest, MuchWorkIsDoneOnceByAll) { EXPECT_EQ(MakeAndRead(0.5), 2 * kParts); }

TEST(CommonNumbersTest, AStepMayHaveNone) {
  const CommonNumbers none;
  EXPECT_FALSE(none.exist());
  const auto make = [](int64_t, int, float*) { FAIL(); };
  const plan::WorkspaceLedger ledger;
  const CommonNumbers::Run numbers(none, ledger, nullptr, make);
  numbers.Begin(false);
  EXPECT_EQ(numbers.Of(0), nullptr);
}

}  // namespace
}  // namespace canopy::conv::packing
