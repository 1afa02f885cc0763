// SPDX-License-Identifier: Apache-2.0
// What environment variables change. They are read once a process, so CTest runs this program once for each test, with
// the test's variables; a test whose variables are not set skips itself.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "aclnnop/aclnn_convolution.h"
#include "tests/opapi/calls.h"

namespace canopy::tests {
namespace {

using Floats = std::vector<float>;
using Shape = std::vector<int64_t>;

bool Is(const char* variable, const char* value) {
  const char* text = std::getenv(variable);
  return text != nullptr && std::strcmp(text, value) == 0;
}

struct Range {
  double low, high;
};

// What a number printed with one place after the point may have been.
Range Unrounded(double printed) { return {printed - 0.051, printed + 0.051}; }

// The end of a CANOPY_VERBOSE line.
struct Speed {
  int threads = 0;
  double milliseconds = 0, gigaflops = 0, per_cent = 0;

  // By what the percentage is one.
  Range PeakOfAThread() const {
    const Range rate = Unrounded(gigaflops), share = Unrounded(per_cent);
    return {100 * rate.low / share.high / threads, 100 * rate.high / std::max(share.low, 1e-9) / threads};
  }
};

Speed SpeedIn(const std::string& text) {
  Speed speed;
  char end = 0;
  const size_t before = text.rfind("; ", text.rfind(" thread"));
  const int read = before == std::string::npos
                       ? 0
                       : std::sscanf(text.c_str() + before, "; %d thread%*[s;] %lf ms %lf GFLOP/s %lf%% of peak%c",
                                     &speed.threads, &speed.milliseconds, &speed.gigaflops, &speed.per_cent, &end);
  EXPECT_TRUE(read == 5 && end == '\n') << text;
  // What reads numbers reads NaN and Inf too.
  EXPECT_TRUE(std::isfinite(speed.milliseconds + speed.gigaflops + speed.per_cent)) << text;
  return speed;
}

class EnvironmentTest : public DeviceTest {
 protected:
  // Phase 1 of ConvTbc whose self lies at `data`.
  aclnnStatus PhaseOneAt(void* data) {
    const Shape shape{5, 1, 2};
    const DeviceTensor w({.shape = {1, 2, 2}}, 1), b({.shape = {2}}, 1), y({.shape = shape}, 0);
    aclTensor* self = aclCreateTensor(shape.data(), 3, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, shape.data(), 3, data);
    uint64_t bytes = 0;
    aclOpExecutor* executor = nullptr;
    const aclnnStatus status = aclnnConvTbcGetWorkspaceSize(self, w.get(), b.get(), 0, y.get(), 0, &bytes, &executor);
    if (status == 0) aclDestroyAclOpExecutor(executor);
    aclDestroyTensor(self);
    return status;
  }

  // What ConvTbc of T x B x C by K x C x C prints on standard error.
  std::string PrintedByARun(int64_t time, int64_t batch, int64_t channels, int64_t kernel, int64_t pad) {
    const DeviceTensor x({.shape = {time, batch, channels}}, 1), w({.shape = {kernel, channels, channels}}, 1);
    const DeviceTensor b({.shape = {channels}}, 1), y({.shape = {time + 2 * pad + 1 - kernel, batch, channels}}, 0);
    testing::internal::CaptureStderr();
    TwoPhases call = ConvTbc(x, w, b, pad, 0, y);
    EXPECT_EQ(call.first, 0) << RecentMessage();
    EXPECT_EQ(call.Run(&aclnnConvTbc, stream), 0);
    return testing::internal::GetCapturedStderr();
  }

  // Of several runs the fastest: a busy machine may delay one until the digits printed are all 0.
  Speed BestSpeed(int64_t time, int64_t batch, int64_t channels, int64_t kernel, int64_t pad) {
    Speed best;
    for (int i = 0; i < 20; ++i) {
      const Speed speed = SpeedIn(PrintedByARun(time, batch, channels, kernel, pad));
      if (i == 0 || speed.gigaflops > best.gigaflops) best = speed;
    }
    return best;
  }

