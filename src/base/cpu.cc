// SPDX-License-Identifier: Apache-2.0
#include "base/cpu.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "base/env.h"

namespace canopy::base {
namespace {

constexpr int kMaxThreads = 256;

std::string ValueAfterColon(const std::string& line) {
  const size_t colon = line.find(':');
  if (colon == std::string::npos) return "";
  const size_t start = line.find_first_not_of(" \t", colon + 1);
  return start == std::string::npos ? "" : line.substr(start);
}

int64_t CacheBytes(int name, int64_t fallback) {
  const long bytes = sysconf(name);
  return bytes > 0 ? bytes : fallback;
}

// Of a core complex from Zen 3 to Zen 5, but for those with a stacked cache, which have three times as much.
constexpr int64_t kComplexBytes = int64_t{32} << 20;

// However large a package's is, other cores use it too: of 480 MiB two cores of a virtual machine read 64 MiB at its
// rate, 128 MiB at that of memory.
constexpr int64_t kMostL3Bytes = int64_t{96} << 20;

// The last level as the kernel tells it. Where it does not, in many virtual machines, glibc knows a whole package's
// only, of which a core fills what its complex has.
int64_t L3Bytes(const CpuFacts& facts) {
  std::ifstream info("/sys/devices/system/cpu/cpu0/cache/index3/size");
  int64_t kibibytes = 0;
  char unit = 0;
  if (info >> kibibytes >> unit && unit == 'K') return std::min(kibibytes << 10, kMostL3Bytes);
  const int64_t bytes = CacheBytes(_SC_LEVEL3_CACHE_SIZE, 0);
  return std::min(bytes, facts.vendor == "AuthenticAMD" ? kComplexBytes : kMostL3Bytes);
}

CpuFacts ReadFacts() {
  CpuFacts facts;
  std::ifstream info("/proc/cpuinfo");
  std::string line;
  while (std::getline(info, line) && !line.empty()) {  // the first processor's block
    if (line.rfind("vendor_id", 0) == 0) facts.vendor = ValueAfterColon(line);
    if (line.rfind("model name", 0) == 0) facts.model = ValueAfterColon(line);
    if (line.rfind("cpu family", 0) == 0) facts.family = std::atoi(ValueAfterColon(line).c_str());
    if (line.rfind("model\t", 0) == 0) facts.model_number = std::atoi(ValueAfterColon(line).c_str());
  }
  facts.halves = facts.vendor == "AuthenticAMD" && facts.family == 25;
  facts.l1_data_bytes = CacheBytes(_SC_LEVEL1_DCACHE_SIZE, facts.l1_data_bytes);
  facts.l2_bytes = CacheBytes(_SC_LEVEL2_CACHE_SIZE, facts.l2_bytes);
  facts.l3_bytes = L3Bytes(facts);
  return facts;
}

int AffinityCount() {
  cpu_set_t mask;
  if (sched_getaffinity(0, sizeof(mask), &mask) != 0) return std::max(1L, sysconf(_SC_NPROCESSORS_ONLN));
  return std::max(1, CPU_COUNT(&mask));
}

// The cgroup's CPU quota in whole processors, rounded up; 0 where there is none.
int QuotaCount() {
  std::ifstream v2("/sys/fs/cgroup/cpu.max");
  std::string quota;
  double period = 0;
  if (v2 >> quota >> period && quota != "max" && period > 0)
    return static_cast<int>(std::atof(quota.c_str()) / period + 0.999);
  std::ifstream v1_quota("/sys/fs/cgroup/cpu/cpu.cfs_quota_us");
  std::ifstream v1_period("/sys/fs/cgroup/cpu/cpu.cfs_period_us");
  double amount = 0;
  if (v1_quota >> amount && v1_period >> period && amount > 0 && period > 0) {
    return static_cast<int>(amount / period + 0.999);
  }
  return 0;
}

}  // namespace

const CpuFacts& Cpu() {
  static const CpuFacts facts = ReadFacts();
  return facts;
}

int DefaultThreadCount() {
  static const int count = [] {
    int allowed = AffinityCount();
    if (const int quota = QuotaCount(); quota > 0) allowed = std::min(allowed, quota);
    allowed = static_cast<int>(EnvInt("OMP_NUM_THREADS", 1, kMaxThreads, allowed));
    return static_cast<int>(EnvInt("CANOPY_NUM_THREADS", 1, kMaxThreads, allowed));
  }();
  return count;
}

}  // namespace canopy::base
