// SPDX-License-Identifier: Apache-2.0
// The tiles over any arithmetic, to be included inside a namespace and under the compiler options of an instruction
// set. `Math` has kRegisters, kLanes, V, and of V: Zero, Load, Store, Stream, Broadcast of one element, Add, MulAdd,
// and AddProduct of two vectors, or of an element and a vector, which is one instruction where kFolds; it leaves the
// sum in its register, where a compiler that unrolls MulAdd may copy it. Where kMasks, it also has masks: M,
// Lanes(begin, end) of any two numbers, Pick, which loads the lanes of two from two places, and Place, which stores
// those of one.

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

  // `row(r)` is where row r's factor stands; load(v), called once for each, is vector v of b. The fewer operands wait
  // in registers. Where kTied, for unrolled loops, no sum leaves its register, and the last kFolded rows' factors are
  // loaded by each multiply-add: an instruction less a row, for a load more a vector but one.
  template <bool kTied = false, int kFolded = 0, class Row, class Load>
  __attribute__((always_inline)) void Add(const Row& row, const Load& load) {
    if constexpr (kVectors <= kRows || kVectors < 5) {
      V lanes[kVectors];
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) lanes[v] = load(v);
#pragma GCC unroll 16
      for (int r = 0; r < kRows - kFolded; ++r) {
        const V factor = Math::Broadcast(row(r));
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v) AddProduct<kTied>(factor, lanes[v], &sums_[r][v]);
      }
#pragma GCC unroll 16
      for (int r = kRows - kFolded; r < kRows; ++r) {
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v) Math::AddProduct(row(r), lanes[v], &sums_[r][v]);
      }
    } else {
      V factors[kRows];
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r) factors[r] = Math::Broadcast(row(r));
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) {
        const V lanes = load(v);
        std::atomic_signal_fence(std::memory_order_seq_cst);  // or GCC loads it again for each row
#pragma GCC unroll 16
        for (int r = 0; r < kRows; ++r) AddProduct<kTied>(factors[r], lanes, &sums_[r][v]);
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
      for (int i = 0; i < kTerms; ++i) AddProduct<false>(Math::Broadcast(factors + i), lanes[i], &sums_[r][0]);
    }
  }

  __attribute__((always_inline)) void Finish(const GatherOperands& o, int64_t panel, const int64_t* offsets,
                                             bool accumulate) const {
    float* const c = o.c + panel * o.c_panel;
    if (o.streams) return FinishStreamed(c, offsets);
    FinishStored(c, offsets, accumulate);
  }

  template <class Parts>
  __attribute__((always_inline)) void FinishSplit(const GatherOperands& o, int64_t panel, const Parts& parts,
                                                  bool accumulate) const {
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) {
        const float* added = o.added + (panel * kRows + r) * o.added_step + v * kLanes;
        const V sum = accumulate ? Math::Add(Math::Load(added), sums_[r][v]) : sums_[r][v];
        parts.Store(sum, o.c + panel * o.c_panel + o.result_offsets[r] + v * kLanes, o.c_jump, v);
      }
    }
  }

 private:
  template <bool kTied>
  static __attribute__((always_inline)) void AddProduct(V x, V y, V* sum) {
    if constexpr (kTied) Math::AddProduct(x, y, sum);
    if constexpr (!kTied) *sum = Math::MulAdd(x, y, *sum);
  }

  __attribute__((always_inline)) void FinishStored(float* __restrict__ c, const int64_t* __restrict__ offsets,
                                                   bool accumulate) const {
    float* rows[kRows];
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) rows[r] = c + offsets[r];
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) {
        float* to = rows[r] + v * kLanes;
        Math::Store(accumulate ? Math::Add(Math::Load(to), sums_[r][v]) : sums_[r][v], to);
      }
    }
  }

  // The same past the caches, to whole vectors at multiples of their size.
  __attribute__((always_inline)) void FinishStreamed(float* __restrict__ c, const int64_t* __restrict__ offsets) const {
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) Math::Stream(sums_[r][v], c + offsets[r] + v * kLanes);
    }
  }

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

// With so many rows some of their addresses wait in memory or vector registers.
inline constexpr int kManyRows = 9;
inline constexpr int kTermsAtOnce = 4;

// What a scattered tile asks for meanwhile: stretches of memory, a step of one with each term.
class GatherAsking {
 public:
  __attribute__((always_inline)) GatherAsking(const GatherOperands& o, int64_t panel)
      : o_(o), row_(static_cast<const char*>(o.ahead) + panel * o.ahead_panel), at_(row_), terms_(o.ahead_terms) {}

