// SPDX-License-Identifier: Apache-2.0
// The runtime: initialisation, devices, contexts, streams, events, memory.
//
// Device memory is host memory here: both kinds of address work everywhere, and nothing is ever copied to be computed.
// A stream is an in-order asynchronous queue: calls that queue work return at once, and a failure of queued work is
// what the stream's next synchronise call returns. The current device and context belong to a thread; streams, events
// and memory may be used from any thread whose current context is theirs. A null stream is the default stream of the
// thread's current context, except where noted.
//
// Codes that many functions share: 100000 null argument or bad enum value, 107000 bad value, 107001 no such device,
// 107002 the thread has no current context (call aclrtSetDevice), 107003 stream of another context, 107017 a handle
// that is stale, destroyed or none of this library's, 207001 out of memory.
#ifndef CANOPY_ACL_ACL_RT_H_
#define CANOPY_ACL_ACL_RT_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "acl_base.h"
#include "acl_rt_allocator.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ACL_MAJOR_VERSION 1
#define ACL_MINOR_VERSION 17
#define ACL_PATCH_VERSION 0

#define ACL_EVENT_SYNC 0x00000001U
#define ACL_EVENT_CAPTURE_STREAM_PROGRESS 0x00000002U
#define ACL_EVENT_TIME_LINE 0x00000008U
#define ACL_EVENT_DEVICE_USE_ONLY 0x00000010U
#define ACL_EVENT_EXTERNAL 0x00000020U
#define ACL_EVENT_IPC 0x00000040U

#define ACL_STREAM_FAST_LAUNCH 0x00000001U
#define ACL_STREAM_FAST_SYNC 0x00000002U
#define ACL_STREAM_PERSISTENT 0x00000004U
#define ACL_STREAM_HUGE 0x00000008U
#define ACL_STREAM_CPU_SCHEDULE 0x00000010U
#define ACL_STREAM_DEVICE_USE_ONLY 0x00000020U

#define ACL_CONTINUE_ON_FAILURE 0x00000000U
#define ACL_STOP_ON_FAILURE 0x00000001U

#define ACL_EVENT_RECORD_DEFAULT 0x00000000U
#define ACL_EVENT_RECORD_EXTERNAL 0x00000001U
#define ACL_EVENT_WAIT_DEFAULT 0x00000000U
#define ACL_EVENT_WAIT_EXTERNAL 0x00000001U

#define ACL_HOST_REG_MAPPED 0x2UL
#define ACL_HOST_REG_IOMEMORY 0x4UL
#define ACL_HOST_REG_READONLY 0x8UL
#define ACL_HOST_REG_PINNED 0x10000000UL

#define ACL_RT_MEM_ATTACH_GLOBAL 0x01U

#define ACL_PKG_VERSION_MAX_SIZE 128
#define ACL_PKG_VERSION_PARTS_MAX_SIZE 64

typedef enum aclrtRunMode { ACL_DEVICE = 0, ACL_HOST = 1 } aclrtRunMode;

typedef enum aclrtTsId { ACL_TS_ID_AICORE = 0, ACL_TS_ID_AIVECTOR = 1, ACL_TS_ID_RESERVED = 2 } aclrtTsId;

typedef enum aclrtEventStatus {
  ACL_EVENT_STATUS_COMPLETE = 0,
  ACL_EVENT_STATUS_NOT_READY = 1,
  ACL_EVENT_STATUS_RESERVED = 2
} aclrtEventStatus;

typedef enum aclrtEventRecordedStatus {
  ACL_EVENT_RECORDED_STATUS_NOT_READY = 0,
  ACL_EVENT_RECORDED_STATUS_COMPLETE = 1
} aclrtEventRecordedStatus;

typedef enum aclrtEventWaitStatus {
  ACL_EVENT_WAIT_STATUS_COMPLETE = 0,
  ACL_EVENT_WAIT_STATUS_NOT_READY = 1,
  ACL_EVENT_WAIT_STATUS_RESERVED = 0xFFFF
} aclrtEventWaitStatus;

typedef enum aclrtStreamStatus {
  ACL_STREAM_STATUS_COMPLETE = 0,
  ACL_STREAM_STATUS_NOT_READY = 1,
  ACL_STREAM_STATUS_RESERVED = 0xFFFF
} aclrtStreamStatus;

typedef enum aclrtCallbackBlockType { ACL_CALLBACK_NO_BLOCK = 0, ACL_CALLBACK_BLOCK = 1 } aclrtCallbackBlockType;

typedef enum aclrtMemcpyKind {
  ACL_MEMCPY_HOST_TO_HOST = 0,
  ACL_MEMCPY_HOST_TO_DEVICE = 1,
  ACL_MEMCPY_DEVICE_TO_HOST = 2,
  ACL_MEMCPY_DEVICE_TO_DEVICE = 3,
  ACL_MEMCPY_DEFAULT = 4,
  ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE = 5,
  ACL_MEMCPY_INNER_DEVICE_TO_DEVICE = 6,
  ACL_MEMCPY_INTER_DEVICE_TO_DEVICE = 7
} aclrtMemcpyKind;

