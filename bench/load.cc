// SPDX-License-Identifier: Apache-2.0
#include "bench/load.h"

#include <filesystem>

#include "tools/case_list.h"

namespace canopy::bench {
namespace {

using conv::Call;
using conv::CallTensor;
using tools::Case;
using tools::Extents;

bool IsFile(const std::string& source) { return std::filesystem::is_regular_file(source); }

Extents Spatial(const Extents& shape) { return {shape.begin() + 2, shape.end()}; }

// Of the tables' cases, which have no text, the geometry and the types; what is odd about their handles is not timed.
Call CallOfTable(const Case& a_case) {
  Call call;
  call.op = a_case.op;
  const Extents& input = a_case.tensor(CallTensor::kInput).shape;
  const Extents& weight = a_case.tensor(CallTensor::kWeight).shape;
  const tools::Attributes& attributes = a_case.attributes;
  call.math = attributes.cube_math_type;
  call.has_bias = a_case.tensor(CallTensor::kBias).present;
  if (IsTbc(call)) {
    call.batch = input[1];
    call.input_size = {input[0]};
    call.kernel = {weight[0]};
    call.input_channels = weight[1];
    call.output_channels = weight[2];
    call.padding = {attributes.pad};
    call.stride = call.dilation = {1};
    call.output_padding = {0};
  } else {
    const Extents ones(input.size() - 2, 1), zeros(input.size() - 2, 0);
    call.batch = input[0];
    call.input_size = Spatial(input);
    call.kernel = Spatial(weight);
    call.groups = attributes.groups;
    call.transposed = attributes.transposed;
    call.input_channels = input[1];
    call.output_channels = call.transposed ? weight[1] * call.groups : weight[0];
    call.stride = attributes.stride.value_or(ones);
    call.padding = attributes.padding.value_or(zeros);
    call.dilation = attributes.dilation.value_or(ones);
    call.output_padding = attributes.output_padding.value_or(zeros);
    if (attributes.mask && attributes.mask->size() == 3) {
      for (size_t i = 0; i < 3; ++i) call.mask[i] = (*attributes.mask)[i];
    }
  }
  for (int i = 0; i < conv::kCallTensors; ++i) {
    const CallTensor tensor = static_cast<CallTensor>(i);
    if (!conv::CallHasTensor(call, tensor)) continue;
    conv::CallTensorForm& form = call.form(tensor);
    const tools::TensorSpec& spec = a_case.tensors[i];
    form.null = !spec.present;
    const tools::TensorSpec& typed = spec.present ? spec : a_case.tensor(CallTensor::kInput);
    if (!tools::ToDType(typed.dtype, &form.dtype)) throw tools::BadInput(a_case.id + ": has a type that is not timed");
    if (!spec.strides.empty()) conv::SetCallStrides(&call, tensor, spec.strides);
    form.offset = spec.offset;
  }
  return call;
}

// Behind a layer's own name the readers add where it is from, which the name often says already.
std::string NameOf(const Case& a_case, const Call& call) {
  if (a_case.id == a_case.text) return ShortName(call);
  const size_t space = a_case.id.find(' ');
  if (space == a_case.id.npos) return a_case.id;
  return a_case.id.starts_with(a_case.id.substr(space + 1)) ? a_case.id.substr(0, space) : a_case.id;
}

bool Matches(const BenchCase& a_case, const std::string& filter) {
  const std::string text = a_case.name + " " + a_case.class_name + " " + conv::FormatCall(a_case.call);
  return text.find(filter) != text.npos;
}

// One for each type asked for.
std::vector<BenchCase> Expand(const std::string& list, const Case& a_case, const LoadOptions& options) {
  Call call;
  if (a_case.text.empty()) {
    call = CallOfTable(a_case);
  } else if (const base::Status status = conv::ParseCall(a_case.text, &call); !status.ok()) {
    throw tools::BadInput(status.message());
  }
  std::vector<BenchCase> expanded;
  for (const std::string& type : options.types.empty() ? std::vector<std::string>{""} : options.types) {
    Call typed = call;
    if (!type.empty()) SetType(type, &typed);
    expanded.push_back({list, NameOf(a_case, typed), TypeOf(typed), ClassOf(typed), typed, 1});
  }
  return expanded;
}

}  // namespace

std::vector<BenchCase> LoadCases(const std::string& source, const LoadOptions& options) {
  const bool file = IsFile(source);
  const std::vector<Case> read =
      file ? tools::ReadCaseList(source, {}) : std::vector<Case>{tools::ReadTextLine(source, {})};
  const std::string list = file ? std::filesystem::path(source).filename().string() : "problem";
  std::vector<BenchCase> cases;
  for (const Case& a_case : read) {
    if (a_case.statuses.front() != 0) continue;
    for (BenchCase& added : Expand(list, a_case, options)) {
      if (!Matches(added, options.filter)) continue;
      bool known = false;
      for (BenchCase& other : cases) {
        if (other.name != added.name || other.call != added.call) continue;
        ++other.times;
        known = true;
        break;
      }
      if (!known) cases.push_back(std::move(added));
    }
  }
  return cases;
}

}  // namespace canopy::bench
