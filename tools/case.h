// SPDX-License-Identifier: Apache-2.0
// A case: one operator call with every tensor and attribute spelt out, what its data are drawn from, and what must
// come of it. All kinds of lists become cases; running, reference and judging see nothing else.
#ifndef CANOPY_TOOLS_CASE_H_
#define CANOPY_TOOLS_CASE_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "acl/acl.h"
#include "conv/call_text.h"
#include "numerics/dtype.h"

namespace canopy::tools {

using conv::CallOp;
using conv::CallTensor;
using conv::kCallTensors;
using Extents = std::vector<int64_t>;

// What an input's elements are drawn from, element by element.
struct DataSpec {
  enum class Kind {
    kUniform,   // [low, high]; an infinite end stands for any value up to it; low == high, NaN too, is a constant
    kNormal,    // mean low, deviation high
    kIntegers,  // whole numbers of [low, high]
  };
  Kind kind = Kind::kUniform;
  double low = -1;
  double high = 1;
  double special = 0;  // this fraction of the elements is Inf, -Inf or NaN instead
};

struct TensorSpec {
  bool present = false;  // absent: a null pointer is passed
  Extents shape;
  aclDataType dtype = ACL_FLOAT;
  aclFormat format = ACL_FORMAT_ND;
  Extents strides;  // empty: contiguous, and NULL is passed
  int64_t offset = 0;
  Extents storage;  // empty: as far as the view reaches
  DataSpec data;
};

// Attributes as the operators have them; nullopt is a null pointer.
struct Attributes {
  std::optional<Extents> bias_sizes;
  std::optional<Extents> stride;
  std::optional<Extents> padding;
  std::optional<Extents> dilation;
  std::optional<Extents> output_padding;
  std::optional<std::vector<bool>> mask;
  std::optional<Extents> kernel_size;
  bool transposed = false;
  int64_t groups = 1;
  int64_t pad = 0;
  int cube_math_type = 0;
};

// At most bad_fraction of the elements may be off by more than both bounds.
struct Tolerance {
  double relative = 0;
  double absolute = 0;
  double bad_fraction = 0;
};

struct Case {
  std::string id;
  std::string text;         // the line that this case came from, where it was a line of text
  std::string soc;          // the product that it is for; empty: any
  bool only_files = false;  // two .npy files: there is no call
  CallOp op = CallOp::kConvBackward;
  std::array<TensorSpec, kCallTensors> tensors;
  Attributes attributes;
  std::vector<CallTensor> compare;  // outputs whose numbers count
  std::array<std::optional<Tolerance>, kCallTensors> tolerances;
  std::vector<int> statuses{0};  // what phase 1 may return; the first is the expected one

  TensorSpec& tensor(CallTensor tensor) { return tensors[static_cast<int>(tensor)]; }
  const TensorSpec& tensor(CallTensor tensor) const { return tensors[static_cast<int>(tensor)]; }
};

bool IsTbc(CallOp op);
bool IsBackward(CallOp op);
bool IsOutput(CallTensor tensor);
// Outputs that the operator computes in this case: those of its mask.
std::vector<CallTensor> WantedOutputs(const Case& a_case);

// "aclnnConvolutionBackward" and so on.
const char* FunctionName(CallOp op);
// "gradInput", "self", ...: the parameter's name in the operator's header.
const char* ParameterName(CallOp op, CallTensor tensor);

// "FLOAT", "BF16", ...
const char* TypeName(aclDataType dtype);
aclDataType ToAclType(numerics::DType dtype);
// False: not a type that the oracle computes with.
bool ToDType(aclDataType dtype, numerics::DType* result);

int64_t Volume(const Extents& shape);
Extents PackedStrides(const Extents& shape);
Extents StridesOf(const TensorSpec& spec);
// Elements from the storage's start to one past the furthest element of the view.
int64_t StorageElements(const TensorSpec& spec);

// The case of a line of the text form.
Case CaseOfCall(const conv::Call& call);

}  // namespace canopy::tools

#endif  // CANOPY_TOOLS_CASE_H_
