// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "base/checked_math.h"
#include "conv/elements.h"
#include "conv/nonfinite.h"
#include "conv/packing/asks.h"
#include "conv/packing/row_panels.h"
#include "conv/pair_reader.h"
#include "conv/pixel_lanes/data_step.h"
#include "conv/sheets/sheet.h"
#include "exec/pool.h"
#include "kernels/streams.h"

namespace canopy::conv::pixel_lanes {

// One run of one step: its buffers with the plan's numbers.
class DataRun {
 public:
  DataRun(const DataStep& step, const ConvProblem& problem, const Buffers& buffers, float* packed, plan::Shares scratch)
      : s_(step),
        p_(problem),
        b_(buffers),
        packed_(packed),
        scratch_(scratch),
        source_(s_.forward_ ? b_.input : b_.output, s_.source_.dtype, p_.rule),
        weight_(b_.weight, p_.weight.dtype, p_.rule),
        result_(s_.forward_ ? b_.output_result : b_.input_result, s_.result_.dtype, p_.rule.saturate),
        source_pairs_(s_.forward_ ? b_.input : b_.output, s_.source_.dtype, p_.rule),
        source_planes_(s_.forward_ ? b_.input : b_.output, s_.source_, p_.rule),
        result_planes_(s_.forward_ ? b_.output_result : b_.input_result, s_.result_, p_.rule.saturate) {}

  void Run() {
    const bool serial = s_.work_ < kSerialWork;
    const bool nonfinite = PackAllWeights(serial);
    if (nonfinite) {
      weight_.TakeFiniteOnly();
      PackAllWeights(serial);
    }
    if (s_.dot_rate_ > 0) PairAllWeights(serial);
    const int64_t blocks = base::CeilDiv(p_.geometry.groups, s_.group_block_);
    exec::ParallelFor(blocks * s_.pieces_, serial, [&](int64_t index, int worker) {
      const int64_t first = index % blocks * s_.group_block_;
      const int64_t end = std::min(p_.geometry.groups, first + s_.group_block_);
      const Piece piece = PieceAt(index / blocks);
      const DataScratch scratch = ScratchOf(worker);
      for (int64_t group = first; group < end; ++group) Job(group, piece, group + 1 < end, scratch);
    });
    if (nonfinite) AddNonfiniteWeightTerms(p_, s_.forward_ ? kForward : kBackwardData, b_, serial);
  }

 private:
  struct Piece {
    int64_t image, depth, row, column;  // first positions
  };

  // What products ask memory for on their way: the next group's piece of the source and this one's results, in turns.
  struct Wanted {
    const char *read = nullptr, *write = nullptr;
    int64_t read_bytes = 0, write_bytes = 0;

    // What work [begin, end) of `all` asks for.
    Wanted Part(int64_t begin, int64_t end, int64_t all) const {
      const int64_t read_begin = begin * read_bytes / all, write_begin = begin * write_bytes / all;
      return {read + read_begin, write + write_begin, end * read_bytes / all - read_begin,
              end * write_bytes / all - write_begin};
    }
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

  DataScratch ScratchOf(int worker) const { return s_.ScratchAt(scratch_.Of(worker), nullptr); }

  // Whether one is not finite.
  bool PackAllWeights(bool serial) const {
    const int64_t groups = p_.geometry.groups;
    exec::ParallelFor(groups, serial, [this](int64_t group, int worker) {
      float* packed = packed_ + group * s_.group_floats_;
      if (!s_.apart_.products.empty() || s_.source_channels_ % s_.a_term() != 0) {
        std::memset(packed, 0, static_cast<size_t>(s_.group_floats_) * sizeof(float));
      }
      if (!s_.apart_.products.empty()) PackGroup(group, s_.apart_, ScratchOf(worker).weights, packed);
      PackGroup(group, s_.together_, ScratchOf(worker).weights, packed);
    });
    return kernels::Lines().any_nonfinite(packed_, groups * s_.group_floats_);
  }

