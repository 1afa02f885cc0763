// SPDX-License-Identifier: Apache-2.0
// Tiles of BF16 pairs by Intel's matrix unit (AMX), which multiplies 16 rows of 16 pairs by 16 pairs of 16 lanes at a
// time.
#include "kernels/gather_gemm/bf16.h"

#if defined(__x86_64__) && defined(__linux__)
#include <immintrin.h>

#include <algorithm>
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

#include "kernels/gather_gemm/tiles-inl.h"

constexpr int kLanes = 16, kSide = 16;  // lanes of a vector; rows, and pairs of a row, of a tile register
constexpr int kBlock = kSide * kLanes;  // floats of a tile register
constexpr int64_t kVectorBytes = 64;

// The compiler's own do not say that they read and write memory.
template <int kTile>
void LoadTile(const float* from, int64_t step) {
  asm volatile("tileloadd (%0,%1,1), %%tmm%c2" : : "r"(from), "r"(step * 4), "i"(kTile) : "memory");
}
template <int kTile>
void StoreTile(float* to, int64_t step) {
  asm volatile("tilestored %%tmm%c2, (%0,%1,1)" : : "r"(to), "r"(step * 4), "i"(kTile) : "memory");
}
template <int kTile>
void ClearTile() {
  asm volatile("tilezero %%tmm%c0" : : "i"(kTile));
}
template <int kSum, int kRows, int kLanesTile>
void AddProducts() {
  asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(kSum), "i"(kRows), "i"(kLanesTile));
}

__mmask16 First(int64_t count) { return static_cast<__mmask16>((1u << count) - 1); }

// What the unpacking instructions do; GCC 12 warns of its own intrinsics for them.
__m512d Low(__m512 x, __m512 y) {
  return _mm512_castps_pd(__builtin_shufflevector(x, y, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29));
}
__m512d High(__m512 x, __m512 y) {
  return _mm512_castps_pd(__builtin_shufflevector(x, y, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31));
}
__m512d LowPairs(__m512d x, __m512d y) { return __builtin_shufflevector(x, y, 0, 8, 2, 10, 4, 12, 6, 14); }
__m512d HighPairs(__m512d x, __m512d y) { return __builtin_shufflevector(x, y, 1, 9, 3, 11, 5, 13, 7, 15); }

// to[r][k] = from[k][r], all 16 by 16: blocks of 4 by 4 are put together as they are loaded, and turned.
void Transpose(const float* from, int64_t step, float* to) {
#pragma GCC unroll 4
  for (int block = 0; block < 4; ++block) {  // four columns of `from`
    __m512 rows[4];
#pragma GCC unroll 4
    for (int k = 0; k < 4; ++k) {
      const float* at = from + k * step + 4 * block;
      __m512 row = _mm512_castps128_ps512(_mm_loadu_ps(at));
      row = _mm512_insertf32x4(row, _mm_loadu_ps(at + 4 * step), 1);
      row = _mm512_insertf32x4(row, _mm_loadu_ps(at + 8 * step), 2);
      rows[k] = _mm512_insertf32x4(row, _mm_loadu_ps(at + 12 * step), 3);
    }
    const __m512d low = Low(rows[0], rows[1]), low_too = Low(rows[2], rows[3]);
    const __m512d high = High(rows[0], rows[1]), high_too = High(rows[2], rows[3]);
    float* row = to + 4 * block * kSide;
    _mm512_store_pd(row, LowPairs(low, low_too));
    _mm512_store_pd(row + kSide, HighPairs(low, low_too));
    _mm512_store_pd(row + 2 * kSide, LowPairs(high, high_too));
    _mm512_store_pd(row + 3 * kSide, HighPairs(high, high_too));
  }
}

// The common distance of offsets, or 0.
int64_t Step(const int64_t* offsets, int rows) {
  if (rows == 1) return kSide;
  const int64_t step = offsets[1] - offsets[0];
  for (int r = 2; r < rows; ++r) {
    if (offsets[r] - offsets[r - 1] != step) return 0;
  }
  return step;
}

// One panel's sums. Whole blocks of 16 terms are read where they stand if they can be; what is left of the runs waits
// in a block of zeros until that is full.
template <int kVectors, bool kScattered>
class MatrixSums {
 public:
  MatrixSums(const GatherOperands& o, int rows, int64_t panel)
      : o_(o),
        rows_(rows),
        a_(o.a + panel * o.a_panel),
        row_offsets_(kScattered ? o.row_offsets + panel * o.offsets_panel : nullptr),
        step_(kScattered ? Step(row_offsets_, rows) : 0) {
    ClearTile<0>();
    if constexpr (kVectors > 1) ClearTile<1>();
    if constexpr (kVectors > 2) ClearTile<2>();
    if constexpr (kVectors > 3) ClearTile<3>();
  }

