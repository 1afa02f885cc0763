// SPDX-License-Identifier: Apache-2.0
// The contract's prototypes, written down a second time: a compiler refuses a declaration that conflicts with an
// earlier one, so compiling this file is the test.
#include "acl/acl.h"
#include "aclnn/aclnn_base.h"
#include "aclnnop/aclnn_convolution.h"
#include "aclnnop/aclnn_convolution_backward.h"

// Initialisation, errors, information.
aclError aclInit(const char *);
aclError aclFinalize(void);
aclError aclFinalizeReference(uint64_t *);
const char *aclGetRecentErrMsg(void);
const char *aclrtGetSocName(void);
aclError aclrtGetVersion(int32_t *, int32_t *, int32_t *);
aclError aclsysGetCANNVersion(aclCANNPackageName, aclCANNPackageVersion *);
aclError aclsysGetVersionStr(char *, char *);
aclError aclsysGetVersionNum(char *, int32_t *);
aclError aclrtPeekAtLastError(aclrtLastErrLevel);
aclError aclrtGetLastError(aclrtLastErrLevel);
size_t aclDataTypeSize(aclDataType);
float aclFloat16ToFloat(aclFloat16);
aclFloat16 aclFloatToFloat16(float);
void aclAppLog(aclLogLevel, const char *, const char *, uint32_t, const char *, ...);
aclError aclGetCannAttributeList(const aclCannAttr **, size_t *);
aclError aclGetCannAttribute(aclCannAttr, int32_t *);
aclError aclGetDeviceCapability(uint32_t, aclDeviceInfo, int64_t *);
aclDataBuffer *aclCreateDataBuffer(void *, size_t);
aclError aclDestroyDataBuffer(const aclDataBuffer *);
aclError aclUpdateDataBuffer(aclDataBuffer *, void *, size_t);
void *aclGetDataBufferAddr(const aclDataBuffer *);
uint32_t aclGetDataBufferSize(const aclDataBuffer *);
size_t aclGetDataBufferSizeV2(const aclDataBuffer *);

// Devices.
aclError aclrtSetDevice(int32_t);
aclError aclrtResetDevice(int32_t);
aclError aclrtResetDeviceForce(int32_t);
aclError aclrtGetDevice(int32_t *);
aclError aclrtGetDeviceCount(uint32_t *);
aclError aclrtGetRunMode(aclrtRunMode *);
aclError aclrtSynchronizeDevice(void);
aclError aclrtSynchronizeDeviceWithTimeout(int32_t);
aclError aclrtSetTsDevice(aclrtTsId);
aclError aclrtQueryDeviceStatus(int32_t, aclrtDeviceStatus *);
aclError aclrtDeviceCanAccessPeer(int32_t *, int32_t, int32_t);
aclError aclrtDeviceEnablePeerAccess(int32_t, uint32_t);
aclError aclrtGetDeviceInfo(uint32_t, aclrtDevAttr, int64_t *);
aclError aclrtDeviceGetStreamPriorityRange(int32_t *, int32_t *);
aclError aclrtSetDeviceSatMode(aclrtFloatOverflowMode);
aclError aclrtGetDeviceSatMode(aclrtFloatOverflowMode *);
aclError aclrtSetDeviceResLimit(int32_t, aclrtDevResLimitType, uint32_t);
aclError aclrtGetDeviceResLimit(int32_t, aclrtDevResLimitType, uint32_t *);
aclError aclrtResetDeviceResLimit(int32_t);
aclError aclrtSetStreamResLimit(aclrtStream, aclrtDevResLimitType, uint32_t);
aclError aclrtGetStreamResLimit(aclrtStream, aclrtDevResLimitType, uint32_t *);
aclError aclrtResetStreamResLimit(aclrtStream);
aclError aclrtUseStreamResInCurrentThread(aclrtStream);
aclError aclrtUnuseStreamResInCurrentThread(aclrtStream);
aclError aclrtGetResInCurrentThread(aclrtDevResLimitType, uint32_t *);

