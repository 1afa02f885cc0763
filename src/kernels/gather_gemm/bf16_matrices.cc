// SPDX-License-Identifier: Apache-2.0
// Tiles of BF16 pairs by Intel's matrix unit (AMX), which multiplies 16 rows of 16 pairs by 16 pairs of 16 lanes at a
// time.
#include "kernels/gather_gemm/bf16.h"

#if defined(__x86_64__) && defined(__linux__)
#include <immintrin.h>

#include <algorithm>
#include <atomic>
#include <type_traits>
#include <utility>

#include "base/matrix_unit.h"
#include "kernels/ask.h"

#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512dq,amx-tile,amx-bf16"))), \
                             apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512dq,amx-tile,amx-bf16")
#endif
namespace canopy::kernels {
namespace {

#include "kernels/matrix_registers-inl.h"
#include "kernels/gather_gemm/tiles-inl.h"

// The common distance of offsets, or 0.
int64_t Step(const int64_t* offsets, int rows) {
  if (rows == 1) return kSide;
  const int64_t step = offsets[1] - offsets[0];
  for (int r = 2; r < rows; ++r) {
    if (offsets[r] - offsets[r - 1] != step) return 0;
  }
  return step;
}

template <int kVectors>
void CopyVectors(const float* from, float* to) {
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) _mm512_storeu_ps(to + v * kLanes, _mm512_loadu_ps(from + v * kLanes));
}

// Tile registers: up to 4 of sums, then rows and lanes of whole blocks of 16 terms, and of what is left of a run. The
// processor renames them, so that one is loaded while it is still read.
constexpr int kMostSums = 4, kRowsTile = 4, kLanesTile = 5, kRestRowsTile = 6, kRestLanesTile = 7;

constexpr int64_t kLeastRest = 4;  // terms worth a product of their own

// What is left of the first run that is no whole number of blocks: most likely of all others, too. 0: too little.
int64_t RestOf(const GatherOperands& o) {
  for (int64_t t = 0; t < o.run_count; ++t) {
    const int64_t rest = o.runs[t].terms % kSide;
    if (rest > 0) return rest >= kLeastRest ? rest : 0;
  }
  return 0;
}

// The sums of some panels, of kVectors vectors from `lane` on. Blocks of 16 terms, and rests of `rest`, are read where
// they stand if they can be; other rests wait in a block until that is full.
template <int kPanels, int kVectors, bool kScattered>
class MatrixSums {
 public:
  MatrixSums(const GatherOperands& o, int rows, int64_t rest, int64_t panel, int64_t lane)
      : o_(o), rows_(rows), rest_terms_(rest), first_(panel), lane_(lane) {
    for (int p = 0; p < kPanels; ++p) {
      a_[p] = o.a + (panel + p) * o.a_panel;
      if constexpr (kScattered) {
        offsets_[p] = o.row_offsets + (panel + p) * o.offsets_panel;
        steps_[p] = Step(offsets_[p], rows);
      }
    }
    ForEach<kPanels * kVectors>([](auto tile) { ClearTile<tile>(); });
  }

  // Calls ask(p, terms) for each panel whenever so many terms are done.
  template <class Asking>
  void AddRun(const GatherRun& run, const Asking& ask) {
    const float* b = o_.b + run.b + lane_;
    int64_t i = 0;
    for (; i + kSide <= run.terms; i += kSide, b += kSide * o_.b_step) {
      MultiplyBlock<kRowsTile, kLanesTile>(run.a, i, kSide, b);
      for (int p = 0; p < kPanels; ++p) ask(p, kSide);
    }
    const int64_t rest = run.terms - i;
    if (rest == 0) return;
    if (rest == rest_terms_) {
      MultiplyBlock<kRestRowsTile, kRestLanesTile>(run.a, i, rest, b);
    } else {
      Wait(run.a, i, rest, b);
    }
    for (int p = 0; p < kPanels; ++p) ask(p, rest);
  }

  void Finish(bool accumulate) {
    if (waiting_ > 0) MultiplyWaiting();
    ForEach<kPanels>([&](auto p) {
      float* c = o_.c + (first_ + p) * o_.c_panel + lane_;
      const int64_t* offsets = o_.result_offsets + (first_ + p) * o_.offsets_panel;
      const int64_t step = Step(offsets, rows_);
      if (!accumulate && !o_.streams && step != 0) return StoreTiles<p>(c + offsets[0], step);
      StoreTiles<p>(sums_, kVectors * kLanes);
      for (int r = 0; r < rows_; ++r) Place(sums_ + r * kVectors * kLanes, accumulate, c + offsets[r]);
    });
  }

