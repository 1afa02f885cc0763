// SPDX-License-Identifier: Apache-2.0
// Tensors and calls as a program has them: device memory, handles, two phases, a stream.
#ifndef CANOPY_TESTS_OPAPI_DEVICE_H_
#define CANOPY_TESTS_OPAPI_DEVICE_H_

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "acl/acl.h"
#include "aclnn/acl_meta.h"

namespace canopy::tests {

// Sets the device up for a test program and gives its stream.
class DeviceTest : public testing::Test {
 protected:
  static void SetUpTestSuite();
  static void TearDownTestSuite();
  void SetUp() override { aclGetRecentErrMsg(); }

  static aclrtStream stream;
};

struct TensorForm {
  std::vector<int64_t> shape;
  aclDataType dtype = ACL_FLOAT;
  aclFormat format = ACL_FORMAT_UNDEFINED;  // the usual one of the rank: ND, NCL, NCHW, NCDHW
  std::vector<int64_t> strides{};           // contiguous
  int64_t offset = 0;
};

// A tensor with memory of its own, which holds a pattern wherever no element of the view lies.
class DeviceTensor {
 public:
  DeviceTensor(const TensorForm& form, const std::vector<float>& values);
  DeviceTensor(const TensorForm& form, float value);
  DeviceTensor(DeviceTensor&& other) noexcept;
  DeviceTensor(const DeviceTensor&) = delete;
  ~DeviceTensor();

  aclTensor* get() const { return handle_; }
  void* data() const { return data_; }
  int64_t elements() const;
  // The elements in the order of the view.
  std::vector<float> Values() const;
  // Destroys the handle only.
  void DropHandle();
  // Whether all memory outside the view still holds the pattern.
  bool SurroundingsUntouched() const;
  // Whether all memory does.
  bool Untouched(const std::vector<float>& values) const { return Values() == values && SurroundingsUntouched(); }

 private:
  template <class F>
  void ForEachElement(const F& f) const;

  TensorForm form_;
  int64_t storage_elements_ = 0;
  void* data_ = nullptr;
  aclTensor* handle_ = nullptr;
};

// An aclIntArray or aclBoolArray for the length of a statement or a scope.
class IntArray {
 public:
  IntArray(const std::vector<int64_t>& values) : handle_(aclCreateIntArray(values.data(), values.size())) {}  // NOLINT
  IntArray(const IntArray&) = delete;
  ~IntArray() { aclDestroyIntArray(handle_); }
  const aclIntArray* get() const { return handle_; }
  operator const aclIntArray*() const { return handle_; }  // NOLINT: passes where a handle is wanted

 private:
  aclIntArray* handle_;
};

class BoolArray {
 public:
  BoolArray(bool a, bool b, bool c) {
    const bool values[] = {a, b, c};
    handle_ = aclCreateBoolArray(values, 3);
  }
  BoolArray(const BoolArray&) = delete;
  ~BoolArray() { aclDestroyBoolArray(handle_); }
  operator const aclBoolArray*() const { return handle_; }  // NOLINT

 private:
  aclBoolArray* handle_;
};

std::string RecentMessage();

// What phase 1 left behind, and phase 2 with a workspace of exactly the size that it asked for.
struct TwoPhases {
  using PhaseTwo = aclnnStatus (*)(void*, uint64_t, aclOpExecutor*, aclrtStream);

  aclnnStatus first = -1;
  uint64_t workspace_size = 12345;
  aclOpExecutor* executor = nullptr;

  // Runs phase 2 and waits. The executor is used up.
  aclnnStatus Run(PhaseTwo phase_two, aclrtStream stream);
};

}  // namespace canopy::tests

#endif  // CANOPY_TESTS_OPAPI_DEVICE_H_
