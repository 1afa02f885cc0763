// SPDX-License-Identifier: Apache-2.0
// What an operator demands of its arguments, as a list of named rules in the order in which they are tested. A rule is
// a pure function of the arguments and a product, so a list can be walked for any product without running anything.
#ifndef CANOPY_OPAPI_RULE_H_
#define CANOPY_OPAPI_RULE_H_

#include <span>
#include <string>

#include "base/env.h"
#include "base/log.h"
#include "base/status.h"
#include "opapi/codes.h"
#include "opapi/text.h"
#include "product/product.h"

namespace canopy::opapi {

enum class RuleKind {
  kPresence,  // about what is NULL: independent of the product, tested even where CANOPY_SOC names none
  kDemand,    // refuses
  kLimit,     // a limit of the device that a CPU does not have: by default a warning in the log
  kRemark,    // what the strict document would refuse and this library accepts: an information in the log
};

template <class Arguments>
struct Rule {
  const char* name;  // stable: tests and tools use it
  const char* says;  // the rule in words
  base::Status (*check)(const Arguments&, const product::Product&);
  RuleKind kind = RuleKind::kDemand;
  // Where the rule has a say; nullptr: everywhere.
  bool (*applies)(const Arguments&, const product::Product&) = nullptr;
};

struct Policy {
  bool documented_limits = false;  // limits refuse, too
};

struct Verdict {
  const char* rule = nullptr;  // the one that refused; nullptr where none did
  base::Status status;
};

inline base::Status CheckProductKnown(const product::Product* product) {
  if (product != nullptr) return {};
  return {kInvalid, Text("CANOPY_SOC: was \"", base::EnvText("CANOPY_SOC", ""), "\"; allowed is one of ",
                         product::KnownProductNames())};
}

// The first refusal decides. `product` is nullptr where CANOPY_SOC names none.
template <class Arguments>
Verdict Walk(std::span<const Rule<Arguments>> rules, const Arguments& arguments, const product::Product* product,
             const Policy& policy) {
  static constexpr product::Product kNone{};
  for (const Rule<Arguments>& rule : rules) {
    const bool presence = rule.kind == RuleKind::kPresence;
    if (product == nullptr && !presence) return {"product-known", CheckProductKnown(product)};
    const product::Product& subject = product == nullptr ? kNone : *product;
    const bool refuses = rule.kind <= RuleKind::kDemand || (rule.kind == RuleKind::kLimit && policy.documented_limits);
    const base::LogLevel level = rule.kind == RuleKind::kRemark ? base::LogLevel::kInfo : base::LogLevel::kWarning;
    if (!refuses && !base::LogEnabled(level)) continue;
    if (rule.applies != nullptr && !rule.applies(arguments, subject)) continue;
    base::Status status = rule.check(arguments, subject);
    if (status.ok()) continue;
    if (refuses) return {rule.name, std::move(status)};
    const char* who = rule.kind == RuleKind::kRemark ? "the documents refuse" : "the device may refuse";
    base::Log(level, "accepted, though %s it: %s", who, status.message().c_str());
  }
  return {};
}

}  // namespace canopy::opapi

#endif  // CANOPY_OPAPI_RULE_H_
