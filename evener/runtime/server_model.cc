// A parameter server and its workers in one process: parameter_store.h is the server,
// node_replica.h a worker, and a pull or push is a copy between them.
#include <algorithm>
#include <utility>

#include "evener/runtime/model_kinds.h"
#include "evener/runtime/node_replica.h"
#include "evener/runtime/parameter_store.h"

namespace evener {

namespace {

struct ServedWorker {
  NodeReplica node;
  bool present = true;
  std::size_t pulled_rows = 0;
};

class ServerModel final : public PushSharing {
 public:
  ServerModel(const ModelSetup& setup, const Compression& compression)
      : compression_(compression),
        size_(layout_of(setup.network).size),
        store_(whole_shard(setup.network), setup.devices.size(), setup.merge_threads) {
    for (std::size_t i = 0; i < setup.devices.size(); ++i) {
      auto replica =
          setup.devices[i]->make_replica(setup.network, training_of_worker(setup.training, i));
      workers_.push_back({{std::move(replica), setup.network, *setup.data, compression}});
    }
  }

  /// The pull.
  void begin(const Task& task) override {
    ServedWorker& worker = at(task.worker);
    store_.pull(task.worker, [&](const Pull& pull, std::span<const float> model) {
      const auto copy = [&](std::size_t at, std::size_t n) {
        std::copy_n(model.data() + at, n, worker.node.pulled().data() + at);
      };
      if (pull.whole) {
        copy(0, size_);
      } else {
        for_blocks(store_.blocks(pull.rows), size_, copy);
      }
      worker.pulled_rows = pull.whole ? store_.feature_rows() : pull.rows.size();
      worker.node.take(pull, task);
    });
  }
  double compute(const Task& task) override { return at(task.worker).node.train(task); }
  bool prefetches(int worker) const override {
    return workers_[static_cast<std::size_t>(worker)].node.remote();
  }
  /// The push.
  void end(const Task& task) override {
    NodeReplica& node = at(task.worker).node;
    node.difference(store_.pushed_to(task.worker));
    store_.push(task.worker, node.changed());
  }

  Traffic traffic(const Task& task) const override {
    const ServedWorker& worker = workers_[static_cast<std::size_t>(task.worker)];
    const auto ids = [](std::size_t rows) { return rows * sizeof(std::uint32_t); };
    const std::size_t rows = worker.node.changed().size();
    return {store_.numbers_of(worker.pulled_rows) * sizeof(float) + ids(worker.pulled_rows),
            compression_.bytes(store_.numbers_of(rows)) + ids(rows)};
  }

  void apply_pushes(const ApplyPushes& decision) override { store_.apply_pushes(decision); }
  void reject(int worker) override { store_.reject(worker); }
  void lose(int worker) override { at(worker).present = false; }

  Evaluator evaluator() override {
    for (std::size_t i = 0; i < workers_.size(); ++i) {
      const int worker = static_cast<int>(i);
      store_.renew(worker);
      if (with(worker, [&](Replica& replica) { replica.load(0, store_.model().span()); })) {
        return {&workers_[i].node.device(), worker};
      }
    }
    throw DeviceError("every device has failed");
  }

  /// Each worker has its own optimizer state: this is the state of the first worker.
  FloatBuffer take(int vector) override {
    if (vector == 0) return std::move(store_.model());
    FloatBuffer values(size_);
    with_first([&](Replica& replica) { replica.store(vector, values.span()); });
    return values;
  }
  void give(int vector, FloatBuffer values) override {
    if (vector > 0) {
      return with_first([&](Replica& replica) { replica.load(vector, values.span()); });
    }
    store_.renew_all();
    store_.model() = std::move(values);
  }

  KeptVectors keep() override {
    KeptVectors kept;
    keep_copy(store_.momentum(), kServerMomentum, kept);
    for (std::size_t i = 0; i < workers_.size(); ++i) {
      with(static_cast<int>(i), [&](Replica& /*replica*/) {
        WorkerState state = workers_[i].node.state(store_.applied(static_cast<int>(i)));
        for (std::size_t k = 0; k < state.size(); ++k) {
          kept[kept_name(i, k + 1)] = std::move(state[k]);
        }
      });
    }
    return kept;
  }
  void restore(KeptVectors kept) override {
    store_.set_momentum(std::move(kept[kServerMomentum]));
    WorkerState first;
    with_first([&](Replica& replica) {
      for (int k = 1; k < replica.vectors(); ++k) {
        replica.store(k, first.emplace_back(size_).span());
      }
    });
    if (compression_.active()) first.emplace_back(size_);
    for (std::size_t i = 0; i < workers_.size(); ++i) {
      with(static_cast<int>(i),
           [&](Replica& /*replica*/) { workers_[i].node.restore(state_from(kept, i, first)); });
    }
  }
  std::size_t bytes() const override { return size_ * sizeof(float); }

 private:
  ServedWorker& at(int worker) { return workers_[static_cast<std::size_t>(worker)]; }
  /// Returns false if the worker is lost or its device fails.
  template <class F>
  bool with(int index, F work) {
    ServedWorker& worker = at(index);
    worker.present = worker.present && attempt(static_cast<std::size_t>(index), true,
                                               [&] { work(worker.node.device()); });
    return worker.present;
  }

  /// With the first worker that is present.
  template <class F>
  void with_first(F work) {
    for (std::size_t i = 0; i < workers_.size(); ++i) {
      if (with(static_cast<int>(i), work)) return;
    }
    throw DeviceError("every device has failed");
  }

  Compression compression_;
  std::size_t size_;
  ParameterStore store_;
  std::vector<ServedWorker> workers_;
};

}  // namespace

std::unique_ptr<PushSharing> make_server_model(const ModelSetup& setup,
                                               const Compression& compression) {
  return std::make_unique<ServerModel>(setup, compression);
}

}  // namespace evener