typedef enum aclrtMemMallocPolicy {
  ACL_MEM_MALLOC_HUGE_FIRST = 0,
  ACL_MEM_MALLOC_HUGE_ONLY = 1,
  ACL_MEM_MALLOC_NORMAL_ONLY = 2,
  ACL_MEM_MALLOC_HUGE_FIRST_P2P = 3,
  ACL_MEM_MALLOC_HUGE_ONLY_P2P = 4,
  ACL_MEM_MALLOC_NORMAL_ONLY_P2P = 5,
  ACL_MEM_MALLOC_HUGE1G_ONLY = 6,
  ACL_MEM_MALLOC_HUGE1G_ONLY_P2P = 7,
  ACL_MEM_TYPE_LOW_BAND_WIDTH = 0x0100,
  ACL_MEM_TYPE_HIGH_BAND_WIDTH = 0x1000,
  ACL_MEM_ACCESS_USER_SPACE_READONLY = 0x100000
} aclrtMemMallocPolicy;

typedef enum aclrtMemAttr {
  ACL_DDR_MEM = 0,
  ACL_HBM_MEM = 1,
  ACL_DDR_MEM_HUGE = 2,
  ACL_DDR_MEM_NORMAL = 3,
  ACL_HBM_MEM_HUGE = 4,
  ACL_HBM_MEM_NORMAL = 5,
  ACL_DDR_MEM_P2P_HUGE = 6,
  ACL_DDR_MEM_P2P_NORMAL = 7,
  ACL_HBM_MEM_P2P_HUGE = 8,
  ACL_HBM_MEM_P2P_NORMAL = 9,
  ACL_HBM_MEM_HUGE1G = 10,
  ACL_HBM_MEM_P2P_HUGE1G = 11,
  ACL_MEM_NORMAL = 12,
  ACL_MEM_HUGE = 13,
  ACL_MEM_HUGE1G = 14,
  ACL_MEM_P2P_NORMAL = 15,
  ACL_MEM_P2P_HUGE = 16,
  ACL_MEM_P2P_HUGE1G = 17
} aclrtMemAttr;

typedef enum aclrtMemLocationType {
  ACL_MEM_LOCATION_TYPE_HOST = 0,
  ACL_MEM_LOCATION_TYPE_DEVICE = 1,
  ACL_MEM_LOCATION_TYPE_UNREGISTERED = 2,
  ACL_MEM_LOCATION_TYPE_MANAGED = 3,
  ACL_MEM_LOCATION_TYPE_HOST_NUMA = 4
} aclrtMemLocationType;

typedef enum aclrtHostRegisterType {
  ACL_HOST_REGISTER_MAPPED = 0,
  ACL_HOST_REGISTER_IOMEMORY = 4,
  ACL_HOST_REGISTER_READONLY = 8
} aclrtHostRegisterType;

typedef enum aclrtFloatOverflowMode {
  ACL_RT_OVERFLOW_MODE_SATURATION = 0,
  ACL_RT_OVERFLOW_MODE_INFNAN = 1,
  ACL_RT_OVERFLOW_MODE_UNDEF = 2
} aclrtFloatOverflowMode;

typedef enum aclrtLastErrLevel { ACL_RT_THREAD_LEVEL = 0 } aclrtLastErrLevel;

typedef enum aclrtDevAttr {
  ACL_DEV_ATTR_AICPU_CORE_NUM = 1,
  ACL_DEV_ATTR_AICORE_CORE_NUM = 101,
  ACL_DEV_ATTR_CUBE_CORE_NUM = 102,
  ACL_DEV_ATTR_VECTOR_CORE_NUM = 201,
  ACL_DEV_ATTR_WARP_SIZE = 202,
  ACL_DEV_ATTR_TOTAL_GLOBAL_MEM_SIZE = 301,
  ACL_DEV_ATTR_L2_CACHE_SIZE = 302,
  ACL_DEV_ATTR_SMP_ID = 401,
  ACL_DEV_ATTR_PHY_CHIP_ID = 402,
  ACL_DEV_ATTR_SUPER_POD_DEVICE_ID = 403,
  ACL_DEV_ATTR_SUPER_POD_SERVER_ID = 404,
  ACL_DEV_ATTR_SUPER_POD_ID = 405,
  ACL_DEV_ATTR_CUST_OP_PRIVILEGE = 406,
  ACL_DEV_ATTR_MAINBOARD_ID = 407,
  ACL_DEV_ATTR_HD_CONNECT_TYPE = 408,
  ACL_DEV_ATTR_DEVICE_FORM_FACTOR = 409,
  ACL_DEV_ATTR_IS_VIRTUAL = 501,
  ACL_DEV_ATTR_NPU_ARCH = 601
} aclrtDevAttr;

typedef enum aclrtDevResLimitType { ACL_RT_DEV_RES_CUBE_CORE = 0, ACL_RT_DEV_RES_VECTOR_CORE = 1 } aclrtDevResLimitType;

typedef enum aclrtDeviceStatus {
  ACL_RT_DEVICE_STATUS_NORMAL = 0,
  ACL_RT_DEVICE_STATUS_ABNORMAL = 1,
  ACL_RT_DEVICE_STATUS_END = 0xFFFF
} aclrtDeviceStatus;

