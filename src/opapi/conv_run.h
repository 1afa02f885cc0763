// SPDX-License-Identifier: Apache-2.0
// What every operator here does when it runs: a plan of the engine, and results that are zeros.
#ifndef CANOPY_OPAPI_CONV_RUN_H_
#define CANOPY_OPAPI_CONV_RUN_H_

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "conv/conv.h"
#include "nnopbase/executor.h"
#include "opapi/lowered.h"

namespace canopy::opapi {

// Binding i of the lowered call is tensor i of the executor.
class ConvRun final : public nnopbase::OperatorRun {
 public:
  // `plan` is nullptr where the engine has nothing to do. `text` is what CANOPY_VERBOSE prints of the call.
  // REQUIRES: `operator_name` lives for ever.
  ConvRun(const char* operator_name, const Lowered& lowered, std::shared_ptr<const conv::Plan> plan, std::string text);

  base::Status Check(const nnopbase::TensorAddresses& addresses) const override;
  int Run(void* workspace, const nnopbase::TensorAddresses& addresses, bool saturate) const noexcept override;

 private:
  struct Slot {
    const char* name = "";
    Role role = Role::kZeros;
    int64_t offset_bytes = 0;  // to element (0, 0, ...)
    bool has_elements = false;
  };
  struct Zeros {
    int slot;
    nnopbase::TensorView view;
  };

  // The line of CANOPY_VERBOSE: the call, then how fast it was.
  void Print(double seconds) const;
  void Compute(void* workspace, const nnopbase::TensorAddresses& addresses, bool saturate) const noexcept;

  const char* const operator_name_;
  const std::shared_ptr<const conv::Plan> plan_;
  const std::string text_;
  std::array<Slot, kMaxBindings> slots_;
  int slot_count_;
  std::vector<Zeros> zeros_;
  const double useful_flops_;  // 0 where nothing is printed
};

}  // namespace canopy::opapi

#endif  // CANOPY_OPAPI_CONV_RUN_H_
