// SPDX-License-Identifier: Apache-2.0
// Compiled once per target.
#if defined(CANOPY_KERNELS_PLANES_BODY_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CANOPY_KERNELS_PLANES_BODY_INL_H_
#undef CANOPY_KERNELS_PLANES_BODY_INL_H_
#else
#define CANOPY_KERNELS_PLANES_BODY_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "kernels/ask.h"
#include "kernels/convert/convert-inl.h"
#include "kernels/planes/contract.h"

HWY_BEFORE_NAMESPACE();
namespace canopy::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
namespace cv = convert::HWY_NAMESPACE;
using convert::Form;

using PlaneTag = hn::CappedTag<float, 16>;
using PlaneVec = hn::Vec<PlaneTag>;
inline constexpr int64_t kPlaneLanes = static_cast<int64_t>(hn::MaxLanes(PlaneTag()));

// Stores the first `count` lanes. Writes nothing else. REQUIRES: 0 <= count < a vector's lanes.
HWY_INLINE void StoreTail(PlaneVec v, float* to, int64_t count) {
  cv::StoreVecN<numerics::DType::kFloat32, false>(PlaneTag(), v, to, static_cast<size_t>(count));
}

template <Form kForm>
void PlaceRows(const PlaneRows& rows) {
  const PlaneTag d;
  const int64_t whole = rows.count / kPlaneLanes * kPlaneLanes, rest = rows.count - whole;
  const auto* from = static_cast<const cv::FormElement<kForm>*>(rows.from);
  float* to = static_cast<float*>(rows.to);
  for (int64_t r = 0; r < rows.rows; ++r, from += rows.from_row, to += rows.to_row) {
    for (int64_t i = 0; i < whole; i += kPlaneLanes) hn::StoreU(cv::LoadForm<kForm>(d, from + i), d, to + i);
    if (rest > 0) hn::StoreU(cv::LoadFormN<kForm>(d, from + whole, static_cast<size_t>(rest)), d, to + whole);
  }
}

template <Form kForm>
void TakeRows(const PlaneRows& rows) {
  constexpr numerics::DType kType = TypeOf(kForm);
  const PlaneTag d;
  const int64_t whole = rows.count / kPlaneLanes * kPlaneLanes, rest = rows.count - whole;
  const float* from = static_cast<const float*>(rows.from);
  auto* to = static_cast<cv::FormElement<kForm>*>(rows.to);
  for (int64_t r = 0; r < rows.rows; ++r, from += rows.from_row, to += rows.to_row) {
    for (int64_t i = 0; i < whole; i += kPlaneLanes) cv::StoreVec<kType, false>(d, hn::LoadU(d, from + i), to + i);
    if (rest > 0) {
      cv::StoreVecN<kType, false>(d, hn::LoadU(d, from + whole), to + whole, static_cast<size_t>(rest));
    }
  }
}

#if HWY_TARGET == HWY_SCALAR
template <Form kForm>
void SplitRows(const PlaneRows& rows, float* odd) {
  const PlaneTag d;
  const auto* from = static_cast<const cv::FormElement<kForm>*>(rows.from);
  float* even = static_cast<float*>(rows.to);
  for (int64_t r = 0; r < rows.rows; ++r) {
    for (int64_t i = 0; i < rows.count; ++i) {
      hn::StoreU(cv::LoadForm<kForm>(d, from + r * rows.from_row + i), d,
                 (i % 2 == 0 ? even : odd) + r * rows.to_row + i / 2);
    }
  }
}

template <Form kForm>
void MeshRows(const PlaneRows& rows, const float* odd) {
  const PlaneTag d;
  const float* even = static_cast<const float*>(rows.from);
  auto* to = static_cast<cv::FormElement<kForm>*>(rows.to);
  for (int64_t r = 0; r < rows.rows; ++r) {
    for (int64_t i = 0; i < rows.count; ++i) {
      const PlaneVec v = hn::LoadU(d, (i % 2 == 0 ? even : odd) + r * rows.from_row + i / 2);
      cv::StoreVec<TypeOf(kForm), false>(d, v, to + r * rows.to_row + i);
    }
  }
}
#else
template <Form kForm>
void SplitRows(const PlaneRows& rows, float* odd) {
  const PlaneTag d;
  const int64_t whole = rows.count / (2 * kPlaneLanes) * (2 * kPlaneLanes), rest = rows.count - whole;
  const int64_t low = HWY_MIN(rest, kPlaneLanes);
  const auto* from = static_cast<const cv::FormElement<kForm>*>(rows.from);
  float* even = static_cast<float*>(rows.to);
  const auto tail = [&](int64_t at, int64_t count)
                        HWY_ATTR { return cv::LoadFormN<kForm>(d, from + at, static_cast<size_t>(count)); };
  for (int64_t r = 0; r < rows.rows; ++r, from += rows.from_row, even += rows.to_row, odd += rows.to_row) {
    for (int64_t i = 0; i < whole; i += 2 * kPlaneLanes) {
      const PlaneVec a = cv::LoadForm<kForm>(d, from + i), b = cv::LoadForm<kForm>(d, from + i + kPlaneLanes);
      hn::StoreU(hn::ConcatEven(d, b, a), d, even + i / 2);
      hn::StoreU(hn::ConcatOdd(d, b, a), d, odd + i / 2);
    }
    if (rest == 0) continue;
    const PlaneVec a = low == kPlaneLanes ? cv::LoadForm<kForm>(d, from + whole) : tail(whole, low);
    const PlaneVec b = rest > low ? tail(whole + low, rest - low) : hn::Zero(d);
    hn::StoreU(hn::ConcatEven(d, b, a), d, even + whole / 2);
    hn::StoreU(hn::ConcatOdd(d, b, a), d, odd + whole / 2);
  }
}

