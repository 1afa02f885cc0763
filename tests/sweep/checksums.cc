// SPDX-License-Identifier: Apache-2.0
// sweep_checksums SEED COUNT SHIFT [upward | PROBLEM]: runs COUNT random problems and a few named ones, or PROBLEM,
// with all views SHIFT elements further into their storage, and prints one line for each: a hash of the bits of all
// results, and the problem. determinism_test.cc compares what several processes print. With `upward` the calling thread
// rounds upward meanwhile, and must do so still when the call is over.
#include <cfenv>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <string>
#include <vector>

#include "numerics/bits.h"
#include "tests/sweep/problem.h"
#include "tools/case_list.h"
#include "tools/runner.h"
#include "tools/tensor_data.h"

namespace canopy::sweep {
namespace {

constexpr double kWork = 3e7;  // multiply-adds: enough that threads share it

// Problems of algorithms that random drawing seldom meets; the number of threads changes how they cut their work.
constexpr const char* kNamed[] = {
    "conv_backward n1 ci48 co64 in30x31 k3x3 p1x1",
    "conv_backward n3 ci160 co144 in13x14 k3x3 p1x1",
    "conv_backward f16 n2 ci64 co96 in17x17 k3x3 p1x1 g2",
    "conv_backward n2 ci64 co128 in11x11 k3x3 p1x1 d3x3",
    "conv_backward n1 ci292 co12 in16x16 k3x3 p1x1",
    // Both gradients from blocks of output, in pieces of a row.
    "conv_backward n2 ci1 co130 in20000 k10 s5",
    // Blocks of channels by threads, phases of a stem.
    "conv_backward n1 ci256 co512 in14x14 k1",
    "conv_backward n2 ci3 co40 in70x50 k7x7 s2 p3",
};

// Moves all views `shift` elements; what they hold stays that of `problem` as it was drawn.
tools::Storages ShiftAndFill(tools::Case* problem, int64_t shift) {
  tools::Storages storages;
  for (int i = 0; i < tools::kCallTensors; ++i) {
    tools::TensorSpec& spec = problem->tensors[i];
    if (!spec.present) continue;
    const tools::TensorSpec drawn = spec;
    spec.offset += shift;
    spec.storage[0] += shift;
    storages[i] = tools::Allocate(tools::StorageElements(spec) * aclDataTypeSize(spec.dtype));
    tools::FillWithNan(spec, storages[i].get());
    if (tools::IsOutput(static_cast<tools::CallTensor>(i))) continue;
    tools::WriteView(spec, tools::DrawValues(drawn, tools::MixKey(1, problem->id + std::to_string(i))),
                     storages[i].get());
  }
  return storages;
}

tools::Case NamedProblem(const std::string& line) {
  tools::Case problem = tools::ReadTextLine(line, {});
  problem.id = "named " + line;
  AddMargins(&problem);
  return problem;
}

uint64_t Hash(const tools::Case& problem, const tools::Storages& storages) {
  uint64_t hash = 0;
  for (const tools::CallTensor output : tools::WantedOutputs(problem)) {
    const tools::TensorSpec& spec = problem.tensor(output);
    for (const float value : tools::ReadView(spec, storages[static_cast<int>(output)].get())) {
      hash = tools::Draw(hash, numerics::ToBits(value));
    }
  }
  return hash;
}

int Main(uint64_t seed, uint64_t count, int64_t shift, const std::string& more) {
  const bool upward = more == "upward";
  std::vector<std::string> named(std::begin(kNamed), std::end(kNamed));
  if (!upward && !more.empty()) named = {more};
  const tools::Runtime runtime;
  aclrtStream other = nullptr;
  if (aclrtCreateStream(&other) != ACL_SUCCESS) return 1;
  bool kept = true;
  tools::LaunchOptions options;
  if (upward) {
    options.before_phase2 = [] { std::fesetround(FE_UPWARD); };
    options.after_synchronise = [&kept] {
      kept = kept && std::fegetround() == FE_UPWARD;
      std::fesetround(FE_TONEAREST);
    };
  }
  for (uint64_t i = 0; i < count + named.size(); ++i) {
    tools::Case problem = i < count ? MakeProblem(seed + i, kWork) : NamedProblem(named[i - count]);
    const tools::Storages storages = ShiftAndFill(&problem, shift);
    std::string line;
    for (const aclrtStream stream : {runtime.stream(), other}) {
      const tools::Outcome outcome = tools::RunCase(problem, storages, stream, options);
      if (outcome.phase1 != 0 || outcome.phase2 != 0) {
        std::printf("%s: %s\n", problem.id.c_str(), outcome.message.c_str());
        return 1;
      }
      char text[32];
      std::snprintf(text, sizeof(text), "%016llx ", static_cast<unsigned long long>(Hash(problem, storages)));
      if (line != text) line += text;  // a second run that differs shows as two hashes
    }
    std::printf("%s%s\n", line.c_str(), problem.id.c_str());
  }
  return kept && aclrtDestroyStream(other) == ACL_SUCCESS ? 0 : 1;
}

}  // namespace
}  // namespace canopy::sweep

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  return canopy::sweep::Main(std::strtoull(argv[1], nullptr, 10), std::strtoull(argv[2], nullptr, 10),
                             std::strtoll(argv[3], nullptr, 10), argc > 4 ? argv[4] : "");
}
