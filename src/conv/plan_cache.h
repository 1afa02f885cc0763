// SPDX-License-Identifier: Apache-2.0
// A bounded memory of plans, keyed by the whole problem, least recently used out first. Any thread.
#ifndef CANOPY_CONV_PLAN_CACHE_H_
#define CANOPY_CONV_PLAN_CACHE_H_

#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "conv/plan.h"

namespace canopy::conv {

class PlanCache {
 public:
  explicit PlanCache(size_t capacity) : capacity_(capacity) {}

  // nullptr: not remembered.
  std::shared_ptr<const Plan> Find(const ConvProblem& problem);

  // Remembers `plan`, forgetting the least recently used one when full.
  void Insert(std::shared_ptr<const Plan> plan);

  size_t size() const;

 private:
  struct Hash {
    size_t operator()(const ConvProblem* problem) const;
  };
  struct Equal {
    bool operator()(const ConvProblem* a, const ConvProblem* b) const { return *a == *b; }
  };
  using Recency = std::list<std::shared_ptr<const Plan>>;  // newest first; keys point into the plans

  const size_t capacity_;
  mutable std::mutex mutex_;
  Recency recency_;
  std::unordered_map<const ConvProblem*, Recency::iterator, Hash, Equal> index_;
};

}  // namespace canopy::conv

#endif  // CANOPY_CONV_PLAN_CACHE_H_