  // Makes pairs of the numbers of neighbouring source channels, which are BF16, where the first of them are.
  void PairAllWeights(bool serial) const {
    exec::ParallelFor(p_.geometry.groups, serial, [this](int64_t group, int) {
      for (const ProductList* list : {&s_.together_, &s_.apart_}) {
        for (const Product& product : list->products) {
          const int64_t rows = s_.Rows(product), shifts = static_cast<int64_t>(product.shifts.size());
          float* shift = packed_ + group * s_.group_floats_ + product.packed_offset;
          for (int64_t t = 0; t < shifts; ++t, shift += s_.ShiftFloats(product)) PairTerms(rows, shift);
        }
      }
    });
  }

  void PairTerms(int64_t rows, float* weights) const {
    for (int64_t term = 0; term < s_.terms(); ++term) {
      for (int64_t r = 0; r < rows; ++r) {
        uint32_t pair[2];
        for (int64_t i = 0; i < 2; ++i) std::memcpy(&pair[i], weights + (2 * term + i) * rows + r, sizeof(pair[i]));
        pair[0] = pair[0] >> 16 | (pair[1] & 0xFFFF0000u);
        std::memcpy(weights + term * rows + r, &pair[0], sizeof(pair[0]));
      }
    }
  }

  // packed[product][shift][source][row]
  void PackGroup(int64_t group, const ProductList& list, float* line, float* packed) const {
    const int64_t results = s_.result_channels_, rows = s_.Rows(list.products[0]), run = s_.weight_run_;
    const int64_t step = s_.weight_.tap_strides[2];
    int64_t offset = group * p_.geometry.group_output_channels() * p_.weight.strides[0];
    for (int64_t k = 0; k < s_.source_channels_; ++k, packed += rows, offset += s_.weight_.source_stride) {
      for (int64_t tap = 0; tap < s_.weight_.taps; tap += run) {
        const int64_t first = offset + s_.weight_.TapOffset(tap);
        const float* from = weight_.Direct(first, step);
        int64_t from_step = s_.weight_.result_stride;
        if (from == nullptr) {
          if (step == 1 && from_step == run) {
            weight_.FetchRun(first, results * run, line);
          } else {
            weight_.FetchGrid(first, from_step, results, step, run, line);
          }
          from = line;
          from_step = run;
        }
        kernels::Lines().transpose(from, from_step, results, run, packed, &list.tap_offsets[static_cast<size_t>(tap)]);
      }
    }
  }

  void Job(int64_t group, const Piece& piece, bool more, const DataScratch& scratch) const {
    Compute(group, piece, s_.together_.products, WantedBy(group, piece, more), scratch);
    // A weight of 0 makes a NaN of a source element that is not finite and that the definition does not multiply.
    if (!s_.apart_.products.empty() && AnyNonfinite(scratch.results)) {
      Compute(group, piece, s_.apart_.products, {}, scratch);
    }
    const int64_t phase_floats = s_.result_channels_ * s_.position_floats_;
    float* results = scratch.results;
    if (p_.has_bias) AddBias(group, results);
    for (size_t p = 0; p < s_.phases_.size(); p += s_.pairs_ ? 2 : 1) {
      s_.pairs_ ? StorePair(group, p, piece, results, scratch.line)
                : Store(group, s_.phases_[p], piece, results, scratch.line);
      results += (s_.pairs_ ? 2 : 1) * phase_floats;
    }
  }

  // Planes that lie one behind another, as in dense tensors, where a piece is a plane.
  Wanted WantedBy(int64_t group, const Piece& piece, bool more) const {
    const auto bytes = [&](const Operand& operand, int64_t channels, int64_t size) {
      const int64_t channel = operand.strides[1], row = operand.strides[3];
      const bool dense = operand.strides[4] == 1 && channel == row * size && s_.row_blocks_ * s_.column_blocks_ == 1;
      return dense ? channels * channel * numerics::ElementBytes(operand.dtype) : 0;
    };
    Wanted wanted;
    const int64_t source = (group + 1) * s_.source_channels_, result = group * s_.result_channels_;
    wanted.read = source_planes_.Address(source_planes_.PlaneAt(piece.image, source, piece.depth));
    wanted.write = result_planes_.Address(result_planes_.PlaneAt(piece.image, result, piece.depth));
    if (more) wanted.read_bytes = bytes(s_.source_, s_.source_channels_, s_.source_size_[1]);
    wanted.write_bytes = bytes(s_.result_, s_.result_channels_, s_.result_size_[1]);
    return wanted;
  }

