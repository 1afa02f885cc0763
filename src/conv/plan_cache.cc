// SPDX-License-Identifier: Apache-2.0
#include "conv/plan_cache.h"

#include <utility>

namespace canopy::conv {
namespace {

class Mixer {
 public:
  void Add(int64_t value) {
    state_ ^= static_cast<uint64_t>(value);
    state_ *= 0x9E3779B97F4A7C15u;  // 2^64 over the golden ratio: spreads small extents over all bits
    state_ ^= state_ >> 29;
  }
  void Add(const Extent3& extents) {
    for (int64_t extent : extents) Add(extent);
  }
  void Add(const Operand& operand) {
    Add(static_cast<int64_t>(operand.dtype));
    for (int64_t stride : operand.strides) Add(stride);
  }
  size_t value() const { return state_; }

 private:
  uint64_t state_ = 0;
};

}  // namespace

size_t PlanCache::Hash::operator()(const ConvProblem* problem) const {
  Mixer mixer;
  const Geometry& g = problem->geometry;
  for (int64_t value : {g.batch, g.groups, g.input_channels, g.output_channels}) mixer.Add(value);
  for (const Extent3* e : {&g.input_size, &g.output_size, &g.kernel, &g.stride, &g.dilation, &g.pad_begin})
    mixer.Add(*e);
  mixer.Add(static_cast<int64_t>(problem->rule.input_rounding));
  mixer.Add(problem->computations * 4 + problem->has_bias * 2 + problem->rule.saturate);
  for (const Operand* operand : {&problem->input, &problem->weight, &problem->output, &problem->input_result}) {
    mixer.Add(*operand);
  }
  return mixer.value();
}

std::shared_ptr<const Plan> PlanCache::Find(const ConvProblem& problem) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = index_.find(&problem);
  if (found == index_.end()) return nullptr;
  recency_.splice(recency_.begin(), recency_, found->second);
  return *found->second;
}

void PlanCache::Insert(std::shared_ptr<const Plan> plan) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (index_.count(&plan->problem) != 0) return;  // another thread planned the same problem meanwhile
  if (recency_.size() >= capacity_) {
    index_.erase(&recency_.back()->problem);
    recency_.pop_back();
  }
  recency_.push_front(std::move(plan));
  index_.emplace(&recency_.front()->problem, recency_.begin());
}

size_t PlanCache::size() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return recency_.size();
}

}  // namespace canopy::conv
