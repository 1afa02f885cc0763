// SPDX-License-Identifier: Apache-2.0
#include "exec/shares.h"

#include <gtest/gtest.h>

namespace canopy::exec {
namespace {

TEST(SharesTest, EveryJobIsInTheOneShareThatHasIt) {
  for (int64_t count : {1, 2, 3, 7, 64}) {
    for (int64_t jobs : {1, 2, 5, 7, 63, 64, 1000}) {
      const Shares shares(jobs, count);
      EXPECT_EQ(shares.Begin(0), 0);
      EXPECT_EQ(shares.Begin(count), jobs);
      for (int64_t share = 0; share < count; ++share) {
        EXPECT_GE(shares.Size(share), jobs / count);
        EXPECT_LE(shares.Size(share), jobs / count + 1);
        for (int64_t job = shares.Begin(share); job < shares.Begin(share + 1); ++job) {
          EXPECT_EQ(shares.Of(job), share) << jobs << " jobs in " << count << " shares, job " << job;
        }
      }
    }
  }
}

}  // namespace
}  // namespace canopy::exec
