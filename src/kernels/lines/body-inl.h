// SPDX-License-Identifier: Apache-2.0
// Compiled once per target.
#if defined(CANOPY_KERNELS_LINES_BODY_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CANOPY_KERNELS_LINES_BODY_INL_H_
#undef CANOPY_KERNELS_LINES_BODY_INL_H_
#else
#define CANOPY_KERNELS_LINES_BODY_INL_H_
#endif

#include <hwy/highway.h>

#include <atomic>
#include <cstring>

#include "kernels/ask.h"
#include "kernels/convert/convert-inl.h"
#include "kernels/lines/contract.h"
#include "kernels/streams.h"
#include "kernels/transpose_blocks-inl.h"

HWY_BEFORE_NAMESPACE();
namespace canopy::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
namespace cv = convert::HWY_NAMESPACE;
using convert::Form;

inline void FillZero(float* to, int64_t count) {
  const hn::ScalableTag<float> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t i = 0; i < count; i += lanes) hn::StoreU(hn::Zero(d), d, to + i);
}

// to[0, count) = from[0, count), with whole vectors stored: what follows is zeros that are overwritten or wanted.
// Reads nothing past from[count). REQUIRES: 0 < count < a vector's lanes.
inline void StoreTail(const float* HWY_RESTRICT from, int64_t count, float* HWY_RESTRICT to) {
  const hn::ScalableTag<float> d;
  hn::StoreU(cv::LoadFirst(d, from, static_cast<size_t>(count)), d, to);
}

inline void FetchLine(const float* HWY_RESTRICT source, const Segment* HWY_RESTRICT segments, int64_t segment_count,
                      int64_t length, float* HWY_RESTRICT line) {
  const hn::ScalableTag<float> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t done = 0;
  for (int64_t s = 0; s < segment_count; ++s) {
    const Segment segment = segments[s];
    if (segment.begin > done) FillZero(line + done, segment.begin - done);
    const float* from = source + segment.source;
    float* to = line + segment.begin;
    int64_t i = 0;
    for (; i + lanes <= segment.count; i += lanes) hn::StoreU(hn::LoadU(d, from + i), d, to + i);
    if (i < segment.count) StoreTail(from + i, segment.count - i, to + i);
    done = segment.begin + segment.count;
  }
  if (done < length) FillZero(line + done, length - done);
}

#include "kernels/lines/transpose-inl.h"

template <class T>
void EverySecond(const T* HWY_RESTRICT from, int64_t from_step, int64_t rows, int64_t count, T* HWY_RESTRICT to) {
#if HWY_TARGET != HWY_SCALAR
  const hn::ScalableTag<T> d;
  constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(d));
  const int64_t rest = (count + kLanes - 1) % kLanes + 1, whole = count - rest;
  [[maybe_unused]] const auto low_mask = hn::FirstN(d, static_cast<size_t>(HWY_MIN(kLanes, 2 * rest - 1)));
  [[maybe_unused]] const auto high_mask = hn::FirstN(d, static_cast<size_t>(HWY_MAX(0, 2 * rest - 1 - kLanes)));
  [[maybe_unused]] const auto mask = hn::FirstN(d, static_cast<size_t>(rest));
#else
  const int64_t whole = 0;
#endif
  for (int64_t r = 0; r < rows && count > 0; ++r, from += from_step, to += count) {
#if HWY_TARGET != HWY_SCALAR
    for (int64_t i = 0; i < whole; i += kLanes) {
      const auto low = hn::LoadU(d, from + 2 * i), high = hn::LoadU(d, from + 2 * i + kLanes);
      hn::StoreU(hn::ConcatEven(d, high, low), d, to + i);
    }
#endif
#if HWY_TARGET == HWY_SCALAR || HWY_MEM_OPS_MIGHT_FAULT
    for (int64_t i = whole; i < count; ++i) to[i] = from[2 * i];
#else
    const auto low = hn::MaskedLoad(low_mask, d, from + 2 * whole);
    const auto high = hn::MaskedLoad(high_mask, d, from + 2 * whole + kLanes);
    hn::BlendedStore(hn::ConcatEven(d, high, low), mask, d, to + whole);
#endif
  }
}

