// SPDX-License-Identifier: Apache-2.0
#include "tools/gates.h"

#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstdio>

namespace canopy::tools {
namespace {

__attribute__((format(printf, 1, 2))) std::string Format(const char* format, ...) {
  char text[200];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof(text), format, arguments);
  va_end(arguments);
  return text;
}

using Faults = std::vector<std::string>;

void AtMost(const char* name, double value, double limit, Faults* faults) {
  if (!(value <= limit)) faults->push_back(Format("%s %.3g > %.3g", name, value, limit));
}

// An 8-bit result may be a step off, but hardly ever.
void JudgeCodes(const Errors& errors, Faults* faults) {
  const int64_t within = errors.histogram[0] + errors.histogram[1] + errors.histogram[2];
  const double fraction = errors.count == 0 ? 1 : static_cast<double>(within) / static_cast<double>(errors.count);
  if (fraction < 0.999) faults->push_back(Format("only %.4g%% within one code", 100 * fraction));
}

}  // namespace

std::vector<std::string> Judge(const Errors& errors, const Gate& gate, bool hf32) {
  Faults faults;
  if (errors.misplaced_nan > 0)
    faults.push_back(Format("%lld misplaced NaN", static_cast<long long>(errors.misplaced_nan)));
  if (errors.misplaced_inf > 0)
    faults.push_back(Format("%lld misplaced Inf", static_cast<long long>(errors.misplaced_inf)));
  if (gate.exact) {
    if (errors.exact != errors.count) {
      faults.push_back(Format("%lld of %lld elements not bit-exact",
                              static_cast<long long>(errors.count - errors.exact),
                              static_cast<long long>(errors.count)));
    }
    return faults;
  }
  if (gate.tolerance) {
    AtMost("fraction beyond the case's tolerance", errors.tolerance_bad, gate.tolerance->bad_fraction, &faults);
    return faults;
  }
  if (numerics::ElementBytes(errors.dtype) == 1) {
    JudgeCodes(errors, &faults);
    return faults;
  }
  const Criteria& criteria = CriteriaOf(errors.dtype, hf32);
  if (errors.dtype == numerics::DType::kFloat32 && !hf32)
    AtMost("norm-wise error", errors.norm_of_terms, gate.norm, &faults);
  if (errors.mixed_good < 0.99) faults.push_back(Format("mixed tolerance %.4g%% < 99%%", 100 * errors.mixed_good));
  if (errors.beyond_cap > 0) {
    faults.push_back(
        Format("%lld errors beyond %.3g and 32 ulp", static_cast<long long>(errors.beyond_cap), criteria.cap));
  }
  // Over all elements a single one that cancels to nearly zero can decide MERE, in about one good output of 300,
  // however many elements there are: the chance that one of them is so small grows as its share of the mean shrinks.
  AtMost("MERE of large elements", errors.mere_large, criteria.mere, &faults);
  AtMost("MARE of large elements", errors.mare_large, 10 * criteria.mere, &faults);
  if (gate.close) AtMost("fraction not close", errors.close_bad, criteria.close_bad_fraction, &faults);
  return faults;
}

bool NarrowData(const Case& a_case) {
  for (const CallTensor tensor : {CallTensor::kGradOutput, CallTensor::kInput, CallTensor::kWeight}) {
    const TensorSpec& spec = a_case.tensor(tensor);
    const DataSpec& data = spec.data;
    if (!spec.present) continue;
    if (data.kind != DataSpec::Kind::kUniform || !(std::abs(data.low) <= 0.1) || !(std::abs(data.high) <= 0.1))
      return false;
  }
  return true;
}

}  // namespace canopy::tools
