#include "evener/cluster/parameter_server/served_model.h"

#include <algorithm>
#include <utility>

#include "evener/cluster/parameter_server/shard_servers.h"

namespace evener {

namespace {

/// The part that does not depend on where the parameters are: worker states and evaluation.
class ClusterModel : public ServedModel {
 public:
  ClusterModel(const ModelSetup& setup, std::size_t slots, const Compression& compression,
               WorkerStates& worker_states)
      : size_(layout_of(setup.network).size),
        states_(static_cast<std::size_t>(state_vectors(setup.training.optimizer))),
        compresses_(compression.active()),
        applied_(slots, 0),
        worker_states_(worker_states),
        replica_(setup.devices.front()->make_replica(setup.network, setup.training)) {
    worker_states_.begin(setup.network);
  }

  void apply_pushes(const ApplyPushes& decision) override {
    for (const int worker : decision.workers) applied_[static_cast<std::size_t>(worker)] = 1;
  }
  void reject(int worker) override { applied_[static_cast<std::size_t>(worker)] = 0; }

  KeptVectors keep() override {
    KeptVectors kept;
    keep_momentum(kept);
    std::vector<WorkerState> worker_states = worker_states_.fetch(applied_);
    state_.clear();
    for (std::size_t i = 0; i < worker_states.size(); ++i) {
      for (std::size_t k = 0; k < worker_states[i].size(); ++k) {
        FloatBuffer& vector = kept[kept_name(i, k + 1)] = std::move(worker_states[i][k]);
        if (i == 0 && k < states_) std::copy_n(vector.data(), size_, state_of(k).data());
      }
    }
    return kept;
  }
  void restore(KeptVectors kept) override {
    restore_momentum(std::move(kept[kServerMomentum]));
    for (std::size_t k = 0; k < states_; ++k) state_of(k);
    if (compresses_) state_.emplace_back(size_);
    std::vector<WorkerState> worker_states;
    for (std::size_t i = 0; i < applied_.size(); ++i) {
      worker_states.push_back(state_from(kept, i, state_));
    }
    worker_states_.set(std::move(worker_states));
    state_.clear();
  }
  void resume() override { state_.clear(); }
  std::size_t bytes() const override { return size_ * sizeof(float); }

 protected:
  virtual void keep_momentum(KeptVectors& kept) = 0;
  virtual void restore_momentum(FloatBuffer momentum) = 0;

  Evaluator evaluate(std::span<const float> model) {
    replica_->load(0, model);
    return {replica_.get(), 0};
  }
  // Each worker has its own optimizer state. A run that is resumed with another strategy gets the
  // state of worker 0.
  FloatBuffer take_state(int vector) {
    return std::move(state_of(static_cast<std::size_t>(vector) - 1));
  }
  void give_state(int vector, FloatBuffer values) {
    state_of(static_cast<std::size_t>(vector) - 1) = std::move(values);
  }

  std::size_t size_;

 private:
  FloatBuffer& state_of(std::size_t k) {
    while (state_.size() <= k) state_.emplace_back(size_);
    return state_[k];
  }

  std::size_t states_;  // vectors of the optimizer
  bool compresses_;
  std::vector<char> applied_;  // by worker: whether its last push was applied
  WorkerStates& worker_states_;
  WorkerState state_;  // between keep and take, and between give and restore
  std::unique_ptr<Replica> replica_;
};

class LocalModel final : public ClusterModel {
 public:
  LocalModel(const ModelSetup& setup, std::size_t slots, const Compression& compression,
             WorkerStates& worker_states)
      : ClusterModel(setup, slots, compression, worker_states),
        host_(std::make_shared<ShardHost>(whole_shard(setup.network), slots, compression,
                                          setup.merge_threads)) {}

