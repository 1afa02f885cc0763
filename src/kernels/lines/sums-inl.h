// SPDX-License-Identifier: Apache-2.0
// The kernels that add up lines, to be included inside a namespace, behind transpose-inl.h, and under the compiler
// options of an instruction set.

inline float SumLine(const float* line, int64_t count) {
  const hn::ScalableTag<float> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  // Four chains hide one another's latency.
  auto s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
  int64_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    s0 = hn::Add(s0, hn::LoadU(d, line + i));
    s1 = hn::Add(s1, hn::LoadU(d, line + i + lanes));
    s2 = hn::Add(s2, hn::LoadU(d, line + i + 2 * lanes));
    s3 = hn::Add(s3, hn::LoadU(d, line + i + 3 * lanes));
  }
  for (; i + lanes <= count; i += lanes) s0 = hn::Add(s0, hn::LoadU(d, line + i));
  if (i < count) {
    s1 = hn::Add(s1, cv::LoadFirst(d, line + i, static_cast<size_t>(count - i)));
  }
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(s0, s1), hn::Add(s2, s3))));
}

#if HWY_MEM_OPS_MIGHT_FAULT || HWY_TARGET == HWY_SCALAR
inline void SumRows(const float* from, int64_t row_step, int64_t rows, int64_t count, int64_t plane_step,
                    int64_t planes, float* sums) {
  for (int64_t r = 0; r < rows; ++r) {
    sums[r] = 0;
    for (int64_t p = 0; p < planes; ++p) sums[r] += SumLine(from + p * plane_step + r * row_step, count);
  }
}
#else
// A vector of partial sums for each of as many rows as it has lanes.
inline void SumRows(const float* from, int64_t row_step, int64_t rows, int64_t count, int64_t plane_step,
                    int64_t planes, float* sums) {
  const hn::ScalableTag<float> d;
  constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(d));
  for (int64_t first = 0; first < rows; first += kLanes) {
    const int64_t last = HWY_MIN(kLanes, rows - first) - 1;
    hn::Vec<decltype(d)> v[kLanes];
#pragma GCC unroll 16
    for (int64_t r = 0; r < kLanes; ++r) v[r] = hn::Zero(d);
    for (int64_t p = 0; p < planes; ++p) {
      for (int64_t i = 0; i < count; i += kLanes) {
        const auto present = hn::FirstN(d, static_cast<size_t>(HWY_MIN(kLanes, count - i)));
        const float* row = from + first * row_step + p * plane_step + i;
#pragma GCC unroll 16
        for (int64_t r = 0; r < kLanes; ++r) {
          v[r] = hn::Add(v[r], hn::MaskedLoad(present, d, row));
          row += r < last ? row_step : 0;  // the last again for rows that are not there
        }
      }
    }
    TransposeSquare(d, v);
#pragma GCC unroll 4
    for (int64_t apart = kLanes / 2; apart > 0; apart /= 2) {
#pragma GCC unroll 8
      for (int64_t r = 0; r < apart; ++r) v[r] = hn::Add(v[r], v[r + apart]);
    }
    hn::BlendedStore(v[0], hn::FirstN(d, static_cast<size_t>(last + 1)), d, sums + first);
  }
}
#endif

constexpr int64_t kSumsAhead = 2048;  // elements: what memory sends while it takes to answer

// Of as many vectors of every row, which wait in registers.
template <int kVectors, Form kForm>
HWY_INLINE void SumVectors(const cv::FormElement<kForm>* from, int64_t step, int64_t rows, int64_t ahead, float* sums) {
  const hn::ScalableTag<float> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  hn::Vec<decltype(d)> v[kVectors];
#pragma GCC unroll 8
  for (int i = 0; i < kVectors; ++i) v[i] = hn::Zero(d);
  for (int64_t r = 0; r < rows; ++r, from += step) {
#pragma GCC unroll 8
    for (int i = 0; i < kVectors; ++i) {
      Ask(from + ahead + i * lanes);
      v[i] = hn::Add(v[i], cv::LoadForm<kForm>(d, from + i * lanes));
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < kVectors; ++i) hn::StoreU(v[i], d, sums + i * lanes);
}

template <Form kForm>
void SumColumns(const void* elements, int64_t step, int64_t rows, int64_t count, float* sums) {
  const auto* from = static_cast<const cv::FormElement<kForm>*>(elements);
  const hn::ScalableTag<float> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d)), whole = count - count % lanes;
  const int64_t ahead = HWY_MAX(1, kSumsAhead / count) * step;
  int64_t i = 0;
  for (; i + 8 * lanes <= whole; i += 8 * lanes) SumVectors<8, kForm>(from + i, step, rows, ahead, sums + i);
  for (; i + 4 * lanes <= whole; i += 4 * lanes) SumVectors<4, kForm>(from + i, step, rows, ahead, sums + i);
  for (; i < whole; i += lanes) SumVectors<1, kForm>(from + i, step, rows, ahead, sums + i);
  if (whole == count) return;
  const size_t rest = static_cast<size_t>(count - whole);
  auto sum = hn::Zero(d);
  for (int64_t r = 0; r < rows; ++r) sum = hn::Add(sum, cv::LoadFormN<kForm>(d, from + r * step + whole, rest));
  cv::StoreFirst(sum, d, sums + whole, rest);
}

