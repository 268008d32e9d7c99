// Arrays that readers fill and then pass to a data set.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "evener/data/array.h"
#include "evener/data/dataset.h"

namespace evener {

/// The arrays of a data set that was read; `Label` is what a label is until all are known.
template <class Label>
struct ReadArrays {
  Array<std::uint64_t> feature_offsets;
  Array<std::uint64_t> label_offsets;
  Array<std::uint32_t> indices;
  Array<float> values;
  Array<Label> labels;
  std::uint32_t feature_count = 0;  // largest index + 1

  ReadArrays() {
    feature_offsets.push_back(0);
    label_offsets.push_back(0);
  }
  std::size_t rows() const { return feature_offsets.size() - 1; }
};

/// A data set that owns the arrays.
Dataset dataset_of(ReadArrays<std::uint32_t> data, std::uint32_t feature_count,
                   std::uint32_t label_count, std::vector<std::string> label_names = {});

}  // namespace evener