  // What phase 1 of ConvTbc writes into the log, where that goes to standard output.
  std::string LogOfATinyCall() {
    const DeviceTensor x({.shape = {5, 1, 2}}, 1), w({.shape = {1, 2, 2}}, 1), b({.shape = {2}}, 1);
    const DeviceTensor y({.shape = {5, 1, 2}}, 0);
    testing::internal::CaptureStdout();
    const TwoPhases call = ConvTbc(x, w, b, 0, 0, y);
    EXPECT_EQ(call.first, 0) << RecentMessage();
    aclDestroyAclOpExecutor(call.executor);
    return testing::internal::GetCapturedStdout();
  }
};

TEST_F(EnvironmentTest, CheckDeviceRefusesMemoryOfTheHost) {
  if (!Is("CANOPY_CHECK", "device")) GTEST_SKIP();
  Floats host(10, 1);
  EXPECT_EQ(PhaseOneAt(host.data()), 161002);
  const std::string message = RecentMessage();
  EXPECT_NE(message.find("self data"), std::string::npos) << message;
  EXPECT_NE(message.find("CANOPY_CHECK=device"), std::string::npos) << message;
  void *pinned = nullptr, *device = nullptr;
  ASSERT_EQ(aclrtMallocHost(&pinned, 40), 0);
  EXPECT_EQ(PhaseOneAt(pinned), 161002);
  ASSERT_EQ(aclrtMalloc(&device, 40, ACL_MEM_MALLOC_HUGE_FIRST), 0);
  EXPECT_EQ(PhaseOneAt(device), 0) << RecentMessage();
  EXPECT_EQ(PhaseOneAt(nullptr), 0) << RecentMessage();
  aclrtFreeHost(pinned);
  aclrtFree(device);
}

TEST_F(EnvironmentTest, AnUnknownCheckCountsAsUnset) {
  if (!Is("CANOPY_CHECK", "nonsense")) GTEST_SKIP();
  Floats host(10, 1);
  EXPECT_EQ(PhaseOneAt(host.data()), 0) << RecentMessage();
}

TEST_F(EnvironmentTest, VerboseRunsPrintTheCallAndHowItWasComputed) {
  if (!Is("CANOPY_VERBOSE", "2")) GTEST_SKIP();
  const DeviceTensor x({.shape = {5, 1, 2}}, 1), w({.shape = {1, 2, 2}}, 1), b({.shape = {2}}, 1);
  const DeviceTensor y({.shape = {5, 1, 2}}, 0);
  testing::internal::CaptureStderr();
  TwoPhases call = ConvTbc(x, w, b, 0, 3, y);
  ASSERT_EQ(call.first, 0) << RecentMessage();
  ASSERT_EQ(call.Run(&aclnnConvTbc, stream), 0);
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_NE(text.find("tbc_forward f32 t5 b1 ci2 co2 k1 pad0 math3"), std::string::npos) << text;
  EXPECT_NE(text.find(" ms "), std::string::npos) << text;
  EXPECT_NE(text.find("GFLOP/s"), std::string::npos) << text;
  EXPECT_NE(text.find("plan of"), std::string::npos) << text;
}

TEST_F(EnvironmentTest, VerboseRunsTellTheUsefulWorkAndItsShareOfPeak) {
  if (!Is("CANOPY_VERBOSE", "2") || !Is("CANOPY_NUM_THREADS", "3")) GTEST_SKIP();
  // Every input meets every tap once; of the 40 * 9 pairs of an output and a tap, 72 are in the padding.
  const double useful_flops = 2.0 * 4 * 64 * 64 * (32 * 9);
  const Speed speed = BestSpeed(32, 4, 64, 9, 8);
  EXPECT_EQ(speed.threads, 3);
  EXPECT_GT(speed.per_cent, 0);
  const Range rate = Unrounded(speed.gigaflops);
  EXPECT_LT((speed.milliseconds - 0.00051) * rate.low * 1e6, useful_flops);
  EXPECT_GT((speed.milliseconds + 0.00051) * rate.high * 1e6, useful_flops);
  // The peak is measured once, and a run on one thread is held against one thread's.
  const Speed small = BestSpeed(16, 1, 32, 1, 0);
  EXPECT_EQ(small.threads, 1);
  EXPECT_GT(small.per_cent, 0);
  EXPECT_LT(small.PeakOfAThread().low, speed.PeakOfAThread().high);
  EXPECT_GT(small.PeakOfAThread().high, speed.PeakOfAThread().low);
}

TEST_F(EnvironmentTest, NothingIsPrintedUnlessAskedFor) {
  if (!Is("CANOPY_VERBOSE", "0")) GTEST_SKIP();
  EXPECT_EQ(PrintedByARun(32, 4, 64, 9, 8), "");
}

TEST_F(EnvironmentTest, TheLogTellsWhatTheDocumentsAndTheDeviceWouldRefuse) {
  if (!Is("ASCEND_GLOBAL_LOG_LEVEL", "1")) GTEST_SKIP();
  const DeviceTensor x({.shape = {5, 1, 2}}, 1), w({.shape = {1, 2, 2}}, 1), b({.shape = {2}}, 1);
  const DeviceTensor y({.shape = {605, 1, 2}}, 0);
  testing::internal::CaptureStdout();
  const TwoPhases call = ConvTbc(x, w, b, 300, 4, y);
  EXPECT_EQ(call.first, 0) << RecentMessage();
  const std::string text = testing::internal::GetCapturedStdout();
  EXPECT_NE(text.find("the documents refuse it: cubeMathType: was 4"), std::string::npos) << text;
  EXPECT_NE(text.find("the device may refuse it: pad (L): was 300"), std::string::npos) << text;
  aclDestroyAclOpExecutor(call.executor);
}

// It used to be taken for an algorithm that refuses everything, so that all ran on the reference.
TEST_F(EnvironmentTest, AnUnknownAlgorithmIsReportedAndIgnored) {
  if (!Is("CANOPY_ALGORITHM", "nonsense")) GTEST_SKIP();
  const std::string text = LogOfATinyCall();
  EXPECT_NE(text.find("[WARNING]"), std::string::npos) << text;
  EXPECT_NE(text.find("CANOPY_ALGORITHM: was \"nonsense\"; allowed is one of direct, "), std::string::npos) << text;
  EXPECT_NE(text.find(" implicit_gemm, reference, or unset"), std::string::npos) << text;
  EXPECT_EQ(text.find("runs on the reference algorithm"), std::string::npos) << text;
}

TEST_F(EnvironmentTest, AnAlgorithmThatRefusesTheProblemSaysWhy) {
  if (!Is("CANOPY_ALGORITHM", "channel_sum")) GTEST_SKIP();
  const std::string text = LogOfATinyCall();
  EXPECT_NE(text.find("forward runs on the reference algorithm, which is slow: channel_sum: it serves"),
            std::string::npos)
      << text;
}

TEST_F(EnvironmentTest, TheReferenceRunsWhenAskedFor) {
  if (!Is("CANOPY_ALGORITHM", "reference")) GTEST_SKIP();
  const std::string text = LogOfATinyCall();
  EXPECT_NE(text.find("which is slow: CANOPY_ALGORITHM asks for it"), std::string::npos) << text;
}

// No device here: it refuses, too.
TEST(EnvironmentOfAnUnknownChipTest, PhaseOneNamesTheChipsThatAreKnown) {
  if (!Is("CANOPY_SOC", "Ascend123")) GTEST_SKIP();
  const Shape shape{1, 1, 1}, bias_shape{1};
  const auto tensor = [](const Shape& s) {
    return aclCreateTensor(s.data(), s.size(), ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, s.data(), s.size(), nullptr);
  };
  aclTensor *x = tensor(shape), *b = tensor(bias_shape);
  uint64_t bytes = 777;
  aclOpExecutor* executor = nullptr;
  EXPECT_EQ(aclnnConvTbcGetWorkspaceSize(x, nullptr, b, 0, x, 0, &bytes, &executor), 161001);
  RecentMessage();
  EXPECT_EQ(aclnnConvTbcGetWorkspaceSize(x, x, b, 0, x, 0, &bytes, &executor), 161002);
  const std::string message = RecentMessage();
  EXPECT_NE(message.find("CANOPY_SOC: was \"Ascend123\""), std::string::npos) << message;
  EXPECT_NE(message.find("Ascend910B1"), std::string::npos) << message;
  EXPECT_EQ(bytes, 777u);
  aclDestroyTensor(x);
  aclDestroyTensor(b);
}

}  // namespace
}  // namespace canopy::tests
