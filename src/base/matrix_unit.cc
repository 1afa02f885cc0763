// SPDX-License-Identifier: Apache-2.0
#include "base/matrix_unit.h"

#include <cstring>

#if defined(__x86_64__) && defined(__linux__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace canopy::base {
namespace {

constexpr unsigned kHasBf16Tiles = 1u << 22, kHasTiles = 1u << 24;  // CPUID leaf 7, EDX
constexpr int kRequestPermission = 0x1023, kTileData = 18;          // arch_prctl(2), Linux 5.16

thread_local bool t_used = false;

bool Ask() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned kNeeded = kHasBf16Tiles | kHasTiles;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0 || (d & kNeeded) != kNeeded) return false;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

}  // namespace

bool MatrixUnit() {
  static const bool lent = Ask();
  return lent;
}

// To configure takes seven times as long as to look.
void UseMatrixTiles(const MatrixTileShapes& shapes) {
  MatrixTileShapes now;
  asm volatile("sttilecfg %0" : "=m"(now));
  if (std::memcmp(&now, &shapes, sizeof(now)) == 0) return;
  asm volatile("ldtilecfg %0" : : "m"(shapes));
  t_used = true;
}

void ReleaseMatrixTiles() {
  if (!t_used) return;
  asm volatile("tilerelease");
  t_used = false;
}

}  // namespace canopy::base

#else

namespace canopy::base {

bool MatrixUnit() { return false; }
void UseMatrixTiles(const MatrixTileShapes&) {}
void ReleaseMatrixTiles() {}

}  // namespace canopy::base

#endif
