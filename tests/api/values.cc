// SPDX-License-Identifier: Apache-2.0
// In C++ every value is a constant, usable in case labels and array bounds: compiling this file is the test.
#include <cstddef>
#include <type_traits>

#include "acl/acl.h"
#include "aclnn/aclnn_base.h"
#include "opdev/op_errno.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

#define CANOPY_VALUE(name, value) \
  static_assert(static_cast<long long>(name) == static_cast<long long>(value), #name " should be " #value);
#include "tests/api/acl_error.inc"
#include "tests/api/acl_error_ge.inc"
#include "tests/api/acl_error_rt.inc"
#include "tests/api/aclnn_status.inc"
#include "tests/api/types.inc"
#undef CANOPY_VALUE

#define CANOPY_TYPE(name, type) static_assert(std::is_same<name, type>::value, #name " should be " #type);
CANOPY_TYPE(aclError, int)
CANOPY_TYPE(aclnnStatus, int32_t)
CANOPY_TYPE(decltype(OK), const aclnnStatus)
CANOPY_TYPE(decltype(ACL_SUCCESS), const int)
CANOPY_TYPE(decltype(ACL_ERROR_GE_PARAM_INVALID), const uint32_t)
CANOPY_TYPE(decltype(ACL_EVENT_SYNC), unsigned)
CANOPY_TYPE(decltype(ACL_STREAM_FAST_LAUNCH), unsigned)
CANOPY_TYPE(decltype(ACL_HOST_REG_PINNED), unsigned long)
CANOPY_TYPE(aclFloat16, uint16_t)
CANOPY_TYPE(aclrtCallback, void (*)(void*))
CANOPY_TYPE(aclrtHostFunc, void (*)(void*))
CANOPY_TYPE(aclrtExceptionInfoCallback, void (*)(aclrtExceptionInfo*))
CANOPY_TYPE(aclrtStream, void*)
CANOPY_TYPE(aclrtEvent, void*)
CANOPY_TYPE(aclrtContext, void*)
CANOPY_TYPE(aclrtNotify, void*)
CANOPY_TYPE(aclrtCntNotify, void*)
CANOPY_TYPE(aclrtLabel, void*)
CANOPY_TYPE(aclrtLabelList, void*)
CANOPY_TYPE(aclrtMbuf, void*)
CANOPY_TYPE(aclrtTaskGrp, void*)
CANOPY_TYPE(aclmdlRITask, void*)
CANOPY_TYPE(aclmdlRI, void*)
CANOPY_TYPE(aclrtAllocator, void*)
CANOPY_TYPE(aclrtAllocatorDesc, void*)
CANOPY_TYPE(aclrtAllocatorBlock, void*)
CANOPY_TYPE(aclrtAllocatorAddr, void*)
CANOPY_TYPE(aclrtDrvMemHandle, void*)
CANOPY_TYPE(aclrtBinary, void*)
CANOPY_TYPE(aclrtBinHandle, void*)
CANOPY_TYPE(aclrtFuncHandle, void*)
CANOPY_TYPE(aclrtArgsHandle, void*)
CANOPY_TYPE(aclrtParamHandle, void*)

// Structs cross the border, so their layout is as binding as any value.
#define CANOPY_FIELD(type, field, offset) \
  static_assert(offsetof(type, field) == (offset), #type "." #field " should be at " #offset);
#define CANOPY_SIZE(type, size) static_assert(sizeof(type) == (size), #type " should have " #size " bytes");
CANOPY_FIELD(aclCANNPackageVersion, version, 0)
CANOPY_FIELD(aclCANNPackageVersion, majorVersion, 128)
CANOPY_FIELD(aclCANNPackageVersion, minorVersion, 192)
CANOPY_FIELD(aclCANNPackageVersion, releaseVersion, 256)
CANOPY_FIELD(aclCANNPackageVersion, patchVersion, 320)
CANOPY_FIELD(aclCANNPackageVersion, reserved, 384)
CANOPY_SIZE(aclCANNPackageVersion, 512)
CANOPY_FIELD(aclrtMemLocation, id, 0)
CANOPY_FIELD(aclrtMemLocation, type, 4)
CANOPY_SIZE(aclrtMemLocation, 8)
CANOPY_FIELD(aclrtMemcpyBatchAttr, dstLoc, 0)
CANOPY_FIELD(aclrtMemcpyBatchAttr, srcLoc, 8)
CANOPY_FIELD(aclrtMemcpyBatchAttr, rsv, 16)
CANOPY_SIZE(aclrtMemcpyBatchAttr, 32)
CANOPY_FIELD(aclrtStreamConfigHandle, workptr, 0)
CANOPY_FIELD(aclrtStreamConfigHandle, workSize, 8)
CANOPY_FIELD(aclrtStreamConfigHandle, flag, 16)
CANOPY_FIELD(aclrtStreamConfigHandle, priority, 24)
CANOPY_SIZE(aclrtStreamConfigHandle, 32)
CANOPY_FIELD(aclrtPtrAttributes, location, 0)
CANOPY_FIELD(aclrtPtrAttributes, pageSize, 8)
CANOPY_FIELD(aclrtPtrAttributes, rsv, 12)
CANOPY_SIZE(aclrtPtrAttributes, 28)
CANOPY_SIZE(aclrtMallocAttrValue, 8)
CANOPY_FIELD(aclrtMallocAttribute, attr, 0)
CANOPY_FIELD(aclrtMallocAttribute, value, 4)
CANOPY_SIZE(aclrtMallocAttribute, 12)
CANOPY_FIELD(aclrtMallocConfig, attrs, 0)
CANOPY_FIELD(aclrtMallocConfig, numAttrs, 8)
CANOPY_FIELD(aclrtMemUsageInfo, name, 0)
CANOPY_FIELD(aclrtMemUsageInfo, curMemSize, 32)
CANOPY_FIELD(aclrtMemUsageInfo, memPeakSize, 40)
CANOPY_FIELD(aclrtMemUsageInfo, reserved, 48)
CANOPY_SIZE(aclrtMemUsageInfo, 112)
CANOPY_FIELD(aclrtUtilizationInfo, cubeUtilization, 0)
CANOPY_FIELD(aclrtUtilizationInfo, vectorUtilization, 4)
CANOPY_FIELD(aclrtUtilizationInfo, aicpuUtilization, 8)
CANOPY_FIELD(aclrtUtilizationInfo, memoryUtilization, 12)
CANOPY_FIELD(aclrtUtilizationInfo, utilizationExtend, 16)
