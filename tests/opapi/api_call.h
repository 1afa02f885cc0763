// SPDX-License-Identifier: Apache-2.0
// Arguments turned back into handles and passed through the C functions.
#ifndef CANOPY_TESTS_OPAPI_API_CALL_H_
#define CANOPY_TESTS_OPAPI_API_CALL_H_

#include <map>
#include <string>
#include <vector>

#include "aclnn/acl_meta.h"
#include "tests/opapi/rule_table.h"

namespace canopy::tests {

// Living, destroyed or NULL handles as the arguments' states say. Tensors have no data.
class Handles {
 public:
  explicit Handles(const ArgumentTable& table);
  Handles(const Handles&) = delete;
  ~Handles();

  aclTensor* tensor(const opapi::TensorArgument& argument) const { return tensors_.at(argument.name); }
  aclIntArray* array(const opapi::IntArrayArgument& argument) const { return int_arrays_.at(argument.name); }
  aclBoolArray* mask() const { return mask_; }

 private:
  void AddTensor(const opapi::TensorArgument& argument);
  void AddArray(const opapi::IntArrayArgument& argument);
  void AddMask(const opapi::BoolArrayArgument& argument);

  std::map<std::string, aclTensor*> tensors_;
  std::map<std::string, aclIntArray*> int_arrays_;
  aclBoolArray* mask_ = nullptr;
  std::vector<aclTensor*> living_tensors_;
  std::vector<aclIntArray*> living_arrays_;
  bool mask_lives_ = false;
};

aclnnStatus PhaseOneOf(opapi::convolution_backward::Arguments* a, uint64_t* workspace_size, aclOpExecutor** executor);
aclnnStatus PhaseOneOf(opapi::conv_tbc_backward::Arguments* a, uint64_t* workspace_size, aclOpExecutor** executor);
aclnnStatus PhaseOneOf(opapi::convolution::Arguments* a, uint64_t* workspace_size, aclOpExecutor** executor);
aclnnStatus PhaseOneOf(opapi::conv_tbc::Arguments* a, uint64_t* workspace_size, aclOpExecutor** executor);
aclnnStatus PhaseOneOf(opapi::conv_depthwise2d::Arguments* a, uint64_t* workspace_size, aclOpExecutor** executor);

}  // namespace canopy::tests

#endif  // CANOPY_TESTS_OPAPI_API_CALL_H_