 private:
  template <int kRowsIn, int kLanesIn>
  __attribute__((always_inline)) void MultiplyBlock(int64_t a_run, int64_t first, int64_t terms, const float* b) {
    const float* blocks[kPanels];
    int64_t steps[kPanels];
    for (int p = 0; p < kPanels; ++p) {
      steps[p] = kSide;
      if constexpr (kScattered) {
        blocks[p] = Gathered(p, a_[p] + a_run + first, terms, &steps[p]);
      } else {
        blocks[p] = Turned(a_[p] + a_run + first * o_.a_step, terms);
      }
    }
    Multiply<kRowsIn, kLanesIn>(blocks, steps, b, o_.b_step);
  }

  // Block of a panel's rows: where it stands, or a copy.
  __attribute__((always_inline)) const float* Gathered(int p, const float* a, int64_t terms, int64_t* step) {
    if (steps_[p] != 0) {
      *step = steps_[p];
      return a + offsets_[p][0];
    }
    float* block = NextBlock();
    const __mmask16 lanes = First(terms);
    for (int r = 0; r < rows_; ++r) {
      _mm512_store_ps(block + r * kSide, _mm512_maskz_loadu_ps(lanes, a + offsets_[p][r]));
    }
    return block;
  }

  // Behind the terms the block is anything.
  __attribute__((always_inline)) const float* Turned(const float* a, int64_t terms) {
    float* block = NextBlock();
    if (rows_ == kSide && terms == kSide) {
      Transpose(a, o_.a_step, block);
      return block;
    }
    const __mmask16 rows = First(rows_);  // what lies behind them may be another's
    for (int64_t k = 0; k < terms; ++k) {
      _mm512_store_ps(unturned_ + k * kSide, _mm512_maskz_loadu_ps(rows, a + k * o_.a_step));
    }
    Transpose(unturned_, kSide, block);
    return block;
  }

  // Written while those before are still read.
  __attribute__((always_inline)) float* NextBlock() { return blocks_[++block_ % kBlocks]; }

  template <int kRowsIn, int kLanesIn>
  __attribute__((always_inline)) void Multiply(const float* const (&a)[kPanels], const int64_t (&a_steps)[kPanels],
                                               const float* b, int64_t b_step) {
    if constexpr (kPanels == 2 && kRowsIn == kRowsTile) {
      if (rest_terms_ == 0) return MultiplyTwo(a, a_steps, b, b_step);
    }
    ForEach<kPanels>([&](auto p) {
      LoadTile<kRowsIn>(a[decltype(p)::value], a_steps[decltype(p)::value]);
      ForEach<kVectors>([&](auto v) {
        LoadTile<kLanesIn>(b + v * kLanes, b_step);
        AddProducts<decltype(p)::value * kVectors + v, kRowsIn, kLanesIn>();
      });
    });
  }

  // Without rests a tile is free for the second panel's rows, and lanes are loaded once.
  __attribute__((always_inline)) void MultiplyTwo(const float* const (&a)[kPanels], const int64_t (&a_steps)[kPanels],
                                                  const float* b, int64_t b_step) {
    LoadTile<kRowsTile>(a[0], a_steps[0]);
    LoadTile<kRestRowsTile>(a[kPanels - 1], a_steps[kPanels - 1]);
    ForEach<kVectors>([&](auto v) {
      LoadTile<kLanesTile>(b + v * kLanes, b_step);
      AddProducts<v, kRowsTile, kLanesTile>();
      AddProducts<kVectors + v, kRestRowsTile, kLanesTile>();
    });
  }

  template <int kPanel>
  void StoreTiles(float* to, int64_t step) {
    ForEach<kVectors>([&](auto v) { StoreTile<kPanel * kVectors + v>(to + v * kLanes, step); });
  }

  void Place(const float* from, bool accumulate, float* to) const {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v, to += kLanes, from += kLanes) {
      const __m512 sum = _mm512_load_ps(from);
      if (o_.streams) {
        _mm512_stream_ps(to, sum);
      } else {
        _mm512_storeu_ps(to, accumulate ? _mm512_add_ps(_mm512_loadu_ps(to), sum) : sum);
      }
    }
  }