typedef enum aclrtStreamConfigAttr {
  ACL_RT_STREAM_WORK_ADDR_PTR = 0,
  ACL_RT_STREAM_WORK_SIZE = 1,
  ACL_RT_STREAM_FLAG = 2,
  ACL_RT_STREAM_PRIORITY = 3
} aclrtStreamConfigAttr;

typedef enum aclrtMallocAttrType {
  ACL_RT_MEM_ATTR_RSV = 0,
  ACL_RT_MEM_ATTR_MODULE_ID = 1,
  ACL_RT_MEM_ATTR_DEVICE_ID = 2,
  ACL_RT_MEM_ATTR_VA_FLAG = 3
} aclrtMallocAttrType;

// Named so that programs compile; registering initialisation callbacks is not offered.
typedef enum aclRegisterCallbackType {
  ACL_REG_TYPE_ACL_MODEL = 0,
  ACL_REG_TYPE_ACL_OP_EXECUTOR = 1,
  ACL_REG_TYPE_ACL_OP_CBLAS = 2,
  ACL_REG_TYPE_ACL_OP_COMPILER = 3,
  ACL_REG_TYPE_ACL_TDT_CHANNEL = 4,
  ACL_REG_TYPE_ACL_TDT_QUEUE = 5,
  ACL_REG_TYPE_ACL_DVPP = 6,
  ACL_REG_TYPE_ACL_RETR = 7,
  ACL_REG_TYPE_OTHER = 0xFFFF
} aclRegisterCallbackType;

typedef enum aclCANNPackageName {
  ACL_PKG_NAME_CANN = 0,
  ACL_PKG_NAME_RUNTIME = 1,
  ACL_PKG_NAME_COMPILER = 2,
  ACL_PKG_NAME_HCCL = 3,
  ACL_PKG_NAME_TOOLKIT = 4,
  ACL_PKG_NAME_OPP = 5,
  ACL_PKG_NAME_OPP_KERNEL = 6,
  ACL_PKG_NAME_DRIVER = 7
} aclCANNPackageName;

typedef struct aclCANNPackageVersion {
  char version[ACL_PKG_VERSION_MAX_SIZE];
  char majorVersion[ACL_PKG_VERSION_PARTS_MAX_SIZE];
  char minorVersion[ACL_PKG_VERSION_PARTS_MAX_SIZE];
  char releaseVersion[ACL_PKG_VERSION_PARTS_MAX_SIZE];
  char patchVersion[ACL_PKG_VERSION_PARTS_MAX_SIZE];
  char reserved[ACL_PKG_VERSION_MAX_SIZE];
} aclCANNPackageVersion;

typedef struct aclrtMemLocation {
  uint32_t id;
  aclrtMemLocationType type;
} aclrtMemLocation;

typedef struct aclrtMemcpyBatchAttr {
  aclrtMemLocation dstLoc;
  aclrtMemLocation srcLoc;
  uint8_t rsv[16];
} aclrtMemcpyBatchAttr;

typedef struct aclrtPtrAttributes {
  aclrtMemLocation location;
  uint32_t pageSize;  // bytes
  uint32_t rsv[4];
} aclrtPtrAttributes;

typedef struct aclrtStreamConfigHandle {
  void* workptr;
  size_t workSize;
  size_t flag;
  uint32_t priority;
} aclrtStreamConfigHandle;

typedef union aclrtMallocAttrValue {
  uint16_t moduleId;
  uint32_t deviceId;
  uint32_t vaFlag;
  uint8_t rsv[8];
} aclrtMallocAttrValue;

typedef struct aclrtMallocAttribute {
  aclrtMallocAttrType attr;
  aclrtMallocAttrValue value;
} aclrtMallocAttribute;

typedef struct aclrtMallocConfig {
  aclrtMallocAttribute* attrs;
  size_t numAttrs;
} aclrtMallocConfig;

typedef struct aclrtMemUsageInfo {
  char name[32];
  uint64_t curMemSize;   // bytes
  uint64_t memPeakSize;  // bytes
  size_t reserved[8];
} aclrtMemUsageInfo;

typedef struct aclrtUtilizationExtendInfo aclrtUtilizationExtendInfo;

typedef struct aclrtUtilizationInfo {
  int32_t cubeUtilization;  // per cent, as all of them
  int32_t vectorUtilization;
  int32_t aicpuUtilization;
  int32_t memoryUtilization;
  aclrtUtilizationExtendInfo* utilizationExtend;  // must be NULL
} aclrtUtilizationInfo;

typedef struct aclrtExceptionInfo aclrtExceptionInfo;

typedef void (*aclrtCallback)(void* userData);
typedef void (*aclrtHostFunc)(void* args);
// Named so that programs compile; exception callbacks are not offered.
typedef void (*aclrtExceptionInfoCallback)(aclrtExceptionInfo* exceptionInfo);

// ---- Initialisation, errors, versions ----

