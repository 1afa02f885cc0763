// SPDX-License-Identifier: Apache-2.0
#include "tools/tensor_data.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "numerics/rounding.h"
#include "tests/oracle/parallel.h"

namespace canopy::tools {
namespace {

using numerics::DType;

constexpr int64_t kBlock = 1 << 16;  // elements a task

// Calls run(first, count) for blocks that cover [0, total), in parallel.
template <typename Run>
void ForEachBlock(int64_t total, const Run& run) {
  oracle::ParallelFor((total + kBlock - 1) / kBlock,
                      [&](int64_t block) { run(block * kBlock, std::min(kBlock, total - block * kBlock)); });
}

DType TypeOf(const TensorSpec& spec) {
  DType dtype = DType::kFloat32;
  ToDType(spec.dtype, &dtype);
  return dtype;
}

// Walks a view's elements in logical order from any starting point.
class ViewWalk {
 public:
  ViewWalk(const TensorSpec& spec, int64_t first)
      : shape_(spec.shape), strides_(StridesOf(spec)), index_(shape_.size()) {
    position_ = spec.offset;
    for (size_t axis = shape_.size(); axis-- > 0;) {
      if (shape_[axis] == 0) continue;  // nothing will be walked
      index_[axis] = first % shape_[axis];
      first /= shape_[axis];
      position_ += index_[axis] * strides_[axis];
    }
  }

  int64_t position() const { return position_; }  // in elements of the storage

  void Next() {
    for (size_t axis = shape_.size(); axis-- > 0;) {
      position_ += strides_[axis];
      if (++index_[axis] < shape_[axis]) return;
      position_ -= shape_[axis] * strides_[axis];
      index_[axis] = 0;
    }
  }

 private:
  Extents shape_, strides_, index_;
  int64_t position_;
};

// Calls visit(i, position in the storage) for every element.
template <typename Visit>
void ForEachElement(const TensorSpec& spec, bool parallel, const Visit& visit) {
  const int64_t total = Volume(spec.shape);
  const auto block = [&](int64_t first, int64_t count) {
    if (spec.strides.empty()) {
      for (int64_t i = first; i < first + count; ++i) visit(i, spec.offset + i);
      return;
    }
    ViewWalk walk(spec, first);
    for (int64_t i = first; i < first + count; ++i, walk.Next()) visit(i, walk.position());
  };
  if (parallel) {
    ForEachBlock(total, block);
  } else if (total > 0) {
    block(0, total);
  }
}

double UnitInterval(uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }

// The greatest finite value of a type.
double Greatest(DType dtype) {
  constexpr double kGreatest[] = {3.4028234663852886e38, 65504, 3.3895313892515355e38, 32768, 448};
  return kGreatest[static_cast<int>(dtype)];
}

// Element i of a tensor that a DataSpec describes.
class Drawing {
 public:
  Drawing(const DataSpec& data, DType dtype, uint64_t key)
      : data_(data),
        key_(key),
        fixed_(data.low == data.high || std::isnan(data.low)),
        low_(std::max(data.low, -Greatest(dtype))),
        high_(std::min(data.high, Greatest(dtype))) {}

  double operator()(uint64_t i) const {
    const double unit = UnitInterval(Draw(key_, i));
    if (data_.special > 0) {
      constexpr double kInf = std::numeric_limits<double>::infinity();
      constexpr double kSpecial[] = {kInf, -kInf, std::numeric_limits<double>::quiet_NaN()};
      const uint64_t chosen = Draw(key_ ^ 0x2545f491, i);
      if (UnitInterval(chosen) < data_.special) return kSpecial[chosen % 3];
    }
    switch (data_.kind) {
      case DataSpec::Kind::kIntegers:
        return std::floor(data_.low + unit * (data_.high - data_.low + 1));
      case DataSpec::Kind::kNormal: {
        const double angle = 6.283185307179586 * UnitInterval(Draw(key_ ^ 0x5bd1e995, i));
        return data_.low + data_.high * std::sqrt(-2 * std::log(1 - unit)) * std::cos(angle);
      }
      case DataSpec::Kind::kUniform:
        break;
    }
    return fixed_ ? data_.low : low_ * (1 - unit) + high_ * unit;
  }

