// SPDX-License-Identifier: Apache-2.0
// The kernel that adds overlapping rows up, to be included inside a namespace and under the compiler options of an
// instruction set.

// What the taps of each row, `s.shift` apart, add to lanes [i, i + a vector) of its sums, of which not all taps have
// all.
template <int kTaps>
HWY_INLINE void AddShiftedEdges(const float* from, const ShiftedRows& s, int64_t i, float* to,
                                const int64_t* HWY_RESTRICT offsets) {
  const hn::ScalableTag<float> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d)), total = s.count + (kTaps - 1) * s.shift;
#if HWY_MEM_OPS_MIGHT_FAULT || HWY_TARGET == HWY_SCALAR
  for (int64_t r = 0; r < s.rows; ++r, from += s.row_step) {
    for (int64_t at = i; at < HWY_MIN(i + lanes, total); ++at) {
      float sum = 0;
      for (int64_t t = 0; t < kTaps; ++t) {
        const int64_t element = at - t * s.shift;
        if (element >= 0 && element < s.count) sum += from[t * s.tap_step + element];
      }
      to[offsets[r] + at] += sum;
    }
  }
#else
  const auto present = [&](int64_t first, int64_t count) HWY_ATTR {
    const int64_t before = HWY_MIN(HWY_MAX(0, -first), lanes), end = HWY_MIN(HWY_MAX(0, count - first), lanes);
    return hn::AndNot(hn::FirstN(d, static_cast<size_t>(before)), hn::FirstN(d, static_cast<size_t>(end)));
  };
  const auto all = present(i, total);
  hn::Mask<decltype(d)> of_tap[kTaps];
  for (int64_t t = 0; t < kTaps; ++t) of_tap[t] = present(i - t * s.shift, s.count);
  for (int64_t r = 0; r < s.rows; ++r, from += s.row_step) {
    float* sums = to + offsets[r] + i;
    auto sum = hn::MaskedLoad(of_tap[0], d, from + i);
#pragma GCC unroll 4
    for (int64_t t = 1; t < kTaps; ++t) {
      sum = hn::Add(sum, hn::MaskedLoad(of_tap[t], d, from + t * s.tap_step + i - t * s.shift));
    }
    hn::BlendedStore(hn::Add(hn::MaskedLoad(all, d, sums), sum), all, d, sums);
  }
#endif
}

// A row of sums is read and written once, not once a tap: a load that overlaps two stores before it waits for both.
template <int kTaps>
HWY_INLINE void AddShiftedTaps(const float* from, const ShiftedRows& s, float* to,
                               const int64_t* HWY_RESTRICT offsets) {
  const hn::ScalableTag<float> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d)), reach = (kTaps - 1) * s.shift;
  int64_t begin = 0;
#if !HWY_MEM_OPS_MIGHT_FAULT && HWY_TARGET != HWY_SCALAR
  // Whole vectors of sums begin where vectors do, if those of all rows do.
  const uintptr_t floats = reinterpret_cast<uintptr_t>(to + offsets[0]) / sizeof(float);
  begin -= static_cast<int64_t>(floats % static_cast<uintptr_t>(lanes));
#endif
  for (; begin < reach || begin < 0; begin += lanes) AddShiftedEdges<kTaps>(from, s, begin, to, offsets);
  int64_t end = begin;
  if (begin + lanes <= s.count) {
    end += (s.count - begin) / lanes * lanes;
    for (int64_t r = 0; r < s.rows; ++r) {
      const float* row = from + r * s.row_step;
      float* HWY_RESTRICT sums = to + offsets[r];
      for (int64_t i = begin; i < end; i += lanes) {
        auto sum = hn::LoadU(d, row + i);
#pragma GCC unroll 4
        for (int64_t t = 1; t < kTaps; ++t) sum = hn::Add(sum, hn::LoadU(d, row + t * s.tap_step + i - t * s.shift));
        hn::StoreU(hn::Add(hn::LoadU(d, sums + i), sum), d, sums + i);
      }
    }
  }
  for (; end < s.count + reach; end += lanes) AddShiftedEdges<kTaps>(from, s, end, to, offsets);
}

inline void AddShifted(const float* from, const ShiftedRows& shape, float* to, const int64_t* offsets) {
  constexpr int64_t kTaps = 4;  // at once
  const hn::ScalableTag<float> d;
  // Taps that are further apart have little in common but edges.
  const int64_t most = shape.shift > static_cast<int64_t>(hn::Lanes(d)) ? 1 : kTaps;
  ShiftedRows s = shape;
  for (; s.taps > 0; s.taps -= most, from += most * s.tap_step, to += most * s.shift) {
    switch (HWY_MIN(s.taps, most)) {
      case 1:
        AddShiftedTaps<1>(from, s, to, offsets);
        break;
      case 2:
        AddShiftedTaps<2>(from, s, to, offsets);
        break;
      case 3:
        AddShiftedTaps<3>(from, s, to, offsets);
        break;
      default:
        AddShiftedTaps<kTaps>(from, s, to, offsets);
    }
  }
}
