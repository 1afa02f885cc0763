// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <map>
#include <memory>

#include "opapi/explain.h"
#include "opapi/rule.h"
#include "tools/commands.h"

namespace canopy::tools {
namespace {

struct ExplainOptions {
  std::vector<std::string> pieces;
  std::string soc;
};

const product::Product& ProductNamed(const std::string& name) {
  return *product::FindProduct(CheckedSoc("--soc", name));
}

void PrintFindings(const char* heading, const std::vector<opapi::Finding>& findings) {
  for (const opapi::Finding& finding : findings) {
    std::printf("%s %s: %s\n    rule: %s\n", heading, finding.rule.c_str(), finding.message.c_str(),
                finding.says.c_str());
  }
}

void PrintPlan(const std::string& plan) {
  std::printf("  plan\n");
  for (size_t at = 0; at < plan.size();) {
    const size_t end = plan.find('\n', at);
    std::printf("    %s\n", plan.substr(at, end - at).c_str());
    at = end == std::string::npos ? end : end + 1;
  }
}

void PrintOne(const product::Product& product, const opapi::Explanation& explanation) {
  std::printf("%s (%s): ", product.soc_name, product.series_name);
  if (explanation.code != 0) {
    std::printf("refused with %d\n", explanation.code);
    PrintFindings("  refused by", {explanation.refusal});
  } else {
    std::printf("accepted\n");
  }
  PrintFindings("  limit", explanation.limits);
  if (!explanation.limits.empty()) {
    std::printf("    the device may refuse that; here CANOPY_LIMITS=documented refuses it with 561103\n");
  }
  PrintFindings("  remark", explanation.remarks);
  if (explanation.code != 0) return;
  std::printf("  precision\n");
  for (const std::string& line : explanation.precision) std::printf("    %s\n", line.c_str());
  PrintPlan(explanation.plan);
}

void PrintTable(const conv::Call& call) {
  std::printf("%-18s %-18s %-8s %s\n", "product", "series", "verdict", "why");
  std::map<std::string, std::string> broken;  // rules by name, in words
  std::string plan;
  for (const char* name : product::kChipOfSeries) {
    const product::Product& product = ProductNamed(name);
    const opapi::Explanation explanation = opapi::Explain(call, product);
    std::string why;
    if (explanation.code != 0) {
      why = explanation.refusal.rule + ": " + explanation.refusal.message;
      broken[explanation.refusal.rule] = explanation.refusal.says;
    } else if (!explanation.limits.empty()) {
      why = "beyond a limit of the device, " + explanation.limits[0].rule + ": " + explanation.limits[0].message;
      broken[explanation.limits[0].rule] = explanation.limits[0].says;
    } else {
      why = explanation.precision.empty() ? "" : explanation.precision[0];
    }
    if (explanation.code == 0 && plan.empty()) plan = explanation.plan;
    const std::string verdict = explanation.code == 0 ? "accepted" : std::to_string(explanation.code);
    std::printf("%-18s %-18s %-8s %s\n", product.soc_name, product.series_name, verdict.c_str(), why.c_str());
  }
  for (const auto& [rule, says] : broken) std::printf("  rule %s: %s\n", rule.c_str(), says.c_str());
  if (!plan.empty()) PrintPlan(plan);
}

int Explain(const ExplainOptions& options) {
  std::string problem;
  for (const std::string& piece : options.pieces) problem += piece + " ";
  conv::Call call;
  const base::Status status = conv::ParseCall(problem, &call);
  if (!status.ok()) throw BadInput(status.message());
  if (options.soc == "all") {
    PrintTable(call);
    return kPassed;
  }
  const product::Product* current = product::CurrentProduct();
  if (options.soc.empty() && current == nullptr) {
    throw BadInput(opapi::CheckProductKnown(current).message());
  }
  const product::Product& product = options.soc.empty() ? *current : ProductNamed(options.soc);
  const opapi::Explanation explanation = opapi::Explain(call, product);
  PrintOne(product, explanation);
  return explanation.code == 0 ? kPassed : kCheckFailed;
}

}  // namespace

void AddExplainCommand(CLI::App* app, Action* action) {
  CLI::App* command = app->add_subcommand("explain", "Say why a call is accepted or refused, and what would run");
  auto options = std::make_shared<ExplainOptions>();
  command->add_option("problem", options->pieces, "The call's text, quoted or in pieces (docs/problem-text.md)")
      ->required();
  command->add_option("--soc", options->soc,
                      "Product to ask: a name as CANOPY_SOC takes it, or all (default: CANOPY_SOC)");
  command->footer("Exit codes: 0 accepted, or --soc all; 1 refused; 2 the problem cannot be read.");
  command->callback([action, options] { *action = [options] { return Explain(*options); }; });
}

}  // namespace canopy::tools
