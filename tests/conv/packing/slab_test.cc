// SPDX-License-Identifier: Apache-2.0
// Every pixel and channel of a slab where SlabShape says that it stands: rows shorter and longer than a line of the
// loader's, several rows or images a line, phases that divide a row and do not, pixels side by side and apart, rows
// with gaps between them; channels side by side, too.
#include "conv/packing/slab.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "kernels/dispatch.h"
#include "tests/conv/random_case.h"

namespace canopy::conv::packing {
namespace {

struct Load {
  Tensor tensor;
  SlabShape shape;
};

Load DrawLoad(uint32_t seed) {
  Draw draw(seed);
  const int64_t columns[] = {1, 5, 16, 31, 100, 255, 256, 257, 300, 530};
  const int64_t wide = columns[draw(0, 9)], step = draw(0, 3) == 0 ? 2 : 1;
  const int64_t rows = draw(1, wide > 100 ? 3 : 9);
  Load load;
  const std::array<int, 5> order =
      draw(0, 3) == 0 ? std::array<int, 5>{0, 2, 3, 4, 1} : std::array<int, 5>{0, 1, 2, 3, 4};  // channels last
  load.tensor = MakeTensor({3, 40, 2, rows + 1, wide * step + 1}, draw(0, 3) == 0 ? DType::kFloat16 : DType::kFloat32,
                           order, draw(0, 2));
  FillRandom(&load.tensor, true, draw.engine());
  SlabShape& shape = load.shape;
  shape.first_image = draw(0, 1);
  shape.images = draw(1, 2);
  // Now and then all of a row, so that rows follow one another.
  const bool whole = draw(0, 1) == 0;
  if (whole) load.tensor = MakeTensor({3, 40, 2, rows, wide}, DType::kFloat32, order, 0);
  if (whole) FillRandom(&load.tensor, true, draw.engine());
  shape.axes[0] = {0, 1, 2};
  shape.axes[1] = {whole ? 0 : draw(0, 1), 1, rows};
  shape.axes[2] = {whole ? 0 : draw(0, 1), whole ? 1 : step, wide};
  shape.first_channel = draw(0, 4);
  shape.channels = draw(1, 35);
  shape.panel = draw(0, 1) == 0 ? shape.channels : 16;
  shape.phases = draw(1, 4);
  return load;
}

class SlabTest : public testing::TestWithParam<int64_t> {};

TEST_P(SlabTest, HoldsEveryElementWhereItsShapeSays) {
  const kernels::ScopedTarget scoped(GetParam());
  std::vector<float> lines(kLines * (kLine + kernels::kLineSlack));
  std::vector<int64_t> offsets(kLine);
  const SlabScratch scratch{lines.data(), offsets.data()};
  for (uint32_t seed = 0; seed < 150; ++seed) {
    const Load load = DrawLoad(seed);
    const SlabShape& s = load.shape;
    std::vector<float> slab((s.channels + s.panel) * s.pixels() + kernels::kLineSlack, -1000);
    LoadSlab(LineReader(load.tensor.bytes.data(), load.tensor.operand.dtype, {}), load.tensor.operand, s, scratch,
             slab.data());
    ForEach({s.images, s.channels, s.axes[0].count, s.axes[1].count, s.axes[2].count},
            [&](const std::array<int64_t, 5>& at) {
              const int64_t place = at[1] / s.panel * s.PanelFloats() +
                                    (s.Pixel(at[2], at[3], at[4]) + at[0]) * s.panel + at[1] % s.panel;
              const double expected =
                  load.tensor.Get({s.first_image + at[0], s.first_channel + at[1], s.axes[0].begin + at[2],
                                   s.axes[1].begin + at[3], s.axes[2].begin + at[4] * s.axes[2].step});
              if (slab[place] != expected)
                ADD_FAILURE() << "seed " << seed << ", pixel " << at[4] << " of row " << at[3];
            });
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, SlabTest, testing::ValuesIn(kernels::MachineTargets()),
                         [](const auto& info) { return std::string(kernels::TargetName(info.param)); });

}  // namespace
}  // namespace canopy::conv::packing