// configPath: NULL or "" for the defaults, else a JSON file. Its keys err_msg_mode ("0" one error text a thread,
// "1" one a process) and defaultDevice {"default_device": id} have an effect; other keys are accepted without one.
// Counts: further calls give 100002 and may be ignored. 100003 the file cannot be read; 100006 it is no JSON object or
// nests deeper than 10; 100000 its content differs from the first initialisation of the process or a value is wrong;
// 507008 CANOPY_SOC names no known chip.
ACL_FUNC_VISIBILITY aclError aclInit(const char* configPath);
// Ends the initialisation whatever the count. 100037 when it has ended already. Frees nothing of the caller's: tensors
// and memory may be destroyed and freed afterwards.
ACL_FUNC_VISIBILITY aclError aclFinalize(void);
// Takes one aclInit back; the last one finalises. *refCount, which may be null, receives the count that is left.
ACL_FUNC_VISIBILITY aclError aclFinalizeReference(uint64_t* refCount);

// The texts of this thread's failures since the last call, newest first; NULL where there are none. Valid until the
// thread's next call of this function.
ACL_FUNC_VISIBILITY const char* aclGetRecentErrMsg(void);
// The code of the last failure of a runtime function in this thread; 0 where there is none. Get also forgets it.
ACL_FUNC_VISIBILITY aclError aclrtPeekAtLastError(aclrtLastErrLevel level);
ACL_FUNC_VISIBILITY aclError aclrtGetLastError(aclrtLastErrLevel level);

ACL_DEPRECATED_MESSAGE("use aclsysGetVersionStr or aclsysGetVersionNum instead")
ACL_FUNC_VISIBILITY aclError aclrtGetVersion(int32_t* majorVersion, int32_t* minorVersion, int32_t* patchVersion);
// The CANN release whose behaviour Canopy follows; every package has the same version.
ACL_FUNC_VISIBILITY aclError aclsysGetCANNVersion(aclCANNPackageName name, aclCANNPackageVersion* version);
// versionStr: room for ACL_PKG_VERSION_MAX_SIZE characters. pkgName: "cann", "runtime", "compiler", "hccl", "toolkit",
// "opp", "opp_kernel" or "driver"; anything else gives 100000.
ACL_FUNC_VISIBILITY aclError aclsysGetVersionStr(char* pkgName, char* versionStr);
// major * 10000000 + minor * 100000 + release * 1000.
ACL_FUNC_VISIBILITY aclError aclsysGetVersionNum(char* pkgName, int32_t* versionNum);

// ---- Devices ----

// Makes the device's default context current for the thread and counts one use of the device. 507008 where CANOPY_SOC
// names no known chip.
ACL_FUNC_VISIBILITY aclError aclrtSetDevice(int32_t deviceId);
// Takes one aclrtSetDevice back. The last one waits for the default context's streams, then destroys them and the
// context. Memory stays valid until freed. 507007 when the device is not in use.
ACL_FUNC_VISIBILITY aclError aclrtResetDevice(int32_t deviceId);
// The same, whatever the count.
ACL_FUNC_VISIBILITY aclError aclrtResetDeviceForce(int32_t deviceId);
// 107002 when the thread has no current context and no default device is configured.
ACL_FUNC_VISIBILITY aclError aclrtGetDevice(int32_t* deviceId);
// CANOPY_DEVICE_COUNT, 1 where that is not set. All devices are this computer.
ACL_FUNC_VISIBILITY aclError aclrtGetDeviceCount(uint32_t* count);
// Always ACL_HOST.
ACL_FUNC_VISIBILITY aclError aclrtGetRunMode(aclrtRunMode* runMode);
// Waits for all streams of the current context's device; the first asynchronous error found is returned. Streams with
// PERSISTENT, CPU_SCHEDULE or DEVICE_USE_ONLY are not waited for. timeout: milliseconds, -1 for ever; below -1 gives
// 107000, expiry 507046.
ACL_FUNC_VISIBILITY aclError aclrtSynchronizeDevice(void);
ACL_FUNC_VISIBILITY aclError aclrtSynchronizeDeviceWithTimeout(int32_t timeout);
// Checks its argument, has no other effect.
ACL_FUNC_VISIBILITY aclError aclrtSetTsDevice(aclrtTsId tsId);
// Always ACL_RT_DEVICE_STATUS_NORMAL.
ACL_FUNC_VISIBILITY aclError aclrtQueryDeviceStatus(int32_t deviceId, aclrtDeviceStatus* deviceStatus);
// The load is not measured: every figure is 0, except memoryUtilization.
ACL_FUNC_VISIBILITY aclError aclrtGetDeviceUtilizationRate(int32_t deviceId, aclrtUtilizationInfo* utilizationInfo);
// All devices share the computer's memory, so access is always possible (*canAccessPeer 1 for two different devices, 0
// for a device and itself); enabling and disabling it check their arguments and have no other effect.
ACL_FUNC_VISIBILITY aclError aclrtDeviceCanAccessPeer(int32_t* canAccessPeer, int32_t deviceId, int32_t peerDeviceId);
ACL_FUNC_VISIBILITY aclError aclrtDeviceEnablePeerAccess(int32_t peerDeviceId, uint32_t flags);
ACL_FUNC_VISIBILITY aclError aclrtDeviceDisablePeerAccess(int32_t peerDeviceId);
// Cores are the threads that Canopy computes with, memory and cache are this computer's, in bytes; identifiers that
// mean nothing here are 0. 100000 for an unknown attribute.
ACL_FUNC_VISIBILITY aclError aclrtGetDeviceInfo(uint32_t deviceId, aclrtDevAttr attr, int64_t* value);
// 7 and 0. Either pointer may be null.
ACL_FUNC_VISIBILITY aclError aclrtDeviceGetStreamPriorityRange(int32_t* leastPriority, int32_t* greatestPriority);

