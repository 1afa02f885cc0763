// SPDX-License-Identifier: Apache-2.0
// The kernels that exchange rows and columns, to be included inside a namespace and under the compiler options of an
// instruction set.

#if HWY_TARGET == HWY_SCALAR
inline void Interleave4(const float* const lines[4], int64_t count, int64_t stride, float* HWY_RESTRICT to) {
  for (int64_t i = 0; i < count; ++i) {
    for (int r = 0; r < 4; ++r) to[i * stride + r] = lines[r][i];
  }
}
#else
inline void Interleave4(const float* const lines[4], int64_t count, int64_t stride, float* HWY_RESTRICT to) {
  const hn::ScalableTag<float> d;
  constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(d));
  HWY_ALIGN float columns[4][kLanes];
  for (int64_t i = 0; i < count; i += kLanes) {
    auto r0 = hn::LoadU(d, lines[0] + i), r1 = hn::LoadU(d, lines[1] + i);
    auto r2 = hn::LoadU(d, lines[2] + i), r3 = hn::LoadU(d, lines[3] + i);
    TransposeBlocks(d, r0, r1, r2, r3);
    hn::Store(r0, d, columns[0]);
    hn::Store(r1, d, columns[1]);
    hn::Store(r2, d, columns[2]);
    hn::Store(r3, d, columns[3]);
    const int64_t rest = HWY_MIN(kLanes, count - i);
    if (rest == kLanes) {
#pragma GCC unroll 16
      for (int64_t j = 0; j < kLanes; ++j) std::memcpy(to + j * stride, &columns[j % 4][j / 4 * 4], 16);
    } else {
      for (int64_t j = 0; j < rest; ++j) std::memcpy(to + j * stride, &columns[j % 4][j / 4 * 4], 16);
    }
    to += kLanes * stride;
  }
}

#endif

template <Form kForm>
void TransposeByElements(const cv::FormElement<kForm>* HWY_RESTRICT from, int64_t step, int64_t rows, int64_t columns,
                         float* HWY_RESTRICT to, const int64_t* HWY_RESTRICT column_offsets) {
  const hn::CappedTag<float, 1> d;
  for (int64_t j = 0; j < columns; ++j) {
    for (int64_t i = 0; i < rows; ++i) {
      hn::StoreU(cv::LoadForm<kForm>(d, from + i * step + j), d, to + column_offsets[j] + i);
    }
  }
}

#if HWY_TARGET == HWY_SCALAR
template <Form kForm>
void Transpose(const void* from, int64_t step, int64_t rows, int64_t columns, float* to,
               const int64_t* column_offsets) {
  const auto* elements = static_cast<const cv::FormElement<kForm>*>(from);
  TransposeByElements<kForm>(elements, step, rows, columns, to, column_offsets);
}
#else
// The second half of TransposeSquare: vector 4g + j, whose block b is column 4b + j of rows 4g..4g+3, becomes a column.
template <class D, class V = hn::Vec<D> >
HWY_INLINE void ExchangeBlocks(D d, V* HWY_RESTRICT v) {
#if HWY_TARGET <= HWY_AVX3
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) {
    const V low0 = hn::ConcatLowerLower(d, v[8 + j], v[j]), low1 = hn::ConcatLowerLower(d, v[12 + j], v[4 + j]);
    const V high0 = hn::ConcatUpperUpper(d, v[8 + j], v[j]), high1 = hn::ConcatUpperUpper(d, v[12 + j], v[4 + j]);
    v[j] = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(low1), low0);
    v[4 + j] = hn::OddEvenBlocks(low1, hn::SwapAdjacentBlocks(low0));
    v[8 + j] = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(high1), high0);
    v[12 + j] = hn::OddEvenBlocks(high1, hn::SwapAdjacentBlocks(high0));
  }
#elif HWY_TARGET == HWY_AVX2
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) {
    const V low = hn::ConcatLowerLower(d, v[4 + j], v[j]), high = hn::ConcatUpperUpper(d, v[4 + j], v[j]);
    v[j] = low;
    v[4 + j] = high;
  }
#endif
}

// Whether a column begins where the one before it ends.
inline bool FollowOneAnother(const int64_t* offsets, int64_t columns, int64_t rows) {
  bool follow = true;
  for (int64_t j = 1; j < columns; ++j) follow &= offsets[j] - offsets[j - 1] == rows;
  return follow && columns > 0;
}

// kLanes rows become kLanes columns. Arrays of vectors: everything is unrolled and stays in registers.
template <class D, class V = hn::Vec<D> >
HWY_INLINE void TransposeSquare(D d, V* HWY_RESTRICT v) {
  constexpr int kLanes = static_cast<int>(hn::MaxLanes(D()));
  // Within blocks: then vector 4g + j holds, in block b, column 4b + j of rows 4g..4g+3.
#pragma GCC unroll 4
  for (int g = 0; g < kLanes; g += 4) TransposeBlocks(d, v[g], v[g + 1], v[g + 2], v[g + 3]);
  ExchangeBlocks(d, v);
}

