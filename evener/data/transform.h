// Transforms of feature rows. They are stored with the model, so that prediction applies the same
// transforms as training.
#pragma once

#include <cstdint>
#include <vector>

#include "evener/data/dataset.h"

namespace evener {

struct TransformOptions {
  std::uint32_t hash_features = 0;  // > 0: fold feature indices into so many by a signed hash
  bool tfidf = false;               // value -> (1 + ln value if value > 1) * idf(feature)
  bool normalise = true;            // each row to Euclidean length 1
};

/// The options plus what was learnt from the training data. Order: hash, tf-idf, normalise.
struct Transform {
  TransformOptions options;
  std::vector<float> idf;  // per feature after hashing; empty without tfidf

  bool identity() const {
    return options.hash_features == 0 && !options.tfidf && !options.normalise;
  }
  std::uint32_t feature_count(std::uint32_t raw) const {
    return options.hash_features > 0 ? options.hash_features : raw;
  }
};

/// Learns idf(f) = ln((1 + rows) / (1 + rows with f)) + 1 where tf-idf is on.
Transform fit_transform(const Dataset& data, const TransformOptions& options);

/// A transformed copy; unchanged parts are shared with `data`.
Dataset apply_transform(const Dataset& data, const Transform& transform, int threads);

}  // namespace evener
