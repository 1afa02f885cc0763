// SPDX-License-Identifier: Apache-2.0
// What the two phases do to the caller's things: what they read, what they leave alone, when they refuse.
#include <sys/mman.h>

#include "aclnnop/aclnn_convolution.h"
#include "aclnnop/aclnn_convolution_backward.h"
#include "tests/opapi/calls.h"

namespace canopy::tests {
namespace {

using Floats = std::vector<float>;
using Shape = std::vector<int64_t>;

class PhasesTest : public DeviceTest {
 protected:
  const Shape x_shape_{2, 3, 5, 5}, w_shape_{4, 3, 3, 3}, y_shape_{2, 4, 3, 3};
};

TEST_F(PhasesTest, OutputsThatTheMaskLeavesOutAreNotTouched) {
  const DeviceTensor dy({.shape = y_shape_}, 1), x({.shape = x_shape_}, 1), w({.shape = w_shape_}, 1);
  for (int mask = 0; mask < 8; ++mask) {
    const DeviceTensor dx({.shape = x_shape_}, -77), dw({.shape = w_shape_}, -77), db({.shape = {4}}, -77);
    ConvAttributes attributes;
    attributes.mask = {(mask & 1) != 0, (mask & 2) != 0, (mask & 4) != 0};
    TwoPhases call = ConvolutionBackward(dy, x, w, attributes, {&dx, &dw, &db});
    ASSERT_EQ(call.first, 0) << RecentMessage();
    ASSERT_EQ(call.Run(&aclnnConvolutionBackward, stream), 0) << RecentMessage();
    const DeviceTensor* results[] = {&dx, &dw, &db};
    for (int i = 0; i < 3; ++i) {
      const bool untouched = results[i]->Values() == Floats(results[i]->elements(), -77);
      EXPECT_EQ(untouched, !attributes.mask[i]) << "mask " << mask << ", output " << i;
    }
  }
}

TEST_F(PhasesTest, NothingSelectedNeedsNoWorkspace) {
  const DeviceTensor dy({.shape = y_shape_}, 1), x({.shape = x_shape_}, 1), w({.shape = w_shape_}, 1);
  ConvAttributes attributes;
  attributes.mask = {false, false, false};
  TwoPhases call = ConvolutionBackward(dy, x, w, attributes, {nullptr, nullptr, nullptr});
  ASSERT_EQ(call.first, 0) << RecentMessage();
  EXPECT_EQ(call.workspace_size, 0u);
  EXPECT_EQ(aclnnConvolutionBackward(nullptr, 0, call.executor, stream), 0);
  EXPECT_EQ(aclrtSynchronizeStream(stream), 0);
}

TEST_F(PhasesTest, TheSameCallAsksForTheSameWorkspace) {
  const DeviceTensor dy({.shape = y_shape_}, 1), x({.shape = x_shape_}, 1), w({.shape = w_shape_}, 1);
  const DeviceTensor dx({.shape = x_shape_}, 0), dw({.shape = w_shape_}, 0), db({.shape = {4}}, 0);
  TwoPhases first = ConvolutionBackward(dy, x, w, {}, {&dx, &dw, &db});
  TwoPhases second = ConvolutionBackward(dy, x, w, {}, {&dx, &dw, &db});
  ASSERT_EQ(first.first, 0) << RecentMessage();
  ASSERT_EQ(second.first, 0) << RecentMessage();
  EXPECT_EQ(first.workspace_size, second.workspace_size);
  EXPECT_EQ(first.Run(&aclnnConvolutionBackward, stream), 0);
  EXPECT_EQ(second.Run(&aclnnConvolutionBackward, stream), 0);
}

TEST_F(PhasesTest, HandlesMayGoAfterPhaseOne) {
  DeviceTensor dy({.shape = y_shape_}, 1), x({.shape = x_shape_}, 1), w({.shape = w_shape_}, 1);
  DeviceTensor dx({.shape = x_shape_}, -77), dw({.shape = w_shape_}, -77), db({.shape = {4}}, -77);
  TwoPhases call = ConvolutionBackward(dy, x, w, {}, {&dx, &dw, &db});
  ASSERT_EQ(call.first, 0) << RecentMessage();
  for (DeviceTensor* tensor : {&dy, &x, &w, &dx, &dw, &db}) tensor->DropHandle();
  ASSERT_EQ(call.Run(&aclnnConvolutionBackward, stream), 0) << RecentMessage();
  EXPECT_EQ(db.Values(), Floats(4, 18));
  EXPECT_EQ(dw.Values(), Floats(108, 18));
}

TEST_F(PhasesTest, PhaseOneReadsNoData) {
  void* forbidden = mmap(nullptr, 1 << 16, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(forbidden, MAP_FAILED);
  const auto tensor = [&](const Shape& shape, aclFormat format) {
    return aclCreateTensor(shape.data(), shape.size(), ACL_FLOAT, nullptr, 0, format, shape.data(), shape.size(),
                           forbidden);
  };
  aclTensor *x = tensor({5, 1, 2}, ACL_FORMAT_NCL), *w = tensor({1, 2, 2}, ACL_FORMAT_NCL),
            *b = tensor({2}, ACL_FORMAT_ND);
  uint64_t bytes = 0;
  aclOpExecutor* executor = nullptr;
  EXPECT_EQ(aclnnConvTbcBackwardGetWorkspaceSize(x, x, w, b, 0, 1, x, w, b, &bytes, &executor), 0) << RecentMessage();
  EXPECT_EQ(aclDestroyAclOpExecutor(executor), 0);
  EXPECT_EQ(aclnnConvTbcGetWorkspaceSize(x, w, b, 0, x, 1, &bytes, &executor), 0) << RecentMessage();
  EXPECT_EQ(aclDestroyAclOpExecutor(executor), 0);
  for (aclTensor* handle : {x, w, b}) aclDestroyTensor(handle);
  munmap(forbidden, 1 << 16);
}

TEST_F(PhasesTest, MissingDataIsRefusedInPhaseTwoOnly) {
  const Shape shape{5, 1, 2}, weight_shape{1, 2, 2};
  const DeviceTensor x({.shape = shape}, 1), w({.shape = weight_shape}, 1), b({.shape = {2}}, 1),
      y({.shape = shape}, -77);
  aclTensor* hollow = aclCreateTensor(shape.data(), 3, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, shape.data(), 3, nullptr);
  TwoPhases call;
  call.first =
      aclnnConvTbcGetWorkspaceSize(hollow, w.get(), b.get(), 0, y.get(), 0, &call.workspace_size, &call.executor);
  ASSERT_EQ(call.first, 0) << RecentMessage();
  EXPECT_EQ(call.Run(&aclnnConvTbc, stream), 161001);
  EXPECT_NE(RecentMessage().find("aclnnConvTbc: self data: was NULL"), std::string::npos);
  EXPECT_EQ(y.Values(), Floats(10, -77));
  aclDestroyTensor(hollow);
}

TEST_F(PhasesTest, AnotherOperatorsExecutorIsRefused) {
  const DeviceTensor dy({.shape = y_shape_}, 1), x({.shape = x_shape_}, 1), w({.shape = w_shape_}, 1);
  const DeviceTensor dx({.shape = x_shape_}, -77), dw({.shape = w_shape_}, -77), db({.shape = {4}}, -77);
  const TwoPhases::PhaseTwo others[] = {&aclnnConvTbcBackward, &aclnnConvolution, &aclnnConvTbc, &aclnnConvDepthwise2d};
  const char* const names[] = {
      "aclnnConvTbcBackward: ", "aclnnConvolution: ", "aclnnConvTbc: ", "aclnnConvDepthwise2d: "};
  for (int i = 0; i < 4; ++i) {
    TwoPhases call = ConvolutionBackward(dy, x, w, {}, {&dx, &dw, &db});
    ASSERT_EQ(call.first, 0) << RecentMessage();
    EXPECT_EQ(call.Run(others[i], stream), 561000);
    const std::string message = RecentMessage();
    EXPECT_NE(message.find(names[i]), std::string::npos) << message;
    EXPECT_NE(message.find("made by aclnnConvolutionBackwardGetWorkspaceSize"), std::string::npos) << message;
  }
  EXPECT_EQ(db.Values(), Floats(4, -77));
}

TEST_F(PhasesTest, BiasOfTbcBackwardIsNeverRead) {
  const Shape shape{5, 1, 2}, bias_shape{2};
  const DeviceTensor x({.shape = shape}, 1), w({.shape = {1, 2, 2}}, 1);
  const DeviceTensor dx({.shape = shape}, 0), dw({.shape = {1, 2, 2}}, 0), db({.shape = bias_shape}, 0);
  for (void* data : {static_cast<void*>(nullptr), reinterpret_cast<void*>(8)}) {
    aclTensor* bias =
        aclCreateTensor(bias_shape.data(), 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, bias_shape.data(), 1, data);
    TwoPhases call;
    call.first = aclnnConvTbcBackwardGetWorkspaceSize(x.get(), x.get(), w.get(), bias, 0, 0, dx.get(), dw.get(),
                                                      db.get(), &call.workspace_size, &call.executor);
    ASSERT_EQ(call.first, 0) << RecentMessage();
    EXPECT_EQ(call.Run(&aclnnConvTbcBackward, stream), 0) << RecentMessage();
    aclDestroyTensor(bias);
  }
  EXPECT_EQ(db.Values(), (Floats{5, 5}));
}

// `count` floats of device memory as a tensor of `shape`.
struct Loose {
  Loose(size_t count, const Shape& shape, const Shape& strides, int64_t offset, int64_t skip = 0) {
    aclrtMalloc(&data, count * sizeof(float), ACL_MEM_MALLOC_HUGE_FIRST);
    handle = aclCreateTensor(shape.data(), shape.size(), ACL_FLOAT, strides.empty() ? nullptr : strides.data(), offset,
                             ACL_FORMAT_ND, shape.data(), shape.size(), static_cast<float*>(data) + skip);
  }
  ~Loose() {
    aclDestroyTensor(handle);
    aclrtFree(data);
  }
  void* data = nullptr;
  aclTensor* handle = nullptr;
};

TEST_F(PhasesTest, AViewBeyondItsBlockIsRefused) {
  const DeviceTensor w({.shape = {1, 2, 2}}, 1), b({.shape = {2}}, 1), y({.shape = {5, 1, 2}}, 0);
  const Shape shape{5, 1, 2};
  const auto phase_one = [&](const Loose& self) {
    uint64_t bytes = 777;
    aclOpExecutor* executor = nullptr;
    const aclnnStatus status =
        aclnnConvTbcGetWorkspaceSize(self.handle, w.get(), b.get(), 0, y.get(), 0, &bytes, &executor);
    EXPECT_EQ(status != 0, bytes == 777 && executor == nullptr);
    if (status == 0) aclDestroyAclOpExecutor(executor);
    return status;
  };
  EXPECT_EQ(phase_one(Loose(10, shape, {}, 0)), 0) << RecentMessage();
  EXPECT_EQ(phase_one(Loose(9, shape, {}, 0)), 161002);
  EXPECT_NE(RecentMessage().find("self data"), std::string::npos);
  EXPECT_EQ(phase_one(Loose(13, shape, {}, 3)), 0) << RecentMessage();
  EXPECT_EQ(phase_one(Loose(12, shape, {}, 3)), 161002);
  EXPECT_EQ(phase_one(Loose(10, shape, {}, -3)), 161002);
  EXPECT_EQ(phase_one(Loose(13, shape, {}, -3, 3)), 0) << RecentMessage();
  EXPECT_EQ(phase_one(Loose(10, shape, {-2, 2, 1}, 8)), 0) << RecentMessage();
  EXPECT_EQ(phase_one(Loose(10, shape, {-2, 2, 1}, 7)), 161002);
  EXPECT_EQ(phase_one(Loose(2, shape, {0, 0, 1}, 0)), 0) << RecentMessage();
  EXPECT_EQ(phase_one(Loose(1, shape, {0, 0, 1}, 0)), 161002);
  EXPECT_EQ(phase_one(Loose(18, shape, {4, 1, 1}, 0)), 0) << RecentMessage();
  EXPECT_EQ(phase_one(Loose(17, shape, {4, 1, 1}, 0)), 161002);
}

TEST_F(PhasesTest, WhatIsNotReadMayLieAnywhere) {
  // Only the bias gradient is wanted: input and weight point nowhere.
  const DeviceTensor dy({.shape = y_shape_}, 1), db({.shape = {4}}, -77);
  const Loose x(1, x_shape_, {}, 0), w(1, w_shape_, {}, 0);
  const auto retagged = [](const Shape& shape, void* data) {
    return aclCreateTensor(shape.data(), 4, ACL_FLOAT, nullptr, 0, ACL_FORMAT_NCHW, shape.data(), 4, data);
  };
  aclTensor *xt = retagged(x_shape_, x.data), *wt = retagged(w_shape_, nullptr);
  TwoPhases call;
  call.first = aclnnConvolutionBackwardGetWorkspaceSize(
      dy.get(), xt, wt, nullptr, IntArray({1, 1}), IntArray({0, 0}), IntArray({1, 1}), false, IntArray({0, 0}), 1,
      BoolArray(false, false, true), 0, nullptr, nullptr, db.get(), &call.workspace_size, &call.executor);
  ASSERT_EQ(call.first, 0) << RecentMessage();
  EXPECT_EQ(call.Run(&aclnnConvolutionBackward, stream), 0) << RecentMessage();
  EXPECT_EQ(db.Values(), Floats(4, 18));
  aclDestroyTensor(xt);
  aclDestroyTensor(wt);
}

TEST_F(PhasesTest, HostMemoryWorksToo) {
  const Shape shape{5, 1, 2}, weight_shape{1, 2, 2};
  Floats x(10, 1), w(4, 1), y(10, -77);
  const DeviceTensor b({.shape = {2}}, 0);
  const auto tensor = [](const Shape& s, Floats* data) {
    return aclCreateTensor(s.data(), 3, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, s.data(), 3, data->data());
  };
  aclTensor *xt = tensor(shape, &x), *wt = tensor(weight_shape, &w), *yt = tensor(shape, &y);
  TwoPhases call;
  call.first = aclnnConvTbcGetWorkspaceSize(xt, wt, b.get(), 0, yt, 0, &call.workspace_size, &call.executor);
  ASSERT_EQ(call.first, 0) << RecentMessage();
  EXPECT_EQ(call.Run(&aclnnConvTbc, stream), 0);
  EXPECT_EQ(y, Floats(10, 2));
  for (aclTensor* handle : {xt, wt, yt}) aclDestroyTensor(handle);
}

TEST_F(PhasesTest, DeformableConvolutionIsNotOffered) {
  uint64_t bytes = 777;
  aclOpExecutor* executor = nullptr;
  const auto phase_one = [&](uint64_t* size, aclOpExecutor** handle) {
    return aclnnDeformableConv2dBackwardGetWorkspaceSize(nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr,
                                                         nullptr, nullptr, 1, 1, true, nullptr, nullptr, nullptr,
                                                         nullptr, size, handle);
  };
  EXPECT_EQ(phase_one(nullptr, &executor), 161001);
  EXPECT_EQ(phase_one(&bytes, nullptr), 161001);
  RecentMessage();
  EXPECT_EQ(phase_one(&bytes, &executor), 161002);
  EXPECT_NE(RecentMessage().find("aclnnDeformableConv2dBackward"), std::string::npos);
  EXPECT_EQ(bytes, 777u);
  EXPECT_EQ(executor, nullptr);
  EXPECT_EQ(aclnnDeformableConv2dBackward(nullptr, 0, nullptr, stream), 161002);
}

}  // namespace
}  // namespace canopy::tests
