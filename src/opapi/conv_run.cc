// SPDX-License-Identifier: Apache-2.0
#include "opapi/conv_run.h"

#include <chrono>

#include "base/log.h"
#include "conv/work.h"
#include "exec/peak.h"
#include "opapi/dtypes.h"
#include "opapi/require.h"
#include "opapi/text.h"
#include "opapi/zero_fill.h"

namespace canopy::opapi {
namespace {

void* AddressIn(const nnopbase::TensorAddresses& addresses, int slot, int64_t offset_bytes) {
  void* base = addresses[slot];
  return base == nullptr ? nullptr : static_cast<char*>(base) + offset_bytes;
}

}  // namespace

ConvRun::ConvRun(const char* operator_name, const Lowered& lowered, std::shared_ptr<const conv::Plan> plan,
                 std::string text)
    : operator_name_(operator_name),
      plan_(std::move(plan)),
      text_(std::move(text)),
      slot_count_(lowered.binding_count),
      useful_flops_(text_.empty() ? 0 : 2 * conv::UsefulMultiplyAdds(lowered.problem)) {
  for (int i = 0; i < slot_count_; ++i) {
    const TensorArgument& tensor = *lowered.bindings[i].tensor;
    const int64_t bytes = numerics::ElementBytes(ToDType(tensor.view.dtype));
    const int64_t offset = tensor.empty() ? 0 : tensor.view.offset * bytes;  // an empty view's may be anything
    slots_[i] = {tensor.name, lowered.bindings[i].role, offset, !tensor.empty()};
    if (slots_[i].role == Role::kZeros) zeros_.push_back({i, tensor.view});
  }
}

base::Status ConvRun::Check(const nnopbase::TensorAddresses& addresses) const {
  for (int i = 0; i < slot_count_; ++i) {
    if (!slots_[i].has_elements || addresses[i] != nullptr) continue;
    return Refuse(Text(operator_name_, ": ", slots_[i].name, " data"), "NULL",
                  "an address, for the tensor has elements", kNullPointer);
  }
  return {};
}

void ConvRun::Compute(void* workspace, const nnopbase::TensorAddresses& addresses, bool saturate) const noexcept {
  if (plan_ != nullptr) {
    conv::Buffers buffers;
    for (int i = 0; i < slot_count_; ++i) {
      SetBuffer(slots_[i].role, AddressIn(addresses, i, slots_[i].offset_bytes), &buffers);
    }
    conv::Run(*plan_, buffers, workspace, saturate);
  }
  for (const Zeros& zeros : zeros_) {
    FillZeros(zeros.view, numerics::ElementBytes(ToDType(zeros.view.dtype)),
              AddressIn(addresses, zeros.slot, slots_[zeros.slot].offset_bytes));
  }
}

void ConvRun::Print(double seconds) const {
  // The first line pays for measuring the peak, after its own time was taken.
  const double peak = exec::PeakFlopsOfAThread() * (plan_ == nullptr ? 1 : conv::ThreadCount(*plan_));
  const double rate = seconds > 0 ? useful_flops_ / seconds : 0;
  base::VerboseLine("%s %.3f ms %.1f GFLOP/s %.1f%% of peak", text_.c_str(), seconds * 1e3, rate * 1e-9,
                    100 * rate / peak);
}

int ConvRun::Run(void* workspace, const nnopbase::TensorAddresses& addresses, bool saturate) const noexcept {
  if (base::Verbosity() == 0) {
    Compute(workspace, addresses, saturate);
    return 0;
  }
  const auto begin = std::chrono::steady_clock::now();
  Compute(workspace, addresses, saturate);
  Print(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  return 0;
}

}  // namespace canopy::opapi
