// A replica for each worker beside the global model: w of Adaptive SGD, z of elastic and sma.
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

#include "evener/device/cpu/kernels.h"
#include "evener/runtime/merge_walk.h"
#include "evener/runtime/models.h"

namespace evener {

namespace {

constexpr std::size_t kMostStretch = 4096;

struct ReplicaWorker {
  std::unique_ptr<Replica> replica;
  RowSet changed;  // since the last merge
  bool present = true;
};

class ReplicaModels final : public Models {
 public:
  explicit ReplicaModels(const ModelSetup& setup)
      : data_(setup.data),
        layout_(layout_of(setup.network)),
        sparse_(setup.network.sparse_input()),
        global_(layout_.size),
        walk_(setup.network, layout_, setup.merge_threads),
        ever_(feature_rows(setup.network)) {
    for (std::size_t i = 0; i < setup.devices.size(); ++i) {
      workers_.push_back(
          {setup.devices[i]->make_replica(setup.network, training_of_worker(setup.training, i)),
           RowSet(feature_rows(setup.network))});
    }
  }

  double compute(const Task& task) override {
    ReplicaWorker& worker = workers_[static_cast<std::size_t>(task.worker)];
    double sum = 0;
    for (const auto& [slice, step] : task.parts) {
      sum +=
          worker.replica->step({data_, slice.rows}, step) * static_cast<double>(slice.rows.size());
      if (sparse_) worker.changed.add_features(*data_, slice.rows);
    }
    return sum;
  }

  void merge(const Merge& decision) override {
    const bool momentum = decision.momentum > 0;
    if (momentum) keep_previous();
    const double total = std::accumulate(decision.weights.begin(), decision.weights.end(), 0.0);
    // Rows that no replica changed are the same in all, and stay so if the weights add up to one.
    // Momentum goes on in rows that were changed at any time, and once the weights did not add up
    // to one in all.
    RowSet now(sparse_ ? layout_.layers.front().weight.rows : 0);
    for (auto& worker : workers_) {
      if (worker.present) now.add(worker.changed);
    }
    if (momentum) ever_.add(now);
    const auto& rows = momentum ? ever_.rows() : now.rows();
    const bool everything = !sparse_ || everywhere_ || std::abs(total - 1) > 1e-9;
    everywhere_ = momentum && everything;
    auto views = take_all();
    const float gamma = static_cast<float>(decision.momentum);
    walk_.walk(everything ? nullptr : &rows, [&](std::size_t at, std::size_t n) {
      std::array<float, kMostStretch> sum;
      std::fill_n(sum.begin(), n, 0.0F);
      for (std::size_t i = 0; i < views.size(); ++i) {
        const auto weight = static_cast<float>(decision.weights[i]);
        if (views[i].size() == 0 || weight == 0) continue;
        for (std::size_t j = 0; j < n; ++j) sum[j] += weight * views[i][at + j];
      }
      if (momentum) {
        for (std::size_t j = 0; j < n; ++j) {
          sum[j] += gamma * (global_[at + j] - previous_[at + j]);
          previous_[at + j] = global_[at + j];
        }
      }
      std::copy_n(sum.begin(), n, global_.data() + at);
      for (auto& view : views) {
        if (view.size() > 0) std::copy_n(sum.begin(), n, view.data() + at);
      }
    });
    give_all(std::move(views));
    for (auto& worker : workers_) worker.changed.clear();
  }

  void attract(const Attract& decision) override {
    const bool momentum = decision.momentum > 0;
    if (momentum) keep_previous();
    for (auto& worker : workers_) {
      ever_.add(worker.changed);
      worker.changed.clear();
    }
    auto views = take_all();
    const auto pull = static_cast<float>(decision.pull);
    const auto gamma = static_cast<float>(decision.momentum);
    walk_.walk(sparse_ ? &ever_.rows() : nullptr, [&](std::size_t at, std::size_t n) {
      for (std::size_t j = at; j < at + n; ++j) {
        const float z = global_[j];
        float sum = 0;
        for (std::size_t i = 0; i < views.size(); ++i) {
          if (views[i].size() == 0) continue;
          const float distance = pull * (views[i][j] - z);
          views[i][j] -= distance;
          sum += distance;
        }
        if (momentum) {
          sum += gamma * (z - previous_[j]);
          previous_[j] = z;
        }
        global_[j] = z + sum;
      }
    });
    give_all(std::move(views));
  }

