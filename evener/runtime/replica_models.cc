// One replica per worker, and the global model: w of Adaptive SGD, z of elastic and sma. Merges
// look only at rows that some replica has changed.
#include <array>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "evener/device/vector/vector_kernels.h"
#include "evener/runtime/merge_arithmetic.h"
#include "evener/runtime/merge_walk.h"
#include "evener/runtime/model_kinds.h"
#include "evener/runtime/replica_distance.h"

namespace evener {

namespace {

struct ReplicaWorker {
  std::unique_ptr<Replica> replica;
  RowSet changed;  // since the last merge
  bool present = true;
  FloatBuffer mirror{};   // host copy for merges, where the device has its own memory
  bool current = false;   // the mirror equals the replica
  FloatBuffer moments{};  // a mirror of the second moments
  double weight = 0;      // in the last merge: the largest decides whose optimizer state is kept
};

class ReplicaModels final : public ReplicaSharing {
 public:
  explicit ReplicaModels(const ModelSetup& setup)
      : data_(setup.data),
        network_(setup.network),
        layout_(layout_of(setup.network)),
        sparse_(setup.network.sparse_input()),
        global_(layout_.size),
        walk_(whole_shard(setup.network), setup.merge_threads),
        ever_(sparse_rows(setup.network)),
        moments_(second_moments(setup.training.optimizer)) {
    for (std::size_t i = 0; i < setup.devices.size(); ++i) {
      workers_.push_back(
          {setup.devices[i]->make_replica(setup.network, training_of_worker(setup.training, i)),
           RowSet(sparse_rows(setup.network))});
      if (workers_.back().replica->remote()) workers_.back().mirror = FloatBuffer(layout_.size);
    }
  }

  double compute(const Task& task) override {
    ReplicaWorker& worker = workers_[static_cast<std::size_t>(task.worker)];
    worker.current = false;
    const double sum = step_through(*worker.replica, data_, task);
    for (const auto& part : task.parts) {
      worker.changed.add_step(network_, *data_, part.slice.rows);
    }
    return sum;
  }
  bool prefetches(int worker) const override {
    return workers_[static_cast<std::size_t>(worker)].replica->remote();
  }

  void merge(const Merge& decision) override {
    const bool on_device = decision.momentum == 0 && merges_on_device_ && merge_on_device(decision);
    if (!on_device) merge_on_host(decision);
    if (merged_vectors(decision) > 1) average_moments(decision.weights);
    for (auto& worker : workers_) {
      if (worker.present) worker.changed.clear();
    }
  }
  std::size_t merged_vectors(const Merge& decision) const override {
    return decision.moments && moments_ > 0 ? 2 : 1;
  }

  void merge_on_host(const Merge& decision) {
    const bool momentum = decision.momentum > 0;
    if (momentum) keep_previous();
    auto views = take_all();
    const std::vector<double> weights = shares_of_present(decision.weights, views);
    note_weights(weights);
    const double total = sum_of_weights(weights);
    // Rows that no replica changed are equal in all replicas, and a merge keeps them if the weights
    // add up to one. With momentum, every row that was ever changed keeps moving; after weights
    // that did not add up to one, every row does.
    const RowSet now = changed();
    if (momentum) ever_.add(now);
    const auto& rows = momentum ? ever_.rows() : now.rows();
    const bool everything = !sparse_ || everywhere_ || std::abs(total - 1) > 1e-9;
    everywhere_ = momentum && everything;
    const float gamma = static_cast<float>(decision.momentum);
    walk_.walk(everything ? nullptr : &rows, [&](std::size_t at, std::size_t n) {
      std::array<float, kMostBlock> sum;
      weighted_sum(views, weights, at, n, sum);
      if (momentum) {
        for (std::size_t j = 0; j < n; ++j) {
          sum[j] += gamma * (global_[at + j] - previous_[at + j]);
          previous_[at + j] = global_[at + j];
        }
      }
      std::copy_n(sum.begin(), n, global_.data() + at);
      copy_to_all(sum, at, n, views);
    });
    give_all(std::move(views), everything ? nullptr : &rows);
  }

