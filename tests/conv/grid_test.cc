// SPDX-License-Identifier: Apache-2.0
#include "conv/grid.h"

#include <gtest/gtest.h>

#include <random>

namespace canopy::conv {
namespace {

// What a walked position reads: the element, or -1 in padding.
int64_t ElementAt(const PixelMap& m, int64_t position) {
  const int64_t w = position % m.walk[2], h = position / m.walk[2] % m.walk[1];
  const int64_t d = position / (m.walk[2] * m.walk[1]) % m.walk[0], n = position / (m.walk[2] * m.walk[1] * m.walk[0]);
  const Extent3 at = {d, h, w};
  int64_t offset = n * m.batch_stride;
  for (int a = 0; a < 3; ++a) {
    const int64_t coordinate = at[a] * m.step[a] + m.shift[a];
    if (coordinate < 0 || coordinate >= m.size[a]) return -1;
    offset += coordinate * m.stride[a];
  }
  return offset;
}

TEST(GridTest, SegmentsListExactlyTheElementsUnderTheWalk) {
  std::mt19937 random(3);
  const auto draw = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  for (int round = 0; round < 3000; ++round) {
    PixelMap m;
    for (int a = 0; a < 3; ++a) {
      m.walk[a] = draw(1, 5);
      m.step[a] = draw(1, 3);
      m.shift[a] = draw(-6, 6);
      m.size[a] = draw(1, 8);
    }
    m.stride = {m.size[1] * m.size[2], m.size[2], 1};
    if (draw(0, 1) == 1) m.stride = {1000, 100, 7};
    m.batch_stride = 10000;
    const int64_t total = 3 * m.walk[0] * m.walk[1] * m.walk[2];
    const int64_t begin = draw(0, total - 1), count = draw(1, total - begin);
    std::vector<kernels::Segment> segments(static_cast<size_t>(count));
    const int64_t made = BuildSegments(m, begin, count, segments.data());
    ASSERT_LE(made, count);
    std::vector<int64_t> listed(static_cast<size_t>(count), -1);
    int32_t last = 0;
    for (int64_t s = 0; s < made; ++s) {
      ASSERT_GE(segments[s].begin, last);
      ASSERT_GT(segments[s].count, 0);
      last = segments[s].begin + segments[s].count;
      ASSERT_LE(last, count);
      for (int i = 0; i < segments[s].count; ++i) {
        listed[segments[s].begin + i] = segments[s].source + i * m.element_step();
      }
    }
    for (int64_t i = 0; i < count; ++i) ASSERT_EQ(listed[i], ElementAt(m, begin + i)) << "round " << round;
  }
}

TEST(GridTest, RowsThatFollowOneAnotherInMemoryAreOneSegment) {
  PixelMap m;
  m.walk = m.size = {1, 7, 7};
  m.stride = {49, 7, 1};
  m.batch_stride = 49 * 64;
  kernels::Segment segments[49];
  ASSERT_EQ(BuildSegments(m, 0, 49, segments), 1);
  EXPECT_EQ(segments[0].count, 49);
}

// Backward data by the definition: which input positions a kernel offset reaches, and from where.
TEST(GridTest, PhasesCoverEveryPairOfInputAndTapOnce) {
  for (int64_t stride = 1; stride <= 5; ++stride) {
    for (int64_t kernel = 1; kernel <= 6; ++kernel) {
      for (int64_t dilation = 1; dilation <= 3; ++dilation) {
        for (int64_t pad = 0; pad <= 4; ++pad) {
          Geometry g;
          g.stride[2] = stride;
          g.kernel[2] = kernel;
          g.dilation[2] = dilation;
          g.pad_begin[2] = pad;
          g.input_size[2] = 11;
          bool gaps = false;
          std::vector<std::vector<int64_t>> source(11, std::vector<int64_t>(kernel, INT64_MIN));
          std::vector<bool> reached(11, false);
          for (const AxisPhase& phase : BackwardDataPhases(g, 2, &gaps)) {
            for (int64_t walked = 0; walked < phase.walk; ++walked) {
              const int64_t input = walked * phase.result_step + phase.result_shift;
              ASSERT_LT(input, 11);
              EXPECT_FALSE(reached[input]);
              reached[input] = true;
              for (const AxisTap& tap : phase.taps) source[input][tap.kernel] = walked * phase.source_step + tap.shift;
            }
          }
          for (int64_t i = 0; i < 11; ++i) {
            EXPECT_TRUE(gaps || reached[i]);
            for (int64_t k = 0; k < kernel; ++k) {
              const int64_t t = i + pad - k * dilation;
              const bool exists = ((t % stride) + stride) % stride == 0;
              EXPECT_EQ(source[i][k], exists ? t / stride : INT64_MIN);
            }
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace canopy::conv
