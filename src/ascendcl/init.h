// SPDX-License-Identifier: Apache-2.0
#ifndef CANOPY_ASCENDCL_INIT_H_
#define CANOPY_ASCENDCL_INIT_H_

namespace canopy::ascendcl {

// Around fork, as for every lock.
void LockInitForFork();
void UnlockInitAfterFork();

}  // namespace canopy::ascendcl

#endif  // CANOPY_ASCENDCL_INIT_H_
