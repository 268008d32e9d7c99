#include "evener/device/cpu/listed_replica.h"

#include <algorithm>
#include <cassert>
#include <utility>
#include <vector>

#include "evener/core/best_of.h"
#include "evener/core/error.h"
#include "evener/core/team.h"
#include "evener/device/cpu/flush_denormals.h"
#include "evener/device/cpu/input_layer.h"
#include "evener/device/cpu/row_groups.h"
#include "evener/device/cpu/shortlist_kernels.h"
#include "evener/nn/logistic.h"

namespace evener::cpu {

namespace {

/// One row of a batch.
struct ListedRow {
  std::vector<float> gradients;  // of the scores of its candidates
  double loss = 0;
  std::vector<Scored> best;  // of a prediction
};

/// Whether each candidate is one of the row's labels; both ascend.
class Truth {
 public:
  explicit Truth(std::span<const std::uint32_t> labels) : labels_(labels) {}
  bool has(std::uint32_t candidate) {
    while (at_ < labels_.size() && labels_[at_] < candidate) ++at_;
    const bool found = at_ < labels_.size() && labels_[at_] == candidate;
    found_ += found ? 1 : 0;
    return found;
  }
  std::size_t missed() const { return labels_.size() - found_; }

 private:
  std::span<const std::uint32_t> labels_;
  std::size_t at_ = 0, found_ = 0;
};

class ListedReplica final : public Replica {
 public:
  ListedReplica(const Network& network, const Training& training, int threads);

  using Replica::step;
  double step(const Batch& batch, const Step& step, const NextStep* next) override;
  void predict(const Batch& batch, Predictions& out) override;
  int vectors() const override { return static_cast<int>(buffers_.size()); }
  FloatBuffer take(int vector) override {
    return std::move(buffers_.at(static_cast<std::size_t>(vector)));
  }
  void give(int vector, FloatBuffer values) override;

 private:
  void begin(const Batch& batch);
  const float* label_weights(std::uint32_t label) const {
    return vectors_.weight + (first_label_ + std::size_t{label}) * width_;
  }
  float* hidden(std::size_t row) { return terms_.data() + (rows_.size() + row) * width_; }
  float* error(std::size_t row) { return terms_.data() + row * width_; }
  void forward(std::size_t row, const DropoutMask& mask);
  void compute(const Batch& batch, std::size_t row, const DropoutMask& mask);
  void update(const Batch& batch, const UpdateRule& rule, int member);
  void predict_row(const Batch& batch, std::size_t row, std::uint32_t k, int member);

