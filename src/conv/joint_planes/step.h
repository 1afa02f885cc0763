// SPDX-License-Identifier: Apache-2.0
// Backward depthwise convolutions over plain planes in one pass: an output gradient is read once, and what a kernel
// loads of it is multiplied by weights for the input's gradient and by the input for the weights'; the bias gradient is
// summed on the way. Where kernels read and write the types in question themselves, the input is read and its gradient
// written where they stand; else they lie in sheets too. Kernels of 3x3 and, for one gradient each, of 5x5 and 7x7,
// whose numbers the registers hold, take every row of the output once, where it stands, for all rows that it meets.
// Where a row is one vector, its neighbours are lanes of the same, and of planes of up to 8x8 two rows are one vector.
// With a stride, each residue of the input's rows and columns is a plane of its own, but kernels of three columns part
// even from odd columns in registers, and 3x3 ones with a stride of 2 that find the edges themselves take both. An
// input plane that meets several output planes, for the kernel has a depth, adds up what each gives. A kernel takes
// several channels of an image, whose planes follow one another.
#ifndef CANOPY_CONV_JOINT_PLANES_STEP_H_
#define CANOPY_CONV_JOINT_PLANES_STEP_H_

#include <string>
#include <vector>

#include "conv/algorithm.h"
#include "conv/joint_planes/passes.h"
#include "conv/sheets/depth.h"
#include "conv/sheets/joint_memory.h"
#include "conv/sheets/passes.h"
#include "kernels/convert/forms.h"
#include "kernels/joint_planes/contract.h"

namespace canopy::conv::joint_planes {

// Of one tensor, what kernels ask memory for: its bytes from channel to channel, for each row of positions and each of
// the passes that share them, and for each vector.
struct AheadSteps {
  int64_t plane_bytes = 0, row_bytes = 0, pass_bytes = 0, step = 0;
};

class JointStep : public Step {
 public:
  // For one or more of kBackwardData, kBackwardWeights and kBiasFromOutput, of problems as DepthAsHeight gives them.
  JointStep(const ConvProblem& problem, uint8_t computations, plan::WorkspaceLedger* ledger);

  void Run(const ConvProblem& problem, const Buffers& buffers, const plan::WorkspaceLedger& ledger,
           void* workspace) const noexcept override;
  std::string Describe() const override;
  double Work() const override { return work_; }

 private:
  friend class JointRun;

  bool data() const { return (computations_ & kBackwardData) != 0; }
  bool weights() const { return (computations_ & kBackwardWeights) != 0; }
  bool bias() const { return (computations_ & kBiasFromOutput) != 0; }
  int64_t residues() const { return static_cast<int64_t>(rows_.residues.size() * columns_.residues.size()); }
  // Channels of a sheet, or of a call that reads planes where they stand.
  int64_t PlanesAtOnce(Kind kind) const { return FindsEdges(kind) ? in_place_planes_ : planes_; }
  // Rows of positions that a kernel gets at once: nothing bounds those of one that goes in parts over what stands in
  // place.
  int64_t BandRows(Kind kind) const { return kind == Kind::kRolling ? rows_.positions : band_; }
  // Vectors of `rows` rows of one plane.
  int64_t VectorsOf(int64_t rows) const;
  // Terms of a weight's sum in each lane.
  int64_t TermsOf(int64_t rows) const { return VectorsOf(rows) * (kind_ == Kind::kDoubled ? 2 : 1); }

  // What the input and its gradient are where they stand, as far as they are wanted; kOther: no kernel takes that.
  kernels::convert::Form FormOf(const ConvProblem& problem) const;
  // Whether there are kernels of the form for all passes of a kind.
  bool HasKernels(Kind kind) const;
  Kind KindOf(const ConvProblem& problem, kernels::convert::Form read) const;

  // Whether results are better written past the caches, and lie in whole lines.
  bool Streams(const ConvProblem& problem) const;
  // Whether the output's gradient is read as elements of the form's type.
  bool ReadsInForm(kernels::convert::Form read) const;
  // Whether there are kernels of rows of one vector for the output's gradient, which is read in a form.
  bool IsNarrow(kernels::convert::Form read) const;
  // Likewise for planes two of whose rows are one vector.
  bool IsFolded(const ConvProblem& problem, kernels::convert::Form read) const;
  // Likewise for rows and columns with a stride of 2.
  bool IsDoubled(kernels::convert::Form read) const;
  // Whether rolling kernels give all that is wanted.
  bool IsRolling(kernels::convert::Form read) const;
  kernels::JointResults Wanted() const;

  const std::vector<sheets::Pass>& passes(Kind kind) const {
    return TakesWholeKernels(kind) ? whole_passes_ : kind == Kind::kPairs ? pair_passes_ : passes_;
  }
  void Lay(const ConvProblem& problem);
  void Cut();
  void ShareOut(const Geometry& geometry);
  void BookWorkspace(const Geometry& geometry, plan::WorkspaceLedger* ledger);
  void SpreadAhead(const ConvProblem& problem);
  double CountWork(const ConvProblem& problem) const;

  uint8_t computations_;
  sheets::Reach rows_, columns_;
  sheets::Slices slices_;
  std::vector<sheets::Pass> passes_;        // over sheets, or over columns that lie side by side
  std::vector<sheets::Pass> pair_passes_;   // where every second column does, in place
  std::vector<sheets::Pass> whole_passes_;  // one over the whole kernel
  int64_t lanes_ = 1;
  kernels::convert::Form form_ = kernels::convert::Form::kOther, kernels_form_ = form_;
  bool direct_ = false;           // the input and its gradient stay where they are, as a rule
  Kind kind_ = Kind::kPlain;      // of kernels, where they do
  bool streams_ = false;          // the input's gradient is written past the caches if it begins with a line
  int64_t row_pitch_ = 0;         // of all sheets but those without gaps
  int64_t band_ = 0, bands_ = 1;  // rows of positions that a sheet serves
  int64_t planes_ = 1;            // of a sheet, a channel each: several only where a band is a whole plane
  int64_t in_place_planes_ = 1;   // likewise, where nothing is in sheets
  int64_t plane_pitch_ = 0;
  int64_t distance_ = 1;                          // in planes, of what kernels ask memory for
  int64_t front_ = 0;                             // floats of zeros before a sheet's first row
  int64_t output_floats_ = 0, input_floats_ = 0;  // of a sheet, of one residue
  int64_t items_ = 0, segments_ = 1;              // planes of a channel, and the sums that they are shared out to
  int64_t channel_block_ = 1, channel_blocks_ = 0;
  int64_t sums_floats_ = 0, line_floats_ = 0;
  AheadSteps ahead_[3];  // of the output, the input and its gradient
  sheets::JointWorkspace workspace_;
  double work_ = 0;
};

}  // namespace canopy::conv::joint_planes

#endif  // CANOPY_CONV_JOINT_PLANES_STEP_H_
