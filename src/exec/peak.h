// SPDX-License-Identifier: Apache-2.0
// What the threads that compute could do at most on this machine.
#ifndef CANOPY_EXEC_PEAK_H_
#define CANOPY_EXEC_PEAK_H_

namespace canopy::exec {

// FP32 operations a second of one thread, two a multiply-add. The first call measures them, for about two milliseconds
// of its own thread, and every other gives the same figure; several threads may call at once. That more threads do so
// many times as much is taken for granted: siblings on one core, or more threads than the machine has, cannot reach it.
double PeakFlopsOfAThread();

}  // namespace canopy::exec

#endif  // CANOPY_EXEC_PEAK_H_