  /// The sums of squares that scale the steps, of the rows that some replica has changed. A weight
  /// with rare gradients needs those of all replicas: one that has seen none of them takes full
  /// steps by the small gradients between them.
  void average_moments(const std::vector<double>& weights) {
    const RowSet now = changed();
    const auto* rows = sparse_ ? &now.rows() : nullptr;
    auto views = take_all(moments_);
    std::vector<double> shares = shares_of_present(weights, views);
    const double total = sum_of_weights(shares);
    // The devices with weights have just failed: the others keep their own.
    if (total == 0) return give_all(std::move(views), rows, moments_);
    for (double& share : shares) share /= total;
    walk_.walk(rows, [&](std::size_t at, std::size_t n) {
      std::array<float, kMostBlock> sum;
      weighted_sum(views, shares, at, n, sum);
      copy_to_all(sum, at, n, views);
    });
    give_all(std::move(views), rows, moments_);
  }

  /// Merges on the device where all replicas are in the memory of one device: only the result goes
  /// to the host. Returns false, and changes nothing, where they are not.
  bool merge_on_device(const Merge& decision) {
    std::vector<Replica*> replicas;
    std::vector<float> weights;
    for (std::size_t i = 0; i < workers_.size(); ++i) {
      if (!workers_[i].present) continue;
      replicas.push_back(workers_[i].replica.get());
      weights.push_back(static_cast<float>(decision.weights[i]));
    }
    const RowSet now = changed();
    const double total = sum_of_weights(decision.weights);
    if (replicas.size() < 2 || everywhere_ || std::abs(total - 1) > 1e-6) return false;
    const Blocks blocks = blocks_of(network_, layout_, now.rows());
    ReplicaWorker& owner = first();
    try {
      if (!owner.replica->sum_blocks(blocks, replicas, weights, global_.span())) return false;
    } catch (const DeviceError& error) {
      // The host reads each replica next, which shows the device that failed.
      merges_on_device_ = false;
      note(fmt::format(
          "the devices cannot merge among themselves ({}): the host merges from here on",
          error.what()));
      return false;
    }
    note_weights(decision.weights);
    for (auto& worker : workers_) {
      if (!worker.present) continue;
      on_device(worker, [&] { worker.replica->adopt_blocks(blocks, *owner.replica); });
      for_blocks(blocks, layout_.size, [&](std::size_t at, std::size_t n) {
        std::copy_n(global_.data() + at, n, worker.mirror.data() + at);
      });
      worker.current = true;
    }
    return true;
  }

  void elastic_average(const ElasticAverage& decision) override {
    const bool momentum = decision.momentum > 0;
    if (momentum) keep_previous();
    auto views = take_all();
    for (auto& worker : workers_) {
      if (!worker.present) continue;
      ever_.add(worker.changed);
      worker.changed.clear();
    }
    const auto pull = static_cast<float>(decision.pull);
    const auto gamma = static_cast<float>(decision.momentum);
    walk_.walk(sparse_ ? &ever_.rows() : nullptr, [&](std::size_t at, std::size_t n) {
      pull_together(views, pull, gamma, at, n, global_, momentum ? &previous_ : nullptr);
    });
    give_all(std::move(views), sparse_ ? &ever_.rows() : nullptr);
  }

  std::vector<double> norms() override {
    std::vector<double> norms(workers_.size(), 0);
    auto views = take_all();
    for (std::size_t i = 0; i < views.size(); ++i) {
      double squares = 0;
      for (std::size_t at = 0; at < views[i].size(); at += kMostBlock) {
        const std::size_t n = std::min(kMostBlock, views[i].size() - at);
        squares += vector_kernels().square_norm(views[i].data() + at, n);
      }
      norms[i] = std::sqrt(squares) / static_cast<double>(layout_.parameters());
    }
    give_back(views);
    return norms;
  }

