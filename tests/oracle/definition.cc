// SPDX-License-Identifier: Apache-2.0
#include "tests/oracle/definition.h"

#include <vector>

namespace canopy::oracle {
namespace {

// For each term of one axis' sum, how far it lies from the first element in either factor.
struct Term {
  int64_t a;
  int64_t b;
};
using AxisTerms = std::vector<Term>;

double OrSquare(double value, Sum what) { return what == Sum::kTerms ? value : value * value; }

double SumOfProducts(const float* a, const float* b, const std::array<AxisTerms, 3>& terms, Sum what) {
  double sum = 0;
  for (const Term& d : terms[0]) {
    for (const Term& h : terms[1]) {
      const float* a_row = a + d.a + h.a;
      const float* b_row = b + d.b + h.b;
      for (const Term& w : terms[2]) sum += OrSquare(static_cast<double>(a_row[w.a]) * b_row[w.b], what);
    }
  }
  return sum;
}

}  // namespace

double ResponseAt(const Geometry& g, const Array& image, const Array& weight, const Index5& index, Sum what) {
  std::array<AxisTerms, 3> terms;
  for (int axis = 0; axis < 3; ++axis) {
    for (int64_t kk = 0; kk < g.kernel[axis]; ++kk) {
      const int64_t i = index[2 + axis] * g.stride[axis] - g.pad[axis] + kk * g.dilation[axis];
      if (i < 0 || i >= g.image[axis]) continue;
      terms[axis].push_back({i * image.strides[2 + axis], kk * weight.strides[2 + axis]});
    }
  }
  const int64_t group = index[1] / g.group_response_channels();
  double sum = 0;
  for (int64_t c = 0; c < g.group_image_channels(); ++c) {
    sum += SumOfProducts(image.at({index[0], group * g.group_image_channels() + c, 0, 0, 0}),
                         weight.at({index[1], c, 0, 0, 0}), terms, what);
  }
  return sum;
}

double ImageAt(const Geometry& g, const Array& response, const Array& weight, const Index5& index, Sum what) {
  std::array<AxisTerms, 3> terms;
  for (int axis = 0; axis < 3; ++axis) {
    for (int64_t kk = 0; kk < g.kernel[axis]; ++kk) {
      const int64_t t = index[2 + axis] + g.pad[axis] - kk * g.dilation[axis];
      if (t < 0 || t % g.stride[axis] != 0 || t / g.stride[axis] >= g.response[axis]) continue;
      terms[axis].push_back({t / g.stride[axis] * response.strides[2 + axis], kk * weight.strides[2 + axis]});
    }
  }
  const int64_t group = index[1] / g.group_image_channels();
  const int64_t c = index[1] - group * g.group_image_channels();
  double sum = 0;
  for (int64_t r = group * g.group_response_channels(); r < (group + 1) * g.group_response_channels(); ++r) {
    sum += SumOfProducts(response.at({index[0], r, 0, 0, 0}), weight.at({r, c, 0, 0, 0}), terms, what);
  }
  return sum;
}

double WeightAt(const Geometry& g, const Array& image, const Array& response, const Index5& index, Sum what) {
  std::array<AxisTerms, 3> terms;
  for (int axis = 0; axis < 3; ++axis) {
    for (int64_t o = 0; o < g.response[axis]; ++o) {
      const int64_t i = o * g.stride[axis] - g.pad[axis] + index[2 + axis] * g.dilation[axis];
      if (i < 0 || i >= g.image[axis]) continue;
      terms[axis].push_back({i * image.strides[2 + axis], o * response.strides[2 + axis]});
    }
  }
  const int64_t group = index[0] / g.group_response_channels();
  double sum = 0;
  for (int64_t n = 0; n < g.batch; ++n) {
    sum += SumOfProducts(image.at({n, group * g.group_image_channels() + index[1], 0, 0, 0}),
                         response.at({n, index[0], 0, 0, 0}), terms, what);
  }
  return sum;
}

double ChannelSumAt(int64_t batch, const Extent3& size, const Array& array, int64_t channel, Sum what) {
  double sum = 0;
  for (int64_t n = 0; n < batch; ++n) {
    for (int64_t d = 0; d < size[0]; ++d) {
      for (int64_t h = 0; h < size[1]; ++h) {
        const float* row = array.at({n, channel, d, h, 0});
        for (int64_t w = 0; w < size[2]; ++w) sum += OrSquare(row[w * array.strides[4]], what);
      }
    }
  }
  return sum;
}

}  // namespace canopy::oracle
