// SPDX-License-Identifier: Apache-2.0
// What this machine can do at this moment: the rate of multiply-adds, of reads for a given footprint, and how far its
// cores are from one another. Bounds come from here, never from a data sheet.
#ifndef CANOPY_BENCH_MACHINE_H_
#define CANOPY_BENCH_MACHINE_H_

#include <vector>

namespace canopy::bench {

// FP32 multiply-adds in registers on `threads` threads at once, for about two milliseconds.
double MeasurePeakGflops(int threads);
// The same for BF16 dot products, 0 where there are none: what peers' 16-bit kernels live on.
double MeasureBf16Gflops(int threads);

// Nanoseconds that a line of memory takes from one of `threads` threads to another and back; 0 for one thread.
// Cores that share a cache need some 80, others several times as many, and everything that threads exchange waits for
// it. Where a hypervisor moves its processors about, either may hold, for seconds.
double MeasureExchangeNs(int threads);

// Bytes a second by footprint, all threads together. A footprint that fits a cache is read from it, so a case's
// bytes are held against the rate of what its tensors fill.
class Bandwidth {
 public:
  struct Point {
    double bytes;
    double gigabytes_per_second;
  };

  static Bandwidth Measure(int threads);
  explicit Bandwidth(std::vector<Point> points) : points_(std::move(points)) {}

  // Between two footprints that were measured, in proportion to the logarithm.
  double At(double bytes) const;
  const std::vector<Point>& points() const { return points_; }

 private:
  std::vector<Point> points_;
};

}  // namespace canopy::bench

#endif  // CANOPY_BENCH_MACHINE_H_