template <Form kForm>
void Transpose(const void* HWY_RESTRICT elements, int64_t step, int64_t rows, int64_t columns, float* HWY_RESTRICT to,
               const int64_t* HWY_RESTRICT column_offsets) {
  using Element = cv::FormElement<kForm>;
  const Element* HWY_RESTRICT from = static_cast<const Element*>(elements);
  const hn::ScalableTag<float> d;
  using V = hn::Vec<decltype(d)>;
  constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(d));
  int64_t i = 0;
  // The offsets of small kernels, the phases of a stride: a square of them would be nearly empty.
  if constexpr (TypeOf(kForm) == numerics::DType::kFloat32) {
    const auto store = [&](V v, int column) HWY_ATTR {
      hn::StoreU(cv::RoundVec<RoundingOf(kForm), false>(d, v), d, to + column_offsets[column] + i);
    };
    for (; columns == 3 && step == 3 && i + kLanes <= rows; i += kLanes) {
      V v0, v1, v2;
      hn::LoadInterleaved3(d, from + 3 * i, v0, v1, v2);
      store(v0, 0);
      store(v1, 1);
      store(v2, 2);
    }
    for (; columns == 4 && step == 4 && i + kLanes <= rows; i += kLanes) {
      V v0, v1, v2, v3;
      hn::LoadInterleaved4(d, from + 4 * i, v0, v1, v2, v3);
      store(v0, 0);
      store(v1, 1);
      store(v2, 2);
      store(v3, 3);
    }
  }
  int64_t done = 0;
  // The channels of an image: likewise.
  if (rows >= 2 && rows <= 4 && FollowOneAnother(column_offsets, columns, rows)) {
    float* HWY_RESTRICT first = to + column_offsets[0];
    for (; done + kLanes <= columns; done += kLanes) {
      const auto row = [&](int64_t r) HWY_ATTR { return cv::LoadForm<kForm>(d, from + r * step + done); };
      if (rows == 2) hn::StoreInterleaved2(row(0), row(1), d, first + 2 * done);
      if (rows == 3) hn::StoreInterleaved3(row(0), row(1), row(2), d, first + 3 * done);
      if (rows == 4) hn::StoreInterleaved4(row(0), row(1), row(2), row(3), d, first + 4 * done);
    }
  }
  for (; i < rows; i += kLanes) {
    const int64_t row_count = HWY_MIN(kLanes, rows - i);
    for (int64_t j = done; j < columns; j += kLanes) {
      const int64_t column_count = HWY_MIN(kLanes, columns - j);
      const Element* HWY_RESTRICT corner = from + i * step + j;
      const int64_t* HWY_RESTRICT offsets = column_offsets + j;
      V v[kLanes];
      if (row_count == kLanes && column_count == kLanes) {
        const Element* HWY_RESTRICT row = corner;
#pragma GCC unroll 4
        for (int64_t r = 0; r < kLanes; r += 4, row += 4 * step) {
          __asm__("" : "+r"(row));  // or GCC keeps sixteen addresses, most of them in memory
          v[r] = cv::LoadForm<kForm>(d, row);
          v[r + 1] = cv::LoadForm<kForm>(d, row + step);
          v[r + 2] = cv::LoadForm<kForm>(d, row + 2 * step);
          v[r + 3] = cv::LoadForm<kForm>(d, row + 3 * step);
          std::atomic_signal_fence(std::memory_order_seq_cst);  // or GCC loads them again for each use
          TransposeBlocks(d, v[r], v[r + 1], v[r + 2], v[r + 3]);
        }
        ExchangeBlocks(d, v);
        float* HWY_RESTRICT first = to + i;
#pragma GCC unroll 16
        for (int64_t r = 0; r < kLanes; ++r) hn::StoreU(v[r], d, first + offsets[r]);
        continue;
      }
      if (column_count == 1 || row_count == 1) {  // of planes of 49 pixels
        TransposeByElements<kForm>(corner, step, row_count, column_count, to + i, offsets);
        continue;
      }
#pragma GCC unroll 16
      for (int64_t r = 0; r < kLanes; ++r) {
        v[r] = hn::Zero(d);
        if (r < row_count) v[r] = cv::LoadFormN<kForm>(d, corner + r * step, static_cast<size_t>(column_count));
      }
      TransposeSquare(d, v);
#pragma GCC unroll 16
      for (int64_t r = 0; r < kLanes; ++r) {
        if (r < column_count) cv::StoreFirst(v[r], d, to + offsets[r] + i, static_cast<size_t>(row_count));
      }
    }
  }
}
#endif
