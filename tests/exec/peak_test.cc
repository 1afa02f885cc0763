// SPDX-License-Identifier: Apache-2.0
#include "exec/peak.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <thread>

namespace canopy::exec {
namespace {

TEST(PeakTest, ThreadsThatAskAtOnceGetOneFigure) {
  std::array<double, 4> peaks{};
  std::array<std::thread, 4> threads;
  for (size_t i = 0; i < threads.size(); ++i)
    threads[i] = std::thread([&peaks, i] { peaks[i] = PeakFlopsOfAThread(); });
  for (std::thread& thread : threads) thread.join();
  for (const double peak : peaks) EXPECT_EQ(peak, PeakFlopsOfAThread());
}

TEST(PeakTest, ItIsTheRateOfAProcessor) {
  EXPECT_TRUE(std::isfinite(PeakFlopsOfAThread()));
  EXPECT_GT(PeakFlopsOfAThread(), 1e6);   // however busy the machine
  EXPECT_LT(PeakFlopsOfAThread(), 1e13);  // no core does so much
}

}  // namespace
}  // namespace canopy::exec
