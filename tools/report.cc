// SPDX-License-Identifier: Apache-2.0
#include "tools/report.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "tools/case_list.h"

namespace canopy::tools {
namespace {

const char* Verdict(bool passed) { return passed ? "PASS" : "FAIL"; }

std::string Joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : "; ") + part;
  return text;
}

// A field of CSV: quoted, quotes doubled.
std::string Quoted(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

double GigaflopsPerSecond(const CaseReport& report) {
  return report.seconds > 0 ? report.flops / report.seconds / 1e9 : 0;
}

// Two files have neither function nor parameters.
const char* FunctionOf(const Case& a_case) { return a_case.only_files ? "" : FunctionName(a_case.op); }
const char* OutputNameOf(const Case& a_case, const OutputReport& output) {
  return a_case.only_files ? "" : ParameterName(a_case.op, output.output);
}

nlohmann::json Number(double value) {  // JSON has no Inf and NaN
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

nlohmann::json OutputJson(const Case& a_case, const OutputReport& output) {
  const Errors& e = output.errors;
  nlohmann::json worst = nlohmann::json::array();
  for (const Element& element : e.worst) {
    worst.push_back({{"index", IndexText(output.shape, element.index)},
                     {"actual", Number(element.actual)},
                     {"golden", Number(element.golden)},
                     {"ulps", Number(element.ulps)}});
  }
  return {{"output", OutputNameOf(a_case, output)},
          {"dtype", TypeName(output.dtype)},
          {"shape", output.shape},
          {"sampled", output.sampled},
          {"elements", e.count},
          {"bit_exact", e.exact},
          {"misplaced_nan", e.misplaced_nan},
          {"misplaced_inf", e.misplaced_inf},
          {"norm_error", Number(e.norm)},
          {"MERE", Number(e.mere)},
          {"MARE", Number(e.mare)},
          {"MARE_large", Number(e.mare_large)},
          {"mixed_tolerance", Number(e.mixed_good)},
          {"max_abs_error", Number(e.max_abs)},
          {"max_ulp", Number(e.max_ulps)},
          {"not_close", Number(e.close_bad)},
          {"cosine", Number(e.cosine)},
          {"worst", worst},
          {"faults", output.faults},
          {"verdict", Verdict(output.faults.empty())}};
}

}  // namespace

std::string ShapeText(const Extents& shape) {
  std::string text;
  for (const int64_t extent : shape) text.append(text.empty() ? "" : "x").append(std::to_string(extent));
  return text.empty() ? "scalar" : text;
}

std::string IndexText(const Extents& shape, int64_t index) {
  const Extents strides = PackedStrides(shape);
  std::string text = "[";
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    text.append(axis == 0 ? "" : ",").append(std::to_string(index / strides[axis] % std::max<int64_t>(shape[axis], 1)));
  }
  return text + "]";
}

void PrintErrorsHeader(std::FILE* out, const char* indent) {
  std::fprintf(out, "%s%-11s %-8s %10s %9s %9s %9s %9s %8s %9s %8s %9s\n", indent, "output", "type", "elements", "norm",
               "MERE", "MARE", "(large)", "mixed", "max abs", "max ulp", "cosine");
}

void PrintErrors(std::FILE* out, const Errors& e) {
  std::fprintf(out, "%9.2e %9.2e %9.2e %9.2e %7.3f%% %9.2e %8.3g %9.7f", e.norm, e.mere, e.mare, e.mare_large,
               100 * e.mixed_good, e.max_abs, e.max_ulps, e.cosine);
}

void PrintWorst(std::FILE* out, const Errors& errors, const Extents& shape) {
  for (const Element& element : errors.worst) {
    std::fprintf(out, "        %-22s ours % .9g  golden % .9g  off by %.3g (%.3g ulp)\n",
                 IndexText(shape, element.index).c_str(), element.actual, element.golden,
                 element.actual - element.golden, element.ulps);
  }
}

void PrintHistogram(std::FILE* out, const Errors& errors) {
  const int64_t most = std::max<int64_t>(*std::max_element(errors.histogram.begin(), errors.histogram.end()), 1);
  for (int bin = 0; bin < kBins; ++bin) {
    const int64_t count = errors.histogram[bin];
    char label[40];
    if (bin < static_cast<int>(kBinEnds.size())) {
      std::snprintf(label, sizeof(label), bin == 0 ? "equal" : "up to %g ulp", kBinEnds[bin]);
    } else {
      std::snprintf(label, sizeof(label), "%s", bin == kBins - 1 ? "NaN or Inf misplaced" : "more");
    }
    if (count == 0 && bin == kBins - 1) continue;
    const int width = count == 0 ? 0 : std::max<int>(1, static_cast<int>(50 * count / most));
    std::fprintf(out, "        %-20s %10lld %s\n", label, static_cast<long long>(count),
                 std::string(width, '#').c_str());
  }
}