// What results too large for their type become: the largest finite value, or Inf. Holds for streams of the current
// device that are created afterwards; earlier ones, the default stream among them, stay as they are. Chips with INFNAN
// only or SATURATION only refuse the other with 207000; ACL_RT_OVERFLOW_MODE_UNDEF gives 107000.
ACL_FUNC_VISIBILITY aclError aclrtSetDeviceSatMode(aclrtFloatOverflowMode mode);
ACL_FUNC_VISIBILITY aclError aclrtGetDeviceSatMode(aclrtFloatOverflowMode* mode);

// Limits on cores: remembered and given back, without any effect. Without a limit the answer is the number of threads
// that Canopy computes with. The thread's answer is that of the stream in use, else that of the current device.
ACL_FUNC_VISIBILITY aclError aclrtSetDeviceResLimit(int32_t deviceId, aclrtDevResLimitType type, uint32_t value);
ACL_FUNC_VISIBILITY aclError aclrtGetDeviceResLimit(int32_t deviceId, aclrtDevResLimitType type, uint32_t* value);
ACL_FUNC_VISIBILITY aclError aclrtResetDeviceResLimit(int32_t deviceId);
ACL_FUNC_VISIBILITY aclError aclrtSetStreamResLimit(aclrtStream stream, aclrtDevResLimitType type, uint32_t value);
ACL_FUNC_VISIBILITY aclError aclrtGetStreamResLimit(aclrtStream stream, aclrtDevResLimitType type, uint32_t* value);
ACL_FUNC_VISIBILITY aclError aclrtResetStreamResLimit(aclrtStream stream);
ACL_FUNC_VISIBILITY aclError aclrtUseStreamResInCurrentThread(aclrtStream stream);
ACL_FUNC_VISIBILITY aclError aclrtUnuseStreamResInCurrentThread(aclrtStream stream);
ACL_FUNC_VISIBILITY aclError aclrtGetResInCurrentThread(aclrtDevResLimitType type, uint32_t* value);

// ---- Contexts and options ----

// A context of its own on the device, with a default stream; becomes the thread's current one.
ACL_FUNC_VISIBILITY aclError aclrtCreateContext(aclrtContext* context, int32_t deviceId);
// Waits for the context's streams and destroys them. Contexts of aclrtSetDevice give 107000: aclrtResetDevice ends
// those.
ACL_FUNC_VISIBILITY aclError aclrtDestroyContext(aclrtContext context);
ACL_FUNC_VISIBILITY aclError aclrtSetCurrentContext(aclrtContext context);
ACL_FUNC_VISIBILITY aclError aclrtGetCurrentContext(aclrtContext* context);
ACL_FUNC_VISIBILITY aclError aclrtCtxGetCurrentDefaultStream(aclrtStream* stream);
// *active: 1 while the device's default context exists, else 0. flags must be null.
ACL_FUNC_VISIBILITY aclError aclrtGetPrimaryCtxState(int32_t deviceId, uint32_t* flags, int32_t* active);

// Options of the current context: ACL_OPT_DETERMINISTIC (0 to 3), ACL_OPT_ENABLE_DEBUG_KERNEL and
// ACL_OPT_STRONG_CONSISTENCY (0 or 1). Remembered; the operators read the process's options. 107021 when never set.
ACL_FUNC_VISIBILITY aclError aclrtCtxSetSysParamOpt(aclSysParamOpt opt, int64_t value);
ACL_FUNC_VISIBILITY aclError aclrtCtxGetSysParamOpt(aclSysParamOpt opt, int64_t* value);
// Options of the process; 0 when never set. Results of Canopy are deterministic at every level.
ACL_FUNC_VISIBILITY aclError aclrtSetSysParamOpt(aclSysParamOpt opt, int64_t value);
ACL_FUNC_VISIBILITY aclError aclrtGetSysParamOpt(aclSysParamOpt opt, int64_t* value);

// ---- Streams ----

ACL_FUNC_VISIBILITY aclError aclrtCreateStream(aclrtStream* stream);
// priority: 0 (highest) to 7, more counts as 7; it is remembered, ready streams take turns whatever it is. flag: an OR
// of ACL_STREAM_*; unknown bits are ignored. Synchronising a stream with PERSISTENT, CPU_SCHEDULE or DEVICE_USE_ONLY
// returns at once.
ACL_FUNC_VISIBILITY aclError aclrtCreateStreamWithConfig(aclrtStream* stream, uint32_t priority, uint32_t flag);
// NULL when out of memory; owned by the caller until aclrtDestroyStreamConfigHandle.
ACL_FUNC_VISIBILITY aclrtStreamConfigHandle* aclrtCreateStreamConfigHandle(void);
ACL_FUNC_VISIBILITY aclError aclrtDestroyStreamConfigHandle(aclrtStreamConfigHandle* handle);
// valueSize must be the size of the field: void*, size_t, size_t, uint32_t in the order of the attributes.
ACL_FUNC_VISIBILITY aclError aclrtSetStreamConfigOpt(aclrtStreamConfigHandle* handle, aclrtStreamConfigAttr attr,
                                                     const void* attrValue, size_t valueSize);
