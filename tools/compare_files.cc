// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "tools/commands.h"
#include "tools/compare.h"
#include "tools/gates.h"
#include "tools/npy.h"
#include "tools/picture.h"
#include "tools/report.h"

namespace canopy::tools {

numerics::DType ParseDType(const std::string& name) {
  for (int i = 0; i <= static_cast<int>(numerics::DType::kFloat8E4M3); ++i) {
    const numerics::DType dtype = static_cast<numerics::DType>(i);
    if (name == conv::DTypeName(dtype)) return dtype;
  }
  throw BadInput("dtype was \"" + name + "\"; allowed: f32, f16, bf16, hif8, f8e4m3");
}

namespace {

// What a file's elements are: its own type, or for raw bits what the user says.
numerics::DType TypeOfFile(const std::string& path, const NpyArray& array, const std::string& said) {
  if (array.type == "f4" || array.type == "f8") return numerics::DType::kFloat32;
  if (array.type == "f2") return numerics::DType::kFloat16;
  if (array.type == "u2" && said.empty()) return numerics::DType::kBFloat16;
  if (said.empty()) throw BadInput(path + ": holds raw 8-bit codes; say --dtype hif8 or --dtype f8e4m3");
  const numerics::DType dtype = ParseDType(said);
  if (NpyType(dtype) != array.type) throw BadInput(path + ": holds " + array.type + ", which is not " + said);
  return dtype;
}

const char* NameOfFileType(const NpyArray& array, numerics::DType dtype) {
  return array.type == "f8" ? "DOUBLE" : TypeName(ToAclType(dtype));
}

void WriteReports(const std::string& name, const OutputReport& report, const CompareFilesOptions& options) {
  Case files;
  files.id = name;
  files.only_files = true;
  CaseReport whole;
  whole.outputs.push_back(report);
  const OutputFile csv(options.csv), json(options.json);
  if (csv.get() != nullptr) {
    WriteCsvHeader(csv.get());
    WriteCsv(csv.get(), files, whole);
  }
  if (json.get() != nullptr) WriteJson(json.get(), files, whole);
}

}  // namespace

int CompareFiles(const std::string& ours, const std::string& golden, const CompareFilesOptions& options) {
  if (!options.dtype.empty()) ParseDType(options.dtype);
  const NpyArray a = ReadNpy(ours);
  const NpyArray g = ReadNpy(golden);
  if (a.shape != g.shape) {
    throw BadInput("shapes differ: " + ours + " is " + ShapeText(a.shape) + ", " + golden + " is " +
                   ShapeText(g.shape));
  }
  const numerics::DType dtype = TypeOfFile(ours, a, options.dtype);
  const numerics::DType golden_dtype = TypeOfFile(golden, g, options.dtype);
  if (options.hf32 && dtype != numerics::DType::kFloat32) {
    throw BadInput("--hf32: " + ours + " is " + NameOfFileType(a, dtype) + "; allowed is FLOAT");
  }
  const std::vector<double> wide = NpyValues(a, dtype);
  CompareOptions compare;
  compare.hf32 = options.hf32;
  compare.worst = options.worst;
  OutputReport report;
  report.output = CallTensor::kOutput;
  report.dtype = ToAclType(dtype);
  report.shape = a.shape;
  report.errors = Compare(dtype, {wide.begin(), wide.end()}, NpyValues(g, golden_dtype), {}, compare);
  Gate gate;
  gate.norm = 1;  // the golden file may come from a device: only the vendor's criteria are asked for
  report.faults = Judge(report.errors, gate, options.hf32);

  const Errors& e = report.errors;
  std::printf("%s (%s) against %s (%s): %s, judged as %s\n", ours.c_str(), NameOfFileType(a, dtype), golden.c_str(),
              NameOfFileType(g, golden_dtype), ShapeText(a.shape).c_str(),
              options.hf32 ? "HF32" : TypeName(report.dtype));
  std::printf("  equal once rounded      %lld of %lld\n", static_cast<long long>(e.exact),
              static_cast<long long>(e.count));
  std::printf("  norm-wise error         %.4g\n", e.norm);
  std::printf("  MERE                    %.4g\n", e.mere);
  std::printf("  MARE                    %.4g (%.4g over elements that are not tiny)\n", e.mare, e.mare_large);
  std::printf("  mixed tolerance         %.4g%% within (99%% asked), greatest error %.4g\n", 100 * e.mixed_good,
              e.max_abs);
  std::printf("  greatest error in ulp   %.4g\n", e.max_ulps);
  std::printf("  cosine similarity       %.9g\n", e.cosine);
  std::printf("  misplaced NaN, Inf      %lld, %lld\n", static_cast<long long>(e.misplaced_nan),
              static_cast<long long>(e.misplaced_inf));
  std::printf("  worst elements:\n");
  PrintWorst(stdout, e, a.shape);
  std::printf("  errors:\n");
  PrintHistogram(stdout, e);
  for (const std::string& fault : report.faults) std::printf("  missed: %s\n", fault.c_str());
  std::printf("%s\n", report.faults.empty() ? "PASS" : "FAIL");
  if (!options.plot.empty()) {
    std::ofstream file(options.plot, std::ios::binary);
    file << EncodePng(
        DrawHistogram(e, std::filesystem::path(ours).filename().string() + ": elements by error, log scale"));
    file.close();
    if (!file) throw BadInput(options.plot + ": cannot be written");
  }
  WriteReports(ours + " against " + golden, report, options);
  return report.faults.empty() ? kPassed : kCheckFailed;
}

}  // namespace canopy::tools
