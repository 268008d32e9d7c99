// The Hogbatch family's model: in host memory, changed in place by CPU workers without locks,
// copied in and written back by the others.
#include <numeric>
#include <utility>

#include "evener/core/team.h"
#include "evener/device/cpu/kernels.h"
#include "evener/runtime/models.h"

namespace evener {

namespace {

struct SharedWorker {
  std::vector<std::unique_ptr<Replica>> in_place;  // one a thread; empty: works on a copy
  std::unique_ptr<Team> team;
  std::unique_ptr<Replica> copy;
  FloatBuffer loaded;  // what the copy was before its step
};

class SharedModel final : public Models {
 public:
  SharedModel(const ModelSetup& setup, bool overwrites)
      : data_(setup.data), size_(layout_of(setup.network).size), overwrites_(overwrites) {
    const int vectors = 1 + state_vectors(setup.training.optimizer);
    for (int v = 0; v < vectors; ++v) shared_.emplace_back(size_);
    for (std::size_t i = 0; i < setup.devices.size(); ++i) {
      const Training training = training_of_worker(setup.training, i);
      SharedWorker worker;
      worker.in_place = setup.devices[i]->make_in_place(setup.network, training, shared_);
      if (worker.in_place.empty()) {
        worker.copy = setup.devices[i]->make_replica(setup.network, training);
        worker.loaded = FloatBuffer(size_);
      } else {
        worker.team = std::make_unique<Team>(static_cast<int>(worker.in_place.size()));
      }
      workers_.push_back(std::move(worker));
    }
    evaluator_ = setup.devices.front()->make_replica(setup.network, setup.training);
  }

  void begin(const Task& task) override {
    SharedWorker& worker = worker_of(task);
    if (task.work != Work::copied) return;
    FloatBuffer values = worker.copy->take(0);
    cpu::kernels().copy(shared_[0].data(), worker.loaded.data(), size_);
    cpu::kernels().copy(worker.loaded.data(), values.data(), size_);
    worker.copy->give(0, std::move(values));
  }

  double compute(const Task& task) override {
    SharedWorker& worker = worker_of(task);
    std::vector<double> sums(task.parts.size());
    const auto step = [&](Replica& replica, std::size_t i) {
      const auto& [slice, at] = task.parts[i];
      sums[i] = replica.step({data_, slice.rows}, at) * static_cast<double>(slice.rows.size());
    };
    if (task.work == Work::copied) {
      for (std::size_t i = 0; i < task.parts.size(); ++i) step(*worker.copy, i);
    } else {
      const std::size_t threads = worker.in_place.size();
      worker.team->run([&](int member) {
        const auto first = static_cast<std::size_t>(member);
        for (std::size_t i = first; i < task.parts.size(); i += threads) {
          step(*worker.in_place[first], i);
        }
      });
    }
    return std::accumulate(sums.begin(), sums.end(), 0.0);
  }

  void end(const Task& task) override {
    if (task.work != Work::copied) return;
    SharedWorker& worker = worker_of(task);
    FloatBuffer values = worker.copy->take(0);
    // With nobody else the two are the same, but for rounding.
    if (overwrites_ || workers_.size() == 1) {
      cpu::kernels().copy(values.data(), shared_[0].data(), size_);
    } else {
      cpu::kernels().add_difference(values.data(), worker.loaded.data(), shared_[0].data(), size_);
    }
    worker.copy->give(0, std::move(values));
  }

  Replica& evaluator() override {
    evaluator_->give(0, FloatBuffer::view(shared_[0]));
    return *evaluator_;
  }

  FloatBuffer take(int vector) override {
    return std::move(shared_.at(static_cast<std::size_t>(vector)));
  }
  void give(int vector, FloatBuffer values) override {
    FloatBuffer& shared = shared_.at(static_cast<std::size_t>(vector));
    shared = std::move(values);
    for (auto& worker : workers_) {
      for (auto& replica : worker.in_place) replica->give(vector, FloatBuffer::view(shared));
      if (worker.copy && vector > 0) worker.copy->load(vector, shared.span());
    }
  }
  std::size_t bytes() const override { return size_ * sizeof(float); }

 private:
  SharedWorker& worker_of(const Task& task) {
    return workers_[static_cast<std::size_t>(task.worker)];
  }

  const Dataset* data_;
  std::size_t size_;
  bool overwrites_;
  std::vector<FloatBuffer> shared_;  // parameters, then optimizer state
  std::vector<SharedWorker> workers_;
  std::unique_ptr<Replica> evaluator_;
};

}  // namespace

std::unique_ptr<Models> make_shared_model(const ModelSetup& setup, bool overwrites) {
  return std::make_unique<SharedModel>(setup, overwrites);
}

}  // namespace evener
