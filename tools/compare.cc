// SPDX-License-Identifier: Apache-2.0
#include "tools/compare.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "numerics/rounding.h"

namespace canopy::tools {
namespace {

using numerics::DType;

constexpr Criteria kFloat = {"FLOAT", 0x1p-10, 0x1p-16, 1e-2, 0x1p-13, 1e-4, 1e-8, 1e-4};
constexpr Criteria kFloat16 = {"FLOAT16", 0x1p-9, 0x1p-9, 1e-1, 0x1p-10, 1e-3, 1e-8, 1e-3};
constexpr Criteria kBf16 = {"BF16", 0x1p-6, 0x1p-6, 1e0, 0x1p-7, 1e-3, 1e-8, 1e-3};
constexpr Criteria kHf32 = {"HF32", 0x1p-9, 0x1p-10, 1e-1, 0x1p-11, 1e-4, 1e-8, 1e-4};
constexpr Criteria kFloat8 = {"8-bit", 0x1p-2, 0x1p-4, 1e0, 0x1p-3, 1e-3, 1e-8, 1e-3};

// Spacing of a type's values around `value`: mantissa bits and the least normal exponent say it.
double UlpOf(double value, DType dtype) {
  const int mantissa = dtype == DType::kFloat32 ? 23 : dtype == DType::kFloat16 ? 10 : 7;
  const int least = dtype == DType::kFloat16 ? -14 : -126;
  const int exponent = value == 0 ? least : std::max(std::ilogb(value), least);
  return std::ldexp(1.0, exponent - mantissa);
}

// Every value of an 8-bit type in order, for counting steps between codes.
const std::vector<float>& SortedCodes(DType dtype) {
  const auto make = [](DType type) {
    std::vector<float> values;
    for (int code = 0; code < 256; ++code) {
      const uint32_t element = static_cast<uint32_t>(code);
      const float value = numerics::LoadElement(&element, type);
      if (!std::isnan(value)) values.push_back(value);
    }
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
    return values;
  };
  static const std::vector<float> hifloat8 = make(DType::kHiFloat8);
  static const std::vector<float> float8 = make(DType::kFloat8E4M3);
  return dtype == DType::kHiFloat8 ? hifloat8 : float8;
}

double UlpsBetween(double actual, double golden, DType dtype) {
  if (actual == golden) return 0;
  if (numerics::ElementBytes(dtype) > 1) return std::abs(actual - golden) / UlpOf(golden, dtype);
  const std::vector<float>& codes = SortedCodes(dtype);
  const auto rank = [&](double value) {
    return std::lower_bound(codes.begin(), codes.end(), static_cast<float>(value)) - codes.begin();
  };
  return static_cast<double>(std::abs(rank(actual) - rank(golden)));
}

// A result that FP32 sums may put on either side of the overflow threshold: one side has Inf, the other the greatest
// value, and the unrounded golden value is that close to it.
bool AtThreshold(double actual, double rounded, double golden, DType dtype, bool saturate) {
  if (std::isinf(actual) == std::isinf(rounded) || std::signbit(actual) != std::signbit(rounded)) return false;
  const double nudge = golden * 0x1p-14;
  return RoundOnce(golden + nudge, dtype, saturate) == actual || RoundOnce(golden - nudge, dtype, saturate) == actual;
}

int BinOf(double ulps) {
  return static_cast<int>(std::lower_bound(kBinEnds.begin(), kBinEnds.end(), ulps) - kBinEnds.begin());
}

double Ratio(double part, double whole) {
  if (part == 0) return 0;
  return whole == 0 ? INFINITY : part / whole;
}

void KeepWorst(const Element& element, size_t limit, std::vector<Element>* worst) {
  if (limit == 0 || (worst->size() == limit && worst->back().ulps >= element.ulps)) return;
  const auto place = std::upper_bound(worst->begin(), worst->end(), element,
                                      [](const Element& a, const Element& b) { return a.ulps > b.ulps; });
  worst->insert(place, element);
  if (worst->size() > limit) worst->pop_back();
}

}  // namespace

const Criteria& CriteriaOf(DType dtype, bool hf32) {
  switch (dtype) {
    case DType::kFloat32:
      return hf32 ? kHf32 : kFloat;
    case DType::kFloat16:
      return kFloat16;
    case DType::kBFloat16:
      return kBf16;
    default:
      return kFloat8;
  }
}

double RoundOnce(double value, DType dtype, bool saturate) {
  float narrow = static_cast<float>(value);
  if (dtype != DType::kFloat32 && std::isfinite(value) && std::isfinite(narrow) && narrow != value) {
    // To odd, so that the second rounding decides as if it were the only one: of the two neighbours, the odd pattern.
    uint32_t bits = std::bit_cast<uint32_t>(narrow);
    if ((bits & 1) == 0) bits += std::abs(static_cast<double>(narrow)) > std::abs(value) ? -1 : 1;
    narrow = std::bit_cast<float>(bits);
  }
  uint32_t element = 0;
  numerics::StoreElement(&element, dtype, narrow, saturate);
  return numerics::LoadElement(&element, dtype);
}

Errors Compare(DType dtype, const std::vector<float>& actual, const std::vector<double>& golden,
               const std::vector<int64_t>& indices, const CompareOptions& options) {
  const Criteria& criteria = CriteriaOf(dtype, options.hf32);
  Errors errors;
  errors.dtype = dtype;
  errors.count = static_cast<int64_t>(actual.size());
  double greatest = 0;
  for (const double g : golden) {
    if (std::isfinite(g)) greatest = std::max(greatest, std::abs(g));
  }
  int64_t compared = 0, large = 0, mixed_bad = 0, close_bad = 0, tolerance_bad = 0;
  double error_square = 0, golden_square = 0, scale_square = 0, actual_square = 0, product = 0, relative_sum = 0,
         large_sum = 0;
  for (size_t i = 0; i < actual.size(); ++i) {
    const double a = actual[i];
    const double rounded = RoundOnce(golden[i], dtype, options.saturate);
    const double g =
        dtype == DType::kFloat32 && std::isfinite(golden[i]) && std::isfinite(rounded) ? golden[i] : rounded;
    const int64_t index = indices.empty() ? static_cast<int64_t>(i) : indices[i];
    if (a == rounded || (std::isnan(a) && std::isnan(rounded))) ++errors.exact;
    if (!std::isfinite(a) || !std::isfinite(g)) {
      const bool same = a == g || (std::isnan(a) && std::isnan(g));
      if (same) {
        ++errors.histogram[0];
        continue;
      }
      if (AtThreshold(a, rounded, golden[i], dtype, options.saturate)) continue;
      ++(std::isnan(a) || std::isnan(g) ? errors.misplaced_nan : errors.misplaced_inf);
      ++errors.histogram[kBins - 1];
      KeepWorst({index, a, g, INFINITY}, options.worst, &errors.worst);
      continue;
    }
    ++compared;
    const double error = std::abs(a - g);
    const double relative = error / (std::abs(g) + 1e-7);
    const double ulps = UlpsBetween(a, g, dtype);
    error_square += error * error;
    golden_square += g * g;
    const double scale = options.term_norms.empty() ? 0 : options.term_norms[i];
    scale_square += std::max(g * g, scale * scale);
    actual_square += a * a;
    product += a * g;
    relative_sum += relative;
    errors.mare = std::max(errors.mare, relative);
    if (std::abs(g) >= greatest * 0x1p-10) {
      ++large;
      large_sum += relative;
      errors.mare_large = std::max(errors.mare_large, relative);
    }
    errors.max_abs = std::max(errors.max_abs, error);
    errors.max_ulps = std::max(errors.max_ulps, ulps);
    errors.beyond_cap += error > criteria.cap && ulps > 32 ? 1 : 0;
    mixed_bad += error > criteria.absolute + criteria.relative * std::abs(g) ? 1 : 0;
    close_bad += error > criteria.close_absolute + criteria.close_relative * std::abs(g) ? 1 : 0;
    if (options.tolerance) {
      const double allowed = std::max(options.tolerance->absolute, options.tolerance->relative * std::abs(g));
      tolerance_bad += error > allowed ? 1 : 0;
    }
    ++errors.histogram[BinOf(ulps)];
    if (ulps > 0) KeepWorst({index, a, g, ulps}, options.worst, &errors.worst);
  }
  errors.norm = Ratio(std::sqrt(error_square), std::sqrt(golden_square));
  errors.norm_of_terms = Ratio(std::sqrt(error_square), std::sqrt(scale_square));
  if (compared > 0) {
    errors.mere = relative_sum / static_cast<double>(compared);
    errors.mixed_good = 1 - static_cast<double>(mixed_bad) / static_cast<double>(compared);
    errors.close_bad = static_cast<double>(close_bad) / static_cast<double>(compared);
    errors.tolerance_bad = static_cast<double>(tolerance_bad) / static_cast<double>(compared);
  }
  if (large > 0) errors.mere_large = large_sum / static_cast<double>(large);
  if (actual_square > 0 && golden_square > 0) errors.cosine = product / std::sqrt(actual_square * golden_square);
  if ((actual_square == 0) != (golden_square == 0)) errors.cosine = 0;
  return errors;
}

}  // namespace canopy::tools
