// SPDX-License-Identifier: Apache-2.0
// Forward and backward data where a group has few result channels. The source is copied piece by piece into slabs
// padded with zeros, in which every tap is a constant shift of one flat index; vectors of neighbouring pixels are read
// from there under every tap:
//   result[channel][position] = sum over (tap, source channel) of weight[tap, source channel][channel] *
//                                                               slab[source channel][position + shift of tap].
// Positions between the rows of a slab are computed and thrown away. With a stride, backward data has one such product
// for every residue; where most residues meet most shifts, they become rows of one product, with weights of 0 for the
// shifts that a residue does not meet, since many rows make better use of what is read than few do. With BF16 dot
// products a term is a pair of source channels.
#ifndef CANOPY_CONV_PIXEL_LANES_DATA_STEP_H_
#define CANOPY_CONV_PIXEL_LANES_DATA_STEP_H_

#include <array>
#include <string>
#include <vector>

#include "base/checked_math.h"
#include "conv/algorithm.h"
#include "conv/grid.h"
#include "conv/packing/weight_panels.h"
#include "kernels/gather_gemm/contract.h"

namespace canopy::conv::pixel_lanes {

// One residue of every axis. Its results are rows [number of the phase * result channels, + result channels).
struct Phase {
  struct Tap {
    int64_t weight;  // number of the kernel offset
    int64_t shift;   // from a position to what it meets, in the slab
  };

  std::array<AxisPhase, 3> axes;
  std::vector<Tap> taps;  // none: the result is 0
};

// Some neighbouring phases' rows, multiplied together.
struct Product {
  int64_t first_phase, phases;
  std::vector<int64_t> shifts;  // that some phase meets
  int vectors = 1;              // of a tile
  int64_t packed_offset = 0;    // of weights [shift][term][row], in floats of a group
};

// Products of all phases, and where the weight of each kernel offset is packed for source channel 0 and result 0.
struct ProductList {
  std::vector<Product> products;
  std::vector<int64_t> tap_offsets;
};

// One thread's working memory.
struct DataScratch {
  float* slab;
  float* results;  // [row][position]
  float* line;
  float* weights;  // of a source channel
  int64_t* result_offsets;
  kernels::GatherRun* runs;
};

class DataStep : public Step {
 public:
  DataStep(const ConvProblem& problem, Computation computation, plan::WorkspaceLedger* ledger);

  void Run(const ConvProblem& problem, const Buffers& buffers, const plan::WorkspaceLedger& ledger,
           void* workspace) const noexcept override;
  std::string Describe() const override;
  double Work() const override { return work_; }

 private:
  friend class DataRun;

  void MakePhases(const Geometry& geometry);
  void Cut();
  void ShareOut(const Geometry& geometry);
  void ListTaps(const Geometry& geometry);
  ProductList MakeProducts(int64_t phases_each) const;
  void ChooseProducts();
  void PlaceWeights(ProductList* list);
  double TileWork(int64_t rows, int vectors) const;
  int Vectors(int64_t rows) const;
  double ProductWork(const std::vector<Product>& products) const;
  double OtherWork(const ConvProblem& problem) const;
  DataScratch ScratchAt(char* at, int64_t* bytes) const;

  // Slab positions of a piece.
  int64_t SlabRows() const { return rows_ + span_[1]; }
  int64_t Positions() const { return (rows_ - 1) * pitch_ + columns_; }
  int64_t Rows(const Product& product) const { return product.phases * result_channels_; }
  int64_t a_term() const { return dot_rate_ > 0 ? 2 : 1; }                     // source channels
  int64_t terms() const { return base::CeilDiv(source_channels_, a_term()); }  // of a group, under a shift
  int64_t ShiftFloats(const Product& product) const { return terms() * a_term() * Rows(product); }  // of packed weights

  bool forward_;
  Operand source_, result_;
  Extent3 source_size_{}, result_size_{};
  int64_t source_channels_ = 0, result_channels_ = 0;  // of a group
  packing::WeightView weight_;
  double dot_rate_ = 0;     // of BF16 pairs; 0: FP32 multiply-adds
  int64_t weight_run_ = 1;  // kernel offsets whose weights lie evenly
  std::vector<Phase> phases_;
  ProductList together_;  // the cheapest
  ProductList apart_;     // one a phase, without weights of 0; empty where together_ has none either
  bool pairs_ = false;    // every even phase and the next have columns that take turns, side by side in memory
  Extent3 walk_{};        // positions of the longest phase
  Extent3 least_{};       // source coordinate of position 0 under the least shift
  Extent3 span_{};        // from the least shift to the greatest
  kernels::GatherTilesList tiles_{};
  int64_t chunk_ = 1;               // terms of a slab
  int64_t rows_ = 1, columns_ = 1;  // positions of a piece: of one image and depth
  int64_t pitch_ = 1;               // of a slab's rows: what is padding behind one and before the next is shared
  int64_t shared_ = 0;
  int64_t row_blocks_ = 0, column_blocks_ = 0;
  int64_t channel_floats_ = 0;   // of a slab, from term to term
  int64_t position_floats_ = 0;  // of the results, from channel to channel
  int64_t group_floats_ = 0;     // of packed weights
  int64_t pieces_ = 0;           // of a group
  int64_t group_block_ = 1;      // groups of a job
  int packed_handle_ = -1, scratch_handle_ = -1;
  double work_ = 0;
};

}  // namespace canopy::conv::pixel_lanes

#endif  // CANOPY_CONV_PIXEL_LANES_DATA_STEP_H_
