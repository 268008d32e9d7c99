// Small random data whose labels depend on the features.
#pragma once

#include <cstdint>
#include <vector>

#include "evener/core/random.h"
#include "evener/data/dataset.h"
#include "evener/retrieval/retriever.h"

namespace evener {

/// Each label has two features that its rows have more often.
inline Dataset small_data(std::size_t rows, std::uint32_t features, std::uint32_t labels,
                          std::uint64_t seed) {
  Random random(seed);
  CsrArrays x, y;
  for (std::size_t row = 0; row < rows; ++row) {
    std::vector<bool> has_label(labels), has_feature(features);
    const std::size_t count = 1 + random.below(3);
    for (std::size_t i = 0; i < count; ++i) {
      const auto label = static_cast<std::uint32_t>(random.below(labels));
      has_label[label] = true;
      has_feature[2 * label % features] = random.uniform() < 0.9;
      has_feature[(2 * label + 1) % features] = random.uniform() < 0.7;
    }
    for (int i = 0; i < 4; ++i) has_feature[random.below(features)] = true;
    for (std::uint32_t f = 0; f < features; ++f) {
      if (!has_feature[f]) continue;
      x.indices.push_back(f);
      x.values.push_back(static_cast<float>(0.2 + random.uniform()));
    }
    for (std::uint32_t l = 0; l < labels; ++l) {
      if (has_label[l]) y.indices.push_back(l);
    }
    x.offsets.push_back(x.indices.size());
    y.offsets.push_back(y.indices.size());
  }
  return make_dataset(std::move(x), features, std::move(y), labels);
}

/// The data without one row.
inline Dataset without_row(const Dataset& data, std::size_t left_out) {
  CsrArrays x, y;
  for (std::size_t row = 0; row < data.rows(); ++row) {
    if (row == left_out) continue;
    const RowView features = data.features.row(row);
    const auto labels = data.labels.row(row).indices;
    x.indices.insert(x.indices.end(), features.indices.begin(), features.indices.end());
    x.values.insert(x.values.end(), features.values.begin(), features.values.end());
    y.indices.insert(y.indices.end(), labels.begin(), labels.end());
    x.offsets.push_back(x.indices.size());
    y.offsets.push_back(y.indices.size());
  }
  return make_dataset(std::move(x), data.feature_count, std::move(y), data.label_count);
}

inline CsrArrays scaled_rows(const Dataset& data, const std::vector<float>& weights, Team& team) {
  CsrArrays rows;
  rows.offsets.assign(data.features.offsets.begin(), data.features.offsets.end());
  rows.indices.assign(data.features.indices.begin(), data.features.indices.end());
  rows.values = scale_rows(data.features, weights, team).values;
  return rows;
}

/// A retriever with these weights, without a fitted offset.
inline RetrievalModel retrieval_model(const Dataset& data, const std::vector<float>& weights,
                                      Team& team) {
  FeatureLabels statistics;
  count_labels(columns_of(data.features, data.feature_count, team), data.labels, data.label_count,
               {}, team, {}, statistics);
  RetrievalModel model;
  model.feature_count = data.feature_count;
  model.label_count = data.label_count;
  model.feature_weights = weights;
  model.rows = scaled_rows(data, weights, team);
  model.labels.offsets.assign(data.labels.offsets.begin(), data.labels.offsets.end());
  model.labels.indices.assign(data.labels.indices.begin(), data.labels.indices.end());
  model.cooccurrence = std::move(statistics.cooccurrence);
  return model;
}

}  // namespace evener
