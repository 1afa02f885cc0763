// SPDX-License-Identifier: Apache-2.0
#include "base/cpu.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <cstdlib>

namespace canopy::base {
namespace {

class CpuTest : public testing::Test {
 protected:
  void SetUp() override { testing::GTEST_FLAG(death_test_style) = "threadsafe"; }

  // The number of threads in a fresh process with these variables.
  static void ExpectThreads(const char* canopy, const char* omp, int expected) {
    EXPECT_EXIT(
        {
          unsetenv("CANOPY_NUM_THREADS");
          unsetenv("OMP_NUM_THREADS");
          if (canopy != nullptr) setenv("CANOPY_NUM_THREADS", canopy, 1);
          if (omp != nullptr) setenv("OMP_NUM_THREADS", omp, 1);
          std::exit(DefaultThreadCount());
        },
        testing::ExitedWithCode(expected), "");
  }
};

TEST_F(CpuTest, HasPlausibleFacts) {
  const CpuFacts& facts = Cpu();
  EXPECT_GE(facts.l1_data_bytes, 4 << 10);
  EXPECT_GE(facts.l2_bytes, facts.l1_data_bytes);
  EXPECT_EQ(&facts, &Cpu()) << "read once";
}

TEST_F(CpuTest, UsesAsManyThreadsAsItIsTold) {
  ExpectThreads("3", "2", 3);
  ExpectThreads("200", nullptr, 200);
  ExpectThreads(nullptr, "1", 1);
}

TEST_F(CpuTest, TakesWhatIsAllowedWhereTheVariablesAreWrong) {
  cpu_set_t mask;
  ASSERT_EQ(sched_getaffinity(0, sizeof(mask), &mask), 0);
  EXPECT_LE(DefaultThreadCount(), std::max(1, CPU_COUNT(&mask)));
  const int usual = [] {
    unsetenv("CANOPY_NUM_THREADS");
    unsetenv("OMP_NUM_THREADS");
    return DefaultThreadCount();
  }();
  EXPECT_GE(usual, 1);
  for (const char* wrong : {"0", "-1", "257", "two", "2 ", ""}) ExpectThreads(wrong, nullptr, usual);
}

}  // namespace
}  // namespace canopy::base
