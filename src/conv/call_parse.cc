// SPDX-License-Identifier: Apache-2.0
// The reading half of the text form: tokens into raw fields, raw fields into a call.
#include <algorithm>
#include <charconv>
#include <map>

#include "conv/call_text.h"

namespace canopy::conv {
namespace {

using base::Status;
using Numbers = std::vector<int64_t>;

constexpr int kRefused = 161002;
constexpr int64_t kMax = 2147483647;

enum class Kind { kNumber, kAxes };

struct Field {
  const char* key;
  Kind kind;
  int64_t low;
  int64_t high;
  int64_t fallback;  // of each axis, where the field is left out
  bool required;
};

constexpr Field kConvFields[] = {
    {"n", Kind::kNumber, 0, kMax, 1, false},      {"ci", Kind::kNumber, 0, kMax, 0, true},
    {"co", Kind::kNumber, 0, kMax, 0, true},      {"in", Kind::kAxes, 0, kMax, 0, true},
    {"k", Kind::kAxes, 0, kMax, 0, true},         {"s", Kind::kAxes, -kMax, kMax, 1, false},
    {"p", Kind::kAxes, -kMax, kMax, 0, false},    {"d", Kind::kAxes, -kMax, kMax, 1, false},
    {"g", Kind::kNumber, -kMax, kMax, 1, false},  {"op", Kind::kAxes, -kMax, kMax, 0, false},
    {"math", Kind::kNumber, -128, 127, 0, false},
};
constexpr Field kTbcFields[] = {
    {"t", Kind::kNumber, 0, kMax, 0, true},       {"b", Kind::kNumber, 0, kMax, 1, false},
    {"ci", Kind::kNumber, 0, kMax, 0, true},      {"co", Kind::kNumber, 0, kMax, 0, true},
    {"k", Kind::kNumber, 0, kMax, 0, true},       {"pad", Kind::kNumber, -kMax, kMax, 0, false},
    {"math", Kind::kNumber, -128, 127, 0, false},
};

Status Refuse(std::string message) { return Status(kRefused, "problem text: " + std::move(message)); }

Status RefuseField(std::string_view field, std::string_view was, const std::string& allowed) {
  return Refuse("field \"" + std::string(field) + "\" was \"" + std::string(was) + "\"; allowed: " + allowed);
}

bool ReadNumber(std::string_view text, int64_t* value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return error == std::errc() && end == text.data() + text.size();
}

std::vector<std::string_view> Split(std::string_view text, std::string_view separators) {
  std::vector<std::string_view> parts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find_first_of(separators, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

bool ReadNumbers(std::string_view text, Numbers* values) {
  for (const std::string_view part : Split(text, "x")) {
    if (!ReadNumber(part, &values->emplace_back())) return false;
  }
  return true;
}

bool ReadDType(std::string_view text, numerics::DType* dtype) {
  for (int i = 0; i <= static_cast<int>(numerics::DType::kFloat8E4M3); ++i) {
    if (text != DTypeName(static_cast<numerics::DType>(i))) continue;
    *dtype = static_cast<numerics::DType>(i);
    return true;
  }
  return false;
}

constexpr const char* kDTypes = "f32, f16, bf16, hif8, f8e4m3";

bool ReadOp(std::string_view text, CallOp* op) {
  constexpr std::pair<const char*, CallOp> kOps[] = {{"conv_backward", CallOp::kConvBackward},
                                                     {"tbc_backward", CallOp::kTbcBackward},
                                                     {"conv_forward", CallOp::kConvForward},
                                                     {"tbc_forward", CallOp::kTbcForward},
                                                     {"depthwise_forward", CallOp::kDepthwiseForward}};
  for (const auto& [name, value] : kOps) {
    *op = value;
    if (text == name) return true;
  }
  return false;
}

class Parser {
 public:
  Status Parse(std::string_view text, Call* call) {
    std::vector<std::string_view> tokens;
    for (const std::string_view token : Split(text, " \t\r\n")) {
      if (!token.empty()) tokens.push_back(token);
    }
    if (tokens.empty() || !ReadOp(tokens[0], &call_.op)) {
      return RefuseField("operator", tokens.empty() ? "" : tokens[0],
                         "conv_backward, tbc_backward, conv_forward, tbc_forward, depthwise_forward");
    }
    tbc_ = call_.op == CallOp::kTbcBackward || call_.op == CallOp::kTbcForward;
    for (size_t i = 1; i < tokens.size(); ++i) CANOPY_RETURN_IF_ERROR(ReadToken(tokens[i]));
    CANOPY_RETURN_IF_ERROR(Assemble());
    for (const auto& [tensor, items] : tensor_items_) CANOPY_RETURN_IF_ERROR(ReadTensor(tensor, items));
    *call = std::move(call_);
    return {};
  }

 private:
  Status ReadToken(std::string_view token) {
    numerics::DType dtype;
    if (ReadDType(token, &dtype)) {
      SetCallDType(&call_, dtype);
      return Once("dtype");
    }
    if (token == "transposed" && (call_.op == CallOp::kConvBackward || call_.op == CallOp::kConvForward)) {
      call_.transposed = true;
      return Once(token);
    }
    const size_t colon = token.find(':');
    if (colon != token.npos || token == "bias") {
      tensor_items_.emplace_back(token.substr(0, colon),
                                 colon == token.npos ? std::string_view() : token.substr(colon + 1));
      return Once(token.substr(0, colon));
    }
    const size_t key_end = std::min(token.find_first_of("-0123456789"), token.size());
    const std::string_view key = token.substr(0, key_end);
    const std::string_view value = token.substr(key_end);
    if (key == "mask" && call_.op == CallOp::kConvBackward) return ReadMask(value);
    const Field* field = FindField(key);
    if (field == nullptr) return RefuseField("(unknown)", token, AllowedKeys());
    CANOPY_RETURN_IF_ERROR(Once(key));
    Numbers numbers;
    if (!ReadNumbers(value, &numbers) || !InRange(*field, numbers)) return RefuseField(key, value, Allowed(*field));
    raw_[std::string(key)] = numbers;
    return {};
  }

  Status ReadMask(std::string_view value) {
    CANOPY_RETURN_IF_ERROR(Once("mask"));
    if (value.size() != 3 || value.find_first_not_of("01") != value.npos) {
      return RefuseField("mask", value, "three digits 0 or 1, for grad_input, grad_weight and grad_bias");
    }
    for (int i = 0; i < 3; ++i) call_.mask[i] = value[i] == '1';
    return {};
  }

  // Raw fields, defaults and one-for-all numbers become the call's.
  Status Assemble() {
    const Numbers& sizes = raw_[tbc_ ? "t" : "in"];
    const size_t rank = tbc_ ? 1 : sizes.size();
    Status status;
    for (const Field& field : fields()) {
      Numbers& numbers = raw_[field.key];
      if (numbers.empty() && field.required) {
        return Refuse("field \"" + std::string(field.key) + "\" is missing; a line needs " + RequiredKeys());
      }
      if (numbers.empty()) numbers = {field.fallback};
      if (field.kind == Kind::kNumber) continue;
      const bool both_ends = std::string_view(field.key) == "p" && rank <= 2 && numbers.size() == 2 * rank;
      if (numbers.size() == 1) numbers.resize(rank, numbers[0]);
      if (numbers.size() != rank && !both_ends) {
        return Refuse("field \"" + std::string(field.key) + "\" has " + std::to_string(numbers.size()) +
                      " numbers; allowed: one for all axes, or one for each of the " + std::to_string(rank) +
                      " axes of \"in\"" + (std::string_view(field.key) == "p" ? " (1D: also 2, 2D: also 4)" : ""));
      }
    }
    call_.batch = raw_[tbc_ ? "b" : "n"][0];
    call_.input_channels = raw_["ci"][0];
    call_.output_channels = raw_["co"][0];
    call_.input_size = sizes;
    call_.kernel = raw_["k"];
    call_.padding = raw_[tbc_ ? "pad" : "p"];
    call_.stride = tbc_ ? Numbers{1} : raw_["s"];
    call_.dilation = tbc_ ? Numbers{1} : raw_["d"];
    call_.output_padding = tbc_ ? Numbers{0} : raw_["op"];
    call_.groups = tbc_ ? 1 : call_.op == CallOp::kDepthwiseForward ? call_.input_channels : raw_["g"][0];
    call_.math = static_cast<int>(raw_["math"][0]);
    call_.has_bias = tbc_;
    return status;
  }

  Status ReadTensor(std::string_view name, std::string_view items) {
    if (name == "bias" && call_.op != CallOp::kConvBackward) call_.has_bias = true;
    std::string known;
    for (int i = 0; i < kCallTensors; ++i) {
      const CallTensor tensor = static_cast<CallTensor>(i);
      if (!CallHasTensor(call_, tensor)) continue;
      known += (known.empty() ? "" : ", ") + std::string(CallTensorName(tensor));
      if (name != CallTensorName(tensor)) continue;
      for (const std::string_view item : Split(items, ",")) {
        if (!items.empty()) CANOPY_RETURN_IF_ERROR(ReadItem(tensor, item));
      }
      return {};
    }
    return RefuseField("(tensor)", name, "the tensors of this operator: " + known);
  }

  Status ReadItem(CallTensor tensor, std::string_view item) {
    CallTensorForm& form = call_.form(tensor);
    const size_t rank = CallShape(call_, tensor).size();
    if (ReadDType(item, &form.dtype)) return {};
    if (item == "null") {
      form.null = true;
      return {};
    }
    if (item == "channels_last" && !tbc_ && rank > 2) {
      form.layout = CallLayout::kChannelsLast;
      return {};
    }
    if (item.starts_with("offset=") && ReadNumber(item.substr(7), &form.offset) && form.offset >= 0 &&
        form.offset <= kMax) {
      return {};
    }
    Numbers strides;
    if (item.starts_with("strides=") && ReadNumbers(item.substr(8), &strides) && strides.size() == rank) {
      SetCallStrides(&call_, tensor, strides);
      return {};
    }
    return RefuseField(CallTensorName(tensor), item,
                       std::string(kDTypes) + ", channels_last (3 axes or more, no TBC), strides=AxBx... (" +
                           std::to_string(rank) + " numbers), offset=N, null");
  }

  // Files that `key` was given; refuses the second time.
  Status Once(std::string_view key) {
    if (seen_.emplace(key, true).second) return {};
    return Refuse("field \"" + std::string(key) + "\" is given twice");
  }

  struct FieldSpan {
    const Field* first;
    const Field* last;
    const Field* begin() const { return first; }
    const Field* end() const { return last; }
  };

  FieldSpan fields() const {
    return tbc_ ? FieldSpan{std::begin(kTbcFields), std::end(kTbcFields)}
                : FieldSpan{std::begin(kConvFields), std::end(kConvFields)};
  }

  const Field* FindField(std::string_view key) const {
    const bool depthwise = call_.op == CallOp::kDepthwiseForward;
    if (depthwise && (key == "g" || key == "op")) return nullptr;
    for (const Field& field : fields()) {
      if (key == field.key) return &field;
    }
    return nullptr;
  }

  static bool InRange(const Field& field, const Numbers& numbers) {
    if (numbers.size() > (field.kind == Kind::kNumber ? 1 : 4)) return false;
    if (std::string_view(field.key) == "in" && numbers.size() > 3) return false;
    for (const int64_t number : numbers) {
      if (number < field.low || number > field.high) return false;
    }
    return true;
  }

  static std::string Allowed(const Field& field) {
    const std::string range = " from " + std::to_string(field.low) + " to " + std::to_string(field.high);
    if (field.kind == Kind::kNumber) return "a whole number" + range;
    if (std::string_view(field.key) == "in") return "1 to 3 whole numbers" + range + " joined by x";
    return "whole numbers" + range + " joined by x, one for all axes or one for each axis of \"in\"";
  }

  std::string AllowedKeys() const {
    std::string keys = std::string("a dtype (") + kDTypes + "), ";
    for (const Field& field : fields()) keys += (FindField(field.key) != nullptr ? field.key + std::string("N, ") : "");
    if (call_.op == CallOp::kConvBackward) keys += "maskBBB, ";
    if (call_.op == CallOp::kConvBackward || call_.op == CallOp::kConvForward) keys += "transposed, ";
    return keys + "tensor:item,...";
  }

  std::string RequiredKeys() const {
    std::string keys;
    for (const Field& field : fields()) {
      if (field.required) keys += (keys.empty() ? "" : ", ") + std::string(field.key);
    }
    return keys;
  }

  Call call_;
  bool tbc_ = false;
  std::map<std::string, Numbers> raw_;
  std::map<std::string, bool, std::less<>> seen_;
  std::vector<std::pair<std::string_view, std::string_view>> tensor_items_;
};

}  // namespace

base::Status ParseCall(std::string_view text, Call* call) { return Parser().Parse(text, call); }

}  // namespace canopy::conv