  bool AnyNonfinite(const float* results) const {
    const int64_t rows = static_cast<int64_t>(s_.phases_.size()) * s_.result_channels_;
    for (int64_t r = 0; r < rows; ++r) {
      if (kernels::Lines().any_nonfinite(results + r * s_.position_floats_, s_.Positions())) return true;
    }
    return false;
  }

  void Compute(int64_t group, const Piece& piece, const std::vector<Product>& products, const Wanted& wanted,
               const DataScratch& scratch) const {
    int64_t shifts = 0, done = 0;
    for (const Product& product : products) shifts += static_cast<int64_t>(product.shifts.size());
    const int64_t all = std::max<int64_t>(1, shifts * s_.terms());
    for (int64_t first = 0; first < s_.terms(); first += s_.chunk_) {
      const int64_t terms = std::min(s_.chunk_, s_.terms() - first);
      for (int64_t k = 0; k < terms; ++k) {
        LoadTerm(group, first + k, piece, scratch.line, scratch.slab + k * s_.channel_floats_);
      }
      for (const Product& product : products) {
        const int64_t work = static_cast<int64_t>(product.shifts.size()) * terms;
        Multiply(group, product, first, terms, wanted.Part(done, done + work, all), scratch);
        done += work;
      }
    }
  }

  // A channel, or a pair of them, with its padding.
  void LoadTerm(int64_t group, int64_t term, const Piece& piece, float* line, float* to) const {
    const int64_t pitch = s_.pitch_, channel = group * s_.source_channels_ + term * s_.a_term();
    const bool alone = (term + 1) * s_.a_term() > s_.source_channels_;                   // its other half is 0
    const int64_t column = piece.column + s_.least_[2], row = piece.row + s_.least_[1];  // coordinates of the first
    const int64_t low = std::clamp<int64_t>(-column, 0, pitch);
    const int64_t high = std::clamp<int64_t>(s_.source_size_[2] - column, low, pitch);
    const int64_t top = std::clamp<int64_t>(-row, 0, s_.SlabRows());
    const int64_t bottom = std::clamp<int64_t>(s_.source_size_[1] - row, top, s_.SlabRows());
    const sheets::PlanePart part{row + top, 1, bottom - top, column + low, high - low};
    for (int64_t d = 0; d <= s_.span_[0]; ++d, to += s_.SlabRows() * pitch) {
      const int64_t depth = piece.depth + s_.least_[0] + d;
      if (depth < 0 || depth >= s_.source_size_[0] || part.rows == 0 || part.columns == 0) {
        std::fill(to, to + s_.SlabRows() * pitch, 0.0f);
        continue;
      }
      std::fill(to, to + top * pitch + low, 0.0f);
      LoadRows(source_planes_.PlaneAt(piece.image, channel, depth), alone, part, line, to + top * pitch + low);
      std::fill(to + (bottom - 1) * pitch + high, to + s_.SlabRows() * pitch, 0.0f);
    }
    std::fill(to, to + s_.shared_ + Widest(), 0.0f);  // the last row's padding, and what the last panel reads
  }

