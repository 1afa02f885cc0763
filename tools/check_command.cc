// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <sstream>

#include "tools/check_list.h"
#include "tools/commands.h"
#include "tools/random_call.h"
#include "tools/tensor_data.h"

namespace canopy::tools {
namespace {

struct CommandOptions {
  std::vector<std::string> what;
  ListOptions list;
  CompareFilesOptions files;
  std::string dtype, mask, csv, json, filter;
  int math = 0;
  bool math_given = false;
  int random = 0;
  double fraction = 1;
  double max_gflop = 0;
  double whole_gflop = 1;
  bool quiet = false;
  bool verbose = false;
};

bool StartsProblem(const std::string& word) {
  const std::string op = word.substr(0, word.find(' '));
  constexpr const char* kOps[] = {"conv_backward", "tbc_backward", "conv_forward", "tbc_forward", "depthwise_forward"};
  return std::find(std::begin(kOps), std::end(kOps), op) != std::end(kOps);
}

Overrides ReadOverrides(const CommandOptions& options) {
  Overrides overrides;
  if (!options.dtype.empty()) overrides.dtype = ParseDType(options.dtype);
  if (options.math_given) overrides.math = options.math;
  if (options.mask.empty()) return overrides;
  if (options.mask.size() != 3 || options.mask.find_first_not_of("01") != std::string::npos) {
    throw BadInput("--mask was \"" + options.mask + "\"; allowed: three digits 0 or 1");
  }
  overrides.mask.emplace();
  for (int i = 0; i < 3; ++i) (*overrides.mask)[i] = options.mask[i] == '1';
  return overrides;
}

// Words that follow an operator's name are its problem's until a file or another operator comes.
std::vector<CaseList> ReadWhat(const CommandOptions& options) {
  const Overrides overrides = ReadOverrides(options);
  std::vector<CaseList> lists;
  std::string problem;
  CaseList problems{"problems given", {}};
  const auto finish = [&] {
    if (!problem.empty()) problems.cases.push_back(ReadTextLine(problem, overrides));
    problem.clear();
  };
  for (const std::string& word : options.what) {
    if (StartsProblem(word)) {
      finish();
      problem = word;
    } else if (!problem.empty() && !std::filesystem::exists(word)) {
      problem += " " + word;
    } else {
      finish();
      lists.push_back({std::filesystem::path(word).filename().string(), ReadCaseList(word, overrides)});
    }
  }
  finish();
  if (!problems.cases.empty()) lists.push_back(std::move(problems));
  if (options.random > 0) {
    CaseList random{"random calls", {}};
    for (int i = 0; i < options.random; ++i) random.cases.push_back(CaseOfCall(RandomCall(options.list.check.seed, i)));
    lists.push_back(std::move(random));
  }
  return lists;
}

double RoughFlops(const Case& a_case) {
  // Multiply-adds of one output: elements of the response times those of one of its kernels.
  const bool transposed = a_case.attributes.transposed;
  const CallTensor result = IsBackward(a_case.op) ? CallTensor::kGradOutput : CallTensor::kOutput;
  const TensorSpec& response = a_case.tensor(transposed ? CallTensor::kInput : result);
  const TensorSpec& weight = a_case.tensor(CallTensor::kWeight);
  if (!response.present || !weight.present || weight.shape.empty()) return 0;
  const int64_t responses = std::max<int64_t>(weight.shape[IsTbc(a_case.op) ? weight.shape.size() - 1 : 0], 1);
  const double each =
      2.0 * static_cast<double>(Volume(response.shape)) * static_cast<double>(Volume(weight.shape) / responses);
  const std::vector<CallTensor> wanted = WantedOutputs(a_case);
  return each * static_cast<double>(wanted.size() - std::count(wanted.begin(), wanted.end(), CallTensor::kGradBias));
}

// One option that leaves cases out.
struct Sieve {
  std::string option;   // "--filter 3x3"
  std::string allowed;  // in words
  std::function<bool(const Case&)> keeps;
  size_t kept = 0;
};

std::string WithNumber(const char* option, double number) {
  std::ostringstream text;
  text << option << ' ' << number;
  return text.str();
}

std::vector<Sieve> SievesOf(const CommandOptions& options) {
  std::vector<Sieve> sieves;
  if (!options.filter.empty()) {
    sieves.push_back({"--filter \"" + options.filter + "\"", "text that some case's name holds",
                      [&](const Case& a_case) { return a_case.id.find(options.filter) != std::string::npos; }});
  }
  if (options.max_gflop > 0) {
    sieves.push_back({WithNumber("--max-gflop", options.max_gflop), "the size of some call or more",
                      [&](const Case& a_case) { return RoughFlops(a_case) <= 1e9 * options.max_gflop; }});
  }
  if (options.fraction < 1) {  // the choice depends on the seed and the case's name alone
    sieves.push_back({WithNumber("--fraction", options.fraction), "up to 1", [&](const Case& a_case) {
                        const uint64_t draw = Draw(MixKey(options.list.check.seed, a_case.id), 0);
                        return static_cast<double>(draw >> 11) * 0x1p-53 < options.fraction;
                      }});
  }
  return sieves;
}

// Leaves out what the options do not want. A check of nothing could not fail: that is refused.
void Thin(const CommandOptions& options, std::vector<CaseList>* lists) {
  std::vector<Sieve> sieves = SievesOf(options);
  size_t all = 0, left = 0;
  for (CaseList& list : *lists) {
    const size_t before = list.cases.size();
    std::erase_if(list.cases, [&](const Case& a_case) {
      bool kept = true;
      for (Sieve& sieve : sieves) {
        const bool keeps = sieve.keeps(a_case);
        sieve.kept += keeps ? 1 : 0;
        kept = kept && keeps;
      }
      return !kept;
    });
    if (list.cases.size() != before) list.name += " (" + std::to_string(before - list.cases.size()) + " left out)";
    all += before;
    left += list.cases.size();
  }
  if (left > 0) return;
  std::string text = "nothing is left to check of " + std::to_string(all) + " cases";
  for (const Sieve& sieve : sieves) {
    text += "; " + sieve.option + " keeps " + std::to_string(sieve.kept) + ", allowed is " + sieve.allowed;
  }
  throw BadInput(text);
}

bool IsNpy(const std::string& word) { return word.ends_with(".npy"); }

int Check(CommandOptions options) {
  if (std::any_of(options.what.begin(), options.what.end(), IsNpy)) {
    if (options.what.size() != 2 || !IsNpy(options.what[0]) || !IsNpy(options.what[1])) {
      throw BadInput("to compare .npy files, name two: ours, then golden");
    }
    options.files.dtype = options.dtype;
    options.files.csv = options.csv;
    options.files.json = options.json;
    options.files.worst = options.list.check.worst;
    return CompareFiles(options.what[0], options.what[1], options.files);
  }
  if (!options.files.plot.empty()) throw BadInput("--plot: draws the errors of two .npy files, of nothing else");
  if (options.files.hf32) throw BadInput("--hf32: says how two .npy files were computed; a problem has math1 or math3");
  if (!options.list.soc.empty()) CheckedSoc("--soc", options.list.soc);
  std::vector<CaseList> lists = ReadWhat(options);
  if (lists.empty()) throw BadInput("nothing to check: name a list, a problem or --random N");
  Thin(options, &lists);
  if (options.quiet) options.list.detail = Detail::kFailures;
  if (options.verbose) options.list.detail = Detail::kAll;
  options.list.check.whole_flops = 1e9 * options.whole_gflop;
  const char* algorithm = std::getenv("CANOPY_ALGORITHM");
  options.list.check.direct = algorithm != nullptr && std::string(algorithm) == "direct";
  const OutputFile csv(options.csv), json(options.json);
  options.list.csv = csv.get();
  options.list.json = json.get();
  if (options.list.csv != nullptr) WriteCsvHeader(options.list.csv);
  return CheckLists(lists, options.list) == 0 ? kPassed : kCheckFailed;
}

}  // namespace

void AddCheckCommand(CLI::App* app, Action* action) {
  CLI::App* command = app->add_subcommand("check",
                                          "Hold results against a double-precision reference, or two .npy files "
                                          "against each other");
  const auto o = std::make_shared<CommandOptions>();
  CheckOptions& check = o->list.check;
  command->add_option("what", o->what,
                      "Lists (text lines; JSON lines of cases, networks or performance cases), problems, "
                      "or two .npy files: ours and golden");
  command->add_option("--random", o->random, "Check this many random problems")->check(CLI::NonNegativeNumber);
  command->add_flag("--full", check.full, "Compare whole outputs, whatever it costs");
  command->add_option("--whole", o->whole_gflop, "Calls up to this many GFLOP are compared whole")
      ->capture_default_str();
  command->add_option("--samples", check.samples, "Random elements of each output beyond that")
      ->check(CLI::Range(1, 1000000000))
      ->capture_default_str();
  command->add_option("--seed", check.seed, "Of data and choices")->capture_default_str();
  command->add_flag("--integers", check.integers, "Small whole numbers as data: results must be bit-exact");
  command->add_option("--soc", o->list.soc, "Product for cases that name none (else CANOPY_SOC)");
  command->add_option("--dtype", o->dtype,
                      "Type for text lines and layers, or of raw .npy files: f32, f16, bf16, hif8, f8e4m3");
  command->add_option("--mask", o->mask, "outputMask for text lines and layers, such as 110");
  command->add_option("--math", o->math, "cubeMathType for text lines and layers")->each([o](const std::string&) {
    o->math_given = true;
  });
  command->add_option("--filter", o->filter, "Only cases whose name holds this text");
  command->add_option("--fraction", o->fraction, "A seeded choice of this part of each list")
      ->check(CLI::Range(0.0, 1.0));
  command->add_option("--max-gflop", o->max_gflop, "Leave out larger calls")->check(CLI::PositiveNumber);
  command->add_flag("--hf32", o->files.hf32, ".npy files: FLOAT that was computed as HFLOAT32");
  command->add_option("--plot", o->files.plot, ".npy files: draw the histogram of errors into a .png file")
      ->type_name("FILE");
  command->add_option("--worst", check.worst, "Worst elements to show")
      ->check(CLI::Range(0, 1000))
      ->capture_default_str();
  command->add_flag("-q,--quiet", o->quiet, "Print failures and totals only");
  command->add_flag("-v,--verbose", o->verbose, "Print worst elements and a histogram of errors for every output");
  command->add_option("--csv", o->csv, "Write a row for each output ('-': standard output)")->type_name("FILE");
  command->add_option("--json", o->json, "Write a JSON object a line for each case ('-': standard output)")
      ->type_name("FILE");
  command->footer(
      "Columns: norm = norm of the error over norm of the golden values; MERE, MARE = mean and greatest relative "
      "error\n"
      "(large: of elements that are not tiny); mixed = elements within the mixed tolerance, 99% asked; max ulp = "
      "greatest\n"
      "error in units of the last place.\n"
      "Examples: canopy check tests/problems/tails.txt\n"
      "          canopy check conv_backward f32 n8 ci64 co64 in56x56 k3 p1 --verbose\n"
      "          canopy check ours.npy device.npy");
  command->callback([o, action] { *action = [o] { return Check(*o); }; });
}

}  // namespace canopy::tools
