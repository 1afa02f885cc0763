// SPDX-License-Identifier: Apache-2.0
// What overflow gives: chosen for a device, within what the emulated chip can do, and kept by the streams made since.
#include "ascendcl/saturation.h"

#include "acl/acl_rt.h"
#include "ascendcl/boundary.h"
#include "ascendcl/soc.h"
#include "product/product.h"

namespace canopy::ascendcl {
namespace {

aclrtFloatOverflowMode DefaultMode() {
  const product::Product* chip = product::CurrentProduct();
  const bool saturates = chip != nullptr && !chip->inf_nan_mode;
  return saturates ? ACL_RT_OVERFLOW_MODE_SATURATION : ACL_RT_OVERFLOW_MODE_INFNAN;
}

// Only the 2201 architecture has both modes.
base::Status CheckMode(aclrtFloatOverflowMode mode) {
  if (mode != ACL_RT_OVERFLOW_MODE_SATURATION && mode != ACL_RT_OVERFLOW_MODE_INFNAN) {
    return Refuse(ACL_ERROR_RT_PARAM_INVALID, "mode is %d; allowed are SATURATION (0) and INFNAN (1)",
                  static_cast<int>(mode));
  }
  CANOPY_RETURN_IF_ERROR(CheckSoc());
  const product::Product& chip = *product::CurrentProduct();
  if (chip.arch == product::Arch::k2201 || mode == DefaultMode()) return base::Status();
  return Refuse(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "mode is %d; %s has only mode %d", static_cast<int>(mode),
                chip.soc_name, static_cast<int>(DefaultMode()));
}

base::Status SetMode(aclrtFloatOverflowMode mode) {
  CANOPY_RETURN_IF_ERROR(CheckMode(mode));
  const RuntimeLock lock(Runtime::Get().mutex);
  Context* context = nullptr;
  CANOPY_RETURN_IF_ERROR(CurrentContext(&context));
  context->device->overflow_mode = mode;
  return base::Status();
}

base::Status GetMode(aclrtFloatOverflowMode* mode) {
  if (mode == nullptr) return RefuseNull("mode");
  const RuntimeLock lock(Runtime::Get().mutex);
  Context* context = nullptr;
  CANOPY_RETURN_IF_ERROR(CurrentContext(&context));
  *mode = context->device->overflow_mode.value_or(DefaultMode());
  return base::Status();
}

}  // namespace

bool Saturates(const Device& device) {
  return device.overflow_mode.value_or(DefaultMode()) == ACL_RT_OVERFLOW_MODE_SATURATION;
}

}  // namespace canopy::ascendcl

namespace ascendcl = canopy::ascendcl;

aclError aclrtSetDeviceSatMode(aclrtFloatOverflowMode mode) {
  return ascendcl::Boundary("aclrtSetDeviceSatMode", [=] { return ascendcl::SetMode(mode); });
}

aclError aclrtGetDeviceSatMode(aclrtFloatOverflowMode* mode) {
  return ascendcl::Boundary("aclrtGetDeviceSatMode", [=] { return ascendcl::GetMode(mode); });
}
