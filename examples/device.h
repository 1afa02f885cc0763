// SPDX-License-Identifier: Apache-2.0
// What the examples share: a device with its stream and workspace, and tensors that own their device memory. Only
// CANN's public calls are underneath; conv_2d.cc spells the same steps out.
#ifndef EXAMPLES_DEVICE_H_
#define EXAMPLES_DEVICE_H_

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "acl/acl.h"
#include "aclnn/acl_meta.h"

namespace example {

using Shape = std::vector<int64_t>;

// Ends the program on a refusal, with the library's own words.
inline void Must(int status, const char* what) {
  if (status == ACL_SUCCESS) return;
  const char* message = aclGetRecentErrMsg();
  std::printf("%s failed with %d: %s\n", what, status, message != nullptr ? message : "(no message)");
  std::exit(1);
}

inline int64_t ElementCount(const Shape& shape) {
  int64_t count = 1;
  for (int64_t extent : shape) count *= extent;
  return count;
}

class Device {
 public:
  using PhaseTwo = aclnnStatus (*)(void*, uint64_t, aclOpExecutor*, aclrtStream);

  Device() {
    Must(aclInit(nullptr), "aclInit");
    Must(aclrtSetDevice(0), "aclrtSetDevice");
    Must(aclrtCreateStream(&stream_), "aclrtCreateStream");
  }
  ~Device() {
    if (workspace_ != nullptr) aclrtFree(workspace_);
    aclrtDestroyStream(stream_);
    aclrtResetDevice(0);
    aclFinalize();
  }
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  // Queues an operator. All share one workspace: a stream runs them one after the other.
  void Launch(PhaseTwo phase_two, uint64_t workspace_bytes, aclOpExecutor* executor, const char* what) {
    if (workspace_bytes > workspace_bytes_) {
      Wait();  // earlier operators may be using the old one
      if (workspace_ != nullptr) Must(aclrtFree(workspace_), "aclrtFree");
      Must(aclrtMalloc(&workspace_, workspace_bytes, ACL_MEM_MALLOC_HUGE_FIRST), "aclrtMalloc of the workspace");
      workspace_bytes_ = workspace_bytes;
    }
    Must(phase_two(workspace_, workspace_bytes, executor, stream_), what);
  }

  void Wait() { Must(aclrtSynchronizeStream(stream_), "aclrtSynchronizeStream"); }

 private:
  aclrtStream stream_ = nullptr;
  void* workspace_ = nullptr;
  uint64_t workspace_bytes_ = 0;
};

// A contiguous FLOAT tensor and its device memory.
class Tensor {
 public:
  Tensor(const Shape& shape, aclFormat format) : shape_(shape), count_(ElementCount(shape)) {
    Must(aclrtMalloc(&data_, count_ * sizeof(float), ACL_MEM_MALLOC_HUGE_FIRST), "aclrtMalloc");
    handle_ =
        aclCreateTensor(shape.data(), shape.size(), ACL_FLOAT, nullptr, 0, format, shape.data(), shape.size(), data_);
    Must(handle_ != nullptr ? ACL_SUCCESS : ACL_ERROR_FAILURE, "aclCreateTensor");
  }
  Tensor(const Shape& shape, aclFormat format, const std::vector<float>& values) : Tensor(shape, format) {
    Write(values);
  }
  ~Tensor() {
    aclDestroyTensor(handle_);
    aclrtFree(data_);
  }
  Tensor(const Tensor&) = delete;
  Tensor& operator=(const Tensor&) = delete;

  void Write(const std::vector<float>& values) {
    const size_t bytes = values.size() * sizeof(float);
    Must(aclrtMemcpy(data_, count_ * sizeof(float), values.data(), bytes, ACL_MEMCPY_HOST_TO_DEVICE), "aclrtMemcpy");
  }
  // REQUIRES: Device::Wait since the tensor was last an output.
  std::vector<float> Read() const {
    std::vector<float> values(count_);
    const size_t bytes = values.size() * sizeof(float);
    Must(aclrtMemcpy(values.data(), bytes, data_, bytes, ACL_MEMCPY_DEVICE_TO_HOST), "aclrtMemcpy");
    return values;
  }

  aclTensor* get() const { return handle_; }
  const Shape& shape() const { return shape_; }

 private:
  Shape shape_;
  int64_t count_;
  void* data_ = nullptr;
  aclTensor* handle_ = nullptr;
};

class IntArray {
 public:
  explicit IntArray(const std::vector<int64_t>& values) : handle_(aclCreateIntArray(values.data(), values.size())) {}
  ~IntArray() { aclDestroyIntArray(handle_); }
  IntArray(const IntArray&) = delete;
  IntArray& operator=(const IntArray&) = delete;
  aclIntArray* get() const { return handle_; }

 private:
  aclIntArray* handle_;
};

// Which of gradInput, gradWeight and gradBias to compute.
class OutputMask {
 public:
  OutputMask(bool input, bool weight, bool bias) {
    const bool values[] = {input, weight, bias};
    handle_ = aclCreateBoolArray(values, 3);
  }
  ~OutputMask() { aclDestroyBoolArray(handle_); }
  OutputMask(const OutputMask&) = delete;
  OutputMask& operator=(const OutputMask&) = delete;
  aclBoolArray* get() const { return handle_; }

 private:
  aclBoolArray* handle_;
};

// Prints a result beside a person's own figures for it; whether they agree.
inline bool Show(const char* name, const Tensor& tensor, const std::vector<float>& expected) {
  const std::vector<float> values = tensor.Read();
  std::printf("%-11s", name);
  for (float value : values) std::printf(" %g", value);
  std::printf("  %s\n", values == expected ? "as expected" : "WRONG");
  return values == expected;
}

}  // namespace example

#endif  // EXAMPLES_DEVICE_H_
