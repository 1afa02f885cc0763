// SPDX-License-Identifier: Apache-2.0
#include "tests/opapi/rule_table.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <stdexcept>

#include "opapi/call.h"
#include "opapi/names.h"

namespace canopy::tests {
namespace {

using nlohmann::json;
using opapi::Handle;

std::vector<std::string> Strings(const json& value) {
  if (value.is_string()) return {value.get<std::string>()};
  return value.get<std::vector<std::string>>();
}

template <class T>
T Named(const std::string& name, int last) {
  for (int value = -1; value <= last; ++value) {
    if (opapi::Name(static_cast<T>(value)) == name) return static_cast<T>(value);
  }
  throw std::runtime_error("no such enumerator: " + name);
}

void SetDims(const std::vector<int64_t>& dims, nnopbase::TensorView* view) {
  view->rank = static_cast<int64_t>(dims.size());
  uint64_t step = 1;  // wraps: some lines are about sizes that overflow
  for (size_t axis = std::min<size_t>(dims.size(), nnopbase::kMaxRank); axis-- > 0;) {
    view->dims[axis] = dims[axis];
    view->strides[axis] = static_cast<int64_t>(step);
    step *= static_cast<uint64_t>(dims[axis]);
  }
}

void ChangeTensor(const std::string& field, const json& value, nnopbase::TensorView* view) {
  if (field == "dims") {
    SetDims(value.get<std::vector<int64_t>>(), view);
  } else if (field == "dtype") {
    view->dtype = Named<aclDataType>(value.get<std::string>(), 64);
  } else if (field == "format") {
    view->format = Named<aclFormat>(value.get<std::string>(), 64);
  } else if (field == "strides") {
    const auto strides = value.get<std::vector<int64_t>>();
    std::copy(strides.begin(), strides.end(), view->strides.begin());
  } else if (field == "offset") {
    view->offset = value.get<int64_t>();
  } else {
    throw std::runtime_error("no such field of a tensor: " + field);
  }
}

// null and "stale"; false: something else.
bool ChangeHandle(const json& value, Handle* state) {
  if (value.is_null()) *state = Handle::kNull;
  if (value == "stale") *state = Handle::kStale;
  return value.is_null() || value == "stale";
}

bool ChangeArgument(const std::string& name, const std::string& field, const json& value, const ArgumentTable& table) {
  for (opapi::TensorArgument* tensor : table.tensors) {
    if (name != tensor->name) continue;
    if (field.empty()) return ChangeHandle(value, &tensor->state);
    ChangeTensor(field, value, &tensor->view);
    return true;
  }
  for (opapi::IntArrayArgument* array : table.int_arrays) {
    if (name != array->name) continue;
    if (ChangeHandle(value, &array->state)) return true;
    opapi::GetEntries(value.get<std::vector<int64_t>>(), array);
    return true;
  }
  if (table.mask != nullptr && name == table.mask->name) {
    if (ChangeHandle(value, &table.mask->state)) return true;
    const auto values = value.get<std::vector<bool>>();
    table.mask->view.size = values.size();
    std::copy(values.begin(), values.end(), table.mask->view.values.begin());
    return true;
  }
  return false;
}

}  // namespace

std::vector<RuleLine> ReadRuleLines(const std::string& operator_folder) {
  const std::string name = operator_folder + ".jsonl";
  std::ifstream file(CANOPY_RULE_TABLES "/" + name);
  std::vector<RuleLine> lines;
  for (std::string text; std::getline(file, text);) {
    const json line = json::parse(text);
    const std::string says = line.at("says");
    lines.push_back({.where = name + ":" + std::to_string(lines.size() + 1) + ": " + says,
                     .rule = line.at("rule"),
                     .call = line.at("call"),
                     .on = Strings(line.at("on")),
                     .with = line.value("with", json::object()),
                     .documented_limits = line.contains("limits"),
                     .code = line.at("code"),
                     .words = line.contains("word") ? Strings(line.at("word")) : std::vector<std::string>()});
  }
  return lines;
}

const product::Product& ProductOf(const std::string& name) {
  static const std::map<std::string, const char*> kChips = {{"910", "Ascend910A"},       {"310P", "Ascend310P3"},
                                                            {"A2", "Ascend910B1"},       {"A3", "Ascend910_9392"},
                                                            {"950", "Ascend950PR_9589"}, {"310B", "Ascend310B1"}};
  return *product::FindProduct(kChips.at(name));
}

ArgumentTable TableOf(opapi::convolution_backward::Arguments* a) {
  return {{&a->grad_output, &a->input, &a->weight, &a->grad_input, &a->grad_weight, &a->grad_bias},
          {&a->bias_sizes, &a->stride, &a->padding, &a->dilation, &a->output_padding},
          &a->output_mask,
          &a->groups,
          nullptr,
          &a->results};
}

ArgumentTable TableOf(opapi::conv_tbc_backward::Arguments* a) {
  return {{&a->self, &a->input, &a->weight, &a->bias, &a->grad_input, &a->grad_weight, &a->grad_bias},
          {},
          nullptr,
          nullptr,
          &a->pad,
          &a->results};
}

ArgumentTable TableOf(opapi::convolution::Arguments* a) {
  return {{&a->input, &a->weight, &a->bias, &a->output},
          {&a->stride, &a->padding, &a->dilation, &a->output_padding},
          nullptr,
          &a->groups,
          nullptr,
          &a->results};
}

ArgumentTable TableOf(opapi::conv_tbc::Arguments* a) {
  return {{&a->self, &a->weight, &a->bias, &a->output}, {}, nullptr, nullptr, &a->pad, &a->results};
}

ArgumentTable TableOf(opapi::conv_depthwise2d::Arguments* a) {
  ArgumentTable table = TableOf(&a->convolution);
  table.int_arrays.push_back(&a->kernel_size);
  return table;
}

void ApplyChanges(const json& with, const ArgumentTable& table) {
  for (const auto& [key, value] : with.items()) {
    const size_t dot = key.find('.');
    const std::string name = key.substr(0, dot), field = dot == key.npos ? "" : key.substr(dot + 1);
    if (name == "groups" && table.groups != nullptr) {
      *table.groups = value;
    } else if (name == "pad" && table.pad != nullptr) {
      *table.pad = value;
    } else if (name == "workspaceSize") {
      table.results->workspace_size = false;
    } else if (name == "executor") {
      table.results->executor = false;
    } else if (!ChangeArgument(name, field, value, table)) {
      throw std::runtime_error("cannot change " + key);
    }
  }
}

}  // namespace canopy::tests
