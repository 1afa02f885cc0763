// SPDX-License-Identifier: Apache-2.0
#include "tests/opapi/device.h"

#include <algorithm>
#include <cstring>

#include "numerics/rounding.h"
#include "opapi/dtypes.h"

namespace canopy::tests {
namespace {

constexpr unsigned char kPattern = 0xA5;

aclFormat UsualFormat(size_t rank) {
  constexpr aclFormat kFormats[] = {ACL_FORMAT_NCL, ACL_FORMAT_NCHW, ACL_FORMAT_NCDHW};
  return rank < 3 ? ACL_FORMAT_ND : kFormats[rank - 3];
}

std::vector<int64_t> Contiguous(const std::vector<int64_t>& shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t axis = shape.size(); axis-- > 1;) strides[axis - 1] = strides[axis] * shape[axis];
  return strides;
}

}  // namespace

aclrtStream DeviceTest::stream = nullptr;

void DeviceTest::SetUpTestSuite() {
  aclInit(nullptr);
  ASSERT_EQ(aclrtSetDevice(0), 0);
  ASSERT_EQ(aclrtCreateStream(&stream), 0);
}

void DeviceTest::TearDownTestSuite() {
  aclrtDestroyStream(stream);
  aclrtResetDevice(0);
  aclFinalize();
}

template <class F>
void DeviceTensor::ForEachElement(const F& f) const {
  const int64_t bytes = numerics::ElementBytes(opapi::ToDType(form_.dtype));
  std::vector<int64_t> index(form_.shape.size(), 0);
  for (int64_t count = elements(), i = 0; i < count; ++i) {
    int64_t offset = form_.offset;
    for (size_t axis = 0; axis < index.size(); ++axis) offset += index[axis] * form_.strides[axis];
    f(i, static_cast<char*>(data_) + offset * bytes);
    for (size_t axis = index.size(); axis-- > 0;) {
      if (++index[axis] < form_.shape[axis]) break;
      index[axis] = 0;
    }
  }
}

DeviceTensor::DeviceTensor(const TensorForm& form, const std::vector<float>& values) : form_(form) {
  if (form_.strides.empty()) form_.strides = Contiguous(form_.shape);
  if (form_.format == ACL_FORMAT_UNDEFINED) form_.format = UsualFormat(form_.shape.size());
  int64_t last = form_.offset;
  for (size_t axis = 0; axis < form_.shape.size(); ++axis) {
    last += std::max<int64_t>(0, (form_.shape[axis] - 1) * form_.strides[axis]);
  }
  storage_elements_ = last + 1;
  const numerics::DType dtype = opapi::ToDType(form_.dtype);
  const size_t bytes = static_cast<size_t>(storage_elements_ * numerics::ElementBytes(dtype));
  if (aclrtMalloc(&data_, bytes, ACL_MEM_MALLOC_HUGE_FIRST) != 0) throw std::bad_alloc();
  std::memset(data_, kPattern, bytes);
  ForEachElement([&](int64_t i, char* at) { numerics::StoreElement(at, dtype, values.at(i), false); });
  handle_ = aclCreateTensor(form_.shape.data(), form_.shape.size(), form_.dtype, form_.strides.data(), form_.offset,
                            form_.format, &storage_elements_, 1, data_);
}

DeviceTensor::DeviceTensor(const TensorForm& form, float value)
    : DeviceTensor(form, std::vector<float>(
                             [&] {
                               size_t count = 1;
                               for (int64_t extent : form.shape) count *= static_cast<size_t>(extent);
                               return count;
                             }(),
                             value)) {}

DeviceTensor::DeviceTensor(DeviceTensor&& other) noexcept
    : form_(other.form_),
      storage_elements_(other.storage_elements_),
      data_(std::exchange(other.data_, nullptr)),
      handle_(std::exchange(other.handle_, nullptr)) {}

DeviceTensor::~DeviceTensor() {
  DropHandle();
  if (data_ != nullptr) aclrtFree(data_);
}

void DeviceTensor::DropHandle() { aclDestroyTensor(std::exchange(handle_, nullptr)); }

int64_t DeviceTensor::elements() const {
  int64_t count = 1;
  for (int64_t extent : form_.shape) count *= extent;
  return count;
}

std::vector<float> DeviceTensor::Values() const {
  std::vector<float> values(static_cast<size_t>(elements()));
  const numerics::DType dtype = opapi::ToDType(form_.dtype);
  ForEachElement([&](int64_t i, const char* at) { values[i] = numerics::LoadElement(at, dtype); });
  return values;
}

bool DeviceTensor::SurroundingsUntouched() const {
  const int64_t bytes = numerics::ElementBytes(opapi::ToDType(form_.dtype));
  const auto* all = static_cast<const unsigned char*>(data_);
  std::vector<bool> ours(static_cast<size_t>(storage_elements_ * bytes), false);
  ForEachElement([&](int64_t, const char* at) {
    for (int64_t i = 0; i < bytes; ++i) ours[reinterpret_cast<const unsigned char*>(at) - all + i] = true;
  });
  for (size_t i = 0; i < ours.size(); ++i) {
    if (!ours[i] && all[i] != kPattern) return false;
  }
  return true;
}

std::string RecentMessage() {
  const char* message = aclGetRecentErrMsg();
  return message == nullptr ? "" : message;
}

aclnnStatus TwoPhases::Run(PhaseTwo phase_two, aclrtStream stream) {
  void* workspace = nullptr;
  if (workspace_size > 0 && aclrtMalloc(&workspace, workspace_size, ACL_MEM_MALLOC_HUGE_FIRST) != 0) return -1;
  aclnnStatus status = phase_two(workspace, workspace_size, std::exchange(executor, nullptr), stream);
  if (status == 0) status = aclrtSynchronizeStream(stream);
  if (workspace != nullptr) aclrtFree(workspace);
  return status;
}

}  // namespace canopy::tests