inline void SplitSeconds(const float* HWY_RESTRICT from, int64_t from_step, int64_t rows, int64_t count,
                         float* HWY_RESTRICT even, float* HWY_RESTRICT odd) {
#if HWY_TARGET != HWY_SCALAR
  const hn::ScalableTag<float> d;
  constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(d));
  const int64_t rest = count % kLanes, whole = count - rest;
  [[maybe_unused]] const auto low_mask = hn::FirstN(d, static_cast<size_t>(HWY_MIN(kLanes, 2 * rest)));
  [[maybe_unused]] const auto high_mask = hn::FirstN(d, static_cast<size_t>(HWY_MAX(0, 2 * rest - kLanes)));
  [[maybe_unused]] const auto mask = hn::FirstN(d, static_cast<size_t>(rest));
#else
  const int64_t whole = 0;
#endif
  for (int64_t r = 0; r < rows; ++r, from += from_step, even += count, odd += count) {
#if HWY_TARGET != HWY_SCALAR
    for (int64_t i = 0; i < whole; i += kLanes) {
      const auto low = hn::LoadU(d, from + 2 * i), high = hn::LoadU(d, from + 2 * i + kLanes);
      hn::StoreU(hn::ConcatEven(d, high, low), d, even + i);
      hn::StoreU(hn::ConcatOdd(d, high, low), d, odd + i);
    }
#endif
#if HWY_TARGET == HWY_SCALAR || HWY_MEM_OPS_MIGHT_FAULT
    for (int64_t i = whole; i < count; ++i) {
      even[i] = from[2 * i];
      odd[i] = from[2 * i + 1];
    }
#else
    if (rest == 0) continue;
    const auto low = hn::MaskedLoad(low_mask, d, from + 2 * whole);
    const auto high = hn::MaskedLoad(high_mask, d, from + 2 * whole + kLanes);
    hn::BlendedStore(hn::ConcatEven(d, high, low), mask, d, even + whole);
    hn::BlendedStore(hn::ConcatOdd(d, high, low), mask, d, odd + whole);
#endif
  }
}

inline void AddRows(const float* HWY_RESTRICT from, int64_t step, int64_t rows, int64_t count, float* HWY_RESTRICT to,
                    const int64_t* HWY_RESTRICT offsets) {
  const hn::ScalableTag<float> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d)), whole = count - count % lanes;
  const size_t rest = static_cast<size_t>(count - whole);
  for (int64_t r = 0; r < rows; ++r, from += step) {
    float* HWY_RESTRICT row = to + offsets[r];
    for (int64_t i = 0; i < whole; i += lanes) {
      hn::StoreU(hn::Add(hn::LoadU(d, row + i), hn::LoadU(d, from + i)), d, row + i);
    }
    if (rest == 0) continue;
    cv::StoreFirst(hn::Add(cv::LoadFirst(d, row + whole, rest), cv::LoadFirst(d, from + whole, rest)), d, row + whole,
                   rest);
  }
}

constexpr int64_t kRowsAhead = 32;  // of a vector each: processors follow few such at a time, far apart as they may lie

template <Form kForm>
void CopyRows(const void* HWY_RESTRICT elements, int64_t from_step, int64_t rows, int64_t count, float* HWY_RESTRICT to,
              int64_t to_step) {
  const auto* HWY_RESTRICT from = static_cast<const cv::FormElement<kForm>*>(elements);
  const hn::ScalableTag<float> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d)), whole = count - count % lanes;
  const size_t rest = static_cast<size_t>(count - whole);
  for (int64_t r = 0; r < rows; ++r, from += from_step, to += to_step) {
    if (count <= lanes) AskNear(from + kRowsAhead * from_step);
    for (int64_t i = 0; i < whole; i += lanes) hn::StoreU(cv::LoadForm<kForm>(d, from + i), d, to + i);
    if (rest == 0) continue;
    const auto tail = cv::LoadFormN<kForm>(d, from + whole, rest);
    cv::StoreVecN<numerics::DType::kFloat32, false>(d, tail, to + whole, rest);
  }
}