// Contexts and options.
aclError aclrtCreateContext(aclrtContext *, int32_t);
aclError aclrtDestroyContext(aclrtContext);
aclError aclrtSetCurrentContext(aclrtContext);
aclError aclrtGetCurrentContext(aclrtContext *);
aclError aclrtCtxGetCurrentDefaultStream(aclrtStream *);
aclError aclrtGetPrimaryCtxState(int32_t, uint32_t *, int32_t *);
aclError aclrtCtxSetSysParamOpt(aclSysParamOpt, int64_t);
aclError aclrtCtxGetSysParamOpt(aclSysParamOpt, int64_t *);
aclError aclrtSetSysParamOpt(aclSysParamOpt, int64_t);
aclError aclrtGetSysParamOpt(aclSysParamOpt, int64_t *);

// Streams.
aclError aclrtCreateStream(aclrtStream *);
aclError aclrtCreateStreamWithConfig(aclrtStream *, uint32_t, uint32_t);
aclrtStreamConfigHandle *aclrtCreateStreamConfigHandle(void);
aclError aclrtSetStreamConfigOpt(aclrtStreamConfigHandle *, aclrtStreamConfigAttr, const void *, size_t);
aclError aclrtCreateStreamV2(aclrtStream *, const aclrtStreamConfigHandle *);
aclError aclrtDestroyStream(aclrtStream);
aclError aclrtDestroyStreamForce(aclrtStream);
aclError aclrtSynchronizeStream(aclrtStream);
aclError aclrtSynchronizeStreamWithTimeout(aclrtStream, int32_t);
aclError aclrtStreamQuery(aclrtStream, aclrtStreamStatus *);
aclError aclrtStreamGetPriority(aclrtStream, uint32_t *);
aclError aclrtStreamGetFlags(aclrtStream, uint32_t *);
aclError aclrtStreamGetId(aclrtStream, int32_t *);
aclError aclrtGetStreamAvailableNum(uint32_t *);
aclError aclrtStreamWaitEvent(aclrtStream, aclrtEvent);
aclError aclrtStreamWaitEventWithFlag(aclrtStream, aclrtEvent, uint32_t, uint32_t);
aclError aclrtStreamWaitEventWithTimeout(aclrtStream, aclrtEvent, int32_t);
aclError aclrtSetStreamFailureMode(aclrtStream, uint64_t);
aclError aclrtSetStreamOverflowSwitch(aclrtStream, uint32_t);
aclError aclrtLaunchHostFunc(aclrtStream, aclrtHostFunc, void *);
aclError aclrtLaunchCallback(aclrtCallback, void *, aclrtCallbackBlockType, aclrtStream);
aclError aclrtSubscribeReport(uint64_t, aclrtStream);
aclError aclrtProcessReport(int32_t);

// Events.
aclError aclrtCreateEvent(aclrtEvent *);
aclError aclrtCreateEventWithFlag(aclrtEvent *, uint32_t);
aclError aclrtCreateEventExWithFlag(aclrtEvent *, uint32_t);
aclError aclrtDestroyEvent(aclrtEvent);
aclError aclrtRecordEvent(aclrtEvent, aclrtStream);
aclError aclrtRecordEventWithFlag(aclrtEvent, aclrtStream, uint32_t);
aclError aclrtResetEvent(aclrtEvent, aclrtStream);
aclError aclrtQueryEvent(aclrtEvent, aclrtEventStatus *);
aclError aclrtQueryEventStatus(aclrtEvent, aclrtEventRecordedStatus *);
aclError aclrtQueryEventWaitStatus(aclrtEvent, aclrtEventWaitStatus *);
aclError aclrtSynchronizeEvent(aclrtEvent);
aclError aclrtSynchronizeEventWithTimeout(aclrtEvent, int32_t);
aclError aclrtEventElapsedTime(float *, aclrtEvent, aclrtEvent);
aclError aclrtEventGetTimestamp(aclrtEvent, uint64_t *);

