// SPDX-License-Identifier: Apache-2.0
#include "tools/check_case.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "tests/oracle/parallel.h"
#include "tools/gates.h"
#include "tools/reference.h"
#include "tools/tensor_data.h"

namespace canopy::tools {
namespace {

// Integers up to 8 keep every sum of up to 2^18 products exact in FP32.
constexpr int64_t kExactTerms = int64_t{1} << 18;
constexpr DataSpec kSmallIntegers = {DataSpec::Kind::kIntegers, -8, 8};

Storages MakeStorages(const Case& a_case) {
  Storages storages;
  for (int i = 0; i < kCallTensors; ++i) {
    const TensorSpec& spec = a_case.tensors[i];
    if (!spec.present) continue;
    storages[i] = Allocate(StorageElements(spec) * aclDataTypeSize(spec.dtype));
    // Of inputs only what the view leaves out stays so.
    const bool all_drawn = !IsOutput(static_cast<CallTensor>(i)) && spec.strides.empty() && spec.offset == 0;
    if (!all_drawn) FillWithNan(spec, storages[i].get());
  }
  return storages;
}

InputValues FillInputs(const Case& a_case, const CheckOptions& options, const Storages& storages) {
  InputValues values;
  for (int i = 0; i < kCallTensors; ++i) {
    TensorSpec spec = a_case.tensors[i];
    const CallTensor tensor = static_cast<CallTensor>(i);
    numerics::DType dtype;
    if (!spec.present || IsOutput(tensor) || !ToDType(spec.dtype, &dtype)) continue;
    if (options.integers) spec.data = kSmallIntegers;
    values[i] = DrawValues(spec, MixKey(options.seed, a_case.id + conv::CallTensorName(tensor)));
    WriteView(spec, values[i], storages[i].get());
  }
  return values;
}

// What the call must leave alone: inputs, masked outputs, and storage outside of views.
void CheckUntouched(const Case& a_case, const InputValues& inputs, const Storages& storages, CaseReport* report) {
  const std::vector<CallTensor> wanted = WantedOutputs(a_case);
  for (int i = 0; i < kCallTensors; ++i) {
    const CallTensor tensor = static_cast<CallTensor>(i);
    const TensorSpec& spec = a_case.tensors[i];
    if (!spec.present) continue;
    const std::string name = ParameterName(a_case.op, tensor);
    const bool written = std::count(wanted.begin(), wanted.end(), tensor) > 0;
    if (IsOutput(tensor) && !written && !StillNan(spec, storages[i].get(), false)) {
      report->faults.push_back(name + " was written though not asked for");
    }
    if (written && !StillNan(spec, storages[i].get(), true)) {
      report->faults.push_back(name + " was written outside of its view");
    }
    constexpr size_t kSmall = 1 << 22;  // larger ones would cost more than they tell
    if (!IsOutput(tensor) && inputs[i].size() <= kSmall) {
      const std::vector<float> now = ReadView(spec, storages[i].get());
      const auto same = [](float a, float b) { return a == b || (std::isnan(a) && std::isnan(b)); };
      if (!std::equal(now.begin(), now.end(), inputs[i].begin(), inputs[i].end(), same)) {
        report->faults.push_back(name + ", an input, was changed");
      }
    }
  }
}

Gate GateOf(const Case& a_case, CallTensor output, int64_t terms, const CheckOptions& options) {
  Gate gate;
  gate.norm = options.direct ? 1e-6 : 3e-6;
  gate.close = a_case.tensor(output).dtype == ACL_FLOAT && terms <= 32 && NarrowData(a_case);
  gate.exact = options.integers && terms <= kExactTerms;
  if (!options.integers) gate.tolerance = a_case.tolerances[static_cast<int>(output)];
  return gate;
}

OutputReport CheckOutput(const Case& a_case, CallTensor output, const Reference& reference, const Storages& storages,
                         const Precision& precision, const CheckOptions& options) {
  const TensorSpec& spec = a_case.tensor(output);
  OutputReport report{output, spec.dtype, spec.shape, false, true, {}, {}};
  numerics::DType dtype;
  if (!ToDType(spec.dtype, &dtype)) {
    report.faults.push_back("the oracle does not know this type");
    return report;
  }
  const void* storage = storages[static_cast<int>(output)].get();
  std::vector<float> actual;
  std::vector<double> golden;
  std::vector<int64_t> indices;
  report.sampled = !options.full && reference.Flops() > options.whole_flops;
  if (report.sampled) {
    indices = ChooseElements(spec.shape, options.samples, MixKey(options.seed, a_case.id));
    golden.resize(indices.size());
    oracle::ParallelFor(static_cast<int64_t>(indices.size()),
                        [&](int64_t i) { golden[i] = reference.At(output, indices[i]); });
    actual = ReadElements(spec, storage, indices);
  } else {
    actual = ReadView(spec, storage);
    golden = reference.Whole(output);
  }
  CompareOptions compare;
  compare.saturate = precision.saturate;
  compare.worst = options.worst;
  compare.tolerance = a_case.tolerances[static_cast<int>(output)];
  // A handful of elements may all be small because their terms cancel; their errors are not.
  constexpr size_t kFew = 64;
  for (size_t i = 0; golden.size() <= kFew && i < golden.size(); ++i) {
    compare.term_norms.push_back(reference.TermNormAt(output, indices.empty() ? static_cast<int64_t>(i) : indices[i]));
  }
  report.errors = Compare(dtype, actual, golden, indices, compare);
  report.faults = Judge(report.errors, GateOf(a_case, output, reference.Terms(output), options));
  return report;
}

std::string StatusFault(const Case& a_case, int status) {
  std::string expected;
  for (const int one : a_case.statuses) expected += (expected.empty() ? "" : " or ") + std::to_string(one);
  return "phase 1 gave " + std::to_string(status) + ", expected " + expected;
}

}  // namespace

bool CaseReport::passed() const {
  return faults.empty() &&
         std::all_of(outputs.begin(), outputs.end(), [](const OutputReport& output) { return output.faults.empty(); });
}

CaseReport CheckCase(const Case& a_case, const Runtime& runtime, const CheckOptions& options) {
  CaseReport report;
  const Storages storages = MakeStorages(a_case);
  InputValues inputs = FillInputs(a_case, options, storages);
  const Outcome outcome =
      RunCase(a_case, storages, runtime.stream(), LaunchOptions{.odd_workspace = options.odd_workspace});
  report.status = outcome.phase1 != 0 ? outcome.phase1 : outcome.phase2;
  report.message = outcome.message;
  report.workspace_bytes = outcome.workspace_bytes;
  report.seconds = outcome.seconds;
  if (std::count(a_case.statuses.begin(), a_case.statuses.end(), outcome.phase1) == 0) {
    report.faults.push_back(StatusFault(a_case, outcome.phase1));
  }
  if (outcome.phase1 == 0 && outcome.phase2 != 0) {
    report.faults.push_back("phase 2 gave " + std::to_string(outcome.phase2));
  }
  if (outcome.workspace_overrun) report.faults.push_back("the workspace was overrun");
  CheckUntouched(a_case, inputs, storages, &report);
  if (report.status != 0 || !report.faults.empty()) return report;

  const char* soc = aclrtGetSocName();
  const Precision precision = PrecisionOf(a_case, soc == nullptr ? "" : soc);
  const Reference reference(a_case, std::move(inputs), precision);
  report.flops = reference.Flops();
  for (const CallTensor output : a_case.compare) {
    report.outputs.push_back(CheckOutput(a_case, output, reference, storages, precision, options));
  }
  return report;
}

std::vector<int64_t> ChooseElements(const Extents& shape, int samples, uint64_t key) {
  const int64_t volume = Volume(shape);
  const Extents strides = PackedStrides(shape);
  std::set<int64_t> chosen;
  if (volume <= 2 * samples) {
    for (int64_t i = 0; i < volume; ++i) chosen.insert(chosen.end(), i);
    return {chosen.begin(), chosen.end()};
  }
  const size_t rank = shape.size();
  for (uint64_t corner = 0; corner < (uint64_t{1} << rank); ++corner) {
    int64_t index = 0;
    for (size_t axis = 0; axis < rank; ++axis) index += (corner >> axis & 1) * (shape[axis] - 1) * strides[axis];
    chosen.insert(index);
  }
  uint64_t draws = 0;
  const auto draw = [&] { return static_cast<int64_t>(Draw(key, draws++) % static_cast<uint64_t>(volume)); };
  constexpr int kOnEachEdge = 8;
  for (size_t axis = 0; axis < rank; ++axis) {
    for (int i = 0; i < 2 * kOnEachEdge; ++i) {
      const int64_t any = draw();
      const int64_t here = any / strides[axis] % shape[axis];
      chosen.insert(any + ((i % 2 == 0 ? 0 : shape[axis] - 1) - here) * strides[axis]);
    }
  }
  const size_t enough = std::min<size_t>(volume, chosen.size() + samples);
  while (chosen.size() < enough) chosen.insert(draw());
  return {chosen.begin(), chosen.end()};
}

}  // namespace canopy::tools
