// SPDX-License-Identifier: Apache-2.0
// Arithmetic on sizes that reports overflow instead of wrapping. Extents come from callers and may be anything.
#ifndef CANOPY_BASE_CHECKED_MATH_H_
#define CANOPY_BASE_CHECKED_MATH_H_

#include <cstdint>

namespace canopy::base {

// A 64-bit value that remembers whether any step so far overflowed.
class Checked {
 public:
  constexpr Checked(int64_t value) : value_(value) {}  // NOLINT: implicit on purpose, 2 * Checked(x) reads well

  constexpr bool ok() const { return ok_; }
  // REQUIRES: ok().
  constexpr int64_t value() const { return value_; }

  friend constexpr Checked operator+(Checked a, Checked b) {
    Checked r(0);
    r.ok_ = !__builtin_add_overflow(a.value_, b.value_, &r.value_) && a.ok_ && b.ok_;
    return r;
  }
  friend constexpr Checked operator-(Checked a, Checked b) {
    Checked r(0);
    r.ok_ = !__builtin_sub_overflow(a.value_, b.value_, &r.value_) && a.ok_ && b.ok_;
    return r;
  }
  friend constexpr Checked operator*(Checked a, Checked b) {
    Checked r(0);
    r.ok_ = !__builtin_mul_overflow(a.value_, b.value_, &r.value_) && a.ok_ && b.ok_;
    return r;
  }

 private:
  int64_t value_;
  bool ok_ = true;
};

// REQUIRES: b > 0, a >= 0.
constexpr int64_t CeilDiv(int64_t a, int64_t b) { return b == 1 ? a : a / b + (a % b != 0 ? 1 : 0); }
constexpr int64_t RoundUp(int64_t a, int64_t b) { return CeilDiv(a, b) * b; }

// The size of the fewest parts alike of at most `most`, or of one; 1 for nothing. REQUIRES: count >= 0.
constexpr int64_t PartSize(int64_t count, int64_t most) {
  if (most < 1) most = 1;
  if (count <= most) return count == 0 ? 1 : count;
  return CeilDiv(count, CeilDiv(count, most));
}

}  // namespace canopy::base

#endif  // CANOPY_BASE_CHECKED_MATH_H_
