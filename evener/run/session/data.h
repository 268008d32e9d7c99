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

/// A file as it is; of a folder its file `part` ("train", "test") with any ending. Empty if the
/// folder has none, UsageError if it has several.
std::string data_file(const std::string& path, const std::string& part);

struct TrainingData {
  Dataset train;
  std::vector<std::uint32_t> rows;    // of `train` that are trained on; empty: all
  std::optional<Dataset> evaluation;  // --test, or what was held out
  Transform transform;
  std::uint32_t raw_features = 0;
  std::vector<float> inverse_propensity;  // of the rows that are trained on

  std::size_t row_count() const { return rows.empty() ? train.rows() : rows.size(); }
};

/// `cache_directory` serves where the options name none. DataError if there is nothing to learn.
TrainingData open_training_data(const TrainOptions& options, const std::string& cache_directory,
                                const Warn& warn);

/// The same from data in memory: transformed as the options say, and --validation-share is held out
/// where there is no `evaluation`. Options of files are not used.
TrainingData training_data_of(const Dataset& train, std::optional<Dataset> evaluation,
                              const TrainOptions& options);

struct ModelDataOptions {
  std::string format = "auto";
  int threads = 0;              // 0: one a core
  std::string cache_directory;  // empty: no cache
};

/// Data as the model saw it in training: its sizes, its label names, its transform.
Dataset open_data_for(const Model& model, const std::string& path, const ModelDataOptions& options,
                      const Warn& warn);

/// A copy of some rows.
Dataset select_rows(const Dataset& data, std::span<const std::uint32_t> rows);

}  // namespace evener