// The work area of the handle is not used.
ACL_FUNC_VISIBILITY aclError aclrtCreateStreamV2(aclrtStream* stream, const aclrtStreamConfigHandle* handle);
// Waits for what is queued. Null gives 100000; a default stream gives 107000: it ends with its context.
ACL_FUNC_VISIBILITY aclError aclrtDestroyStream(aclrtStream stream);
// Drops what is queued and not begun; does not wait for what runs.
ACL_FUNC_VISIBILITY aclError aclrtDestroyStreamForce(aclrtStream stream);

// Waits until all that is queued has run; returns the first asynchronous error since the last such call.
ACL_FUNC_VISIBILITY aclError aclrtSynchronizeStream(aclrtStream stream);
// timeout: milliseconds, -1 for ever; 0 and below -1 give 107000, expiry 507046.
ACL_FUNC_VISIBILITY aclError aclrtSynchronizeStreamWithTimeout(aclrtStream stream, int32_t timeout);
ACL_FUNC_VISIBILITY aclError aclrtStreamQuery(aclrtStream stream, aclrtStreamStatus* status);
ACL_FUNC_VISIBILITY aclError aclrtStreamGetPriority(aclrtStream stream, uint32_t* priority);
ACL_FUNC_VISIBILITY aclError aclrtStreamGetFlags(aclrtStream stream, uint32_t* flags);
// Unique among the process's live streams.
ACL_FUNC_VISIBILITY aclError aclrtStreamGetId(aclrtStream stream, int32_t* streamId);
// Streams that can still be created.
ACL_FUNC_VISIBILITY aclError aclrtGetStreamAvailableNum(uint32_t* streamCount);
// ACL_CONTINUE_ON_FAILURE (the default) runs what follows a failure; ACL_STOP_ON_FAILURE drops it until the failure has
// been returned. Anything else gives 107000.
ACL_FUNC_VISIBILITY aclError aclrtSetStreamFailureMode(aclrtStream stream, uint64_t mode);
// 0 or 1: remembered and given back, without any effect.
ACL_FUNC_VISIBILITY aclError aclrtSetStreamOverflowSwitch(aclrtStream stream, uint32_t flag);
ACL_FUNC_VISIBILITY aclError aclrtGetStreamOverflowSwitch(aclrtStream stream, uint32_t* flag);

// Queues a call of fn. It runs in stream order, in a thread of the library that may block and may call this interface,
// except to wait for its own stream.
ACL_FUNC_VISIBILITY aclError aclrtLaunchHostFunc(aclrtStream stream, aclrtHostFunc fn, void* args);
// Queues a call of fn in the thread that subscribed to the stream, made from inside its aclrtProcessReport. With
// ACL_CALLBACK_BLOCK the stream waits until fn has returned. 107015 when nobody subscribed.
ACL_FUNC_VISIBILITY aclError aclrtLaunchCallback(aclrtCallback fn, void* userData, aclrtCallbackBlockType blockType,
                                                 aclrtStream stream);
// threadId: what pthread_self gives in the thread that will call aclrtProcessReport. 107011 when the stream has a
// subscriber.
ACL_FUNC_VISIBILITY aclError aclrtSubscribeReport(uint64_t threadId, aclrtStream stream);
// Waits for callbacks of the streams that this thread subscribed to and calls them. timeout: milliseconds, -1 for ever;
// 0 and below -1 give 107000. Expiry gives 507012; 107012 when the thread subscribed to nothing.
ACL_FUNC_VISIBILITY aclError aclrtProcessReport(int32_t timeout);
// 107012 when this thread is not the stream's subscriber. Callbacks not yet delivered are dropped.
ACL_FUNC_VISIBILITY aclError aclrtUnSubscribeReport(uint64_t threadId, aclrtStream stream);

// ---- Events ----

