// SPDX-License-Identifier: Apache-2.0
#include "kernels/dispatch.h"

// targets.h before Highway
#include "kernels/targets.h"
//
#include <hwy/highway.h>

namespace canopy::kernels {

namespace {

void Choose(int64_t targets) {
  hwy::SetSupportedTargetsForTest(targets);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

}  // namespace

std::vector<int64_t> MachineTargets() { return hwy::SupportedAndGeneratedTargets(); }

const char* TargetName(int64_t target) { return hwy::TargetName(target); }

ScopedTarget::ScopedTarget(int64_t target) { Choose(target); }

ScopedTarget::~ScopedTarget() { Choose(0); }

}  // namespace canopy::kernels
