// SPDX-License-Identifier: Apache-2.0
#include "conv/streams.h"

#include <atomic>

#include "base/cpu.h"

namespace canopy::conv {
namespace {

enum class Forced { kNo, kOff, kOn };
std::atomic<Forced> g_forced{Forced::kNo};

}  // namespace

bool OutgrowsCaches(int64_t bytes) {
  const Forced forced = g_forced.load(std::memory_order_relaxed);
  if (forced != Forced::kNo) return forced == Forced::kOn;
  const int64_t cache = base::Cpu().l3_bytes;
  return cache > 0 && bytes > cache;
}

ScopedStreams::ScopedStreams(bool use) { g_forced = use ? Forced::kOn : Forced::kOff; }

ScopedStreams::~ScopedStreams() { g_forced = Forced::kNo; }

}  // namespace canopy::conv