// Memory.
aclError aclrtMalloc(void **, size_t, aclrtMemMallocPolicy);
aclError aclrtMallocAlign32(void **, size_t, aclrtMemMallocPolicy);
aclError aclrtMallocCached(void **, size_t, aclrtMemMallocPolicy);
aclError aclrtMallocWithCfg(void **, size_t, aclrtMemMallocPolicy, aclrtMallocConfig *);
aclError aclrtFree(void *);
aclError aclrtFreeWithDevSync(void *);
aclError aclrtFreeHostWithDevSync(void *);
aclError aclrtMallocHost(void **, size_t);
aclError aclrtFreeHost(void *);
aclError aclrtMallocHostWithCfg(void **, uint64_t, aclrtMallocConfig *);
aclError aclrtMemcpy(void *, size_t, const void *, size_t, aclrtMemcpyKind);
aclError aclrtMemcpyAsync(void *, size_t, const void *, size_t, aclrtMemcpyKind, aclrtStream);
aclError aclrtMemcpy2d(void *, size_t, const void *, size_t, size_t, size_t, aclrtMemcpyKind);
aclError aclrtMemcpy2dAsync(void *, size_t, const void *, size_t, size_t, size_t, aclrtMemcpyKind, aclrtStream);
aclError aclrtMemcpyBatch(void **, size_t *, void **, size_t *, size_t, aclrtMemcpyBatchAttr *, size_t *, size_t,
                          size_t *);
aclError aclrtMemcpyBatchAsync(void **, size_t *, void **, size_t *, size_t, aclrtMemcpyBatchAttr *, size_t *, size_t,
                               size_t *, aclrtStream);
aclError aclrtMemset(void *, size_t, int32_t, size_t);
aclError aclrtMemsetAsync(void *, size_t, int32_t, size_t, aclrtStream);
aclError aclrtMemsetD32(void *, size_t, uint32_t, size_t);
aclError aclrtMemsetD32Async(void *, size_t, uint32_t, size_t, aclrtStream);
aclError aclrtGetMemInfo(aclrtMemAttr, size_t *, size_t *);
aclError aclrtGetMemUsageInfo(int32_t, aclrtMemUsageInfo *, size_t, size_t *);
aclError aclrtPointerGetAttributes(const void *, aclrtPtrAttributes *);
aclError aclrtHostRegister(void *, uint64_t, aclrtHostRegisterType, void **);

// Handles.
aclTensor *aclCreateTensor(const int64_t *, uint64_t, aclDataType, const int64_t *, int64_t, aclFormat, const int64_t *,
                           uint64_t, void *);
aclnnStatus aclDestroyTensor(const aclTensor *);
aclnnStatus aclInitTensor(aclTensor *, const int64_t *, uint64_t, aclDataType, const int64_t *, int64_t, aclFormat,
                          const int64_t *, uint64_t, void *);
aclnnStatus aclGetViewShape(const aclTensor *, int64_t **, uint64_t *);
aclnnStatus aclGetStorageShape(const aclTensor *, int64_t **, uint64_t *);
aclnnStatus aclGetViewStrides(const aclTensor *, int64_t **, uint64_t *);
aclnnStatus aclGetViewOffset(const aclTensor *, int64_t *);
aclnnStatus aclGetFormat(const aclTensor *, aclFormat *);
aclnnStatus aclGetDataType(const aclTensor *, aclDataType *);
aclnnStatus aclSetRawTensorAddr(aclTensor *, void *);
aclnnStatus aclGetRawTensorAddr(const aclTensor *, void **);
aclScalar *aclCreateScalar(void *, aclDataType);
aclnnStatus aclDestroyScalar(const aclScalar *);
aclIntArray *aclCreateIntArray(const int64_t *, uint64_t);
aclnnStatus aclDestroyIntArray(const aclIntArray *);
aclnnStatus aclGetIntArraySize(const aclIntArray *, uint64_t *);
aclBoolArray *aclCreateBoolArray(const bool *, uint64_t);
aclnnStatus aclDestroyBoolArray(const aclBoolArray *);
aclnnStatus aclGetBoolArraySize(const aclBoolArray *, uint64_t *);
aclFloatArray *aclCreateFloatArray(const float *, uint64_t);
aclnnStatus aclDestroyFloatArray(const aclFloatArray *);
aclnnStatus aclGetFloatArraySize(const aclFloatArray *, uint64_t *);
aclTensorList *aclCreateTensorList(const aclTensor *const *, uint64_t);
aclnnStatus aclDestroyTensorList(const aclTensorList *);
aclnnStatus aclGetTensorListSize(const aclTensorList *, uint64_t *);
aclScalarList *aclCreateScalarList(const aclScalar *const *, uint64_t);
aclnnStatus aclDestroyScalarList(const aclScalarList *);
aclnnStatus aclGetScalarListSize(const aclScalarList *, uint64_t *);
aclnnStatus aclSetAclOpExecutorRepeatable(aclOpExecutor *);
aclnnStatus aclDestroyAclOpExecutor(aclOpExecutor *);
aclnnStatus aclSetInputTensorAddr(aclOpExecutor *, const size_t, aclTensor *, void *);
aclnnStatus aclSetOutputTensorAddr(aclOpExecutor *, const size_t, aclTensor *, void *);
aclnnStatus aclSetTensorAddr(aclOpExecutor *, const size_t, aclTensor *, void *);
aclnnStatus aclSetDynamicInputTensorAddr(aclOpExecutor *, size_t, const size_t, aclTensorList *, void *);
aclnnStatus aclSetDynamicOutputTensorAddr(aclOpExecutor *, size_t, const size_t, aclTensorList *, void *);
aclnnStatus aclSetDynamicTensorAddr(aclOpExecutor *, size_t, const size_t, aclTensorList *, void *);
aclnnStatus AclSetInputTensorAddr(aclOpExecutor *, const size_t, aclTensor *, void *);
aclnnStatus AclSetOutputTensorAddr(aclOpExecutor *, const size_t, aclTensor *, void *);
aclnnStatus AclSetTensorAddr(aclOpExecutor *, const size_t, aclTensor *, void *);
aclnnStatus AclSetDynamicInputTensorAddr(aclOpExecutor *, size_t, const size_t, aclTensorList *, void *);
aclnnStatus AclSetDynamicOutputTensorAddr(aclOpExecutor *, size_t, const size_t, aclTensorList *, void *);
aclnnStatus AclSetDynamicTensorAddr(aclOpExecutor *, size_t, const size_t, aclTensorList *, void *);
aclnnStatus aclDumpOpTensors(const char *, const char *, aclTensor **, size_t, size_t, aclrtStream);
aclnnStatus aclnnInit(const char *);
aclnnStatus aclnnFinalize(void);

