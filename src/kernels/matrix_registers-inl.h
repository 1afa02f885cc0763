// SPDX-License-Identifier: Apache-2.0
// A matrix unit's instructions, and how a block of rows is brought into the order that it reads: to be included inside
// a namespace and under the compiler options of the unit.

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

// Calls what(0), what(1), ... with constants: which register is part of an instruction.
template <int kCount, class What>
void ForEach(const What& what) {
  [&]<int... kIndex>(std::integer_sequence<int, kIndex...>) { (what(std::integral_constant<int, kIndex>()), ...); }
  (std::make_integer_sequence<int, kCount>());
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
__attribute__((always_inline)) inline void Transpose(const float* from, int64_t step, float* to) {
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
