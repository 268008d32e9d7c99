// The data of a run: opened through the cache, transformed, split.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "evener/data/cache.h"
#include "evener/data/dataset.h"
#include "evener/data/transform.h"
#include "evener/run/artifacts/model.h"
#include "evener/run/options/options.h"

namespace evener {

using Warn = std::function<void(const std::string&)>;

struct TrainingData {
  Dataset train;
  std::vector<std::uint32_t> rows;    // training rows of `train`; empty: all
  std::optional<Dataset> evaluation;  // --test, or the held-out rows
  Transform transform;
  std::uint32_t raw_features = 0;
  Format text_format = Format::automatic;  // of the training file, if it is text
  std::vector<float> inverse_propensity;   // of the training rows

  std::size_t row_count() const { return rows.empty() ? train.rows() : rows.size(); }
};

/// `cache.directory` is used if the options name none. DataError if there are no rows, labels or
/// features.
TrainingData open_training_data(const TrainOptions& options, const CacheOptions& cache,
                                const Warn& warn);

/// The same from data in memory: transformed by the options, with --validation-share held out if
/// there is no `evaluation`. Options for data files are not used.
TrainingData training_data_of(const Dataset& train, std::optional<Dataset> evaluation,
                              const TrainOptions& options);

struct ModelDataOptions {
  std::string format = "auto";
  int threads = 0;  // 0: one per core
  CacheOptions cache;
};

/// Opens data with the sizes, label names and transform of the model.
Dataset open_data_for(const Model& model, const std::string& path, const ModelDataOptions& options,
                      const Warn& warn);

/// Copies some rows.
Dataset select_rows(const Dataset& data, std::span<const std::uint32_t> rows);

}  // namespace evener