  Network network_;
  Training training_;
  std::size_t size_, width_;
  std::uint32_t first_label_;
  Team team_;
  std::vector<FloatBuffer> buffers_;
  ModelVectors vectors_;
  SparseBatch sparse_;
  RowGroups groups_;
  std::vector<ListedRow> rows_;  // of the batch
  FloatBuffer terms_;            // the rows' errors at the hidden layer, then its outputs
  std::vector<FloatBuffer> scratch_;
  std::vector<BestOf> best_;
};

ListedReplica::ListedReplica(const Network& network, const Training& training, int threads)
    : network_(network),
      training_(training),
      size_(layout_of(network).size),
      width_(layout_of(network).layers.front().weight.stride),
      first_label_(first_label_row(network)),
      team_(threads),
      groups_(sparse_rows(network), threads),
      best_(static_cast<std::size_t>(threads)) {
  buffers_.resize(1 + static_cast<std::size_t>(state_vectors(training.optimizer)));
  for (int v = 0; v < vectors(); ++v) give(v, FloatBuffer(size_));
  for (int i = 0; i < threads; ++i) scratch_.emplace_back(width_);
}

void ListedReplica::give(int vector, FloatBuffer values) {
  assert(values.size() == size_);
  FloatBuffer& buffer = buffers_.at(static_cast<std::size_t>(vector));
  buffer = std::move(values);
  float** const places[] = {&vectors_.weight, &vectors_.first, &vectors_.second};
  *places[vector] = buffer.data();
}

void ListedReplica::begin(const Batch& batch) {
  if (batch.data->candidates.rows() != batch.data->rows()) {
    throw Error("a listed output needs the candidates of the rows");
  }
  sparse_.plan(batch);
  rows_.resize(batch.rows.size());
  if (terms_.size() < 2 * rows_.size() * width_) terms_ = FloatBuffer(2 * rows_.size() * width_);
}

void ListedReplica::forward(std::size_t row, const DropoutMask& mask) {
  const RowView features = sparse_.row(row);
  float* out = hidden(row);
  kernels().gather(vectors_.weight, width_, width_,
                   vectors_.weight + bias_row(network_) * std::size_t{width_},
                   features.indices.data(), features.values.data(), features.indices.size(), out);
  for (std::size_t u = 0; u < width_; ++u) out[u] = std::max(0.0F, out[u]);
  if (!mask.active()) return;
  for (std::size_t u = 0; u < width_; ++u) {
    out[u] *= mask.factor(static_cast<std::uint32_t>(row), static_cast<std::uint32_t>(u));
  }
}

/// Loss, the gradients of the scores, and the error at the hidden layer of one row.
void ListedReplica::compute(const Batch& batch, std::size_t row, const DropoutMask& mask) {
  const RowView list = batch.data->candidates.row(batch.rows[row]);
  const float share = batch.data->candidate_share;
  const float each = share / static_cast<float>(batch.rows.size());
  Truth truth(batch.data->labels.row(batch.rows[row]).indices);
  ListedRow& own = rows_[row];
  own.gradients.resize(list.indices.size());
  own.loss = 0;
  if (share != 0) forward(row, mask);
  for (std::size_t i = 0; i < list.indices.size(); ++i) {
    float score = list.values[i];
    if (share != 0) {
      score += share * shortlist_kernels().dot(label_weights(list.indices[i]), hidden(row), width_);
    }
    const bool positive = truth.has(list.indices[i]);
    own.loss += static_cast<double>(log_loss(score, positive));
    own.gradients[i] = each * (sigmoid(score) - (positive ? 1.0F : 0.0F));
  }
  if (share == 0) return;
  kernels().gather(label_weights(0), width_, width_, nullptr, list.indices.data(),
                   own.gradients.data(), list.indices.size(), error(row));
  const float* out = hidden(row);
  float* back = error(row);
  // Dropped units are 0, and the factor of the others is the same for all.
  const float factor = mask.active() ? mask.scale() : 1.0F;
  for (std::size_t u = 0; u < width_; ++u) back[u] = out[u] > 0 ? back[u] * factor : 0.0F;
}

void ListedReplica::update(const Batch& batch, const UpdateRule& rule, int member) {
  const std::uint32_t bias = bias_row(network_);
  const auto& mine = groups_.group(member, [&](auto use) {
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      sparse_.for_inputs(r, bias, use);
      const auto labels = batch.data->candidates.row(batch.rows[r]).indices;
      const auto outputs = static_cast<std::uint32_t>(rows_.size() + r);
      for (std::size_t i = 0; i < labels.size(); ++i) {
        use(first_label_ + labels[i], outputs, rows_[r].gradients[i]);
      }
    }
  });
  update_rows(mine, {terms_.data(), width_}, vectors_, rule, bias,
              scratch_[static_cast<std::size_t>(member)].data());
}

double ListedReplica::step(const Batch& batch, const Step& step, const NextStep* /*next*/) {
  begin(batch);
  const UpdateRule rule = update_rule(training_, step);
  const DropoutMask input(training_.input_dropout, training_.seed, step.number, 0);
  const DropoutMask hidden(training_.dropout, training_.seed, step.number, 1);
  team_.run([&](int member) {
    const FlushDenormals flush;
    const Range own = share_of(rows_.size(), team_.size(), member);
    sparse_.fill(batch, input, own.begin, own.end);
    for (std::size_t row = own.begin; row < own.end; ++row) compute(batch, row, hidden);
    if (batch.data->candidate_share == 0) return;
    team_.barrier();
    update(batch, rule, member);
  });
  double loss = 0;
  for (const ListedRow& row : rows_) loss += row.loss;
  return loss / static_cast<double>(rows_.size());
}

void ListedReplica::predict_row(const Batch& batch, std::size_t row, std::uint32_t k, int member) {
  const RowView list = batch.data->candidates.row(batch.rows[row]);
  const float share = batch.data->candidate_share;
  Truth truth(batch.data->labels.row(batch.rows[row]).indices);
  ListedRow& own = rows_[row];
  BestOf& best = best_[static_cast<std::size_t>(member)];
  own.loss = 0;
  best.begin(k);
  if (share != 0) forward(row, DropoutMask(0, 0, 0, 1));
  for (std::size_t i = 0; i < list.indices.size(); ++i) {
    float score = list.values[i];
    if (share != 0) {
      score += share * shortlist_kernels().dot(label_weights(list.indices[i]), hidden(row), width_);
    }
    own.loss += static_cast<double>(log_loss(score, truth.has(list.indices[i])));
    best.add(list.indices[i], score);
  }
  own.loss +=
      static_cast<double>(truth.missed()) * static_cast<double>(log_loss(kAbsentLogOdds, true));
  const auto sorted = best.finish_sorted();
  own.best.assign(sorted.begin(), sorted.end());
}

void ListedReplica::predict(const Batch& batch, Predictions& out) {
  begin(batch);
  team_.run([&](int member) {
    const FlushDenormals flush;
    const Range own = share_of(rows_.size(), team_.size(), member);
    sparse_.fill(batch, DropoutMask(0, 0, 0, 0), own.begin, own.end);
    for (std::size_t row = own.begin; row < own.end; ++row) predict_row(batch, row, out.k, member);
  });
  for (const ListedRow& row : rows_) {
    for (const Scored& item : row.best) {
      out.labels.push_back(item.id);
      out.scores.push_back(sigmoid(item.score));
    }
    // Fewer candidates than k: the first other labels follow, with score 0.
    std::size_t count = row.best.size();
    for (std::uint32_t label = 0; count < out.k; ++label) {
      const bool is_listed = std::any_of(row.best.begin(), row.best.end(),
                                         [&](const Scored& item) { return item.id == label; });
      if (is_listed) continue;
      out.labels.push_back(label);
      out.scores.push_back(0);
      ++count;
    }
    out.losses.push_back(static_cast<float>(row.loss));
  }
}

}  // namespace

std::unique_ptr<Replica> make_listed_replica(const Network& network, const Training& training,
                                             int threads) {
  return std::make_unique<ListedReplica>(network, training, threads);
}

}  // namespace evener::cpu
