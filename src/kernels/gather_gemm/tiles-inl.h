// SPDX-License-Identifier: Apache-2.0
// The tiles over any arithmetic, to be included inside a namespace and under the compiler options of an instruction
// set. `Math` has kRegisters, kLanes, V, and of V: Zero, Load, Store, Broadcast of one element, Add, and MulAdd. Where
// kMasks, it also has masks: M, Lanes(begin, end) of any two numbers, Pick, which loads the lanes of two from two
// places, and Place, which stores those of one.

// kRows x kVectors accumulators in registers. Everything is unrolled: an index that is not a constant would put them
// into memory.
template <class Math, int kRows, int kVectors>
class GatherSums {
 public:
  using V = typename Math::V;
  static constexpr int kLanes = Math::kLanes;

  __attribute__((always_inline)) void Clear() {
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) sums_[r][v] = Math::Zero();
    }
  }

  // `row(r)` is where row r's factor stands. The fewer operands wait in registers.
  template <class Row>
  __attribute__((always_inline)) void Add(const Row& row, const float* __restrict__ b) {
    if constexpr (kVectors <= kRows || kVectors < 5) {
      V lanes[kVectors];
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) lanes[v] = Math::Load(b + v * kLanes);
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r) {
        const V factor = Math::Broadcast(row(r));
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v) sums_[r][v] = Math::MulAdd(factor, lanes[v], sums_[r][v]);
      }
    } else {
      V factors[kRows];
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r) factors[r] = Math::Broadcast(row(r));
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) {
        const V lanes = Math::Load(b + v * kLanes);
#pragma GCC unroll 16
        for (int r = 0; r < kRows; ++r) sums_[r][v] = Math::MulAdd(factors[r], lanes, sums_[r][v]);
      }
    }
  }

  // kTerms terms at once, row by row: `row(r)` is where row r's first factor stands, its others behind.
  template <int kTerms, class Row>
  __attribute__((always_inline)) void AddTerms(const Row& row, const float* __restrict__ b, int64_t b_step) {
    static_assert(kVectors == 1);
    V lanes[kTerms];
#pragma GCC unroll 4
    for (int i = 0; i < kTerms; ++i) lanes[i] = Math::Load(b + i * b_step);
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      const float* factors = row(r);
#pragma GCC unroll 4
      for (int i = 0; i < kTerms; ++i) sums_[r][0] = Math::MulAdd(Math::Broadcast(factors + i), lanes[i], sums_[r][0]);
    }
  }

  __attribute__((always_inline)) void Finish(float* __restrict__ c, const int64_t* __restrict__ offsets,
                                             bool accumulate) const {
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) {
        float* to = c + offsets[r] + v * kLanes;
        Math::Store(accumulate ? Math::Add(Math::Load(to), sums_[r][v]) : sums_[r][v], to);
      }
    }
  }

  template <class Parts>
  __attribute__((always_inline)) void FinishSplit(const GatherOperands& o, const Parts& parts, bool accumulate) const {
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) {
        const float* added = o.added + r * o.added_step + v * kLanes;
        const V sum = accumulate ? Math::Add(Math::Load(added), sums_[r][v]) : sums_[r][v];
        parts.Store(sum, o.c + o.result_offsets[r] + v * kLanes, o.c_jump, v);
      }
    }
  }

 private:
  V sums_[kRows][kVectors];
};

struct GatherWhole {
  GatherWhole(int64_t, int64_t) {}
};

// The two parts of a split tile's lanes.
template <class Math, int kVectors>
class GatherParts {
 public:
  using V = typename Math::V;

  __attribute__((always_inline)) GatherParts(int64_t split, int64_t end) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      first_[v] = Math::Lanes(0, split - v * Math::kLanes);
      second_[v] = Math::Lanes(split - v * Math::kLanes, end - v * Math::kLanes);
    }
  }
  __attribute__((always_inline)) V Load(const float* from, int64_t jump, int v) const {
    return Math::Pick(first_[v], from, second_[v], from + jump);
  }
  __attribute__((always_inline)) void Store(V sum, float* to, int64_t jump, int v) const {
    Math::Place(sum, first_[v], to);
    Math::Place(sum, second_[v], to + jump);
  }

 private:
  typename Math::M first_[kVectors], second_[kVectors];
};

inline constexpr int kMostSplitVectors = 2;

template <class Math, int kRows, int kVectors, bool kAhead>
void GatherScattered(const GatherOperands& o, bool accumulate) {
  GatherSums<Math, kRows, kVectors> sums;
  sums.Clear();
  [[maybe_unused]] const char *ahead_row = static_cast<const char*>(o.ahead), *ahead = ahead_row;
  [[maybe_unused]] int64_t ahead_terms = o.ahead_terms;
  for (int64_t t = 0; t < o.run_count; ++t) {
    const GatherRun run = o.runs[t];
    const float* __restrict__ rows[kRows];
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) rows[r] = o.a + run.a + o.row_offsets[r];
    const float* __restrict__ b = o.b + run.b;
    for (int64_t i = 0; i < run.terms; ++i) {
      sums.Add([&rows, i](int r) { return rows[r] + i; }, b);
      b += o.b_step;
      if constexpr (kAhead) {
        __builtin_prefetch(ahead);
        ahead += o.ahead_step;
        if (--ahead_terms == 0) {
          ahead_terms = o.ahead_terms;
          ahead_row += o.ahead_row;
          ahead = ahead_row;
        }
      }
    }
  }
  sums.Finish(o.c, o.result_offsets, accumulate);
}