  double distance() override {
    auto views = take_all();
    const double distance = replica_distance(views);
    give_back(views);
    return distance;
  }

  void lose(int worker) override {
    const auto index = static_cast<std::size_t>(worker);
    leave(index);
    if (evaluating_ == &workers_[index]) evaluating_ = nullptr;
  }

  Evaluator evaluator() override {
    while (!evaluating_) {
      ReplicaWorker& worker = first();
      const auto index = static_cast<std::size_t>(&worker - workers_.data());
      if (!worker.replica->remote()) {
        own_ = worker.replica->take(0);
        worker.replica->give(0, FloatBuffer::view(global_));
      } else if (!attempt(index, true, [&] {
                   refresh(worker);
                   worker.replica->load(0, global_.span());
                 })) {
        leave(index);
        continue;
      }
      evaluating_ = &worker;
    }
    return {evaluating_->replica.get(), static_cast<int>(evaluating_ - workers_.data())};
  }

  void resume() override {
    if (evaluating_ != nullptr && evaluating_->present) {
      ReplicaWorker& worker = *evaluating_;
      if (!worker.replica->remote()) {
        worker.replica->give(0, std::move(own_));
      } else {
        on_device(worker, [&] { worker.replica->load(0, worker.mirror.span()); });
      }
    }
    evaluating_ = nullptr;
    if (!stale_) return;
    for (auto& worker : workers_) {
      if (!worker.present) continue;
      on_device(worker, [&] { worker.replica->load(0, global_.span()); });
      if (worker.mirror.size() == 0) continue;
      std::copy_n(global_.data(), layout_.size, worker.mirror.data());
      worker.current = true;
    }
    previous_ = FloatBuffer();
    everywhere_ = false;
    stale_ = false;
  }

  FloatBuffer take(int vector) override {
    if (evaluating_ != nullptr) resume();
    if (vector == 0) return std::move(global_);
    for (;;) {
      ReplicaWorker& worker = leading();
      const auto index = static_cast<std::size_t>(&worker - workers_.data());
      FloatBuffer values;
      if (attempt(index, true, [&] { values = worker.replica->take(vector); })) return values;
      leave(index);
    }
  }
  void give(int vector, FloatBuffer values) override {
    if (vector == 0) {
      global_ = std::move(values);
      return;
    }
    ReplicaWorker& owner = leading();
    for (auto& worker : workers_) {
      if (vector == moments_ && worker.replica->remote()) {
        std::copy_n(values.data(), layout_.size, mirror_of(worker, vector).data());
      }
      if (&worker == &owner || !worker.present) continue;
      on_device(worker, [&] { worker.replica->load(vector, values.span()); });
    }
    on_device(owner, [&] { owner.replica->give(vector, std::move(values)); });
  }
  void restart() override { stale_ = true; }
  std::size_t bytes() const override { return layout_.size * sizeof(float); }

