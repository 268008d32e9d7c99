#include "evener/retrieval/wide_weights.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "evener/core/random.h"
#include "evener/device/cpu/shortlist_kernels.h"
#include "evener/nn/logistic.h"

namespace evener {

namespace {

/// The pairs of each label, in a random order of rows that is the same for all labels: sorted data
/// would bias the last updates.
struct PairsByLabel {
  std::vector<std::uint64_t> offsets;
  std::vector<std::uint32_t> rows;
  std::vector<float> margins;
  std::vector<std::uint8_t> positive;
};

PairsByLabel by_label(const Shortlist& shortlist, std::uint32_t label_count, std::uint64_t seed,
                      Team& team) {
  std::vector<std::uint32_t> order(shortlist.rows());
  std::iota(order.begin(), order.end(), 0U);
  Random(seed, 0x77696465).shuffle(std::span(order));
  PairsByLabel pairs;
  pairs.offsets = sort_by_key(
      order.size(), label_count, team, [&](std::size_t i) { return shortlist.labels_of(order[i]); },
      [&](std::uint64_t count) {
        pairs.rows.resize(count);
        pairs.margins.resize(count);
        pairs.positive.resize(count);
      },
      [&](std::uint64_t at, std::size_t i, std::size_t pair) {
        const std::uint64_t p = shortlist.offsets[order[i]] + pair;
        pairs.rows[at] = order[i];
        pairs.margins[at] = shortlist.margins[p];
        pairs.positive[at] = shortlist.positive[p];
      });
  return pairs;
}

constexpr std::uint32_t kNoPlace = UINT32_MAX;

/// Trains one label after another on one thread.
class LabelTrainer {
 public:
  LabelTrainer(const Dataset& data, const PairsByLabel& pairs, const WideOptions& options)
      : data_(data), pairs_(pairs), options_(options), place_(data.feature_count, kNoPlace) {}

  /// Appends the label's weights.
  void train(std::size_t label, WideWeights& out) {
    begin_ = pairs_.offsets[label];
    count_ = pairs_.offsets[label + 1] - begin_;
    collect_pattern();
    if (!pattern_.empty() && positives_ < count_) {
      compress();
      run_epochs();
      for (std::size_t i = 0; i < pattern_.size(); ++i) {
        if (std::abs(weights_[i]) < options_.least_weight) continue;
        out.features.push_back(pattern_[i]);
        out.values.push_back(weights_[i]);
      }
    }
    for (const std::uint32_t feature : pattern_) place_[feature] = kNoPlace;
    out.offsets.push_back(out.features.size());
  }

 private:
  void collect_pattern() {
    pattern_.clear();
    positives_ = 0;
    for (std::size_t i = 0; i < count_; ++i) {
      if (pairs_.positive[begin_ + i] == 0) continue;
      ++positives_;
      for (const std::uint32_t feature : data_.features.row(pairs_.rows[begin_ + i]).indices) {
        if (place_[feature] != kNoPlace) continue;
        place_[feature] = 0;
        pattern_.push_back(feature);
      }
    }
    std::sort(pattern_.begin(), pattern_.end());
    for (std::size_t i = 0; i < pattern_.size(); ++i) {
      place_[pattern_[i]] = static_cast<std::uint32_t>(i);
    }
  }

  /// The rows of the label's pairs, without features outside the pattern.
  void compress() {
    ends_.assign(1, 0);
    places_.clear();
    values_.clear();
    for (std::size_t i = 0; i < count_; ++i) {
      const RowView row = data_.features.row(pairs_.rows[begin_ + i]);
      std::size_t at = places_.size();
      places_.resize(at + row.indices.size());
      values_.resize(at + row.indices.size());
      for (std::size_t j = 0; j < row.indices.size(); ++j) {
        const std::uint32_t place = place_[row.indices[j]];
        places_[at] = place;
        values_[at] = row.values[j];
        at += place != kNoPlace ? 1 : 0;
      }
      places_.resize(at);
      values_.resize(at);
      ends_.push_back(at);
    }
  }

  void run_epochs() {
    const cpu::ShortlistKernels& kernels = cpu::shortlist_kernels();
    weights_.assign(pattern_.size(), 0.0F);
    skipped_.assign(count_, 0);
    const float rate =
        options_.learning_rate *
        std::pow(static_cast<float>(positives_) / options_.rows_scale, options_.rows_power);
    const float steps = static_cast<float>(options_.epochs) * static_cast<float>(count_);
    float squares = 1;
    for (std::uint32_t epoch = 0; epoch < options_.epochs; ++epoch) {
      const bool skips = epoch != 0 && epoch != options_.epochs / 2;
      for (std::size_t i = 0; i < count_; ++i) {
        if (skips && skipped_[i] != 0) continue;
        const std::size_t at = ends_[i], size = ends_[i + 1] - at;
        const float score =
            pairs_.margins[begin_ + i] +
            kernels.sparse_dot(places_.data() + at, values_.data() + at, size, weights_.data());
        const bool positive = pairs_.positive[begin_ + i] != 0;
        const float g = sigmoid(score) - (positive ? 1.0F : 0.0F);
        skipped_[i] = !positive && g < options_.least_gradient ? 1 : 0;
        squares += g * g;
        const float done =
            static_cast<float>(epoch) * static_cast<float>(count_) + static_cast<float>(i);
        const float step = rate * (1 - done / steps) * g / std::sqrt(squares);
        kernels.sparse_add(places_.data() + at, values_.data() + at, size, -step, weights_.data());
      }
    }
  }

  const Dataset& data_;
  const PairsByLabel& pairs_;
  const WideOptions& options_;
  std::vector<std::uint32_t> place_;  // of a feature in the pattern; kNoPlace between labels
  std::vector<std::uint32_t> pattern_;
  std::size_t begin_ = 0, count_ = 0, positives_ = 0;
  std::vector<std::size_t> ends_;
  std::vector<std::uint32_t> places_;
  std::vector<float> values_, weights_;
  std::vector<std::uint8_t> skipped_;
};

}  // namespace

bool train_wide(const Dataset& data, const Shortlist& shortlist, const WideOptions& options,
                Team& team, const Stop& stop, WideWeights& out) {
  const PairsByLabel pairs = by_label(shortlist, data.label_count, options.seed, team);
  constexpr std::size_t kChunk = 8;
  std::vector<WideWeights> parts((data.label_count + kChunk - 1) / kChunk);
  std::vector<LabelTrainer> trainers(static_cast<std::size_t>(team.size()),
                                     LabelTrainer(data, pairs, options));
  const bool whole = for_chunks(
      team, data.label_count, kChunk, stop, [&](std::size_t begin, std::size_t end, int member) {
        for (std::size_t label = begin; label < end; ++label) {
          trainers[static_cast<std::size_t>(member)].train(label, parts[begin / kChunk]);
        }
      });
  if (!whole) return false;
  out.offsets = joined_offsets(parts);
  out.features = joined_values(parts, &WideWeights::features, team);
  out.values = joined_values(parts, &WideWeights::values, team);
  return true;
}

void wide_scores(const WideWeights& weights, std::span<const std::uint32_t> labels,
                 const float* dense, float* out) {
  const cpu::ShortlistKernels& kernels = cpu::shortlist_kernels();
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const std::uint64_t begin = weights.offsets[labels[i]];
    out[i] = kernels.sparse_dot(weights.features.data() + begin, weights.values.data() + begin,
                                weights.offsets[labels[i] + 1] - begin, dense);
  }
}

}  // namespace evener