  // Rows with zeros between them.
  void LoadRows(int64_t plane, bool alone, const sheets::PlanePart& part, float* line, float* to) const {
    const int64_t step = s_.source_.strides[4], lanes = s_.tiles_.vector_lanes;
    int64_t zeros = 0;
    if (s_.dot_rate_ > 0) {
      source_pairs_.FetchGrid(plane + part.first_row * s_.source_.strides[3] + part.first_column, s_.source_.strides[1],
                              alone, s_.source_.strides[3], part.rows, 1, part.columns, to, s_.pitch_);
    } else if (step == 1) {
      source_planes_.Load(plane, part, s_.pitch_, line, to, nullptr);
      zeros = base::RoundUp(part.columns, lanes) - part.columns;
    } else {
      const kernels::Segment whole{0, 0, static_cast<int32_t>(part.columns)};
      const int64_t first = plane + part.first_row * s_.source_.strides[3] + part.first_column * step;
      for (int64_t r = 0; r < part.rows; ++r) {
        source_.Fetch(first + r * s_.source_.strides[3], &whole, 1, step, part.columns, line);
        std::copy(line, line + part.columns, to + r * s_.pitch_);
      }
    }
    if (part.columns + zeros >= s_.pitch_) return;
    for (int64_t r = 0; r + 1 < part.rows; ++r) {
      std::fill(to + r * s_.pitch_ + part.columns + zeros, to + (r + 1) * s_.pitch_, 0.0f);
    }
  }

  int64_t Widest() const { return s_.tiles_.tiles[s_.tiles_.count - 1].lanes; }

  // Of memory that is wanted, a block's.
  struct Share {
    const char* from;
    int64_t bytes, step;
    packing::Asks asks;
  };

  // Adds terms [first_term, first_term + terms) under every shift.
  void Multiply(int64_t group, const Product& product, int64_t first_term, int64_t terms, const Wanted& wanted,
                const DataScratch& scratch) const {
    const int64_t all = s_.Rows(product), shifts = static_cast<int64_t>(product.shifts.size());
    const kernels::GatherTiles& whole = s_.tiles_.tiles[product.vectors - 1];
    const float* weights = packed_ + group * s_.group_floats_ + product.packed_offset + first_term * all;
    float* results = scratch.results + product.first_phase * s_.result_channels_ * s_.position_floats_;
    for (int64_t t = 0; t < shifts; ++t) {
      scratch.runs[t] = {t * s_.ShiftFloats(product), product.shifts[static_cast<size_t>(t)], terms};
    }
    for (int64_t r = 0; r < whole.most_rows; ++r) scratch.result_offsets[r] = r * s_.position_floats_;
    kernels::GatherOperands operands{};
    operands.runs = scratch.runs;
    operands.run_count = shifts;
    operands.a_step = all;
    operands.b_step = s_.channel_floats_;
    operands.result_offsets = scratch.result_offsets;
    const packing::RowPanels panels(all, whole.most_rows);
    const int64_t calls = panels.count();
    const int64_t vectors = base::CeilDiv(s_.Positions(), int64_t{s_.tiles_.vector_lanes});
    const int64_t blocks = base::CeilDiv(vectors, int64_t{product.vectors});
    if (blocks == 0) return;
    // Blocks take turns with what is read and what is written next. In steps so short that every line is asked for
    // twice: processors drop some of what they are asked for.
    const int64_t turns = base::CeilDiv(blocks, int64_t{2}), times = shifts * packing::AskTimes(terms);
    const auto share = [&](const char* from, int64_t bytes) {
      const int64_t part = bytes / turns;
      const int64_t step = std::clamp(base::CeilDiv(part, std::max<int64_t>(1, 2 * calls * times)), int64_t{1},
                                      vectors / blocks * kernels::kMemoryLine);
      return Share{from, part, step, packing::Asks(base::CeilDiv(part, step), calls, times)};
    };
    const Share shares[] = {share(wanted.read, wanted.read_bytes), share(wanted.write, wanted.write_bytes)};
    for (int64_t block = 0; block < blocks; ++block) {
      const int64_t vector = block * vectors / blocks, width = (block + 1) * vectors / blocks - vector;
      const int64_t first = vector * s_.tiles_.vector_lanes;
      const kernels::GatherTiles& tiles = s_.tiles_.tiles[width - 1];
      operands.b = scratch.slab + first;
      const Share& share = shares[block % 2];
      for (int64_t p = 0; p < calls; p += operands.panels) {
        const int64_t row = panels.first(p), rows = panels.rows(p);
        operands.panels = panels.Alike(p);
        operands.a_panel = rows;
        operands.c_panel = rows * s_.position_floats_;
        operands.a = weights + row;
        share.asks.Assign(p, share.from + block / 2 * share.bytes, share.step, &operands);
        operands.c = results + row * s_.position_floats_ + first;
        tiles.adjacent[rows](operands, first_term > 0);
      }
    }
  }

