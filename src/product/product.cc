// SPDX-License-Identifier: Apache-2.0
#include "product/product.h"

#include <string>

#include "base/env.h"
#include "base/log.h"

namespace canopy::product {
namespace {

constexpr const char* kDefaultSoc = "Ascend910B1";

constexpr Product kProducts[] = {
#define CANOPY_PRODUCT(soc_name, family, series_name, arch, bf16, inf_nan, hf32_bits) \
  {soc_name, family, series_name, Arch::k##arch, bf16, inf_nan, hf32_bits},
#include "product/products.inc"
};

struct Family {
  const char* name;
  const char* soc_name;
};

constexpr Family kFamilies[] = {
#define CANOPY_FAMILY(family, soc_name) {family, soc_name},
#include "product/products.inc"
};

constexpr const char kNames[] =
#define CANOPY_PRODUCT(soc_name, family, series_name, arch, bf16, inf_nan, hf32_bits) ", " soc_name
#define CANOPY_FAMILY(family, soc_name) ", " family
#include "product/products.inc"
    ;

const Product* ChooseProduct() {
  const std::string name = base::EnvText("CANOPY_SOC", kDefaultSoc);
  if (name == "Ascend910B") {
    base::Log(base::LogLevel::kWarning,
              "CANOPY_SOC is \"Ascend910B\", a chip of the Atlas training series; Atlas A2 is \"%s\"", kDefaultSoc);
  }
  return FindProduct(name);
}

}  // namespace

const Product* FindProduct(std::string_view name) {
  for (const Family& family : kFamilies) {
    if (name == family.name) name = family.soc_name;
  }
  for (const Product& product : kProducts) {
    if (name == product.soc_name) return &product;
  }
  return nullptr;
}

const char* KnownProductNames() { return kNames + 2; }

const Product* CurrentProduct() {
  static const Product* const product = ChooseProduct();
  return product;
}

}  // namespace canopy::product
