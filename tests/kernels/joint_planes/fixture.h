// SPDX-License-Identifier: Apache-2.0
// Random planes, and calls over them, for every target of this machine.
#ifndef CANOPY_TESTS_KERNELS_JOINT_PLANES_FIXTURE_H_
#define CANOPY_TESTS_KERNELS_JOINT_PLANES_FIXTURE_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kernels/dispatch.h"
#include "kernels/joint_planes/contract.h"
#include "kernels/streams.h"
#include "tests/kernels/elements.h"
#include "tests/kernels/random_floats.h"

namespace canopy::kernels {

struct Shape {
  convert::Form form;
  JointResults what;
  int rows, columns;  // of the kernel
  int64_t planes, height, vectors;
  bool tail, before;

  std::string Text() const {
    return "form " + std::to_string(static_cast<int>(form)) + ", " + std::to_string(rows) + "x" +
           std::to_string(columns) + ", results " + std::to_string(what) + ", " + std::to_string(planes) +
           " planes of " + std::to_string(height) + " rows of " + std::to_string(vectors) + " vectors, tail " +
           std::to_string(tail) + ", before " + std::to_string(before);
  }
};

class JointPlanesFixture : public testing::TestWithParam<int64_t> {
 protected:
  JointPlanesFixture() : scoped_(GetParam()), kernels_(JointPlanes()), lanes_(kernels_.lanes) {}

  void PlaceGradient(const Elements& g, JointCall* call) const {
    call->g = {g.data() + kFirstG * g.size(), kGPlane * g.size(), g_row() * g.size()};
  }

  // A plane's taps follow one another.
  void SetTapsInOrder(int64_t rows, int64_t columns, JointCall* call) const {
    call->taps = taps_.data();
    call->taps_plane = rows * columns + 2;
    call->taps_row = columns;
    call->taps_column = 1;
  }

  JointCall CallOf(const Shape& shape, const Elements& x, Elements* result, float* sums) const {
    JointCall call{};
    const int64_t size = x.size();
    PlaceGradient(gradient_, &call);
    call.x = {x.data() + kFirstX * size, kXPlane * size, x_row() * size};
    if (shape.before) call.before = {before_.data() + 2, 1100, 3 * lanes_ + 2};
    call.result = {result->data() + kFirstResult * size, kResultPlane * size, result_row() * size};
    call.planes = shape.planes;
    call.rows = shape.height;
    call.vectors = shape.vectors;
    call.last_lanes = shape.tail ? (lanes_ + 1) / 2 : 0;
    call.taps = taps_.data() + 100;
    call.taps_plane = 9;
    call.taps_row = -13;
    call.taps_column = 2;
    call.sums = sums;
    call.sums_plane = SumsOf(shape);
    call.sums_row = shape.columns * lanes_;
    call.sums_column = lanes_;
    return call;
  }

  int64_t SumsOf(const Shape& shape) const { return shape.rows * shape.columns * lanes_; }
  std::vector<float> OnesOf(const Shape& shape) const {
    return std::vector<float>(static_cast<size_t>(shape.planes * SumsOf(shape)), 1);
  }

  // BF16 keeps eight bits of numbers below 16.
  static void ExpectResults(convert::Form form, const Elements& result, const std::vector<double>& expected) {
    const double tolerance = TypeOf(form) == numerics::DType::kFloat32 ? 1e-5 : 0.04;
    for (size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(result[i], expected[i], tolerance) << "at " << i;
  }

  // Results whose rows begin `row` floats apart, written past the caches and not: the same bits, and no others.
  // `finish` completes a call.
  void CheckStreamed(const Shape& shape, JointFn kernel, int64_t row,
                     const std::function<void(JointCall*)>& finish) const {
    SCOPED_TRACE(shape.Text() + ", row " + std::to_string(row));
    constexpr int64_t kLine = 16, kBytes = sizeof(float);
    const Elements x(shape.form, x_);
    std::vector<float> results[2];
    for (const bool streamed : {false, true}) {
      std::vector<float> memory(kResults + kLine, -5), sums = OnesOf(shape);
      const int64_t front = kLine - static_cast<int64_t>(reinterpret_cast<uintptr_t>(memory.data()) / kBytes) % kLine;
      Elements elsewhere(shape.form, memory);
      JointCall call = CallOf(shape, x, &elsewhere, sums.data());
      call.result = {reinterpret_cast<char*>(memory.data() + front), 100 * kLine * kBytes, row * kBytes};
      finish(&call);
      call.streamed = streamed;
      kernel(call);
      FinishStreams();
      results[streamed].assign(memory.begin() + front, memory.begin() + front + kResults);
    }
    EXPECT_EQ(results[0], results[1]);
    EXPECT_NE(results[1][0], -5);
  }

  static constexpr int64_t kFirstG = 1500, kGPlane = 1300, kFirstX = 3, kXPlane = 1200, kFirstResult = 1,
                           kResultPlane = 1150, kResults = 4000;
  int64_t g_row() const { return 3 * lanes_ + 5; }
  int64_t x_row() const { return 3 * lanes_ + 1; }
  int64_t result_row() const { return 3 * lanes_ + 3; }

  const ScopedTarget scoped_;
  const JointKernels& kernels_;
  const int lanes_;
  const std::vector<float> g_ = RandomFloats(6000, 1), x_ = RandomFloats(4000, 2), before_ = RandomFloats(4000, 3),
                           taps_ = RandomFloats(200, 4);
  const Elements gradient_{convert::Form::kFloat32, g_};
};

}  // namespace canopy::kernels

#endif  // CANOPY_TESTS_KERNELS_JOINT_PLANES_FIXTURE_H_