  template <class Asking>
  void AddRun(const GatherRun& run, const Asking& ask) {
    const float* b = o_.b + run.b;
    int64_t i = 0;
    for (; i + kSide <= run.terms; i += kSide, b += kSide * o_.b_step) {
      if constexpr (kScattered) {
        const float* a = a_ + run.a + i;
        if (step_ != 0) {
          Multiply(a + row_offsets_[0], step_, b, o_.b_step);
        } else {
          float* block = NextBlock();
          for (int r = 0; r < rows_; ++r) _mm512_store_ps(block + r * kSide, _mm512_loadu_ps(a + row_offsets_[r]));
          Multiply(block, kSide, b, o_.b_step);
        }
      } else {
        const float* a = a_ + run.a + i * o_.a_step;
        float* block = NextBlock();
        if (rows_ == kSide) {
          Transpose(a, o_.a_step, block);
        } else {  // what lies behind the rows may be another's
          const __mmask16 rows = First(rows_);
          for (int k = 0; k < kSide; ++k) {
            _mm512_store_ps(turned_ + k * kSide, _mm512_maskz_loadu_ps(rows, a + k * o_.a_step));
          }
          Transpose(turned_, kSide, block);
        }
        Multiply(block, kSide, b, o_.b_step);
      }
      ask(kSide);
    }
    if (i == run.terms) return;
    AddRest(run.a, i, run.terms - i, b);
    ask(run.terms - i);
  }

  void Finish(float* c, const int64_t* offsets, bool accumulate) {
    if (waiting_ > 0) MultiplyWaiting();
    const int64_t step = Step(offsets, rows_);
    if (!accumulate && !o_.streams && step != 0) return StoreTiles(c + offsets[0], step);
    StoreTiles(sums_, kVectors * kLanes);
    for (int r = 0; r < rows_; ++r) {
      float* to = c + offsets[r];
      const float* from = sums_ + r * kVectors * kLanes;
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
  }

 private:
  // Written while the one before is still read.
  float* NextBlock() { return blocks_[++block_ % kBlocks]; }

  void Multiply(const float* a, int64_t a_step, const float* b, int64_t b_step) {
    LoadTile<4>(a, a_step);
    LoadTile<6>(b, b_step);
    AddProducts<0, 4, 6>();
    if constexpr (kVectors > 1) {
      LoadTile<7>(b + kLanes, b_step);
      AddProducts<1, 4, 7>();
    }
    if constexpr (kVectors > 2) {
      LoadTile<6>(b + 2 * kLanes, b_step);
      AddProducts<2, 4, 6>();
    }
    if constexpr (kVectors > 3) {
      LoadTile<7>(b + 3 * kLanes, b_step);
      AddProducts<3, 4, 7>();
    }
  }

  void StoreTiles(float* to, int64_t step) {
    StoreTile<0>(to, step);
    if constexpr (kVectors > 1) StoreTile<1>(to + kLanes, step);
    if constexpr (kVectors > 2) StoreTile<2>(to + 2 * kLanes, step);
    if constexpr (kVectors > 3) StoreTile<3>(to + 3 * kLanes, step);
  }

  // Fewer than 16 terms of a run, from its term `first` on.
  void AddRest(int64_t a_run, int64_t first, int64_t terms, const float* b) {
    for (int64_t done = 0; done < terms;) {
      const int64_t count = std::min<int64_t>(terms - done, kSide - waiting_);
      if constexpr (kScattered) {
        const __mmask16 lanes = First(count);
        for (int r = 0; r < rows_; ++r) {
          _mm512_mask_storeu_ps(rest_ + r * kSide + waiting_, lanes,
                                _mm512_maskz_loadu_ps(lanes, a_ + a_run + row_offsets_[r] + first + done));
        }
      } else {
        const __mmask16 rows = First(rows_);
        for (int64_t k = 0; k < count; ++k) {
          _mm512_store_ps(rest_ + (waiting_ + k) * kSide,
                          _mm512_maskz_loadu_ps(rows, a_ + a_run + (first + done + k) * o_.a_step));
        }
      }
      for (int64_t k = 0; k < count; ++k, b += o_.b_step) {
        float* to = rest_lanes_ + (waiting_ + k) * kVectors * kLanes;
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) _mm512_store_ps(to + v * kLanes, _mm512_loadu_ps(b + v * kLanes));
      }
      waiting_ += count;
      done += count;
      if (waiting_ == kSide) MultiplyWaiting();
    }
  }