  std::shared_ptr<ShardHost> host() override { return host_; }
  void send_order(int worker, std::uint64_t generation, wire::Order order,
                  const std::shared_ptr<Channel>& to) override {
    WorkerSession& session = host_->session(static_cast<std::uint64_t>(worker));
    session.connect(to, generation);
    session.grant(std::move(order), generation);
  }
  void apply_pushes(const ApplyPushes& decision) override {
    ClusterModel::apply_pushes(decision);
    host_->apply_pushes(decision);
  }
  void reject(int worker) override {
    ClusterModel::reject(worker);
    host_->reject(worker);
  }
  void lose(int worker) override { host_->forget(worker); }

  Evaluator evaluator() override { return evaluate(store().model().span()); }
  FloatBuffer take(int vector) override {
    return vector > 0 ? take_state(vector) : std::move(store().model());
  }
  void give(int vector, FloatBuffer values) override {
    if (vector > 0) return give_state(vector, std::move(values));
    store().renew_all();
    store().model() = std::move(values);
  }

 private:
  ParameterStore& store() { return host_->store(); }
  void keep_momentum(KeptVectors& kept) override {
    keep_copy(store().momentum(), kServerMomentum, kept);
  }
  void restore_momentum(FloatBuffer momentum) override {
    store().set_momentum(std::move(momentum));
  }

  std::shared_ptr<ShardHost> host_;  // connections may outlive the model
};

/// The copy here is as old as the last evaluation or checkpoint.
class ShardedModel final : public ClusterModel {
 public:
  ShardedModel(const ModelSetup& setup, std::size_t slots, const Compression& compression,
               WorkerStates& worker_states, ShardServers& servers)
      : ClusterModel(setup, slots, compression, worker_states), servers_(servers), copy_(size_) {
    servers_.keep(setup.network, slots, compression);
  }

  int shards() const override { return servers_.count(); }
  void send_order(int worker, std::uint64_t generation, wire::Order order,
                  const std::shared_ptr<Channel>& to) override {
    servers_.grant(worker, generation, order.sequence());
    wire::Head head;
    *head.mutable_order() = std::move(order);
    to->send(message_of(head));
  }
  void apply_pushes(const ApplyPushes& decision) override {
    ClusterModel::apply_pushes(decision);
    has_momentum_ = has_momentum_ || decision.momentum > 0;
    servers_.apply_pushes(decision);
  }
  void reject(int worker) override {
    ClusterModel::reject(worker);
    servers_.reject(worker);
  }
  void lose(int worker) override { servers_.forget(worker); }

  Evaluator evaluator() override {
    servers_.fetch(0, copy_.span());
    return evaluate(std::as_const(copy_).span());
  }
  FloatBuffer take(int vector) override {
    if (vector > 0) return take_state(vector);
    servers_.fetch(0, copy_.span());
    return std::move(copy_);
  }
  void give(int vector, FloatBuffer values) override {
    if (vector > 0) return give_state(vector, std::move(values));
    copy_ = std::move(values);
    servers_.load(0, std::as_const(copy_).span());
  }

 private:
  void keep_momentum(KeptVectors& kept) override {
    if (!has_momentum_) return;
    FloatBuffer momentum(size_);
    servers_.fetch(1, momentum.span());
    kept[kServerMomentum] = std::move(momentum);
  }
  void restore_momentum(FloatBuffer momentum) override {
    has_momentum_ = momentum.size() > 0;
    if (has_momentum_) servers_.load(1, momentum.span());
  }

  ShardServers& servers_;
  FloatBuffer copy_;
  bool has_momentum_ = false;
};

}  // namespace

std::unique_ptr<ServedModel> make_served_model(const ModelSetup& setup, std::size_t slots,
                                               const Compression& compression,
                                               WorkerStates& worker_states) {
  return std::make_unique<LocalModel>(setup, slots, compression, worker_states);
}

std::unique_ptr<ServedModel> make_served_model(const ModelSetup& setup, std::size_t slots,
                                               const Compression& compression,
                                               WorkerStates& worker_states, ShardServers& servers) {
  return std::make_unique<ShardedModel>(setup, slots, compression, worker_states, servers);
}

}  // namespace evener