  std::vector<double> norms() override {
    std::vector<double> norms(workers_.size(), 0);
    auto views = take_all();
    for (std::size_t i = 0; i < views.size(); ++i) {
      double squares = 0;
      for (std::size_t at = 0; at < views[i].size(); at += kMostStretch) {
        const std::size_t n = std::min(kMostStretch, views[i].size() - at);
        squares += cpu::kernels().square_norm(views[i].data() + at, n);
      }
      norms[i] = std::sqrt(squares) / static_cast<double>(layout_.parameters());
    }
    give_all(std::move(views));
    return norms;
  }

  void lose(int worker) override { workers_[static_cast<std::size_t>(worker)].present = false; }

  Replica& evaluator() override {
    if (!evaluating_) {
      own_ = first().replica->take(0);
      first().replica->give(0, FloatBuffer::view(global_));
      evaluating_ = true;
    }
    return *first().replica;
  }

  void resume() override {
    if (evaluating_) first().replica->give(0, std::move(own_));
    evaluating_ = false;
    if (!stale_) return;
    for (auto& worker : workers_) worker.replica->load(0, global_.span());
    previous_ = FloatBuffer();
    everywhere_ = false;
    stale_ = false;
  }

  FloatBuffer take(int vector) override {
    if (evaluating_) resume();
    return vector == 0 ? std::move(global_) : first().replica->take(vector);
  }
  void give(int vector, FloatBuffer values) override {
    if (vector == 0) {
      global_ = std::move(values);
      return;
    }
    for (auto& worker : workers_) {
      if (&worker != &first()) worker.replica->load(vector, values.span());
    }
    first().replica->give(vector, std::move(values));
  }
  std::size_t bytes() const override { return layout_.size * sizeof(float); }

 private:
  static std::size_t feature_rows(const Network& network) {
    return network.sparse_input() ? network.features : 0;
  }
  /// The first that is present.
  ReplicaWorker& first() {
    for (auto& worker : workers_) {
      if (worker.present) return worker;
    }
    return workers_.front();
  }
  void keep_previous() {
    if (previous_.size() > 0) return;
    previous_ = FloatBuffer(layout_.size);
    std::copy_n(global_.data(), layout_.size, previous_.data());
  }
  /// Parameters of those present; empty for the others.
  std::vector<FloatBuffer> take_all() {
    std::vector<FloatBuffer> views;
    for (auto& worker : workers_) {
      views.push_back(worker.present ? worker.replica->take(0) : FloatBuffer());
    }
    return views;
  }
  void give_all(std::vector<FloatBuffer> views) {
    for (std::size_t i = 0; i < views.size(); ++i) {
      if (views[i].size() > 0) workers_[i].replica->give(0, std::move(views[i]));
    }
  }

  const Dataset* data_;
  Layout layout_;
  bool sparse_;
  FloatBuffer global_, previous_;
  MergeWalk walk_;
  RowSet ever_;              // changed by some replica at any time
  bool everywhere_ = false;  // momentum is in every row
  std::vector<ReplicaWorker> workers_;
  FloatBuffer own_;  // the first replica's parameters while it predicts with the global model
  bool evaluating_ = false;
  bool stale_ = true;  // replicas have yet to be loaded with the global model
};

}  // namespace

std::unique_ptr<Models> make_replica_models(const ModelSetup& setup) {
  return std::make_unique<ReplicaModels>(setup);
}

}  // namespace evener
