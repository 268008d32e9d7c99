// P@k, nDCG@k and PSP@k as the extreme-classification repository (Bhatia et al.) reports them;
// propensities: Jain, Prabhu, Varma, KDD 2016.
#include "evener/nn/metrics.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <functional>
#include <numeric>

#include <fmt/format.h>

namespace evener {

namespace {

constexpr std::array<std::uint32_t, 3> kRanks{1, 3, 5};

bool is_true(std::span<const std::uint32_t> truth, std::uint32_t label) {
  return std::binary_search(truth.begin(), truth.end(), label);
}

/// Weight of the label at `rank`, which counts from 0.
double discount(std::size_t rank) {
  return 1 / std::log2(static_cast<double>(rank) + 2);
}

/// Sums over rows for one k.
struct Sums {
  double hits = 0;
  double ndcg = 0;
  double weighted_hits = 0;       // hits, each times its inverse propensity
  double best_weighted_hits = 0;  // the most that any prediction of k labels could have
};

double ndcg(std::span<const std::uint32_t> best, std::span<const std::uint32_t> truth) {
  double gain = 0;
  double ideal = 0;
  for (std::size_t rank = 0; rank < best.size(); ++rank) {
    if (is_true(truth, best[rank])) gain += discount(rank);
    if (rank < truth.size()) ideal += discount(rank);
  }
  return ideal > 0 ? gain / ideal : 0;
}

double largest_sum(std::span<const std::uint32_t> truth, std::span<const float> weights,
                   std::size_t k) {
  std::vector<double> all;
  for (const auto label : truth) all.push_back(weights[label]);
  const auto count = static_cast<std::ptrdiff_t>(std::min(k, all.size()));
  std::partial_sort(all.begin(), all.begin() + count, all.end(), std::greater<>());
  return std::accumulate(all.begin(), all.begin() + count, 0.0);
}

Sums sums_at(std::uint32_t k, const Predictions& predictions, const CsrView& truth,
             std::span<const float> inverse_propensity) {
  Sums sums;
  for (std::size_t row = 0; row < predictions.rows(); ++row) {
    const auto labels = truth.row(row).indices;
    const auto best = predictions.row_labels(row).first(k);
    sums.ndcg += ndcg(best, labels);
    for (const auto label : best) {
      if (!is_true(labels, label)) continue;
      sums.hits += 1;
      if (!inverse_propensity.empty()) sums.weighted_hits += inverse_propensity[label];
    }
    if (!inverse_propensity.empty()) {
      sums.best_weighted_hits += largest_sum(labels, inverse_propensity, k);
    }
  }
  return sums;
}

bool one_label_a_row(const CsrView& truth) {
  for (std::size_t row = 0; row < truth.rows(); ++row) {
    if (truth.row(row).indices.size() != 1) return false;
  }
  return truth.rows() > 0;
}

/// How much label 1 is preferred to label 0.
double preference(const Predictions& predictions, std::size_t row) {
  const auto labels = predictions.row_labels(row);
  const auto scores = predictions.row_scores(row);
  const std::size_t one = labels[0] == 1 ? 0 : 1;
  return double{scores[one]} - double{scores[1 - one]};
}

/// Chance that a row of label 1 is ranked above one of label 0, ties counting half; by rank sums
/// (Mann-Whitney). Negative where one of the labels does not occur.
double area_under_curve(const Predictions& predictions, const CsrView& truth) {
  std::vector<std::pair<double, bool>> rows;
  for (std::size_t row = 0; row < predictions.rows(); ++row) {
    rows.emplace_back(preference(predictions, row), truth.row(row).indices[0] == 1);
  }
  std::sort(rows.begin(), rows.end());
  double rank_sum = 0;
  double positives = 0;
  for (std::size_t begin = 0; begin < rows.size();) {
    std::size_t end = begin;
    double tied_positives = 0;
    for (; end < rows.size() && rows[end].first == rows[begin].first; ++end) {
      tied_positives += rows[end].second ? 1 : 0;
    }
    // Ranks count from 1; tied rows all have the mean of their ranks, begin+1 ... end.
    rank_sum += tied_positives * (static_cast<double>(begin + 1 + end) / 2);
    positives += tied_positives;
    begin = end;
  }
  const double negatives = static_cast<double>(rows.size()) - positives;
  if (positives == 0 || negatives == 0) return -1;
  return (rank_sum - positives * (positives + 1) / 2) / (positives * negatives);
}

void add_single_label_metrics(const Predictions& predictions, const CsrView& truth,
                              std::uint32_t label_count, Metrics& metrics) {
  if (predictions.k == 0 || !one_label_a_row(truth)) return;
  metrics["accuracy"] = metrics["p@1"];
  if (label_count != 2 || predictions.k != 2) return;
  const double auc = area_under_curve(predictions, truth);
  if (auc >= 0) metrics["auc"] = auc;
}

}  // namespace

std::vector<float> inverse_propensities(const Dataset& train, double a, double b) {
  std::vector<std::uint64_t> counts(train.label_count);
  for (const auto label : train.labels.indices) ++counts[label];
  const auto rows = static_cast<double>(train.labels.rows());
  // Below three rows the formula would give weights under 1: assume that no label is missing.
  const double c = std::max(0.0, (std::log(rows) - 1) * std::pow(b + 1, a));
  std::vector<float> result(counts.size());
  std::transform(counts.begin(), counts.end(), result.begin(), [&](std::uint64_t count) {
    return static_cast<float>(1 + c * std::pow(static_cast<double>(count) + b, -a));
  });
  return result;
}

Metrics evaluate(const Predictions& predictions, const CsrView& truth, std::uint32_t label_count,
                 std::span<const float> inverse_propensity) {
  assert(predictions.rows() == truth.rows());
  assert(inverse_propensity.empty() || inverse_propensity.size() == label_count);
  // No rows: every sum is zero, and so is every mean.
  const auto rows = static_cast<double>(std::max<std::size_t>(predictions.rows(), 1));
  Metrics metrics;
  metrics["loss"] =
      std::accumulate(predictions.losses.begin(), predictions.losses.end(), 0.0) / rows;
  for (const auto k : kRanks) {
    if (k > predictions.k) break;
    const Sums sums = sums_at(k, predictions, truth, inverse_propensity);
    metrics[fmt::format("p@{}", k)] = sums.hits / (rows * k);
    metrics[fmt::format("ndcg@{}", k)] = sums.ndcg / rows;
    if (inverse_propensity.empty()) continue;
    // Both sums carry 1/(rows k), which cancels.
    const double best = sums.best_weighted_hits;
    metrics[fmt::format("psp@{}", k)] = best > 0 ? sums.weighted_hits / best : 0;
  }
  add_single_label_metrics(predictions, truth, label_count, metrics);
  return metrics;
}

bool larger_is_better(const std::string& metric) {
  return metric != "loss";
}

}  // namespace evener
