// Small random data sets and parameters for the tests of this layer.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "tests/nn/print.h"

#include "evener/core/random.h"
#include "evener/data/dataset.h"
#include "evener/nn/network.h"
#include "evener/nn/training.h"

namespace evener {

using SparseRow = std::vector<std::pair<std::uint32_t, float>>;
using LabelRow = std::vector<std::uint32_t>;

inline CsrArrays label_arrays(const std::vector<LabelRow>& rows) {
  CsrArrays arrays;
  for (const auto& row : rows) {
    arrays.indices.insert(arrays.indices.end(), row.begin(), row.end());
    arrays.offsets.push_back(arrays.indices.size());
  }
  return arrays;
}

inline Dataset dataset_of(const std::vector<SparseRow>& rows, std::uint32_t features,
                          const std::vector<LabelRow>& labels, std::uint32_t label_count) {
  CsrArrays arrays;
  for (const auto& row : rows) {
    for (const auto& [index, value] : row) {
      arrays.indices.push_back(index);
      arrays.values.push_back(value);
    }
    arrays.offsets.push_back(arrays.indices.size());
  }
  return make_dataset(std::move(arrays), features, label_arrays(labels), label_count);
}

/// Gives each row random candidates, about half of the labels, for a listed output.
inline Dataset with_random_candidates(Dataset data, std::uint64_t seed, float share = 1) {
  Random random(seed, 10);
  CsrArrays candidates;
  for (std::size_t row = 0; row < data.rows(); ++row) {
    for (std::uint32_t label = 0; label < data.label_count; ++label) {
      if (random.below(2) == 0) continue;
      candidates.indices.push_back(label);
      candidates.values.push_back(static_cast<float>(2 * random.uniform() - 1.5));
    }
    candidates.offsets.push_back(candidates.indices.size());
  }
  return with_candidates(std::move(data), std::move(candidates), share);
}

/// A data set, the order of its rows and parameters that fit a network. About a third of features
/// and labels are present, so that some rows have none of either.
struct Problem {
  Problem(Network shape, std::size_t rows, std::uint64_t seed) : network(std::move(shape)) {
    Random random(seed, 9);
    std::vector<SparseRow> features(rows);
    std::vector<LabelRow> labels(rows);
    for (std::size_t r = 0; r < rows; ++r) {
      for (std::uint32_t f = 0; f < network.features; ++f) {
        if (random.below(3) == 0) {
          features[r].emplace_back(f, static_cast<float>(0.5 + random.uniform()));
        }
      }
      for (std::uint32_t l = 0; l < network.labels; ++l) {
        if (random.below(3) == 0) labels[r].push_back(l);
      }
    }
    data = dataset_of(features, network.features, labels, network.labels);
    if (network.listed_output()) data = with_random_candidates(std::move(data), seed, 0.7F);
    order.resize(rows);
    std::iota(order.begin(), order.end(), 0U);
    const Layout layout = layout_of(network);
    parameters.resize(layout.size);
    for (const auto& segment : layout.segments()) {
      for (std::size_t r = 0; r < segment.rows; ++r) {
        for (std::size_t c = 0; c < segment.cols; ++c) {
          parameters[segment.offset + r * segment.stride + c] =
              static_cast<float>(1.4 * random.uniform() - 0.7);
        }
      }
    }
  }

  Batch batch() const { return {&data, order}; }
  std::vector<std::vector<float>> zero_state(Optimizer optimizer) const {
    return std::vector<std::vector<float>>(static_cast<std::size_t>(state_vectors(optimizer)),
                                           std::vector<float>(parameters.size()));
  }

  Network network;
  Dataset data;
  std::vector<std::uint32_t> order;
  std::vector<float> parameters;
};

/// True where the element is a parameter and not padding.
inline std::vector<bool> used_elements(const Layout& layout) {
  std::vector<bool> used(layout.size);
  for (const auto& segment : layout.segments()) {
    for (std::size_t r = 0; r < segment.rows; ++r) {
      std::fill_n(used.begin() + static_cast<std::ptrdiff_t>(segment.offset + r * segment.stride),
                  segment.cols, true);
    }
  }
  return used;
}

}  // namespace evener
