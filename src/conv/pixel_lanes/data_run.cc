// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "base/checked_math.h"
#include "conv/nonfinite.h"
#include "conv/pixel_lanes/data_step.h"
#include "exec/pool.h"

namespace canopy::conv::pixel_lanes {

// One run of one step: its buffers with the plan's numbers.
class DataRun {
 public:
  DataRun(const DataStep& step, const ConvProblem& problem, const Buffers& buffers, float* packed, char* scratch)
      : s_(step),
        p_(problem),
        b_(buffers),
        packed_(packed),
        scratch_(scratch),
        source_(s_.forward_ ? b_.input : b_.output, s_.source_.dtype, p_.rule),
        weight_(b_.weight, p_.weight.dtype, p_.rule),
        result_(s_.forward_ ? b_.output_result : b_.input_result, s_.result_.dtype, p_.rule.saturate) {}

  void Run() {
    const bool serial = s_.work_ < kSerialWork;
    bool nonfinite = false;
    PackAllWeights(&nonfinite);
    if (nonfinite) {
      weight_.TakeFiniteOnly();
      PackAllWeights(&nonfinite);
      nonfinite = true;
    }
    exec::ParallelFor(p_.geometry.groups * s_.pieces_, serial, [this](int64_t index, int worker) {
      Job(index / s_.pieces_, PieceAt(index % s_.pieces_),
          s_.ScratchAt(scratch_ + worker * s_.scratch_bytes_, nullptr));
    });
    if (nonfinite) AddNonfiniteWeightTerms(p_, s_.forward_ ? kForward : kBackwardData, b_, serial);
  }

 private:
  struct Piece {
    int64_t image, depth, row, column;  // first positions
  };

  Piece PieceAt(int64_t index) const {
    Piece piece;
    piece.column = index % s_.column_blocks_ * s_.columns_;
    index /= s_.column_blocks_;
    piece.row = index % s_.row_blocks_ * s_.rows_;
    index /= s_.row_blocks_;
    piece.depth = index % s_.walk_[0];
    piece.image = index / s_.walk_[0];
    return piece;
  }

  void PackAllWeights(bool* nonfinite) const {
    const int64_t groups = p_.geometry.groups;
    std::memset(packed_, 0, static_cast<size_t>(groups * s_.group_floats_) * sizeof(float));
    for (int64_t group = 0; group < groups; ++group) {
      for (const Product& product : s_.products_) PackProduct(group, product);
      for (const Product& product : s_.apart_) PackProduct(group, product);
    }
    *nonfinite = kernels::Lines().any_nonfinite(packed_, groups * s_.group_floats_);
  }

  void PackProduct(int64_t group, const Product& product) const {
    for (int64_t p = 0; p < product.phases; ++p) {
      for (const Phase::Tap& tap : s_.phases_[product.first_phase + p].taps) PackTap(group, product, p, tap);
    }
  }

  // packed[group][product][shift][source][row]
  void PackTap(int64_t group, const Product& product, int64_t phase, const Phase::Tap& tap) const {
    const int64_t results = s_.result_channels_, rows = s_.Rows(product);
    const auto shift = std::lower_bound(product.shifts.begin(), product.shifts.end(), tap.shift);
    float* to = packed_ + group * s_.group_floats_ + product.packed_offset +
                (shift - product.shifts.begin()) * s_.source_channels_ * rows + phase * results;
    int64_t offset =
        group * p_.geometry.group_output_channels() * p_.weight.strides[0] + s_.weight_.TapOffset(tap.weight);
    float line[kMostResults + kernels::kLineSlack];
    const kernels::Segment whole{0, 0, static_cast<int32_t>(results)};
    for (int64_t k = 0; k < s_.source_channels_; ++k, to += rows, offset += s_.weight_.source_stride) {
      weight_.Fetch(offset, &whole, 1, s_.weight_.result_stride, results, line);
      std::memcpy(to, line, static_cast<size_t>(results) * sizeof(float));
    }
  }

  void Job(int64_t group, const Piece& piece, const DataScratch& scratch) const {
    Compute(group, piece, s_.products_, scratch);
    // A weight of 0 makes a NaN of a source element that is not finite and that the definition does not multiply.
    if (!s_.apart_.empty() && AnyNonfinite(scratch.results)) Compute(group, piece, s_.apart_, scratch);
    for (size_t p = 0; p < s_.phases_.size(); ++p) {
      const int64_t row = static_cast<int64_t>(p) * s_.result_channels_;
      Store(group, s_.phases_[p], piece, scratch.results + row * s_.position_floats_, scratch.line);
    }
  }

  bool AnyNonfinite(const float* results) const {
    const int64_t rows = static_cast<int64_t>(s_.phases_.size()) * s_.result_channels_;
    for (int64_t r = 0; r < rows; ++r) {
      if (kernels::Lines().any_nonfinite(results + r * s_.position_floats_, s_.Positions())) return true;
    }
    return false;
  }

  void Compute(int64_t group, const Piece& piece, const std::vector<Product>& products,
               const DataScratch& scratch) const {
    for (int64_t c = 0; c < s_.source_channels_; c += s_.chunk_) {
      const int64_t channels = std::min(s_.chunk_, s_.source_channels_ - c);
      for (int64_t k = 0; k < channels; ++k) {
        LoadChannel(group * s_.source_channels_ + c + k, piece, scratch.line, scratch.slab + k * s_.channel_floats_);
      }
      for (const Product& product : products) Multiply(group, product, c, channels, scratch);
    }
  }