// With so many rows some of their addresses wait in memory or vector registers. A tile of one vector has time for that
// once in a few terms only, and none to make them anew for each run.
inline constexpr int kManyRows = 9, kTermsAtOnce = 4;

template <class Math, int kRows>
void GatherScatteredColumn(const GatherOperands& o, bool accumulate) {
  GatherSums<Math, kRows, 1> sums;
  sums.Clear();
  const float* __restrict__ rows[kRows];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) rows[r] = o.a + o.row_offsets[r];
  for (int64_t t = 0; t < o.run_count; ++t) {
    const GatherRun run = o.runs[t];
    const float* __restrict__ b = o.b + run.b;
    const int64_t end = run.a + run.terms;
    int64_t i = run.a;
    for (; i + kTermsAtOnce <= end; i += kTermsAtOnce) {
      sums.template AddTerms<kTermsAtOnce>([&rows, i](int r) { return rows[r] + i; }, b, o.b_step);
      b += kTermsAtOnce * o.b_step;
    }
    for (; i < end; ++i) {
      sums.Add([&rows, i](int r) { return rows[r] + i; }, b);
      b += o.b_step;
    }
  }
  sums.Finish(o.c, o.result_offsets, accumulate);
}

template <class Math, int kRows, int kVectors>
constexpr GatherGemmFn ScatteredTile() {
  if constexpr (kVectors == 1 && kRows >= kManyRows) {
    return &GatherScatteredColumn<Math, kRows>;
  } else {
    return &GatherScattered<Math, kRows, kVectors, false>;
  }
}

template <class Math, int kRows, int kVectors, bool kCopying, bool kSplit>
void GatherAdjacent(const GatherOperands& o, bool accumulate) {
  GatherSums<Math, kRows, kVectors> sums;
  sums.Clear();
  const char* ahead = static_cast<const char*>(o.ahead);
  const int64_t ahead_line = o.ahead_line;
  [[maybe_unused]] float* __restrict__ copy = o.b_copy;
  [[maybe_unused]] const std::conditional_t<kSplit, GatherParts<Math, kVectors>, GatherWhole> parts(o.split, o.end);
  for (int64_t t = 0; t < o.run_count; ++t) {
    const GatherRun run = o.runs[t];
    const float* __restrict__ a = o.a + run.a;
    const float* __restrict__ b = o.b + run.b;
    for (int64_t i = 0; i < run.terms; ++i) {
      if constexpr (kCopying) {
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v) {
          const float* from = b + v * Math::kLanes;
          if constexpr (kSplit) Math::Store(parts.Load(from, o.b_jump, v), copy + v * Math::kLanes);
          if constexpr (!kSplit) Math::Store(Math::Load(from), copy + v * Math::kLanes);
        }
      }
      sums.Add([a](int r) { return a + r; }, kCopying && kSplit ? copy : b);
      if constexpr (kCopying) copy += o.b_copy_step;
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) __builtin_prefetch(ahead + v * ahead_line);
      ahead += o.ahead_step;
      a += o.a_step;
      b += o.b_step;
    }
  }
  if constexpr (kSplit) {
    sums.FinishSplit(o, parts, accumulate);
  } else {
    sums.Finish(o.c, o.result_offsets, accumulate);
  }
}

template <class Math, int kVectors, int... kRows>
GatherTiles MakeGatherTiles(std::integer_sequence<int, kRows...>) {
  GatherTiles tiles{};
  tiles.lanes = kVectors * Math::kLanes;
  tiles.most_rows = sizeof...(kRows);
  ((tiles.scattered[kRows + 1] = ScatteredTile<Math, kRows + 1, kVectors>(),
    tiles.scattered_ahead[kRows + 1] = &GatherScattered<Math, kRows + 1, kVectors, true>,
    tiles.adjacent[kRows + 1] = &GatherAdjacent<Math, kRows + 1, kVectors, false, false>,
    tiles.adjacent_copying[kRows + 1] = &GatherAdjacent<Math, kRows + 1, kVectors, true, false>),
   ...);
  if constexpr (Math::kMasks && kVectors <= kMostSplitVectors) {
    ((tiles.adjacent_split[kRows + 1] = &GatherAdjacent<Math, kRows + 1, kVectors, false, true>,
      tiles.adjacent_copying_split[kRows + 1] = &GatherAdjacent<Math, kRows + 1, kVectors, true, true>),
     ...);
  }
  return tiles;
}

// The list's entries for Math's registers, in the list's order.
template <class Math>
GatherTilesList ListGatherTiles() {
  static const struct Table {
    GatherTiles tiles[8];
    int count = 0;
    Table() {
#define CANOPY_GATHER_TILES(registers, vectors, most_rows) \
  if constexpr (registers == Math::kRegisters)             \
    tiles[count++] = MakeGatherTiles<Math, vectors>(std::make_integer_sequence<int, most_rows>());
#include "kernels/gather_gemm/kernels.inc"
#undef CANOPY_GATHER_TILES
    }
  } table;
  return {table.tiles, table.count, Math::kLanes};
}