template <Form kForm>
void MeshRows(const PlaneRows& rows, const float* odd) {
  constexpr numerics::DType kType = TypeOf(kForm);
  const PlaneTag d;
  const int64_t whole = rows.count / (2 * kPlaneLanes) * (2 * kPlaneLanes), rest = rows.count - whole;
  const int64_t low = HWY_MIN(rest, kPlaneLanes);
  const float* even = static_cast<const float*>(rows.from);
  auto* to = static_cast<cv::FormElement<kForm>*>(rows.to);
  HWY_ALIGN float meshed[2 * kPlaneLanes];
  const auto mesh = [&](int64_t i, float* at) HWY_ATTR {
    hn::StoreInterleaved2(hn::LoadU(d, even + i / 2), hn::LoadU(d, odd + i / 2), d, at);
  };
  for (int64_t r = 0; r < rows.rows; ++r, even += rows.from_row, odd += rows.from_row, to += rows.to_row) {
    for (int64_t i = 0; i < whole; i += 2 * kPlaneLanes) {
      if constexpr (kType == numerics::DType::kFloat32) {
        mesh(i, to + i);
      } else {
        mesh(i, meshed);
        cv::StoreVec<kType, false>(d, hn::Load(d, meshed), to + i);
        cv::StoreVec<kType, false>(d, hn::Load(d, meshed + kPlaneLanes), to + i + kPlaneLanes);
      }
    }
    if (rest == 0) continue;
    mesh(whole, meshed);
    const auto store = [&](int64_t i, int64_t count) HWY_ATTR {
      cv::StoreVecN<kType, false>(d, hn::Load(d, meshed + i), to + whole + i, static_cast<size_t>(count));
    };
    if (low == kPlaneLanes) {
      cv::StoreVec<kType, false>(d, hn::Load(d, meshed), to + whole);
      if (rest > low) store(kPlaneLanes, rest - low);
    } else {
      store(0, low);
    }
  }
}
#endif

#if HWY_TARGET == HWY_SCALAR
inline void ReduceVectors(const float* vectors, int64_t count, float* sums) {
  std::copy(vectors, vectors + count, sums);
}
#else
// The lanes of each of four vectors added up: of the halves of a vector until four lanes are left, one for each.
template <class V>
HWY_INLINE void StoreFourSums(V quarters, float* sums) {
  const hn::DFromV<V> d;
  if constexpr (hn::MaxLanes(d) > 4) {
    const hn::Half<decltype(d)> half;
    StoreFourSums(hn::Add(hn::LowerHalf(half, quarters), hn::UpperHalf(half, quarters)), sums);
  } else {
    hn::StoreU(quarters, d, sums);
  }
}

inline void ReduceVectors(const float* vectors, int64_t count, float* sums) {
  constexpr int64_t kFour = 4;
  const PlaneTag d;
  const hn::RepartitionToWide<PlaneTag> pairs;
  const auto half = [&](PlaneVec a, PlaneVec b)
                        HWY_ATTR { return hn::Add(hn::InterleaveLower(d, a, b), hn::InterleaveUpper(d, a, b)); };
  const auto four = [&](PlaneVec a, PlaneVec b, PlaneVec c, PlaneVec e, float* to) HWY_ATTR {
    const auto ab = hn::BitCast(pairs, half(a, b)), ce = hn::BitCast(pairs, half(c, e));
    StoreFourSums(
        hn::Add(hn::BitCast(d, hn::InterleaveLower(pairs, ab, ce)), hn::BitCast(d, hn::InterleaveUpper(pairs, ab, ce))),
        to);
  };
  const auto load = [&](int64_t i)
                        HWY_ATTR { return i < count ? hn::LoadU(d, vectors + i * kPlaneLanes) : hn::Zero(d); };
  int64_t i = 0;
  for (; i + kFour <= count; i += kFour) four(load(i), load(i + 1), load(i + 2), load(i + 3), sums + i);
  if (i == count) return;
  HWY_ALIGN float rest[kFour];
  four(load(i), load(i + 1), load(i + 2), hn::Zero(d), rest);
  std::copy(rest, rest + count - i, sums + i);
}
#endif

