// SPDX-License-Identifier: Apache-2.0
#include "bench/team.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "bench/canopy_implementation.h"
#include "bench/engine_implementation.h"
#include "bench/serve.h"
#ifdef CANOPY_BENCH_ONEDNN
#include "bench/peers/onednn.h"
#endif

namespace canopy::bench {
namespace {

// PyTorch with everything in its favour that a knowing user would set: memory that it has freed stays with the process,
// so that results need no fresh pages, and OpenBLAS is told about AVX-512 where it is older than the processor.
void BecomeTorch(const std::string& script, int socket) {
  setenv("MALLOC_MMAP_MAX_", "0", 0);
  setenv("MALLOC_TRIM_THRESHOLD_", "17179869184", 0);
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512vl")) setenv("OPENBLAS_CORETYPE", "SKYLAKEX", 0);
#endif
  fcntl(socket, F_SETFD, 0);  // stays open in the new program
  const std::string number = std::to_string(socket);
  execl("/usr/bin/python3", "python3", script.c_str(), number.c_str(), nullptr);
}

}  // namespace

Team::Team(int threads, const std::vector<BenchCase>& cases, const TeamOptions& options) : threads_(threads) {
  workers_.push_back(std::make_unique<Worker>(threads, [&](int socket) { Serve(MakeCanopy().get(), cases, socket); }));
  if (options.engine) {
    Add(kEngineName, [&](int socket) { Serve(MakeEngine().get(), cases, socket); });
  }
  if (options.onednn) {
#ifdef CANOPY_BENCH_ONEDNN
    Add("oneDNN", [&](int socket) { Serve(MakeOneDnn(threads).get(), cases, socket); });
#else
    std::fprintf(stderr, "oneDNN is left out: built without it (Debian's libdnnl-dev)\n");
#endif
  }
  if (options.torch) Add("PyTorch", [&](int socket) { BecomeTorch(options.torch_peer, socket); });
}

void Team::Add(const std::string& name, const Worker::Child& child) {
  try {
    workers_.push_back(std::make_unique<Worker>(threads_, child));
  } catch (const WorkerFailure& failure) {
    std::fprintf(stderr, "%s is left out: %s\n", name.c_str(), failure.what());
  }
}

}  // namespace canopy::bench
