// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cstring>
#include <memory>

#include "tools/commands.h"
#include "tools/npy.h"
#include "tools/report.h"
#include "tools/runner.h"
#include "tools/tensor_data.h"

namespace canopy::tools {
namespace {

struct RunOptions {
  std::vector<std::string> problem;
  std::array<std::string, kCallTensors> files;  // inputs to read, outputs to write
  std::string folder = ".";
  bool save_inputs = false;
  uint64_t seed = 1;
  int repeats = 1;
};

std::string FileOf(const RunOptions& options, CallTensor tensor) {
  const std::string& given = options.files[static_cast<int>(tensor)];
  return given.empty() ? options.folder + "/" + conv::CallTensorName(tensor) + ".npy" : given;
}

std::vector<float> ReadInput(const std::string& path, CallTensor tensor, const TensorSpec& spec,
                             numerics::DType dtype) {
  const NpyArray array = ReadNpy(path);
  const std::string name = conv::CallTensorName(tensor);
  if (array.shape != spec.shape) {
    throw BadInput(path + ": has the shape " + ShapeText(array.shape) + "; " + name + " of this problem is " +
                   ShapeText(spec.shape));
  }
  if (array.type != NpyType(dtype)) {
    throw BadInput(path + ": holds " + array.type + "; " + name + " of this problem is " + conv::DTypeName(dtype) +
                   ", which is " + NpyType(dtype) + " in a file");
  }
  const std::vector<double> values = NpyValues(array, dtype);
  return {values.begin(), values.end()};
}

// The view's elements, packed.
void Save(const std::string& path, const TensorSpec& spec, numerics::DType dtype, const void* storage) {
  NpyArray array{NpyType(dtype), spec.shape,
                 std::vector<unsigned char>(Volume(spec.shape) * numerics::ElementBytes(dtype))};
  TensorSpec packed = spec;
  packed.strides.clear();
  packed.offset = 0;
  WriteView(packed, ReadView(spec, storage), array.data.data());
  WriteNpy(path, array);
  std::printf("wrote %s (%s, %s)\n", path.c_str(), ShapeText(spec.shape).c_str(), TypeName(spec.dtype));
}

int Run(const RunOptions& options) {
  std::string line;
  for (const std::string& word : options.problem) line += word + " ";
  const Case a_case = ReadTextLine(line, {});
  for (int i = 0; i < kCallTensors; ++i) {
    if (options.files[i].empty() || a_case.tensors[i].present) continue;
    throw BadInput(std::string("this problem has no ") + conv::CallTensorName(static_cast<CallTensor>(i)));
  }
  const Runtime runtime;
  Storages storages;
  for (int i = 0; i < kCallTensors; ++i) {
    const TensorSpec& spec = a_case.tensors[i];
    const CallTensor tensor = static_cast<CallTensor>(i);
    numerics::DType dtype;
    if (!spec.present || !ToDType(spec.dtype, &dtype)) continue;
    storages[i] = Allocate(StorageElements(spec) * aclDataTypeSize(spec.dtype));
    FillWithNan(spec, storages[i].get());
    if (IsOutput(tensor)) continue;
    const bool given = !options.files[i].empty();
    WriteView(spec,
              given ? ReadInput(options.files[i], tensor, spec, dtype)
                    : DrawValues(spec, MixKey(options.seed, conv::CallTensorName(tensor))),
              storages[i].get());
    if (!given && options.save_inputs) Save(FileOf(options, tensor), spec, dtype, storages[i].get());
  }
  const Outcome outcome = RunCase(a_case, storages, runtime.stream(), LaunchOptions{.repeats = options.repeats});
  const int status = outcome.phase1 != 0 ? outcome.phase1 : outcome.phase2;
  if (status != 0) {
    std::printf("%s refused: %d: %s\n", FunctionName(a_case.op), status, outcome.message.c_str());
    return kCheckFailed;
  }
  std::printf("%s\n%s: %.3f ms, workspace %llu bytes\n", a_case.text.c_str(), FunctionName(a_case.op),
              1e3 * outcome.seconds, static_cast<unsigned long long>(outcome.workspace_bytes));
  for (const CallTensor output : WantedOutputs(a_case)) {
    const TensorSpec& spec = a_case.tensor(output);
    numerics::DType dtype;
    if (ToDType(spec.dtype, &dtype))
      Save(FileOf(options, output), spec, dtype, storages[static_cast<int>(output)].get());
  }
  return kPassed;
}

}  // namespace

void AddRunCommand(CLI::App* app, Action* action) {
  CLI::App* command = app->add_subcommand("run", "Compute one problem; read and write its tensors as .npy files");
  const auto options = std::make_shared<RunOptions>();
  command->add_option("problem", options->problem, "The problem's text, quoted or in pieces")->required();
  for (int i = 0; i < kCallTensors; ++i) {
    const CallTensor tensor = static_cast<CallTensor>(i);
    std::string flag = std::string("--") + conv::CallTensorName(tensor);
    for (char& c : flag) c = c == '_' ? '-' : c;
    command
        ->add_option(flag, options->files[i],
                     IsOutput(tensor) ? "File to write; default: its name in the folder of --out"
                                      : "File to read; default: random values in [-1, 1]")
        ->type_name("FILE");
  }
  command->add_option("--out", options->folder, "Folder for files that are not named")->check(CLI::ExistingDirectory);
  command->add_flag("--save-inputs", options->save_inputs, "Write the random inputs too");
  command->add_option("--seed", options->seed, "Of the random inputs")->capture_default_str();
  command->add_option("--repeat", options->repeats, "Run so often and show the shortest time")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  command->footer(
      "Files hold f4 (FLOAT), f2 (FLOAT16), u2 (raw bits of BF16) or u1 (raw codes of 8-bit types).\n"
      "A word data=integers:-8:8 (or uniform:, normal:) behind the problem says what random inputs are.\n"
      "Example: canopy run conv_backward f32 n2 ci3 co8 in32x32 k3 p1 --input x.npy --out /tmp");
  command->callback([options, action] { *action = [options] { return Run(*options); }; });
}

}  // namespace canopy::tools