 private:
  const DataSpec data_;
  const uint64_t key_;
  const bool fixed_;  // one number throughout
  const double low_, high_;
};

}  // namespace

uint64_t MixKey(uint64_t seed, std::string_view name) {
  uint64_t key = Draw(seed, 0);
  for (const char c : name) key = Draw(key, static_cast<unsigned char>(c));
  return key;
}

// splitmix64 over a counter.
uint64_t Draw(uint64_t key, uint64_t i) {
  uint64_t z = key + (i + 1) * 0x9E3779B97F4A7C15ull;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

std::vector<float> DrawValues(const TensorSpec& spec, uint64_t key) {
  const DType dtype = TypeOf(spec);
  const Drawing draw(spec.data, dtype, key);
  std::vector<float> values(Volume(spec.shape));
  ForEachElement(spec, true, [&](int64_t i, int64_t position) {
    const float value = static_cast<float>(draw(position));
    if (dtype == DType::kFloat32) {  // holds it as it is
      values[i] = value;
      return;
    }
    uint32_t element = 0;
    numerics::StoreElement(&element, dtype, value, false);
    values[i] = numerics::LoadElement(&element, dtype);
  });
  return values;
}

void WriteView(const TensorSpec& spec, const std::vector<float>& values, void* storage) {
  const DType dtype = TypeOf(spec);
  const int64_t bytes = numerics::ElementBytes(dtype);
  const bool may_overlap = !spec.strides.empty();  // then not from two threads at once
  ForEachElement(spec, !may_overlap, [&](int64_t i, int64_t position) {
    numerics::StoreElement(static_cast<char*>(storage) + position * bytes, dtype, values[i], false);
  });
}

std::vector<float> ReadView(const TensorSpec& spec, const void* storage) {
  const DType dtype = TypeOf(spec);
  const int64_t bytes = numerics::ElementBytes(dtype);
  std::vector<float> values(Volume(spec.shape));
  ForEachElement(spec, true, [&](int64_t i, int64_t position) {
    values[i] = numerics::LoadElement(static_cast<const char*>(storage) + position * bytes, dtype);
  });
  return values;
}

std::vector<float> ReadElements(const TensorSpec& spec, const void* storage, const std::vector<int64_t>& indices) {
  const DType dtype = TypeOf(spec);
  const int64_t bytes = numerics::ElementBytes(dtype);
  std::vector<float> values;
  for (const int64_t index : indices) {
    const int64_t position = ViewWalk(spec, index).position();
    values.push_back(numerics::LoadElement(static_cast<const char*>(storage) + position * bytes, dtype));
  }
  return values;
}

namespace {

// All ones is a NaN in every type but HIFLOAT8, whose only one is 0x80.
unsigned char NanByte(const TensorSpec& spec) { return spec.dtype == ACL_HIFLOAT8 ? 0x80 : 0xFF; }

}  // namespace

void FillWithNan(const TensorSpec& spec, void* storage) {
  std::memset(storage, NanByte(spec), StorageElements(spec) * aclDataTypeSize(spec.dtype));
}

bool StillNan(const TensorSpec& spec, const void* storage, bool outside_view) {
  const int64_t elements = StorageElements(spec);
  const int64_t in_view = Volume(spec.shape);
  if (outside_view && spec.strides.empty() && elements == in_view) return true;
  std::vector<bool> skip(outside_view ? elements : 0);
  if (outside_view) {
    ViewWalk walk(spec, 0);
    for (int64_t i = 0; i < in_view; ++i, walk.Next()) skip[walk.position()] = true;
  }
  const int64_t bytes = static_cast<int64_t>(aclDataTypeSize(spec.dtype));
  const unsigned char* data = static_cast<const unsigned char*>(storage);
  for (int64_t i = 0; i < elements; ++i) {
    if (outside_view && skip[i]) continue;
    for (int64_t b = 0; b < bytes; ++b) {
      if (data[i * bytes + b] != NanByte(spec)) return false;
    }
  }
  return true;
}

}  // namespace canopy::tools
