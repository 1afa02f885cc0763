// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <hwy/aligned_allocator.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "kernels/dispatch.h"
#include "kernels/stencil/contract.h"

namespace canopy::kernels {
namespace {

class StencilTest : public testing::TestWithParam<int64_t> {
 protected:
  StencilTest() : scoped_(GetParam()), kernels_(Stencils()) {}

  const ScopedTarget scoped_;
  const StencilKernels& kernels_;
};

// Steps that differ from one another, so that a mix-up of two shows; source rows and columns overlap, as in use.
struct Field {
  explicit Field(int lanes) : lanes(lanes), source(9000), taps(9000), result(9000) {
    std::mt19937 random(5);
    std::uniform_real_distribution<float> real(-1, 1);
    for (std::vector<float>* values : {&source, &taps, &result}) {
      for (float& value : *values) value = real(random);
    }
  }
  StencilCall Call(const std::vector<StencilColumn>& columns, int64_t positions, bool accumulate) {
    StencilCall call;
    call.source = source.data() + 3;
    call.source_row = 3 * lanes + 1;
    call.source_position = lanes + 2;
    call.taps = taps.data() + 1;
    call.tap_row = lanes + 3;
    call.columns = columns.data();
    call.column_count = static_cast<int64_t>(columns.size());
    call.result = result.data() + 5;
    call.result_row = 19 * lanes + 1;
    call.result_position = 2 * lanes;
    call.positions = positions;
    call.accumulate = accumulate;
    return call;
  }

  int lanes;
  std::vector<float> source, taps, result;
};

// The contract fixes order and fusing, so the bits are known.
void ExpectContract(const StencilCall& call, int rows, int taps, int lanes, bool broadcast, bool fused,
                    std::vector<float>* result, const float* before) {
  for (int64_t p = 0; p < call.positions; ++p) {
    for (int r = 0; r < rows; ++r) {
      for (int l = 0; l < lanes; ++l) {
        float sum = 0;
        for (int64_t j = 0; j < call.column_count; ++j) {
          for (int t = 0; t < taps; ++t) {
            const float tap = call.taps[call.columns[j].tap + t * call.tap_row + (broadcast ? 0 : l)];
            const float x =
                call.source[call.columns[j].source + p * call.source_position + (r + t) * call.source_row + l];
            sum = fused ? std::fma(tap, x, sum) : tap * x + sum;
          }
        }
        const int64_t at = call.result - result->data() + p * call.result_position + r * call.result_row + l;
        if (call.accumulate) sum = before[at] + sum;
        ASSERT_EQ((*result)[at], sum) << "row " << r << " position " << p << " lane " << l;
        (*result)[at] = before[at];
      }
    }
  }
}

TEST_P(StencilTest, EveryKernelGivesTheContractsBitsAndTouchesNothingElse) {
  const std::string name = kernels_.target;
  const bool fused = name != "SSE4" && name != "SCALAR";  // no fused multiply-add there
  ASSERT_GT(kernels_.count, 0);
  const std::vector<std::vector<StencilColumn>> lists = {{}, {{7, 4}}, {{0, 0}, {5, 60}, {260, 33}}};
  for (int i = 0; i < kernels_.count; ++i) {
    const StencilRows& entry = kernels_.rows[i];
    for (int taps = 1; taps <= entry.most_taps; ++taps) {
      for (const bool broadcast : {false, true}) {
        for (const auto& columns : lists) {
          for (const bool accumulate : {false, true}) {
            SCOPED_TRACE(name + ", rows " + std::to_string(entry.rows) + ", at once " + std::to_string(entry.at_once) +
                         ", taps " + std::to_string(taps) + (broadcast ? ", broadcast" : "") + ", columns " +
                         std::to_string(columns.size()));
            Field field(kernels_.lanes);
            const std::vector<float> before = field.result;
            const StencilCall call = field.Call(columns, 2 * entry.at_once, accumulate);
            (broadcast ? entry.broadcast : entry.vectors)[taps](call);
            ExpectContract(call, entry.rows, taps, kernels_.lanes, broadcast, fused, &field.result, before.data());
            ASSERT_EQ(field.result, before) << "written outside the result";
          }
        }
      }
    }
  }
}

TEST_P(StencilTest, EveryNumberOfRowsThatIsTakenTogetherIsAlsoTakenOneByOne) {
  for (int i = 0; i < kernels_.count; ++i) {
    bool single = false;
    for (int j = 0; j < kernels_.count; ++j) {
      single = single || (kernels_.rows[j].rows == kernels_.rows[i].rows && kernels_.rows[j].at_once == 1 &&
                          kernels_.rows[j].most_taps >= kernels_.rows[i].most_taps);
    }
    EXPECT_TRUE(single) << kernels_.rows[i].rows;
  }
}

// Around a vector and around two, and long enough for the loop over whole squares.
constexpr int64_t kCounts[] = {1, 3, 4, 7, 8, 9, 15, 16, 17, 31, 33, 50};

TEST_P(StencilTest, LinesBecomeLanes) {
  const int lanes = kernels_.lanes;
  for (const int64_t count : kCounts) {
    std::vector<std::vector<float>> lines(lanes);
    std::vector<const float*> pointers;
    for (int l = 0; l < lanes; ++l) {
      for (int64_t i = 0; i < count; ++i) lines[l].push_back(static_cast<float>(1000 * l + i));
      lines[l].shrink_to_fit();  // so that a sanitizer sees a read past the end
      pointers.push_back(lines[l].data());
    }
    auto to = hwy::AllocateAligned<float>((count + 1) * lanes);
    for (int64_t i = 0; i < (count + 1) * lanes; ++i) to[i] = -1;
    kernels_.to_lanes(pointers.data(), count, to.get());
    for (int64_t i = 0; i < (count + 1) * lanes; ++i) {
      ASSERT_EQ(to[i], i / lanes < count ? lines[i % lanes][i / lanes] : -1) << count << " " << i;
    }
  }
}

TEST_P(StencilTest, LanesBecomeLines) {
  const int lanes = kernels_.lanes;
  for (const int64_t count : kCounts) {
    for (int valid = 1; valid <= lanes; ++valid) {
      auto from = hwy::AllocateAligned<float>(count * lanes);
      for (int64_t i = 0; i < count * lanes; ++i) from[i] = static_cast<float>(i);
      std::vector<std::vector<float>> lines(valid, std::vector<float>(count + 2, -1.0f));
      std::vector<float*> pointers;
      for (auto& line : lines) pointers.push_back(line.data() + 1);
      kernels_.from_lanes(from.get(), count, valid, pointers.data());
      for (int l = 0; l < valid; ++l) {
        for (int64_t i = -1; i <= count; ++i) {
          const bool inside = i >= 0 && i < count;
          ASSERT_EQ(lines[l][i + 1], inside ? static_cast<float>(i * lanes + l) : -1) << count << " " << l << " " << i;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, StencilTest, testing::ValuesIn(MachineTargets()),
                         [](const auto& info) { return std::string(TargetName(info.param)); });

}  // namespace
}  // namespace canopy::kernels
