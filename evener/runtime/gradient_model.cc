// Synchronous training's model: every worker works out the gradient of its part of the batch, and
// one update is made from their weighted sum.
#include <utility>

#include "evener/device/cpu/kernels.h"
#include "evener/runtime/merge_walk.h"
#include "evener/runtime/models.h"

namespace evener {

namespace {

struct GradientWorker {
  std::unique_ptr<Replica> replica;  // parameters and, as its only state, the gradient
  RowSet touched;
  bool present = true;
};

/// No step is taken on the worker, so what belongs to the update is left to it.
Training gradient_only(Training training) {
  training.optimizer = Optimizer::accumulate;
  training.l2 = training.clip = 0;
  return training;
}

class GradientModel final : public Models {
 public:
  explicit GradientModel(const ModelSetup& setup)
      : setup_(setup),
        size_(layout_of(setup.network).size),
        sum_(size_),
        walk_(setup.network, layout_of(setup.network), setup.merge_threads),
        touched_(feature_rows()) {
    const int vectors = 1 + state_vectors(setup.training.optimizer);
    for (int v = 0; v < vectors; ++v) global_.emplace_back(size_);
    for (std::size_t i = 0; i < setup.devices.size(); ++i) {
      const Training training = gradient_only(training_of_worker(setup.training, i));
      workers_.push_back(
          {setup.devices[i]->make_replica(setup.network, training), RowSet(feature_rows())});
    }
  }

  double compute(const Task& task) override {
    GradientWorker& worker = workers_[static_cast<std::size_t>(task.worker)];
    double sum = 0;
    for (const auto& [slice, step] : task.parts) {
      sum += worker.replica->step({setup_.data, slice.rows}, step) *
             static_cast<double>(slice.rows.size());
      if (setup_.network.sparse_input()) worker.touched.add_features(*setup_.data, slice.rows);
    }
    return sum;
  }

  void apply(const Apply& decision, const Step& step) override {
    for (auto& worker : workers_) {
      if (worker.present) touched_.add(worker.touched);
    }
    std::vector<FloatBuffer> gradients;
    for (auto& worker : workers_) {
      gradients.push_back(worker.present ? worker.replica->take(1) : FloatBuffer());
    }
    const bool sparse = setup_.network.sparse_input();
    walk_.walk(sparse ? &touched_.rows() : nullptr, [&](std::size_t at, std::size_t n) {
      std::fill_n(sum_.data() + at, n, 0.0F);
      for (std::size_t i = 0; i < gradients.size(); ++i) {
        if (gradients[i].size() == 0) continue;
        float* gradient = gradients[i].data() + at;
        cpu::kernels().add_scaled(gradient, static_cast<float>(decision.weights[i]),
                                  sum_.data() + at, n);
        std::fill_n(gradient, n, 0.0F);  // ready for the next
      }
    });
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      if (gradients[i].size() > 0) workers_[i].replica->give(1, std::move(gradients[i]));
    }
    apply_gradient(setup_.network, setup_.training, step, global_, sum_.span(), touched_.rows());
    for (auto& worker : workers_) worker.touched.clear();
    touched_.clear();
    distribute();
  }

  void lose(int worker) override { workers_[static_cast<std::size_t>(worker)].present = false; }
  void resume() override { distribute(); }

  /// All replicas hold the global model between steps; the first that is there predicts.
  Replica& evaluator() override {
    distribute();
    for (auto& worker : workers_) {
      if (worker.present) return *worker.replica;
    }
    return *workers_.front().replica;
  }
  FloatBuffer take(int vector) override {
    return std::move(global_.at(static_cast<std::size_t>(vector)));
  }
  void give(int vector, FloatBuffer values) override {
    global_.at(static_cast<std::size_t>(vector)) = std::move(values);
  }
  std::size_t bytes() const override { return size_ * sizeof(float); }

 private:
  std::size_t feature_rows() const {
    return setup_.network.sparse_input() ? setup_.network.features : 0;
  }
  /// Devices that work in host memory read the one model; the others get a copy.
  void distribute() {
    for (std::size_t i = 0; i < workers_.size(); ++i) {
      if (!workers_[i].present) continue;
      if (setup_.devices[i]->in_place_threads() > 0) {
        workers_[i].replica->give(0, FloatBuffer::view(global_[0]));
      } else {
        workers_[i].replica->load(0, global_[0].span());
      }
    }
  }

  ModelSetup setup_;
  std::size_t size_;
  std::vector<FloatBuffer> global_;  // parameters, then optimizer state
  FloatBuffer sum_;
  MergeWalk walk_;
  RowSet touched_;
  std::vector<GradientWorker> workers_;
};

}  // namespace

std::unique_ptr<Models> make_gradient_model(const ModelSetup& setup) {
  return std::make_unique<GradientModel>(setup);
}

}  // namespace evener