// For timing and for waiting.
ACL_FUNC_VISIBILITY aclError aclrtCreateEvent(aclrtEvent* event);
// flag: an OR of ACL_EVENT_TIME_LINE, ACL_EVENT_SYNC, ACL_EVENT_CAPTURE_STREAM_PROGRESS, or ACL_EVENT_EXTERNAL alone;
// anything else gives 107000. Waiting in a stream and resetting need SYNC, times need TIME_LINE (else 107000).
ACL_FUNC_VISIBILITY aclError aclrtCreateEventWithFlag(aclrtEvent* event, uint32_t flag);
// The same flags; waiting in a stream needs none of them. aclrtResetEvent, aclrtQueryEvent and
// aclrtQueryEventWaitStatus give 107000. Counts as complete before its first record.
ACL_FUNC_VISIBILITY aclError aclrtCreateEventExWithFlag(aclrtEvent* event, uint32_t flag);
// Work that is queued and refers to the event still completes.
ACL_FUNC_VISIBILITY aclError aclrtDestroyEvent(aclrtEvent event);
// The event stands for what is queued on the stream so far. Recording again starts anew.
ACL_FUNC_VISIBILITY aclError aclrtRecordEvent(aclrtEvent event, aclrtStream stream);
// flag: ACL_EVENT_RECORD_DEFAULT or ACL_EVENT_RECORD_EXTERNAL, which means the same here.
ACL_FUNC_VISIBILITY aclError aclrtRecordEventWithFlag(aclrtEvent event, aclrtStream stream, uint32_t flag);
// Makes the event unrecorded, in stream order, unless it is recorded again before that.
ACL_FUNC_VISIBILITY aclError aclrtResetEvent(aclrtEvent event, aclrtStream stream);
// The stream waits for the event's last record before this call; an event never recorded is not waited for.
ACL_FUNC_VISIBILITY aclError aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent event);
// timeout: the stream gives up after that many milliseconds, with 507047 at the next synchronise; 0 waits for ever.
// flag: ACL_EVENT_WAIT_DEFAULT or ACL_EVENT_WAIT_EXTERNAL, which means the same here.
ACL_FUNC_VISIBILITY aclError aclrtStreamWaitEventWithFlag(aclrtStream stream, aclrtEvent event, uint32_t timeout,
                                                          uint32_t flag);
// timeout: milliseconds, as above; -1 and 0 wait for ever, below -1 gives 107000.
ACL_FUNC_VISIBILITY aclError aclrtStreamWaitEventWithTimeout(aclrtStream stream, aclrtEvent event, int32_t timeout);
ACL_DEPRECATED_MESSAGE("use aclrtQueryEventStatus instead")
ACL_FUNC_VISIBILITY aclError aclrtQueryEvent(aclrtEvent event, aclrtEventStatus* status);
ACL_FUNC_VISIBILITY aclError aclrtQueryEventStatus(aclrtEvent event, aclrtEventRecordedStatus* status);
// Complete once every aclrtStreamWaitEvent on the event has passed.
ACL_FUNC_VISIBILITY aclError aclrtQueryEventWaitStatus(aclrtEvent event, aclrtEventWaitStatus* status);
// Waits for the last record; 507000 when there is none and the event is no ExWithFlag one. timeout: milliseconds, -1
// for ever, 0 only looks; below -1 gives 107000, expiry 507047.
ACL_FUNC_VISIBILITY aclError aclrtSynchronizeEvent(aclrtEvent event);
ACL_FUNC_VISIBILITY aclError aclrtSynchronizeEventWithTimeout(aclrtEvent event, int32_t timeout);
// Milliseconds from startEvent to endEvent, negative the other way round. 507000 when one was never recorded, 107006
// when a record has not run yet.
ACL_FUNC_VISIBILITY aclError aclrtEventElapsedTime(float* ms, aclrtEvent startEvent, aclrtEvent endEvent);
// Microseconds of a clock that never goes back. Errors as above.
ACL_FUNC_VISIBILITY aclError aclrtEventGetTimestamp(aclrtEvent event, uint64_t* timestamp);

// ---- Memory ----

// Uninitialised memory, aligned to 64 bytes at least, freed by aclrtFree. 100000 for size 0; 207001 when this computer
// has not got it. policy: HUGE_FIRST and the like ask for huge pages for big blocks; the rest has no effect.
ACL_FUNC_VISIBILITY aclError aclrtMalloc(void** devPtr, size_t size, aclrtMemMallocPolicy policy);
ACL_FUNC_VISIBILITY aclError aclrtMallocAlign32(void** devPtr, size_t size, aclrtMemMallocPolicy policy);
ACL_FUNC_VISIBILITY aclError aclrtMallocCached(void** devPtr, size_t size, aclrtMemMallocPolicy policy);
// cfg may be null; its attributes have no effect.
ACL_FUNC_VISIBILITY aclError aclrtMallocWithCfg(void** devPtr, size_t size, aclrtMemMallocPolicy policy,
                                                aclrtMallocConfig* cfg);
ACL_FUNC_VISIBILITY aclError aclrtMallocForTaskScheduler(void** devPtr, size_t size, aclrtMemMallocPolicy policy,
                                                         aclrtMallocConfig* cfg);
// Frees at once, without waiting for streams. 107000 for an address that no aclrtMalloc returned or that was freed.
ACL_FUNC_VISIBILITY aclError aclrtFree(void* devPtr);
// Waits for the current device first.
ACL_FUNC_VISIBILITY aclError aclrtFreeWithDevSync(void* devPtr);
// Host memory. Needs no context.
ACL_FUNC_VISIBILITY aclError aclrtMallocHost(void** hostPtr, size_t size);
ACL_FUNC_VISIBILITY aclError aclrtMallocHostWithCfg(void** ptr, uint64_t size, aclrtMallocConfig* cfg);
ACL_FUNC_VISIBILITY aclError aclrtFreeHost(void* hostPtr);
ACL_FUNC_VISIBILITY aclError aclrtFreeHostWithDevSync(void* hostPtr);

