// SPDX-License-Identifier: Apache-2.0
// Counts and fails the allocations of the calling thread, by standing in for the program's operator new (and, where no
// sanitizer already does, malloc).
#ifndef CANOPY_TESTS_NNOPBASE_ALLOCATIONS_H_
#define CANOPY_TESTS_NNOPBASE_ALLOCATIONS_H_

namespace canopy::nnopbase {

// Allocations that this thread asked for so far, failed ones included.
long AllocationsOfThisThread();
// Those that succeeded, minus what this thread freed.
long LiveAllocationsOfThisThread();

// Lets the n-th allocation from now on fail, once; 0: none.
void FailAllocationOfThisThread(long n);
// Whether it came to that.
bool AllocationHasFailed();

}  // namespace canopy::nnopbase

#endif  // CANOPY_TESTS_NNOPBASE_ALLOCATIONS_H_
