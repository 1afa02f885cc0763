// SPDX-License-Identifier: Apache-2.0
// Rows whose elements take turns, or have zeros between them. Included by body-inl.h inside its namespace.

// to[j * rows + i] = from[i * step + j], as the contract says.
inline void InterleaveByElements(const float* HWY_RESTRICT from, int64_t step, int64_t rows, int64_t columns,
                                 float* HWY_RESTRICT to) {
  for (int64_t j = 0; j < columns; ++j) {
    for (int64_t i = 0; i < rows; ++i) to[j * rows + i] = from[i * step + j];
  }
}

#if HWY_TARGET == HWY_SCALAR
inline void Interleave(const float* from, int64_t step, int64_t rows, int64_t columns, float* to) {
  InterleaveByElements(from, step, rows, columns, to);
}
#else
inline void InterleavePairs(const float* HWY_RESTRICT even, const float* HWY_RESTRICT odd, int64_t columns,
                            float* HWY_RESTRICT to) {
  const hn::ScalableTag<float> d;
  constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(d));
  const auto store = [&](int64_t j) {
    hn::StoreInterleaved2(hn::LoadU(d, even + j), hn::LoadU(d, odd + j), d, to + 2 * j);
  };
  int64_t j = 0;
  for (; j + kLanes <= columns; j += kLanes) store(j);
  const int64_t rest = columns - j;
  if (rest == 0) return;
  if (columns >= kLanes) return store(columns - kLanes);  // some of them once more
  HWY_ALIGN float pairs[2 * kLanes];
  const size_t first = static_cast<size_t>(HWY_MIN(kLanes, 2 * rest)), second = static_cast<size_t>(2 * rest) - first;
  const auto load = [&](const float* from) { return cv::LoadFirst(d, from, static_cast<size_t>(rest)); };
  hn::StoreInterleaved2(load(even), load(odd), d, pairs);
  cv::StoreFirst(hn::Load(d, pairs), d, to, first);
  if (second > 0) cv::StoreFirst(hn::Load(d, pairs + kLanes), d, to + kLanes, second);
}

inline void Interleave(const float* HWY_RESTRICT from, int64_t step, int64_t rows, int64_t columns,
                       float* HWY_RESTRICT to) {
  if (rows == 2) return InterleavePairs(from, from + step, columns, to);
  if (rows == 1) return InterleaveByElements(from, step, rows, columns, to);
  constexpr int64_t kColumns = 64;
  int64_t offsets[kColumns];
  for (int64_t i = 0; i < HWY_MIN(kColumns, columns); ++i) offsets[i] = i * rows;
  for (int64_t j = 0; j < columns; j += kColumns) {
    Transpose<Form::kFloat32>(from + j, step, rows, HWY_MIN(kColumns, columns - j), to + j * rows, offsets);
  }
}
#endif

// A row of elements with a 0 behind each, and zeros behind them: a number of 64 bits is an element and its 0. Returns
// how much is written: nothing where an instruction set has no masks.
#if HWY_TARGET == HWY_SCALAR || HWY_MEM_OPS_MIGHT_FAULT
inline int64_t SpreadSeconds(const float*, int64_t, int64_t, bool, float*) { return 0; }
#else
inline int64_t SpreadSeconds(const float* HWY_RESTRICT from, int64_t count, int64_t length, bool streamed,
                             float* HWY_RESTRICT to) {
  const hn::ScalableTag<float> d;
  const hn::RepartitionToWide<hn::RebindToUnsigned<decltype(d)> > dw;
  const hn::Rebind<uint32_t, decltype(dw)> du;
  const hn::Rebind<float, decltype(dw)> dh;
  constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(d)), kHalf = kLanes / 2;
  const auto store = [&](int64_t at, auto elements) {
    const auto spread = hn::BitCast(d, hn::PromoteTo(dw, hn::BitCast(du, elements)));
    if (streamed) {
      hn::Stream(spread, d, to + at);
    } else if (at + kLanes <= length) {
      hn::StoreU(spread, d, to + at);
    } else {
      hn::BlendedStore(spread, hn::FirstN(d, static_cast<size_t>(length - at)), d, to + at);
    }
  };
  int64_t i = 0;
  for (; i + kHalf <= count; i += kHalf) store(2 * i, hn::LoadU(dh, from + i));
  if (i < count) {
    store(2 * i, hn::MaskedLoad(hn::FirstN(dh, static_cast<size_t>(count - i)), dh, from + i));
    i += kHalf;
  }
  for (i *= 2; i < length; i += kLanes) store(i, hn::Zero(dh));
  return length;
}
#endif

inline void Spread(const float* HWY_RESTRICT from, const Spreading& how, bool streamed, float* HWY_RESTRICT to) {
  const int64_t together = how.together, step = how.step;
  for (int64_t r = 0; r < how.rows; ++r, from += how.count, to += how.to_step) {
    const float* coming = to + how.ahead;  // need not be there
    for (int64_t i = 0; how.ahead != 0 && i < how.length; i += kMemoryLineFloats) AskToWrite(coming + i);
    int64_t done = 0;
    if (together == 1 && step == 2) {
      done = SpreadSeconds(from, how.count, how.length, streamed, to);
    } else if (together == step) {
      Interleave(from, how.from_step, together, how.count, to);
      done = together * how.count;
    }
    if (done < how.length) std::memset(to + done, 0, static_cast<size_t>(how.length - done) * sizeof(float));
    if (done > 0) continue;
    for (int64_t k = 0; k < together; ++k) {
      for (int64_t i = 0; i < how.count; ++i) to[i * step + k] = from[k * how.from_step + i];
    }
  }
}
