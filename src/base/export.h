// SPDX-License-Identifier: Apache-2.0
// Everything is hidden unless marked: a symbol crosses a library border only on purpose.
#ifndef CANOPY_BASE_EXPORT_H_
#define CANOPY_BASE_EXPORT_H_

#define CANOPY_EXPORT __attribute__((visibility("default")))

#endif  // CANOPY_BASE_EXPORT_H_