  // One channel with its padding.
  void LoadChannel(int64_t channel, const Piece& piece, float* line, float* to) const {
    const auto& strides = s_.source_.strides;
    const int64_t pitch = s_.Pitch();
    const int64_t first = piece.column + s_.least_[2];  // coordinate of a row's first element
    const int64_t low = std::clamp<int64_t>(-first, 0, pitch);
    const int64_t high = std::clamp<int64_t>(s_.source_size_[2] - first, low, pitch);
    for (int64_t d = 0; d <= s_.span_[0]; ++d) {
      const int64_t depth = piece.depth + s_.least_[0] + d;
      for (int64_t h = 0; h < s_.SlabRows(); ++h, to += pitch) {
        const int64_t row = piece.row + s_.least_[1] + h;
        if (depth < 0 || depth >= s_.source_size_[0] || row < 0 || row >= s_.source_size_[1] || low == high) {
          std::fill(to, to + pitch, 0.0f);
          continue;
        }
        std::fill(to, to + low, 0.0f);
        const int64_t offset = piece.image * strides[0] + channel * strides[1] + depth * strides[2] + row * strides[3] +
                               (first + low) * strides[4];
        if (strides[4] == 1) {
          source_.FetchRun(offset, high - low, to + low);
        } else {
          const kernels::Segment whole{0, 0, static_cast<int32_t>(high - low)};
          source_.Fetch(offset, &whole, 1, strides[4], high - low, line);
          std::copy(line, line + (high - low), to + low);
        }
        std::fill(to + high, to + pitch, 0.0f);
      }
    }
    std::fill(to, to + Widest(), 0.0f);  // read by the last panel
  }

  int64_t Widest() const { return s_.tiles_.tiles[s_.tiles_.count - 1].lanes; }

  // Adds the terms of source channels [c, c + channels).
  void Multiply(int64_t group, const Product& product, int64_t c, int64_t channels, const DataScratch& scratch) const {
    const int64_t all = s_.Rows(product), shifts = static_cast<int64_t>(product.shifts.size());
    const kernels::GatherTiles& whole = s_.tiles_.tiles[s_.Vectors(product) - 1];
    const float* weights = packed_ + group * s_.group_floats_ + product.packed_offset + c * all;
    float* results = scratch.results + product.first_phase * s_.result_channels_ * s_.position_floats_;
    for (int64_t t = 0; t < shifts; ++t) {
      scratch.runs[t] = {t * s_.source_channels_ * all, product.shifts[static_cast<size_t>(t)], channels};
    }
    for (int64_t r = 0; r < whole.most_rows; ++r) scratch.result_offsets[r] = r * s_.position_floats_;
    kernels::GatherOperands operands{};
    operands.runs = scratch.runs;
    operands.run_count = shifts;
    operands.a_step = all;
    operands.b_step = s_.channel_floats_;
    operands.result_offsets = scratch.result_offsets;
    const int64_t calls = base::CeilDiv(all, whole.most_rows);
    for (int64_t first = 0; first < s_.Positions(); first += whole.lanes) {
      const int64_t count = std::min<int64_t>(whole.lanes, s_.Positions() - first);
      const kernels::GatherTiles& tiles = s_.tiles_.tiles[base::CeilDiv(count, s_.tiles_.vector_lanes) - 1];
      operands.b = scratch.slab + first;
      for (int64_t call = 0; call < calls; ++call) {
        const int64_t row = call * all / calls, rows = (call + 1) * all / calls - row;
        operands.a = weights + row;
        operands.c = results + row * s_.position_floats_ + first;
        tiles.adjacent[rows](operands, c > 0);
      }
    }
  }

  void Store(int64_t group, const Phase& phase, const Piece& piece, float* results, float* line) const {
    const auto& strides = s_.result_.strides;
    const int64_t rows = std::min(s_.rows_, phase.axes[1].walk - piece.row);
    const int64_t columns = std::min(s_.columns_, phase.axes[2].walk - piece.column);
    if (piece.depth >= phase.axes[0].walk || rows <= 0 || columns <= 0) return;
    const auto at = [&](int axis, int64_t position) {
      return (phase.axes[axis].result_shift + position * phase.axes[axis].result_step) * strides[2 + axis];
    };
    const int64_t step = phase.axes[2].result_step * strides[4];
    const kernels::Segment whole{0, 0, static_cast<int32_t>(columns)};
    for (int64_t c = 0; c < s_.result_channels_; ++c) {
      const int64_t channel = group * s_.result_channels_ + c;
      const float bias = Bias(channel);
      for (int64_t h = 0; h < rows; ++h) {
        const float* from = results + c * s_.position_floats_ + h * s_.Pitch();
        if (p_.has_bias) {
          for (int64_t w = 0; w < columns; ++w) line[w] = from[w] + bias;
          from = line;
        }
        result_.Store(piece.image * strides[0] + channel * strides[1] + at(0, piece.depth) + at(1, piece.row + h) +
                          at(2, piece.column),
                      &whole, 1, step, from);
      }
    }
  }

  float Bias(int64_t channel) const {
    if (!p_.has_bias) return 0;
    const char* address =
        static_cast<const char*>(b_.bias) + channel * p_.bias.strides[1] * numerics::ElementBytes(p_.bias.dtype);
    return numerics::LoadElement(address, p_.bias.dtype);
  }

  static constexpr int64_t kMostResults = 28;

  const DataStep& s_;
  const ConvProblem& p_;
  const Buffers& b_;
  float* packed_;
  char* scratch_;
  LineReader source_, weight_;
  LineWriter result_;
};

void DataStep::Run(const ConvProblem& problem, const Buffers& buffers, const plan::WorkspaceLedger& ledger,
                   void* workspace) const noexcept {
  DataRun(*this, problem, buffers, static_cast<float*>(ledger.Fetch(workspace, packed_handle_)),
          static_cast<char*>(ledger.Fetch(workspace, scratch_handle_)))
      .Run();
}

}  // namespace canopy::conv::pixel_lanes
