// SPDX-License-Identifier: Apache-2.0
// The answering side of a worker process. One line of JSON asks, one answers:
//
//   {"do":"hello"}                                                 {"name":"oneDNN 2.6.3"}
//   {"do":"prepare","index":7,"path":"/proc/..."}                  {"ways":{"data":["any",...],...},"facts":{...}}
//   {"do":"result","way":"any"}                                    {}   results of the whole call are in the shared
//   memory
//   {"do":"time","what":"data","way":"any","seconds":0.05}         {"seconds":[...]}
//   {"do":"drop"}                                                  {}
//
// An answer may be {"error":"..."} instead. Where the peer cannot look the case up by its index, "prepare" also carries
// the geometry and the places of the tensors (peers/torch_peer.py).
#ifndef CANOPY_BENCH_SERVE_H_
#define CANOPY_BENCH_SERVE_H_

#include <vector>

#include "bench/bench_case.h"
#include "bench/implementation.h"

namespace canopy::bench {

// Answers on `socket` until it is closed.
void Serve(Implementation* implementation, const std::vector<BenchCase>& cases, int socket);

// Seconds of runs of `run`: for about `seconds` in all after warming up, at least three runs.
std::vector<double> TimeRuns(const std::function<void()>& run, double seconds);

}  // namespace canopy::bench

#endif  // CANOPY_BENCH_SERVE_H_