  // Both factors of what is missing are zeros: either may be in the way of an infinite one.
  void MultiplyWaiting() {
    const __m512 zero = _mm512_setzero_ps();
    for (int64_t k = waiting_; k < kSide; ++k) {
      float* to = rest_lanes_ + k * kVectors * kLanes;
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) _mm512_store_ps(to + v * kLanes, zero);
      if constexpr (!kScattered) _mm512_store_ps(rest_ + k * kSide, zero);
    }
    if constexpr (kScattered) {
      const __mmask16 missing = static_cast<__mmask16>(~First(waiting_));
      for (int r = 0; r < rows_; ++r) _mm512_mask_storeu_ps(rest_ + r * kSide, missing, zero);
      Multiply(rest_, kSide, rest_lanes_, kVectors * kLanes);
    } else {
      float* block = NextBlock();
      Transpose(rest_, kSide, block);
      Multiply(block, kSide, rest_lanes_, kVectors * kLanes);
    }
    waiting_ = 0;
  }

  static constexpr int kBlocks = 4;

  const GatherOperands& o_;
  const int rows_;
  const float* const a_;
  const int64_t* const row_offsets_;
  const int64_t step_;
  int64_t waiting_ = 0;
  unsigned block_ = 0;
  alignas(kVectorBytes) float blocks_[kBlocks][kBlock];
  alignas(kVectorBytes) float turned_[kBlock];
  alignas(kVectorBytes) float rest_[kBlock];  // scattered: by rows; adjacent: by terms
  alignas(kVectorBytes) float rest_lanes_[kVectors * kBlock];
  alignas(kVectorBytes) float sums_[kVectors * kBlock];
};

void UseTiles(int rows) {
  base::MatrixTileShapes shapes;
  for (int t = 0; t < 8; ++t) {
    shapes.row_bytes[t] = kVectorBytes;
    shapes.rows[t] = static_cast<uint8_t>(t < 6 ? rows : kSide);  // sums and rows; lanes
  }
  base::UseMatrixTiles(shapes);
}

template <int kVectors>
void CopyLanes(const GatherOperands& o) {
  float* copy = o.b_copy;
  for (int64_t t = 0; t < o.run_count; ++t) {
    const float* b = o.b + o.runs[t].b;
    for (int64_t i = 0; i < o.runs[t].terms; ++i, b += o.b_step, copy += o.b_copy_step) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) _mm512_storeu_ps(copy + v * kLanes, _mm512_loadu_ps(b + v * kLanes));
    }
  }
}

template <int kVectors, bool kAhead>
void Scattered(const GatherOperands& o, int rows, bool accumulate) {
  UseTiles(rows);
  for (int64_t panel = 0; panel < o.panels; ++panel) {
    MatrixSums<kVectors, true> sums(o, rows, panel);
    [[maybe_unused]] GatherAsking asking(o, panel);
    const auto ask = [&asking](int64_t terms) {
      if constexpr (kAhead) {
        for (; terms > 0; --terms) asking.Ask<1>();
      }
    };
    for (int64_t t = 0; t < o.run_count; ++t) sums.AddRun(o.runs[t], ask);
    sums.Finish(o.c + panel * o.c_panel, o.result_offsets + panel * o.offsets_panel, accumulate);
  }
}

template <int kVectors, bool kCopying>
void Adjacent(const GatherOperands& o, int rows, bool accumulate) {
  UseTiles(rows);
  if constexpr (kCopying) CopyLanes<kVectors>(o);
  const int64_t panels = kCopying ? 1 : o.panels;
  for (int64_t panel = 0; panel < panels; ++panel) {
    MatrixSums<kVectors, false> sums(o, rows, panel);
    const char* ahead = static_cast<const char*>(o.ahead) + panel * o.ahead_panel;
    const auto ask = [&o, &ahead](int64_t terms) {
      for (int64_t left = o.asks * ((terms + kTermsAnAsk - 1) / kTermsAnAsk); left > 0; --left) {
        for (int v = 0; v < kVectors; ++v) kernels::Ask(ahead + v * o.ahead_line);
        ahead += o.ahead_step;
      }
    };
    for (int64_t t = 0; t < o.run_count; ++t) sums.AddRun(o.runs[t], ask);
    sums.Finish(o.c + panel * o.c_panel, o.result_offsets + panel * o.offsets_panel, accumulate);
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

}  // namespace

GatherTilesList MatrixPairTiles() {
  using Rows = std::make_integer_sequence<int, kSide>;
  static const GatherTiles tiles[] = {MakeTiles<1>(Rows()), MakeTiles<2>(Rows()), MakeTiles<3>(Rows()),
                                      MakeTiles<4>(Rows())};
  if (!base::MatrixUnit()) return {};
  return {tiles, 4, kLanes};
}

}  // namespace canopy::kernels
#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

#else

namespace canopy::kernels {

GatherTilesList MatrixPairTiles() { return {}; }

}  // namespace canopy::kernels

#endif
