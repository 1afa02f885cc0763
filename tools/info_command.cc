// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include "acl/acl.h"
#include "base/cpu.h"
#include "kernels/dispatch.h"
#include "tools/commands.h"
#include "tools/runner.h"

namespace canopy::tools {
namespace {

int Info() {
  const Runtime runtime;  // an unknown CANOPY_SOC ends here, with the list of known ones
  const char* soc = aclrtGetSocName();
  aclCANNPackageVersion cann = {};
  aclsysGetCANNVersion(ACL_PKG_NAME_CANN, &cann);
  uint32_t devices = 0;
  aclrtGetDeviceCount(&devices);
  size_t free_bytes = 0, total_bytes = 0;
  aclrtGetMemInfo(ACL_HBM_MEM, &free_bytes, &total_bytes);
  const base::CpuFacts& cpu = base::Cpu();
  std::printf("canopy     %s\n", CANOPY_VERSION);
  std::printf("CANN       %s, ACL %d.%d.%d\n", cann.version, ACL_MAJOR_VERSION, ACL_MINOR_VERSION, ACL_PATCH_VERSION);
  std::printf("product    %s (CANOPY_SOC chooses another)\n", soc);
  std::printf("devices    %u (CANOPY_DEVICE_COUNT)\n", devices);
  std::printf("processor  %s\n", cpu.model.c_str());
  std::printf("caches     L1 %lld KiB, L2 %lld KiB a core, L3 %lld KiB\n",
              static_cast<long long>(cpu.l1_data_bytes >> 10), static_cast<long long>(cpu.l2_bytes >> 10),
              static_cast<long long>(cpu.l3_bytes >> 10));
  std::printf("vectors   ");
  bool used = true;
  for (const int64_t target : kernels::MachineTargets()) {
    std::printf(" %s%s", kernels::TargetName(target), used ? " (in use)" : "");
    used = false;
  }
  std::printf("\nthreads    %d (CANOPY_NUM_THREADS, OMP_NUM_THREADS)\n", base::DefaultThreadCount());
  std::printf("memory     %.1f of %.1f GiB free\n", static_cast<double>(free_bytes) / (1 << 30),
              static_cast<double>(total_bytes) / (1 << 30));
  return kPassed;
}

}  // namespace

void AddInfoCommand(CLI::App* app, Action* action) {
  CLI::App* command = app->add_subcommand("info", "Show version, emulated product, processor features in use, threads");
  command->callback([action] { *action = Info; });
}

}  // namespace canopy::tools