inline void CopyRows16(const uint16_t* HWY_RESTRICT from, int64_t from_step, int64_t rows, int64_t count,
                       uint16_t* HWY_RESTRICT to, int64_t to_step) {
  const hn::ScalableTag<uint16_t> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d)), whole = count - count % lanes;
  const size_t rest = static_cast<size_t>(count - whole);
#if !HWY_MEM_OPS_MIGHT_FAULT
  const auto tail = hn::FirstN(d, rest);
#endif
  for (int64_t r = 0; r < rows; ++r, from += from_step, to += to_step) {
    for (int64_t i = 0; i < whole; i += lanes) hn::StoreU(hn::LoadU(d, from + i), d, to + i);
#if HWY_MEM_OPS_MIGHT_FAULT
    std::memcpy(to + whole, from + whole, rest * sizeof(uint16_t));
#else
    if (rest > 0) hn::BlendedStore(hn::MaskedLoad(tail, d, from + whole), tail, d, to + whole);
#endif
  }
}

inline void StreamRows(const float* HWY_RESTRICT from, int64_t from_step, int64_t rows, int64_t count,
                       float* HWY_RESTRICT to, int64_t to_step) {
  const hn::ScalableTag<float> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t r = 0; r < rows; ++r, from += from_step, to += to_step) {
    const auto copy = [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; i += lanes) {
        const size_t some = static_cast<size_t>(HWY_MIN(lanes, last - i));
        cv::StoreFirst(cv::LoadFirst(d, from + i, some), d, to + i, some);
      }
    };
    const int64_t first = FloatsBeforeALine(to, count), last = count - (count - first) % kMemoryLineFloats;
    copy(0, first);
    for (int64_t i = first; i < last; i += lanes) hn::Stream(hn::LoadU(d, from + i), d, to + i);
    copy(last, count);
  }
}

// With vectors of kLanes, or less where there are none so wide.
template <size_t kLanes>
void CopyRunsBy(const float* HWY_RESTRICT from, const int64_t* HWY_RESTRICT offsets, int64_t runs, int64_t length,
                int64_t count, int64_t from_step, float* HWY_RESTRICT to, int64_t to_step) {
  const hn::CappedTag<float, kLanes> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  // What a run's last vector writes past it, the next run's first overwrites.
  for (int64_t i = 0; i < count; ++i, from += from_step, to += to_step) {
    float* HWY_RESTRICT run = to;
    for (int64_t r = 0; r < runs; ++r, run += length) {
      const float* HWY_RESTRICT source = from + offsets[r];
      hn::StoreU(hn::LoadU(d, source), d, run);
      for (int64_t j = lanes; j < length; j += lanes) hn::StoreU(hn::LoadU(d, source + j), d, run + j);
    }
  }
}

// Short vectors cross fewer cache lines.
inline void CopyRuns(const float* HWY_RESTRICT from, const int64_t* HWY_RESTRICT offsets, int64_t runs, int64_t length,
                     int64_t count, int64_t from_step, float* HWY_RESTRICT to, int64_t to_step) {
  if (length <= 4) return CopyRunsBy<4>(from, offsets, runs, length, count, from_step, to, to_step);
  if (length <= 8) return CopyRunsBy<8>(from, offsets, runs, length, count, from_step, to, to_step);
  CopyRunsBy<kLineSlack>(from, offsets, runs, length, count, from_step, to, to_step);
}

#if HWY_TARGET != HWY_SCALAR
// Where the quarters of a vector of 16-bit numbers go, so that each half of every block of 16 bytes has a half of them:
// what is interleaved block by block then comes in order.
template <class D>
HWY_INLINE auto HalvesInBlocks(D d) {
  const int64_t quarters = static_cast<int64_t>(hn::Lanes(d));
  alignas(HWY_MAX_BYTES) int64_t order[HWY_MAX_BYTES / sizeof(int64_t)];
  for (int64_t i = 0; i < quarters; ++i) order[i] = i / 2 + i % 2 * (quarters / 2);
  return hn::SetTableIndices(d, order);
}
#endif