  // With so many terms; at the end of a stretch for some beyond it.
  template <int kTerms>
  __attribute__((always_inline)) void Ask() {
#pragma GCC unroll 4
    for (int i = 0; i < kTerms; ++i) kernels::Ask(at_ + i * o_.ahead_step);
    at_ += kTerms * o_.ahead_step;
    terms_ -= kTerms;
    if (terms_ > 0) return;
    terms_ = o_.ahead_terms;
    row_ += o_.ahead_row;
    at_ = row_;
  }

 private:
  const GatherOperands& o_;
  const char *row_, *at_;
  int64_t terms_;
};

template <class Math, int kRows, int kVectors, bool kAhead>
void GatherScattered(const GatherOperands& o, bool accumulate) {
  for (int64_t panel = 0; panel < o.panels; ++panel) {
    GatherSums<Math, kRows, kVectors> sums;
    sums.Clear();
    const float *a = o.a + panel * o.a_panel, *all_b = o.b + panel * o.b_panel;
    const int64_t* offsets = o.row_offsets + panel * o.offsets_panel;
    [[maybe_unused]] GatherAsking asking(o, panel);
    for (int64_t t = 0; t < o.run_count; ++t) {
      const GatherRun run = o.runs[t];
      const float* __restrict__ rows[kRows];
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r) rows[r] = a + run.a + offsets[r];
      const float* __restrict__ b = all_b + run.b;
      for (int64_t i = 0; i < run.terms; ++i) {
        sums.Add([&rows, i](int r) { return rows[r] + i; }, [b](int v) { return Math::Load(b + v * Math::kLanes); });
        b += o.b_step;
        if constexpr (kAhead) asking.template Ask<1>();
      }
    }
    sums.Finish(o, panel, o.result_offsets + panel * o.offsets_panel, accumulate);
  }
}

// A tile of one vector and many rows has time for their addresses once in a few terms only, and none to make them anew
// for each run.
template <class Math, int kRows, bool kAhead>
void GatherScatteredColumn(const GatherOperands& o, bool accumulate) {
  for (int64_t panel = 0; panel < o.panels; ++panel) {
    GatherSums<Math, kRows, 1> sums;
    sums.Clear();
    const float* __restrict__ rows[kRows];
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) rows[r] = o.a + panel * o.a_panel + o.row_offsets[panel * o.offsets_panel + r];
    [[maybe_unused]] GatherAsking asking(o, panel);
    for (int64_t t = 0; t < o.run_count; ++t) {
      const GatherRun run = o.runs[t];
      const float* __restrict__ b = o.b + panel * o.b_panel + run.b;
      const int64_t end = run.a + run.terms;
      int64_t i = run.a;
      for (; i + kTermsAtOnce <= end; i += kTermsAtOnce) {
        sums.template AddTerms<kTermsAtOnce>([&rows, i](int r) { return rows[r] + i; }, b, o.b_step);
        b += kTermsAtOnce * o.b_step;
        if constexpr (kAhead) asking.template Ask<kTermsAtOnce>();
      }
      for (; i < end; ++i) {
        sums.Add([&rows, i](int r) { return rows[r] + i; }, [b](int v) { return Math::Load(b + v * Math::kLanes); });
        b += o.b_step;
      }
    }
    sums.Finish(o, panel, o.result_offsets + panel * o.offsets_panel, accumulate);
  }
}

template <class Math, int kRows, int kVectors, bool kAhead>
constexpr GatherGemmFn ScatteredTile() {
  if constexpr (kVectors == 1 && kRows >= kManyRows) {
    return &GatherScatteredColumn<Math, kRows, kAhead>;
  } else {
    return &GatherScattered<Math, kRows, kVectors, kAhead>;
  }
}

// Where two threads share a core, each has half of the instructions that it can start in a cycle, and what is neither
// multiply nor add costs: so terms come four at a time, asks for memory once for all four, and a quarter of the rows'
// factors within the multiply-adds, for which there are loads enough.
template <class Math, int kRows, int kVectors, bool kCopying, bool kSplit>
class GatherAdjacentTerms {
 public:
  __attribute__((always_inline)) GatherAdjacentTerms(const GatherOperands& o, int64_t panel)
      : o_(o),
        panel_(panel),
        a_step_(o.a_step),
        b_step_(o.b_step),
        ahead_(static_cast<const char*>(o.ahead) + panel * o.ahead_panel),
        ahead_line_(o.ahead_line),
        copy_(o.b_copy),
        parts_(o.split, o.end) {
    sums_.Clear();
  }

