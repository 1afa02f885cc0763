// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "kernels/dispatch.h"
#include "kernels/row_sums/contract.h"
#include "tests/kernels/elements.h"

namespace canopy::kernels {
namespace {

enum class Kind { kInside, kSides, kEdge };

struct Edges {
  int64_t row_begin, row_end, lane_begin, lane_end;
};

// Steps that differ from one another, so that a mix-up of two shows; what is absent is NaN.
class Field {
 public:
  Field(convert::Form form, int channels, int taps, int64_t columns, Kind kind, const Edges& edges)
      : channels_(channels), taps_(taps), rows_(RowSums(form).rows[channels]), lanes_(RowSums(form).lanes) {
    std::mt19937 random(7);
    std::uniform_real_distribution<float> real(-1, 1);
    std::vector<float> source(9000);
    weights.assign(500, 0);
    result.assign(9000, 0);
    for (std::vector<float>* values : {&source, &weights, &result}) {
      for (float& value : *values) value = real(random);
    }
    call.source_channel = 23 * (lanes_ + 15);
    call.source_row = lanes_ + 15;
    call.sources = 3;
    call.columns = columns;
    call.weights = weights.data();
    call.result = result.data() + 9;
    call.result_channel = 19 * lanes_ + 3;
    call.result_row = lanes_ + 1;
    call.row_begin = kind == Kind::kEdge ? edges.row_begin : 0;
    call.row_end = kind == Kind::kEdge ? edges.row_end : rows_ + taps_ - 1;
    call.lane_begin = kind == Kind::kInside ? 0 : edges.lane_begin;
    call.lane_end = kind == Kind::kInside ? lanes_ + call.columns - 1 : edges.lane_end;
    for (int64_t k = 0; k < call.sources; ++k) {
      for (int64_t r = 0; r < rows_ + taps_ - 1; ++r) {
        for (int64_t l = 0; l < lanes_ + call.columns - 1; ++l) {
          if (!Present(r, l)) source[kFirst + k * call.source_channel + r * call.source_row + l] = std::nanf("");
        }
      }
    }
    source_ = Elements(form, source);
    call.source = source_.data() + kFirst * source_.size();
    call.ahead = source_.data();
    call.asks = true;
  }

  bool Present(int64_t row, int64_t lane) const {
    return row >= call.row_begin && row < call.row_end && lane >= call.lane_begin && lane < call.lane_end;
  }

  // The contract fixes order and fusing, so the bits are known.
  std::vector<float> Expected(bool fused) const {
    std::vector<float> expected = result;
    for (int c = 0; c < channels_; ++c) {
      for (int r = 0; r < rows_; ++r) {
        for (int l = 0; l < lanes_; ++l) {
          float& to = expected[9 + c * call.result_channel + r * call.result_row + l];
          to = to + Sum(c, r, l, fused);
        }
      }
    }
    return expected;
  }

  RowSumsCall call{};
  std::vector<float> weights, result;

 private:
  float Sum(int c, int r, int l, bool fused) const {
    float sum = 0;
    for (int64_t k = 0; k < call.sources; ++k) {
      for (int64_t j = 0; j < call.columns; ++j) {
        for (int i = 0; i < taps_; ++i) {
          if (!Present(r + i, l + j)) continue;
          const float weight = weights[((k * call.columns + j) * taps_ + i) * channels_ + c];
          const float x = source_.Read(kFirst + k * call.source_channel + (r + i) * call.source_row + j + l);
          sum = fused ? std::fma(weight, x, sum) : weight * x + sum;
        }
      }
    }
    return sum;
  }

  static constexpr int64_t kFirst = 40;
  Elements source_{convert::Form::kFloat32, {}};
  int channels_, taps_, rows_, lanes_;
};

void CheckKernels(convert::Form form, int channels, int taps, int64_t columns) {
  const RowSumKernels& kernels = RowSums(form);
  const std::string name = kernels.target;
  const bool fused = name != "SSE4" && name != "SCALAR";  // no fused multiply-add there
  const int64_t rows = kernels.rows[channels] + taps - 1, lanes = kernels.lanes;
  for (const Edges& edges : {Edges{0, rows, -3, lanes + 9}, Edges{0, rows, 1, lanes + 3}, Edges{1, rows, -1, lanes},
                             Edges{0, rows - 1, 2, lanes - 1}, Edges{0, 0, 0, lanes}}) {
    for (const Kind kind : {Kind::kInside, Kind::kSides, Kind::kEdge}) {
      Field field(form, channels, taps, columns, kind, edges);
      const std::vector<float> expected = field.Expected(fused);
      const auto& list = kind == Kind::kInside ? kernels.inside : kind == Kind::kSides ? kernels.sides : kernels.edge;
      list[channels][taps](field.call);
      ASSERT_EQ(field.result, expected) << name << ", form " << static_cast<int>(form) << ", channels " << channels
                                        << ", taps " << taps << ", columns " << columns << ", kind "
                                        << static_cast<int>(kind) << ", lanes from " << edges.lane_begin;
    }
  }
}

TEST(RowSumsTest, EveryKernelGivesTheContractsBitsAndNeitherReadsWhatIsAbsentNorWritesMore) {
  for (const int64_t target : MachineTargets()) {
    const ScopedTarget scoped(target);
    for (const convert::Form form : kReadForms) {
      for (int channels = 1; channels <= RowSumKernels::kMostChannels; ++channels) {
        ASSERT_GE(RowSums(form).rows[channels], 1);
        for (int taps = 1; taps <= RowSums(form).most_taps[channels]; ++taps) {
          for (const int64_t columns : {4, 11}) CheckKernels(form, channels, taps, columns);  // few, and more than kept
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

}  // namespace
}  // namespace canopy::kernels
