// SPDX-License-Identifier: Apache-2.0
// Profiling. Canopy offers none of it: no function is declared here.
// CANOPY_VERBOSE=1 prints a line with times for each operator call instead.
#ifndef CANOPY_ACL_ACL_PROF_H_
#define CANOPY_ACL_ACL_PROF_H_

#include "acl_base.h"

#endif  // CANOPY_ACL_ACL_PROF_H_
