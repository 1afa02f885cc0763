// SPDX-License-Identifier: Apache-2.0
#include "bench/shared_data.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "tools/tensor_data.h"

namespace canopy::bench {
namespace {

using conv::CallTensor;

constexpr uint64_t kPage = 4096;

[[noreturn]] void Fail(const std::string& what) { throw std::runtime_error(what + ": " + std::strerror(errno)); }

}  // namespace

SharedData::SharedData(const conv::Call& call, uint64_t seed) : case_(tools::CaseOfCall(call)) {
  LayOut();
  file_ = memfd_create("canopy-bench", MFD_CLOEXEC);
  if (file_ < 0) Fail("memory that processes share");
  if (ftruncate(file_, static_cast<off_t>(bytes_)) != 0) Fail("memory that processes share");
  path_ = "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(file_);
  Map(file_);
  for (int i = 0; i < conv::kCallTensors; ++i) {
    const CallTensor tensor = static_cast<CallTensor>(i);
    const tools::TensorSpec& spec = case_.tensors[i];
    if (!spec.present || tools::IsOutput(tensor)) continue;
    tools::WriteView(spec, tools::DrawValues(spec, tools::MixKey(seed, conv::CallTensorName(tensor))), storage(tensor));
  }
  ClearResults();
}

SharedData::SharedData(const conv::Call& call, const std::string& path) : case_(tools::CaseOfCall(call)), path_(path) {
  LayOut();
  const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) Fail(path);
  Map(file);
  close(file);
}

SharedData::~SharedData() {
  if (base_ != nullptr) munmap(base_, bytes_);
  if (file_ >= 0) close(file_);
}

void SharedData::LayOut() {
  for (int i = 0; i < conv::kCallTensors; ++i) {
    const tools::TensorSpec& spec = case_.tensors[i];
    if (!spec.present) continue;
    places_[i] = {bytes_, tools::StorageElements(spec) * aclDataTypeSize(spec.dtype)};
    bytes_ += (places_[i].bytes + kPage - 1) / kPage * kPage;
  }
}

void SharedData::Map(int file) {
  void* mapped = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (mapped == MAP_FAILED) Fail("memory that processes share");
  base_ = static_cast<char*>(mapped);
}

void SharedData::ClearResults() {
  for (const CallTensor output : tools::WantedOutputs(case_)) {
    const tools::TensorSpec& spec = case_.tensor(output);
    if (spec.present) tools::FillWithNan(spec, storage(output));
  }
}

std::vector<float> SharedData::Read(CallTensor tensor) const {
  return tools::ReadView(case_.tensor(tensor), storage(tensor));
}

}  // namespace canopy::bench
