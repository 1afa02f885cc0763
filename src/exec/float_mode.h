// SPDX-License-Identifier: Apache-2.0
// The floating-point state of one scope of computing: flush-to-zero and denormals-are-zero for the FP32 multiply-adds,
// and otherwise the default, to nearest with no traps, whatever the calling thread has set, since results may not
// depend on it. The caller's state comes back after it, and so do a matrix unit's registers.
#ifndef CANOPY_EXEC_FLOAT_MODE_H_
#define CANOPY_EXEC_FLOAT_MODE_H_

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include <cstdint>

#include "base/matrix_unit.h"

namespace canopy::exec {

class FlushDenormals {
 public:
  FlushDenormals() : saved_(Read()) { Write(kCompute); }
  ~FlushDenormals() {
    base::ReleaseMatrixTiles();
    Write(saved_);
  }
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
#if defined(__x86_64__)
  static constexpr uint64_t kCompute = 0x9FC0;  // MXCSR: all exceptions masked, FTZ and DAZ
  static uint64_t Read() { return _mm_getcsr(); }
  static void Write(uint64_t state) { _mm_setcsr(static_cast<unsigned>(state)); }
#elif defined(__aarch64__)
  static constexpr uint64_t kCompute = uint64_t{1} << 24;  // FPCR.FZ alone
  static uint64_t Read() {
    uint64_t state;
    __asm__ volatile("mrs %0, fpcr" : "=r"(state));
    return state;
  }
  static void Write(uint64_t state) { __asm__ volatile("msr fpcr, %0" : : "r"(state)); }
#else
  static constexpr uint64_t kCompute = 0;
  static uint64_t Read() { return 0; }
  static void Write(uint64_t) {}
#endif
  uint64_t saved_;
};

}  // namespace canopy::exec

#endif  // CANOPY_EXEC_FLOAT_MODE_H_
