// SPDX-License-Identifier: Apache-2.0
// Devices, contexts and options. The program has two devices: see two_devices.cc.
#include <gtest/gtest.h>

#include <thread>

#include "ascendcl/process_options.h"
#include "base/cpu.h"
#include "tests/ascendcl/runtime_fixture.h"

namespace canopy::ascendcl {
namespace {

constexpr aclError kNoContext = ACL_ERROR_RT_CONTEXT_NULL;

// Runs the body in a thread that has set no device.
template <typename Body>
void InNewThread(Body&& body) {
  std::thread(std::forward<Body>(body)).join();
}

class DeviceTest : public RuntimeTest {};

TEST_F(DeviceTest, CountsAndRefusesIds) {
  uint32_t count = 0;
  EXPECT_EQ(aclrtGetDeviceCount(&count), ACL_SUCCESS);
  EXPECT_EQ(count, 2U);
  EXPECT_REFUSED(aclrtSetDevice(2), ACL_ERROR_RT_INVALID_DEVICEID, "deviceId is 2");
  EXPECT_REFUSED(aclrtSetDevice(-1), ACL_ERROR_RT_INVALID_DEVICEID, "deviceId is -1");
  EXPECT_REFUSED(aclrtResetDevice(2), ACL_ERROR_RT_INVALID_DEVICEID, "deviceId");
  EXPECT_REFUSED(aclrtResetDeviceForce(2), ACL_ERROR_RT_INVALID_DEVICEID, "deviceId");
  EXPECT_REFUSED(aclrtGetDeviceCount(nullptr), ACL_ERROR_INVALID_PARAM, "count");
}

TEST_F(DeviceTest, IsTheThreadsOwn) {
  int32_t device = -1;
  ASSERT_EQ(aclrtSetDevice(1), ACL_SUCCESS);
  EXPECT_EQ(aclrtGetDevice(&device), ACL_SUCCESS);
  EXPECT_EQ(device, 1);
  InNewThread([] {
    int32_t none = -1;
    EXPECT_REFUSED(aclrtGetDevice(&none), kNoContext, "aclrtSetDevice");
  });
  EXPECT_REFUSED(aclrtGetDevice(nullptr), ACL_ERROR_INVALID_PARAM, "deviceId");
  EXPECT_EQ(aclrtResetDevice(1), ACL_SUCCESS);
  EXPECT_EQ(aclrtGetDevice(&device), kNoContext) << "the current context went with its device";
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
}

TEST_F(DeviceTest, SharesOneDefaultContextBetweenThreads) {
  aclrtContext here = nullptr;
  ASSERT_EQ(aclrtGetCurrentContext(&here), ACL_SUCCESS);
  InNewThread([here] {
    ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    aclrtContext there = nullptr;
    EXPECT_EQ(aclrtGetCurrentContext(&there), ACL_SUCCESS);
    EXPECT_EQ(here, there);
    EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
  });
  aclrtContext still = nullptr;
  EXPECT_EQ(aclrtGetCurrentContext(&still), ACL_SUCCESS) << "one use is left";
}

TEST_F(DeviceTest, EndsWithItsLastUse) {
  aclrtStream stream = NewStream();
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
  EXPECT_REFUSED(aclrtSynchronizeStream(stream), ACL_ERROR_RT_INVALID_HANDLE, "stream");
  EXPECT_REFUSED(aclrtResetDevice(0), ACL_ERROR_RT_CONTEXT_RELEASE_ERROR, "device 0 is not in use");
  EXPECT_REFUSED(aclrtResetDeviceForce(0), ACL_ERROR_RT_CONTEXT_RELEASE_ERROR, "device 0 is not in use");
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
}

TEST_F(DeviceTest, ForcedResetEndsItWhateverTheCount) {
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  EXPECT_EQ(aclrtResetDeviceForce(0), ACL_SUCCESS);
  int32_t active = -1;
  EXPECT_EQ(aclrtGetPrimaryCtxState(0, nullptr, &active), ACL_SUCCESS);
  EXPECT_EQ(active, 0);
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
}

TEST_F(DeviceTest, ResetWaitsForQueuedWork) {
  ASSERT_EQ(aclrtSetDevice(1), ACL_SUCCESS);
  std::atomic<int> ran{0};
  for (int i = 0; i < 20; ++i) {
    Queue(nullptr, [&ran] { return std::this_thread::sleep_for(std::chrono::milliseconds(1)), ++ran, ACL_SUCCESS; });
  }
  EXPECT_EQ(aclrtResetDevice(1), ACL_SUCCESS);
  EXPECT_EQ(ran, 20);
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
}

TEST_F(DeviceTest, SynchronizeWaitsForAllStreamsOfTheDevice) {
  std::atomic<int> ran{0};
  for (int i = 0; i < 5; ++i)
    Queue(
        NewStream(), [&ran] { return ++ran, ACL_SUCCESS; }, LengthInTurn(i));
  EXPECT_EQ(aclrtSynchronizeDevice(), ACL_SUCCESS);
  EXPECT_EQ(ran, 5);
  Queue(NewStream(), [] { return 12345; });
  EXPECT_EQ(aclrtSynchronizeDevice(), 12345);
  EXPECT_EQ(aclrtSynchronizeDevice(), ACL_SUCCESS);
}

TEST_F(DeviceTest, SynchronizeHasATimeLimit) {
  EXPECT_REFUSED(aclrtSynchronizeDeviceWithTimeout(-2), ACL_ERROR_RT_PARAM_INVALID, "timeout");
  EXPECT_EQ(aclrtSynchronizeDeviceWithTimeout(-1), ACL_SUCCESS);
  Gate gate;
  QueueHostGate(nullptr, gate);
  EXPECT_REFUSED(aclrtSynchronizeDeviceWithTimeout(5), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, "time");
  gate.Open();
  EXPECT_EQ(aclrtSynchronizeDeviceWithTimeout(60000), ACL_SUCCESS);
}

TEST_F(DeviceTest, SynchronizePassesOverStreamsThatAreFedForEver) {
  aclrtStream stream = nullptr;
  ASSERT_EQ(aclrtCreateStreamWithConfig(&stream, 0, ACL_STREAM_PERSISTENT), ACL_SUCCESS);
  Gate gate;
  QueueHostGate(stream, gate);
  EXPECT_EQ(aclrtSynchronizeDevice(), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  gate.Open();
}

TEST_F(DeviceTest, AnswersSmallQuestions) {
  aclrtRunMode mode = ACL_DEVICE;
  EXPECT_EQ(aclrtGetRunMode(&mode), ACL_SUCCESS);
  EXPECT_EQ(mode, ACL_HOST);
  EXPECT_REFUSED(aclrtGetRunMode(nullptr), ACL_ERROR_INVALID_PARAM, "runMode");
  EXPECT_EQ(aclrtSetTsDevice(ACL_TS_ID_AICORE), ACL_SUCCESS);
  EXPECT_EQ(aclrtSetTsDevice(ACL_TS_ID_AIVECTOR), ACL_SUCCESS);
  EXPECT_REFUSED(aclrtSetTsDevice(ACL_TS_ID_RESERVED), ACL_ERROR_INVALID_PARAM, "tsId");
  aclrtDeviceStatus status = ACL_RT_DEVICE_STATUS_END;
  EXPECT_EQ(aclrtQueryDeviceStatus(1, &status), ACL_SUCCESS);
  EXPECT_EQ(status, ACL_RT_DEVICE_STATUS_NORMAL);
  EXPECT_REFUSED(aclrtQueryDeviceStatus(2, &status), ACL_ERROR_RT_INVALID_DEVICEID, "deviceId");
  int32_t least = -1;
  int32_t greatest = -1;
  EXPECT_EQ(aclrtDeviceGetStreamPriorityRange(&least, &greatest), ACL_SUCCESS);
  EXPECT_EQ(least, 7);
  EXPECT_EQ(greatest, 0);
  EXPECT_EQ(aclrtDeviceGetStreamPriorityRange(nullptr, nullptr), ACL_SUCCESS);
  aclrtUtilizationInfo load{};
  EXPECT_EQ(aclrtGetDeviceUtilizationRate(0, &load), ACL_SUCCESS);
  EXPECT_GE(load.memoryUtilization, 0);
  EXPECT_LE(load.memoryUtilization, 100);
  load.utilizationExtend = reinterpret_cast<aclrtUtilizationExtendInfo*>(&load);
  EXPECT_REFUSED(aclrtGetDeviceUtilizationRate(0, &load), ACL_ERROR_INVALID_PARAM, "utilizationExtend");
}

TEST_F(DeviceTest, PeersReachEachOtherAsTheyAre) {
  int32_t can = -1;
  EXPECT_EQ(aclrtDeviceCanAccessPeer(&can, 0, 1), ACL_SUCCESS);
  EXPECT_EQ(can, 1);
  EXPECT_EQ(aclrtDeviceCanAccessPeer(&can, 1, 1), ACL_SUCCESS);
  EXPECT_EQ(can, 0);
  EXPECT_REFUSED(aclrtDeviceCanAccessPeer(&can, 0, 5), ACL_ERROR_RT_INVALID_DEVICEID, "5");
  EXPECT_REFUSED(aclrtDeviceCanAccessPeer(nullptr, 0, 1), ACL_ERROR_INVALID_PARAM, "canAccessPeer");
  EXPECT_EQ(aclrtDeviceEnablePeerAccess(1, 0), ACL_SUCCESS);
  EXPECT_REFUSED(aclrtDeviceEnablePeerAccess(1, 1), ACL_ERROR_FEATURE_UNSUPPORTED, "flags");
  EXPECT_REFUSED(aclrtDeviceEnablePeerAccess(0, 0), ACL_ERROR_RT_PARAM_INVALID, "peerDeviceId");
  EXPECT_EQ(aclrtDeviceDisablePeerAccess(1), ACL_SUCCESS);
}

TEST_F(DeviceTest, OverflowModeIsRememberedByTheDevice) {
  aclrtFloatOverflowMode mode = ACL_RT_OVERFLOW_MODE_UNDEF;
  EXPECT_EQ(aclrtSetDeviceSatMode(ACL_RT_OVERFLOW_MODE_SATURATION), ACL_SUCCESS);
  EXPECT_EQ(aclrtGetDeviceSatMode(&mode), ACL_SUCCESS);
  EXPECT_EQ(mode, ACL_RT_OVERFLOW_MODE_SATURATION);
  EXPECT_REFUSED(aclrtSetDeviceSatMode(ACL_RT_OVERFLOW_MODE_UNDEF), ACL_ERROR_RT_PARAM_INVALID, "mode");
  EXPECT_REFUSED(aclrtGetDeviceSatMode(nullptr), ACL_ERROR_INVALID_PARAM, "mode");
  InNewThread([] { EXPECT_EQ(aclrtSetDeviceSatMode(ACL_RT_OVERFLOW_MODE_SATURATION), kNoContext); });
}

TEST_F(DeviceTest, LimitsOnCoresAreRememberedAndGivenBack) {
  const uint32_t threads = static_cast<uint32_t>(base::DefaultThreadCount());
  uint32_t value = 0;
  aclrtStream stream = NewStream();
  EXPECT_EQ(aclrtGetDeviceResLimit(0, ACL_RT_DEV_RES_CUBE_CORE, &value), ACL_SUCCESS);
  EXPECT_EQ(value, threads);
  EXPECT_EQ(aclrtSetDeviceResLimit(0, ACL_RT_DEV_RES_CUBE_CORE, 12), ACL_SUCCESS);
  EXPECT_EQ(aclrtGetStreamResLimit(stream, ACL_RT_DEV_RES_CUBE_CORE, &value), ACL_SUCCESS);
  EXPECT_EQ(value, 12U) << "the device's where the stream has none";
  EXPECT_EQ(aclrtSetStreamResLimit(stream, ACL_RT_DEV_RES_CUBE_CORE, 5), ACL_SUCCESS);
  EXPECT_EQ(aclrtGetResInCurrentThread(ACL_RT_DEV_RES_CUBE_CORE, &value), ACL_SUCCESS);
  EXPECT_EQ(value, 12U);
  EXPECT_EQ(aclrtUseStreamResInCurrentThread(stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtGetResInCurrentThread(ACL_RT_DEV_RES_CUBE_CORE, &value), ACL_SUCCESS);
  EXPECT_EQ(value, 5U);
  EXPECT_EQ(aclrtUnuseStreamResInCurrentThread(stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtGetResInCurrentThread(ACL_RT_DEV_RES_CUBE_CORE, &value), ACL_SUCCESS);
  EXPECT_EQ(value, 12U);
  EXPECT_EQ(aclrtResetStreamResLimit(stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtResetDeviceResLimit(0), ACL_SUCCESS);
  EXPECT_EQ(aclrtGetStreamResLimit(stream, ACL_RT_DEV_RES_CUBE_CORE, &value), ACL_SUCCESS);
  EXPECT_EQ(value, threads);
  const auto wrong = static_cast<aclrtDevResLimitType>(2);
  EXPECT_REFUSED(aclrtSetDeviceResLimit(0, wrong, 1), ACL_ERROR_INVALID_PARAM, "type");
  EXPECT_REFUSED(aclrtGetDeviceResLimit(0, ACL_RT_DEV_RES_CUBE_CORE, nullptr), ACL_ERROR_INVALID_PARAM, "value");
  EXPECT_REFUSED(aclrtGetDeviceResLimit(2, ACL_RT_DEV_RES_CUBE_CORE, &value), ACL_ERROR_RT_INVALID_DEVICEID, "2");
  EXPECT_REFUSED(aclrtGetStreamResLimit(kGarbage[0], wrong, &value), ACL_ERROR_RT_INVALID_HANDLE, "stream");
}

class ContextTest : public RuntimeTest {};

TEST_F(ContextTest, OfTheProgramBecomesCurrentAndHasItsOwnDefaultStream) {
  aclrtContext primary = nullptr;
  aclrtStream primary_stream = nullptr;
  ASSERT_EQ(aclrtGetCurrentContext(&primary), ACL_SUCCESS);
  ASSERT_EQ(aclrtCtxGetCurrentDefaultStream(&primary_stream), ACL_SUCCESS);
  aclrtContext own = nullptr;
  ASSERT_EQ(aclrtCreateContext(&own, 1), ACL_SUCCESS);
  aclrtContext current = nullptr;
  EXPECT_EQ(aclrtGetCurrentContext(&current), ACL_SUCCESS);
  EXPECT_EQ(current, own);
  int32_t device = -1;
  EXPECT_EQ(aclrtGetDevice(&device), ACL_SUCCESS);
  EXPECT_EQ(device, 1);
  aclrtStream own_stream = nullptr;
  EXPECT_EQ(aclrtCtxGetCurrentDefaultStream(&own_stream), ACL_SUCCESS);
  EXPECT_NE(own_stream, primary_stream);
  EXPECT_REFUSED(aclrtSynchronizeStream(primary_stream), ACL_ERROR_RT_STREAM_CONTEXT, "another context");
  EXPECT_EQ(aclrtSetCurrentContext(primary), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(primary_stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyContext(own), ACL_SUCCESS);
}

TEST_F(ContextTest, IsRefusedWhereItIsNone) {
  aclrtContext context = nullptr;
  EXPECT_REFUSED(aclrtCreateContext(nullptr, 0), ACL_ERROR_INVALID_PARAM, "context");
  EXPECT_REFUSED(aclrtCreateContext(&context, 2), ACL_ERROR_RT_INVALID_DEVICEID, "deviceId");
  EXPECT_REFUSED(aclrtDestroyContext(nullptr), ACL_ERROR_INVALID_PARAM, "context");
  EXPECT_REFUSED(aclrtSetCurrentContext(nullptr), ACL_ERROR_INVALID_PARAM, "context");
  EXPECT_REFUSED(aclrtGetCurrentContext(nullptr), ACL_ERROR_INVALID_PARAM, "context");
  EXPECT_REFUSED(aclrtCtxGetCurrentDefaultStream(nullptr), ACL_ERROR_INVALID_PARAM, "stream");
  for (void* garbage : kGarbage) {
    EXPECT_REFUSED(aclrtSetCurrentContext(garbage), ACL_ERROR_RT_INVALID_HANDLE, "context");
    EXPECT_REFUSED(aclrtDestroyContext(garbage), ACL_ERROR_RT_INVALID_HANDLE, "context");
  }
  EXPECT_REFUSED(aclrtSetCurrentContext(NewStream()), ACL_ERROR_RT_INVALID_HANDLE, "context");
  ASSERT_EQ(aclrtGetCurrentContext(&context), ACL_SUCCESS);
  EXPECT_REFUSED(aclrtDestroyContext(context), ACL_ERROR_RT_PARAM_INVALID, "default context");
}

TEST_F(ContextTest, TakesItsStreamsAlongAfterTheirWork) {
  aclrtContext context = nullptr;
  ASSERT_EQ(aclrtCreateContext(&context, 0), ACL_SUCCESS);
  aclrtStream stream = NewStream();
  std::atomic<bool> ran{false};
  Queue(stream, [&ran] { return ran = true, ACL_SUCCESS; });
  EXPECT_EQ(aclrtDestroyContext(context), ACL_SUCCESS);
  EXPECT_TRUE(ran);
  EXPECT_REFUSED(aclrtDestroyContext(context), ACL_ERROR_RT_INVALID_HANDLE, "context");
  EXPECT_REFUSED(aclrtDestroyStream(stream), ACL_ERROR_RT_INVALID_HANDLE, "stream");
  aclrtContext current = nullptr;
  EXPECT_EQ(aclrtGetCurrentContext(&current), kNoContext) << "the current context is gone";
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
}

TEST_F(ContextTest, OfTheProgramOutlivesAResetOfTheDevice) {
  aclrtContext context = nullptr;
  ASSERT_EQ(aclrtCreateContext(&context, 0), ACL_SUCCESS);
  EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
  bool ran = false;
  Queue(nullptr, [&ran] { return ran = true, ACL_SUCCESS; });
  EXPECT_EQ(aclrtSynchronizeStream(nullptr), ACL_SUCCESS);
  EXPECT_TRUE(ran);
  EXPECT_EQ(aclrtDestroyContext(context), ACL_SUCCESS);
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
}

TEST_F(ContextTest, PrimaryStateTellsWhetherTheDeviceIsInUse) {
  int32_t active = -1;
  EXPECT_EQ(aclrtGetPrimaryCtxState(0, nullptr, &active), ACL_SUCCESS);
  EXPECT_EQ(active, 1);
  EXPECT_EQ(aclrtGetPrimaryCtxState(1, nullptr, &active), ACL_SUCCESS);
  EXPECT_EQ(active, 0);
  uint32_t flags = 0;
  EXPECT_REFUSED(aclrtGetPrimaryCtxState(0, &flags, &active), ACL_ERROR_INVALID_PARAM, "flags");
  EXPECT_REFUSED(aclrtGetPrimaryCtxState(0, nullptr, nullptr), ACL_ERROR_INVALID_PARAM, "active");
  EXPECT_REFUSED(aclrtGetPrimaryCtxState(2, nullptr, &active), ACL_ERROR_RT_INVALID_DEVICEID, "deviceId");
}

class SysOptionTest : public RuntimeTest {
 protected:
  static constexpr auto kStrong = static_cast<aclSysParamOpt>(2);  // the enumerator is deprecated
};

TEST_F(SysOptionTest, OfAContextIsRememberedThere) {
  int64_t value = -1;
  EXPECT_REFUSED(aclrtCtxGetSysParamOpt(ACL_OPT_DETERMINISTIC, &value), ACL_ERROR_RT_SYSPARAMOPT_NOT_SET, "option 0");
  EXPECT_EQ(aclrtCtxSetSysParamOpt(ACL_OPT_DETERMINISTIC, 3), ACL_SUCCESS);
  EXPECT_EQ(aclrtCtxGetSysParamOpt(ACL_OPT_DETERMINISTIC, &value), ACL_SUCCESS);
  EXPECT_EQ(value, 3);
  EXPECT_REFUSED(aclrtCtxSetSysParamOpt(ACL_OPT_ENABLE_KERNEL_EARLY_START, 0), ACL_ERROR_INVALID_PARAM, "opt is 3");
  EXPECT_REFUSED(aclrtCtxSetSysParamOpt(ACL_OPT_DETERMINISTIC, 4), ACL_ERROR_RT_PARAM_INVALID, "value is 4");
  EXPECT_REFUSED(aclrtCtxSetSysParamOpt(kStrong, 2), ACL_ERROR_RT_PARAM_INVALID, "value is 2");
  EXPECT_REFUSED(aclrtCtxGetSysParamOpt(ACL_OPT_DETERMINISTIC, nullptr), ACL_ERROR_INVALID_PARAM, "value");
  InNewThread([] { EXPECT_EQ(aclrtCtxSetSysParamOpt(ACL_OPT_DETERMINISTIC, 1), kNoContext); });
  EXPECT_EQ(DeterministicLevel(), 0) << "the operators read the process's option";
}

TEST_F(SysOptionTest, OfTheProcessNeedsNoContextAndIsWhatOperatorsRead) {
  InNewThread([] {
    int64_t value = -1;
    EXPECT_EQ(aclrtGetSysParamOpt(ACL_OPT_ENABLE_KERNEL_EARLY_START, &value), ACL_SUCCESS);
    EXPECT_EQ(value, 0);
    EXPECT_EQ(aclrtSetSysParamOpt(ACL_OPT_DETERMINISTIC, 1), ACL_SUCCESS);
  });
  EXPECT_EQ(DeterministicLevel(), 1);
  EXPECT_EQ(aclrtSetSysParamOpt(kStrong, 1), ACL_SUCCESS);
  EXPECT_EQ(DeterministicLevel(), 2) << "strong consistency lifts level 1";
  EXPECT_EQ(aclrtSetSysParamOpt(ACL_OPT_DETERMINISTIC, 3), ACL_SUCCESS);
  EXPECT_EQ(DeterministicLevel(), 3);
  EXPECT_REFUSED(aclrtSetSysParamOpt(ACL_OPT_DETERMINISTIC, -1), ACL_ERROR_RT_PARAM_INVALID, "value");
  EXPECT_REFUSED(aclrtSetSysParamOpt(static_cast<aclSysParamOpt>(4), 0), ACL_ERROR_INVALID_PARAM, "opt");
  EXPECT_REFUSED(aclrtGetSysParamOpt(ACL_OPT_DETERMINISTIC, nullptr), ACL_ERROR_INVALID_PARAM, "value");
  EXPECT_EQ(aclrtSetSysParamOpt(kStrong, 0), ACL_SUCCESS);
  EXPECT_EQ(aclrtSetSysParamOpt(ACL_OPT_DETERMINISTIC, 0), ACL_SUCCESS);
}

}  // namespace
}  // namespace canopy::ascendcl
