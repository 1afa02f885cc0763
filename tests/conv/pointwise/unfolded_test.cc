// SPDX-License-Identifier: Apache-2.0
// The unfolded input against the positions that conv/elements.h pairs. Bundles around those that are told apart by a
// transpose (4) and copied whole (8), panels that cut them, planes that a piece of pixels begins and ends within.
#include "conv/pointwise/unfolded.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "conv/elements.h"

namespace canopy::conv::pointwise {
namespace {

struct Input {
  explicit Input(const Geometry& geometry) : g(geometry) {
    const Extent3& e = g.input_size;
    operand.strides = {g.input_channels * Volume(e), Volume(e), e[1] * e[2], e[2], 1};
    elements.resize(static_cast<size_t>(g.batch * operand.strides[0]));
    std::iota(elements.begin(), elements.end(), 1.0f);
    unfolded = Unfolded(g, operand);
  }

  // By the definition.
  float At(int64_t channel, int64_t pixel) const {
    const int64_t plane = Volume(g.output_size);
    Extent3 in{};
    EXPECT_TRUE(InputAt(g, Unflatten(pixel % plane, g.output_size), Unflatten(channel % g.taps(), g.kernel), &in));
    const int64_t bytes = ElementOffset(operand, pixel / plane, channel / g.taps(), in);
    return elements[static_cast<size_t>(bytes) / sizeof(float)];
  }

  Geometry g;
  Operand operand;
  std::vector<float> elements;
  Unfolded unfolded;
};

std::vector<Input> Inputs() {
  std::vector<Input> inputs;
  for (const int64_t width : {1, 2, 3, 4, 7, 8, 16, 17}) {
    Geometry g;
    g.batch = 2;
    g.input_channels = 3;
    g.output_size = {2, 3, 5};
    g.kernel = {2, 1, width};
    g.stride = {2, 2, width % 2 == 0 ? width : width + 1};
    g.input_size = {5, 7, 4 * g.stride[2] + width + 1};  // remainders that nothing meets
    inputs.emplace_back(g);
  }
  return inputs;
}

constexpr Range kChannels{5, 25}, kPixels{7, 41};

TEST(UnfoldedTest, FetchesWhatEachKernelOffsetMeets) {
  for (const Input& input : Inputs()) {
    if (!Unfolds(input.g)) FAIL();
    const LineReader reader(input.elements.data(), numerics::DType::kFloat32, {});
    const int64_t channels = std::min(kChannels.count, 3 * input.g.taps() - kChannels.first), step = 48;
    std::vector<float> to(static_cast<size_t>(channels * step) + kernels::kLineSlack, -1.0f);
    input.unfolded.Fetch(reader, {kChannels.first, channels}, kPixels, to.data(), step);
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t p = 0; p < kPixels.count; ++p) {
        ASSERT_EQ(to[c * step + p], input.At(kChannels.first + c, kPixels.first + p))
            << "width " << input.g.kernel[2] << ", channel " << c << ", pixel " << p;
      }
    }
  }
}

TEST(UnfoldedTest, FetchesLanesInPanels) {
  constexpr int64_t kPanel = 12;
  std::vector<float> lines(packing::kLines * (packing::kLine + kernels::kLineSlack));
  std::vector<int64_t> offsets(packing::kLine);
  for (const Input& input : Inputs()) {
    const LineReader reader(input.elements.data(), numerics::DType::kFloat32, {});
    const int64_t channels = std::min(kChannels.count, 3 * input.g.taps() - kChannels.first);
    std::vector<float> slab(static_cast<size_t>(3 * kPanel * kPixels.count), -1.0f);
    input.unfolded.FetchLanes(reader, {kChannels.first, channels}, kPixels, kPanel, {lines.data(), offsets.data()},
                              slab.data());
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t p = 0; p < kPixels.count; ++p) {
        ASSERT_EQ(slab[(c / kPanel * kPixels.count + p) * kPanel + c % kPanel],
                  input.At(kChannels.first + c, kPixels.first + p))
            << "width " << input.g.kernel[2] << ", channel " << c << ", pixel " << p;
      }
    }
  }
}

// Stored row by row with what lies between, every element of the planes is written, and once.
TEST(UnfoldedTest, ReachesEveryElementOnce) {
  for (const Input& input : Inputs()) {
    const Geometry& g = input.g;
    std::vector<int> written(input.elements.size(), 0);
    const int64_t bundles = g.input_channels * g.kernel[0] * g.kernel[1];
    const int64_t rows = g.batch * g.output_size[0] * g.output_size[1];
    Unfolded::Bundle bundle = input.unfolded.BundleAt(0);
    for (int64_t b = 0; b < bundles; ++b, input.unfolded.Next(&bundle)) {
      Unfolded::Row row = input.unfolded.RowAt(0);
      for (int64_t r = 0; r < rows; ++r, input.unfolded.Next(&row)) {
        const int64_t offset = bundle.offset + row.offset;
        for (int64_t i = 0; i < input.unfolded.Reach(bundle, row); ++i) ++written[offset + i];
      }
    }
    for (size_t i = 0; i < written.size(); ++i) ASSERT_EQ(written[i], 1) << "width " << g.kernel[2] << ", " << i;
  }
}

TEST(UnfoldedTest, RefusesOffsetsThatMeetTheSamePixels) {
  Geometry g;
  g.output_size = {1, 4, 4};
  g.input_size = {1, 8, 8};
  g.kernel = {1, 2, 2};
  g.stride = {1, 2, 2};
  EXPECT_TRUE(Unfolds(g));
  Geometry overlapping = g, dilated = g, padded = g;
  overlapping.stride[2] = 1;
  dilated.dilation[1] = 2;
  padded.pad_begin[2] = 1;
  EXPECT_FALSE(Unfolds(overlapping));
  EXPECT_FALSE(Unfolds(dilated));
  EXPECT_FALSE(Unfolds(padded));
}

}  // namespace
}  // namespace canopy::conv::pointwise
