// SPDX-License-Identifier: Apache-2.0
// What steps cost, in the units of Step::Work, measured on a Xeon whose matrix unit has 15 times the rate of FP32
// multiply-adds.
#ifndef CANOPY_CONV_SPLIT_GEMM_ESTIMATES_H_
#define CANOPY_CONV_SPLIT_GEMM_ESTIMATES_H_

namespace canopy::conv::split_gemm {

// A product of two numbers: up to 435 GFLOP/s of three parts, 630 of two, where FP32 multiply-adds do 219.
inline double WorkAProduct(int parts) { return 219.0 / (16 * (parts == 3 ? 435 : 630)); }

// Numbers of activations, with what it takes to bring them from memory.
inline constexpr double kWorkASplitNumber = 1.5;
inline constexpr double kWorkATurnedNumber = 2.6;
inline constexpr double kWorkASecondNumber = 0.8;  // more, of every second one
inline constexpr double kWorkACopiedNumber = 1.2;  // more, where channels or converted numbers are copied first
inline constexpr double kWorkAFetchedNumber = 6;   // more, where numbers have no neighbours
inline constexpr double kWorkASegment = 2;         // starting a stretch of neighbours, for each of 32 lines
inline constexpr double kWorkAShortSegment = 16;   // more, of one pixel: by its length
inline constexpr double kWorkAMissedNumber = 10;   // more, of one in memory that the products have not asked for
inline constexpr double kWorkAWeight = 1.2, kWorkAGatheredWeight = 3;
inline constexpr double kWorkAReadWeight = 0.8;    // of more packed ones than stay near, for each block of lanes
inline constexpr double kWorkASummedNumber = 0.1;  // for a bias gradient
inline constexpr double kWorkAResult = 1.8;
inline constexpr double kWorkAPhaseResult = 1.8;     // more, of several phases
inline constexpr double kWorkAFarPhaseResult = 1.5;  // and more where tensors outgrow the caches
inline constexpr double kWorkAStep = 20e3;

}  // namespace canopy::conv::split_gemm

#endif  // CANOPY_CONV_SPLIT_GEMM_ESTIMATES_H_