// Few sums would wait for one another: each is kept several times then.
constexpr int SumsAtOnce(int sums) { return sums >= 6 ? 1 : sums >= 3 ? 2 : 4; }

template <int kRows, int kColumns>
void SumPlane(const PlaneSumsCall& call) {
  constexpr int kAtOnce = SumsAtOnce(kRows * kColumns);
  const PlaneTag d;
  const int64_t x_row = call.x_row, g_row = call.g_row;
  const char *ahead = call.ahead.read, *ahead_too = call.ahead.write;
  const int64_t ahead_step = call.ahead.read_step, ahead_too_step = call.ahead.write_step;
  PlaneVec acc[kAtOnce][kRows][kColumns];
#pragma GCC unroll 4
  for (int u = 0; u < kAtOnce; ++u) {
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
      for (int s = 0; s < kColumns; ++s) acc[u][r][s] = hn::Zero(d);
    }
  }
  const auto add = [&](PlaneVec(&to)[kRows][kColumns], const float* x, const float* g) HWY_ATTR {
    Ask(ahead);
    Ask(ahead_too);
    ahead += ahead_step;
    ahead_too += ahead_too_step;
    PlaneVec gradient[kRows];
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r, g -= g_row) gradient[r] = hn::LoadU(d, g);
#pragma GCC unroll 8
    for (int s = 0; s < kColumns; ++s) {
      const PlaneVec source = hn::LoadU(d, x + s);
      std::atomic_signal_fence(std::memory_order_seq_cst);  // or GCC loads it again for each row
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) to[r][s] = hn::MulAdd(gradient[r], source, to[r][s]);
    }
  };
  for (int64_t v = 0; v < call.vectors; ++v) {
    const float *x = call.x + v * kPlaneLanes, *g = call.g + v * kPlaneLanes;
    int64_t y = 0;
    for (; y + kAtOnce <= call.rows; y += kAtOnce) {
#pragma GCC unroll 4
      for (int u = 0; u < kAtOnce; ++u, x += x_row, g += g_row) add(acc[u], x, g);
    }
    if constexpr (kAtOnce > 1) {
      for (; y < call.rows; ++y, x += x_row, g += g_row) add(acc[0], x, g);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
    float* to = call.sums + r * call.sums_row;
#pragma GCC unroll 8
    for (int s = 0; s < kColumns; ++s, to += call.sums_column) {
      PlaneVec sum = acc[0][r][s];
#pragma GCC unroll 4
      for (int u = 1; u < kAtOnce; ++u) sum = hn::Add(sum, acc[u][r][s]);
      hn::StoreU(hn::Add(hn::LoadU(d, to), sum), d, to);
    }
  }
}

HWY_INLINE void AskFor(int64_t lines, Ahead* ahead) {
  constexpr int64_t kLineBytes = 64;
  for (int64_t i = 0; i < lines; ++i) {
    Ask(ahead->read + i * kLineBytes);
    AskToWrite(ahead->write + i * kLineBytes);
  }
  ahead->read += ahead->read_step;
  ahead->write += ahead->write_step;
}

// kAtOnce vectors of kRows rows of results, of whose last vector `last_lanes` are stored, all where that is 0.
template <int kRows, int kTaps, int kAtOnce>
HWY_INLINE void StencilBlock(const PlaneStencilCall& call, const float* source, float* result, int last_lanes,
                             Ahead* ahead) {
  const PlaneTag d;
  const int64_t source_row = call.source_row, tap_row = call.tap_row;
  PlaneVec acc[kAtOnce][kRows];
#pragma GCC unroll 8
  for (int v = 0; v < kAtOnce; ++v) {
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) acc[v][r] = hn::Zero(d);
  }
  const float* column_taps = call.taps;
  for (int64_t j = 0; j < call.columns; ++j, column_taps += call.tap_column) {
    AskFor(call.ahead_lines, ahead);
    const float *at = source + j, *tap_at = column_taps;
    PlaneVec tap[kTaps];
#pragma GCC unroll 8
    for (int t = 0; t < kTaps; ++t, tap_at += tap_row) tap[t] = hn::Set(d, *tap_at);
#pragma GCC unroll 16
    for (int i = 0; i < kRows + kTaps - 1; ++i, at += source_row) {
#pragma GCC unroll 8
      for (int v = 0; v < kAtOnce; ++v) {
        const PlaneVec x = hn::LoadU(d, at + v * kPlaneLanes);
        std::atomic_signal_fence(std::memory_order_seq_cst);  // or GCC loads it again for each tap
#pragma GCC unroll 8
        for (int t = 0; t < kTaps; ++t) {
          if (i - t >= 0 && i - t < kRows) acc[v][i - t] = hn::MulAdd(tap[t], x, acc[v][i - t]);
        }
      }
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r, result += call.result_row) {
#pragma GCC unroll 8
    for (int v = 0; v < kAtOnce; ++v) {
      float* to = result + v * kPlaneLanes;
      if (v + 1 == kAtOnce && last_lanes > 0) {
        StoreTail(acc[v][r], to, last_lanes);
      } else {
        hn::StoreU(call.accumulate ? hn::Add(hn::LoadU(d, to), acc[v][r]) : acc[v][r], d, to);
      }
    }
  }
}

