// SPDX-License-Identifier: Apache-2.0
// Which tile, and how much of the product one job takes.
#ifndef CANOPY_CONV_IMPLICIT_GEMM_BLOCKING_H_
#define CANOPY_CONV_IMPLICIT_GEMM_BLOCKING_H_

#include <cstdint>
#include <string>

#include "conv/implicit_gemm/multiply.h"
#include "kernels/gemm/contract.h"
#include "plan/workspace_ledger.h"

namespace canopy::conv::implicit_gemm {

// The tile that wastes least on a product of this many rows and lanes; `cost` gets its time in multiply-adds of one
// term at the FMA peak, padding included.
const kernels::GemmTile& ChooseTile(int64_t rows, int64_t lanes, double* cost);

// Blocks for products of rows x lanes x depth, `products` of them alike: as large as the caches hold, smaller where
// there would be too few jobs to share.
Blocking ChooseBlocking(const kernels::GemmTile& tile, int64_t rows, int64_t lanes, int64_t depth, int64_t products);

// Books one thread's scratch times the threads.
class ScratchLayout {
 public:
  ScratchLayout() = default;
  ScratchLayout(const kernels::GemmTile& tile, const Blocking& blocking, bool rows_packed_by_job, bool deep,
                plan::WorkspaceLedger* ledger);

  JobScratch At(const plan::WorkspaceLedger& ledger, void* workspace, int worker) const;

 private:
  int64_t rows_ = 0, lanes_ = 0, tiles_ = 0, deep_ = 0, line_ = 0, segments_ = 0;  // bytes; line_ of one of four
  int handle_ = -1;
};

std::string DescribeBlocking(const kernels::GemmTile& tile, const Blocking& blocking);

}  // namespace canopy::conv::implicit_gemm

#endif  // CANOPY_CONV_IMPLICIT_GEMM_BLOCKING_H_
