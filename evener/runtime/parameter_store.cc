#include "evener/runtime/parameter_store.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <mutex>
#include <utility>

namespace evener {

namespace {

constexpr std::size_t kMostStretch = 4096;

/// One update of a stretch; policy/decisions.h has the formula.
struct Move {
  explicit Move(const ApplyPushes& decision)
      : share(static_cast<float>(decision.share)),
        keep(static_cast<float>(std::pow(decision.momentum, decision.share))) {
    const double part = decision.momentum > 0 ? (1 - std::pow(decision.momentum, decision.share)) /
                                                    (1 - decision.momentum)
                                              : 1;
    take =
        static_cast<float>(decision.damping * part / static_cast<double>(decision.workers.size()));
  }
  void apply(std::span<const float> sum, float* w, float* m) const {
    for (std::size_t j = 0; j < sum.size(); ++j) {
      float step = take * sum[j];
      if (m != nullptr) step = m[j] = keep * m[j] + step;
      w[j] += share * step;
    }
  }
  float share, keep, take;
};

}  // namespace

ParameterStore::ParameterStore(const Shard& shard, std::size_t nodes, int threads)
    : shard_(shard.alone()),
      model_(shard.size()),
      walk_(shard_, threads),
      row_versions_(feature_rows(), 0),
      ever_(feature_rows()),
      nodes_(nodes) {
  for (auto& node : nodes_) node.push = FloatBuffer(shard_.size());
}

Pull ParameterStore::since(const Node& node) const {
  Pull pull;
  pull.applied = node.applied;
  pull.whole = !node.fresh;
  if (pull.whole) return pull;
  for (std::uint32_t row = 0; row < row_versions_.size(); ++row) {
    if (row_versions_[row] > node.version) pull.rows.push_back(row);
  }
  // Its own rows differ from the model even where the push was dropped.
  for (const std::uint32_t row : node.changed) {
    if (row_versions_[row] <= node.version) pull.rows.push_back(row);
  }
  return pull;
}

void ParameterStore::pull(int node,
                          const std::function<void(const Pull&, std::span<const float>)>& copy) {
  const std::shared_lock lock(guard_);
  copy(since(at(node)), std::as_const(model_).span());
  at(node).version = version_;
  at(node).fresh = true;
  at(node).applied = false;
}

void ParameterStore::push(int node, std::vector<std::uint32_t> rows) {
  at(node).changed = std::move(rows);
  at(node).waiting = true;
}

void ParameterStore::apply_pushes(const ApplyPushes& decision) {
  const std::unique_lock lock(guard_);
  RowSet now(feature_rows());
  for (const int node : decision.workers) {
    for (const std::uint32_t row : at(node).changed) now.add(row);
  }
  const bool momentum = decision.momentum > 0;
  if (momentum) ever_.add(now);
  if (momentum && momentum_.size() == 0) momentum_ = FloatBuffer(shard_.size());
  const auto& rows = momentum ? ever_.rows() : now.rows();
  const Move move(decision);
  walk_.walk(&rows, [&](std::size_t at, std::size_t n) {
    std::array<float, kMostStretch> sum;
    for (std::size_t begin = at; begin < at + n; begin += kMostStretch) {
      const std::size_t length = std::min(kMostStretch, at + n - begin);
      std::fill_n(sum.begin(), length, 0.0F);
      for (const int node : decision.workers) {
        const float* push = this->at(node).push.data() + begin;
        for (std::size_t j = 0; j < length; ++j) sum[j] += push[j];
      }
      move.apply({sum.data(), length}, model_.data() + begin,
                 momentum ? momentum_.data() + begin : nullptr);
    }
  });
  ++version_;
  for (const std::uint32_t row : rows) row_versions_[row] = version_;
  for (const int node : decision.workers) {
    clear(at(node));
    at(node).applied = true;
  }
}

void ParameterStore::reject(int node) {
  clear(at(node));
  at(node).applied = false;
}

void ParameterStore::forget(int node) {
  if (at(node).waiting) reject(node);
  renew(node);
}

void ParameterStore::renew_all() {
  for (auto& node : nodes_) node.fresh = false;
}

void ParameterStore::set_momentum(FloatBuffer momentum) {
  momentum_ = std::move(momentum);
  ever_.clear();
  if (momentum_.size() == 0) return;
  for (std::uint32_t row = 0; row < feature_rows(); ++row) {
    const float* values = momentum_.data() + row * shard_.width;
    const bool moves =
        std::any_of(values, values + shard_.width, [](float value) { return value != 0; });
    if (moves) ever_.add(row);
  }
}

/// `changed` stays: those rows are pulled again.
void ParameterStore::clear(Node& node) {
  for_blocks(blocks(node.changed), shard_.size(),
             [&](std::size_t at, std::size_t n) { std::fill_n(node.push.data() + at, n, 0.0F); });
  node.waiting = false;
}

std::size_t ParameterStore::numbers_of(std::size_t rows) const {
  return shard_.floats + rows * shard_.width;
}

}  // namespace evener
