#include "evener/runtime/node_replica.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "evener/runtime/models.h"

namespace evener {

WorkerState state_from(KeptVectors& kept, std::size_t worker, const WorkerState& other) {
  WorkerState state;
  for (const FloatBuffer& instead : other) {
    FloatBuffer vector = std::move(kept[kept_name(worker, state.size() + 1)]);
    if (vector.size() == 0) {
      vector = FloatBuffer(instead.size());
      std::copy_n(instead.data(), instead.size(), vector.data());
    }
    state.push_back(std::move(vector));
  }
  return state;
}

NodeReplica::NodeReplica(std::unique_ptr<Replica> replica, const Network& network,
                         const Dataset& data, const Compression& compression)
    : replica_(std::move(replica)),
      network_(network),
      layout_(layout_of(network)),
      data_(data),
      compression_(compression),
      changed_(sparse_rows(network)),
      pulled_(layout_.size),
      residual_(compression.active() ? layout_.size : 0),
      next_residual_(compression.active() ? layout_.size : 0),
      residual_rows_(sparse_rows(network)) {}

void NodeReplica::take(const Pull& pull, const Task& task) {
  if (compression_.active() && pull.applied) commit_residual();
  if (pull.whole) {
    replica_->load(0, pulled_.span());
  } else {
    replica_->load_blocks(0, blocks_of(network_, layout_, pull.rows), pulled_.span());
  }
  changed_.clear();
  for (const auto& part : task.parts) changed_.add_step(network_, data_, part.slice.rows);
  changed_.add(residual_rows_);
}

double NodeReplica::train(const Task& task) {
  const double loss = step_through(*replica_, &data_, task);
  check_intact(data_);  // before the changes are pushed
  return loss;
}

void NodeReplica::difference(std::span<float> push) {
  const Blocks blocks = blocks_of(network_, layout_, changed_.rows());
  replica_->store_blocks(0, blocks, push);
  for_blocks(blocks, layout_.size, [&](std::size_t at, std::size_t n) {
    for (std::size_t j = at; j < at + n; ++j) push[j] -= pulled_[j];
  });
  if (compression_.active()) compress_push(blocks, push);
}

/// Adds what was not sent before to the push, and compresses the sum.
void NodeReplica::compress_push(const Blocks& blocks, std::span<float> push) {
  std::vector<float> values, rest;
  for_blocks(blocks, layout_.size, [&](std::size_t at, std::size_t n) {
    for (std::size_t j = at; j < at + n; ++j) values.push_back(push[j] + residual_[j]);
  });
  rest.resize(values.size());
  compress(compression_, values, rest);
  std::size_t from = 0;
  for_blocks(blocks, layout_.size, [&](std::size_t at, std::size_t n) {
    std::copy_n(values.data() + from, n, push.data() + at);
    std::copy_n(rest.data() + from, n, next_residual_.data() + at);
    from += n;
  });
}

/// The last push was applied.
void NodeReplica::commit_residual() {
  const Blocks blocks = blocks_of(network_, layout_, changed_.rows());
  for_blocks(blocks, layout_.size, [&](std::size_t at, std::size_t n) {
    std::copy_n(next_residual_.data() + at, n, residual_.data() + at);
  });
  list_residual_rows(changed_.rows());
}

void NodeReplica::list_residual_rows(std::span<const std::uint32_t> among) {
  const std::size_t width = blocks_of(network_, layout_, {}).width;
  residual_rows_.clear();
  for (const std::uint32_t row : among) {
    const float* values = residual_.data() + row * width;
    if (std::any_of(values, values + width, [](float v) { return v != 0; }))
      residual_rows_.add(row);
  }
}

WorkerState NodeReplica::state(bool applied) {
  if (compression_.active() && applied) commit_residual();
  WorkerState state;
  for (int vector = 1; vector < replica_->vectors(); ++vector) {
    replica_->store(vector, state.emplace_back(layout_.size).span());
  }
  if (!compression_.active()) return state;
  std::copy_n(residual_.data(), layout_.size, state.emplace_back(layout_.size).data());
  return state;
}

void NodeReplica::restore(WorkerState state) {
  const auto states = static_cast<std::size_t>(replica_->vectors()) - 1;
  const std::size_t all = states + (compression_.active() ? 1 : 0);
  if (state.empty()) {
    for (std::size_t i = 0; i < all; ++i) state.emplace_back(layout_.size);
  }
  if (state.size() != all) throw Error("a state of another optimizer");
  for (std::size_t i = 0; i < states; ++i) {
    replica_->load(static_cast<int>(i) + 1, state[i].span());
  }
  if (!compression_.active()) return;
  residual_ = std::move(state.back());
  changed_.clear();
  std::vector<std::uint32_t> rows(sparse_rows(network_));
  std::iota(rows.begin(), rows.end(), 0);
  list_residual_rows(rows);
}

}  // namespace evener