  // Fewer than 16 terms of a run, from its term `first` on.
  void Wait(int64_t a_run, int64_t first, int64_t terms, const float* b) {
    for (int64_t done = 0; done < terms;) {
      const int64_t count = std::min<int64_t>(terms - done, kSide - waiting_);
      for (int p = 0; p < kPanels; ++p) {
        if constexpr (kScattered) {
          const __mmask16 lanes = First(count);
          for (int r = 0; r < rows_; ++r) {
            _mm512_mask_storeu_ps(rest_[p] + r * kSide + waiting_, lanes,
                                  _mm512_maskz_loadu_ps(lanes, a_[p] + a_run + offsets_[p][r] + first + done));
          }
        } else {
          const __mmask16 rows = First(rows_);
          for (int64_t k = 0; k < count; ++k) {
            _mm512_store_ps(rest_[p] + (waiting_ + k) * kSide,
                            _mm512_maskz_loadu_ps(rows, a_[p] + a_run + (first + done + k) * o_.a_step));
          }
        }
      }
      for (int64_t k = 0; k < count; ++k, b += o_.b_step) {
        CopyVectors<kVectors>(b, rest_lanes_ + (waiting_ + k) * kVectors * kLanes);
      }
      waiting_ += count;
      done += count;
      if (waiting_ == kSide) MultiplyWaiting();
    }
  }

  // Both factors of what is missing are zeros: either would turn an infinite one into NaN.
  void MultiplyWaiting() {
    const __m512 zero = _mm512_setzero_ps();
    for (int64_t k = waiting_; k < kSide; ++k) {
      float* to = rest_lanes_ + k * kVectors * kLanes;
      for (int v = 0; v < kVectors; ++v) _mm512_store_ps(to + v * kLanes, zero);
    }
    const float* blocks[kPanels];
    int64_t steps[kPanels];
    for (int p = 0; p < kPanels; ++p) {
      if constexpr (kScattered) {
        const __mmask16 missing = static_cast<__mmask16>(~First(waiting_));
        for (int r = 0; r < rows_; ++r) _mm512_mask_storeu_ps(rest_[p] + r * kSide, missing, zero);
        blocks[p] = rest_[p];
      } else {
        for (int64_t k = waiting_; k < kSide; ++k) _mm512_store_ps(rest_[p] + k * kSide, zero);
        float* block = NextBlock();
        Transpose(rest_[p], kSide, block);
        blocks[p] = block;
      }
      steps[p] = kSide;
    }
    Multiply<kRowsTile, kLanesTile>(blocks, steps, rest_lanes_, kVectors * kLanes);
    waiting_ = 0;
  }

  static_assert(kPanels * kVectors <= kMostSums && kPanels <= 2);
  static constexpr int kBlocks = 2 * kPanels + 2;

  const GatherOperands& o_;
  const int rows_;
  const int64_t rest_terms_, first_, lane_;
  const float* a_[kPanels];
  const int64_t* offsets_[kPanels];  // scattered rows
  int64_t steps_[kPanels];           // their common distance, or 0
  int64_t waiting_ = 0;
  unsigned block_ = 0;
  alignas(kVectorBytes) float blocks_[kBlocks][kBlock];
  alignas(kVectorBytes) float unturned_[kBlock];
  alignas(kVectorBytes) float rest_[kPanels][kBlock];  // scattered: by rows; adjacent: by terms
  alignas(kVectorBytes) float rest_lanes_[kVectors * kBlock];
  alignas(kVectorBytes) float sums_[kVectors * kBlock];
};

void UseTiles(int rows, int64_t rest) {
  base::MatrixTileShapes shapes;
  const auto shape = [&shapes](int tile, int64_t tile_rows, int64_t elements) {
    shapes.rows[tile] = static_cast<uint8_t>(tile_rows);
    shapes.row_bytes[tile] = static_cast<uint16_t>(elements * sizeof(float));
  };
  const int64_t rest_terms = rest > 0 ? rest : kSide;
  for (int t = 0; t < kMostSums; ++t) shape(t, rows, kLanes);
  shape(kRowsTile, rows, kSide);
  shape(kLanesTile, kSide, kLanes);
  shape(kRestRowsTile, rows, rest_terms);
  shape(kRestLanesTile, rest_terms, kLanes);
  base::UseMatrixTiles(shapes);
}

template <int kVectors>
void CopyLanes(const GatherOperands& o) {
  float* copy = o.b_copy;
  for (int64_t t = 0; t < o.run_count; ++t) {
    const float* b = o.b + o.runs[t].b;
    for (int64_t i = 0; i < o.runs[t].terms; ++i, b += o.b_step, copy += o.b_copy_step) CopyVectors<kVectors>(b, copy);
  }
}