template <bool kAlone>
HWY_INLINE void ZipRowPairs(const uint16_t* HWY_RESTRICT even, const uint16_t* HWY_RESTRICT odd, int64_t from_step,
                            int64_t rows, int64_t count, float* HWY_RESTRICT to, int64_t to_step) {
  const hn::ScalableTag<float> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  const hn::Rebind<uint16_t, decltype(d)> dh;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto pairs = [&](auto low, auto high) HWY_ATTR {
    return hn::BitCast(d, hn::Or(hn::PromoteTo(du, low), hn::ShiftLeft<16>(hn::PromoteTo(du, high))));
  };
#if HWY_TARGET != HWY_SCALAR
  const hn::Repartition<uint16_t, decltype(d)> dn;
  const hn::Repartition<uint64_t, decltype(d)> dq;
  const auto order = HalvesInBlocks(dq);
  const auto take = [&](const uint16_t* from) HWY_ATTR {
    const auto quarters = hn::BitCast(dq, hn::LoadU(dn, from));
    return hn::BitCast(dn, hn::MaxLanes(dq) > 2 ? hn::TableLookupLanes(quarters, order) : quarters);
  };
#endif
#if !HWY_MEM_OPS_MIGHT_FAULT
  const size_t left = static_cast<size_t>(count % lanes);
  const auto tail = hn::FirstN(dh, left);
  const auto tail_pairs = hn::FirstN(d, left);
#endif
  for (int64_t r = 0; r < rows; ++r, even += from_step, odd += kAlone ? 0 : from_step, to += to_step) {
    int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR
    for (; i + 2 * lanes <= count; i += 2 * lanes) {
      const auto low = take(even + i), high = kAlone ? hn::Zero(dn) : take(odd + i);
      hn::StoreU(hn::BitCast(d, hn::InterleaveLower(dn, low, high)), d, to + i);
      hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(dn, low, high)), d, to + i + lanes);
    }
#endif
    for (; i + lanes <= count; i += lanes) {
      hn::StoreU(pairs(hn::LoadU(dh, even + i), kAlone ? hn::Zero(dh) : hn::LoadU(dh, odd + i)), d, to + i);
    }
    if (i == count) continue;
#if HWY_MEM_OPS_MIGHT_FAULT
    for (; i < count; ++i) {
      const uint32_t pair = even[i] | static_cast<uint32_t>(kAlone ? 0 : odd[i]) << 16;
      std::memcpy(to + i, &pair, sizeof(pair));
    }
#else
    const auto high = kAlone ? hn::Zero(dh) : hn::MaskedLoad(tail, dh, odd + i);
    hn::BlendedStore(pairs(hn::MaskedLoad(tail, dh, even + i), high), tail_pairs, d, to + i);
#endif
  }
}

inline void ZipRows(const uint16_t* even, const uint16_t* odd, int64_t from_step, int64_t rows, int64_t count,
                    float* to, int64_t to_step) {
  if (odd == nullptr) return ZipRowPairs<true>(even, odd, from_step, rows, count, to, to_step);
  ZipRowPairs<false>(even, odd, from_step, rows, count, to, to_step);
}