// Adds as many weighed rows, or begins with them: streams enough that sums come seldom, and few enough for a processor
// to fetch ahead.
template <int kRows>
HWY_INLINE void WeighSomeRows(const float* HWY_RESTRICT from, int64_t step, const float* HWY_RESTRICT factors,
                              int64_t factor_step, int64_t count, bool first, float* HWY_RESTRICT to) {
  const hn::ScalableTag<float> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  hn::Vec<decltype(d)> factor[kRows];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) factor[r] = hn::Set(d, factors[r * factor_step]);
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    auto sum = first ? hn::Zero(d) : hn::LoadU(d, to + i);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) sum = hn::MulAdd(factor[r], hn::LoadU(d, from + r * step + i), sum);
    hn::StoreU(sum, d, to + i);
  }
  if (i == count) return;
  const size_t rest = static_cast<size_t>(count - i);
  auto sum = first ? hn::Zero(d) : cv::LoadFirst(d, to + i, rest);
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) sum = hn::MulAdd(factor[r], cv::LoadFirst(d, from + r * step + i, rest), sum);
  cv::StoreFirst(sum, d, to + i, rest);
}

inline void WeighRows(const float* from, int64_t step, int64_t rows, const float* factors, int64_t factor_step,
                      int64_t count, float* to) {
  constexpr int kRows = 8;
  if (rows == 0) std::memset(to, 0, static_cast<size_t>(count) * sizeof(float));
  int64_t r = 0;
  for (; r + kRows <= rows; r += kRows) {
    WeighSomeRows<kRows>(from + r * step, step, factors + r * factor_step, factor_step, count, r == 0, to);
  }
  for (; r < rows; ++r) {
    WeighSomeRows<1>(from + r * step, step, factors + r * factor_step, factor_step, count, r == 0, to);
  }
}

#if HWY_TARGET == HWY_SCALAR
inline float SumBf16Line(const uint16_t* line, int64_t count) {
  float sum = 0;
  for (int64_t i = 0; i < count; ++i) {
    const uint32_t bits = static_cast<uint32_t>(line[i]) << 16;
    float number;
    std::memcpy(&number, &bits, sizeof(bits));
    sum += number;
  }
  return sum;
}
#else
// A 32-bit word holds two numbers, each of which is the upper half of a float.
inline float SumBf16Line(const uint16_t* line, int64_t count) {
  const hn::ScalableTag<float> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  const hn::Repartition<uint16_t, decltype(d)> dh;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(dh));
  const auto upper = hn::Set(du, 0xFFFF0000u);
  const auto add = [&](auto numbers, auto& evens, auto& odds) {
    const auto words = hn::BitCast(du, numbers);
    evens = hn::Add(evens, hn::BitCast(d, hn::ShiftLeft<16>(words)));
    odds = hn::Add(odds, hn::BitCast(d, hn::And(words, upper)));
  };
  auto s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
  int64_t i = 0;
  for (; i + 2 * lanes <= count; i += 2 * lanes) {
    add(hn::LoadU(dh, line + i), s0, s1);
    add(hn::LoadU(dh, line + i + lanes), s2, s3);
  }
  if (i + lanes <= count) {
    add(hn::LoadU(dh, line + i), s0, s1);
    i += lanes;
  }
  if (i < count) {
    add(cv::LoadFirst(dh, line + i, static_cast<size_t>(count - i)), s2, s3);
  }
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(s0, s1), hn::Add(s2, s3))));
}
#endif
