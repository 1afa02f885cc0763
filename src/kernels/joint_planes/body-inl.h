// SPDX-License-Identifier: Apache-2.0
// Compiled once per target.
#if defined(CANOPY_KERNELS_JOINT_PLANES_BODY_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CANOPY_KERNELS_JOINT_PLANES_BODY_INL_H_
#undef CANOPY_KERNELS_JOINT_PLANES_BODY_INL_H_
#else
#define CANOPY_KERNELS_JOINT_PLANES_BODY_INL_H_
#endif

#include <hwy/highway.h>

#include <type_traits>

#include "kernels/ask.h"
#include "kernels/joint_planes/contract.h"
#include "kernels/joint_planes/doubled-inl.h"
#include "kernels/joint_planes/folded-inl.h"
#include "kernels/joint_planes/narrow-inl.h"
#include "kernels/joint_planes/pairs-inl.h"
#include "kernels/joint_planes/rolling-inl.h"
#include "kernels/joint_planes/taps-inl.h"

HWY_BEFORE_NAMESPACE();
namespace canopy::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <Form kForm, int kRows, int kColumns, bool kData, bool kWeights, bool kBefore, bool kTails>
void JointPlanesOf(const JointCall& call) {
  using Element = cv::FormElement<kForm>;
  using Taps = JointTaps<kForm, kRows, kColumns, kData, kWeights>;
  constexpr int64_t kLineBytes = 64;
  const JointTag d;
  constexpr int64_t kBytes = static_cast<int64_t>(sizeof(Element));
  const int64_t last_lanes = kTails ? call.last_lanes : 0, x_row = call.x.row / kBytes;
  const int64_t g_row = call.g.row / static_cast<int64_t>(sizeof(float));
  const int64_t before_row = call.before.row, to_row = call.result.row / kBytes;
  const int64_t whole = (call.vectors - (last_lanes > 0 ? 1 : 0)) * kJointLanes;
  const int64_t step0 = call.ahead[0].step, step1 = call.ahead[1].step, step2 = call.ahead[2].step;
  // With several rows at once other addresses are worth more to keep than these, which are then loaded.
  constexpr bool kKeepSteps = Taps::kAtOnce == 1;
  for (int64_t n = 0; n < call.planes; ++n) {
    Taps taps(call, n);
    const float* g = reinterpret_cast<const float*>(call.g.first + n * call.g.plane);
    const float* before = kBefore ? call.before.first + n * call.before.plane : g;
    const Element* x = reinterpret_cast<const Element*>(call.x.first + n * call.x.plane);
    Element* to = reinterpret_cast<Element*>(call.result.first + n * call.result.plane);
    const char *ahead0 = call.ahead[0].Of(n, call.distance, call.planes),
               *ahead1 = call.ahead[1].Of(n, call.distance, call.planes),
               *ahead2 = call.ahead[2].Of(n, call.distance, call.planes);
    // One vector of each of some rows, or what the last ones have.
    const auto add = [&](auto count, auto last, int64_t i) CANOPY_JOINT_LAMBDA {
      constexpr int kCount = count;
      JointVec source[kCount], result[kCount];
      JointEach<kCount>([&](auto y) CANOPY_JOINT_LAMBDA {
        JointAsk<kData>(ahead0 + y * kLineBytes);
        if constexpr (kWeights) JointAsk<kData>(ahead1 + y * kLineBytes);
        if constexpr (kData) AskToWrite(ahead2 + y * kLineBytes);
        source[y] = hn::Zero(d);
        if constexpr (kWeights) source[y] = JointLoad<kForm, kData>(last, x + y * x_row + i, last_lanes);
        result[y] = kBefore ? hn::LoadU(d, before + y * before_row + i) : hn::Zero(d);
      });
      ahead0 += kCount * (kKeepSteps ? step0 : call.ahead[0].step);
      ahead1 += kCount * (kKeepSteps ? step1 : call.ahead[1].step);
      ahead2 += kCount * (kKeepSteps ? step2 : call.ahead[2].step);
      taps.template Add<kCount>(g + i, g_row, source, result);
      JointEach<(kData ? kCount : 0)>([&](auto y) CANOPY_JOINT_LAMBDA {
        JointStore<kForm, kWeights>(last, result[y], to + y * to_row + i, last_lanes);
      });
    };
    int64_t left = call.rows;
    const auto add_rows = [&](auto count) CANOPY_JOINT_LAMBDA {
      for (; left >= count; left -= count) {
        for (int64_t i = 0; i < whole; i += kJointLanes) add(count, std::false_type(), i);
        if constexpr (kTails) {
          if (last_lanes > 0) add(count, std::true_type(), whole);
        }
        g += count * g_row;
        x += count * x_row;
        before += count * before_row;
        to += count * to_row;
      }
    };
    if constexpr (Taps::kAtOnce >= 4) add_rows(std::integral_constant<int, 4>());
    if constexpr (Taps::kAtOnce >= 2) add_rows(std::integral_constant<int, 2>());
    add_rows(std::integral_constant<int, 1>());
    if constexpr (kWeights) taps.StoreSums(call, n);
  }
}

