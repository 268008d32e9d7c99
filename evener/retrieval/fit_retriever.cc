// Fits a retriever: statistics of features, the similarity's exponent, the offset, and the
// candidates of all training rows.
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "evener/retrieval/retriever.h"

namespace evener {

namespace {

constexpr std::array<float, 3> kExponents{0.0F, 0.25F, 0.5F};
constexpr float kLeastAgreement = 1e-4F;

std::vector<float> weights_of(const std::vector<float>& agreement, float exponent) {
  std::vector<float> weights(agreement.size());
  for (std::size_t f = 0; f < weights.size(); ++f) {
    weights[f] = std::pow(agreement[f] + kLeastAgreement, exponent);
  }
  return weights;
}

std::vector<std::uint32_t> spread_rows(std::size_t rows, std::size_t count) {
  count = std::min(rows, count);
  std::vector<std::uint32_t> chosen(count);
  for (std::size_t i = 0; i < count; ++i) {
    chosen[i] = static_cast<std::uint32_t>((2 * i + 1) * rows / (2 * count));
  }
  return chosen;
}

/// P@1 + P@3 + P@5 of the neighbours' votes for a row.
double quality(std::span<const Scored> neighbours, const CsrView& labels,
               std::span<const std::uint32_t> truth, std::vector<float>& votes) {
  std::vector<std::uint32_t> touched;
  for (const Scored& item : neighbours) {
    const float vote = item.score + item.score * item.score * item.score;
    for (const std::uint32_t label : labels.row(item.id).indices) {
      if (votes[label] == 0) touched.push_back(label);
      votes[label] += vote;
    }
  }
  BestOf best;
  best.begin(5);
  for (const std::uint32_t label : touched) best.add(label, std::exchange(votes[label], 0.0F));
  constexpr std::array<double, 5> kWeight{1 + 1.0 / 3 + 0.2, 1.0 / 3 + 0.2, 1.0 / 3 + 0.2, 0.2,
                                          0.2};
  double sum = 0;
  const auto sorted = best.finish_sorted();
  for (std::size_t rank = 0; rank < sorted.size(); ++rank) {
    if (std::binary_search(truth.begin(), truth.end(), sorted[rank].id)) sum += kWeight[rank];
  }
  return sum;
}

class Fitting {
 public:
  Fitting(const Dataset& data, const RetrievalOptions& options, Team& team, const Stop& stop,
          const StageProgress& progress)
      : data_(data), options_(options), team_(team), stop_(stop), progress_(progress) {}

  std::optional<FittedRetriever> run() {
    say("label statistics", 0);
    columns_ = columns_of(data_.features, data_.feature_count, team_);
    if (!count_labels(columns_, data_.labels, data_.label_count, options_.cooccurrence, team_,
                      stop_, statistics_)) {
      return std::nullopt;
    }
    say("similarity", 0);
    if (!choose_exponent()) return std::nullopt;
    columns_ = {};
    FittedRetriever fitted;
    fitted.exponent = best_.exponent;
    RetrievalModel model;
    model.feature_count = data_.feature_count;
    model.label_count = data_.label_count;
    model.neighbours = options_.neighbours;
    model.candidates = options_.candidates;
    model.feature_weights = std::move(best_.scaled.feature_weights);
    model.rows.offsets.assign(data_.features.offsets.begin(), data_.features.offsets.end());
    model.rows.indices.assign(data_.features.indices.begin(), data_.features.indices.end());
    model.rows.values = std::move(best_.scaled.values);
    model.labels.offsets.assign(data_.labels.offsets.begin(), data_.labels.offsets.end());
    model.labels.indices.assign(data_.labels.indices.begin(), data_.labels.indices.end());
    model.cooccurrence = std::move(statistics_.cooccurrence);
    fitted.retriever = std::make_unique<Retriever>(std::move(model), std::move(best_.postings));
    return fitted;
  }

 private:
  void say(const char* stage, double share) const {
    if (progress_) progress_(stage, share);
  }

  /// Keeps the rows scaled by the best exponent, and their postings.
  bool choose_exponent() {
    double best = -1;
    for (const float exponent : kExponents) {
      if (exponent != 0 && !options_.weighs_features) break;
      if (stop_ && stop_()) return false;
      Trial trial{exponent, {}, {}};
      trial.scaled = scale_rows(data_.features, weights_of(statistics_.agreement, exponent), team_);
      const CsrView rows{data_.features.offsets, data_.features.indices, trial.scaled.values};
      NeighbourIndex index(
          rows,
          largest_postings(columns_, &trial.scaled, options_.neighbours.postings_a_feature, team_),
          options_.neighbours);
      double sum = 0;
      if (!try_neighbours(index, rows, sum)) return false;
      if (sum <= best) continue;
      best = sum;
      trial.postings = index.take_postings();
      best_ = std::move(trial);
    }
    return true;
  }

  /// Adds up the quality of the neighbours of some rows.
  bool try_neighbours(const NeighbourIndex& index, const CsrView& rows, double& sum) {
    struct Own {
      NeighbourIndex::Scratch scratch;
      std::vector<float> votes;
    };
    const auto chosen = spread_rows(data_.rows(), options_.trial_rows);
    std::vector<double> sums(chosen.size(), 0);
    std::vector<Own> own(static_cast<std::size_t>(team_.size()));
    const bool whole = for_chunks(
        team_, chosen.size(), 8, stop_, [&](std::size_t begin, std::size_t end, int member) {
          Own& mine = own[static_cast<std::size_t>(member)];
          mine.votes.resize(data_.label_count, 0.0F);
          for (std::size_t i = begin; i < end; ++i) {
            const std::uint32_t row = chosen[i];
            const auto found = index.find(rows.row(row), row, mine.scratch);
            sums[i] = quality(found, data_.labels, data_.labels.row(row).indices, mine.votes);
          }
        });
    for (const double value : sums) sum += value;
    return whole;
  }

  struct Trial {
    float exponent = 0;
    ScaledRows scaled;
    SparseColumns postings;
  };

  const Dataset& data_;
  const RetrievalOptions& options_;
  Team& team_;
  const Stop& stop_;
  const StageProgress& progress_;
  SparseColumns columns_;
  FeatureLabels statistics_;
  Trial best_;
};

}  // namespace

std::optional<FittedRetriever> fit_retriever(const Dataset& data, const RetrievalOptions& options,
                                             Team& team, const Stop& stop,
                                             const StageProgress& progress) {
  auto fitted = Fitting(data, options, team, stop, progress).run();
  if (!fitted) return std::nullopt;
  if (!fit_offset(data, options, team, stop, progress, *fitted)) return std::nullopt;
  return fitted;
}

}  // namespace evener
