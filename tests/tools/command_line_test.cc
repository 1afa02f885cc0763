// SPDX-License-Identifier: Apache-2.0
// The program itself: what it prints, what it writes, how it exits.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tools/npy.h"

namespace canopy::tools {
namespace {

struct Result {
  int exit_code;
  std::string output;  // both streams
};

Result Canopy(const std::string& arguments, const std::string& environment = "") {
  const std::string command = environment + " '" CANOPY_PROGRAM "' " + arguments + " 2>&1";
  std::FILE* pipe = popen(command.c_str(), "r");
  Result result{-1, ""};
  char part[4096];
  while (const size_t count = std::fread(part, 1, sizeof(part), pipe)) result.output.append(part, count);
  const int status = pclose(pipe);
  if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
  return result;
}

void ExpectSays(const Result& result, int exit_code, std::initializer_list<const char*> parts) {
  EXPECT_EQ(result.exit_code, exit_code) << result.output;
  for (const char* part : parts)
    EXPECT_NE(result.output.find(part), std::string::npos) << part << " in " << result.output;
}

class CommandLine : public testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        testing::TempDir() + "/canopy_command_line_" + testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directory(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string Write(const char* name, const std::string& text) {
    std::ofstream(folder_ + "/" + name) << text;
    return folder_ + "/" + name;
  }

  std::string folder_;
};

TEST_F(CommandLine, HelpTellsOfEveryCommand) {
  ExpectSays(Canopy("--help"), 0, {"run", "check", "info", "Exit codes", "problem-text.md"});
  ExpectSays(Canopy("check --help"), 0, {"--full", "--integers", "--csv", "--json", "MERE"});
  ExpectSays(Canopy("run --help"), 0, {"--grad-output", "--out", "u2"});
  ExpectSays(Canopy("--version"), 0, {"canopy " CANOPY_VERSION});
}

TEST_F(CommandLine, BadUsageExitsWithTwo) {
  ExpectSays(Canopy(""), 2, {"subcommand"});
  ExpectSays(Canopy("dance"), 2, {});
  ExpectSays(Canopy("check"), 2, {"nothing to check"});
  ExpectSays(Canopy("check --samples 0 conv_backward ci1 co1 in1 k1"), 2, {"--samples"});
  ExpectSays(Canopy("check conv_backward ci1 co1 in5"), 2, {"\"k\" is missing"});
  ExpectSays(Canopy("check /nowhere/list.txt"), 2, {"/nowhere/list.txt", "cannot be opened"});
  ExpectSays(Canopy("check " + Write("bad.txt", "conv_backward ci1 co1 in5 k3\noops\n")), 2, {"bad.txt:2:", "oops"});
  ExpectSays(Canopy("run conv_backward ci1 co1 in5 k3 --bias x.npy"), 2, {"no bias"});
}

TEST_F(CommandLine, AnUnknownProductIsRefusedWithTheKnownOnes) {
  ExpectSays(Canopy("info", "CANOPY_SOC=Ascend1"), 2, {"Ascend1", "Ascend910B1"});
  const std::string problem = "conv_backward ci3 co4 in9x9 k3";
  for (const char* command : {"check ", "explain "}) {
    ExpectSays(Canopy(command + problem + " --soc Ascend1"), 2, {"--soc: was \"Ascend1\"", "Ascend910B1", "Ascend950"});
  }
  ExpectSays(Canopy("explain " + problem, "CANOPY_SOC=Ascend1"), 2, {"CANOPY_SOC: was \"Ascend1\"", "Ascend910B1"});
  ExpectSays(Canopy("check " + Write("soc.txt", problem + "\n" + problem + " soc=Ascend1\n")), 2,
             {"soc.txt:2: soc: was \"Ascend1\"", "Ascend910B1"});
}

TEST_F(CommandLine, PlainAscend910BIsATrainingChipOutsideOfCaseTables) {
  // It was taken for Atlas A2 in --soc and soc=, where explain and CANOPY_SOC take it for what it is.
  ExpectSays(Canopy("check conv_backward ci3 co4 in9x9 k3 math3 --soc Ascend910B"), 1, {"Ascend910B (Atlas training)"});
  ExpectSays(Canopy("check 'conv_backward ci3 co4 in9x9 k3 math3 soc=Ascend910B expect=161002'"), 0, {"1 of 1 passed"});
}

TEST_F(CommandLine, ExplainTellsEachProductsVerdictAndTheRule) {
  const std::string volume = "explain conv_backward ci8 co8 in8x8x8 k3 p300 math1";
  ExpectSays(
      Canopy(volume + " --soc all"), 0,
      {"Ascend910A         Atlas training     161002   three-d: input rank: was 5",
       "Ascend910B1        Atlas A2           accepted beyond a limit", "padding (H): was 300; allowed is 0 to 255",
       "Ascend950PR_9589   Ascend 950         accepted", "HF32 with 10", "Ascend310B1        Atlas 200I/500 A2  161002",
       "rule three-d: the product offers 3D", "plan"});
  ExpectSays(Canopy(volume), 0,
             {"accepted", "limit documented-limits", "CANOPY_LIMITS=documented", "precision", "plan"});
  ExpectSays(Canopy(volume + " --soc Ascend310P"), 1, {"refused with 161002", "rule: the product offers 3D"});
  ExpectSays(Canopy("explain conv_backward ci8"), 2, {"missing"});
}

TEST_F(CommandLine, InfoNamesTheProductAndTheProcessor) {
  ExpectSays(Canopy("info"), 0, {"Ascend910B1", "threads", "in use"});
  ExpectSays(Canopy("info", "CANOPY_SOC=Ascend950 CANOPY_NUM_THREADS=3"), 0, {"Ascend950PR_9589", "threads    3"});
}

TEST_F(CommandLine, AGoodProblemPasses) {
  ExpectSays(Canopy("check conv_backward ci3 co4 in9x9 k3 p1 tbc_backward f16 t7 b2 ci3 co4 k3"), 0,
             {"gradInput", "gradWeight", "gradBias", "2 of 2 passed"});
}

TEST_F(CommandLine, ACheckOfNothingIsNoPass) {
  // It printed "0 of 0 passed" and exited with 0.
  const std::string problem = "conv_backward ci3 co4 in9x9 k3";
  const std::string list = Write("list.txt", problem + "\ntbc_backward f16 t7 b2 ci3 co4 k3\n");
  ExpectSays(
      Canopy("check " + list + " --filter 5x5"), 2,
      {"nothing is left to check of 2 cases", "--filter \"5x5\" keeps 0, allowed is text that some case's name"});
  ExpectSays(Canopy("check " + list + " --max-gflop 1e-9"), 2, {"--max-gflop 1e-09 keeps 0"});
  ExpectSays(Canopy("check " + list + " --fraction 0 --filter tbc"), 2,
             {"--filter \"tbc\" keeps 1", "--fraction 0 keeps 0, allowed is up to 1"});
  ExpectSays(Canopy("check -q " + list + " --filter tbc"), 0, {"list.txt (1 left out): 1 of 1 passed"});
  ExpectSays(Canopy("check -q " + list + " " + Write("other.txt", problem + "\n") + " --filter tbc"), 0,
             {"1 of 1 passed", "other.txt (1 left out): nothing to check"});
}

TEST_F(CommandLine, AnUnexpectedStatusFailsWithTheLibrarysOwnWords) {
  ExpectSays(Canopy("check 'conv_backward ci3 co4 in9x9 k3 expect=161002'"), 1,
             {"FAIL", "gave 0, expected 161002", "0 of 1 passed"});
  ExpectSays(Canopy("check 'conv_backward ci3 co4 in9x9 k3 g2'"), 1, {"gave 161002, expected 0", "EZ1001"});
  ExpectSays(Canopy("check 'conv_backward ci3 co4 in9x9 k3 g2 expect=161002'"), 0, {"1 of 1 passed"});
}

TEST_F(CommandLine, EachProductsLinesAreCheckedByAProcessOfItsOwn) {
  const std::string list = Write("products.txt",
                                 "conv_backward f32 ci3 co4 in9x9 k3 math0\n"
                                 "conv_backward f32 ci3 co4 in9x9 k3 math0 soc=Ascend910A expect=161002\n"
                                 "conv_backward f32 ci3 co4 in9x9 k3 math3 soc=Ascend950\n"
                                 "conv_backward hif8 ci3 co4 in9x9 k3 transposed mask100 soc=Ascend950\n"
                                 "conv_backward bf16 ci3 co4 in9x9 k3 soc=Ascend310P expect=161002\n");
  ExpectSays(Canopy("check -q " + list), 0, {"products.txt: 5 of 5 passed"});
}

TEST_F(CommandLine, ReportsForProgramsHaveEveryOutput) {
  const Result csv = Canopy("check -q --csv " + folder_ + "/r.csv conv_backward ci3 co4 in9x9 k3");
  EXPECT_EQ(csv.exit_code, 0) << csv.output;
  std::ifstream rows(folder_ + "/r.csv");
  std::string line;
  int count = 0;
  while (std::getline(rows, line)) count += line.find(count == 0 ? "norm_error" : "PASS") != line.npos ? 1 : 100;
  EXPECT_EQ(count, 4);
  const Result json = Canopy("check -q --json " + folder_ + "/r.json conv_backward ci3 co4 in9x9 k3");
  EXPECT_EQ(json.exit_code, 0) << json.output;
  const nlohmann::json report = nlohmann::json::parse(std::ifstream(folder_ + "/r.json"));
  ASSERT_EQ(report["outputs"].size(), 3u);
  EXPECT_EQ(report["outputs"][1]["output"], "gradWeight");
  EXPECT_LT(report["outputs"][1]["norm_error"], 1e-6);
  EXPECT_EQ(report["verdict"], "PASS");
}

TEST_F(CommandLine, RunReadsAndWritesFilesAndCheckComparesThem) {
  WriteNpy(folder_ + "/x.npy", {"f4", {1, 1, 2}, {0, 0, 0x80, 0x3F, 0, 0, 0, 0x40}});  // 1, 2
  const std::string problem =
      "run conv_forward ci1 co1 in2 k1 'data=integers:3:3' --input " + folder_ + "/x.npy --out " + folder_;
  ExpectSays(Canopy(problem + " --save-inputs --repeat 2"), 0, {"wrote", "weight.npy", "output.npy", "ms"});
  const NpyArray output = ReadNpy(folder_ + "/output.npy");
  EXPECT_EQ(output.shape, (Extents{1, 1, 2}));
  EXPECT_EQ(NpyValues(output, numerics::DType::kFloat32), (std::vector<double>{3, 6}));
  ExpectSays(Canopy("check " + folder_ + "/output.npy " + folder_ + "/output.npy"), 0, {"PASS", "2 of 2", "equal"});
  ExpectSays(Canopy("check " + folder_ + "/output.npy " + folder_ + "/x.npy --plot " + folder_ + "/errors.png"), 1,
             {"FAIL", "[0,0,1]", "missed", "up to"});
  std::ifstream picture(folder_ + "/errors.png", std::ios::binary);
  std::string start(8, ' ');
  picture.read(start.data(), 8);
  EXPECT_EQ(start, "\x89PNG\r\n\x1a\n");
  ExpectSays(Canopy("check " + folder_ + "/output.npy"), 2, {"name two"});
  ExpectSays(Canopy("check " + folder_ + "/output.npy " + folder_ + "/weight.npy"), 2,
             {"shapes differ", "1x1x2", "1x1x1"});
}

TEST_F(CommandLine, ComparedFilesAreNamedWithTheirTypesAndReported) {
  // Two files and --csv gave no report, --json one of a function that nobody had called.
  const std::string ours = folder_ + "/ours.npy", golden = folder_ + "/golden.npy";
  WriteNpy(ours, {"f2", {2}, {0, 0x3C, 0, 0x7E}});                      // 1, NaN
  WriteNpy(golden, {"f4", {2}, {0, 0, 0x80, 0x3F, 0, 0, 0x80, 0x7F}});  // 1, Inf
  const std::string both = "check " + ours + " " + golden;
  ExpectSays(Canopy(both + " --csv " + folder_ + "/r.csv --json " + folder_ + "/r.json"), 1,
             {"ours.npy (FLOAT16) against", "golden.npy (FLOAT): 2, judged as FLOAT16", "misplaced NaN", "[1]"});
  std::ifstream csv(folder_ + "/r.csv");
  std::string header, row;
  ASSERT_TRUE(std::getline(csv, header) && std::getline(csv, row));
  EXPECT_NE(row.find("golden.npy\",,0,,FLOAT16,2,0,2,1,1,0,"), std::string::npos) << row;
  const nlohmann::json report = nlohmann::json::parse(std::ifstream(folder_ + "/r.json"));
  EXPECT_EQ(report["function"], "");
  EXPECT_EQ(report["outputs"][0]["misplaced_nan"], 1);
  EXPECT_EQ(report["outputs"][0]["worst"][0]["actual"], "nan");
  ExpectSays(Canopy(both + " --csv /nowhere/r.csv"), 2, {"/nowhere/r.csv", "cannot be written"});
  ExpectSays(Canopy(both + " --dtype f64"), 2, {"f64", "allowed: f32"});
  ExpectSays(Canopy(both + " --hf32"), 2, {"--hf32", "FLOAT16", "allowed is FLOAT"});
}

TEST_F(CommandLine, OptionsOfFilesAreRefusedForProblems) {
  const std::string problem = "check conv_forward ci1 co1 in2 k1 ";
  ExpectSays(Canopy(problem + "--plot " + folder_ + "/x.png"), 2, {"--plot", "two .npy files"});
  ExpectSays(Canopy(problem + "--hf32"), 2, {"--hf32", "math1"});
}

TEST_F(CommandLine, RunRefusesFilesThatDoNotFitTheProblem) {
  WriteNpy(folder_ + "/x.npy", {"f4", {2}, std::vector<unsigned char>(8)});
  ExpectSays(Canopy("run conv_forward ci1 co1 in2 k1 --input " + folder_ + "/x.npy --out " + folder_), 2,
             {"x.npy", "shape 2", "1x1x2"});
  WriteNpy(folder_ + "/h.npy", {"u2", {1, 1, 2}, std::vector<unsigned char>(4)});
  ExpectSays(Canopy("run conv_forward ci1 co1 in2 k1 --input " + folder_ + "/h.npy --out " + folder_), 2,
             {"h.npy", "holds u2", "f4"});
}

TEST_F(CommandLine, AVerboseLineCanBeRunAgain) {
  for (const char* problem :
       {"conv_backward f16 n2 ci3 co8 in9x9 k3 p1 input:channels_last grad_weight:f32,offset=3 mask110",
        "conv_forward ci4 co6 in5x6 k3 s2 transposed op1 g2 bias:bf16", "tbc_backward t7 b2 ci3 co4 k3 pad1",
        "depthwise_forward ci4 co8 in7x7 k3 p1"}) {
    const Result first = Canopy(std::string("run ") + problem + " --out " + folder_, "CANOPY_VERBOSE=1");
    const size_t begin = first.output.find("canopy: ") + 8;
    const std::string again = first.output.substr(begin, first.output.find(';') - begin);
    ExpectSays(Canopy("check '" + again + "'"), 0, {again.c_str(), "1 of 1 passed"});
  }
}

TEST_F(CommandLine, RunTellsWhatTheOperatorRefused) {
  ExpectSays(Canopy("run conv_forward ci1 co1 in2 k3 --out " + folder_), 1, {"refused", "161002"});
}

}  // namespace
}  // namespace canopy::tools