void PrintCaseReport(std::FILE* out, const Case& a_case, const CaseReport& report, Detail detail) {
  const bool passed = report.passed();
  if (passed && detail == Detail::kFailures) return;
  std::fprintf(out, "%s  %s  %s", Verdict(passed), a_case.id.c_str(), FunctionOf(a_case));
  if (report.status == 0)
    std::fprintf(out, "  %.3f ms  %.1f GFLOP/s", 1e3 * report.seconds, GigaflopsPerSecond(report));
  std::fputc('\n', out);
  if (!passed && !a_case.text.empty() && a_case.text != a_case.id) std::fprintf(out, "    %s\n", a_case.text.c_str());
  for (const std::string& fault : report.faults) std::fprintf(out, "    %s\n", fault.c_str());
  if (report.status != 0) std::fprintf(out, "    %d: %s\n", report.status, report.message.c_str());
  for (const OutputReport& output : report.outputs) {
    std::fprintf(out, "    %-11s %-8s %10lld ", OutputNameOf(a_case, output), TypeName(output.dtype),
                 static_cast<long long>(output.errors.count));
    PrintErrors(out, output.errors);
    std::fprintf(out, "  %s%s%s\n", Verdict(output.faults.empty()), output.sampled ? " (sampled)" : "",
                 output.faults.empty() ? "" : (": " + Joined(output.faults)).c_str());
    if (output.faults.empty() && detail != Detail::kAll) continue;
    PrintWorst(out, output.errors, output.shape);
    PrintHistogram(out, output.errors);
  }
}

OutputFile::OutputFile(const std::string& path) {
  if (path.empty()) return;
  file_ = path == "-" ? stdout : std::fopen(path.c_str(), "w");
  if (file_ == nullptr) throw BadInput(path + ": cannot be written: " + std::strerror(errno));
}

OutputFile::~OutputFile() {
  if (file_ != nullptr && file_ != stdout) std::fclose(file_);
}

void WriteCsvHeader(std::FILE* out) {
  std::fputs(
      "case,function,status,output,dtype,shape,sampled,elements,bit_exact,misplaced_nan,misplaced_inf,norm_error,"
      "MERE,MARE,MARE_large,mixed_tolerance,max_abs_error,max_ulp,not_close,cosine,verdict,faults,ms,gflops\n",
      out);
}

void WriteCsv(std::FILE* out, const Case& a_case, const CaseReport& report) {
  const std::string begin = Quoted(a_case.id) + "," + FunctionOf(a_case) + "," + std::to_string(report.status);
  if (report.outputs.empty()) {
    std::fprintf(out, "%s,,,,,,,,,,,,,,,,,,%s,%s,%.6g,%.6g\n", begin.c_str(), Verdict(report.passed()),
                 Quoted(Joined(report.faults)).c_str(), 1e3 * report.seconds, GigaflopsPerSecond(report));
  }
  for (const OutputReport& output : report.outputs) {
    const Errors& e = output.errors;
    std::vector<std::string> faults = report.faults;
    faults.insert(faults.end(), output.faults.begin(), output.faults.end());
    std::fprintf(
        out, "%s,%s,%s,%s,%d,%lld,%lld,%lld,%lld,%.6g,%.6g,%.6g,%.6g,%.6g,%.6g,%.6g,%.6g,%.9g,%s,%s,%.6g,%.6g\n",
        begin.c_str(), OutputNameOf(a_case, output), TypeName(output.dtype), ShapeText(output.shape).c_str(),
        output.sampled ? 1 : 0, static_cast<long long>(e.count), static_cast<long long>(e.exact),
        static_cast<long long>(e.misplaced_nan), static_cast<long long>(e.misplaced_inf), e.norm, e.mere, e.mare,
        e.mare_large, e.mixed_good, e.max_abs, e.max_ulps, e.close_bad, e.cosine, Verdict(faults.empty()),
        Quoted(Joined(faults)).c_str(), 1e3 * report.seconds, GigaflopsPerSecond(report));
  }
}

void WriteJson(std::FILE* out, const Case& a_case, const CaseReport& report) {
  nlohmann::json line = {{"case", a_case.id},
                         {"function", FunctionOf(a_case)},
                         {"status", report.status},
                         {"message", report.message},
                         {"faults", report.faults},
                         {"verdict", Verdict(report.passed())},
                         {"workspace_bytes", report.workspace_bytes},
                         {"ms", 1e3 * report.seconds},
                         {"gflops", GigaflopsPerSecond(report)},
                         {"outputs", nlohmann::json::array()}};
  for (const OutputReport& output : report.outputs) line["outputs"].push_back(OutputJson(a_case, output));
  std::fprintf(out, "%s\n", line.dump().c_str());
}

}  // namespace canopy::tools
