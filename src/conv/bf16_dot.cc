// SPDX-License-Identifier: Apache-2.0
#include "conv/bf16_dot.h"

#include <atomic>

#include "kernels/gather_gemm/bf16.h"
#include "kernels/gather_gemm/contract.h"

namespace canopy::conv {
namespace {

using numerics::DType;
using numerics::InputRounding;

struct RecordedRate {
  const char* vendor;
  int family;
  int first_model, last_model;
  double rate;
};

// GFLOP/s of one thread, dot products against FP32 multiply-adds, both from registers.
constexpr RecordedRate kRecordedRates[] = {
    {"AuthenticAMD", 26, 0, 255, 2.0},   // Zen 5: 483 against 241
    {"AuthenticAMD", 25, 0, 255, 2.0},   // Zen 4: 230 against 115; earlier ones have none
    {"GenuineIntel", 6, 143, 143, 0.5},  // Sapphire Rapids: Emerald Rapids' cores
    {"GenuineIntel", 6, 207, 207, 0.5},  // Emerald Rapids: 86 to 93 against 176 to 186
};

// Intel's matrix unit, all models: it does 15 times as many (3300 GFLOP/s against 220), of which bringing operands to
// it leaves this, and less where rows are turned on the way.
constexpr double kMatrixRate = 12, kTurnedMatrixRate = 6;
constexpr double kWorkATurnedWeight = 0.45;

enum class Forced { kNo, kOn, kOff };
std::atomic<Forced> g_forced{Forced::kNo};

// A saturating run turns an Inf that the rule rounds into the greatest number of the format rounded to, and only
// BF16's own is BF16.
bool IsBf16(DType dtype, const numerics::NumericRule& rule) {
  return rule.input_rounding == InputRounding::kBFloat16 ||
         (rule.input_rounding == InputRounding::kNone && dtype == DType::kBFloat16);
}

// Whether there are kernels for such multiplicands, and nobody forbids them.
bool MayDot(DType x, DType y, const numerics::NumericRule& rule) {
  return g_forced.load(std::memory_order_relaxed) != Forced::kOff && IsBf16(x, rule) && IsBf16(y, rule) &&
         kernels::PairGatherTiles().count > 0;
}

}  // namespace

double RecordedBf16DotRate(const base::CpuFacts& cpu) {
  for (const RecordedRate& known : kRecordedRates) {
    if (cpu.vendor == known.vendor && cpu.family == known.family && known.first_model <= cpu.model_number &&
        cpu.model_number <= known.last_model) {
      return known.rate;
    }
  }
  return 0;
}

double Bf16DotRate(DType x, DType y, const numerics::NumericRule& rule, bool scattered_rows) {
  const bool matrices = kernels::MatrixPairTiles().count > 0;
  if (!matrices) return Bf16VectorDotRate(x, y, rule);
  return MayDot(x, y, rule) ? (scattered_rows ? kMatrixRate : kTurnedMatrixRate) : 0;
}

double Bf16VectorDotRate(DType x, DType y, const numerics::NumericRule& rule) {
  if (!MayDot(x, y, rule)) return 0;
  const double rate = RecordedBf16DotRate(base::Cpu());
  if (g_forced.load(std::memory_order_relaxed) == Forced::kOn) return rate > 0 ? rate : 1;
  return rate > 1 ? rate : 0;
}

bool ByMatrixUnit(double dot_rate) { return dot_rate > 0 && kernels::MatrixPairTiles().count > 0; }

double WorkATurnedWeight(double dot_rate) { return ByMatrixUnit(dot_rate) ? kWorkATurnedWeight : 0; }

ScopedBf16Dot::ScopedBf16Dot(bool use) { g_forced = use ? Forced::kOn : Forced::kOff; }

ScopedBf16Dot::~ScopedBf16Dot() { g_forced = Forced::kNo; }

}  // namespace canopy::conv