template <Form kForm, int kRows, int kColumns, bool kData, bool kWeights, bool kTails>
void JointTailedPlane(const JointCall& call) {
  if constexpr (kData && !kJointHalf<kForm>) {
    if (call.before.first != nullptr) return JointPlanesOf<kForm, kRows, kColumns, kData, kWeights, true, kTails>(call);
  }
  JointPlanesOf<kForm, kRows, kColumns, kData, kWeights, false, kTails>(call);
}

template <Form kForm, int kRows, int kColumns, bool kData, bool kWeights>
void JointPlane(const JointCall& call) {
  if constexpr (kJointTailsApart) {
    if (call.last_lanes == 0) return JointTailedPlane<kForm, kRows, kColumns, kData, kWeights, false>(call);
  }
  JointTailedPlane<kForm, kRows, kColumns, kData, kWeights, kJointTails>(call);
}

// ---- the list ------------------------------------------------------------------------------------------------------

template <Form kForm, int kRows, int kColumns, JointResults kWhat>
void FillJointResults(JointKernels* kernels) {
  constexpr bool kData = kWhat != kJointWeights, kWeights = kWhat != kJointData;
  constexpr bool kSmall = kRows <= kMostHalfOffsets && kColumns <= kMostHalfOffsets;
  // The lists name what fits of one FP32 gradient. Both at once are faster than one by one with a spare register alone.
  constexpr bool kFloat = kForm == Form::kFloat32, kListed = kFloat && (kWhat != kJointBoth || kJointScalar);
  constexpr bool kFits = JointFits(kRows, kColumns, 1, kData, kWeights, kFloat ? 1 : JointSpare(kForm, kData));
  constexpr bool kRead = kWeights || RoundingOf(kForm) == numerics::InputRounding::kNone;
  if constexpr (kRead && (kListed || kFits) && (kSmall || !kJointHalf<kForm>)) {
    kernels->kernels[kWhat][kRows][kColumns] = &JointPlane<kForm, kRows, kColumns, kData, kWeights>;
  }
  kernels->at_once[kWhat][kRows][kColumns] =
      JointRowsAtOnce(kRows, kColumns, kData, kWeights, JointSpare(kForm, kData));
}

template <Form kForm, int kRows, int kColumns>
void FillJointColumns(JointKernels* kernels) {
  FillJointResults<kForm, kRows, kColumns, kJointBoth>(kernels);
  FillJointResults<kForm, kRows, kColumns, kJointData>(kernels);
  FillJointResults<kForm, kRows, kColumns, kJointWeights>(kernels);
  kernels->most_columns[kRows] = HWY_MAX(kernels->most_columns[kRows], kColumns);
  if constexpr (kColumns > 1) FillJointColumns<kForm, kRows, kColumns - 1>(kernels);
}

template <Form kForm>
const JointKernels& JointPlanesOfTarget() {
  static const struct Table {
    JointKernels kernels{};
    Table() {
      kernels.lanes = static_cast<int>(kJointLanes);
      kernels.tails = kJointTails;
      kernels.shifts = kJointShifts;
      FillJointPairs<kForm, kJointHalf<kForm> ? kMostHalfPairRows : kMostJointPairRows>(&kernels);
      FillJointNarrow<kForm>(&kernels);
      FillJointDoubled<kForm>(&kernels);
      FillJointFolded<kForm>(&kernels);
      FillJointRolling<kForm>(&kernels);
      kernels.target = hwy::TargetName(HWY_TARGET);
#define CANOPY_JOINT_PLANES(registers, rows, columns) \
  if constexpr (registers == CANOPY_VECTOR_REGISTERS) FillJointColumns<kForm, rows, columns>(&kernels);
#include "kernels/joint_planes/kernels.inc"
#undef CANOPY_JOINT_PLANES
    }
  } table;
  return table.kernels;
}

}  // namespace HWY_NAMESPACE
}  // namespace canopy::kernels
HWY_AFTER_NAMESPACE();

#endif  // CANOPY_KERNELS_JOINT_PLANES_BODY_INL_H_