template <int kRows, int kTaps, int kAtOnce>
void StencilPlane(const PlaneStencilCall& call) {
  const float* source = call.source;
  float* result = call.result;
  const int64_t together = call.vectors / kAtOnce * kAtOnce;
  Ahead ahead = call.ahead;
  for (int64_t block = 0; block < call.blocks; ++block) {
    int64_t v = 0;
    for (; v < together; v += kAtOnce) {
      StencilBlock<kRows, kTaps, kAtOnce>(call, source + v * kPlaneLanes, result + v * kPlaneLanes,
                                          v + kAtOnce == call.vectors ? call.last_lanes : 0, &ahead);
    }
    if constexpr (kAtOnce > 1) {
      for (; v < call.vectors; ++v) {
        StencilBlock<kRows, kTaps, 1>(call, source + v * kPlaneLanes, result + v * kPlaneLanes,
                                      v + 1 == call.vectors ? call.last_lanes : 0, &ahead);
      }
    }
    source += kRows * call.source_row;
    result += kRows * call.result_row;
  }
}

// ---- the list ------------------------------------------------------------------------------------------------------

template <int kRows, int kColumns>
void FillColumns(PlaneKernels* kernels) {
  kernels->sums[kRows][kColumns] = &SumPlane<kRows, kColumns>;
  kernels->most_columns[kRows] = HWY_MAX(kernels->most_columns[kRows], kColumns);
  if constexpr (kColumns > 1) FillColumns<kRows, kColumns - 1>(kernels);
}

template <int kRows, int kAtOnce, int kTaps>
void FillTaps(PlaneKernels* kernels) {
  kernels->stencils[kRows][kTaps] = &StencilPlane<kRows, kTaps, kAtOnce>;
  kernels->at_once[kRows] = kAtOnce;
  if constexpr (kTaps > 1) FillTaps<kRows, kAtOnce, kTaps - 1>(kernels);
}

template <int... kForm>
void FillMoves(PlaneKernels* kernels, std::integer_sequence<int, kForm...>) {
  ((kernels->place[kForm] = &PlaceRows<static_cast<Form>(kForm)>), ...);
  ((kernels->take[kForm] = &TakeRows<static_cast<Form>(kForm)>), ...);
  ((kernels->split[kForm] = &SplitRows<static_cast<Form>(kForm)>), ...);
  ((kernels->mesh[kForm] = &MeshRows<static_cast<Form>(kForm)>), ...);
}

inline const PlaneKernels& PlanesOfTarget() {
  static const struct Table {
    PlaneKernels kernels{};
    Table() {
      kernels.lanes = static_cast<int>(kPlaneLanes);
      kernels.target = hwy::TargetName(HWY_TARGET);
      FillMoves(&kernels, std::make_integer_sequence<int, convert::kForms>());
      kernels.reduce = &ReduceVectors;
#define CANOPY_PLANE_SUMS(registers, rows, columns) \
  if constexpr (registers == CANOPY_VECTOR_REGISTERS) FillColumns<rows, columns>(&kernels);
#define CANOPY_PLANE_STENCIL(registers, rows, at_once) \
  if constexpr (registers == CANOPY_VECTOR_REGISTERS) FillTaps<rows, at_once, kMostPlaneTaps>(&kernels);
#include "kernels/planes/kernels.inc"
#undef CANOPY_PLANE_STENCIL
#undef CANOPY_PLANE_SUMS
    }
  } table;
  return table.kernels;
}

}  // namespace HWY_NAMESPACE
}  // namespace canopy::kernels
HWY_AFTER_NAMESPACE();

#endif  // CANOPY_KERNELS_PLANES_BODY_INL_H_
