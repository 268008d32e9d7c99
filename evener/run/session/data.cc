#include "evener/run/session/data.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <thread>
#include <utility>

#include "evener/core/error.h"
#include "evener/data/batches.h"
#include "evener/data/data_folder.h"
#include "evener/nn/metrics.h"

namespace evener {

namespace {

// An epoch number that no run reaches: its order of rows selects the held-out rows.
constexpr std::uint64_t kSplitEpoch = std::numeric_limits<std::uint64_t>::max();

int threads_of(int asked) {
  return asked > 0 ? asked : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

ReadOptions read_options(const std::string& format, int threads) {
  ReadOptions read;
  read.format = format == "auto" ? Format::automatic : parse_format(format);
  read.threads = threads_of(threads);
  return read;
}

Dataset open_with(const std::string& path, const ReadOptions& read, const Transform& transform,
                  const CacheOptions& cache, const Warn& warn) {
  std::string warning;
  Dataset data =
      open_dataset(path, read, transform.identity() ? nullptr : &transform, cache, &warning);
  if (!warning.empty()) warn(warning);
  return data;
}

CsrArrays copy_rows(const CsrView& from, std::span<const std::uint32_t> rows) {
  CsrArrays to;
  for (const auto row : rows) {
    const RowView view = from.row(row);
    to.indices.insert(to.indices.end(), view.indices.begin(), view.indices.end());
    to.values.insert(to.values.end(), view.values.begin(), view.values.end());
    to.offsets.push_back(to.indices.size());
  }
  return to;
}

void check_trainable(const std::string& path, const Dataset& data) {
  if (data.rows() == 0) throw DataError(path, 0, "there are no rows to train on");
  if (data.label_count == 0) throw DataError(path, 0, "no row has a label");
  if (data.feature_count == 0) throw DataError(path, 0, "no row has a feature");
}

void hold_out(double share, std::uint64_t seed, const std::string& path, TrainingData& data) {
  const std::size_t total = data.train.rows();
  const auto held = static_cast<std::size_t>(std::llround(share * static_cast<double>(total)));
  if (held == 0 || held >= total) {
    throw UsageError("--validation-share leaves no rows to " +
                     std::string(held == 0 ? "evaluate" : "train") + " on: " + path + " has " +
                     std::to_string(total));
  }
  std::vector<std::uint32_t> order = shuffled_rows(total, seed, kSplitEpoch);
  const auto cut = order.begin() + static_cast<std::ptrdiff_t>(held);
  std::sort(order.begin(), cut);
  std::sort(cut, order.end());
  data.evaluation = select_rows(data.train, std::span(order).first(held));
  data.rows.assign(cut, order.end());
}

/// Inverse propensities need only labels: no features are copied for a split data set.
std::vector<float> propensities(const TrainingData& data) {
  if (data.rows.empty()) return inverse_propensities(data.train);
  CsrArrays no_features;
  no_features.offsets.assign(data.rows.size() + 1, 0);
  return inverse_propensities(make_dataset(std::move(no_features), data.train.feature_count,
                                           copy_rows(data.train.labels, data.rows),
                                           data.train.label_count));
}

}  // namespace

Dataset select_rows(const Dataset& data, std::span<const std::uint32_t> rows) {
  return make_dataset(copy_rows(data.features, rows), data.feature_count,
                      copy_rows(data.labels, rows), data.label_count, data.label_names);
}

TrainingData open_training_data(const TrainOptions& options, const CacheOptions& given,
                                const Warn& warn) {
  CacheOptions cache = given;
  if (!options.cache_dir.empty()) cache.directory = options.cache_dir;
  if (!options.cache) cache.directory.clear();
  ReadOptions read = read_options(options.format, options.read_threads);

  TrainingData data;
  data.transform.options = transform_of(options);
  if (options.tfidf || options.hash_features > 0) {
    // Only these need the raw data: idf is computed from it, and hashing hides its width.
    const Dataset raw =
        open_with(options.data, read, Transform{{0, false, false}, {}}, cache, warn);
    data.raw_features = raw.feature_count;
    data.transform = fit_transform(raw, data.transform.options);
  }
  data.train = open_with(options.data, read, data.transform, cache, warn);
  if (data.raw_features == 0) data.raw_features = data.train.feature_count;
  check_trainable(options.data, data.train);
  data.text_format = read.format == Format::automatic ? text_format_of(options.data) : read.format;

  if (!options.test.empty()) {
    read.text_format = data.text_format;
    read.feature_count = data.raw_features;
    read.label_count = data.train.label_count;
    read.label_names = data.train.label_names;
    data.evaluation = open_with(options.test, read, data.transform, cache, warn);
    if (data.evaluation->rows() == 0) {
      throw DataError(options.test, 0, "there are no rows to evaluate on");
    }
  } else if (options.validation_share > 0) {
    hold_out(options.validation_share, options.seed, options.data, data);
  }
  data.inverse_propensity = propensities(data);
  check_intact(data.train);  // what was copied and counted above
  return data;
}

TrainingData training_data_of(const Dataset& train, std::optional<Dataset> evaluation,
                              const TrainOptions& options) {
  constexpr const char* kTrain = "the training data";
  constexpr const char* kEvaluation = "the evaluation data";
  check_trainable(kTrain, train);
  const int threads = threads_of(options.read_threads);
  TrainingData data;
  data.raw_features = train.feature_count;
  data.transform = fit_transform(train, transform_of(options));
  const auto transformed = [&](Dataset from) {
    return data.transform.identity() ? from : apply_transform(from, data.transform, threads);
  };
  data.train = transformed(train);
  if (evaluation) {
    if (evaluation->rows() == 0) {
      throw DataError(kEvaluation, 0, "there are no rows to evaluate on");
    }
    if (evaluation->feature_count > train.feature_count ||
        evaluation->label_count > train.label_count) {
      throw DataError(kEvaluation, 0, "has more features or labels than the training data");
    }
    evaluation->feature_count = train.feature_count;
    evaluation->label_count = train.label_count;
    data.evaluation = transformed(std::move(*evaluation));
  } else if (options.validation_share > 0) {
    hold_out(options.validation_share, options.seed, kTrain, data);
  }
  data.inverse_propensity = propensities(data);
  return data;
}

Dataset open_data_for(const Model& model, const std::string& path, const ModelDataOptions& options,
                      const Warn& warn) {
  ReadOptions read = read_options(options.format, options.threads);
  read.feature_count = model.raw_features;
  read.label_count = model.network.labels;
  read.label_names = model.label_names;
  read.text_format = model.text_format;
  const std::string file = data_file(path, "test");
  if (file.empty()) throw UsageError(path + ": is a folder without a test.* file");
  Dataset data = open_with(file, read, model.transform, options.cache, warn);
  if (data.rows() == 0) throw DataError(file, 0, "there are no rows");
  return data;
}

}  // namespace evener