// Operators.
aclnnStatus aclnnConvolutionBackwardGetWorkspaceSize(const aclTensor *, const aclTensor *, const aclTensor *,
                                                     const aclIntArray *, const aclIntArray *, const aclIntArray *,
                                                     const aclIntArray *, bool, const aclIntArray *, int,
                                                     const aclBoolArray *, int8_t, aclTensor *, aclTensor *,
                                                     aclTensor *, uint64_t *, aclOpExecutor **);
aclnnStatus aclnnConvolutionBackward(void *, uint64_t, aclOpExecutor *, const aclrtStream);
aclnnStatus aclnnConvTbcBackwardGetWorkspaceSize(const aclTensor *, const aclTensor *, const aclTensor *,
                                                 const aclTensor *, int64_t, int8_t, aclTensor *, aclTensor *,
                                                 aclTensor *, uint64_t *, aclOpExecutor **);
aclnnStatus aclnnConvTbcBackward(void *, uint64_t, aclOpExecutor *, const aclrtStream);
aclnnStatus aclnnDeformableConv2dBackward(void *, uint64_t, aclOpExecutor *, aclrtStream);
aclnnStatus aclnnConvolutionGetWorkspaceSize(const aclTensor *, const aclTensor *, const aclTensor *,
                                             const aclIntArray *, const aclIntArray *, const aclIntArray *, bool,
                                             const aclIntArray *, const int64_t, aclTensor *, int8_t, uint64_t *,
                                             aclOpExecutor **);
aclnnStatus aclnnConvolution(void *, const uint64_t, aclOpExecutor *, aclrtStream);
aclnnStatus aclnnConvTbcGetWorkspaceSize(const aclTensor *, const aclTensor *, const aclTensor *, const int64_t,
                                         aclTensor *, int8_t, uint64_t *, aclOpExecutor **);
aclnnStatus aclnnConvTbc(void *, const uint64_t, aclOpExecutor *, aclrtStream);
aclnnStatus aclnnConvDepthwise2dGetWorkspaceSize(const aclTensor *, const aclTensor *, const aclIntArray *,
                                                 const aclTensor *, const aclIntArray *, const aclIntArray *,
                                                 const aclIntArray *, aclTensor *, int8_t, uint64_t *,
                                                 aclOpExecutor **);
aclnnStatus aclnnConvDepthwise2d(void *, const uint64_t, aclOpExecutor *, aclrtStream);

int main(void) { return 0; }