// The last pair is read by itself: whole words would reach behind it.
inline void ZipSeconds(const uint16_t* HWY_RESTRICT even, const uint16_t* HWY_RESTRICT odd, int64_t count,
                       float* HWY_RESTRICT to) {
  const hn::ScalableTag<float> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto pairs = [&](auto low, auto high) {
    return hn::BitCast(d, hn::Or(hn::And(low, hn::Set(du, 0xFFFFu)), hn::ShiftLeft<16>(high)));
  };
  const auto words = [](const uint16_t* from) { return reinterpret_cast<const uint32_t*>(from); };
  int64_t i = 0;
  for (; i + lanes < count; i += lanes) {
    hn::StoreU(
        pairs(hn::LoadU(du, words(even + 2 * i)), odd == nullptr ? hn::Zero(du) : hn::LoadU(du, words(odd + 2 * i))), d,
        to + i);
  }
#if !HWY_MEM_OPS_MIGHT_FAULT
  if (i + 1 < count) {
    const size_t left = static_cast<size_t>(count - 1 - i);
    const auto tail = hn::FirstN(du, left);
    const auto high = odd == nullptr ? hn::Zero(du) : hn::MaskedLoad(tail, du, words(odd + 2 * i));
    hn::BlendedStore(pairs(hn::MaskedLoad(tail, du, words(even + 2 * i)), high), hn::FirstN(d, left), d, to + i);
    i = count - 1;
  }
#endif
  for (; i < count; ++i) {
    const uint32_t pair = even[2 * i] | static_cast<uint32_t>(odd == nullptr ? 0 : odd[2 * i]) << 16;
    std::memcpy(to + i, &pair, sizeof(pair));
  }
}

inline void ZipUpper(const float* even, const float* odd, int64_t count, float* to) {
  const hn::ScalableTag<float> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto upper = hn::Set(du, 0xFFFF0000u);
  for (int64_t i = 0; i < count; i += lanes) {
    auto pairs = hn::ShiftRight<16>(hn::BitCast(du, hn::LoadU(d, even + i)));
    if (odd != nullptr) pairs = hn::Or(pairs, hn::And(hn::BitCast(du, hn::LoadU(d, odd + i)), upper));
    hn::StoreU(hn::BitCast(d, pairs), d, to + i);
  }
}

inline bool AnyNonfinite(const float* line, int64_t count) {
  const hn::ScalableTag<float> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  constexpr uint32_t kExponent = 0x7F800000u;
  const auto exponent = hn::Set(du, kExponent);
  auto found = hn::MaskFromVec(hn::Zero(du));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto bits = hn::BitCast(du, hn::LoadU(d, line + i));
    found = hn::Or(found, hn::Eq(hn::And(bits, exponent), exponent));
  }
  bool tail = false;
  for (; i < count; ++i) {
    uint32_t bits;
    std::memcpy(&bits, line + i, sizeof(bits));
    tail |= (bits & kExponent) == kExponent;
  }
  return tail || !hn::AllFalse(du, found);
}

#include "kernels/lines/shifted-inl.h"
#include "kernels/lines/spread-inl.h"
#include "kernels/lines/sums-inl.h"

inline void AddLine(const float* HWY_RESTRICT from, int64_t count, float* HWY_RESTRICT to) {
  const hn::CappedTag<float, 16> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t i = 0; i < count; i += lanes) hn::Store(hn::Add(hn::Load(d, to + i), hn::Load(d, from + i)), d, to + i);
}

inline const LineKernels& LinesOfTarget() {
  static const LineKernels kernels = {
      &FetchLine,
      &Interleave4,
      {&Transpose<Form::kFloat32>, &Transpose<Form::kHfloat32x11>, &Transpose<Form::kFloat16>,
       &Transpose<Form::kBFloat16>},
      &Interleave,
      &EverySecond<float>,
      &EverySecond<uint16_t>,
      &SplitSeconds,
      &AddRows,
      &AddShifted,
      {&CopyRows<Form::kFloat32>, &CopyRows<Form::kHfloat32x11>, &CopyRows<Form::kFloat16>, &CopyRows<Form::kBFloat16>},
      &CopyRows16,
      &StreamRows,
      &Spread,
      &CopyRuns,
      &ZipRows,
      &ZipSeconds,
      &ZipUpper,
      &AnyNonfinite,
      &SumLine,
      &SumRows,
      {&SumColumns<Form::kFloat32>, &SumColumns<Form::kHfloat32x11>, &SumColumns<Form::kFloat16>,
       &SumColumns<Form::kBFloat16>},
      &WeighRows,
      &SumBf16Line,
      &AddLine};
  return kernels;
}

}  // namespace HWY_NAMESPACE
}  // namespace canopy::kernels
HWY_AFTER_NAMESPACE();

#endif  // CANOPY_KERNELS_LINES_BODY_INL_H_
