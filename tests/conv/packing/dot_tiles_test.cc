// SPDX-License-Identifier: Apache-2.0
#include "conv/packing/dot_tiles.h"

#include <gtest/gtest.h>

#include <string>

#include "kernels/dispatch.h"

namespace canopy::conv::packing {
namespace {

class DotTilesTest : public testing::TestWithParam<int64_t> {};

TEST_P(DotTilesTest, GiveEveryColumnToAKernelThatThereIs) {
  const kernels::ScopedTarget scoped(GetParam());
  const kernels::DotsKernels& kernels = kernels::Dots();
  for (int rows = 1; rows <= kernels.most_rows(); ++rows) {
    for (int64_t columns = 1; columns <= 40; ++columns) {
      for (const bool sums_rows : {false, true}) {
        SCOPED_TRACE(std::to_string(rows) + " rows, " + std::to_string(columns) + " columns, " +
                     std::to_string(sums_rows));
        const DotTiles tiles(kernels, rows, columns, sums_rows);
        int64_t next = 0;
        for (int64_t tile = 0; tile < tiles.count(); ++tile) {
          ASSERT_EQ(tiles.first(tile), next);
          ASSERT_GT(tiles.columns(tile), 0);
          const bool sums = sums_rows && tile == 0;
          ASSERT_LE(tiles.columns(tile), (sums ? kernels.most_summing_columns : kernels.most_columns)[rows]);
          next += tiles.columns(tile);
        }
        EXPECT_EQ(next, columns);
        // No more calls than a tile narrower than others makes necessary.
        EXPECT_LE((tiles.count() - 2) * kernels.most_columns[rows], columns - 1);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, DotTilesTest, testing::ValuesIn(kernels::MachineTargets()),
                         [](const auto& info) { return std::string(kernels::TargetName(info.param)); });

}  // namespace
}  // namespace canopy::conv::packing