  void AddBias(int64_t group, float* results) const {
    for (size_t p = 0; p < s_.phases_.size(); ++p) {
      for (int64_t c = 0; c < s_.result_channels_; ++c, results += s_.position_floats_) {
        const float bias = LoadBias(p_, b_, group * s_.result_channels_ + c);
        for (int64_t i = 0; i < s_.Positions(); ++i) results[i] += bias;
      }
    }
  }

  // What a piece has of a phase in a plane of results.
  sheets::PlanePart PartOf(const Phase& phase, const Piece& piece) const {
    const AxisPhase &d = phase.axes[0], &h = phase.axes[1], &w = phase.axes[2];
    sheets::PlanePart part{
        h.result_shift + piece.row * h.result_step, h.result_step, std::clamp<int64_t>(h.walk - piece.row, 0, s_.rows_),
        w.result_shift + piece.column * w.result_step, std::clamp<int64_t>(w.walk - piece.column, 0, s_.columns_)};
    if (piece.depth >= d.walk || part.columns == 0) part.rows = 0;
    return part;
  }

  int64_t ResultPlane(const Phase& phase, const Piece& piece, int64_t channel) const {
    const AxisPhase& d = phase.axes[0];
    return result_planes_.PlaneAt(piece.image, channel, d.result_shift + piece.depth * d.result_step);
  }

  void Store(int64_t group, const Phase& phase, const Piece& piece, const float* results, float* line) const {
    const auto& strides = s_.result_.strides;
    const sheets::PlanePart part = PartOf(phase, piece);
    const int64_t step = phase.axes[2].result_step * strides[4];
    const kernels::Segment whole{0, 0, static_cast<int32_t>(part.columns)};
    for (int64_t c = 0; c < s_.result_channels_ && part.rows > 0; ++c, results += s_.position_floats_) {
      const int64_t plane = ResultPlane(phase, piece, group * s_.result_channels_ + c);
      if (step == 1) {
        result_planes_.Store(results, nullptr, s_.pitch_, part, line, plane);
        continue;
      }
      const int64_t first = plane + part.first_row * strides[3] + part.first_column * strides[4];
      for (int64_t r = 0; r < part.rows; ++r) {
        result_.Store(first + r * part.row_step * strides[3], &whole, 1, step, results + r * s_.pitch_);
      }
    }
  }

  // Phase `p` and the next, whose columns take turns.
  void StorePair(int64_t group, size_t p, const Piece& piece, const float* results, float* line) const {
    const Phase *even = &s_.phases_[p], *odd = &s_.phases_[p + 1];
    const float* odd_results = results + s_.result_channels_ * s_.position_floats_;
    if (odd->axes[2].result_shift == 0) {
      std::swap(even, odd);
      std::swap(results, odd_results);
    }
    sheets::PlanePart part = PartOf(*even, piece);
    part.columns += PartOf(*odd, piece).columns;
    for (int64_t c = 0; c < s_.result_channels_ && part.rows > 0; ++c) {
      const int64_t plane = ResultPlane(*even, piece, group * s_.result_channels_ + c);
      result_planes_.Store(results, odd_results, s_.pitch_, part, line, plane);
      results += s_.position_floats_;
      odd_results += s_.position_floats_;
    }
  }

  const DataStep& s_;
  const ConvProblem& p_;
  const Buffers& b_;
  float* packed_;
  plan::Shares scratch_;
  LineReader source_, weight_;
  LineWriter result_;
  PairReader source_pairs_;
  sheets::PlaneReader source_planes_;
  sheets::PlaneWriter result_planes_;
};

void DataStep::Run(const ConvProblem& problem, const Buffers& buffers, const plan::WorkspaceLedger& ledger,
                   void* workspace) const noexcept {
  DataRun(*this, problem, buffers, static_cast<float*>(ledger.Fetch(workspace, packed_handle_)),
          ledger.FetchEach(workspace, scratch_handle_))
      .Run();
}

}  // namespace canopy::conv::pixel_lanes
