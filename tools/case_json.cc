// SPDX-License-Identifier: Apache-2.0
// JSON lines: case tables (every tensor and attribute given), network and performance lists (a layer's geometry).
#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "tools/case_list.h"

namespace canopy::tools {
namespace {

using nlohmann::json;

const json& Field(const json& object, const std::string& key) {
  const auto found = object.find(key);
  if (found == object.end()) throw BadInput("field \"" + key + "\" is missing");
  return *found;
}

// Numbers with a point or an exponent, which the library would convert to whole ones whatever their size.
bool HoldsFraction(const json& value) {
  return value.is_array() ? std::any_of(value.begin(), value.end(), HoldsFraction) : value.is_number_float();
}

// The field as a T; a message with the field's name where it is something else.
template <typename T>
T Get(const json& object, const std::string& key) {
  const json& value = Field(object, key);
  try {
    constexpr bool kWhole = std::is_same_v<T, int64_t> || std::is_same_v<T, Extents>;
    if (!kWhole || !HoldsFraction(value)) return value.get<T>();
  } catch (const json::exception&) {
  }
  throw BadInput("field \"" + key + "\" was " + value.dump().substr(0, 80) + ", which is of another kind");
}

template <typename T>
T GetOr(const json& object, const std::string& key, T fallback) {
  return object.contains(key) && !object[key].is_null() ? Get<T>(object, key) : fallback;
}

template <typename T>
std::optional<T> GetNullable(const json& object, const std::string& key) {
  if (!object.contains(key) || object[key].is_null()) return std::nullopt;
  return Get<T>(object, key);
}

aclDataType ReadType(const std::string& name) {
  constexpr std::pair<const char*, aclDataType> kTypes[] = {{"float32", ACL_FLOAT},
                                                            {"float16", ACL_FLOAT16},
                                                            {"bfloat16", ACL_BF16},
                                                            {"hifloat8", ACL_HIFLOAT8},
                                                            {"float8_e4m3fn", ACL_FLOAT8_E4M3FN},
                                                            {"float8_e5m2", ACL_FLOAT8_E5M2},
                                                            {"double", ACL_DOUBLE},
                                                            {"int8", ACL_INT8},
                                                            {"uint8", ACL_UINT8},
                                                            {"int16", ACL_INT16},
                                                            {"int32", ACL_INT32},
                                                            {"int64", ACL_INT64},
                                                            {"bool", ACL_BOOL}};
  std::string known;
  for (const auto& [text, type] : kTypes) {
    if (name == text) return type;
    known += std::string(known.empty() ? "" : ", ") + text;
  }
  throw BadInput("dtype was \"" + name + "\"; allowed: " + known);
}

aclFormat ReadFormat(const std::string& name) {
  constexpr std::pair<const char*, aclFormat> kFormats[] = {
      {"ND", ACL_FORMAT_ND},     {"NCL", ACL_FORMAT_NCL},
      {"NCHW", ACL_FORMAT_NCHW}, {"NCDHW", ACL_FORMAT_NCDHW},
      {"NHWC", ACL_FORMAT_NHWC}, {"NDHWC", ACL_FORMAT_NDHWC},
      {"HWCN", ACL_FORMAT_HWCN}, {"UNDEFINED", ACL_FORMAT_UNDEFINED}};
  std::string known;
  for (const auto& [text, format] : kFormats) {
    if (name == text) return format;
    known += std::string(known.empty() ? "" : ", ") + text;
  }
  throw BadInput("format was \"" + name + "\"; allowed: " + known);
}

double ReadBound(const json& bound) {
  if (bound.is_number()) return bound.get<double>();
  if (bound == "inf") return std::numeric_limits<double>::infinity();
  if (bound == "-inf") return -std::numeric_limits<double>::infinity();
  if (bound == "nan") return std::numeric_limits<double>::quiet_NaN();
  throw BadInput("a bound of value_range was " + bound.dump() + "; allowed: a number, \"inf\", \"-inf\", \"nan\"");
}

DataSpec ReadData(const json& tensor) {
  DataSpec data;
  if (tensor.contains("value_normal")) {
    // Mean and deviation are themselves ranges; their far ends make the hardest data.
    const json& normal = Field(tensor, "value_normal");
    const auto mean = Get<std::vector<double>>(normal, "mean");
    const auto deviation = Get<std::vector<double>>(normal, "std");
    if (mean.size() != 2 || deviation.size() != 2) throw BadInput("value_normal needs two bounds for mean and std");
    return {DataSpec::Kind::kNormal, mean[1], deviation[1]};
  }
  if (!tensor.contains("value_range") || tensor["value_range"].is_null()) return data;
  const json& range = tensor["value_range"];
  if (!range.is_array() || range.size() != 2)
    throw BadInput("value_range was " + range.dump() + "; allowed: [low, high]");
  data.low = ReadBound(range[0]);
  data.high = ReadBound(range[1]);
  return data;
}

TensorSpec ReadTensor(const json& tensor) {
  TensorSpec spec;
  if (tensor.is_null()) return spec;
  spec.present = true;
  spec.shape = Get<Extents>(tensor, "shape");
  spec.dtype = ReadType(Get<std::string>(tensor, "dtype"));
  spec.format = ReadFormat(Get<std::string>(tensor, "format"));
  spec.strides = GetOr<Extents>(tensor, "strides", {});
  spec.offset = GetOr<int64_t>(tensor, "offset", 0);
  spec.storage = GetOr<Extents>(tensor, "storage_shape", {});
  spec.data = ReadData(tensor);
  if (!spec.strides.empty() && spec.strides.size() != spec.shape.size())
    throw BadInput("strides and shape differ in rank");
  return spec;
}

CallOp ReadOp(const std::string& name) {
  for (const CallOp op : {CallOp::kConvBackward, CallOp::kTbcBackward, CallOp::kConvForward, CallOp::kTbcForward,
                          CallOp::kDepthwiseForward}) {
    if ("aclnn" + name == FunctionName(op)) return op;
  }
  throw BadInput("op was \"" + name +
                 "\"; allowed: ConvolutionBackward, ConvTbcBackward, Convolution, ConvTbc, ConvDepthwise2d");
}

CallTensor ReadTensorName(CallOp op, const std::string& name) {
  for (int i = 0; i < kCallTensors; ++i) {
    if (name == ParameterName(op, static_cast<CallTensor>(i))) return static_cast<CallTensor>(i);
  }
  throw BadInput("\"" + name + "\" is no tensor of " + FunctionName(op));
}

Attributes ReadAttributes(const json& attrs) {
  Attributes attributes;
  attributes.bias_sizes = GetNullable<Extents>(attrs, "biasSizes");
  attributes.stride = GetNullable<Extents>(attrs, "stride");
  attributes.padding = GetNullable<Extents>(attrs, "padding");
  attributes.dilation = GetNullable<Extents>(attrs, "dilation");
  attributes.output_padding = GetNullable<Extents>(attrs, "outputPadding");
  attributes.mask = GetNullable<std::vector<bool>>(attrs, "outputMask");
  attributes.kernel_size = GetNullable<Extents>(attrs, "kernelSize");
  attributes.transposed = GetOr(attrs, "transposed", false);
  attributes.groups = GetOr<int64_t>(attrs, "groups", 1);
  attributes.pad = GetOr<int64_t>(attrs, "pad", 0);
  attributes.cube_math_type = GetOr(attrs, "cubeMathType", 0);
  return attributes;
}

// One entry for each of the operator's outputs, in order.
void ReadTolerances(const json& tolerance, Case* result) {
  const auto relative = Get<std::vector<double>>(tolerance, "rel");
  const auto absolute = Get<std::vector<double>>(tolerance, "abs");
  const auto bad_fraction = Get<std::vector<double>>(tolerance, "bad_fraction");
  const int first = static_cast<int>(IsBackward(result->op) ? CallTensor::kGradInput : CallTensor::kOutput);
  const size_t outputs = IsBackward(result->op) ? 3 : 1;
  if (relative.size() != outputs || absolute.size() != outputs || bad_fraction.size() != outputs) {
    throw BadInput("tolerance needs " + std::to_string(outputs) + " numbers in each list");
  }
  for (size_t i = 0; i < outputs; ++i) {
    result->tolerances[first + i] = Tolerance{relative[i], absolute[i], bad_fraction[i]};
  }
}

Case ReadTableCase(const json& line) {
  Case result;
  result.id = Get<std::string>(line, "id");
  result.op = ReadOp(Get<std::string>(line, "op"));
  result.soc = GetOr<std::string>(line, "soc", "unspecified");
  if (result.soc == "unspecified") result.soc.clear();
  // In the case tables Ascend910B is short for Atlas A2; as a chip's name it is one of the training products.
  if (result.soc == "Ascend910B") result.soc = "Ascend910B1";
  if (!result.soc.empty()) CheckedSoc("soc", result.soc);
  for (const char* part : {"tensors", "outputs"}) {
    for (const auto& [name, tensor] : Field(line, part).items()) {
      result.tensor(ReadTensorName(result.op, name)) = ReadTensor(tensor);
    }
  }
  result.attributes = ReadAttributes(Field(line, "attrs"));
  if (line.contains("compare")) {
    for (const auto& name : Get<std::vector<std::string>>(line, "compare")) {
      result.compare.push_back(ReadTensorName(result.op, name));
    }
  } else {
    result.compare = WantedOutputs(result);
  }
  if (line.contains("tolerance")) ReadTolerances(line["tolerance"], &result);
  const int expected = GetOr(line, "expect", 0);
  result.statuses = GetOr<std::vector<int>>(line, "accept", {});
  result.statuses.insert(result.statuses.begin(), expected);
  return result;
}

Extents WithEnds(const Extents& begin, const Extents& end) {
  Extents both;
  for (size_t axis = 0; axis < begin.size(); ++axis) {
    both.push_back(begin[axis]);
    both.push_back(end[axis]);
  }
  return both;
}

// Network lists name the operator, performance lists say "tbc".
Case ReadLayerCase(const json& line, const Overrides& overrides) {
  conv::Call call;
  const bool tbc = GetOr(line, "tbc", false) || GetOr<std::string>(line, "op", "") == "ConvTbcBackward";
  const auto axis_list = [&](const char* key) {
    const json& value = Field(line, key);
    return value.is_array() ? Get<Extents>(line, key) : Extents{Get<int64_t>(line, key)};
  };
  call.op = tbc ? CallOp::kTbcBackward : CallOp::kConvBackward;
  call.has_bias = tbc;
  call.batch = Get<int64_t>(line, "N");
  call.input_channels = Get<int64_t>(line, "Ci");
  call.output_channels = Get<int64_t>(line, "Co");
  call.input_size = axis_list(line.contains("T") ? "T" : "in");
  call.kernel = axis_list(line.contains("K") ? "K" : "k");
  call.padding = axis_list("pad");
  call.stride = call.dilation = Extents(call.input_size.size(), 1);
  call.output_padding = Extents(call.input_size.size(), 0);
  if (!tbc) {
    call.stride = axis_list("stride");
    call.dilation = axis_list("dilation");
    call.groups = GetOr<int64_t>(line, "groups", 1);
    call.transposed = GetOr(line, "transposed", false);
    call.output_padding = axis_list("output_padding");
    if (line.contains("pad_end")) call.padding = WithEnds(call.padding, axis_list("pad_end"));
  }
  if (overrides.dtype) conv::SetCallDType(&call, *overrides.dtype);
  if (overrides.mask && !tbc) call.mask = *overrides.mask;
  call.math = overrides.math.value_or(0);
  // The text form is the one gate for geometry that does not fit together.
  conv::Call again;
  const base::Status status = conv::ParseCall(conv::FormatCall(call), &again);
  if (!status.ok()) throw BadInput(status.message());
  Case result = CaseOfCall(again);
  result.id = GetOr<std::string>(line, "id", result.id);
  if (line.contains("net"))
    result.id += " " + GetOr<std::string>(line, "net", "") + "." + GetOr<std::string>(line, "layer", "");
  return result;
}

}  // namespace

Case ReadJsonLine(const std::string& line, const Overrides& overrides) {
  json parsed;
  try {
    parsed = json::parse(line);
  } catch (const json::exception& error) {
    throw BadInput(std::string("not JSON: ") + error.what());
  }
  if (!parsed.is_object()) throw BadInput("not a JSON object");
  if (parsed.contains("tensors")) return ReadTableCase(parsed);
  if (parsed.contains("Ci")) return ReadLayerCase(parsed, overrides);
  throw BadInput("neither a case (field \"tensors\") nor a layer (field \"Ci\")");
}

}  // namespace canopy::tools
