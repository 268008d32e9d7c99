#include "evener/nn/reference_listed.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "evener/nn/logistic.h"

namespace evener::reference {

namespace {

/// A unit: its output after dropout, and the derivative of that by its weighted sum.
struct Unit {
  double output, slope;
};

/// One row of a batch.
struct ListedRow {
  RowView features, candidates;
  std::span<const std::uint32_t> labels;
  double share;          // of the network in a score
  std::uint32_t number;  // in the batch

  bool is_positive(std::uint32_t label) const {
    return std::binary_search(labels.begin(), labels.end(), label);
  }
};

ListedRow row_of(const Batch& batch, std::size_t i) {
  const Dataset& data = *batch.data;
  const std::uint32_t row = batch.rows[i];
  return {data.features.row(row), data.candidates.row(row), data.labels.row(row).indices,
          static_cast<double>(data.candidate_share), static_cast<std::uint32_t>(i)};
}

class ListedModel {
 public:
  ListedModel(const Network& network, std::span<const float> parameters, const DropoutMask& input,
              const DropoutMask& hidden)
      : layout_(layout_of(network)), parameters_(parameters), input_(input), hidden_(hidden) {}

  std::vector<Unit> hidden_layer(const ListedRow& row) const {
    std::vector<Unit> units(layout_.layers[0].weight.cols);
    for (std::size_t u = 0; u < units.size(); ++u) {
      double sum = parameters_[layout_.layers[0].bias.offset + u];
      for (std::size_t i = 0; i < row.features.indices.size(); ++i) {
        sum += value(row, i) * parameters_[input_weight(row.features.indices[i], u)];
      }
      const double kept =
          hidden_.active() ? hidden_.factor(row.number, static_cast<std::uint32_t>(u)) : 1;
      units[u] = {std::max(0.0, sum) * kept, sum > 0 ? kept : 0};
    }
    return units;
  }

  std::vector<double> scores(const ListedRow& row, const std::vector<Unit>& units) const {
    std::vector<double> scores;
    for (std::size_t i = 0; i < row.candidates.indices.size(); ++i) {
      double sum = 0;
      for (std::size_t u = 0; u < units.size(); ++u) {
        sum += units[u].output * parameters_[output_weight(row.candidates.indices[i], u)];
      }
      scores.push_back(row.candidates.values[i] + row.share * sum);
    }
    return scores;
  }

  /// Adds the row's gradient; `delta` is that by the network's part of each candidate's score.
  void backward(const ListedRow& row, const std::vector<Unit>& units,
                const std::vector<double>& delta, std::span<double> gradient) const {
    for (std::size_t u = 0; u < units.size(); ++u) {
      double below = 0;
      for (std::size_t i = 0; i < delta.size(); ++i) {
        const std::size_t at = output_weight(row.candidates.indices[i], u);
        gradient[at] += delta[i] * units[u].output;
        below += delta[i] * parameters_[at];
      }
      below *= units[u].slope;
      gradient[layout_.layers[0].bias.offset + u] += below;
      for (std::size_t i = 0; i < row.features.indices.size(); ++i) {
        gradient[input_weight(row.features.indices[i], u)] += below * value(row, i);
      }
    }
  }

 private:
  double value(const ListedRow& row, std::size_t i) const {
    const double kept = input_.active() ? input_.factor(row.number, row.features.indices[i]) : 1;
    return row.features.values[i] * kept;
  }
  std::size_t input_weight(std::size_t feature, std::size_t unit) const {
    return layout_.layers[0].weight.offset + feature * layout_.layers[0].weight.stride + unit;
  }
  std::size_t output_weight(std::size_t label, std::size_t unit) const {
    return layout_.layers[1].weight.offset + label * layout_.layers[1].weight.stride + unit;
  }

  Layout layout_;
  std::span<const float> parameters_;
  DropoutMask input_, hidden_;
};

double logistic_loss(double score, bool positive) {
  const double against = positive ? -score : score;
  return std::max(against, 0.0) + std::log1p(std::exp(-std::abs(against)));
}

}  // namespace

double listed_loss(const Network& network, std::span<const float> parameters, const Batch& batch,
                   const Training& training, const Step& step, std::span<float> gradient) {
  const ListedModel model(network, parameters,
                          DropoutMask(training.input_dropout, training.seed, step.number, 0),
                          DropoutMask(training.dropout, training.seed, step.number, 1));
  const double each = batch.rows.empty() ? 0 : 1 / static_cast<double>(batch.rows.size());
  std::vector<double> sum(gradient.size());
  double total = 0;
  for (std::size_t i = 0; i < batch.rows.size(); ++i) {
    const ListedRow row = row_of(batch, i);
    const auto units = model.hidden_layer(row);
    std::vector<double> delta = model.scores(row, units);
    for (std::size_t c = 0; c < delta.size(); ++c) {
      const bool positive = row.is_positive(row.candidates.indices[c]);
      total += each * logistic_loss(delta[c], positive);
      delta[c] = each * row.share * (1 / (1 + std::exp(-delta[c])) - (positive ? 1 : 0));
    }
    if (!gradient.empty()) model.backward(row, units, delta, sum);
  }
  std::transform(sum.begin(), sum.end(), gradient.begin(),
                 [](double g) { return static_cast<float>(g); });
  return total;
}

Predictions listed_predict(const Network& network, std::span<const float> parameters,
                           const Batch& batch, std::uint32_t k) {
  const ListedModel model(network, parameters, DropoutMask(0, 0, 0, 0), DropoutMask(0, 0, 0, 1));
  Predictions result;
  result.k = std::min(k, network.labels);
  for (std::size_t i = 0; i < batch.rows.size(); ++i) {
    const ListedRow row = row_of(batch, i);
    const auto scores = model.scores(row, model.hidden_layer(row));
    // Labels that are not candidates follow in their order, with probability 0.
    std::vector<std::pair<double, std::uint32_t>> ranked;
    std::vector<bool> is_candidate(network.labels);
    double loss = 0;
    std::size_t found = 0;
    for (std::size_t c = 0; c < scores.size(); ++c) {
      const std::uint32_t label = row.candidates.indices[c];
      is_candidate[label] = true;
      ranked.emplace_back(-scores[c], label);
      found += row.is_positive(label) ? 1 : 0;
      loss += logistic_loss(scores[c], row.is_positive(label));
    }
    std::sort(ranked.begin(), ranked.end());
    std::vector<std::uint32_t> labels;
    std::vector<double> probabilities;
    for (const auto& [score, label] : ranked) {
      labels.push_back(label);
      probabilities.push_back(1 / (1 + std::exp(score)));
    }
    for (std::uint32_t label = 0; label < network.labels; ++label) {
      if (is_candidate[label]) continue;
      labels.push_back(label);
      probabilities.push_back(0);
    }
    result.labels.insert(result.labels.end(), labels.begin(), labels.begin() + result.k);
    result.scores.insert(result.scores.end(), probabilities.begin(),
                         probabilities.begin() + result.k);
    loss += static_cast<double>(row.labels.size() - found) *
            logistic_loss(static_cast<double>(kAbsentLogOdds), true);
    result.losses.push_back(static_cast<float>(loss));
  }
  return result;
}

}  // namespace evener::reference
