// SPDX-License-Identifier: Apache-2.0
// Checks gradients against the forward operator: gradient_check [SEED].
// Convolution is linear in its input, its weight and its bias, so a finite difference with step 1 has no truncation
// error; on whole numbers of magnitude 8 or less FLOAT has no rounding error either. The two must be equal, exactly.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "../device.h"
#include "aclnnop/aclnn_convolution.h"
#include "aclnnop/aclnn_convolution_backward.h"
#include "problem.h"

namespace {

using example::Device;
using example::IntArray;
using example::Tensor;
using Values = std::vector<float>;

const int8_t kKeepDtype = 0;

const Kind kKinds[] = {
    // rank, transposed, groups, depthwise, max stride, max dilation
    {1, false, 1, false, 1, 1}, {1, false, 2, false, 3, 3}, {1, true, 1, false, 3, 2},  {2, false, 1, false, 1, 1},
    {2, false, 1, false, 3, 3}, {2, false, 3, false, 2, 2}, {2, false, 4, true, 2, 1},  {2, true, 1, false, 2, 2},
    {2, true, 2, false, 3, 1},  {3, false, 1, false, 2, 2}, {3, false, 2, false, 1, 2}, {3, true, 1, false, 2, 1},
};

Values WholeNumbers(int64_t count, std::mt19937* random) {
  Values values(count);
  for (float& value : values) value = static_cast<float>(Between(random, -8, 8));
  return values;
}

class Checker {
 public:
  Checker(Device* device, const Problem& problem, std::mt19937* random)
      : device_(device),
        problem_(problem),
        grad_output_(WholeNumbers(example::ElementCount(problem.OutputShape()), random)),
        input_(problem.InputShape(), problem.Format()),
        weight_(problem.WeightShape(), problem.Format()),
        bias_({problem.out_channels}, ACL_FORMAT_ND),
        output_(problem.OutputShape(), problem.Format()),
        stride_(problem.stride),
        padding_(problem.padding),
        dilation_(problem.dilation),
        output_padding_(problem.output_padding) {
    for (Tensor* tensor : {&input_, &weight_, &bias_}) {
      tensor->Write(WholeNumbers(example::ElementCount(tensor->shape()), random));
    }
  }

  // The largest |analytic - finite difference| over all elements of input, weight and bias; counts them.
  double Run(int64_t* checked) {
    Tensor grad_input(input_.shape(), problem_.Format());
    Tensor grad_weight(weight_.shape(), problem_.Format());
    Tensor grad_bias(bias_.shape(), ACL_FORMAT_ND);
    Backward(&grad_input, &grad_weight, &grad_bias);
    const double loss = Loss();
    double worst = 0;
    worst = std::max(worst, Compare(&input_, grad_input.Read(), loss, checked));
    worst = std::max(worst, Compare(&weight_, grad_weight.Read(), loss, checked));
    worst = std::max(worst, Compare(&bias_, grad_bias.Read(), loss, checked));
    return worst;
  }

 private:
  // sum(output * grad_output): its derivative by the output is grad_output.
  double Loss() {
    uint64_t workspace_bytes = 0;
    aclOpExecutor* executor = nullptr;
    example::Must(
        aclnnConvolutionGetWorkspaceSize(input_.get(), weight_.get(), bias_.get(), stride_.get(), padding_.get(),
                                         dilation_.get(), problem_.transposed, output_padding_.get(), problem_.groups,
                                         output_.get(), kKeepDtype, &workspace_bytes, &executor),
        "aclnnConvolutionGetWorkspaceSize");
    device_->Launch(aclnnConvolution, workspace_bytes, executor, "aclnnConvolution");
    device_->Wait();
    const Values output = output_.Read();
    double loss = 0;
    for (size_t i = 0; i < output.size(); ++i) loss += static_cast<double>(output[i]) * grad_output_[i];
    return loss;
  }

  void Backward(Tensor* grad_input, Tensor* grad_weight, Tensor* grad_bias) {
    const Tensor grad_output(problem_.OutputShape(), problem_.Format(), grad_output_);
    const IntArray bias_sizes({problem_.out_channels});
    const example::OutputMask all(true, true, true);
    uint64_t workspace_bytes = 0;
    aclOpExecutor* executor = nullptr;
    example::Must(
        aclnnConvolutionBackwardGetWorkspaceSize(
            grad_output.get(), input_.get(), weight_.get(), bias_sizes.get(), stride_.get(), padding_.get(),
            dilation_.get(), problem_.transposed, output_padding_.get(), static_cast<int>(problem_.groups), all.get(),
            kKeepDtype, grad_input->get(), grad_weight->get(), grad_bias->get(), &workspace_bytes, &executor),
        "aclnnConvolutionBackwardGetWorkspaceSize");
    device_->Launch(aclnnConvolutionBackward, workspace_bytes, executor, "aclnnConvolutionBackward");
    device_->Wait();
  }

  // Moves each element of `variable` by 1 in turn.
  double Compare(Tensor* variable, const Values& gradient, double loss, int64_t* checked) {
    Values values = variable->Read();
    double worst = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] += 1;
      variable->Write(values);
      const double difference = Loss() - loss;
      values[i] -= 1;
      const double error = std::fabs(difference - gradient[i]);
      worst = std::max(worst, std::isnan(error) ? HUGE_VAL : error);
    }
    variable->Write(values);
    *checked += static_cast<int64_t>(values.size());
    return worst;
  }

  Device* device_;
  const Problem problem_;
  const Values grad_output_;
  Tensor input_, weight_, bias_, output_;
  const IntArray stride_, padding_, dilation_, output_padding_;
};

}  // namespace

int main(int argc, char** argv) {
  const unsigned seed = argc > 1 ? static_cast<unsigned>(std::strtoul(argv[1], nullptr, 10)) : 1;
  std::mt19937 random(seed);
  Device device;
  std::printf("seed %u\n%-84s %8s %8s\n", seed, "problem, as `canopy run` takes it", "elements", "largest");
  std::printf("%-84s %8s %8s\n", "", "checked", "error");
  int wrong = 0;
  for (const Kind& kind : kKinds) {
    const Problem problem = RandomProblem(kind, &random);
    int64_t checked = 0;
    const double error = Checker(&device, problem, &random).Run(&checked);
    const bool right = error == 0;
    std::printf("%-84s %8lld %8g  %s\n", problem.Text().c_str(), static_cast<long long>(checked), error,
                right ? "exact" : "WRONG");
    wrong += right ? 0 : 1;
  }
  if (wrong > 0) std::printf("%d problems have wrong gradients\n", wrong);
  return wrong == 0 ? 0 : 1;
}