template <int kPanels, int kVectors, bool kAhead>
void SumPanels(const GatherOperands& o, int rows, int64_t rest, int64_t panel, int64_t lane, bool accumulate) {
  MatrixSums<kPanels, kVectors, true> sums(o, rows, rest, panel, lane);
  GatherAsking asking[] = {{o, panel}, {o, panel + 1}};
  const auto ask = [&asking](int p, int64_t terms) {
    if constexpr (kAhead) {
      for (; terms > 0; --terms) asking[p].Ask<1>();
    }
  };
  for (int64_t t = 0; t < o.run_count; ++t) sums.AddRun(o.runs[t], ask);
  sums.Finish(accumulate);
}

// Two vectors of two panels at a time read half of the lanes that four vectors of one do, and those of two stay in the
// L1 from panel to panel. Where little is left of runs it is copied, though: once for as many vectors as can be.
template <int kVectors, bool kAhead>
void Scattered(const GatherOperands& o, int rows, bool accumulate) {
  const int64_t rest = RestOf(o);
  UseTiles(rows, rest);
  const bool copies = o.run_count == 0 || o.runs[0].terms % kSide != rest;
  if (o.panels == 1 || copies) {
    for (int64_t panel = 0; panel < o.panels; ++panel) {
      SumPanels<1, kVectors, kAhead>(o, rows, rest, panel, 0, accumulate);
    }
    return;
  }
  ForEach<(kVectors + 1) / 2>([&](auto pair) {
    constexpr int kFirst = 2 * pair, kWide = std::min(2, kVectors - kFirst);
    int64_t panel = 0;
    for (; panel + 2 <= o.panels; panel += 2) {
      SumPanels<2, kWide, kAhead>(o, rows, rest, panel, kFirst * kLanes, accumulate);
    }
    if (panel < o.panels) SumPanels<1, kWide, kAhead>(o, rows, rest, panel, kFirst * kLanes, accumulate);
  });
}

template <int kVectors, bool kCopying>
void Adjacent(const GatherOperands& o, int rows, bool accumulate) {
  const int64_t rest = RestOf(o);
  UseTiles(rows, rest);
  if constexpr (kCopying) CopyLanes<kVectors>(o);
  const int64_t panels = kCopying ? 1 : o.panels;
  for (int64_t panel = 0; panel < panels; ++panel) {
    MatrixSums<1, kVectors, false> sums(o, rows, rest, panel, 0);
    const char* ahead = static_cast<const char*>(o.ahead) + panel * o.ahead_panel;
    const auto ask = [&o, &ahead](int, int64_t terms) {
      for (int64_t left = o.asks * ((terms + kTermsAnAsk - 1) / kTermsAnAsk); left > 0; --left) {
        for (int v = 0; v < kVectors; ++v) kernels::Ask(ahead + v * o.ahead_line);
        ahead += o.ahead_step;
      }
    };
    for (int64_t t = 0; t < o.run_count; ++t) sums.AddRun(o.runs[t], ask);
    sums.Finish(accumulate);
  }
}

// A function of the number of rows, as tables have them.
template <void (*kTile)(const GatherOperands&, int, bool), int kRows>
void WithRows(const GatherOperands& o, bool accumulate) {
  kTile(o, kRows, accumulate);
}

template <int kVectors, int... kRows>
GatherTiles MakeTiles(std::integer_sequence<int, kRows...>) {
  GatherTiles tiles{};
  tiles.lanes = kVectors * kLanes;
  tiles.most_rows = sizeof...(kRows);
  ((tiles.scattered[kRows + 1] = &WithRows<&Scattered<kVectors, false>, kRows + 1>,
    tiles.scattered_ahead[kRows + 1] = &WithRows<&Scattered<kVectors, true>, kRows + 1>,
    tiles.adjacent[kRows + 1] = &WithRows<&Adjacent<kVectors, false>, kRows + 1>,
    tiles.adjacent_copying[kRows + 1] = &WithRows<&Adjacent<kVectors, true>, kRows + 1>),
   ...);
  return tiles;
}

GatherTilesList Tiles() {
  using Rows = std::make_integer_sequence<int, kSide>;
  static const GatherTiles tiles[] = {MakeTiles<1>(Rows()), MakeTiles<2>(Rows()), MakeTiles<3>(Rows()),
                                      MakeTiles<4>(Rows())};
  return {tiles, 4, kLanes};
}

}  // namespace
}  // namespace canopy::kernels
#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif

namespace canopy::kernels {

GatherTilesList MatrixPairTiles() {
#if defined(__x86_64__) && defined(__linux__)
  if (base::MatrixUnit()) return Tiles();  // which other processors could not even list
#endif
  return {};
}

}  // namespace canopy::kernels