  __attribute__((always_inline)) void AddRun(const GatherRun& run) {
    const float *a = o_.a + panel_ * o_.a_panel + run.a, *b = o_.b + panel_ * o_.b_panel + run.b;
    int64_t left = run.terms;
    for (; left >= kTermsAnAsk; left -= kTermsAnAsk) {
      if constexpr (Math::kFolds) {
#pragma GCC unroll 4
        for (int i = 0; i < kTermsAnAsk; ++i) AddTerm(&a, &b);
      } else {
#pragma GCC unroll 1  // elsewhere the registers do not last for more
        for (int i = 0; i < kTermsAnAsk; ++i) AddTerm(&a, &b);
      }
      Ask();
    }
    if (left == 0) return;
    for (; left > 0; --left) AddTerm(&a, &b);
    Ask();
  }

  __attribute__((always_inline)) void Finish(bool accumulate) const {
    if constexpr (kSplit) {
      sums_.FinishSplit(o_, panel_, parts_, accumulate);
    } else {
      sums_.Finish(o_, panel_, o_.result_offsets, accumulate);
    }
  }

 private:
  // Vectors that are copied and multiplied at once, for which masks, or a vector each, would leave too few registers.
  static constexpr bool kOnTheWay = kCopying && !kSplit && kVectors <= kRows;
  static constexpr int kFolded = !Math::kFolds ? 0 : kVectors == 1 ? kRows : kRows / 4;

  __attribute__((always_inline)) void AddTerm(const float** next_a, const float** next_b) {
    const float* __restrict__ a = *next_a;
    const float* __restrict__ b = *next_b;
    constexpr bool kFirst = kCopying && !kOnTheWay;
    if constexpr (kFirst) {
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) {
        const float* from = b + v * Math::kLanes;
        if constexpr (kSplit) Math::Store(parts_.Load(from, o_.b_jump, v), copy_ + v * Math::kLanes);
        if constexpr (!kSplit) Math::Store(Math::Load(from), copy_ + v * Math::kLanes);
      }
    }
    const auto load = [&](int v) {
      const typename Math::V lanes = Math::Load((kCopying && kSplit ? copy_ : b) + v * Math::kLanes);
      if constexpr (kOnTheWay) Math::Store(lanes, copy_ + v * Math::kLanes);
      return lanes;
    };
    sums_.template Add<true, kFolded>([a](int r) { return a + r; }, load);
    if constexpr (kCopying) copy_ += o_.b_copy_step;
    *next_a += a_step_;
    *next_b += b_step_;
    // A multiply-add that loads from a sum of two registers is two instructions again.
    if constexpr (kFolded > 0) asm("" : "+r"(*next_a));
  }

  __attribute__((always_inline)) void Ask() {
    for (int64_t asks = o_.asks; asks > 0; --asks, ahead_ += o_.ahead_step) {
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) kernels::Ask(ahead_ + v * ahead_line_);
    }
  }

  const GatherOperands& o_;
  const int64_t panel_, a_step_, b_step_;
  const char* ahead_;
  int64_t ahead_line_;
  float* copy_;
  std::conditional_t<kSplit, GatherParts<Math, kVectors>, GatherWhole> parts_;
  GatherSums<Math, kRows, kVectors> sums_;
};

template <class Math, int kRows, int kVectors, bool kCopying, bool kSplit>
void GatherAdjacent(const GatherOperands& o, bool accumulate) {
  const int64_t panels = kCopying ? 1 : o.panels;
  for (int64_t panel = 0; panel < panels; ++panel) {
    GatherAdjacentTerms<Math, kRows, kVectors, kCopying, kSplit> terms(o, panel);
    for (int64_t t = 0; t < o.run_count; ++t) terms.AddRun(o.runs[t]);
    terms.Finish(accumulate);
  }
}

template <class Math, int kVectors, int... kRows>
GatherTiles MakeGatherTiles(std::integer_sequence<int, kRows...>) {
  GatherTiles tiles{};
  tiles.lanes = kVectors * Math::kLanes;
  tiles.most_rows = sizeof...(kRows);
  ((tiles.scattered[kRows + 1] = ScatteredTile<Math, kRows + 1, kVectors, false>(),
    tiles.scattered_ahead[kRows + 1] = ScatteredTile<Math, kRows + 1, kVectors, true>(),
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
