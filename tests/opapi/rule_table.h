// SPDX-License-Identifier: Apache-2.0
// The tables tests/rules/*.jsonl: one call a line, on some products, with the code and the words that it must give.
//
//   rule   the rule's name in check.cc: the one that refuses, or that this accepted call is about
//   says   what the line shows, in words
//   call   the call that is changed, in the text form of docs/problem-text.md
//   on     the products: 910, 310P, A2, A3, 950, 310B
//   with   changes: "name": null or "stale" for a handle; "name": [..] for an array; "name.dims", "name.dtype",
//          "name.format", "name.strides", "name.offset" for a tensor; "groups", "pad"; "workspaceSize": null
//   limits "documented" for CANOPY_LIMITS=documented
//   code   the status; word: what the message must contain
#ifndef CANOPY_TESTS_OPAPI_RULE_TABLE_H_
#define CANOPY_TESTS_OPAPI_RULE_TABLE_H_

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "opapi/conv_depthwise2d/call.h"
#include "opapi/conv_tbc/call.h"
#include "opapi/conv_tbc_backward/call.h"
#include "opapi/convolution/call.h"
#include "opapi/convolution_backward/call.h"

namespace canopy::tests {

struct RuleLine {
  std::string where;  // "convolution.jsonl:12: stride below 1"
  std::string rule;
  std::string call;
  std::vector<std::string> on;
  nlohmann::json with;
  bool documented_limits;
  int code;
  std::vector<std::string> words;
};

std::vector<RuleLine> ReadRuleLines(const std::string& operator_folder);

// The chip that stands for a product of the tables.
const product::Product& ProductOf(const std::string& name);

// An operator's arguments by kind, so that one piece of code serves all operators.
struct ArgumentTable {
  std::vector<opapi::TensorArgument*> tensors;
  std::vector<opapi::IntArrayArgument*> int_arrays;
  opapi::BoolArrayArgument* mask = nullptr;
  int64_t* groups = nullptr;
  int64_t* pad = nullptr;
  opapi::ResultPointers* results = nullptr;
};

ArgumentTable TableOf(opapi::convolution_backward::Arguments* a);
ArgumentTable TableOf(opapi::conv_tbc_backward::Arguments* a);
ArgumentTable TableOf(opapi::convolution::Arguments* a);
ArgumentTable TableOf(opapi::conv_tbc::Arguments* a);
ArgumentTable TableOf(opapi::conv_depthwise2d::Arguments* a);

void ApplyChanges(const nlohmann::json& with, const ArgumentTable& table);

inline void Settle(void*) {}
// What the entry derives from other arguments.
inline void Settle(opapi::conv_depthwise2d::Arguments* a) { a->convolution.groups = a->convolution.input.dim(1); }

// The line's arguments.
template <class Arguments>
Arguments ArgumentsOf(const RuleLine& line, Arguments (*from_call)(const conv::Call&)) {
  conv::Call call;
  const base::Status status = conv::ParseCall(line.call, &call);
  if (!status.ok()) throw std::runtime_error(line.where + ": " + status.message());
  Arguments arguments = from_call(call);
  ApplyChanges(line.with, TableOf(&arguments));
  Settle(&arguments);
  return arguments;
}

}  // namespace canopy::tests

#endif  // CANOPY_TESTS_OPAPI_RULE_TABLE_H_