// Copies now, without waiting for streams. kind is a hint: both kinds of address work with each. A count of 0 succeeds
// whatever the addresses; count > destMax gives 107000.
ACL_FUNC_VISIBILITY aclError aclrtMemcpy(void* dst, size_t destMax, const void* src, size_t count,
                                         aclrtMemcpyKind kind);
// Copies in stream order; the memory must stay valid until then. Plain host memory (not from aclrtMallocHost) as source
// is read, and as destination is written, before the call returns.
ACL_FUNC_VISIBILITY aclError aclrtMemcpyAsync(void* dst, size_t destMax, const void* src, size_t count,
                                              aclrtMemcpyKind kind, aclrtStream stream);
ACL_DEPRECATED_MESSAGE("use aclrtMemcpyAsync instead")
ACL_FUNC_VISIBILITY aclError aclrtMemcpyAsyncWithCondition(void* dst, size_t destMax, const void* src, size_t count,
                                                           aclrtMemcpyKind kind, aclrtStream stream);
// Copies `height` rows of `width` bytes; the pitches are bytes from row to row. 100000 when width exceeds a pitch.
ACL_FUNC_VISIBILITY aclError aclrtMemcpy2d(void* dst, size_t dpitch, const void* src, size_t spitch, size_t width,
                                           size_t height, aclrtMemcpyKind kind);
ACL_FUNC_VISIBILITY aclError aclrtMemcpy2dAsync(void* dst, size_t dpitch, const void* src, size_t spitch, size_t width,
                                                size_t height, aclrtMemcpyKind kind, aclrtStream stream);
// Copies numBatches blocks. attrsIndexes[i] is the first copy that attrs[i] describes: it starts at 0 and rises. On a
// wrong copy *failIndex is its index, on a wrong list SIZE_MAX; then nothing has been copied.
ACL_FUNC_VISIBILITY aclError aclrtMemcpyBatch(void** dsts, size_t* destMaxs, void** srcs, size_t* sizes,
                                              size_t numBatches, aclrtMemcpyBatchAttr* attrs, size_t* attrsIndexes,
                                              size_t numAttrs, size_t* failIndex);
ACL_FUNC_VISIBILITY aclError aclrtMemcpyBatchAsync(void** dsts, size_t* destMaxs, void** srcs, size_t* sizes,
                                                   size_t numBatches, aclrtMemcpyBatchAttr* attrs, size_t* attrsIndexes,
                                                   size_t numAttrs, size_t* failIndex, aclrtStream stream);
// Sets `count` bytes to the low byte of value. A count of 0 succeeds; count > maxCount gives 107000.
ACL_FUNC_VISIBILITY aclError aclrtMemset(void* devPtr, size_t maxCount, int32_t value, size_t count);
ACL_FUNC_VISIBILITY aclError aclrtMemsetAsync(void* devPtr, size_t maxCount, int32_t value, size_t count,
                                              aclrtStream stream);
// Sets N 32-bit words. memSize: bytes behind devPtr; 107000 when N words do not fit or devPtr is not aligned to 4.
ACL_FUNC_VISIBILITY aclError aclrtMemsetD32(void* devPtr, size_t memSize, uint32_t value, size_t N);
ACL_FUNC_VISIBILITY aclError aclrtMemsetD32Async(void* devPtr, size_t memSize, uint32_t value, size_t N,
                                                 aclrtStream stream);

// Bytes of this computer's memory that the process may still get, and all it may have. Every known kind of memory is
// this one; the 1 GiB page kinds are 0 and 0.
ACL_FUNC_VISIBILITY aclError aclrtGetMemInfo(aclrtMemAttr attr, size_t* free, size_t* total);
// One entry, "APP": what aclrtMalloc handed out. *outputNum may not exceed inputNum.
ACL_FUNC_VISIBILITY aclError aclrtGetMemUsageInfo(int32_t deviceId, aclrtMemUsageInfo* memUsageInfo, size_t inputNum,
                                                  size_t* outputNum);
// DEVICE for aclrtMalloc's memory, HOST for aclrtMallocHost's and registered memory, else UNREGISTERED.
ACL_FUNC_VISIBILITY aclError aclrtPointerGetAttributes(const void* ptr, aclrtPtrAttributes* attributes);

// Tells the library about host memory of the caller's; *devPtr is the same address. 507910 when it is registered.
ACL_FUNC_VISIBILITY aclError aclrtHostRegister(void* ptr, uint64_t size, aclrtHostRegisterType type, void** devPtr);
// flag: an OR of ACL_HOST_REG_*.
ACL_FUNC_VISIBILITY aclError aclrtHostRegisterV2(void* ptr, uint64_t size, uint32_t flag);
// 507911 when it is not registered.
ACL_FUNC_VISIBILITY aclError aclrtHostUnregister(void* ptr);
ACL_FUNC_VISIBILITY aclError aclrtHostGetDevicePointer(void* pHost, void** pDevice, uint32_t flag);
// There is one memory with coherent caches: these check their arguments and have no other effect.
ACL_FUNC_VISIBILITY aclError aclrtMemFlush(void* devPtr, size_t size);
ACL_FUNC_VISIBILITY aclError aclrtMemInvalidate(void* devPtr, size_t size);

#ifdef __cplusplus
}
#endif

#endif  // CANOPY_ACL_ACL_RT_H_
