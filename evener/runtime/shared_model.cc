// The shared model of the Hogbatch family, in host memory. CPU workers change it in place without
// locks; other devices copy it in, train on the copy and write the result back.
#include <algorithm>
#include <numeric>
#include <utility>

#include "evener/core/team.h"
#include "evener/device/vector/vector_kernels.h"
#include "evener/runtime/model_kinds.h"
#include "evener/runtime/row_set.h"

namespace evener {

namespace {

struct SharedWorker {
  std::vector<std::unique_ptr<Replica>> in_place;  // one per thread; empty: it trains on a copy
  std::unique_ptr<Team> team;
  std::unique_ptr<Replica> copy;
  bool present = true;
  FloatBuffer loaded, stepped;      // the copy before and after its step
  std::vector<std::uint32_t> rows;  // sparse rows that the current step reads and writes
};

class SharedModel final : public Models {
 public:
  SharedModel(const ModelSetup& setup, bool overwrites)
      : data_(setup.data),
        devices_(setup.devices),
        network_(setup.network),
        training_(setup.training),
        layout_(layout_of(setup.network)),
        size_(layout_.size),
        overwrites_(overwrites) {
    const int vectors = 1 + state_vectors(setup.training.optimizer);
    for (int v = 0; v < vectors; ++v) shared_.emplace_back(size_);
    for (std::size_t i = 0; i < setup.devices.size(); ++i) {
      const Training training = training_of_worker(setup.training, i);
      SharedWorker worker;
      worker.in_place = setup.devices[i]->make_in_place(setup.network, training, shared_);
      if (worker.in_place.empty()) {
        worker.copy = setup.devices[i]->make_replica(setup.network, training);
        worker.loaded = FloatBuffer(size_);
        worker.stepped = FloatBuffer(size_);
      } else {
        worker.team = std::make_unique<Team>(static_cast<int>(worker.in_place.size()));
      }
      workers_.push_back(std::move(worker));
    }
    choose_evaluator();
  }

  const char* kind() const override { return "shared"; }
  bool can_run(int worker, Work work) const override {
    const SharedWorker& own = workers_[static_cast<std::size_t>(worker)];
    return work == (own.in_place.empty() ? Work::copied : Work::in_place);
  }

  /// A step reads only the sparse rows of its batch, so only those are copied. A copy that
  /// overwrites the shared model must have all rows.
  void begin(const Task& task) override {
    SharedWorker& worker = worker_of(task);
    if (task.work != Work::copied) return;
    find_rows(task, worker);
    const Blocks blocks = blocks_of(worker);
    for_blocks(blocks, size_, [&](std::size_t at, std::size_t n) {
      vector_kernels().copy(shared_[0].data() + at, worker.loaded.data() + at, n);
    });
    worker.copy->load_blocks(0, blocks, worker.loaded.span());
  }

  double compute(const Task& task) override {
    SharedWorker& worker = worker_of(task);
    if (task.work == Work::copied) return step_through(*worker.copy, data_, task);
    std::vector<double> sums(task.parts.size());
    const std::size_t threads = worker.in_place.size();
    worker.team->run([&](int member) {
      const auto first = static_cast<std::size_t>(member);
      for (std::size_t i = first; i < task.parts.size(); i += threads) {
        const auto& [slice, step] = task.parts[i];
        sums[i] = worker.in_place[first]->step({data_, slice.rows}, step) *
                  static_cast<double>(slice.rows.size());
      }
    });
    return std::accumulate(sums.begin(), sums.end(), 0.0);
  }
  bool prefetches(int worker) const override {
    const auto& copy = workers_[static_cast<std::size_t>(worker)].copy;
    return copy && copy->remote();
  }

  void end(const Task& task) override {
    if (task.work != Work::copied) return;
    SharedWorker& worker = worker_of(task);
    const Blocks blocks = blocks_of(worker);
    worker.copy->store_blocks(0, blocks, worker.stepped.span());
    for_blocks(blocks, size_, [&](std::size_t at, std::size_t n) {
      float* shared = shared_[0].data() + at;
      // With one worker both give the same result, except for rounding.
      if (overwrites_ || workers_.size() == 1) {
        vector_kernels().copy(worker.stepped.data() + at, shared, n);
      } else {
        vector_kernels().add_difference(worker.stepped.data() + at, worker.loaded.data() + at,
                                        shared, n);
      }
    });
  }

  Evaluator evaluator() override {
    while (
        !attempt(evaluating_, true, [&] { evaluator_->give(0, FloatBuffer::view(shared_[0])); })) {
      lose(static_cast<int>(evaluating_));
    }
    return {evaluator_.get(), static_cast<int>(evaluating_)};
  }

  void lose(int worker) override {
    const auto index = static_cast<std::size_t>(worker);
    workers_[index].present = false;
    if (index == evaluating_) choose_evaluator();
  }

  FloatBuffer take(int vector) override {
    return std::move(shared_.at(static_cast<std::size_t>(vector)));
  }
  void give(int vector, FloatBuffer values) override {
    FloatBuffer& shared = shared_.at(static_cast<std::size_t>(vector));
    shared = std::move(values);
    for (auto& worker : workers_) {
      if (!worker.present) continue;  // it may hang in a step
      for (auto& replica : worker.in_place) replica->give(vector, FloatBuffer::view(shared));
      if (worker.copy && vector > 0) worker.copy->load(vector, shared.span());
    }
  }
  std::size_t bytes() const override { return size_ * sizeof(float); }

 private:
  SharedWorker& worker_of(const Task& task) {
    return workers_[static_cast<std::size_t>(task.worker)];
  }

  /// Prefers a worker in host memory, which can use the model without a copy.
  void choose_evaluator() {
    for (const bool in_place : {true, false}) {
      for (std::size_t i = 0; i < workers_.size(); ++i) {
        if (!workers_[i].present || workers_[i].in_place.empty() == in_place) continue;
        evaluating_ = i;
        evaluator_ = devices_[i]->make_replica(network_, training_);
        return;
      }
    }
    throw DeviceError("every device has failed");
  }
  void find_rows(const Task& task, SharedWorker& worker) const {
    if (overwrites_) return;
    worker.rows.clear();
    for (const auto& part : task.parts) {
      for_step_rows(network_, *data_, part.slice.rows,
                    [&](std::uint32_t row) { worker.rows.push_back(row); });
    }
    std::sort(worker.rows.begin(), worker.rows.end());
    worker.rows.erase(std::unique(worker.rows.begin(), worker.rows.end()), worker.rows.end());
  }
  Blocks blocks_of(const SharedWorker& worker) const {
    return overwrites_ ? Blocks{} : evener::blocks_of(network_, layout_, worker.rows);
  }
  const Dataset* data_;
  std::vector<Device*> devices_;
  Network network_;
  Training training_;
  Layout layout_;
  std::size_t size_;
  bool overwrites_;
  std::vector<FloatBuffer> shared_;  // parameters, then optimizer state
  std::vector<SharedWorker> workers_;
  std::unique_ptr<Replica> evaluator_;
  std::size_t evaluating_ = 0;  // the worker that evaluator_ belongs to
};

}  // namespace

std::unique_ptr<Models> make_shared_model(const ModelSetup& setup, bool overwrites) {
  return std::make_unique<SharedModel>(setup, overwrites);
}

}  // namespace evener
