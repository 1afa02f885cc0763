// SPDX-License-Identifier: Apache-2.0
// Errors of a tensor against golden values, by the criteria that CANN's operator tests use.
//
// Vendor's names: MERE and MARE are the mean and the maximum of |a - g| / (|g| + 1e-7); "mixed tolerance" asks that 99%
// of the elements lie within atol + rtol * |g| and that no error passes both a cap and 32 ulp. NaN and Inf must stand
// where the golden values have them, and only there; they count in nothing else.
#ifndef CANOPY_TOOLS_COMPARE_H_
#define CANOPY_TOOLS_COMPARE_H_

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "numerics/dtype.h"
#include "tools/case.h"

namespace canopy::tools {

// Thresholds of one type.
struct Criteria {
  const char* name;
  double relative, absolute, cap;                             // mixed tolerance
  double mere;                                                // T; MARE's is ten times as much
  double close_relative, close_absolute, close_bad_fraction;  // "close" comparison
};

// `hf32`: FLOAT that was computed as HFLOAT32 from values that were not rounded to it.
const Criteria& CriteriaOf(numerics::DType dtype, bool hf32);

struct Element {
  int64_t index;  // counts the tensor's logical elements
  double actual;
  double golden;
  double ulps;
};

// Upper ends of the histogram's bins, in ulps; then comes "more", then misplaced NaN and Inf.
inline constexpr std::array<double, 9> kBinEnds = {0, 0.5, 1, 2, 4, 8, 32, 256, 4096};
inline constexpr int kBins = static_cast<int>(kBinEnds.size()) + 2;

struct Errors {
  numerics::DType dtype = numerics::DType::kFloat32;
  int64_t count = 0;
  int64_t exact = 0;          // equal to the golden value rounded once to the type
  int64_t misplaced_nan = 0;  // NaN on one side only
  int64_t misplaced_inf = 0;  // Inf on one side only, or of the other sign
  double norm = 0;            // norm of a - g over norm of g
  double norm_of_terms = 0;   // the same with |g| no smaller than options.term_norms says
  int64_t beyond_cap = 0;     // errors greater than the mixed tolerance\'s cap and than 32 ulp
  double mere = 0;
  double mare = 0;
  double mere_large = 0;  // both over elements with |g| >= 2^-10 of the greatest
  double mare_large = 0;
  double mixed_good = 1;  // fraction within the mixed tolerance
  double max_abs = 0;
  double max_ulps = 0;   // 8-bit types: steps between codes in order of value
  double close_bad = 0;  // fraction beyond the "close" tolerance
  double cosine = 1;
  double tolerance_bad = 0;    // fraction beyond the given tolerance
  std::vector<Element> worst;  // by ulps, worst first
  std::array<int64_t, kBins> histogram{};
};

struct CompareOptions {
  bool hf32 = false;
  bool saturate = false;  // golden values beyond the type's range become its greatest value
  int worst = 5;
  std::optional<Tolerance> tolerance;
  std::vector<double> term_norms;  // of each element, the size it would have were its terms' signs random; or empty
};

// `golden` unrounded; it is rounded to types of 16 and 8 bits first. `indices`: which elements these are; empty: all.
// REQUIRES: actual.size() == golden.size().
Errors Compare(numerics::DType dtype, const std::vector<float>& actual, const std::vector<double>& golden,
               const std::vector<int64_t>& indices, const CompareOptions& options);

// Rounds once, to nearest, whatever the magnitude.
double RoundOnce(double value, numerics::DType dtype, bool saturate);

}  // namespace canopy::tools

#endif  // CANOPY_TOOLS_COMPARE_H_
