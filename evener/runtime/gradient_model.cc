// The model of synchronous training: each worker computes the gradient of its part of the batch,
// and the weighted sum of the gradients makes one update.
#include <algorithm>
#include <utility>

#include "evener/device/vector/vector_kernels.h"
#include "evener/runtime/merge_walk.h"
#include "evener/runtime/model_kinds.h"

namespace evener {

namespace {

struct GradientWorker {
  std::unique_ptr<Replica> replica;  // parameters and, as its only state, the gradient
  RowSet touched;
  std::size_t pieces = 0;  // parts of the batch whose gradients are summed in it
  bool present = true;
  FloatBuffer mirror{};  // host copy of the gradient, where the device has its own memory
};

/// A worker takes no step: regularization and clipping belong to the update.
Training gradient_only(Training training) {
  training.optimizer = Optimizer::accumulate;
  training.l2 = training.clip = 0;
  return training;
}

class GradientModel final : public GradientSharing {
 public:
  explicit GradientModel(const ModelSetup& setup)
      : setup_(setup),
        layout_(layout_of(setup.network)),
        size_(layout_.size),
        sum_(size_),
        walk_(whole_shard(setup.network), setup.merge_threads),
        touched_(sparse_rows(setup.network)) {
    const int vectors = 1 + state_vectors(setup.training.optimizer);
    for (int v = 0; v < vectors; ++v) global_.emplace_back(size_);
    for (std::size_t i = 0; i < setup.devices.size(); ++i) {
      const Training training = gradient_only(training_of_worker(setup.training, i));
      workers_.push_back({setup.devices[i]->make_replica(setup.network, training),
                          RowSet(sparse_rows(setup.network))});
      touch(workers_.back());
    }
  }

  double compute(const Task& task) override {
    GradientWorker& worker = workers_[static_cast<std::size_t>(task.worker)];
    const double sum = step_through(*worker.replica, setup_.data, task);
    worker.pieces += task.parts.size();
    for (const auto& part : task.parts) {
      worker.touched.add_step(setup_.network, *setup_.data, part.slice.rows);
    }
    return sum;
  }
  bool prefetches(int worker) const override {
    return workers_[static_cast<std::size_t>(worker)].replica->remote();
  }

  void apply(const Apply& decision, const Step& step) override {
    auto gradients = take_gradients();
    std::vector<double> weights = shares_of_present(decision.weights, gradients);
    // A worker's pieces have the same size, except the last of an epoch: it counts with their mean.
    for (std::size_t i = 0; i < weights.size(); ++i) {
      if (workers_[i].pieces > 1) weights[i] /= static_cast<double>(workers_[i].pieces);
    }
    const bool sparse = setup_.network.sparse_input();
    walk_.walk(sparse ? &touched_.rows() : nullptr, [&](std::size_t at, std::size_t n) {
      std::fill_n(sum_.data() + at, n, 0.0F);
      for (std::size_t i = 0; i < gradients.size(); ++i) {
        if (gradients[i].size() == 0) continue;
        float* gradient = gradients[i].data() + at;
        vector_kernels().add_scaled(gradient, static_cast<float>(weights[i]), sum_.data() + at, n);
        std::fill_n(gradient, n, 0.0F);  // for the next round
      }
    });
    give_gradients(std::move(gradients));
    apply_gradient(setup_.network, setup_.training, step, global_, sum_.span(), touched_.rows());
    distribute(&touched_.rows());
    for (auto& worker : workers_) {
      if (!worker.present) continue;
      worker.touched.clear();
      worker.pieces = 0;
    }
    touched_.clear();
  }

  void lose(int worker) override { workers_[static_cast<std::size_t>(worker)].present = false; }
  void resume() override { distribute(nullptr); }

  /// All replicas hold the global model between steps; the first one present predicts.
  Evaluator evaluator() override {
    distribute(nullptr);
    for (std::size_t i = 0; i < workers_.size(); ++i) {
      if (workers_[i].present) return {workers_[i].replica.get(), static_cast<int>(i)};
    }
    throw DeviceError("every device has failed");
  }
  FloatBuffer take(int vector) override {
    return std::move(global_.at(static_cast<std::size_t>(vector)));
  }
  void give(int vector, FloatBuffer values) override {
    global_.at(static_cast<std::size_t>(vector)) = std::move(values);
  }
  std::size_t bytes() const override { return size_ * sizeof(float); }

 private:
  /// Allocates the memory of the gradient before the first step is timed.
  void touch(GradientWorker& worker) const {
    if (worker.replica->remote()) {
      worker.mirror = FloatBuffer(size_);
      return;
    }
    FloatBuffer gradient = worker.replica->take(1);
    std::fill_n(gradient.data(), gradient.size(), 0.0F);
    worker.replica->give(1, std::move(gradient));
  }
  /// The gradients of the workers that are present, in host memory; empty for the others.
  std::vector<FloatBuffer> take_gradients() {
    std::vector<FloatBuffer> gradients(workers_.size());
    for (std::size_t i = 0; i < workers_.size(); ++i) {
      GradientWorker& worker = workers_[i];
      if (!worker.present) continue;
      if (!worker.replica->remote()) {
        gradients[i] = worker.replica->take(1);
      } else if (attempt(i, false, [&] {
                   worker.replica->store_blocks(1, blocks(worker.touched.rows()),
                                                worker.mirror.span());
                 })) {
        gradients[i] = FloatBuffer::view(worker.mirror);
      } else {
        worker.present = false;
        continue;
      }
      touched_.add(worker.touched);
    }
    return gradients;
  }
  void give_gradients(std::vector<FloatBuffer> gradients) {
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      GradientWorker& worker = workers_[i];
      if (gradients[i].size() == 0) continue;
      if (!worker.replica->remote()) {
        worker.replica->give(1, std::move(gradients[i]));
      } else {
        on_device(i, [&] { worker.replica->clear_blocks(1, blocks(worker.touched.rows())); });
      }
    }
  }
  Blocks blocks(std::span<const std::uint32_t> rows) const {
    return blocks_of(setup_.network, layout_, rows);
  }
  /// If the device fails here, the global model already contains what it trained.
  template <class F>
  void on_device(std::size_t worker, F work) {
    if (!attempt(worker, true, work)) workers_[worker].present = false;
  }
  /// Devices in host memory read the global model itself; others get a copy of these rows and the
  /// dense layers (null: of everything).
  void distribute(const std::vector<std::uint32_t>* rows) {
    for (std::size_t i = 0; i < workers_.size(); ++i) {
      Replica& replica = *workers_[i].replica;
      if (!workers_[i].present) continue;
      on_device(i, [&] {
        if (setup_.devices[i]->in_place_threads() > 0) {
          replica.give(0, FloatBuffer::view(global_[0]));
        } else if (rows == nullptr || !replica.remote()) {
          replica.load(0, global_[0].span());
        } else {
          replica.load_blocks(0, blocks(*rows), global_[0].span());
        }
      });
    }
  }

  ModelSetup setup_;
  Layout layout_;
  std::size_t size_;
  std::vector<FloatBuffer> global_;  // parameters, then optimizer state
  FloatBuffer sum_;
  MergeWalk walk_;
  RowSet touched_;
  std::vector<GradientWorker> workers_;
};

}  // namespace

std::unique_ptr<GradientSharing> make_gradient_model(const ModelSetup& setup) {
  return std::make_unique<GradientModel>(setup);
}

}  // namespace evener
