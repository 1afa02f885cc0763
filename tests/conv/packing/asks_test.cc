// SPDX-License-Identifier: Apache-2.0
#include "conv/packing/asks.h"

#include <gtest/gtest.h>

#include <set>

#include "conv/packing/cache_sets.h"

namespace canopy::conv::packing {
namespace {

TEST(Asks, ReachEveryAddressWhateverTheNumberOfCallsAndTerms) {
  static const char kMemory[64 * 300] = {};
  for (const int64_t count : {0, 1, 3, 64, 257}) {
    for (int64_t calls = 1; calls <= 9; ++calls) {
      for (const int64_t terms : {1, 4, 7, 256}) {
        std::set<int64_t> asked;
        for (int64_t call = 0; call < calls; ++call) {
          kernels::GatherOperands operands{};
          Asks(count, calls, AskTimes(terms)).Assign(call, kMemory, 64, &operands);
          const int64_t first = static_cast<const char*>(operands.ahead) - kMemory;
          for (int64_t i = 0; i < AskTimes(terms) * operands.asks; ++i) asked.insert(first + i * operands.ahead_step);
        }
        for (int64_t i = 0; i < count; ++i) EXPECT_TRUE(asked.contains(i * 64)) << i << " of " << count;
        EXPECT_EQ(asked.empty(), count == 0);
      }
    }
  }
}

TEST(Asks, AreSharedOutEvenly) {
  static const char kMemory[64 * 300] = {};
  kernels::GatherOperands operands{};
  Asks(256, 1, AskTimes(256)).Assign(0, kMemory, 64, &operands);
  EXPECT_EQ(operands.asks, 4);
  Asks(256, 5, AskTimes(256)).Assign(4, kMemory, 64, &operands);
  EXPECT_EQ(operands.asks, 1);
  EXPECT_EQ(operands.ahead, kMemory + 4 * 52 * 64);
}

TEST(StretchAsks, ReachEveryLineOneStretchAfterAnother) {
  static const char kMemory[64 * 300] = {};
  constexpr int64_t kFirst[] = {0, 100, 250}, kLines[] = {60, 130, 50};
  for (const int64_t vectors : {1, 2, 4}) {
    for (const int64_t terms : {3, 56}) {
      for (const int64_t calls : {5, 10, 37}) {
        StretchAsks asks;
        for (int i = 0; i < 3; ++i) asks.Add(kMemory + kFirst[i] * 64, kLines[i] * 64);
        std::set<int64_t> asked;
        for (int64_t call = 0; call < calls; ++call) {
          kernels::GatherOperands operands{};
          asks.Assign(call, calls, terms, vectors, &operands);
          EXPECT_EQ(operands.ahead_line, 64);
          EXPECT_EQ(operands.ahead_step, 64 * vectors);
          const int64_t first = (static_cast<const char*>(operands.ahead) - kMemory) / 64;
          EXPECT_TRUE(asked.empty() || first > *asked.begin());
          for (int64_t i = 0; i < AskTimes(terms) * operands.asks * vectors; ++i) asked.insert(first + i);
        }
        for (int i = 0; i < 3; ++i) {
          for (int64_t line = 0; line < kLines[i]; ++line) EXPECT_TRUE(asked.contains(kFirst[i] + line)) << line;
        }
      }
    }
  }
}

TEST(StretchAsks, OfNoStretchAskForNothing) {
  kernels::GatherOperands operands{};
  operands.asks = 1;
  StretchAsks().Assign(0, 5, 56, 2, &operands);
  EXPECT_EQ(operands.asks, 0);
}

TEST(CrowdASet, TakesManyRowsOfOneSet) {
  EXPECT_TRUE(CrowdASet(14, 1024));
  EXPECT_TRUE(CrowdASet(14, 224 * 224));
  EXPECT_FALSE(CrowdASet(14, 56 * 56));
  EXPECT_FALSE(CrowdASet(6, 1024));
}

}  // namespace
}  // namespace canopy::conv::packing
