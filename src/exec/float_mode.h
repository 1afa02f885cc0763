// SPDX-License-Identifier: Apache-2.0
// Flush-to-zero and denormals-are-zero for the FP32 multiply-adds of one scope; the caller's state comes back after it.
#ifndef CANOPY_EXEC_FLOAT_MODE_H_
#define CANOPY_EXEC_FLOAT_MODE_H_

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include <cstdint>

namespace canopy::exec {

class FlushDenormals {
 public:
  FlushDenormals() : saved_(Read()) { Write(saved_ | kFlush); }
  ~FlushDenormals() { Write(saved_); }
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
#if defined(__x86_64__)
  static constexpr uint64_t kFlush = 0x8040;  // MXCSR bits FTZ and DAZ
  static uint64_t Read() { return _mm_getcsr(); }
  static void Write(uint64_t state) { _mm_setcsr(static_cast<unsigned>(state)); }
#elif defined(__aarch64__)
  static constexpr uint64_t kFlush = uint64_t{1} << 24;  // FPCR.FZ
  static uint64_t Read() {
    uint64_t state;
    __asm__ volatile("mrs %0, fpcr" : "=r"(state));
    return state;
  }
  static void Write(uint64_t state) { __asm__ volatile("msr fpcr, %0" : : "r"(state)); }
#else
  static constexpr uint64_t kFlush = 0;
  static uint64_t Read() { return 0; }
  static void Write(uint64_t) {}
#endif
  uint64_t saved_;
};

}  // namespace canopy::exec

#endif  // CANOPY_EXEC_FLOAT_MODE_H_
