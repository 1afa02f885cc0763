// SPDX-License-Identifier: Apache-2.0
#include "bench/peers/onednn.h"

#include <omp.h>

#include <cstring>
#include <map>
#include <stdexcept>

#include "bench/peers/onednn_way.h"
#include "bench/work.h"

namespace canopy::bench {
namespace {

using conv::CallTensor;
using nlohmann::json;

constexpr const char* kWays[] = {"any", "nhwc", "plain", "plainw", "wino"};
// A reference implementation does about a tenth of this a second.
constexpr double kReferenceFlops = 50e6;

// A step for each way that the library has; steps are made when first asked for.
struct Steps {
  std::optional<OneDnnStep> data, weights, weights_with_bias;
};

class OneDnn final : public Implementation {
 public:
  std::string Name() override {
    const dnnl::version_t* version = dnnl::version();
    return "oneDNN " + std::to_string(version->major) + "." + std::to_string(version->minor) + "." +
           std::to_string(version->patch);
  }

  json Prepare(const BenchCase& a_case, const SharedData& data) override {
    Drop();
    call_ = a_case.call;
    geometry_ = GeometryOf(call_);
    tensors_ = {Take(data, CallTensor::kInput, geometry_.user_input),
                Take(data, CallTensor::kWeight, geometry_.user_weight),
                Take(data, CallTensor::kGradOutput, geometry_.user_output),
                Take(data, CallTensor::kGradInput, geometry_.user_grad_input),
                Take(data, CallTensor::kGradWeight, geometry_.user_grad_weight),
                Take(data, CallTensor::kGradBias, geometry_.user_bias)};
    if (!call_.mask[0] && !call_.mask[1]) throw std::runtime_error("it has no primitive for the bias gradient alone");
    json ways = {{"data", json::array()}, {"weights", json::array()}}, implementations = json::object();
    for (const std::string& way : Ways()) {
      AddWay(way, &ways, &implementations);
    }
    if (!call_.mask[0]) ways.erase("data");
    if (!call_.mask[1]) ways.erase("weights");
    return {{"ways", ways}, {"facts", {{"implementations", implementations}}}};
  }

  std::function<void()> Runner(What what, const std::string& way) override {
    if (what == What::kData) return Alone(Find(way).data);
    if (what == What::kWeights) return Alone(Find(way).weights);
    const size_t plus = way.find('+');
    const OneDnnStep* data = call_.mask[0] ? &Find(way.substr(0, plus)).data.value() : nullptr;
    const OneDnnStep* weights = call_.mask[1] ? &WeightsOfCall(plus == way.npos ? way : way.substr(plus + 1)) : nullptr;
    // Both read grad_output; one reorder serves both where they want the same format.
    const bool shared = data != nullptr && weights != nullptr && data->inputs[0].copy && weights->inputs[0].copy &&
                        data->inputs[0].same_format_as(weights->inputs[0]);
    return [this, data, weights, shared] {
      if (data != nullptr) data->Run(&context_, false);
      if (weights != nullptr) weights->Run(&context_, shared);
    };
  }

  void Store(SharedData* data) override {
    for (const CallTensor output : tools::WantedOutputs(data->as_case())) {
      std::memcpy(data->storage(output), user_[static_cast<int>(output)].get(), data->bytes_of(output));
    }
  }

  void Drop() override {
    steps_.clear();
    tensors_ = {};
    context_.buffers.Clear();
    for (Bytes& bytes : user_) bytes.reset();
  }

 private:
  std::vector<std::string> Ways() const {
    std::vector<std::string> ways(std::begin(kWays), std::end(kWays));
    if (geometry_.user_input.data_type() == dnnl::memory::data_type::f32) return ways;
    for (const char* way : kWays) ways.push_back(std::string("f32-") + way);
    return ways;
  }

  // The user's tensor, with a copy of its storage.
  dnnl::memory Take(const SharedData& data, CallTensor tensor, const dnnl::memory::desc& format) {
    if (!data.as_case().tensor(tensor).present) return {};
    Bytes& bytes = user_[static_cast<int>(tensor)];
    bytes = AllocateBytes(data.bytes_of(tensor));
    std::memcpy(bytes.get(), data.storage(tensor), data.bytes_of(tensor));
    const int64_t offset = call_.form(tensor).offset * numerics::ElementBytes(call_.form(tensor).dtype);
    return dnnl::memory(format, context_.engine, bytes.get() + offset);
  }

  // Where the library has no primitive, or only its reference that would take minutes, there is no such way.
  void AddWay(const std::string& way, json* ways, json* implementations) {
    Steps steps;
    const double flops = WorkOf(call_, What::kCall).flops / (call_.mask[0] && call_.mask[1] ? 2 : 1);
    const auto add = [&](const char* part, std::optional<OneDnnStep>* step, const auto& make) {
      try {
        step->emplace(make());
      } catch (const dnnl::error&) {
        return;
      }
      if ((*step)->is_reference() && flops > kReferenceFlops) {
        step->reset();
        return;
      }
      (*ways)[part].push_back(way);
      (*implementations)[part][way] = (*step)->implementation;
    };
    if (call_.mask[0]) {
      add("data", &steps.data, [&] { return MakeDataStep(geometry_, way, tensors_, &context_); });
    }
    if (call_.mask[1]) {
      add("weights", &steps.weights, [&] { return MakeWeightsStep(geometry_, way, false, tensors_, &context_); });
    }
    steps_[way] = std::move(steps);
  }

  Steps& Find(const std::string& way) {
    const auto found = steps_.find(way);
    if (found == steps_.end()) throw std::runtime_error("it has no way \"" + way + "\" here");
    return found->second;
  }

  const OneDnnStep& WeightsOfCall(const std::string& way) {
    Steps& steps = Find(way);
    if (!call_.mask[2]) return steps.weights.value();
    if (!steps.weights_with_bias) steps.weights_with_bias = MakeWeightsStep(geometry_, way, true, tensors_, &context_);
    return *steps.weights_with_bias;
  }

  std::function<void()> Alone(const std::optional<OneDnnStep>& step) {
    const OneDnnStep* found = &step.value();
    return [this, found] { found->Run(&context_, false); };
  }

  conv::Call call_;
  OneDnnGeometry geometry_;
  OneDnnContext context_;
  std::array<Bytes, conv::kCallTensors> user_;
  OneDnnTensors tensors_;
  std::map<std::string, Steps> steps_;
};

}  // namespace

std::unique_ptr<Implementation> MakeOneDnn(int threads) {
  // The OpenMP library read its environment when the parent process started.
  omp_set_num_threads(threads);
  return std::make_unique<OneDnn>();
}

}  // namespace canopy::bench
