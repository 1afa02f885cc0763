// SPDX-License-Identifier: Apache-2.0
// What the device can do and what it consists of. The device is this computer; the features are the emulated chip's.
#include <iterator>

#include "acl/acl_rt.h"
#include "ascendcl/allocator.h"
#include "ascendcl/boundary.h"
#include "ascendcl/runtime.h"
#include "ascendcl/soc.h"
#include "base/cpu.h"
#include "product/product.h"

namespace canopy::ascendcl {
namespace {

base::Status GetAttribute(aclCannAttr attribute, int32_t* value) {
  if (value == nullptr) return RefuseNull("value");
  CANOPY_RETURN_IF_ERROR(CheckSoc());
  const product::Arch arch = product::CurrentProduct()->arch;
  // CANN says no BF16 for the 310B, although one of its operators takes it.
  const bool modern = arch == product::Arch::k2201 || arch == product::Arch::k3510;
  switch (attribute) {
    case ACL_CANN_ATTR_INF_NAN:
    case ACL_CANN_ATTR_BF16:
      *value = modern ? 1 : 0;
      return base::Status();
    case ACL_CANN_ATTR_JIT_COMPILE:
      *value = 0;
      return base::Status();
    default:
      return Refuse(ACL_ERROR_INVALID_PARAM, "cannAttr is %d; allowed are 0 to 2 of aclCannAttr",
                    static_cast<int>(attribute));
  }
}

base::Status GetAttributeList(const aclCannAttr** list, size_t* count) {
  if (list == nullptr) return RefuseNull("cannAttrList");
  if (count == nullptr) return RefuseNull("num");
  static constexpr aclCannAttr kModern[] = {ACL_CANN_ATTR_INF_NAN, ACL_CANN_ATTR_BF16};
  int32_t modern = 0;
  CANOPY_RETURN_IF_ERROR(GetAttribute(ACL_CANN_ATTR_INF_NAN, &modern));
  *list = kModern;
  *count = modern != 0 ? std::size(kModern) : 0;
  return base::Status();
}

base::Status GetCapability(uint32_t device_id, aclDeviceInfo info, int64_t* value) {
  if (value == nullptr) return RefuseNull("value");
  if (device_id >= Runtime::Get().devices.size()) {
    return Refuse(ACL_ERROR_INVALID_PARAM, "deviceId is %u; allowed are 0 to %zu", device_id,
                  Runtime::Get().devices.size() - 1);
  }
  switch (info) {
    case ACL_DEVICE_INFO_AI_CORE_NUM:
    case ACL_DEVICE_INFO_VECTOR_CORE_NUM:
      *value = base::DefaultThreadCount();
      return base::Status();
    case ACL_DEVICE_INFO_L2_SIZE:
      *value = base::Cpu().l2_bytes;
      return base::Status();
    default:
      return Refuse(ACL_ERROR_INVALID_PARAM, "deviceInfo is %d; allowed are 0 to 2 of aclDeviceInfo",
                    static_cast<int>(info));
  }
}

base::Status GetDeviceInfo(uint32_t device_id, aclrtDevAttr attribute, int64_t* value) {
  if (value == nullptr) return RefuseNull("value");
  Device* device = nullptr;
  CANOPY_RETURN_IF_ERROR(FindDevice(device_id, &device));
  switch (attribute) {
    case ACL_DEV_ATTR_AICORE_CORE_NUM:
    case ACL_DEV_ATTR_CUBE_CORE_NUM:
    case ACL_DEV_ATTR_VECTOR_CORE_NUM:
      *value = base::DefaultThreadCount();
      return base::Status();
    case ACL_DEV_ATTR_TOTAL_GLOBAL_MEM_SIZE:
      *value = static_cast<int64_t>(ReadMemoryFigures().total_bytes);
      return base::Status();
    case ACL_DEV_ATTR_L2_CACHE_SIZE:
      *value = base::Cpu().l2_bytes;
      return base::Status();
    case ACL_DEV_ATTR_NPU_ARCH:
      CANOPY_RETURN_IF_ERROR(CheckSoc());
      *value = static_cast<int64_t>(product::CurrentProduct()->arch);
      return base::Status();
    case ACL_DEV_ATTR_PHY_CHIP_ID:
      *value = device_id;
      return base::Status();
    case ACL_DEV_ATTR_WARP_SIZE:
    case ACL_DEV_ATTR_AICPU_CORE_NUM:
    case ACL_DEV_ATTR_SMP_ID:
    case ACL_DEV_ATTR_SUPER_POD_DEVICE_ID:
    case ACL_DEV_ATTR_SUPER_POD_SERVER_ID:
    case ACL_DEV_ATTR_SUPER_POD_ID:
    case ACL_DEV_ATTR_CUST_OP_PRIVILEGE:
    case ACL_DEV_ATTR_MAINBOARD_ID:
    case ACL_DEV_ATTR_HD_CONNECT_TYPE:
    case ACL_DEV_ATTR_DEVICE_FORM_FACTOR:
    case ACL_DEV_ATTR_IS_VIRTUAL:
      *value = 0;
      return base::Status();
  }
  return Refuse(ACL_ERROR_INVALID_PARAM, "attr is %d, which is no aclrtDevAttr", static_cast<int>(attribute));
}

}  // namespace
}  // namespace canopy::ascendcl

namespace ascendcl = canopy::ascendcl;

aclError aclGetCannAttributeList(const aclCannAttr** cannAttrList, size_t* num) {
  return ascendcl::Boundary("aclGetCannAttributeList", [=] { return ascendcl::GetAttributeList(cannAttrList, num); });
}

aclError aclGetCannAttribute(aclCannAttr cannAttr, int32_t* value) {
  return ascendcl::Boundary("aclGetCannAttribute", [=] { return ascendcl::GetAttribute(cannAttr, value); });
}

aclError aclGetDeviceCapability(uint32_t deviceId, aclDeviceInfo deviceInfo, int64_t* value) {
  return ascendcl::Boundary("aclGetDeviceCapability",
                            [=] { return ascendcl::GetCapability(deviceId, deviceInfo, value); });
}

aclError aclrtGetDeviceInfo(uint32_t deviceId, aclrtDevAttr attr, int64_t* value) {
  return ascendcl::Boundary("aclrtGetDeviceInfo", [=] { return ascendcl::GetDeviceInfo(deviceId, attr, value); });
}
