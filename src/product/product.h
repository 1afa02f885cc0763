// SPDX-License-Identifier: Apache-2.0
// Who the chips are, as data. One process emulates one product, chosen by CANOPY_SOC: a full name as
// aclrtGetSocName returns it, or a family name. Only the doors ask; nothing behind a problem knows a product.
#ifndef CANOPY_PRODUCT_PRODUCT_H_
#define CANOPY_PRODUCT_PRODUCT_H_

#include <string_view>

#include "base/export.h"

namespace canopy::product {

// The architectures that the operator rules distinguish; the number is CANN's NPU_ARCH.
enum class Arch { k1001 = 1001, k2002 = 2002, k2201 = 2201, k3002 = 3002, k3510 = 3510 };

struct Product {
  const char* soc_name;  // "Ascend910B1"
  const char* family;    // "Ascend910B" (A2), "Ascend910_93" (A3), "Ascend910", "Ascend310P", "Ascend950", "Ascend310B"
  const char* series_name;  // for messages: "Atlas A2"
  Arch arch;
  bool has_bf16;
  bool inf_nan_mode;       // overflow gives Inf (else it saturates)
  int hf32_mantissa_bits;  // 11 or 10; 0 where there is no HF32
};

// One chip of each series, whose members differ in nothing that an operator's rule asks.
inline constexpr const char* kChipOfSeries[] = {"Ascend910A",     "Ascend310P3",      "Ascend910B1",
                                                "Ascend910_9392", "Ascend950PR_9589", "Ascend310B1"};

// The entry for a full or family name; nullptr where the name is unknown.
CANOPY_EXPORT const Product* FindProduct(std::string_view name);

// Every name that FindProduct knows, full ones first, then families, comma separated, for messages.
CANOPY_EXPORT const char* KnownProductNames();

// The product CANOPY_SOC chose (default Ascend910B1); nullptr where CANOPY_SOC names none. Read once a process.
CANOPY_EXPORT const Product* CurrentProduct();

}  // namespace canopy::product

#endif  // CANOPY_PRODUCT_PRODUCT_H_
