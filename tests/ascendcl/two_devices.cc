// SPDX-License-Identifier: Apache-2.0
// These tests need two devices, and some would wait for ever for what the second does. So the program asks for them
// itself, however it is started.
#include <cstdlib>

namespace {

[[maybe_unused]] const int kTwoDevices = setenv("CANOPY_DEVICE_COUNT", "2", /*overwrite=*/1);

}  // namespace
