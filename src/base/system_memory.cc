// SPDX-License-Identifier: Apache-2.0
#include "base/system_memory.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>

namespace canopy::base {
namespace {

constexpr uint64_t kUnlimited = ~uint64_t{0};

// Names of the files that a generation of control groups keeps its memory figures in.
struct GroupFiles {
  const char* limit;
  const char* usage;
  const char* reclaimable;  // key in memory.stat: file cache that gives way
};
constexpr GroupFiles kVersion1 = {"/memory.limit_in_bytes", "/memory.usage_in_bytes", "total_inactive_file"};
constexpr GroupFiles kVersion2 = {"/memory.max", "/memory.current", "inactive_file"};

uint64_t NumberIn(const std::string& path, uint64_t fallback) {
  std::ifstream file(path);
  uint64_t number = 0;
  return file >> number ? number : fallback;  // "max" is no number
}

// The number after a key of a file of lines "key number ...".
uint64_t NumberAfter(const std::string& path, const std::string& key, uint64_t fallback) {
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    if (line.rfind(key, 0) == 0 && line.size() > key.size()) return std::strtoull(&line[key.size()], nullptr, 10);
  }
  return fallback;
}

uint64_t LessOrZero(uint64_t a, uint64_t b) { return a > b ? a - b : 0; }

// Narrows to what one group allows.
void ApplyGroup(const std::string& folder, const GroupFiles& files, SystemMemory* memory) {
  const uint64_t limit = NumberIn(folder + files.limit, kUnlimited);
  if (limit >= memory->total_bytes) return;
  const uint64_t used = LessOrZero(NumberIn(folder + files.usage, 0),
                                   NumberAfter(folder + "/memory.stat", std::string(files.reclaimable) + " ", 0));
  memory->total_bytes = limit;
  memory->available_bytes = std::min(memory->available_bytes, LessOrZero(limit, used));
}

// The group that a line of /proc/self/cgroup names, and all above it. In a container the path may be seen from outside,
// so folders that do not exist are passed over.
void ApplyGroups(const std::string& mount, std::string path, const GroupFiles& files, SystemMemory* memory) {
  while (true) {
    ApplyGroup(mount + (path == "/" ? "" : path), files, memory);
    if (path.empty() || path == "/") return;
    path.erase(path.rfind('/'));
  }
}

void ApplyControlGroups(SystemMemory* memory) {
  std::ifstream groups("/proc/self/cgroup");
  std::string line;  // "number:controllers:path"
  while (std::getline(groups, line)) {
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 1);
    if (controllers.empty()) ApplyGroups("/sys/fs/cgroup", path, kVersion2, memory);
    if (controllers.find("memory") != std::string::npos) {
      ApplyGroups("/sys/fs/cgroup/memory", path, kVersion1, memory);
    }
  }
}

uint64_t ResidentBytes() {
  std::ifstream file("/proc/self/statm");
  uint64_t size = 0;
  uint64_t resident = 0;
  return file >> size >> resident ? resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)) : 0;
}

}  // namespace

SystemMemory ReadSystemMemory() {
  SystemMemory memory;
  const uint64_t pages = static_cast<uint64_t>(std::max(0L, sysconf(_SC_PHYS_PAGES)));
  const uint64_t page_bytes = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  memory.total_bytes = pages * page_bytes;
  const uint64_t available_kib = NumberAfter("/proc/meminfo", "MemAvailable:", memory.total_bytes >> 10);
  memory.available_bytes = available_kib << 10;
  ApplyControlGroups(&memory);
  memory.resident_bytes = ResidentBytes();
  return memory;
}

}  // namespace canopy::base
