// SPDX-License-Identifier: Apache-2.0
#include "problem.h"

#include <algorithm>

namespace {

Extents Shape(int64_t first, int64_t second, const Extents& spatial) {
  Extents shape = {first, second};
  shape.insert(shape.end(), spatial.begin(), spatial.end());
  return shape;
}

std::string Joined(const Extents& extents) {
  std::string text;
  for (int64_t extent : extents) text += (text.empty() ? "" : "x") + std::to_string(extent);
  return text;
}

// One axis. An ordinary convolution is drawn from its output's extent, so that it always fits.
void AddAxis(const Kind& kind, std::mt19937* random, Problem* problem) {
  const int64_t k = Between(random, problem->in.empty() ? 2 : 1, 3);
  const int64_t s = Between(random, 1, kind.max_stride);
  const int64_t d = Between(random, 1, kind.max_dilation);
  const int64_t reach = d * (k - 1) + 1;
  const int64_t p = Between(random, 0, reach / 2);
  const int64_t drawn = Between(random, 2, kind.rank == 3 ? 3 : 4);
  const int64_t rest = Between(random, 0, s - 1);  // positions that no window reaches, or outputPadding
  const int64_t large = (drawn - 1) * s + reach - 2 * p + rest;
  problem->in.push_back(kind.transposed ? drawn : large);
  problem->out.push_back(kind.transposed ? large : drawn);
  problem->kernel.push_back(k);
  problem->stride.push_back(s);
  problem->dilation.push_back(d);
  problem->padding.push_back(p);
  problem->output_padding.push_back(kind.transposed ? rest : 0);
}

}  // namespace

Extents Problem::InputShape() const { return Shape(batch, in_channels, in); }
Extents Problem::OutputShape() const { return Shape(batch, out_channels, out); }

Extents Problem::WeightShape() const {
  return transposed ? Shape(in_channels, out_channels / groups, kernel)
                    : Shape(out_channels, in_channels / groups, kernel);
}

aclFormat Problem::Format() const {
  return rank() == 1 ? ACL_FORMAT_NCL : rank() == 2 ? ACL_FORMAT_NCHW : ACL_FORMAT_NCDHW;
}

std::string Problem::Text() const {
  std::string text = "conv_backward n" + std::to_string(batch) + " ci" + std::to_string(in_channels) + " co" +
                     std::to_string(out_channels) + " in" + Joined(in) + " k" + Joined(kernel) + " s" + Joined(stride) +
                     " p" + Joined(padding) + " d" + Joined(dilation) + " g" + std::to_string(groups);
  if (transposed) text += " transposed op" + Joined(output_padding);
  return text;
}

Problem RandomProblem(const Kind& kind, std::mt19937* random) {
  Problem problem;
  problem.transposed = kind.transposed;
  problem.groups = kind.groups;
  problem.batch = Between(random, 1, 2);
  problem.in_channels = kind.groups * (kind.depthwise ? 1 : Between(random, 1, 3));
  problem.out_channels = kind.groups * Between(random, 1, 3);
  for (int axis = 0; axis < kind.rank; ++axis) AddAxis(kind, random, &problem);
  return problem;
}