 private:
  /// The first worker that is present.
  ReplicaWorker& first() {
    for (auto& worker : workers_) {
      if (worker.present) return worker;
    }
    throw DeviceError("every device has failed");
  }
  /// The present worker with the largest weight in the last merge. A worker that was demoted has an
  /// old optimizer state.
  ReplicaWorker& leading() {
    ReplicaWorker* leader = &first();
    for (auto& worker : workers_) {
      if (worker.present && worker.weight > leader->weight) leader = &worker;
    }
    return *leader;
  }
  void note_weights(const std::vector<double>& weights) {
    for (std::size_t i = 0; i < workers_.size(); ++i) workers_[i].weight = weights[i];
  }
  void keep_previous() {
    if (previous_.size() > 0) return;
    previous_ = FloatBuffer(layout_.size);
    std::copy_n(global_.data(), layout_.size, previous_.data());
  }
  void leave(std::size_t worker) { workers_[worker].present = false; }
  /// For work that changes only the replica: if the device fails, nothing is lost.
  template <class F>
  void on_device(ReplicaWorker& worker, F work) {
    const auto index = static_cast<std::size_t>(&worker - workers_.data());
    if (!attempt(index, true, work)) leave(index);
  }
  /// Sparse rows that some replica has changed since the last merge.
  RowSet changed() const {
    RowSet rows(sparse_rows(network_));
    for (const auto& worker : workers_) {
      if (worker.present) rows.add(worker.changed);
    }
    return rows;
  }
  /// The host copy of a vector of a device with its own memory.
  FloatBuffer& mirror_of(ReplicaWorker& worker, int vector) {
    if (vector == 0) return worker.mirror;
    if (worker.moments.size() == 0) worker.moments = FloatBuffer(layout_.size);
    return worker.moments;
  }
  /// Copies only the rows that the replica's steps have changed.
  void refresh(ReplicaWorker& worker, int vector = 0) {
    if (vector == 0 && worker.current) return;
    worker.replica->store_blocks(vector, blocks_of(network_, layout_, worker.changed.rows()),
                                 mirror_of(worker, vector).span());
    if (vector == 0) worker.current = true;
  }
  /// A vector of the workers that are present, in host memory; empty for the others.
  std::vector<FloatBuffer> take_all(int vector = 0) {
    std::vector<FloatBuffer> views(workers_.size());
    for (std::size_t i = 0; i < workers_.size(); ++i) {
      ReplicaWorker& worker = workers_[i];
      if (!worker.present) continue;
      if (!worker.replica->remote()) {
        views[i] = worker.replica->take(vector);
      } else if (attempt(i, false, [&] { refresh(worker, vector); })) {
        views[i] = FloatBuffer::view(mirror_of(worker, vector));
      } else {
        leave(i);
        worker.changed.clear();
      }
    }
    return views;
  }
  /// Gives back what a merge changed: these rows and the dense layers (null: everything).
  void give_all(std::vector<FloatBuffer> views, const std::vector<std::uint32_t>* rows,
                int vector = 0) {
    for (std::size_t i = 0; i < views.size(); ++i) {
      ReplicaWorker& worker = workers_[i];
      if (views[i].size() == 0) continue;
      if (!worker.replica->remote()) {
        worker.replica->give(vector, std::move(views[i]));
        continue;
      }
      on_device(worker, [&] {
        const auto values = mirror_of(worker, vector).span();
        if (rows == nullptr) {
          worker.replica->load(vector, values);
        } else {
          worker.replica->load_blocks(vector, blocks_of(network_, layout_, *rows), values);
        }
      });
    }
  }
  /// Gives back parameters that were only read.
  void give_back(std::vector<FloatBuffer>& views) {
    for (std::size_t i = 0; i < views.size(); ++i) {
      if (views[i].size() == 0 || workers_[i].replica->remote()) continue;
      workers_[i].replica->give(0, std::move(views[i]));
    }
  }

  const Dataset* data_;
  Network network_;
  Layout layout_;
  bool sparse_;
  FloatBuffer global_, previous_;
  MergeWalk walk_;
  RowSet ever_;              // rows that some replica has changed at any time
  int moments_;              // the vector of second moments; 0: the optimizer has none
  bool everywhere_ = false;  // every row has momentum
  std::vector<ReplicaWorker> workers_;
  FloatBuffer own_;  // parameters of the replica that evaluates, until resume()
  ReplicaWorker* evaluating_ = nullptr;
  bool merges_on_device_ = true;  // until that fails
  bool stale_ = true;             // resume() must load the global model into the replicas
};

}  // namespace

std::unique_ptr<ReplicaSharing> make_replica_models(const ModelSetup& setup) {
  return std::make_unique<ReplicaModels>(setup);
}

}  // namespace evener
