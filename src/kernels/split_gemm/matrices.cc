// SPDX-License-Identifier: Apache-2.0
#include "kernels/split_gemm/contract.h"

#if defined(__x86_64__) && defined(__linux__)
#include <immintrin.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/matrix_unit.h"
#include "kernels/ask.h"

#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,bmi2,amx-tile,amx-bf16"))), \
                             apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,bmi2,amx-tile,amx-bf16")
#endif
namespace canopy::kernels {
namespace {

#include "kernels/matrix_registers-inl.h"

static_assert(kSplitSide == kSide && kSplitTerms == 2 * kSide);

// Numbers whose products are of the order of 2^-8 to the power of three or more are left out.
constexpr int kOrders = 3;

// to[part * kBlock + l] = that part of x[l], and behind it of y[l]. Halves are rounded away from zero: as near, and
// with one operation less than to even.
template <int kParts>
__attribute__((always_inline)) inline void SplitPair(__m512 x, __m512 y, float* to) {
  const __m512i half = _mm512_set1_epi32(0x8000), high = _mm512_set1_epi32(static_cast<int>(0xffff0000));
#pragma GCC unroll 3
  for (int part = 0; part < kParts; ++part) {
    __m512i first = _mm512_castps_si512(x), second = _mm512_castps_si512(y);
    if (part + 1 < kParts) {
      first = _mm512_and_epi32(_mm512_add_epi32(first, half), high);
      second = _mm512_and_epi32(_mm512_add_epi32(second, half), high);
      x = _mm512_sub_ps(x, _mm512_castsi512_ps(first));
      y = _mm512_sub_ps(y, _mm512_castsi512_ps(second));
    }
    // (second & high) | first >> 16
    _mm512_store_si512(to + part * kBlock, _mm512_ternarylogic_epi32(second, high, _mm512_srli_epi32(first, 16), 0xea));
  }
}

// A block: pairs of lines x + i * step and y + i * step. Returns their bits, or-ed.
template <int kParts>
__attribute__((always_inline)) inline __m512i SplitBlock(const float* x, const float* y, int64_t step, float* to) {
  __m512i bits = _mm512_setzero_si512();
  for (int i = 0; i < kSide; ++i) {
    const __m512 first = _mm512_loadu_ps(x + i * step), second = _mm512_loadu_ps(y + i * step);
    bits = _mm512_ternarylogic_epi32(bits, _mm512_castps_si512(first), _mm512_castps_si512(second), 0xfe);
    SplitPair<kParts>(first, second, to + i * kLanes);
  }
  return bits;
}

// To HF32 with 11 bits, to nearest even. What is not finite stays so.
__attribute__((always_inline)) inline __m512 Round(__m512 x) {
  constexpr int kDropped = 12;
  const __m512i bits = _mm512_castps_si512(x);
  const __m512i odd = _mm512_and_epi32(_mm512_srli_epi32(bits, kDropped), _mm512_set1_epi32(1));
  const __m512i half = _mm512_add_epi32(odd, _mm512_set1_epi32((1 << (kDropped - 1)) - 1));
  const __m512i sum = _mm512_mask_add_epi32(bits, _mm512_cmp_ps_mask(x, x, _CMP_ORD_Q), bits, half);
  return _mm512_castsi512_ps(_mm512_and_epi32(sum, _mm512_set1_epi32(-(1 << kDropped))));
}

struct Square {
  const float* at;
  int64_t step;
};

// Up to 16 lines of up to 16 numbers, with zeros for what is missing.
Square Copy(const SplitLines& in, const float* from, int64_t lines, int64_t length, float* copy) {
  const __mmask16 lanes = First(std::clamp<int64_t>(length, 0, kLanes));
  const __m512i places = _mm512_mullo_epi32(_mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
                                            _mm512_set1_epi32(static_cast<int>(in.apart)));
  for (int64_t i = 0; i < kSide; ++i) {
    __m512 line = _mm512_setzero_ps();
    if (i < lines) {
      const float* at = from + i * in.step;
      line = in.apart == 1 ? _mm512_maskz_loadu_ps(lanes, at)
                           : _mm512_mask_i32gather_ps(line, lanes, places, at, sizeof(float));
      if (in.rounds) line = Round(line);
    }
    _mm512_store_ps(copy + i * kLanes, line);
  }
  return {copy, kLanes};
}

// Blocks of 32 terms: two squares of 16 by 16 each, turned or as they stand.
template <int kParts, bool kAlong, bool kTurned>
uint32_t Pack(const SplitLines& lines, float* to) {
  alignas(kVectorBytes) float copies[2][kBlock], turned[2][kBlock];
  const int64_t terms = kAlong ? lines.length : lines.count;
  __m512i bits = _mm512_setzero_si512();
  for (int64_t term = 0; term < terms; term += kSplitTerms, to += lines.to_step) {
    // Both stand where they are, or neither: they have one step then.
    const int64_t left = terms - term;
    const bool whole =
        lines.apart == 1 && !lines.rounds && left >= kSplitTerms && (kAlong ? lines.count : lines.length) >= kSide;
    Square square[2];
    for (int half = 0; half < 2; ++half) {
      const float* from = lines.from + (term + half * kSide) * (kAlong ? lines.apart : lines.step);
      const int64_t rest = left - half * kSide;
      square[half] = whole ? Square{from, lines.step}
                           : Copy(lines, from, kAlong ? lines.count : rest, kAlong ? rest : lines.length, copies[half]);
      if constexpr (kTurned) {
        Transpose(square[half].at, square[half].step, turned[half]);
        square[half] = {turned[half], kSide};
      }
    }
    bits = _mm512_or_si512(bits, SplitBlock<kParts>(square[0].at, square[1].at, square[0].step, to));
  }
  return static_cast<uint32_t>(_mm512_reduce_or_epi32(bits));
}

// Rows wherever they are.
template <int kParts>
uint32_t PackRows(const SplitRows& rows, float* to) {
  __m512i bits = _mm512_setzero_si512();
  for (int64_t term = 0; term < rows.length; term += kSplitTerms, to += rows.to_step) {
    const __mmask16 low = First(std::min<int64_t>(rows.length - term, kSide)),
                    high = First(std::clamp<int64_t>(rows.length - term - kSide, 0, kSide));
    for (int64_t i = 0; i < kSide; ++i) {
      __m512 x = _mm512_setzero_ps(), y = x;
      if (i < rows.count) {
        const float* from = rows.from + rows.offsets[i] + term;
        x = _mm512_maskz_loadu_ps(low, from);
        y = _mm512_maskz_loadu_ps(high, from + kSide);
      }
      bits = _mm512_ternarylogic_epi32(bits, _mm512_castps_si512(x), _mm512_castps_si512(y), 0xfe);
      SplitPair<kParts>(x, y, to + i * kLanes);
    }
  }
  return static_cast<uint32_t>(_mm512_reduce_or_epi32(bits));
}

using convert::Form;

// 16 elements of one line, those that `numbers` has; every second one is picked out of two vectors.
template <int64_t kApart>
__m512i Elements(__m512i others, uint32_t numbers, const float* from) {
  const __mmask16 mask = static_cast<__mmask16>(numbers);
  if constexpr (kApart == 1) return _mm512_mask_loadu_epi32(others, mask, from);
  const __m512i evens = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
  const uint32_t wide = _pdep_u32(numbers, 0x55555555);
  const __m512i low = _mm512_maskz_loadu_epi32(static_cast<__mmask16>(wide), from),
                high = _mm512_maskz_loadu_epi32(static_cast<__mmask16>(wide >> kLanes), from + kLanes);
  return _mm512_mask_mov_epi32(others, mask, _mm512_permutex2var_epi32(low, evens, high));
}
template <int64_t kApart>
__m256i Elements(__m256i others, uint32_t numbers, const uint16_t* from) {
  const __mmask16 mask = static_cast<__mmask16>(numbers);
  if constexpr (kApart == 1) return _mm256_mask_loadu_epi16(others, mask, from);
  const __m512i pairs = _mm512_maskz_loadu_epi16(_pdep_u32(numbers, 0x55555555), from);
  return _mm256_mask_mov_epi16(others, mask, _mm512_cvtepi32_epi16(pairs));
}

// The numbers of some pieces.
template <Form kForm, int64_t kApart>
__attribute__((always_inline)) inline __m512 LoadPieces(const void* from, int64_t offset, const SplitPiece* piece,
                                                        const SplitPiece* end) {
  if constexpr (kForm == Form::kFloat16) {
    __m256i elements = _mm256_setzero_si256();
    for (; piece != end; ++piece) {
      elements = Elements<kApart>(elements, piece->numbers, static_cast<const uint16_t*>(from) + offset + piece->from);
    }
    return _mm512_cvtph_ps(elements);
  } else {
    __m512i elements = _mm512_setzero_si512();
    for (; piece != end; ++piece) {
      elements = Elements<kApart>(elements, piece->numbers, static_cast<const float*>(from) + offset + piece->from);
    }
    const __m512 numbers = _mm512_castsi512_ps(elements);
    return kForm == Form::kHfloat32x11 ? Round(numbers) : numbers;
  }
}

// Lines one after another, all groups of each: what follows in memory is read in one go.
struct Across {
  template <int kParts, Form kForm, int64_t kApart>
  static uint32_t Pack(const SplitPieces& in, float* to) {
    __m512i bits = _mm512_setzero_si512();
    for (int64_t i = 0; i < kSide; ++i, to += kLanes) {
      const bool has_first = i < in.count, has_second = i + kSide < in.count;
      float* panel = to;
      for (int64_t g = 0; g < in.groups; ++g, panel += in.to_step) {
        const SplitPiece *piece = in.pieces + in.first[g], *end = in.pieces + in.first[g + 1];
        const __m512 x = LoadPieces<kForm, kApart>(in.from, i * in.step, piece, has_first ? end : piece),
                     y = LoadPieces<kForm, kApart>(in.from, (i + kSide) * in.step, piece, has_second ? end : piece);
        bits = _mm512_ternarylogic_epi32(bits, _mm512_castps_si512(x), _mm512_castps_si512(y), 0xfe);
        SplitPair<kParts>(x, y, panel);
      }
    }
    return static_cast<uint32_t>(_mm512_reduce_or_epi32(bits));
  }
};

template <bool kTurned>
struct Along {
  template <int kParts, Form kForm, int64_t kApart>
  static uint32_t Pack(const SplitPieces& in, float* to) {
    alignas(kVectorBytes) float lines[2][kBlock], turned[2][kBlock];
    __m512i bits = _mm512_setzero_si512();
    for (int64_t g = 0; g < in.groups; g += 2, to += in.to_step) {
      const SplitPiece *piece = in.pieces + in.first[g], *middle = in.pieces + in.first[g + 1],
                       *end = in.pieces + in.first[std::min(g + 2, in.groups)];
      for (int64_t i = 0; i < kSide; ++i) {
        const bool has = i < in.count;
        const __m512 x = LoadPieces<kForm, kApart>(in.from, i * in.step, piece, has ? middle : piece),
                     y = LoadPieces<kForm, kApart>(in.from, i * in.step, middle, has ? end : middle);
        bits = _mm512_ternarylogic_epi32(bits, _mm512_castps_si512(x), _mm512_castps_si512(y), 0xfe);
        if constexpr (kTurned) {
          _mm512_store_ps(lines[0] + i * kSide, x);
          _mm512_store_ps(lines[1] + i * kSide, y);
        } else {
          SplitPair<kParts>(x, y, to + i * kLanes);
        }
      }
      if constexpr (kTurned) {
        for (int half = 0; half < 2; ++half) Transpose(lines[half], kSide, turned[half]);
        SplitBlock<kParts>(turned[0], turned[1], kSide, to);
      }
    }
    return static_cast<uint32_t>(_mm512_reduce_or_epi32(bits));
  }
};

template <class Way, int kParts, Form kForm>
uint32_t PackForm(const SplitPieces& in, float* to) {
  return in.apart == 1 ? Way::template Pack<kParts, kForm, 1>(in, to) : Way::template Pack<kParts, kForm, 2>(in, to);
}
template <class Way, int kParts>
uint32_t PackPieces(const SplitPieces& in, float* to) {
  if (in.form == Form::kFloat16) return PackForm<Way, kParts, Form::kFloat16>(in, to);
  if (in.form == Form::kHfloat32x11) return PackForm<Way, kParts, Form::kHfloat32x11>(in, to);
  return PackForm<Way, kParts, Form::kFloat32>(in, to);
}

// What is read again only after all other panels, past the L1's order of use.
template <int kTile>
void LoadPassingTile(const float* from, int64_t step) {
  asm volatile("tileloaddt1 (%0,%1,1), %%tmm%c2" : : "r"(from), "r"(step * 4), "i"(kTile) : "memory");
}

// Tile registers: sums, then both panels' rows and lanes. The processor renames them, so that one is loaded while it is
// still read.
constexpr int kRowsTile = 4, kLanesTile = 6;

// A mispredicted branch costs about a thousand cycles here, all products that are under way: there is none but the
// loop's own.
template <int kParts, int kRowPanels, int kLanePanels, int kBlocks>
const void* const* MultiplyTiles(const SplitOperands& o, const void* const* asks, int64_t row_tiles, int64_t lane_tiles,
                                 bool accumulate) {
  constexpr int kAskedLines = SplitAskedLines(kParts);
  constexpr int64_t kPanel = kParts * kBlock, kRowsStep = kRowPanels * kPanel, kLanesStep = kLanePanels * kPanel;
  const int64_t down = kRowPanels * kSide * o.c_step, right = kLanePanels * kLanes;
  const int64_t ask_step = o.asks != nullptr ? 2 * kBlocks * kParts : 0;
  int64_t row = 0, lane = 0;  // floats from the first panels
  float* c = o.c;
  for (int64_t tile = row_tiles * lane_tiles, rows_left = row_tiles; tile > 0; --tile) {
    ForEach<kRowPanels * kLanePanels>([&](auto sum) {
      constexpr int kRow = sum / kLanePanels, kLane = sum % kLanePanels;
      if (accumulate) {
        LoadTile<sum>(c + kRow * kSide * o.c_step + kLane * kLanes, o.c_step);
      } else {
        ClearTile<sum>();
      }
    });
    ForEach<kBlocks * kParts>([&](auto at) {
      constexpr int kBlockOf = at / kParts, i = at % kParts;
      ForEach<2 * kAskedLines>([&](auto line) {
        kernels::Ask(static_cast<const char*>(asks[2 * at + line / kAskedLines]) + line % kAskedLines * kVectorBytes);
      });
      ForEach<kRowPanels>(
          [&](auto r) { LoadPassingTile<kRowsTile + r>(o.a[kBlockOf] + row + r * kPanel + i * kBlock, kLanes); });
      ForEach<std::min(kParts, kOrders - i)>([&](auto j) {
        ForEach<kLanePanels>([&](auto l) {
          LoadTile<kLanesTile + l>(o.b[kBlockOf] + lane + l * kPanel + j * kBlock, kLanes);
          ForEach<kRowPanels>([&](auto r) { AddProducts<r * kLanePanels + l, kRowsTile + r, kLanesTile + l>(); });
        });
      });
    });
    ForEach<kRowPanels * kLanePanels>([&](auto sum) {
      constexpr int kRow = sum / kLanePanels, kLane = sum % kLanePanels;
      StoreTile<sum>(c + kRow * kSide * o.c_step + kLane * kLanes, o.c_step);
    });
    asks += ask_step;
    const int64_t turns = rows_left == 1 ? -1 : 0;  // all bits, where the next tile begins another column
    rows_left += -1 + (turns & row_tiles);
    row += kRowsStep - (turns & (row_tiles * kRowsStep));
    lane += turns & kLanesStep;
    c += down + (turns & (right - row_tiles * down));
  }
  return asks;
}

template <int kParts, int kBlocks>
void MultiplyPanels(const SplitOperands& o, bool accumulate) {
  const int64_t rows = o.row_panels / 2, lanes = o.lane_panels / 2;
  SplitOperands below = o, beside = o;  // what is left of odd numbers of panels
  for (int block = 0; block < kBlocks; ++block) {
    below.a[block] += 2 * rows * kParts * kBlock;
    beside.b[block] += 2 * lanes * kParts * kBlock;
  }
  below.c += 2 * rows * kSide * o.c_step;
  beside.c += 2 * lanes * kLanes;
  const void* none[2 * kBlocks * kParts];
  std::fill(std::begin(none), std::end(none), o.a[0]);
  const void* const* asks = o.asks != nullptr ? o.asks : none;
  asks = MultiplyTiles<kParts, 2, 2, kBlocks>(o, asks, rows, lanes, accumulate);
  if (o.row_panels % 2 != 0) asks = MultiplyTiles<kParts, 1, 2, kBlocks>(below, asks, 1, lanes, accumulate);
  if (o.lane_panels % 2 == 0) return;
  asks = MultiplyTiles<kParts, 2, 1, kBlocks>(beside, asks, rows, 1, accumulate);
  if (o.row_panels % 2 == 0) return;
  std::copy(beside.b, beside.b + kBlocks, below.b);
  below.c += 2 * lanes * kLanes;
  MultiplyTiles<kParts, 1, 1, kBlocks>(below, asks, 1, 1, accumulate);
}

template <int kParts>
void Multiply(const SplitOperands& o, bool accumulate) {
  base::MatrixTileShapes shapes;
  std::fill(shapes.rows, shapes.rows + 8, static_cast<uint8_t>(kSide));
  std::fill(shapes.row_bytes, shapes.row_bytes + 8, static_cast<uint16_t>(kLanes * sizeof(float)));
  base::UseMatrixTiles(shapes);
  static constexpr SplitMultiplyFn kByBlocks[kSplitBlocks] = {&MultiplyPanels<kParts, 1>, &MultiplyPanels<kParts, 2>,
                                                              &MultiplyPanels<kParts, 3>, &MultiplyPanels<kParts, 4>};
  kByBlocks[o.blocks - 1](o, accumulate);
}

template <int kParts>
constexpr SplitKernels kKernels = {
    &Pack<kParts, true, false>,       &Pack<kParts, false, true>,  &Pack<kParts, true, true>,
    &Pack<kParts, false, false>,      &PackRows<kParts>,           &PackPieces<Along<false>, kParts>,
    &PackPieces<Along<true>, kParts>, &PackPieces<Across, kParts>, &Multiply<kParts>};

}  // namespace
}  // namespace canopy::kernels
#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif

namespace canopy::kernels {

const SplitKernels* SplitGemm(int parts) {
#if defined(__x86_64__) && defined(__linux__)
  if (base::MatrixUnit()) return parts == 2 ? &kKernels<2> : &kKernels<3>;
#endif
  (void)parts;
  return nullptr;
}

}  // namespace canopy::kernels
